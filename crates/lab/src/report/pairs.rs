//! A run with rules between two inputs enters; what its page says of them leaves: each rule, how it was proved, and the outputs that it is
//! about as its features move, for a few rows.

use deepsade_data::thinned;
use deepsade_engine::explain::vacuous_pair;
use deepsade_engine::verdict::pair_effort;
use deepsade_net::Matrix;
use deepsade_output::{Judge, Output};
use deepsade_spec::{Domain, Formula, Kept, Linear, Moves, NormalSpec, Pair, PairRule, Rational, Schema, Var, print};

use super::html::{Html, escape};
use super::proof::ProofStatus;
use crate::figure::{Response, responses};

/// Rows that are drawn, values of a feature for each, and pictures of a page.
const ROWS: usize = 5;
const STEPS: usize = 161;
const MOST_PICTURES: usize = 12;

/// What is drawn with.
pub(crate) struct Shown<'a> {
    pub(crate) spec: &'a NormalSpec,
    pub(crate) output: Output<'a>,
    /// Rows of the data, encoded; if there are none, of the domain.
    pub(crate) rows: Option<&'a Matrix>,
}

/// Adds the section, if there are such rules.
pub(crate) fn pairs(html: &mut Html, spec: Option<&NormalSpec>, proof: &ProofStatus, shown: Option<&Shown>) {
    let Some(spec) = spec.filter(|s| !s.pairs.is_empty()) else { return };
    html.section("pairs", "Between two inputs");
    let mut left = MOST_PICTURES;
    for (k, rule) in spec.pairs.iter().enumerate() {
        let done = proof.accepted().and_then(|a| a.pairs.get(k));
        let status = match done {
            Some(done) if proof.proved() => format!("Proved for all pairs of inputs of the domain, {}.", pair_effort(done)),
            Some(_) => "Proved in exact real arithmetic, not in float32.".into(),
            None => "Not proved.".into(),
        };
        let status = match vacuous_pair(rule, spec) {
            Some(why) => format!("{status} The rule is {why}."),
            None => status,
        };
        html.raw(&format!(
            "<div class=\"statement\"><h3>{}</h3><pre>{}</pre><p><small>In normal form:</small> <code>{}</code></p><p>{}</p></div>\n",
            escape(&rule.name),
            escape(&rule.text),
            escape(&print::pair_rule(rule, &spec.schema)),
            escape(&status)
        ));
        let Some(shown) = shown else { continue };
        let word = if done.is_some() { "proved" } else { "not proved" };
        shown.rule(html, rule, word, &mut left);
    }
}

impl Shown<'_> {
    fn rule(&self, html: &mut Html, rule: &PairRule, word: &str, left: &mut usize) {
        let all = || rule.parts.iter().flat_map(|part| part.features.iter().map(move |f| (part, *f)));
        for (part, feature) in all().take(*left) {
            self.picture(html, rule, part, feature, word);
        }
        let total = all().count();
        if total > *left {
            html.paragraph(&format!("{} more features of this rule are not drawn.", total - *left));
        }
        *left = left.saturating_sub(total);
    }

    /// What the rule is about against one of its features, the others as in each row.
    fn picture(&self, html: &mut Html, rule: &PairRule, part: &Pair, feature: usize, word: &str) {
        let schema = &self.spec.schema;
        let (value, zero) = match &part.kept {
            Kept::Number { linear, .. } => (compared(linear, schema), false),
            Kept::Condition(_) => ("above 0: the rule's condition holds".into(), true),
        };
        let levels = match &schema.features[feature].domain {
            Domain::Category { levels } | Domain::Ordered { levels } => levels.clone(),
            _ => Vec::new(),
        };
        let judge = Judge::new(self.spec);
        let (mut rows, mut pairs, mut broken) = (Vec::new(), 0, 0);
        for (k, (name, row)) in self.rows().into_iter().enumerate() {
            let x = self.moved(&row, feature);
            let y = self.output.outputs(&x);
            let here = |r: usize| exact(&judge, x.row(r), y.row(r));
            let met: Vec<bool> = (0..x.rows).map(|r| part.condition.at(&here(r))).collect();
            let point = |r: usize| (place(schema, feature, x.row(r)), strength(&part.kept, &here(r)));
            let mut parts: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
            for r in 0..x.rows {
                if !met[r] {
                    parts.push(Vec::new());
                    continue;
                }
                // The next value, or of a change the farthest that it reaches; what has no direction is compared either way round.
                let far = if matches!(part.moves, Moves::By(_)) { x.rows } else { x.rows.min(r + 2) };
                let next = (r + 1..far).take_while(|next| part.allows(schema, &here(r), &here(*next))).last();
                if let Some(next) = next.filter(|next| met[*next]) {
                    let (a, b) = (here(r), here(next));
                    pairs += 1;
                    broken += usize::from(!part.keeps(&a, &b) || part.moves != Moves::Up && !part.keeps(&b, &a));
                }
                parts.last_mut().into_iter().for_each(|last| last.push(point(r)));
            }
            parts.retain(|part| !part.is_empty());
            let own = Matrix { rows: 1, cols: row.len(), data: row.clone() };
            let y = self.output.outputs(&own);
            let values = exact(&judge, &row, y.row(0));
            let own = part.condition.at(&values).then(|| (place(schema, feature, &row), strength(&part.kept, &values)));
            rows.push(Response { name: if name.is_empty() { format!("row {}", k + 1) } else { name }, parts, own });
        }
        let seen = match pairs {
            0 => String::new(),
            n => format!(" Of {n} pairs of values that it compares on these curves {broken} break the rule."),
        };
        let name = &schema.features[feature].name;
        html.figure(
            &responses(name, &value, &levels, zero, &rows),
            &format!("Rule “{}”, {word}: {value}, against {name}, the other features as in each row (dots).{seen}", rule.name),
        );
    }

    /// Rows of the data, evenly spaced, or of the domain: its lower quarter, its middle, its upper quarter.
    fn rows(&self) -> Vec<(String, Vec<f32>)> {
        if let Some(x) = self.rows.filter(|x| x.rows > 0) {
            return thinned(x.rows, ROWS).map(|r| (String::new(), x.row(r).to_vec())).collect();
        }
        let (schema, map) = (&self.spec.schema, self.spec.schema.column_map());
        let at = |share: f64| -> Vec<f32> {
            let number = |f: usize| {
                let values = values(&schema.features[f].domain);
                values[((values.len() - 1) as f64 * share).round() as usize]
            };
            let mut row = vec![0.0; map.width()];
            schema.features.iter().enumerate().for_each(|(f, feature)| map.put(f, &feature.domain, number(f), &mut row));
            row
        };
        [("lower quarter", 0.25), ("middle", 0.5), ("upper quarter", 0.75)]
            .map(|(n, share)| (format!("{n} of the domain"), at(share)))
            .into()
    }

    /// A row with every value of a feature that is drawn.
    fn moved(&self, row: &[f32], feature: usize) -> Matrix {
        let schema = &self.spec.schema;
        let (map, domain) = (schema.column_map(), &schema.features[feature].domain);
        let values = values(domain);
        let mut x = Matrix::zeros(values.len(), row.len());
        for (r, v) in values.iter().enumerate() {
            x.row_mut(r).copy_from_slice(row);
            map.put(feature, domain, *v, x.row_mut(r));
        }
        x
    }
}

