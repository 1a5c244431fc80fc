//! A number of rows and a seed enter; disjoint training, validation and test rows leave, together all of them.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::error::DataError;
use super::settings::{CheckedData, SplitShares};

/// Row indices of the three parts, ascending in each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Split {
    /// To learn from.
    pub train: Vec<usize>,
    /// To choose the best network by.
    pub validation: Vec<usize>,
    /// To score on.
    pub test: Vec<usize>,
}

/// Deals `n` rows out at random by their shares; at least one row trains.
pub fn split(n: usize, settings: &CheckedData, seed: u64) -> Split {
    let (train, seen) = cuts(n, &settings.split.shares());
    let order = permutation(n, seed);
    Split { train: sorted(&order[..train]), validation: sorted(&order[train..seen]), test: sorted(&order[seen..]) }
}

/// How many of `n` rows train, and how many train or validate.
pub(crate) fn cuts(n: usize, shares: &SplitShares) -> (usize, usize) {
    let upto = |share: f64| ((n as f64 * share).round() as usize).min(n);
    let train = upto(shares.train).max(n.min(1));
    // Without a test share rounding of the sum must leave no row behind.
    let seen = if shares.test == 0.0 { n } else { upto(shares.train + shares.validation).max(train) };
    // Without a validation share neither may a row slip in between.
    let train = if shares.validation == 0.0 { seen } else { train };
    (train, seen)
}

/// A part of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Train,
    Validation,
    Test,
}

impl Part {
    pub(crate) fn read(word: &str) -> Option<Self> {
        match word.trim().to_ascii_lowercase().as_str() {
            "train" => Some(Self::Train),
            "validation" => Some(Self::Validation),
            "test" => Some(Self::Test),
            _ => None,
        }
    }
}

impl Split {
    /// The same rows to test on and as many to validate, but others: those of turn `k`, from 1 on, of the training rows in random order.
    #[must_use]
    pub fn with_other_validation(&self, k: usize, seed: u64) -> Self {
        let size = self.validation.len();
        // Fewer rows to learn from than to validate would be another training.
        if size == 0 || self.train.len() < 2 * size {
            return self.clone();
        }
        let order = permutation(self.train.len(), seed);
        let turns = self.train.len() / size;
        let from = (k.saturating_sub(1) % turns) * size;
        let taken: Vec<usize> = order[from..from + size].iter().map(|at| self.train[*at]).collect();
        let validation = sorted(&taken);
        let rest = self.train.iter().chain(&self.validation).filter(|row| validation.binary_search(row).is_err());
        Self { train: sorted(&rest.copied().collect::<Vec<_>>()), validation, test: self.test.clone() }
    }

    pub(crate) fn of_parts(parts: &[Part]) -> Self {
        let of = |part: Part| (0..parts.len()).filter(|row| parts[*row] == part).collect();
        Self { train: of(Part::Train), validation: of(Part::Validation), test: of(Part::Test) }
    }

    /// The split as a CSV file, row by row: `row` is that of the data file, from 1. What `split = { file = ... }` reads.
    pub fn to_csv(&self, row_numbers: &[u64]) -> String {
        let mut parts = vec![""; row_numbers.len()];
        for (part, rows) in [("train", &self.train), ("validation", &self.validation), ("test", &self.test)] {
            rows.iter().for_each(|row| parts[*row] = part);
        }
        let lines = row_numbers.iter().zip(parts).filter(|(_, part)| !part.is_empty());
        std::iter::once("row,part\n".to_owned()).chain(lines.map(|(row, part)| format!("{row},{part}\n"))).collect()
    }
}

/// Share of all rows that validates where rows are dealt out in folds, as in the paper: they train nothing.
pub const VALIDATION: f64 = 0.1;

/// Fold `fold` of `k`: its rows are the test rows; of the others [`VALIDATION`] (of all rows) validates, the rest trains.
///
/// The folds of one seed partition the rows.
pub fn folds(n: usize, k: usize, fold: usize, seed: u64) -> Result<Split, DataError> {
    let refuse = |setting, value: String, expected| Err(DataError::Setting { setting, value, expected });
    if k < 2 || k > n {
        return refuse("folds", k.to_string(), "at least 2 folds, and no more than there are rows");
    }
    if fold >= k {
        return refuse("fold", fold.to_string(), "folds are counted from 0");
    }
    let order = permutation(n, seed);
    let (from, to) = (fold * n / k, (fold + 1) * n / k);
    let rest: Vec<usize> = order[..from].iter().chain(&order[to..]).copied().collect();
    let validation = ((n as f64 * VALIDATION).round() as usize).min(rest.len() - 1);
    Ok(Split { train: sorted(&rest[validation..]), validation: sorted(&rest[..validation]), test: sorted(&order[from..to]) })
}

fn permutation(n: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    order
}

fn sorted(rows: &[usize]) -> Vec<usize> {
    let mut rows = rows.to_vec();
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataSettings, SplitShares};
    use proptest::prelude::*;

    fn shares(train: f64, validation: f64, test: f64) -> CheckedData {
        let split = SplitShares { train, validation, test };
        DataSettings { split: split.into(), ..DataSettings::default() }.checked_without_file().unwrap()
    }

    fn everything(s: &Split) -> Vec<usize> {
        sorted(&[s.train.as_slice(), &s.validation, &s.test].concat())
    }

    #[test]
    fn the_default_shares_of_ten_rows() {
        let s = split(10, &CheckedData::default(), 0);
        assert_eq!((s.train.len(), s.validation.len(), s.test.len()), (7, 1, 2));
        assert_eq!(s, split(10, &CheckedData::default(), 0));
        assert_ne!(s, split(10, &CheckedData::default(), 1));
    }

    #[test]
    fn shares_of_zero_get_no_rows() {
        let s = split(7, &shares(0.9, 0.1, 0.0), 3);
        assert!(s.test.is_empty());
        let s = split(7, &shares(0.9, 0.0, 0.1), 3);
        assert!(s.validation.is_empty());
        let s = split(1, &shares(0.1, 0.1, 0.8), 3);
        assert_eq!(s.train, [0]);
        assert_eq!(split(0, &CheckedData::default(), 0), Split::default());
    }

    #[test]
    fn folds_partition_the_rows() {
        let all: Vec<Split> = (0..5).map(|f| folds(23, 5, f, 9).unwrap()).collect();
        let tests: Vec<usize> = all.iter().flat_map(|s| s.test.clone()).collect();
        assert_eq!(sorted(&tests), (0..23).collect::<Vec<_>>());
        for s in &all {
            assert_eq!(everything(s), (0..23).collect::<Vec<_>>());
            assert_eq!(s.validation.len(), 2);
        }
    }

    #[test]
    fn refusals() {
        assert!(folds(10, 1, 0, 0).unwrap_err().to_string().contains("at least 2 folds"));
        assert!(folds(3, 5, 0, 0).unwrap_err().to_string().contains("no more than there are rows"));
        assert!(folds(10, 5, 5, 0).unwrap_err().to_string().contains("counted from 0"));
    }

    proptest! {
        #[test]
        fn every_row_is_dealt_once(n in 1_usize..200, a in 1_u32..100, b in 0_u32..100, c in 0_u32..100, seed: u64) {
            let sum = f64::from(a + b + c);
            let shares = shares(f64::from(a) / sum, f64::from(b) / sum, f64::from(c) / sum);
            let s = split(n, &shares, seed);
            prop_assert_eq!(everything(&s), (0..n).collect::<Vec<_>>());
            prop_assert!(!s.train.is_empty());
        }
    }
}
