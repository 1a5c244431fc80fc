//! A decoder and a network enter; the loss to train it with and the files of the model that chooses by it leave.

mod attach;
mod objective;

pub use attach::attach;
