//! A model, rules and a certificate enter; a verdict leaves.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use dashu::integer::IBig;
use deepsade_net::onnx::carried::LEARNING_OPSET;
use deepsade_net::{Carried, Matrix, Model};
use deepsade_spec::canonical::canonical;
use deepsade_spec::cells::cells;
use deepsade_spec::{Atom, Claim, Formula, Linear, NormalSpec, Rational, Region, SCHEMA_KEY, Schema, Var, compile};

use crate::certificate::{Arithmetic, Bounds, Certificate, Lines, SLOPES, Tree};
use crate::decode;
use crate::dyadic::Dyadic;
use crate::layout::Layout;
use crate::linear::{Form, GateEnd};
use crate::machine::{Known, Machine, Sign};
use crate::pair::{PairChecker, ProvedPair};
use crate::rejected::{RANGE, Rejected, Step, Why};
use crate::sha256::sha256_hex;
use crate::step::{Inputs, PREFIX, Tail, domain_flag, found_names};

/// What the checker says.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Every rule holds for every input of the domain.
    Accepted(Accepted),
    /// The certificate proves nothing; the rules may still hold.
    Rejected(Rejected),
}

/// What was proved, of which file. Only [`check`] makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted(Proved);

/// What an [`Accepted`] says.
#[derive(Debug, Clone, PartialEq)]
pub struct Proved {
    /// SHA-256 of the ONNX file.
    pub model_sha256: String,
    /// SHA-256 of the canonical rules, schema included.
    pub rules_sha256: String,
    /// The arithmetic in which the rules hold.
    pub arithmetic: Arithmetic,
    /// The rules, in order.
    pub rules: Vec<ProvedRule>,
    /// The rules between two inputs, in order.
    pub pairs: Vec<ProvedPair>,
    /// What keeps the rules.
    pub kept_by: Keeper,
    /// The rules in normal form, with the schema from the model's file.
    pub spec: NormalSpec,
}

/// What keeps the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeper {
    /// The weights of the network.
    Weights,
    /// A choice among rows of a table, at the end of the graph: rules without input features hold outside the domain, too.
    Choice,
    /// The output step in which the file ends.
    Step,
}

impl std::ops::Deref for Accepted {
    type Target = Proved;

    fn deref(&self) -> &Proved {
        &self.0
    }
}

/// One rule that was proved.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvedRule {
    /// Its name.
    pub name: String,
    /// Leaves of its tree.
    pub regions: usize,
    /// Cells that were refuted by multipliers, over all leaves.
    pub cells: usize,
    /// The smallest distance to a violation: by how much the weighted mean of a cell's atoms stays below zero, rounded down;
    /// infinite where no cell was left to refute.
    pub margin: f64,
}

impl ProvedRule {
    fn new(name: &str) -> Self {
        Self { name: name.into(), regions: 0, cells: 0, margin: f64::INFINITY }
    }
}

/// Atoms in one cell: far above what is used, far below what exhausts a stack or gamma(k).
pub const MAX_ATOMS: usize = 1024;
/// Nodes and columns of a network: the same.
const MAX_NODES: usize = 4096;
const MAX_WIDTH: usize = 1 << 20;
/// Regions whose bounds are kept for the next cells and rules.
const KEPT_REGIONS: usize = 64;

/// Judges a certificate: `Accepted` means that for every input whose features are float32 values of the model's domain, which covers
/// the claim's, the ONNX file, evaluated as docs/soundness.md says, gives finite outputs that satisfy every rule, whole numbers where the schema
/// says so. Never panics.
#[doc = include_str!("../EXAMPLE.md")]
pub fn check(model: &[u8], claim: &Claim, certificate: &str) -> Verdict {
    check_until(model, claim, certificate, &|| false)
}

/// The same, ended early once `stop` says so, which is asked cell by cell.
pub fn check_until(model: &[u8], claim: &Claim, certificate: &str, stop: &dyn Fn() -> bool) -> Verdict {
    match judge(model, claim, certificate, stop) {
        Ok(proved) => Verdict::Accepted(Accepted(proved)),
        Err(rejected) => Verdict::Rejected(rejected),
    }
}

