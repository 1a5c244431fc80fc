//! The shape of the data enters; the network and the training that usually do well on it leave, for what a rule file leaves open.

use std::collections::BTreeSet;

use crate::train::{NetworkSettings, OptimiserName, TrainSettings, UpdateName};

/// Steps that a training takes at most, unless that would be fewer or more epochs than these.
const STEPS: usize = 24_000;
/// Steps without a better epoch after which it ends, where rows validate, unless that would be fewer epochs than these.
const PATIENCE: usize = 1600;
const LEAST_PATIENCE: usize = 10;
const EPOCHS: (usize, usize) = (30, 500);
/// From so many rows on a step looks at more of them.
const MANY_ROWS: usize = 20_000;
/// Below so many rows the best weight decay differs from data to data by more than a factor of ten.
const FEW_ROWS: usize = 2_000;
/// What validation chooses from then, in order.
const DECAYS: &[f32] = &[3e-4, 1e-3, 5e-3, 2e-2];
/// With fewer members there is one network in mind, or no time.
const MEMBERS: usize = 4;

/// How much there is to learn from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows to train on.
    pub rows: usize,
    /// Rows that choose the best epoch.
    pub validation: usize,
    /// Columns of the network.
    pub columns: usize,
}

/// Which settings a rule file or a caller states, as `train.epochs`; the others are chosen by shape.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct StatedSettings(BTreeSet<String>);

impl StatedSettings {
    /// By the keys of the two tables.
    pub fn of<'a>(network: impl Iterator<Item = &'a String>, train: impl Iterator<Item = &'a String>) -> Self {
        Self(network.map(|key| format!("network.{key}")).chain(train.map(|key| format!("train.{key}"))).collect())
    }

    pub fn state(&mut self, name: &str) {
        self.0.insert(name.into());
    }

    fn open(&self, name: &str) -> bool {
        !self.0.contains(name)
    }
}

/// What is chosen where nothing is stated.
pub fn usual(shape: Shape) -> (NetworkSettings, TrainSettings) {
    let (mut network, mut train) = (NetworkSettings::default(), TrainSettings::default());
    choose(&StatedSettings::default(), shape, &mut network, &mut train);
    (network, train)
}

/// Puts what usually does well in the place of what is not stated. Settings that ask for another training are left alone.
pub(crate) fn choose(stated: &StatedSettings, shape: Shape, network: &mut NetworkSettings, train: &mut TrainSettings) {
    if train.update == UpdateName::Paper || network.trunk.is_some() || train.optimiser != OptimiserName::Adam {
        return;
    }
    if stated.open("network.hidden") {
        network.hidden = hidden(shape);
    }
    if stated.open("train.batch") {
        train.batch = if shape.rows < MANY_ROWS { 32 } else { 64 };
    }
    if stated.open("train.learning_rate") {
        train.learning_rate = 0.002;
    }
    if stated.open("train.weight_decay") {
        train.weight_decay = weight_decay(shape.rows);
    }
    // Who states a size or the epochs has one network in mind.
    if ["network.members", "network.hidden", "train.epochs"].iter().all(|name| stated.open(name)) {
        network.members = members(shape.rows);
    }
    // The mean of several networks is steady as it is.
    if stated.open("train.average") && network.members > 1 {
        train.average = 0.0;
    }
    // Who states the epochs means them.
    if stated.open("train.epochs") {
        let epochs = |steps: usize| steps * train.batch / shape.rows.max(1);
        train.epochs = epochs(STEPS).clamp(EPOCHS.0, EPOCHS.1);
        if stated.open("train.patience") && shape.validation > 0 {
            train.patience = Some(epochs(PATIENCE).clamp(LEAST_PATIENCE, EPOCHS.1 / 5));
        }
    }
}

/// The weight decays among which validation chooses, in order; none where there is one anyway.
pub(crate) fn decays(stated: &StatedSettings, rows: usize, network: &NetworkSettings, train: &TrainSettings) -> &'static [f32] {
    let open = stated.open("train.weight_decay") && train.optimiser == OptimiserName::Adam && network.members >= MEMBERS;
    if open && rows < FEW_ROWS { DECAYS } else { &[] }
}

