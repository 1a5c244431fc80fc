//! A model, rules and a certificate enter; a verdict leaves.

use std::collections::BTreeMap;

use deepsade_net::onnx::carried::LEARNING_OPSET;
use deepsade_net::{Blind, Carried, Filling, Model, Network};
use deepsade_spec::canonical::canonical;
use deepsade_spec::{Claim, NormalSpec, Pair, Region, SCHEMA_KEY, Schema, compile};

use crate::blind;
use crate::cell::Refuter;
use crate::certificate::{Arithmetic, Bounds, Certificate, PairArgument, Tree};
use crate::decode;
use crate::idle::idle;
use crate::layout::Layout;
use crate::machine::Machine;
use crate::pair::{PairChecker, ProvedPair};
use crate::rejected::{InputPart, Misfit, Rejected, Step, Why};
use crate::sha256::sha256_hex;
use crate::step::{Clips, InputPorts, PREFIX, Tail, domain_flag, found_names};
use crate::tree::{CheckThreads, ProvedRule, TreeChecker};

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
pub struct Accepted(Box<Proved>);

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
    /// The bounds to which the file clips its network's outputs.
    Clips,
}

impl std::ops::Deref for Accepted {
    type Target = Proved;

    fn deref(&self) -> &Proved {
        &self.0
    }
}

/// Nodes and columns of a network: far above what is used, far below what exhausts a stack or gamma(k).
const MAX_NODES: usize = 4096;
const MAX_WIDTH: usize = 1 << 20;

/// Judges a certificate: `Accepted` means that for every input whose features are float32 values of the model's domain, which covers
/// the claim's, the ONNX file, evaluated as docs/soundness.md says, gives finite outputs that satisfy every rule, whole numbers where the schema
/// says so. Never panics.
#[doc = include_str!("../EXAMPLE.md")]
pub fn check(model: &[u8], claim: &Claim, certificate: &str) -> Verdict {
    check_until(model, claim, certificate, threads(), &|| false)
}