fn judge(bytes: &[u8], claim: &Claim, certificate: &str, stop: &dyn Fn() -> bool) -> Result<Proved, Rejected> {
    let certificate = Certificate::from_json(certificate).map_err(at("certificate"))?;
    let model_sha256 = sha256_hex(bytes);
    same("model hash", &certificate.model_sha256, &model_sha256)?;

    if certificate.step.is_some() {
        return by_step(bytes, claim, &certificate, model_sha256, stop);
    }
    let model = Model::from_own_bytes(bytes).map_err(at("model"))?;
    model.network.validate().map_err(at("model"))?;
    let widths = model.network.widths();
    if model.network.nodes.len() > MAX_NODES || widths.iter().any(|w| *w > MAX_WIDTH) {
        return Err(at("model")(format!("more than {MAX_NODES} nodes, or more than {MAX_WIDTH} columns")));
    }
    let Claimed { spec, domain, layout, rules_sha256 } = claimed(&model.metadata, claim, &certificate)?;
    if model.behind.is_some() {
        // Nothing may stand between the network and who reads it but what says whether an input is in the domain.
        let flagged = Model { behind: Some(domain_flag(&spec.schema)), ..model.clone() }.to_bytes().map_err(at("model"))?;
        if flagged != bytes {
            return Err(at("model")("what stands behind the network is no part of what its certificate is about"));
        }
    }
    if let Some(j) = spec.schema.task.whole_outputs().first() {
        return Err(at("whole")(format!("output {j} must be a whole number, which only an output step makes sure of")));
    }
    let (inputs, outputs) = (layout.width(), spec.schema.task.outputs());
    if inputs != model.network.inputs || outputs != model.network.outputs() {
        let found = format!("{} inputs and {} outputs", model.network.inputs, model.network.outputs());
        return Err(at("schema")(format!("{inputs} inputs and {outputs} outputs, but the network has {found}")));
    }

    let arithmetic = certificate.arithmetic;
    let machine = Machine { network: &model.network, layout: &layout, arithmetic };
    let table = decode::table(&model.network, &spec).map_err(at("decode"))?;
    let chosen = table.is_some() && certificate.rules.iter().all(|r| r.tree == Tree::Decode);
    if !chosen {
        // Finite outputs everywhere, also where no rule asks for anything.
        machine.known(&domain, Bounds::Interval).map_err(at(RANGE))?;
    }
    let kept_by = if chosen { Keeper::Choice } else { Keeper::Weights };
    let mut checker = Checker::new(machine, table, stop);
    let mut rules = Vec::new();
    for (k, (rule, proof)) in spec.rules.iter().zip(&certificate.rules).enumerate() {
        let mut done = ProvedRule::new(&rule.name);
        checker.rule(k, &rule.name, &rule.claim.negated(), &proof.tree, &domain, &mut done)?;
        rules.push(done);
    }
    let pairs = two_inputs(checker.machine, &spec, &domain, &certificate, stop)?;
    Ok(Proved { model_sha256, rules_sha256, arithmetic, rules, pairs, kept_by, spec })
}

