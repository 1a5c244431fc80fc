//! A network that ends in a choice among the rows of a table enters, and a rule; leaves whether every row obeys it.
//!
//! Nothing is asked of the network before the choice: whatever the scores, for inputs of the domain and others, one of the rows comes out.

use deepsade_net::{Matrix, Network, Op};
use deepsade_spec::{Atom, Formula, NormalSpec, Rational, Var};

use crate::rejected::Misfit;

/// The table that a network chooses from; `None` if it does not. Refuses rules about scores, which a choice hides.
pub(crate) fn table<'n>(network: &'n Network, spec: &NormalSpec) -> Result<Option<&'n Matrix>, Misfit> {
    match network.nodes.last().map(|n| &n.op) {
        Some(Op::Choose(table)) => spec.about_scores().map_or(Ok(Some(table)), |rule| Err(Misfit::Scores(rule.name.clone()))),
        _ => Ok(None),
    }
}

/// Whether every row obeys a claim, for every input; how many there are.
pub(crate) fn obey(table: &Matrix, claim: &Formula) -> Result<usize, Misfit> {
    for k in 0..table.rows {
        let at = |v: &Var| if let Var::Output(j) = v { table.row(k).get(*j).copied() } else { None };
        let exact = |v: Var| at(&v).and_then(|y| Rational::try_from(y).ok()).unwrap_or_default();
        // Nothing is known of the input: an atom that reads it counts as false, and no formula negates.
        let known = |a: &Atom| a.linear.terms.keys().all(|v| at(v).is_some());
        if !claim.holds(&mut |a| known(a) && Formula::Atom(a.clone()).at(&exact)) {
            return Err(Misfit::TableRow(k));
        }
    }
    Ok(table.rows)
}
