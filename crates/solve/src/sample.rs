//! A region of inputs enters; rows of the network's columns leave that are in it, drawn evenly.

use deepsade_spec::{ColumnMap, Region, Schema};
use rand::{Rng, RngExt};

/// Draws inputs of a domain.
#[derive(Debug, Clone)]
pub struct InputSampler {
    region: Region,
    map: ColumnMap,
}

impl InputSampler {
    /// For the whole domain.
    ///
    /// # Panics
    /// If the schema has none: rules are compiled only over one that has.
    pub fn new(schema: &Schema) -> Self {
        Self { region: Region::domain(schema).expect("a schema with rules has a domain"), map: schema.column_map() }
    }

    /// A row.
    pub fn row(&self, rng: &mut impl Rng) -> Vec<f32> {
        let mut row = vec![0.0; self.map.width()];
        self.map.features().enumerate().for_each(|(f, _)| put(&self.region, &self.map, f, rng.random(), &mut row));
        row
    }
}

/// Gives a feature of a row another value: at this share of all that it may have in a region, from the first at 0 to the last at 1.
pub fn put(region: &Region, map: &ColumnMap, feature: usize, share: f64, row: &mut [f32]) {
    let one_of = |n: f64| (share * n).floor().min(n - 1.0);
    if let Some((lo, hi)) = region.range(feature) {
        let at = match region.step(feature) {
            Some(step) => lo + step * one_of((hi - lo) / step + 1.0),
            None => lo + (hi - lo) * share,
        };
        row[map.first(feature)] = region.nearest(feature, at).unwrap_or_default();
    } else if let Some(allowed) = region.levels(feature) {
        let levels: Vec<usize> = (0..allowed.len()).filter(|l| allowed[*l]).collect();
        map.put_level(feature, levels[one_of(levels.len() as f64) as usize], row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deepsade_spec::{Domain, Feature, OneHot, Task};
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// Every value of every kind of domain is drawn, and nothing else.
    #[test]
    fn all_of_the_domain_and_nothing_beside_it() {
        let levels = |n: usize| (0..n).map(|k| format!("l{k}")).collect::<Vec<_>>();
        let domains = [
            Domain::Integer { lo: -1, hi: 2 },
            Domain::Stepped { lo: -0.5, hi: 0.5, step: 0.25 },
            Domain::Ordered { levels: levels(3) },
            Domain::Category { levels: levels(3) },
            Domain::Real { lo: 0.1, hi: 0.3 },
        ];
        let features = domains.into_iter().enumerate().map(|(k, domain)| Feature { name: format!("f{k}"), domain }).collect();
        for (one_hot, width) in [(OneHot::Full, 7), (OneHot::DropFirst, 6)] {
            let task = Task::regression(vec!["y".into()]);
            let schema = Schema { features: Vec::clone(&features), task, one_hot, filled: vec![] };
            let (sampler, mut rng) = (InputSampler::new(&schema), ChaCha8Rng::seed_from_u64(0));
            let rows: Vec<Vec<f32>> = (0..300).map(|_| sampler.row(&mut rng)).collect();
            let of = |column: usize| {
                let mut values: Vec<f32> = rows.iter().map(|row| row[column]).collect();
                values.sort_by(f32::total_cmp);
                values.dedup();
                values
            };
            assert_eq!(of(0), [-1.0, 0.0, 1.0, 2.0]);
            assert_eq!(of(1), [-0.5, -0.25, 0.0, 0.25, 0.5]);
            assert_eq!(of(2), [0.0, 1.0, 2.0]);
            assert!((3..width - 1).all(|column| of(column) == [0.0, 1.0]));
            assert!(rows.iter().all(|row| row.len() == width && (0.1..=0.3).contains(&row[width - 1])));
            let most = if one_hot == OneHot::Full { 1.0..=1.0 } else { 0.0..=1.0 };
            assert!(rows.iter().all(|row| most.contains(&row[3..width - 1].iter().sum::<f32>())));
        }
    }
}
