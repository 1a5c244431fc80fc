//! Bounds that follow from the input enter; the tail that clips a network's outputs to them leaves, what must be shown of the bounds so
//! that what is left obeys the rules, and how it moves with a feature.
//!
//! ```text
//! network -> c -> [ c' = c in its range;  y = max(.., min(.., c', u_k(x)), l_k(x)) ] -> y      u_k, l_k affine, each under a condition
//! ```
//!
//! A bound is applied unless a condition of its was computed to fail: so it is wherever they hold, and a little beyond where float32 can't
//! tell (`maybe`).
//!
//! An output that must be a whole number is rounded to the nearest before it is clipped, and so are its bounds, inwards.
//!
//! The argument, for every float32 input x of the domain:
//!
//! 1. The file is the network and this tail, byte for byte.
//! 2. Lower bounds come last, so y is at least each that is applied. It is at most each upper one that is, too, and stays in its range,
//!    if there no lower bound is above an upper one or the range's end, and no upper one is below the range: the first claim (`order`).
//!    So y is between its bounds wherever their conditions hold, and an atom `a.y + ... >= 0` holds where it holds with every output at a lower bound where its factor is positive and
//!    at an upper one where it is negative (`claims`): claims about the bounds, an affine network, shown by cells as for any other.
//!    Bounds that were rounded inwards say more. They do not cross if they were whole before (`Round::is_whole`) or had a whole number
//!    between them: a width of 1.
//!    Of an output that is listed in `meet` nothing is claimed of how its bounds lie to each other. If all lower ones that are applied are
//!    at most `u_k` it is at most `u_k`; else it is the largest of them, one that may be applied and is above `u_k`. So where an atom takes
//!    `u_k` for it, the atom must hold with each such lower bound in its place as well (`BoundChoice::cases`). Rounded inwards, a lower bound is the
//!    same number only if it was whole before: the others are refused.
//! 3. Minimum, maximum and rounding to whole numbers never fall in an operand. A bound that begins to hold only lowers what it bounds from above, and only raises what
//!    it bounds from below: so trends of the network's outputs, of bounds and of conditions make the trend of y (`trend`),
//!    as computed, exactly.
//! 4. Each of them moves by no more than the operand that moves most, and so does a bound whose conditions are about other features: how
//!    much y changes follows from how much the network's output and the bounds do (`parts_that_change`).

use deepsade_net::{Behind, Matrix, Network, Node, Op, Piece, Port, TRUNK_OUTPUT};
use deepsade_spec::{
    Atom, ColumnKind, Formula, Kept, Linear, Moves, NormalRule, NormalSpec, Pair, Rational, Region, Task, Trend, Var,
};

use super::level::{Gates, Truth};
use super::literal::{Literal, Sums};
use super::over::{CALM, Over, exact};
use super::tail::{OUTPUTS, inside, judged, named};
use super::{PREFIX, otherwise, step_of};
use crate::certificate::{Bounds, Clips, OutputStep, Outputs, Round};
use crate::layout::Layout;
use crate::machine::Machine;
use crate::rejected::{Misfit, StepFault, Why};

/// Rounds that a file may have, and ways to choose among bounds for one atom.
const MOST_ROUNDS: usize = 32;
const MOST_CHOICES: usize = 512;

/// A bound of an output.
struct Bound<'c> {
    /// `None` for an end of the range.
    round: Option<usize>,
    when: &'c [(usize, bool)],
}

/// A choice of bounds for the outputs of an atom.
struct BoundChoice {
    /// Where these bounds are applied for certain.
    sure: Formula,
    /// What the outputs may be at worst: where, and the atom's form with them put in.
    cases: Vec<(Formula, Linear)>,
}

impl BoundChoice {
    /// The same with a further output that is at worst one of these values.
    fn with(&self, factor: &Rational, sure: &Formula, values: &[(Formula, Linear)]) -> Self {
        let mut cases = Vec::new();
        for (where_, linear) in &self.cases {
            for (there, value) in values {
                let mut linear = linear.clone();
                linear.add_scaled(factor, value);
                cases.push((Formula::and([where_.clone(), there.clone()]), linear));
            }
        }
        Self { sure: Formula::and([self.sure.clone(), sure.clone()]), cases }
    }
}

