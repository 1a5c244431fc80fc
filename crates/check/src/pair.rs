//! A network and the proof of a rule between two inputs enter; how exactly it holds leaves, or why it was not shown.

use deepsade_spec::{Kept, Linear, Moves, NormalSpec, Pair, PairRule, Rational, Region};

use crate::certificate::{Arithmetic, Bounds, PairArgument, Tree};
use crate::dyadic::Dyadic;
use crate::idle::idle;
use crate::machine::{Known, Machine};
use crate::rejected::{LostTrend, Misfit, Overflow, Why};
use crate::slope::Whole;
use crate::step::{CALM, Clips};
use crate::trend::Trends;

/// One rule between two inputs that was proved.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvedPair {
    /// Its name.
    pub name: String,
    /// How.
    pub by: PairProvedBy,
    /// Leaves of its tree.
    pub regions: usize,
    /// What rounding may cost: by so much the compared numbers may still fall. 0 where the rule holds exactly.
    pub tolerance: f64,
}

/// Which kind of [`PairArgument`] proved a rule; signs alone where all of its parts have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairProvedBy {
    /// The signs of all weights on the way.
    Signs,
    /// Bounds of the slopes, for one part at least.
    Slopes,
    /// Nothing in the file reads what may differ.
    Unread,
    /// No two inputs can break any part of it.
    Idle,
}

impl PairProvedBy {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Signs => "signs",
            Self::Slopes => "slopes",
            Self::Unread => "unread",
            Self::Idle => "idle",
        }
    }
}

impl ProvedPair {
    /// A rule that no two inputs can break.
    pub(crate) fn idle(rule: &PairRule) -> Self {
        Self { name: rule.name.clone(), by: PairProvedBy::Idle, regions: 0, tolerance: 0.0 }
    }
}

/// What pairs are judged with.
pub(crate) struct PairChecker<'n> {
    machine: Machine<'n>,
    /// What the network's outputs are clipped to.
    clips: Option<&'n Clips>,
    spec: &'n NormalSpec,
    domain: &'n Region,
    /// On the whole domain, as computed.
    known: Known,
    /// By feature.
    trends: Vec<Option<Trends>>,
    stop: &'n dyn Fn() -> bool,
}

impl<'n> PairChecker<'n> {
    pub(crate) fn new(
        machine: Machine<'n>,
        clips: Option<&'n Clips>,
        spec: &'n NormalSpec,
        domain: &'n Region,
        stop: &'n dyn Fn() -> bool,
    ) -> Result<Self, Overflow> {
        let known = machine.known(domain, Bounds::Interval)?;
        let trends = spec.schema.features.iter().map(|_| None).collect();
        Ok(Self { machine, clips, spec, domain, known, trends, stop })
    }

    /// Judges the argument for a rule.
    pub(crate) fn rule(&mut self, rule: &PairRule, argument: &PairArgument) -> Result<ProvedPair, Why> {
        let mut done = ProvedPair { name: rule.name.clone(), by: PairProvedBy::Signs, regions: 0, tolerance: 0.0 };
        let mut resting = 0;
        for part in &rule.parts {
            if (self.stop)() {
                return Err(Why::Stopped);
            }
            match argument {
                // A rule may have parts of any kind.
                PairArgument::Slopes(_) if !matches!(part.moves, Moves::By(_)) && self.signs(part).is_ok() => {}
                PairArgument::Slopes(tree) if !idle(part, self.spec, self.domain) => {
                    done.by = PairProvedBy::Slopes;
                    self.slopes(part, tree, &mut done)?;
                }
                PairArgument::Slopes(_) => resting += 1,
                PairArgument::Signs => match self.signs(part) {
                    Err(why) if !idle(part, self.spec, self.domain) => return Err(why),
                    Err(_) => resting += 1,
                    Ok(()) => {}
                },
                PairArgument::Unread => return Err(Misfit::BlindPair.into()),
            }
        }
        if resting == rule.parts.len() {
            done.by = PairProvedBy::Idle;
        }
        Ok(done)
    }

    /// Every output goes the way that is enough for the rule, in every feature that moves: on the whole domain, so under any condition.
    fn signs(&mut self, part: &Pair) -> Result<(), Why> {
        for (output, asked) in part.demands() {
            for &feature in &part.features {
                let (machine, known) = (&self.machine, &self.known);
                let trends = self.trends[feature].get_or_insert_with(|| machine.trends(feature, known));
                let mut found = trends.output(output).ok_or(Misfit::NoOutput(output))?;
                if let Some(clips) = self.clips {
                    let clipped = clips.trend(self.spec, feature, output, found)?;
                    if found.implies(asked) && !clipped.implies(asked) {
                        let feature = self.spec.schema.features[feature].name.clone();
                        return Err(Misfit::ClipsTurn { output, feature }.into());
                    }
                    found = clipped;
                }
                if !found.implies(asked) {
                    return Err(Why::Trend(Box::new(LostTrend {
                        feature: self.spec.schema.features[feature].name.clone(),
                        output: self.spec.schema.task.output_name(output),
                        asked,
                        found,
                        at: trends.lost(machine, output, asked),
                    })));
                }
            }
        }
        Ok(())
    }