/// Values of a domain, in order, its ends among them; of levels their places.
fn values(domain: &Domain) -> Vec<f32> {
    if let Some(levels) = domain.levels() {
        return (0..levels.len()).map(|l| l as f32).collect();
    }
    let (lo, hi) = domain.range().map_or((0.0, 0.0), |(lo, hi)| (f64::from(lo), f64::from(hi)));
    let at = |k: usize| domain.nearest(lo + (hi - lo) * k as f64 / (STEPS - 1) as f64);
    let mut all: Vec<f32> = (0..STEPS).filter_map(at).collect();
    all.dedup();
    all
}

/// The values of all variables for a row and its outputs: float32 numbers, exactly.
fn exact<'a>(judge: &'a Judge, x: &'a [f32], y: &'a [f32]) -> impl Fn(Var) -> Rational + 'a {
    move |var| {
        let value = if let Var::Output(j) = var { f64::from(y[j]) } else { judge.input(x, var) };
        Rational::try_from(value).unwrap_or_default()
    }
}

/// Where a row stands on the axis of a feature.
fn place(schema: &Schema, feature: usize, row: &[f32]) -> f64 {
    let map = schema.column_map();
    match &schema.features[feature].domain {
        Domain::Category { .. } => map.level_in(feature, row) as f64,
        _ => f64::from(row[map.first(feature)]),
    }
}

/// The number that is compared; of a condition by how much it holds: at least 0 where it does.
fn strength(kept: &Kept, values: &impl Fn(Var) -> Rational) -> f64 {
    fn of(formula: &Formula, values: &impl Fn(Var) -> Rational) -> f64 {
        match formula {
            Formula::True => 1.0,
            Formula::False => -1.0,
            Formula::Atom(atom) => atom.linear.at(values).to_f64().value(),
            Formula::And(parts) => parts.iter().map(|p| of(p, values)).fold(f64::INFINITY, f64::min),
            Formula::Or(parts) => parts.iter().map(|p| of(p, values)).fold(f64::NEG_INFINITY, f64::max),
            Formula::Threshold(_) => f64::from(u8::from(formula.at(values))) * 2.0 - 1.0,
        }
    }
    match kept {
        Kept::Number { linear, .. } => linear.at(values).to_f64().value(),
        Kept::Condition(formula) => of(formula, values),
    }
}

/// What is compared, in words: an output by its name, a form as it is written.
fn compared(linear: &Linear, schema: &Schema) -> String {
    let term = |(var, c): (&Var, &Rational)| {
        let name = print::variable(*var, schema);
        if *c == Rational::ONE { name } else { format!("{} {name}", print::number(c)) }
    };
    linear.terms.iter().map(term).collect::<Vec<_>>().join(" + ")
}