impl Clips {
    fn sound(&self, spec: &NormalSpec) -> Result<(), StepFault> {
        let (outputs, columns, conditions) = (self.numbers.len(), spec.schema.columns().len(), spec.conditions().len());
        if matches!(spec.schema.task, Task::Multilabel { .. } | Task::Ranking { .. }) {
            return Err(StepFault::LabelsClipped);
        }
        Outputs::Numbers(self.numbers.clone()).sound(&spec.schema.task)?;
        let whole = |j: usize| self.numbers[j].grid.is_some();
        if self.numbers.iter().any(|n| n.grid.is_some_and(|k| k != 0)) {
            return Err(StepFault::ClipGrid);
        }
        let over = Over::new(&spec.schema, None);
        let stays = |j: usize| !whole(j) || self.rounds.iter().all(|round| round.upper || round.is_whole(j, &over));
        if self.meet.iter().any(|j| *j >= outputs) || self.meet.windows(2).any(|m| m[0] >= m[1]) {
            return Err(StepFault::Meet);
        }
        if self.rounds.is_empty() && !(0..outputs).any(whole)
            || self.rounds.len() > MOST_ROUNDS
            || self.rounds.windows(2).any(|r| !r[0].upper && r[1].upper)
        {
            return Err(StepFault::Rounds(MOST_ROUNDS));
        }
        for (k, round) in self.rounds.iter().enumerate() {
            let calm = |v: &f32| *v == 0.0 || v.is_finite() && v.abs() >= 2f32.powi(CALM);
            let good = |(o, c, w): &(usize, usize, f32)| *o < outputs && *c < columns && w.is_finite();
            let places: std::collections::BTreeSet<_> = round.weights.iter().map(|(o, c, _)| (o, c)).collect();
            let fits = round.when.len() == outputs && round.bias.len() == outputs && places.len() == round.weights.len();
            let known = round.when.iter().flatten().all(|(c, _)| *c < conditions);
            let on_grid = |j: usize| !whole(j) || !round.is_constant(j) || round.bias[j].fract() == 0.0;
            if fits && !(0..outputs).all(on_grid) {
                return Err(StepFault::RoundNotWhole(k));
            }
            if !fits || !known || !round.bias.iter().all(calm) || !round.weights.iter().all(good) {
                return Err(StepFault::Round(k));
            }
        }
        if !self.meet.iter().all(|j| stays(*j)) {
            return Err(StepFault::MeetNotWhole);
        }
        Ok(())
    }

