//! A rejection enters, its words leave: for people, and read by nothing here.

use std::fmt::{Display, Formatter, Result};

use deepsade_spec::Trend;

use super::{CaseFault, InputPart, LostTrend, Misfit, Overflow, Step, StepFault, Why};

impl InputPart {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Certificate => "certificate",
            Self::Model => "model",
            Self::ModelHash => "model hash",
            Self::Schema => "schema",
            Self::Filling => "missing values",
            Self::Front => "columns that are not read",
            Self::Claim => "claim",
            Self::Rules => "rules",
            Self::RulesHash => "rules hash",
            Self::Pairs => "pairs",
            Self::Inputs => "inputs",
            Self::Decode => "decode",
            Self::Step => "step",
            Self::Clips => "clips",
            Self::Whole => "whole",
            Self::Arithmetic => "arithmetic",
            Self::Range => "range",
        }
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Input(part) => f.write_str(part.name()),
            Self::Pair { name, .. } => write!(f, "rule {name:?}"),
            Self::Rule { name, path, cell, .. } => {
                write!(f, "rule {name:?}, region root")?;
                path.iter().try_for_each(|above| f.write_str(if *above { "/above" } else { "/below" }))?;
                cell.map_or(Ok(()), |cell| write!(f, ", cell {cell}"))
            }
        }
    }
}

impl Display for Why {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NotRefuted(most) => write!(f, "the weighted sum of the atoms can reach {most:.9e}: not refuted"),
            Self::Trend(lost) => {
                let LostTrend { feature, output, asked, found, at } = &**lost;
                let (asked, found) = (in_words(*asked), in_words(*found));
                write!(f, "as {feature:?} rises, {output} {found}, and it must be shown that it {asked}: {at}")
            }
            Self::Changes(change) => write!(f, "slopes and rounding allow a change of {change:.9e}"),
            Self::Falls(slope) => write!(f, "a slope may be as low as -{slope:.9e}"),
            Self::Stopped => f.write_str("it was stopped"),
            Self::Overflow(overflow) => overflow.fmt(f),
            Self::OnlyReal => {
                f.write_str("it proves the rules for exact real arithmetic, not for float32 as deployed; --real accepts that")
            }
            Self::Differs { stated, found } => write!(f, "the certificate says {stated:?}, but it is {found:?}"),
            Self::Unreadable(words) => f.write_str(words),
            Self::Schema(error) => error.fmt(f),
            Self::File(error) => error.fmt(f),
            Self::Network(error) => error.fmt(f),
            Self::Claim(mismatch) => mismatch.fmt(f),
            Self::Rules(errors) => f.write_str(&errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
            Self::Cut(error) => error.fmt(f),
            Self::Misfit(misfit) => misfit.fmt(f),
            Self::Step(fault) => fault.fmt(f),
        }
    }
}

impl Display for Overflow {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "node {} ({}) may leave the range of float32", self.node, self.op)
    }
}

impl Display for Misfit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Behind => "what stands behind the network is no part of what its certificate is about",
            Self::WholeOutput(j) => {
                return write!(f, "output {j} must be a whole number, which only an output step makes sure of");
            }
            Self::LargeNetwork { nodes, columns } => return write!(f, "more than {nodes} nodes, or more than {columns} columns"),
            Self::Filling => "the graph does not fill in missing values as its schema says",
            Self::Shape { schema: [inputs, outputs], network: [x, y] } => {
                return write!(f, "{inputs} inputs and {outputs} outputs, but the network has {x} inputs and {y} outputs");
            }
            Self::ProofOfClips => "behind clips every rule is proved by them, in float32",
            Self::OtherClips => "what stands behind the network does not clip its outputs to these bounds",
            Self::NoSchema(key) => return write!(f, "no `{key}` in the model"),
            Self::NoRule => "there is no rule: nothing is claimed",
            Self::Scores(rule) => return write!(f, "rule {rule:?} reads raw scores, which a choice leaves as they are"),
            Self::ProofOfStep => "behind an output step every rule is proved by it, in float32",
            Self::StepAndClips => "a file ends in an output step or in clips",
            Self::StepOfPair(rule) => {
                return write!(
                    f,
                    "an output step keeps a rule between two inputs, such as {rule:?}, only where the file does not read what differs"
                );
            }
            Self::BlindColumns => "which columns are not read is said of another number of columns than the input has",
            Self::BlindValue(feature) => {
                return write!(f, "what is read in place of {feature:?} is not one of its values");
            }
            Self::BlindRule(rule) => {
                return write!(f, "rule {rule:?} reads a feature in whose place the file reads a constant");
            }
            Self::BlindPair => "its inputs differ in a feature that the file reads, or equal outputs break it",
            Self::CaseTrees => "a case of the fallback has not one tree a rule",
            Self::OldOperators(set) => {
                return write!(f, "its operator set is older than the step's operators, which are those of {set}");
            }
            Self::OutputNames => "the graph's outputs are not those of a step",
            Self::NameTaken(name) => return write!(f, "the name '{name}' is given to something else, too"),
            Self::PrefixTaken(prefix) => return write!(f, "a name that begins with '{prefix}' stands before the step"),
            Self::NoUnit { node, unit } => return write!(f, "node {node} is no ReLU with a unit {unit}"),
            Self::TableRow(k) => return write!(f, "row {k} of the table breaks the rule"),
            Self::ChoiceOfSlopes => "a network that chooses has no slopes",
            Self::Multipliers { found, atoms } => return write!(f, "{found} multipliers for {atoms} atoms"),
            Self::SignMultipliers { found, signs } => return write!(f, "{found} multipliers for {signs} signs"),
            Self::AllZero => "all multipliers are zero",
            Self::NoOutput(j) => return write!(f, "there is no output {j}"),
            Self::BoundsLost => "bounds were lost",
            Self::ClipsTurn { output, feature } => {
                return write!(f, "the bounds to which output {output} is clipped move the other way with {feature:?}");
            }
            Self::SlopesOfClips => "of outputs that are clipped slopes show how much they change, if they may be any number and the conditions of their bounds do not read what moves, and nothing else",
            Self::SlopesOfAny => "slopes say nothing of a feature that may take any value",
            Self::SlopesOfClass => {
                "slopes hold up to rounding, and rounding can turn a class or a label: only signs show it in float32"
            }
            Self::SlopesOfChange => "slopes say of a class or a label what it does as features rise only",
            Self::SlopeTree => "a tree of slopes has splits by features and bare leaves only",
            Self::NoChoice => "the model does not choose its outputs",
            Self::NoStep => "there is no output step",
            Self::Lines { found, lists } => return write!(f, "{found} lines for {lists} lists of multipliers"),
            Self::LongCell(most) => return write!(f, "a cell has more than {most} atoms"),
            Self::NoMultipliers => "no multipliers for this cell",
            Self::TooManyMultipliers(n) => return write!(f, "{n} lists of multipliers too many"),
        })
    }
}