    /// The slopes on every leaf. The leaves' closures cover the segment between two inputs, which for a conjunction of conditions lies
    /// where it holds if both ends do: a leaf where it does not is left out.
    ///
    /// Behind clips each output is one of the network's brought between bounds of the same conditions for both inputs. `min(max(c, l), u)` moves by
    /// no more than the one of c, l and u that moves most. So outputs are taken one by one, each with what its bounds move. A tiny c is taken
    /// for 0 there, which counts as rounding.
    fn slopes(&self, part: &Pair, tree: &Tree, done: &mut ProvedPair) -> Result<(), Why> {
        let numbers = |f: &usize| self.spec.schema.features[*f].domain.range().is_some();
        if part.moves == Moves::Any || !part.features.iter().all(numbers) {
            return Err(Misfit::SlopesOfAny.into());
        }
        let mut forms: Vec<Linear> = Vec::new();
        match (&part.kept, &part.moves) {
            (Kept::Number { linear, .. }, _) => forms.push(linear.clone()),
            // A number that may fall by a rounding is told with it. A class or a label is another one then.
            (Kept::Condition(_), _) if self.machine.arithmetic == Arithmetic::Float32 => {
                return Err(Misfit::SlopesOfClass.into());
            }
            (Kept::Condition(formula), Moves::Up) => formula.atoms(&mut |atom| forms.push(atom.linear.clone())),
            (Kept::Condition(_), _) => return Err(Misfit::SlopesOfChange.into()),
        }
        let mut errors = match self.machine.arithmetic {
            Arithmetic::Real => vec![Dyadic::default(); self.machine.network.outputs()],
            Arithmetic::Float32 => self.machine.errors(&self.known)?,
        };
        if self.clips.is_some() {
            errors.iter_mut().for_each(|error| *error += &Dyadic::from(2f32.powi(CALM)));
        }
        let form = |linear: &Linear, bounds: Rational| {
            let form = Whole::new(linear);
            Changing { rounding: Rational::from(2) * form.error(&errors), form, bounds }
        };
        if let Some(clips) = self.clips {
            let parts = clips.parts_that_change(part, &self.machine, self.spec, self.domain)?;
            let parts: Vec<Changing> = parts.iter().map(|(linear, bounds)| form(linear, bounds.clone())).collect();
            return self.leaf(part, &parts, tree, self.domain, done);
        }
        for linear in &forms {
            let form = form(linear, Rational::ZERO);
            if part.moves == Moves::Up {
                let cost = (&form.rounding / &form.form.denominator).to_f64().value();
                done.tolerance = done.tolerance.max(if cost > 0.0 { cost.next_up() } else { 0.0 });
            }
            self.leaf(part, &[form], tree, self.domain, done)?;
        }
        Ok(())
    }

    fn leaf(&self, part: &Pair, forms: &[Changing], tree: &Tree, region: &Region, done: &mut ProvedPair) -> Result<(), Why> {
        let bounds = match tree {
            Tree::Split { feature, cut, below, above } => {
                let [low, high] = region.split(*feature, cut)?;
                self.leaf(part, forms, below, &low, done)?;
                return self.leaf(part, forms, above, &high, done);
            }
            Tree::Leaf { bounds, cells, lines } if cells.is_empty() && lines.is_empty() => *bounds,
            _ => return Err(Misfit::SlopeTree.into()),
        };
        if (self.stop)() {
            return Err(Why::Stopped);
        }
        done.regions += 1;
        let region = region.touching(self.domain);
        if region.is_empty() || region.excludes(&part.condition, &self.spec.schema) {
            return Ok(());
        }
        let machine = Machine { arithmetic: Arithmetic::Real, ..self.machine };
        let known = machine.known(&region, bounds)?;
        let slopes = part.features.iter().map(|f| machine.slopes(*f, &known)).collect::<Result<Vec<_>, _>>()?;
        let (mut change, mut least) = (Rational::ZERO, Rational::ZERO);
        for Changing { form, rounding, bounds } in forms {
            let mut own = rounding.clone();
            for (k, slopes) in slopes.iter().enumerate() {
                let slope = slopes.of(&machine, form);
                match &part.moves {
                    Moves::By(by) => own += &by[k] * slope.size().rational(),
                    _ => least = least.min(slope.lo.rational() / &form.denominator),
                }
            }
            change += (own / &form.denominator).max(bounds.clone());
        }
        match (&part.moves, &part.kept) {
            (Moves::By(_), Kept::Number { by, strict, .. }) => {
                if change < *by || !strict && change == *by {
                    return Ok(());
                }
                Err(Why::Changes(change.to_f64().value()))
            }
            _ if least == Rational::ZERO => Ok(()),
            _ => Err(Why::Falls((-least).to_f64().value())),
        }
    }
}

/// A form of outputs whose change is looked at.
struct Changing {
    form: Whole,
    /// What rounding may add, times the form's denominator.
    rounding: Rational,
    /// What bounds that its outputs are clipped to may change.
    bounds: Rational,
}