    /// What stands behind the network, whose outputs it clips.
    pub fn behind(&self, spec: &NormalSpec) -> Result<Behind, StepFault> {
        self.sound(spec)?;
        let (outputs, columns, x) = (self.numbers.len(), spec.schema.columns().len(), "x");
        let (mut piece, mut gates, mut parts) = (Piece::default(), Gates::default(), Vec::new());
        // As in an output step, outputs stand: a line each.
        let (mut standing, numbers) = (named("standing"), Outputs::Numbers(self.numbers.clone()));
        piece.call("Transpose", &[TRUNK_OUTPUT], &standing);
        if self.numbers.iter().any(|n| n.grid.is_some()) {
            // What is rounded down half a unit further up is rounded to the nearest.
            let [halves, raised] = ["halves", "raised"].map(named);
            piece.floats(&halves, &[outputs, 1], self.numbers.iter().map(|n| if n.grid.is_some() { 0.5 } else { 0.0 }).collect());
            piece.call("Add", &[&standing, &halves], &raised);
            standing = raised;
        }
        let read = OutputStep { candidate: standing, outputs: numbers, fallback: Vec::new() };
        let c = judged(&read, &mut piece);
        let over = Over::new(&spec.schema, Some(&read.outputs));
        let conditions = spec.conditions();
        let mut whens: Vec<Vec<Truth>> = Vec::new();
        for round in &self.rounds {
            let mut truth = |when: &Vec<(usize, bool)>| {
                let fails = |asked| gates.sums.literal(&atom(asked, &conditions).opposite(), &over);
                let parts = when.iter().map(fails).collect::<Result<Vec<_>, _>>()?.into_iter().map(|fails| match fails {
                    Literal::Decided(truth) => Truth::Constant(!truth),
                    Literal::Computed { sum, truth, .. } => Truth::Sum(sum, !truth),
                });
                Ok::<_, StepFault>(gates.all_of(parts.collect()))
            };
            whens.push(round.when.iter().map(&mut truth).collect::<Result<_, _>>()?);
        }
        // A product of one line is rounded in another order from row to row of a batch; of two it is not.
        if let [only] = &gates.sums.all[..]
            && only.terms.len() > 1
        {
            let column = only.terms[0].0;
            gates.sums.above(column, 0.0);
        }
        let (inside, offs) = inside(&spec.schema, x, outputs, 0, &mut gates, &mut parts, &mut piece);
        let roots: Vec<Truth> = [inside].into_iter().chain(whens.iter().flatten().copied()).collect();
        gates.small()?;
        let counted = gates.write(&roots, &parts, 0, PREFIX, &mut piece);
        let truths = gates.finish(&roots, &counted, &offs, "root", PREFIX, &mut piece);
        let [y, in_domain, ok] = OUTPUTS;
        let mut clipped = c;
        for (k, round) in self.rounds.iter().enumerate() {
            let mut bound = self.inwards(k, round.write(k, columns, x, &mut piece), &mut piece);
            if whens[k].iter().any(|truth| *truth != Truth::Constant(true)) {
                let [none, lines, when, chosen] = ["none", "lines", "when", "chosen"].map(|what| named(&format!("{what}{k}")));
                let ends = self.numbers.iter().map(|n| if round.upper { n.hi } else { n.lo });
                piece.floats(&none, &[outputs, 1], ends.collect());
                piece.ints(&lines, &[outputs], (0..outputs).map(|j| (1 + k * outputs + j) as i64).collect());
                piece.call_with("Gather", &[&truths, &lines], &when, &[("axis", 0)]);
                piece.call("Where", &[&when, &bound, &none], &chosen);
                bound = chosen;
            }
            let makes = named(&format!("clipped{k}"));
            piece.call(if round.upper { "Min" } else { "Max" }, &[&clipped, &bound], &makes);
            clipped = makes;
        }
        piece.call("Transpose", &[&clipped], y);
        let [first, smallest, finite] = ["first", "smallest", "finite"].map(named);
        piece.ints(&first, &[], vec![0]);
        piece.call_with("Gather", &[&truths, &first], in_domain, &[("axis", 0)]);
        // There is nothing to fall back on: what is a number is what the network and the bounds say.
        piece.floats(&smallest, &[], vec![f32::MIN]);
        piece.call("Greater", &[&clipped, &smallest], &finite);
        piece.call_with("Gather", &[&finite, &first], ok, &[("axis", 0)]);
        let outputs =
            vec![Port::rows(y, "float", Some(outputs)), Port::rows(in_domain, "bool", None), Port::rows(ok, "bool", None)];
        Ok(Behind { piece, outputs })
    }

    /// A round's bounds, those of whole numbers rounded inwards.
    fn inwards(&self, k: usize, bound: String, piece: &mut Piece) -> String {
        let round = &self.rounds[k];
        if !self.numbers.iter().enumerate().any(|(j, n)| n.grid.is_some() && !round.is_constant(j)) {
            return bound;
        }
        let [rounded, inwards] = ["rounded", "inwards"].map(|what| named(&format!("{what}{k}")));
        piece.call(if round.upper { "Floor" } else { "Ceil" }, &[&bound], &rounded);
        if self.numbers.iter().all(|n| n.grid.is_some()) {
            return rounded;
        }
        // Which outputs may be any number `judged` has written down.
        piece.call("Where", &[&named("open"), &bound, &rounded], &inwards);
        inwards
    }

    /// The bounds as a network: those of the first round, one an output, then those of the next.
    pub fn network(&self, columns: usize) -> Network {
        let outputs = self.numbers.len();
        let (mut w, mut b) = (Matrix::zeros(outputs * self.rounds.len(), columns), Vec::new());
        for (k, round) in self.rounds.iter().enumerate() {
            round.weights.iter().for_each(|(o, c, v)| w.row_mut(k * outputs + o)[*c] = *v);
            b.extend_from_slice(&round.bias);
        }
        Network { inputs: columns, nodes: vec![Node { op: Op::Dense { w, b }, from: vec![0] }] }
    }