impl Display for CaseFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::NoCondition => "there is no such condition",
            Self::Bias => "not one finite number an output",
            Self::Weight => "a weight is not finite, is stated twice or stands nowhere",
        })
    }
}

impl Display for StepFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Self::Outputs { found, task } => return write!(f, "{found} outputs, but the task has {task}"),
            Self::NotLabels => "only labels and places are 0 and 1",
            Self::Range { output, most } => {
                return write!(
                    f,
                    "the range of output {output} is empty, ends at a tiny number or beyond 2^{most}, or is too wide for its grid"
                );
            }
            Self::NotWhole(j) => {
                return write!(f, "output {j} must be a whole number, and its grid is not one of whole numbers");
            }
            Self::LastCase => "the last case of the fallback must be without conditions",
            Self::Case { case, fault } => return write!(f, "case {case} of the fallback: {fault}"),
            Self::BesideGrid(o) => return write!(f, "the fallback's output {o} may lie beside its grid"),
            Self::LabelsClipped => "labels are not clipped",
            Self::ClipGrid => "what is clipped has no grid but that of whole numbers",
            Self::Rounds(most) => return write!(f, "rounds are 1 to {most}, lower bounds after upper ones"),
            Self::RoundNotWhole(k) => return write!(f, "round {k} bounds a whole number by a constant that is none"),
            Self::Round(k) => {
                return write!(f, "round {k} has not one bound an output, or a number or a condition that is none");
            }
            Self::Meet => "outputs whose bounds meet are listed once each, in their order",
            Self::MeetNotWhole => "where bounds of a whole number meet, the lower one is no whole number",
            Self::NoOutput(j) => return write!(f, "there is no output {j}"),
            Self::Choices(most) => {
                return write!(f, "there are more than {most} ways to choose bounds for one comparison");
            }
            Self::Constant => "a constant of a sum is beyond float32",
            Self::Sum => "a sum may leave the range of float32",
            Self::Rounding => "no margin covers the rounding of a sum",
            Self::Count => "a count is too large",
            Self::Large { numbers, most } => {
                return write!(
                    f,
                    "the rules have so many comparisons and alternatives that the graph would hold {numbers} numbers, more than {most}: \
                     state them with fewer, a range instead of a long list"
                );
            }
            Self::Columns { input, found, schema } => {
                let found = found.map_or("an unknown number of".into(), |n| n.to_string());
                return write!(f, "the input '{input}' has {found} columns, the schema {schema}");
            }
            Self::NoInput(name) => return write!(f, "the graph has no input '{name}'"),
            Self::WideInput { input, element } => {
                return write!(
                    f,
                    "the input '{input}' holds {element} numbers, of which float32 does not tell 16777217 from 16777216: let its range end before that"
                );
            }
            Self::NoColumn { input, domain } => {
                return write!(f, "the input '{input}' is no column of {}", domain.in_words());
            }
        })
    }
}

/// What a trend means.
fn in_words(trend: Trend) -> &'static str {
    match trend {
        Trend::Constant => "stays the same",
        Trend::Up => "never falls",
        Trend::Down => "never rises",
        Trend::Unknown => "may rise and fall",
    }
}
