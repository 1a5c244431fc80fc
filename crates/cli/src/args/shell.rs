//! The arguments of what prints help for shells and for `man`.

use clap::Parser;
use clap_complete::Shell;

#[derive(Debug, Parser)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
}

#[derive(Debug, Parser)]
pub struct ManArgs {
    /// The command that the page is about [default: the whole program]
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}