/// The fewer rows, the more noise there is to learn by heart.
fn weight_decay(rows: usize) -> f32 {
    match rows {
        ..FEW_ROWS => 1e-3,
        FEW_ROWS..20_000 => 1e-4,
        _ => 0.0,
    }
}

/// The fewer rows, the more chance there is in what one network learns, and the less several take.
fn members(rows: usize) -> usize {
    match rows {
        ..5_000 => 8,
        5_000..50_000 => 4,
        _ => 1,
    }
}

/// Two layers, the wider the more rows and columns there are.
fn hidden(shape: Shape) -> Vec<usize> {
    match (shape.rows, shape.columns) {
        (rows, _) if rows < 100 => vec![16],
        (_, columns) if columns >= 200 => vec![128, 64],
        _ => vec![64, 32],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(stated: &[&str], shape: Shape, train: TrainSettings) -> (NetworkSettings, TrainSettings) {
        let mut settings = StatedSettings::default();
        stated.iter().for_each(|name| settings.state(name));
        let (mut network, mut train) = (NetworkSettings::default(), train);
        choose(&settings, shape, &mut network, &mut train);
        (network, train)
    }

    #[test]
    fn what_is_open_follows_the_shape_and_what_is_stated_stays() {
        let small = Shape { rows: 400, validation: 40, columns: 7 };
        let (network, train) = chosen(&[], small, TrainSettings::default());
        assert!(train.epochs > 100 && train.patience.is_some(), "{train:?}");
        assert!(network.check().is_ok() && train.check().is_ok());
        let large = Shape { rows: 1_000_000, validation: 0, columns: 7 };
        let (_, many) = chosen(&[], large, TrainSettings::default());
        assert!(many.epochs < train.epochs && many.batch > train.batch && many.patience.is_none(), "{many:?}");
        assert!(many.average == 1.0 && train.average == 0.0, "{train:?}");
        assert!(chosen(&["network.hidden"], small, TrainSettings::default()).1.average > 0.0);
        assert!(network.members > 1 && chosen(&[], large, TrainSettings::default()).0.members == 1);
        for one in ["network.hidden", "train.epochs"] {
            assert_eq!(chosen(&[one], small, TrainSettings::default()).0.members, 1, "{one}");
        }
        let all = ["network.hidden", "train.epochs", "train.batch", "train.learning_rate", "train.weight_decay", "train.average"];
        let stated = TrainSettings { epochs: 7, batch: 5, average: 0.5, patience: None, ..TrainSettings::default() };
        assert_eq!(chosen(&all, small, stated.clone()), (NetworkSettings::default(), stated));
    }

    #[test]
    fn validation_chooses_the_decay_of_several_members_on_few_rows() {
        let (network, train) = usual(Shape { rows: 400, validation: 40, columns: 7 });
        let open = StatedSettings::default();
        let tried = decays(&open, 400, &network, &train);
        assert!(tried.is_sorted() && tried.contains(&train.weight_decay), "{tried:?}");
        let mut stated = StatedSettings::default();
        stated.state("train.weight_decay");
        assert!(decays(&stated, 400, &network, &train).is_empty());
        assert!(decays(&open, 40_000, &network, &train).is_empty());
        assert!(decays(&open, 400, &NetworkSettings { members: 1, ..network }, &train).is_empty());
    }

    #[test]
    fn another_kind_of_training_is_left_alone() {
        let small = Shape { rows: 400, validation: 40, columns: 7 };
        for other in [
            TrainSettings { update: UpdateName::Paper, ..TrainSettings::default() },
            TrainSettings { optimiser: OptimiserName::Sgd, ..TrainSettings::default() },
        ] {
            assert_eq!(chosen(&[], small, other.clone()), (NetworkSettings::default(), other));
        }
    }
}
