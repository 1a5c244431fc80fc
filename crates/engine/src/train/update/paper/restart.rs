//! Lines 9 to 11 of Algorithm 1: after a failure each sign of the last layer's gradient is flipped at random.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Tells these random numbers from those that shuffle the rows.
const SALT: u64 = 0x5EED_F11B;

/// Flips each sign with probability 1/2: a function of the seed and of the batch (epoch, index) alone, so that a resumed run
/// needs no generator's state.
pub fn flip(g: &mut [f32], seed: u64, (epoch, index): (usize, usize)) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ SALT);
    rng.set_stream((epoch as u64) << 32 | index as u64);
    for g in g {
        if rng.random::<bool>() {
            *g = -*g;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::flip;

    #[test]
    fn signs_are_flipped_about_half_the_time_and_sizes_stay() {
        let before: Vec<f32> = (1..=1000).map(|k| k as f32).collect();
        let mut g = before.clone();
        flip(&mut g, 7, (3, 4));
        let flipped = g.iter().filter(|g| **g < 0.0).count();
        assert!((400..600).contains(&flipped), "{flipped}");
        assert!(g.iter().zip(&before).all(|(a, b)| a.abs() == *b));
        let (mut again, mut other) = (before.clone(), before);
        flip(&mut again, 7, (3, 4));
        flip(&mut other, 7, (3, 5));
        assert_eq!(g, again);
        assert_ne!(g, other);
    }
}
