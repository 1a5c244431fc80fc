//! A set that passes a test enters; one of which nothing can be spared leaves.

/// Leaves out one item after the other for as long as the rest passes: not the smallest set that does, but none of it can be spared. With
/// it what the test said last, if anything was left out.
pub fn irreducible<T: Clone, W>(mut set: Vec<T>, passes: impl Fn(&[T]) -> Option<W>) -> (Vec<T>, Option<W>) {
    let (mut k, mut last) = (0, None);
    while k < set.len() {
        let mut fewer = set.clone();
        fewer.remove(k);
        match passes(&fewer) {
            Some(said) => (set, last) = (fewer, Some(said)),
            None => k += 1,
        }
    }
    (set, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_what_is_left_can_be_spared() {
        let passes = |set: &[u32]| (set.iter().sum::<u32>() >= 7).then_some(set.len());
        assert_eq!(irreducible(vec![1, 5, 2, 4, 3], passes), (vec![4, 3], Some(2)));
        assert_eq!(irreducible(vec![3, 4], passes), (vec![3, 4], None));
    }
}