/// Judges the proofs of all rules between two inputs.
fn two_inputs(
    machine: Machine,
    spec: &NormalSpec,
    domain: &Region,
    certificate: &Certificate,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<ProvedPair>, Rejected> {
    if spec.pairs.is_empty() {
        return Ok(Vec::new());
    }
    let mut checker = PairChecker::new(machine, spec, domain, stop).map_err(at("range"))?;
    let judged = spec.pairs.iter().zip(&certificate.pairs).enumerate().map(|(k, (rule, proof))| {
        let at = || Step::Pair { rule: k, name: rule.name.clone() };
        checker.rule(rule, &proof.argument).map_err(|why| Rejected { at: at(), why })
    });
    judged.collect()
}

fn at<E: ToString>(part: &'static str) -> impl Fn(E) -> Rejected {
    move |e| Rejected { at: Step::Input(part), why: Why::Words(e.to_string()) }
}

/// Since then the operators of a tail are what they are now: the ends of a `Clip` are operands since 11, the others are older.
const OLDEST_OPSET: i64 = 11;

/// What is claimed of a model.
struct Claimed {
    spec: NormalSpec,
    domain: Region,
    layout: Layout,
    rules_sha256: String,
}

/// The claim, compared with what the model says of itself, and the rules, compared with those of the certificate.
fn claimed(metadata: &BTreeMap<String, String>, claim: &Claim, certificate: &Certificate) -> Result<Claimed, Rejected> {
    let text = metadata.get(SCHEMA_KEY).ok_or_else(|| format!("no `{SCHEMA_KEY}` in the model")).map_err(at("schema"))?;
    let schema = Schema::from_json(text).map_err(at("schema"))?;
    let domain = Region::whole(&schema).map_err(at("schema"))?;
    let layout = Layout::new(&schema);
    claim.covered_by(&schema).map_err(at("claim"))?;
    if claim.rules.is_empty() && schema.task.whole_outputs().is_empty() {
        return Err(at("rules")("there is no rule: nothing is claimed"));
    }
    let spec = compile(&claim.rules, &schema).map_err(|errors| at("rules")(format!("{errors:?}")))?;
    let rules_sha256 = sha256_hex(canonical(&spec).as_bytes());
    same("rules hash", &certificate.rules_sha256, &rules_sha256)?;
    same("rules", &certificate.rules.len().to_string(), &spec.rules.len().to_string())?;
    for (rule, proof) in spec.rules.iter().zip(&certificate.rules) {
        same("rules", &proof.name, &rule.name)?;
    }
    same("pairs", &certificate.pairs.len().to_string(), &spec.pairs.len().to_string())?;
    for (rule, proof) in spec.pairs.iter().zip(&certificate.pairs) {
        same("pairs", &proof.name, &rule.name)?;
    }
    Ok(Claimed { spec, domain, layout, rules_sha256 })
}

/// Judges a file that ends in an output step; the argument stands above `step.rs`.
fn by_step(
    bytes: &[u8],
    claim: &Claim,
    certificate: &Certificate,
    model_sha256: String,
    stop: &dyn Fn() -> bool,
) -> Result<Proved, Rejected> {
    let step = certificate.step.as_ref().ok_or("no step").map_err(at("step"))?;
    let file = Carried::read(bytes).map_err(at("model"))?;
    let Claimed { spec, domain, layout, rules_sha256 } = claimed(&file.metadata, claim, certificate)?;
    if certificate.arithmetic != Arithmetic::Float32 || certificate.rules.iter().any(|r| r.tree != Tree::Step) {
        return Err(at("step")("behind an output step every rule is proved by it, in float32"));
    }
    if let Some(rule) = spec.pairs.first() {
        return Err(at("step")(format!("an output step does not keep rules between two inputs, such as {:?}", rule.name)));
    }
    if step.fallback.iter().any(|case| case.trees.len() != spec.rules.len()) {
        return Err(at("step")("a case of the fallback has not one tree a rule"));
    }
    // 1. The file ends in the tail, and nothing before it touches what the tail computes.
    let inputs = Inputs::of(&file.inputs, &spec.schema).map_err(at("inputs"))?;
    // Texts are encoded in the tail.
    let learns = matches!(&inputs, Inputs::Features(ports) if ports.iter().any(|p| p.element == "string"));
    if file.opset < OLDEST_OPSET || learns && file.learning_opset.is_none_or(|v| v < LEARNING_OPSET) {
        return Err(at("model")(format!(
            "its operator set is older than the step's operators, which are those of {OLDEST_OPSET}"
        )));
    }
    let names = found_names(&file.outputs).ok_or("the graph's outputs are not those of a step").map_err(at("step"))?;
    let tail = Tail::new(&spec, step, &inputs, names).map_err(at("step"))?;
    let before = file.before(&tail.piece, &tail.outputs).map_err(at("step"))?;
    let shared = tail.outputs.iter().map(|p| p.name.as_str()).chain(inputs.names()).find(|name| before.defined.contains(*name));
    if let Some(name) = shared {
        return Err(at("step")(format!("the name '{name}' is given to something else, too")));
    }
    if before.mentions(PREFIX) || file.inputs.iter().any(|p| p.name.starts_with(PREFIX)) {
        return Err(at("step")(format!("a name that begins with '{PREFIX}' stands before the step")));
    }
    before.gives(&step.candidate, &file.inputs).map_err(at("step"))?;
    // 2. Where the candidate is given it obeys: by how the tail is made.
    // 3. The fallback obeys, and is on the grids.
    let mut rules: Vec<ProvedRule> = spec.rules.iter().map(|r| ProvedRule::new(&r.name)).collect();
    for (k, case) in step.fallback.iter().enumerate() {
        case.on_grid(&step.outputs, &spec).map_err(at("step"))?;
        let answers = step.answers(k, &spec).map_err(at("step"))?;
        let network = case.network(layout.width());
        // Every output is a finite number, whether a rule reads it or not.
        let rounded = Machine { network: &network, layout: &layout, arithmetic: Arithmetic::Float32 };
        rounded.known(&domain, Bounds::Interval).map_err(at(RANGE))?;
        for (r, (rule, tree)) in spec.rules.iter().zip(&case.trees).enumerate() {
            let machine = Machine { network: &network, layout: &layout, arithmetic: case.arithmetic(&rule.claim, &spec) };
            let mut checker = Checker::new(machine, None, stop);
            let negation = case.claimed(&answers, &rule.claim).negated();
            checker.rule(r, &rule.name, &negation, tree, &domain, &mut rules[r])?;
        }
    }
    let (arithmetic, pairs) = (Arithmetic::Float32, Vec::new());
    Ok(Proved { model_sha256, rules_sha256, arithmetic, rules, pairs, kept_by: Keeper::Step, spec })
}

fn same(part: &'static str, stated: &str, found: &str) -> Result<(), Rejected> {
    let why = || Why::Words(format!("the certificate says {stated:?}, but it is {found:?}"));
    if stated == found { Ok(()) } else { Err(Rejected { at: Step::Input(part), why: why() }) }
}

struct Checker<'n> {
    machine: Machine<'n>,
    table: Option<&'n Matrix>,
    kept: BTreeMap<(Region, Bounds), Known>,
    stop: &'n dyn Fn() -> bool,
    /// Where it is, for rejections: sides from the root of a rule's tree on, and the cell at a leaf.
    path: Vec<bool>,
    cell: Option<usize>,
}

