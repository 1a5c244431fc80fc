//! The `deepsade` command.

fn main() {}
