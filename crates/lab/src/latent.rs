//! Hidden layers of some rows enter; a panel of the plane leaves.

use deepsade_net::{Matrix, Network, Op};

use crate::figure::Panel;
use crate::tsne::{TsneSettings, tsne};

/// Rows of a picture.
pub(crate) const MOST_ROWS: usize = 400;

/// What leaves the last activation; the rows themselves where there is none.
pub(crate) fn last_hidden(network: &Network, x: &Matrix) -> Matrix {
    let last = network.nodes.iter().rposition(|n| matches!(n.op, Op::Act(_))).map_or(0, |k| k + 1);
    network.values(x).swap_remove(last)
}

/// The rows laid out in the plane.
pub(crate) fn panel(title: &str, values: &Matrix) -> Panel {
    let rows: Vec<Vec<f64>> = (0..values.rows).map(|r| values.row(r).iter().map(|v| f64::from(*v)).collect()).collect();
    Panel { title: title.into(), points: tsne(&rows, TsneSettings::default()) }
}