    /// What must hold of the bounds: that they do not cross, then for each rule what makes it hold. As [`NormalSpec`] with a bound an
    /// output, for whoever looks for the trees.
    pub fn claims(&self, spec: &NormalSpec) -> Result<NormalSpec, StepFault> {
        self.sound(spec)?;
        let conditions = spec.conditions();
        let rule = |name: &str, claim: Formula| NormalRule {
            name: name.into(),
            text: String::new(),
            claim: self.with_exact(&claim, spec),
            reads_scores: false,
        };
        let mut rules = vec![rule("bounds do not cross", self.order(&conditions, spec)?)];
        for own in &spec.rules {
            let mut failed = None;
            let claim = own.claim.replaced(&mut |atom| {
                self.bounded(atom, &conditions, spec).unwrap_or_else(|why| {
                    failed = Some(why);
                    Formula::False
                })
            });
            if let Some(why) = failed {
                return Err(why);
            }
            rules.push(rule(&own.name, claim));
        }
        let mut claims = NormalSpec { rules, pairs: Vec::new(), ..spec.clone() };
        let targets = (0..self.numbers.len() * self.rounds.len()).map(|k| format!("bound {k}")).collect();
        claims.schema.task = Task::Regression { targets, whole: Vec::new() };
        Ok(claims)
    }

    /// The second step's first half.
    fn order(&self, conditions: &[Atom], spec: &NormalSpec) -> Result<Formula, StepFault> {
        let (outputs, over) = (self.numbers.len(), Over::new(&spec.schema, None));
        let at_least = |a: Linear, b: Linear| {
            let mut linear = a;
            linear.add_scaled(&-Rational::ONE, &b);
            Formula::Atom(Atom { linear, strict: false })
        };
        let mut all = Vec::new();
        for j in 0..outputs {
            let of = |k: usize| Linear::var(Var::Output(k * outputs + j));
            let [lo, hi] = [self.numbers[j].lo, self.numbers[j].hi].map(|v| Linear::constant(exact(v)));
            for (k, round) in self.rounds.iter().enumerate() {
                let idle = maybe(&round.when[j], conditions, spec)?.negated();
                let inside = if round.upper { at_least(of(k), lo.clone()) } else { at_least(hi.clone(), of(k)) };
                all.push(Formula::or([idle.clone(), inside]));
                let met = round.upper && !self.meet.contains(&j);
                for (l, lower) in self.rounds.iter().enumerate().filter(|(_, lower)| met && !lower.upper) {
                    // Rounded inwards they may come nearer to each other.
                    let apart = self.numbers[j].grid.is_some() && !(round.is_whole(j, &over) && lower.is_whole(j, &over));
                    let mut lowest = of(l);
                    lowest.constant = if apart { Rational::ONE } else { Rational::ZERO };
                    let either = [idle.clone(), maybe(&lower.when[j], conditions, spec)?.negated(), at_least(of(k), lowest)];
                    all.push(Formula::or(either));
                }
            }
        }
        Ok(Formula::and(all))
    }

    /// The second step's other half: an atom about outputs as one about bounds whose conditions hold, of which any will do.
    fn bounded(&self, atom: &Atom, conditions: &[Atom], spec: &NormalSpec) -> Result<Formula, StepFault> {
        let outputs = self.numbers.len();
        let mut ways = vec![BoundChoice {
            sure: Formula::True,
            cases: vec![(Formula::True, Linear::constant(atom.linear.constant.clone()))],
        }];
        for (var, c) in &atom.linear.terms {
            let Var::Output(j) = var else {
                ways.iter_mut().flat_map(|way| &mut way.cases).for_each(|(_, linear)| linear.add_scaled(c, &Linear::var(*var)));
                continue;
            };
            let upper = *c < Rational::ZERO;
            let number = self.numbers.get(*j).ok_or(StepFault::NoOutput(*j))?;
            let mut next = Vec::new();
            for Bound { round, when } in self.bounds_of(*j, upper) {
                let end = || Linear::constant(exact(if upper { number.hi } else { number.lo }));
                let value = round.map_or_else(end, |k| Linear::var(Var::Output(k * outputs + j)));
                let sure = Formula::and(when.iter().map(|asked| Formula::Atom(self::atom(asked, conditions))));
                let mut values = vec![(Formula::True, value.clone())];
                if upper && round.is_some() && self.meet.contains(j) {
                    values.extend(self.above(*j, &value, conditions, spec)?);
                }
                next.extend(ways.iter().map(|way| way.with(c, &sure, &values)));
            }
            if next.iter().map(|way| way.cases.len()).sum::<usize>() > MOST_CHOICES {
                return Err(StepFault::Choices(MOST_CHOICES));
            }
            ways = next;
        }
        let holds = |(where_, linear): &(Formula, Linear)| {
            Formula::or([where_.clone().negated(), Formula::compared(linear.clone(), atom.strict)])
        };
        Ok(Formula::or(ways.iter().map(|way| Formula::and([way.sure.clone()].into_iter().chain(way.cases.iter().map(holds))))))
    }

