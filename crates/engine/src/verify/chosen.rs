//! A network that chooses its outputs from a table enters; the answer about its rules leaves.
//!
//! That every row of the table obeys has a certificate. Where some row does not, inputs that lead to it are looked for: tried first, then
//! searched through the totals that decide the choice.

use std::time::Instant;

use deepsade_check::{Arithmetic, Rejected, Step, Tree, Why};
use deepsade_net::{Network, Node, Op};
use deepsade_spec::{NormalSpec, Region};

use super::{Choice, LeadsThere, Outcome, OverflowAt, Question, Undecided, VerifyError, VerifySettings, Work, halt};
use crate::artifact::{self, ArtifactError};
use crate::proof::{WATCH, prove_until};

/// Inputs of each part of the domain that are tried where a network chooses.
const TRIED: usize = 2_000;

/// The answer for a network that chooses its outputs from a table: that every row obeys the rules. `None` for other networks.
pub(crate) fn chosen(spec: &NormalSpec, network: &Network, arithmetic: Arithmetic) -> Result<Option<Outcome>, VerifyError> {
    if !matches!(network.nodes.last(), Some(Node { op: Op::Choose(_), .. })) {
        return Ok(None);
    }
    let model = artifact::model(spec, network.clone())?;
    let model = model.to_bytes().map_err(ArtifactError::from)?;
    Ok(Some(match prove_until(spec, &model, arithmetic, std::iter::repeat(Tree::Decode), Vec::new(), WATCH) {
        Ok(certified) => Outcome::Proved(Box::new(certified)),
        Err(refused) => {
            let Rejected { at, why } = refused.rejected;
            let rule = if let Step::Rule { rule, .. } = at { rule } else { 0 };
            Outcome::Unknown { rule, why: Undecided::Choice { reason: Box::new(why), whether: LeadsThere::NotSearched } }
        }
    }))
}

/// The answer for a network that chooses from a table some rows of which break a rule: whether an input leads to one of them. That
/// none does can be found, but no certificate says so.
pub(super) fn through_totals(
    spec: &NormalSpec,
    network: &Network,
    settings: &VerifySettings,
    interrupted: &(dyn Fn() -> bool + Sync),
    rule: usize,
    reason: Why,
) -> Result<(Outcome, Work), VerifyError> {
    let unknown = |rule, whether| Outcome::Unknown { rule, why: Undecided::Choice { reason: Box::new(reason), whether } };
    let Some(choice) = Choice::new(spec, network, settings.arithmetic) else {
        return Ok((unknown(rule, LeadsThere::Hidden), Work::default()));
    };
    let whole = Region::domain(&spec.schema).map_err(VerifyError::Domain)?;
    let started = Instant::now();
    let stop = || halt(started, settings.timeout, interrupted).is_some();
    if let Some(example) = choice.tried(&whole, &[], TRIED, settings.seed, &stop) {
        return Ok((Outcome::Refuted(example), Work::default()));
    }
    let Some(totals) = &choice.totals else {
        return Ok((unknown(rule, LeadsThere::LongTable), Work::default()));
    };
    if totals.spec.rules.is_empty() {
        return Ok((unknown(rule, LeadsThere::None), Work::default()));
    }
    let question = Question::new(&totals.spec, choice.before(), settings);
    let mut work = Work::default();
    let outcome = match question.search_all(&whole, true, interrupted, &mut work) {
        Err(Outcome::Refuted(example)) => match choice.chosen(totals, example) {
            Some(example) => Outcome::Refuted(example),
            None => Outcome::Unknown { rule, why: Undecided::Overflow(OverflowAt::Totals) },
        },
        Err(Outcome::Unknown { rule, why: why @ Undecided::Interrupted }) => Outcome::Unknown { rule: totals.rule(rule), why },
        Err(Outcome::Unknown { rule, why }) => unknown(totals.rule(rule), LeadsThere::Undecided(Box::new(why))),
        Ok(_) | Err(Outcome::Proved(_)) => unknown(rule, LeadsThere::None),
    };
    Ok((outcome, work))
}
