//! Numbers and marks of rows enter; how well the numbers tell marked rows from others leaves: areas under curves.

/// The order of rows by a number, and which of them are marked.
pub(super) type Ranked = (Vec<(usize, f64)>, Vec<bool>);

/// Places of the rows by their number, from the smallest: sorted once, used for every draw of the bootstrap.
pub(super) fn order(values: impl Iterator<Item = f64>) -> Vec<(usize, f64)> {
    let mut order: Vec<(usize, f64)> = values.enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    order
}

/// The runs of equal numbers, each as the weights of what is not marked and of what is, from the smallest number.
fn ties<'a>(
    order: &'a [(usize, f64)],
    marked: &'a [bool],
    weight: &'a [f64],
) -> impl DoubleEndedIterator<Item = (f64, f64)> + 'a {
    order.chunk_by(|a, b| a.1 == b.1).map(move |run| {
        run.iter().fold(
            (0.0, 0.0),
            |(no, yes), (row, _)| {
                if marked[*row] { (no, yes + weight[*row]) } else { (no + weight[*row], yes) }
            },
        )
    })
}

/// `AUC`: the share of pairs, one marked and one not, of which the marked has the larger number; equal ones count half. And the
/// Kolmogorov-Smirnov distance: the largest difference between the two cumulative shares. Not a number without both kinds.
pub(super) fn auc_and_ks(order: &[(usize, f64)], marked: &[bool], weight: &[f64]) -> (f64, f64) {
    let (no, yes) = ties(order, marked, weight).fold((0.0, 0.0), |(a, b), (no, yes)| (a + no, b + yes));
    if no <= 0.0 || yes <= 0.0 {
        return (f64::NAN, f64::NAN);
    }
    let (mut below, mut marked_below, mut area, mut ks) = (0.0, 0.0, 0.0, 0.0f64);
    for (a, b) in ties(order, marked, weight) {
        area += b * (below + a / 2.0);
        (below, marked_below) = (below + a, marked_below + b);
        ks = ks.max((below / no - marked_below / yes).abs());
    }
    (area / (no * yes), ks)
}

/// The area under precision and recall, as a sum of steps: `sum_k (R_k - R_(k-1)) P_k` over the numbers from the largest. Not a number
/// without a marked row.
pub(super) fn average_precision(order: &[(usize, f64)], marked: &[bool], weight: &[f64]) -> f64 {
    let total: f64 = ties(order, marked, weight).map(|(_, yes)| yes).sum();
    if total <= 0.0 {
        return f64::NAN;
    }
    let (mut seen, mut found, mut area) = (0.0, 0.0, 0.0);
    for (no, yes) in ties(order, marked, weight).rev() {
        seen += no + yes;
        found += yes;
        if yes > 0.0 {
            area += yes / total * (found / seen);
        }
    }
    area
}