    /// The lower bounds of an output that may come out in the place of an upper one, each with where.
    fn above(
        &self,
        j: usize,
        upper: &Linear,
        conditions: &[Atom],
        spec: &NormalSpec,
    ) -> Result<Vec<(Formula, Linear)>, StepFault> {
        let mut found = Vec::new();
        for (l, lower) in self.rounds.iter().enumerate().filter(|(_, round)| !round.upper) {
            let value = Linear::var(Var::Output(l * self.numbers.len() + j));
            let mut excess = value.clone();
            excess.add_scaled(&-Rational::ONE, upper);
            let higher = Formula::Atom(Atom { linear: excess, strict: true });
            found.push((Formula::and([maybe(&lower.when[j], conditions, spec)?, higher]), value));
        }
        Ok(found)
    }

    /// The bounds of an output from one side; those that say no more than its range are left out.
    fn bounds_of(&self, j: usize, upper: bool) -> Vec<Bound<'_>> {
        let end = if upper { self.numbers[j].hi } else { self.numbers[j].lo };
        let says = |round: &Round| round.upper == upper && !(round.is_constant(j) && round.bias[j] == end);
        let rounds = self.rounds.iter().enumerate().filter(|(_, round)| says(round));
        let all = rounds.map(|(k, round)| Bound { round: Some(k), when: &round.when[j] });
        [Bound { round: None, when: &[] }].into_iter().chain(all).collect()
    }

    /// A claim with the bounds put in that are computed without rounding, constants and whole multiples of whole numbers.
    fn with_exact(&self, claim: &Formula, spec: &NormalSpec) -> Formula {
        let (outputs, over, columns) = (self.numbers.len(), Over::new(&spec.schema, None), spec.schema.columns());
        let form = |b: usize| {
            let (round, j) = (&self.rounds[b / outputs], b % outputs);
            if !round.is_constant(j) && round.step_of(j, &over).is_none() {
                return Linear::var(Var::Output(b));
            }
            let mut linear = Linear::constant(exact(round.bias[j]));
            for (_, c, w) in round.weights.iter().filter(|(o, ..)| *o == j) {
                let var = match columns[*c].kind {
                    ColumnKind::Number => Var::Feature(columns[*c].feature),
                    ColumnKind::Level(level) => Var::Level(columns[*c].feature, level),
                };
                linear.add_scaled(&exact(*w), &Linear::var(var));
            }
            linear
        };
        claim.replaced(&mut |atom| {
            let mut linear = Linear::constant(atom.linear.constant.clone());
            for (var, c) in &atom.linear.terms {
                linear.add_scaled(c, &if let Var::Output(b) = var { form(*b) } else { Linear::var(*var) });
            }
            Formula::compared(linear, atom.strict)
        })
    }

    /// The terms of what a rule compares of two inputs, one by one, each with the most that a bound of its output changes from one to the other,
    /// as computed; its conditions must be about other features.
    pub(crate) fn parts_that_change(
        &self,
        part: &Pair,
        machine: &Machine,
        spec: &NormalSpec,
        domain: &Region,
    ) -> Result<Vec<(Linear, Rational)>, Why> {
        let (Kept::Number { linear, .. }, Moves::By(by)) = (&part.kept, &part.moves) else {
            return Err(Misfit::SlopesOfClips.into());
        };
        let (conditions, columns) = (spec.conditions(), spec.schema.columns());
        let network = self.network(columns.len());
        let bounds = Machine { network: &network, ..*machine };
        let errors = bounds.errors(&bounds.known(domain, Bounds::Interval)?)?;
        let far =
            |c: usize| part.features.iter().position(|f| *f == columns[c].feature).map_or(Rational::ZERO, |k| by[k].clone());
        let size = |v: Rational| if v < Rational::ZERO { -v } else { v };
        let mut parts = Vec::new();
        for (var, a) in &linear.terms {
            let Var::Output(j) = *var else { continue };
            let mut most = Rational::ZERO;
            for (k, round) in self.rounds.iter().enumerate() {
                let moved = |(c, _): &(usize, bool)| {
                    conditions[*c].linear.terms.keys().filter_map(|v| v.feature()).any(|f| part.features.contains(&f))
                };
                if self.numbers[j].grid.is_some() || round.when[j].iter().any(moved) {
                    return Err(Misfit::SlopesOfClips.into());
                }
                let own = round.weights.iter().filter(|(o, ..)| *o == j);
                let change = own.fold(Rational::ZERO, |sum, (_, c, w)| sum + size(exact(*w)) * far(*c));
                // What does not read the features is computed from the same numbers.
                if change > Rational::ZERO {
                    most = most.max(change + Rational::from(2) * errors[k * self.numbers.len() + j].rational());
                }
            }
            parts.push((Linear::var(*var).scaled(a), size(a.clone()) * most));
        }
        Ok(parts)
    }

    /// The trend of an output in a feature in which the network's own output has this one.
    pub fn trend(&self, spec: &NormalSpec, feature: usize, j: usize, own: Trend) -> Result<Trend, StepFault> {
        let columns = Layout::new(&spec.schema).trends(feature);
        let sum = |terms: &mut dyn Iterator<Item = (usize, f32)>| {
            terms.fold(Trend::Constant, |so_far, (c, w)| so_far.and(columns.get(c).copied().unwrap_or(Trend::Unknown).times(w)))
        };
        let (conditions, over) = (spec.conditions(), Over::new(&spec.schema, None));
        let mut trend = own;
        for round in &self.rounds {
            trend = trend.and(sum(&mut round.weights.iter().filter(|(o, ..)| *o == j).map(|(_, c, w)| (*c, *w))));
            for asked in &round.when[j] {
                let mut sums = Sums::default();
                if let Literal::Computed { sum: at, truth, .. } = sums.literal(&atom(asked, &conditions).opposite(), &over)? {
                    let begins = sum(&mut sums.all[at].terms.iter().copied()).times(if truth { -1.0 } else { 1.0 });
                    trend = trend.and(begins.times(if round.upper { -1.0 } else { 1.0 }));
                }
            }
        }
        Ok(trend)
    }
}