impl<'n> Checker<'n> {
    fn new(machine: Machine<'n>, table: Option<&'n Matrix>, stop: &'n dyn Fn() -> bool) -> Self {
        Self { machine, table, kept: BTreeMap::new(), stop, path: Vec::new(), cell: None }
    }

    /// Refutes the negation of a rule on a region, or says where it was not.
    fn rule(
        &mut self,
        rule: usize,
        name: &str,
        negation: &Formula,
        tree: &Tree,
        region: &Region,
        done: &mut ProvedRule,
    ) -> Result<(), Rejected> {
        let result = self.tree(negation, tree, region, &mut Vec::new(), done);
        let at = || Step::Rule { rule, name: name.into(), path: self.path.clone(), cell: self.cell };
        result.map_err(|why| Rejected { at: at(), why })
    }

    /// Refutes every cell of the rule's negation on every leaf: the leaves cover the region and all evaluations on it (a computed
    /// number is at most 0 or at least 0), and the cells cover the negation.
    fn tree(
        &mut self,
        negation: &Formula,
        tree: &Tree,
        region: &Region,
        signs: &mut Vec<Sign>,
        done: &mut ProvedRule,
    ) -> Result<(), Why> {
        match tree {
            Tree::Split { feature, cut, below, above } => {
                let [low, high] = region.split(*feature, cut)?;
                for (part, region, above) in [(below, low, false), (above, high, true)] {
                    self.path.push(above);
                    self.tree(negation, part, &region, signs, done)?;
                    self.path.pop();
                }
            }
            Tree::Decode => {
                done.regions += 1;
                let table = self.table.ok_or("the model does not choose its outputs")?;
                done.cells += decode::obey(table, &negation.negated())?;
            }
            Tree::Step => return Err("there is no output step".into()),
            Tree::Unit { node, unit, below, above } => {
                for (part, above) in [(below, false), (above, true)] {
                    signs.push(self.machine.sign(*node, *unit, above)?);
                    self.path.push(above);
                    self.tree(negation, part, region, signs, done)?;
                    self.path.pop();
                    signs.pop();
                }
            }
            Tree::Leaf { bounds, cells: lists, lines } => {
                done.regions += 1;
                if !lines.is_empty() && lines.len() != lists.len() {
                    return Err(format!("{} lines for {} lists of multipliers", lines.len(), lists.len()).into());
                }
                if negation.longest_cell() > MAX_ATOMS {
                    return Err(format!("a cell has more than {MAX_ATOMS} atoms").into());
                }
                let (mut lists, mut lines, mut index) = (lists.iter(), lines.iter(), 0);
                let result = cells(negation, &mut |atoms| {
                    let mut part = region.clone();
                    for atom in atoms {
                        part.cut(atom);
                    }
                    if !part.is_empty() {
                        self.cell = Some(index);
                        let list = lists.next().ok_or(Why::from("no multipliers for this cell"));
                        match list.and_then(|list| self.cell(atoms, list, &(part, *bounds), signs, lines.next())) {
                            Ok(margin) => done.margin = done.margin.min(margin),
                            Err(why) => return ControlFlow::Break(why),
                        }
                        done.cells += 1;
                    }
                    index += 1;
                    ControlFlow::Continue(())
                });
                if let ControlFlow::Break(why) = result {
                    return Err(why);
                }
                self.cell = None;
                if lists.len() > 0 {
                    return Err(format!("{} lists of multipliers too many", lists.len()).into());
                }
            }
        }
        Ok(())
    }

