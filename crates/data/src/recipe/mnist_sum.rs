//! The four MNIST files enter; sequences of four distinct digits with a sum above 10 leave, 3136 pixels and ten labels a row.

use std::path::Path;

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::RecipeTable;
use super::idx::{SIDE, problem, read_images, read_labels};
use crate::error::{DataError, IdxProblem};
use crate::overrides::FeatureOverride;
use crate::table::{Column, Table};

/// The file that is located; the other three stand beside it.
pub const TRAIN_IMAGES: &str = "train-images-idx3-ubyte.gz";
/// How many rows are made unless the settings say otherwise.
pub const DEFAULT_ROWS: usize = 20_000;

const PARTS: [(&str, &str); 2] =
    [(TRAIN_IMAGES, "train-labels-idx1-ubyte.gz"), ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")];
const PIXELS: usize = SIDE * SIDE;
const DIGITS: usize = 4;

/// The digits of a row from left to right, each with the image that shows it.
type Drawn = [(usize, usize); DIGITS];

/// Makes `rows` instances from the files beside `train_images`; `seed` chooses digits, their order and their images.
pub fn read(train_images: &Path, rows: usize, seed: u64) -> Result<RecipeTable, DataError> {
    let folder = train_images.parent().unwrap_or(Path::new(""));
    let mut images = Vec::new();
    let mut pools: [Vec<usize>; 10] = Default::default();
    for (image_file, label_file) in PARTS {
        let part = read_images(&folder.join(image_file))?;
        let labels = read_labels(&folder.join(label_file))?;
        if part.len() != labels.len() * PIXELS {
            let count = IdxProblem::Count { labels: labels.len(), images: part.len() / PIXELS };
            return Err(problem(&folder.join(label_file), count));
        }
        for (i, label) in labels.iter().enumerate() {
            pools[usize::from(*label)].push(images.len() / PIXELS + i);
        }
        images.extend(part);
    }
    if let Some(digit) = pools.iter().position(Vec::is_empty) {
        return Err(problem(train_images, IdxProblem::NoImage(digit as u8)));
    }
    Ok(table(&draw(rows, &pools, seed), &images))
}

/// The sets of four distinct digits whose sum is above 10.
pub fn digit_sets() -> Vec<[usize; DIGITS]> {
    let mut sets = Vec::new();
    for a in 0..10 {
        for b in a + 1..10 {
            for c in b + 1..10 {
                sets.extend((c + 1..10).filter(|d| a + b + c + d > 10).map(|d| [a, b, c, d]));
            }
        }
    }
    sets
}

fn draw(rows: usize, pools: &[Vec<usize>; 10], seed: u64) -> Vec<Drawn> {
    let sets = digit_sets();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..rows)
        .map(|_| {
            let mut digits = *sets.choose(&mut rng).unwrap_or_else(|| unreachable!("there are 198 sets"));
            digits.shuffle(&mut rng);
            digits.map(|digit| (digit, pools[digit][rng.random_range(0..pools[digit].len())]))
        })
        .collect()
}

fn table(drawn: &[Drawn], images: &[u8]) -> RecipeTable {
    let column = |value: &dyn Fn(&Drawn) -> u8, divisor| Column::Bytes { values: drawn.iter().map(value).collect(), divisor };
    let pixels: Vec<String> = (0..DIGITS * PIXELS).map(|p| format!("p{p}")).collect();
    let labels: Vec<String> = (0..10).map(|d| format!("d{d}")).collect();
    let mut columns: Vec<Column> =
        (0..DIGITS * PIXELS).map(|p| column(&|row| images[row[p / PIXELS].1 * PIXELS + p % PIXELS], 255.0)).collect();
    columns.extend((0..10).map(|d| column(&|row| u8::from(row.iter().any(|(digit, _)| *digit == d)), 1.0)));
    RecipeTable {
        overrides: pixels.iter().map(|name| (name.clone(), FeatureOverride::real(0.0, 1.0))).collect(),
        table: Table {
            names: pixels.into_iter().chain(labels.clone()).collect(),
            columns,
            row_numbers: (1..=drawn.len() as u64).collect(),
        },
        targets: labels,
    }
}

#[cfg(test)]
#[path = "mnist_sum/tests.rs"]
mod tests;