impl Round {
    /// Its bounds, a line an output; the constant stands on the right, as in a layer, so that all rows of a batch are rounded alike: trends hold
    /// for one order of operations.
    fn write(&self, k: usize, columns: usize, x: &str, piece: &mut Piece) -> String {
        let [matrix, bias, rows, map] = ["weights", "bias", "rows", "map"].map(|what| named(&format!("{what}{k}")));
        let outputs = self.bias.len();
        if self.weights.is_empty() {
            piece.floats(&bias, &[outputs, 1], self.bias.clone());
            return bias;
        }
        let mut w = vec![0.0f32; columns * outputs];
        self.weights.iter().for_each(|(o, c, v)| w[c * outputs + o] = *v);
        piece.floats(&matrix, &[columns, outputs], w);
        piece.floats(&bias, &[outputs], self.bias.clone());
        piece.call("Gemm", &[x, &matrix, &bias], &rows);
        piece.call("Transpose", &[&rows], &map);
        map
    }

    /// Whether an output's bound is a whole number, computed without rounding.
    fn is_whole(&self, j: usize, over: &Over) -> bool {
        self.step_of(j, over).is_some_and(|k| k <= 0)
    }

    fn step_of(&self, j: usize, over: &Over) -> Option<i32> {
        step_of(self.bias[j], self.weights.iter().filter(|(o, ..)| *o == j).map(|(_, c, w)| (*c, *w)), over)
    }

    fn is_constant(&self, j: usize) -> bool {
        self.weights.iter().all(|(o, _, w)| *o != j || *w == 0.0)
    }
}

fn atom((c, truth): &(usize, bool), conditions: &[Atom]) -> Atom {
    conditions[*c].asked(*truth)
}

/// What holds where a bound may be applied: none of its conditions was computed to fail.
fn maybe(when: &[(usize, bool)], conditions: &[Atom], spec: &NormalSpec) -> Result<Formula, StepFault> {
    let over = Over::new(&spec.schema, None);
    let parts = when.iter().map(|asked| otherwise(&atom(asked, conditions).opposite(), &over));
    Ok(Formula::and(parts.collect::<Result<Vec<_>, _>>()?))
}
