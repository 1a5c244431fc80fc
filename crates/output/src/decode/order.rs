//! Which facts hang together enters; an order of the facts for a decision diagram leaves.
//!
//! FORCE (Aloul, Markov, Sakallah 2003): every group pulls its facts towards its middle, and the facts are sorted by where they
//! are pulled, until the groups get no shorter. Deterministic, and good where rules are local: trees, chains, rows of a table.

/// Rounds after which the order hardly changes any more.
const MAX_ROUNDS: usize = 200;

/// The facts of the groups in a good order; facts of no group are left out.
pub fn force(groups: &[Vec<usize>]) -> Vec<usize> {
    let mut order = by_first_mention(groups);
    let mut best = (span(groups, &order), order.clone());
    for _ in 0..MAX_ROUNDS {
        let place = places(&order);
        let mut pull = vec![(0.0f64, 0u32); place.len()];
        for group in groups {
            let middle = group.iter().map(|f| place[*f] as f64).sum::<f64>() / group.len().max(1) as f64;
            for f in group {
                pull[*f].0 += middle;
                pull[*f].1 += 1;
            }
        }
        let target = |f: &usize| pull[*f].0 / f64::from(pull[*f].1.max(1));
        // Stable: facts that are pulled to the same place keep their order.
        order.sort_by(|a, b| target(a).total_cmp(&target(b)));
        let now = span(groups, &order);
        if now >= best.0 {
            break;
        }
        best = (now, order.clone());
    }
    best.1
}

/// Conditions and labels as the rules mention them, the facts of a rule in ascending order.
pub fn by_first_mention(groups: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = std::collections::BTreeSet::new();
    groups.iter().flatten().copied().filter(|f| seen.insert(*f)).collect()
}

fn places(order: &[usize]) -> Vec<usize> {
    let mut place = vec![0; order.iter().max().map_or(0, |f| f + 1)];
    order.iter().enumerate().for_each(|(k, f)| place[*f] = k);
    place
}

/// How far the groups reach, together.
fn span(groups: &[Vec<usize>], order: &[usize]) -> usize {
    let place = places(order);
    let reach = |group: &Vec<usize>| {
        let places = || group.iter().map(|f| place[*f]);
        places().max().unwrap_or(0) - places().min().unwrap_or(0)
    };
    groups.iter().map(reach).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_in_disorder_is_put_in_order() {
        // 0-7-1-6-2-5-3-4, given as pairs.
        let chain = [0, 7, 1, 6, 2, 5, 3, 4];
        let groups: Vec<Vec<usize>> = chain.windows(2).map(<[usize]>::to_vec).collect();
        let order = force(&groups);
        assert_eq!(span(&groups, &order), 7, "{order:?}");
    }

    #[test]
    fn facts_of_no_group_are_left_out() {
        assert_eq!(force(&[vec![4, 2]]), [4, 2]);
        assert_eq!(force(&[]), [0usize; 0]);
    }
}