    /// The margin by which multipliers refute a cell. Were there a point where every atom holds (each >= 0, strict ones > 0), the
    /// weighted sum would be >= 0, and > 0 if a strict atom has weight; and no less with a known sign's `v >= 0` or `-v >= 0` added
    /// to it; but it is at most `most`.
    fn cell(
        &mut self,
        atoms: &[Atom],
        multipliers: &[u64],
        key: &(Region, Bounds),
        signs: &[Sign],
        lines: Option<&Lines>,
    ) -> Result<f64, Why> {
        if (self.stop)() {
            return Err(Why::Stopped);
        }
        if multipliers.len() != atoms.len() {
            return Err(format!("{} multipliers for {} atoms", multipliers.len(), atoms.len()).into());
        }
        let (mut sum, mut weight, mut strict) = (Linear::default(), IBig::ZERO, false);
        for (atom, l) in atoms.iter().zip(multipliers) {
            sum.add_scaled(&Rational::from(*l), &atom.linear);
            weight += *l;
            strict |= atom.strict && *l > 0;
        }
        if weight.is_zero() {
            return Err("all multipliers are zero".into());
        }
        let (mut form, denominator) = self.form(&sum)?;
        if !self.kept.contains_key(key) {
            if self.kept.len() == KEPT_REGIONS {
                self.kept.clear();
            }
            let known = self.machine.known(&key.0, key.1)?;
            self.kept.insert(key.clone(), known);
        }
        let known = self.kept.get(key).ok_or("bounds were lost")?;
        // No evaluation on this region has these signs.
        let Some(mut known) = known.with(signs) else { return Ok(f64::INFINITY) };
        if let Some(lines) = lines {
            if lines.signs.len() != signs.len() {
                return Err(format!("{} multipliers for {} signs", lines.signs.len(), signs.len()).into());
            }
            for (sign, l) in signs.iter().zip(&lines.signs) {
                let l = &Dyadic::from(if sign.above { *l } else { -l }) * &Dyadic::int(denominator.clone());
                form.add(sign.value, known.values[sign.value].len(), [(sign.unit, l)].into_iter());
            }
            let slope = |n: usize| Dyadic::from(n as f32 / SLOPES as f32);
            known.slopes = lines.slopes.iter().map(|[node, unit, n]| ((*node, *unit), slope(*n))).collect();
        }
        let most = self.most(&form, &known, &key.0, key.1);
        let margin = (-&most).over_down(&(&denominator * &weight));
        if most.is_negative() || strict && most.is_zero() {
            return Ok(margin);
        }
        Err(Why::NotRefuted(-margin))
    }

    /// A linear form of a rule times its common denominator, over outputs and input columns; and the denominator.
    fn form(&self, sum: &Linear) -> Result<(Form, IBig), String> {
        let last = self.machine.network.nodes.len();
        let mut denominator = IBig::ONE;
        for c in sum.terms.values().chain([&sum.constant]) {
            // Multiplied by what c still has in its denominator, c times the product is whole: the least common multiple.
            denominator *= (c * Rational::from(denominator.clone())).denominator();
        }
        let scaled = |c: &Rational| Dyadic::int((c * Rational::from(denominator.clone())).numerator().clone());
        let mut form = Form::new(self.machine.layout.width(), last);
        form.constant = scaled(&sum.constant);
        let outputs = self.machine.network.outputs();
        for (var, c) in &sum.terms {
            match var {
                Var::Output(j) if *j < outputs => form.add(last, outputs, [(*j, scaled(c))].into_iter()),
                Var::Output(j) => return Err(format!("there is no output {j}")),
                input => self.machine.layout.add(*input, &scaled(c), &mut form.coefficients[0], &mut form.constant),
            }
        }
        Ok((form, denominator))
    }

    /// The best of several bounds: back through the network (at both ends of a gate; relational ones are not always the better, so
    /// both kinds), and the outputs' intervals as they stand.
    fn most(&self, form: &Form, known: &Known, region: &Region, bounds: Bounds) -> Dyadic {
        let machine = &self.machine;
        let back = |end: Option<&GateEnd>| {
            let by = |bounds: Bounds| machine.upper(form.clone(), known, region, bounds, end);
            if bounds == Bounds::Interval { by(bounds) } else { by(bounds).min(by(Bounds::Interval)) }
        };
        let through = machine.gate_ends(region).map_or_else(|| back(None), |[lo, hi]| back(Some(&lo)).max(back(Some(&hi))));
        let mut direct = &form.constant + &machine.layout.most(region, &form.coefficients[0]);
        for (coefficients, values) in form.coefficients.iter().zip(&known.values).skip(1) {
            coefficients.iter().zip(values).for_each(|(a, y)| direct += &y.most(a));
        }
        through.min(direct)
    }
}
