//! Data that is no table enters; a [`Table`] with stated overrides and targets leaves, for the same pipeline as any file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::DataError;
use super::overrides::Overrides;
use super::table::Table;

pub mod idx;
pub mod mnist_sum;
pub mod sushi;

/// A built-in reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recipe {
    /// Four distinct MNIST digits side by side, their sum above 10; the labels are the digits present.
    MnistSum,
    /// Preferences among ten kinds of sushi: the places of six, to predict the order of the other four.
    Sushi,
}

/// What a recipe makes.
#[derive(Debug, Clone, PartialEq)]
pub struct RecipeTable {
    /// The rows.
    pub table: Table,
    /// The domains that hold for all rows it could make.
    pub overrides: Overrides,
    /// The columns to predict.
    pub targets: Vec<String>,
}

impl Recipe {
    /// The file to locate; `stated` is the `file` setting: a file, or for MNIST the folder of its files.
    pub fn file(self, stated: Option<&str>) -> String {
        match (self, stated) {
            (Recipe::Sushi, None) => sushi::FILE.to_owned(),
            (Recipe::Sushi, Some(file)) => file.to_owned(),
            (Recipe::MnistSum, None) => mnist_sum::TRAIN_IMAGES.to_owned(),
            (Recipe::MnistSum, Some(file)) if file.ends_with(mnist_sum::TRAIN_IMAGES) => file.to_owned(),
            (Recipe::MnistSum, Some(folder)) => Path::new(folder).join(mnist_sum::TRAIN_IMAGES).display().to_string(),
        }
    }

    /// Reads from the located file; `rows` and `seed` are the settings of these names.
    pub fn read(self, file: &Path, rows: Option<usize>, seed: u64) -> Result<RecipeTable, DataError> {
        match self {
            Recipe::MnistSum => mnist_sum::read(file, rows.unwrap_or(mnist_sum::DEFAULT_ROWS), seed),
            Recipe::Sushi => sushi::read(file, rows),
        }
    }
}