/// The same on so many threads, ended early once `stop` says so, which is asked cell by cell.
pub fn check_until(model: &[u8], claim: &Claim, certificate: &str, threads: usize, stop: &(dyn Fn() -> bool + Sync)) -> Verdict {
    verdict(checked(model, claim, certificate, false, CheckThreads { threads, stop }))
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The same as [`check`] in exact arithmetic throughout, where that takes float64 with outward error bounds if it decides clearly: for
/// whoever wants to trust less code, and to compare.
pub fn check_exactly(model: &[u8], claim: &Claim, certificate: &str) -> Verdict {
    verdict(checked(model, claim, certificate, true, CheckThreads { threads: threads(), stop: &|| false }))
}

fn verdict(judged: Result<Proved, Rejected>) -> Verdict {
    match judged {
        Ok(proved) => Verdict::Accepted(Accepted(Box::new(proved))),
        Err(rejected) => Verdict::Rejected(rejected),
    }
}

fn checked(bytes: &[u8], claim: &Claim, certificate: &str, exactly: bool, watch: CheckThreads) -> Result<Proved, Rejected> {
    let certificate = Certificate::from_json(certificate).map_err(|why| at(InputPart::Certificate)(Why::Unreadable(why)))?;
    let model_sha256 = sha256_hex(bytes);
    same(InputPart::ModelHash, &certificate.model_sha256, &model_sha256)?;

    let (front, behind) = Blind::split(bytes).map_err(at(InputPart::Front))?.unzip();
    if certificate.step.is_some() {
        let file = behind.as_deref().unwrap_or(bytes);
        return by_step(file, front.as_ref(), claim, &certificate, model_sha256, watch);
    }
    let model = own_model(bytes)?;
    let ClaimedModel { spec, domain, layout, rules_sha256 } = claimed(&model.metadata, claim, &certificate)?;
    same_filling(model.filling.as_ref(), &spec.schema)?;
    let unread = blind::unread(model.blind.as_ref(), &spec).map_err(at(InputPart::Front))?;
    if let Some(clips) = &certificate.clips {
        fits(&spec, &layout, &model.network)?;
        let (rules, pairs) = by_clips(bytes, &model, clips, (&spec, &domain, &layout), &unread, &certificate, watch)?;
        let (arithmetic, kept_by) = (Arithmetic::Float32, Keeper::Clips);
        return Ok(Proved { model_sha256, rules_sha256, arithmetic, rules, pairs, kept_by, spec });
    }
    if model.behind.is_some() {
        // Nothing may stand between the network and who reads it but what says whether an input is in the domain.
        let flagged =
            Model { behind: Some(domain_flag(&spec.schema)), ..model.clone() }.to_bytes().map_err(at(InputPart::Model))?;
        if flagged != bytes {
            return Err(at(InputPart::Model)(Misfit::Behind));
        }
    }
    if let Some(j) = spec.schema.task.whole_outputs().first() {
        return Err(at(InputPart::Whole)(Misfit::WholeOutput(*j)));
    }
    fits(&spec, &layout, &model.network)?;

    let arithmetic = certificate.arithmetic;
    let refuter = Refuter::new(Machine { network: &model.network, layout: &layout, arithmetic }, exactly);
    let table = decode::table(&model.network, &spec).map_err(at(InputPart::Decode))?;
    let chosen = table.is_some() && certificate.rules.iter().all(|r| r.tree == Tree::Decode);
    if !chosen {
        // Finite outputs everywhere, also where no rule asks for anything.
        refuter.stays_finite(&domain).map_err(at(InputPart::Range))?;
    }
    let kept_by = if chosen { Keeper::Choice } else { Keeper::Weights };
    let mut checker = TreeChecker { refuter, table, watch };
    let mut rules = Vec::new();
    for (k, (rule, proof)) in spec.rules.iter().zip(&certificate.rules).enumerate() {
        let mut done = ProvedRule::new(&rule.name);
        checker.rule(k, &rule.name, &rule.claim.negated(), &proof.tree, &domain, &mut done)?;
        rules.push(done);
    }
    let pairs = two_inputs(checker.refuter.machine, None, (&spec, &domain), &unread, &certificate, watch)?;
    Ok(Proved { model_sha256, rules_sha256, arithmetic, rules, pairs, kept_by, spec })
}

/// A network of ours, of a size that can be judged.
fn own_model(bytes: &[u8]) -> Result<Model, Rejected> {
    let model = Model::from_own_bytes(bytes).map_err(at(InputPart::Model))?;
    model.network.validate().map_err(at(InputPart::Model))?;
    if model.network.nodes.len() > MAX_NODES || model.network.widths().iter().any(|w| *w > MAX_WIDTH) {
        return Err(at(InputPart::Model)(Misfit::LargeNetwork { nodes: MAX_NODES, columns: MAX_WIDTH }));
    }
    Ok(model)
}

/// What a schema fills in where a file's input has gaps.
pub fn filling_of(schema: &Schema) -> Option<Filling> {
    schema.filling().map(|(values, flags)| Filling { values, flags })
}

/// Whether a file fills in what its schema says, and nothing else.
///
/// What is behind is proved for all inputs of the domain. A row whose numbers are in the domain and whose gaps, of whole features, are all in
/// columns that are filled in is such an input once it is filled in: what is filled in is in the domain ([`Schema::sound`]), and so is
/// an indicator. A row without gaps passes as it is, with indicators 0.
fn same_filling(found: Option<&Filling>, schema: &Schema) -> Result<(), Rejected> {
    let bits = |f: &Filling| (f.values.iter().map(|v| v.map(f32::to_bits)).collect::<Vec<_>>(), f.flags.clone());
    if found.map(bits) == filling_of(schema).as_ref().map(bits) {
        return Ok(());
    }
    Err(at(InputPart::Filling)(Misfit::Filling))
}

/// Whether a network's outputs may be the predictions of a schema.
fn fits(spec: &NormalSpec, layout: &Layout, network: &Network) -> Result<(), Rejected> {
    let (schema, network) = ([layout.width(), spec.schema.task.outputs()], [network.inputs, network.outputs()]);
    if schema == network { Ok(()) } else { Err(at(InputPart::Schema)(Misfit::Shape { schema, network })) }
}

/// Judges a network whose outputs are clipped; the argument stands above `step/clip.rs`.
fn by_clips(
    bytes: &[u8],
    model: &Model,
    clips: &Clips,
    (spec, domain, layout): (&NormalSpec, &Region, &Layout),
    unread: &[usize],
    certificate: &Certificate,
    watch: CheckThreads,
) -> Result<(Vec<ProvedRule>, Vec<ProvedPair>), Rejected> {
    if certificate.arithmetic != Arithmetic::Float32 || certificate.rules.iter().any(|r| r.tree != Tree::Step) {
        return Err(at(InputPart::Clips)(Misfit::ProofOfClips));
    }
    // 1. The file is the network and the tail.
    let behind = clips.behind(spec).map_err(at(InputPart::Clips))?;
    let clipped = Model { behind: Some(behind), ..model.clone() }.to_bytes().map_err(at(InputPart::Model))?;
    if clipped != bytes {
        return Err(at(InputPart::Clips)(Misfit::OtherClips));
    }
    let machine = |network| Machine { network, layout, arithmetic: Arithmetic::Float32 };
    machine(&model.network).known(domain, Bounds::Interval).map_err(at(InputPart::Range))?;
    // 2. The bounds do not cross, and what is between them obeys.
    let bounds = clips.network(layout.width());
    machine(&bounds).known(domain, Bounds::Interval).map_err(at(InputPart::Range))?;
    let claims = clips.claims(spec).map_err(at(InputPart::Clips))?;
    same(InputPart::Clips, &clips.trees.len().to_string(), &claims.rules.len().to_string())?;
    let mut checker = TreeChecker { refuter: Refuter::new(machine(&bounds), true), table: None, watch };
    let mut rules = Vec::new();
    for (k, (rule, tree)) in claims.rules.iter().zip(&clips.trees).enumerate() {
        let mut done = ProvedRule::new(&rule.name);
        checker.rule(k.saturating_sub(1), &rule.name, &rule.claim.negated(), tree, domain, &mut done)?;
        rules.push(done);
    }
    rules.remove(0);
    // 3. Trends.
    let pairs = two_inputs(machine(&model.network), Some(clips), (spec, domain), unread, certificate, watch)?;
    Ok((rules, pairs))
}

/// Judges the proofs of all rules between two inputs.
fn two_inputs(
    machine: Machine,
    clips: Option<&Clips>,
    (spec, domain): (&NormalSpec, &Region),
    unread: &[usize],
    certificate: &Certificate,
    watch: CheckThreads,
) -> Result<Vec<ProvedPair>, Rejected> {
    if spec.pairs.is_empty() {
        return Ok(Vec::new());
    }
    let mut checker = PairChecker::new(machine, clips, spec, domain, watch.stop).map_err(at(InputPart::Range))?;
    let judged = spec.pairs.iter().zip(&certificate.pairs).enumerate().map(|(k, (rule, proof))| {
        let at = || Step::Pair { rule: k, name: rule.name.clone() };
        let judged = match proof.argument {
            PairArgument::Unread => blind::same(rule, unread, &|part| idle(part, spec, domain)),
            _ => checker.rule(rule, &proof.argument),
        };
        judged.map_err(|why| Rejected { at: at(), why })
    });
    judged.collect()
}

fn at<E: Into<Why>>(part: InputPart) -> impl Fn(E) -> Rejected {
    move |why| Rejected { at: Step::Input(part), why: why.into() }
}

/// Since then the operators of a tail are what they are now: the ends of a `Clip` are operands since 11, the others are older.
const OLDEST_OPSET: i64 = 11;

/// What is claimed of a model.
struct ClaimedModel {
    spec: NormalSpec,
    domain: Region,
    layout: Layout,
    rules_sha256: String,
}

/// The claim, compared with what the model says of itself, and the rules, compared with those of the certificate.
fn claimed(metadata: &BTreeMap<String, String>, claim: &Claim, certificate: &Certificate) -> Result<ClaimedModel, Rejected> {
    let text = metadata.get(SCHEMA_KEY).ok_or(Misfit::NoSchema(SCHEMA_KEY)).map_err(at(InputPart::Schema))?;
    let schema = Schema::from_json(text).map_err(|e| at(InputPart::Schema)(Why::Unreadable(e.to_string())))?;
    let domain = Region::domain(&schema).map_err(at(InputPart::Schema))?;
    let layout = Layout::new(&schema);
    claim.covered_by(&schema).map_err(at(InputPart::Claim))?;
    if claim.rules.is_empty() && schema.task.whole_outputs().is_empty() {
        return Err(at(InputPart::Rules)(Misfit::NoRule));
    }
    let spec = compile(&claim.rules, &schema).map_err(|errors| at(InputPart::Rules)(Why::Rules(errors)))?;
    let rules_sha256 = sha256_hex(canonical(&spec).as_bytes());
    same(InputPart::RulesHash, &certificate.rules_sha256, &rules_sha256)?;
    same(InputPart::Rules, &certificate.rules.len().to_string(), &spec.rules.len().to_string())?;
    for (rule, proof) in spec.rules.iter().zip(&certificate.rules) {
        same(InputPart::Rules, &proof.name, &rule.name)?;
    }
    same(InputPart::Pairs, &certificate.pairs.len().to_string(), &spec.pairs.len().to_string())?;
    for (rule, proof) in spec.pairs.iter().zip(&certificate.pairs) {
        same(InputPart::Pairs, &proof.name, &rule.name)?;
    }
    Ok(ClaimedModel { spec, domain, layout, rules_sha256 })
}

/// Judges a file that ends in an output step; the argument stands above `step.rs`.
fn by_step(
    bytes: &[u8],
    front: Option<&Blind>,
    claim: &Claim,
    certificate: &Certificate,
    model_sha256: String,
    watch: CheckThreads,
) -> Result<Proved, Rejected> {
    let step = certificate.step.as_ref().ok_or(Misfit::NoStep).map_err(at(InputPart::Step))?;
    let (filling, behind) = Filling::split(bytes).map_err(at(InputPart::Filling))?.unzip();
    let file = Carried::read(behind.as_deref().unwrap_or(bytes)).map_err(at(InputPart::Model))?;
    let ClaimedModel { spec, domain, layout, rules_sha256 } = claimed(&file.metadata, claim, certificate)?;
    same_filling(filling.as_ref(), &spec.schema)?;
    if certificate.arithmetic != Arithmetic::Float32 || certificate.rules.iter().any(|r| r.tree != Tree::Step) {
        return Err(at(InputPart::Step)(Misfit::ProofOfStep));
    }
    if certificate.clips.is_some() {
        return Err(at(InputPart::Step)(Misfit::StepAndClips));
    }
    let unread = blind::unread(front, &spec).map_err(at(InputPart::Front))?;
    let mut pairs = Vec::new();
    for (k, (rule, proof)) in spec.pairs.iter().zip(&certificate.pairs).enumerate() {
        let rests = |part: &Pair| idle(part, &spec, &domain);
        let judged = match proof.argument {
            PairArgument::Unread => blind::same(rule, &unread, &rests),
            _ if rule.parts.iter().all(rests) => Ok(ProvedPair::idle(rule)),
            _ => return Err(at(InputPart::Step)(Misfit::StepOfPair(rule.name.clone()))),
        };
        pairs.push(judged.map_err(|why| Rejected { at: Step::Pair { rule: k, name: rule.name.clone() }, why })?);
    }
    if step.fallback.iter().any(|case| case.trees.len() != spec.rules.len()) {
        return Err(at(InputPart::Step)(Misfit::CaseTrees));
    }
    // 1. The file ends in the tail, and nothing before it touches what the tail computes.
    let inputs = InputPorts::of(&file.inputs, &spec.schema).map_err(at(InputPart::Inputs))?;
    // Texts are encoded in the tail.
    let learns = matches!(&inputs, InputPorts::Features(ports) if ports.iter().any(|p| p.element == "string"));
    if file.opset < OLDEST_OPSET || learns && file.learning_opset.is_none_or(|v| v < LEARNING_OPSET) {
        return Err(at(InputPart::Model)(Misfit::OldOperators(OLDEST_OPSET)));
    }
    let names = found_names(&file.outputs).ok_or(Misfit::OutputNames).map_err(at(InputPart::Step))?;
    let tail = Tail::new(&spec, step, &inputs, names).map_err(at(InputPart::Step))?;
    let before = file.before(&tail.piece, &tail.outputs).map_err(at(InputPart::Step))?;
    let shared = tail.outputs.iter().map(|p| p.name.as_str()).chain(inputs.names()).find(|name| before.defined.contains(*name));
    if let Some(name) = shared {
        return Err(at(InputPart::Step)(Misfit::NameTaken(name.into())));
    }
    if before.mentions(PREFIX) || file.inputs.iter().any(|p| p.name.starts_with(PREFIX)) {
        return Err(at(InputPart::Step)(Misfit::PrefixTaken(PREFIX)));
    }
    before.gives(&step.candidate, &file.inputs).map_err(at(InputPart::Step))?;
    // 2. Where the candidate is given it obeys: by how the tail is made.
    // 3. The fallback obeys, and is on the grids.
    let mut rules: Vec<ProvedRule> = spec.rules.iter().map(|r| ProvedRule::new(&r.name)).collect();
    for (k, case) in step.fallback.iter().enumerate() {
        case.on_grid(&step.outputs, &spec).map_err(at(InputPart::Step))?;
        let answers = step.answers(k, &spec).map_err(at(InputPart::Step))?;
        let network = case.network(layout.width());
        // Every output is a finite number, whether a rule reads it or not.
        let rounded = Machine { network: &network, layout: &layout, arithmetic: Arithmetic::Float32 };
        rounded.known(&domain, Bounds::Interval).map_err(at(InputPart::Range))?;
        for (r, (rule, tree)) in spec.rules.iter().zip(&case.trees).enumerate() {
            let machine = Machine { network: &network, layout: &layout, arithmetic: case.arithmetic(&rule.claim, &spec) };
            let mut checker = TreeChecker { refuter: Refuter::new(machine, true), table: None, watch };
            let negation = case.claimed(&answers, &rule.claim).negated();
            checker.rule(r, &rule.name, &negation, tree, &domain, &mut rules[r])?;
        }
    }
    let arithmetic = Arithmetic::Float32;
    Ok(Proved { model_sha256, rules_sha256, arithmetic, rules, pairs, kept_by: Keeper::Step, spec })
}

fn same(part: InputPart, stated: &str, found: &str) -> Result<(), Rejected> {
    if stated == found { Ok(()) } else { Err(at(part)(Why::Differs { stated: stated.into(), found: found.into() })) }
}
