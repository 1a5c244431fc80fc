//! Files that end in an output step: proved ones are accepted, and those that are not what they should be are rejected.

mod common;

use std::collections::BTreeMap;

use common::tail::{Tails, Tensor, number, rows_of};
use common::{Rng, accepted, claimed, holds, leaf, point, rejection, row, rule};
use deepsade_check::step::{Case, InputPorts, Number, OutputStep, Outputs, Tail, output_names};
use deepsade_check::{Arithmetic, Bounds, Certificate, RuleProof, Tree, Verdict, sha256_hex};
use deepsade_net::{Carried, Matrix, Model, Network, Node, Op, Piece, Port};
use deepsade_spec::canonical::canonical;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};

fn dense(w: &[f32], b: &[f32]) -> Node {
    let (rows, cols) = (b.len(), w.len() / b.len());
    Node { op: Op::Dense { w: Matrix { rows, cols, data: w.to_vec() }, b: b.to_vec() }, from: vec![0] }
}

/// A household: rent and food from income, with a step; the fallback spends nothing, or a tenth each.
struct Household {
    spec: NormalSpec,
    rules: Vec<RuleText>,
    step: OutputStep,
}

impl Household {
    fn new() -> Self {
        let schema = Schema {
            features: vec![
                Feature { name: "income".into(), domain: Domain::Real { lo: 1.0, hi: 100.0 } },
                Feature { name: "kids".into(), domain: Domain::Integer { lo: 0, hi: 5 } },
            ],
            task: Task::regression(vec!["rent".into(), "food".into()]),
            one_hot: OneHot::Full,
            filled: vec![],
        };
        let rules = vec![rule("rent + food <= income"), rule("kids >= 2 => food >= 0.05 * income"), rule("rent >= 0")];
        let spec = compile(&rules, &schema).expect("rules compile");
        let numbers = vec![Number { lo: -10.0, hi: 200.0, grid: None }; 2];
        let tree = |cells: usize, atoms: usize| leaf(Bounds::Interval, vec![vec![1; atoms]; cells]);
        let tenth = Case {
            when: vec![],
            weights: vec![(0, 0, 0.1), (1, 0, 0.1)],
            bias: vec![0.0; 2],
            trees: vec![tree(1, 1), leaf(Bounds::Interval, vec![vec![0, 1]]), tree(1, 1)],
        };
        let step = OutputStep { candidate: "scores".into(), outputs: Outputs::Numbers(numbers), fallback: vec![tenth] };
        Self { spec, rules, step }
    }

    fn trunk(&self) -> Vec<u8> {
        let mut model = Model::new(Network { inputs: 2, nodes: vec![dense(&[2.0, 0.0, -0.3, 0.1], &[0.0, 1.0])] });
        model.metadata.insert("deepsade.schema".into(), self.spec.schema.to_json());
        model.to_trunk_bytes().expect("a valid network")
    }

    fn tail(&self) -> Tail {
        let inputs = InputPorts::Rows(Port::rows("x", "float", Some(2)));
        Tail::new(&self.spec, &self.step, &inputs, output_names(|_| false)).expect("it can be written")
    }

    fn file(&self) -> Vec<u8> {
        let (trunk, tail) = (self.trunk(), self.tail());
        Carried::read(&trunk).expect("it is ours").with(&tail.piece, &tail.outputs, &BTreeMap::new())
    }

    fn certificate(&self, bytes: &[u8]) -> Certificate {
        let rules = self.rules.iter().map(|r| RuleProof { name: r.name.clone(), tree: Tree::Step }).collect();
        let (model_sha256, rules_sha256) = (sha256_hex(bytes), sha256_hex(canonical(&self.spec).as_bytes()));
        Certificate {
            model_sha256,
            rules_sha256,
            arithmetic: Arithmetic::Float32,
            rules,
            pairs: vec![],
            step: Some(self.step.clone()),
            clips: None,
        }
    }

    fn verdict(&self, bytes: &[u8]) -> Verdict {
        claimed(bytes, &self.rules, &self.spec.schema, &self.certificate(bytes).to_json())
    }

    fn refused(&self, bytes: &[u8], word: &str) {
        let verdict = self.verdict(bytes);
        assert!(!accepted(&verdict));
        let (at, why) = rejection(&verdict);
        assert!(format!("{at}: {why}").contains(word), "{at}: {why}");
    }
}

#[test]
fn a_file_with_its_step_is_accepted() {
    let home = Household::new();
    let bytes = home.file();
    let verdict = home.verdict(&bytes);
    assert!(accepted(&verdict), "{:?}", rejection(&verdict));
    let certificate = home.certificate(&bytes);
    assert_eq!(Certificate::from_json(&certificate.to_json()), Ok(certificate));
}

#[test]
fn a_fallback_that_breaks_a_rule_is_rejected() {
    let worse = |change: &dyn Fn(&mut Case)| {
        let mut home = Household::new();
        let before = home.file();
        change(&mut home.step.fallback[0]);
        // Where the tail can't even be written, the file is the one from before.
        let inputs = InputPorts::Rows(Port::rows("x", "float", Some(2)));
        let good = Tail::new(&home.spec, &home.step, &inputs, output_names(|_| false)).is_ok();
        home.refused(&if good { home.file() } else { before }, "");
    };
    worse(&|case| case.weights[0].2 = 0.95);
    worse(&|case| case.weights[1].2 = 0.049);
    worse(&|case| case.bias[0] = -0.2);
    worse(&|case| case.bias[1] = f32::NAN);
    worse(&|case| case.trees[0] = leaf(Bounds::Interval, vec![]));
    worse(&|case| case.trees[0] = Tree::Step);
    worse(&|case| drop(case.trees.pop()));
    worse(&|case| case.when = vec![(0, true)]);
    worse(&|case| case.weights.push((0, 0, 0.1)));
    worse(&|case| case.weights.push((0, 7, 0.1)));
}

/// Every byte of the tail matters: whatever is changed there, the file is not the one that the rules ask for.
#[test]
fn a_changed_tail_is_rejected() {
    let home = Household::new();
    let (bytes, tail) = (home.file(), home.tail());
    let changed = |change: &dyn Fn(&mut Piece)| {
        let mut piece = tail.piece.clone();
        change(&mut piece);
        if piece == tail.piece {
            return;
        }
        let trunk = home.trunk();
        let forged = Carried::read(&trunk).unwrap().with(&piece, &tail.outputs, &BTreeMap::new());
        home.refused(&forged, "step");
    };
    for k in 0..tail.piece.calls.len() {
        changed(&|piece| drop(piece.calls.remove(k)));
        changed(&|piece| piece.calls[k].op = "Identity".into());
        changed(&|piece| piece.calls[k].reads.reverse());
        changed(&|piece| piece.calls[k].makes += "_");
        changed(&|piece| piece.calls[k].domain = "com.microsoft".into());
    }
    for k in 0..tail.piece.tensors.len() {
        changed(&|piece| drop(piece.tensors.remove(k)));
        changed(&|piece| piece.tensors[k].name += "_");
    }
    // Single bytes of the whole file: rejected, or in the trunk, which may be anything.
    let trunk = home.trunk().len();
    let rng = &mut Rng(5);
    for _ in 0..300 {
        let mut forged = bytes.clone();
        let at = trunk + rng.below(bytes.len() - trunk);
        forged[at] ^= 1 << rng.below(8);
        let _ = home.verdict(&forged);
    }
}

/// Names that are given twice, outputs in another order, inputs that are constants, operators with another meaning.
#[test]
fn files_that_can_be_read_in_two_ways_are_rejected() {
    let home = Household::new();
    let (trunk, tail) = (home.trunk(), home.tail());
    let carried = Carried::read(&trunk).unwrap();
    let with = |before: &dyn Fn(&mut Piece), ports: &[Port]| {
        let mut piece = Piece::default();
        before(&mut piece);
        piece.append(tail.piece.clone());
        carried.with(&piece, ports, &BTreeMap::new())
    };
    let ports = &tail.outputs[..];
    // Something harmless may stand before the tail.
    let harmless = with(&|piece| piece.call("Identity", &["scores"], "copy"), ports);
    assert!(accepted(&home.verdict(&harmless)), "{:?}", rejection(&home.verdict(&harmless)));
    home.refused(&with(&|piece| piece.call("Identity", &["scores"], "y"), ports), "'y'");
    home.refused(&with(&|piece| piece.call("Identity", &["scores"], "ok"), ports), "'ok'");
    home.refused(&with(&|piece| piece.call("Identity", &["scores"], "deepsade.step.c"), ports), "deepsade.step.");
    home.refused(&with(&|piece| piece.floats("x", &[1, 2], vec![1.0, 1.0]), ports), "'x'");
    home.refused(&with(&|piece| piece.floats("deepsade.step.bias9", &[1], vec![1.0]), ports), "deepsade.step.");
    // The network's own numbers first, or instead.
    let scores = Port::rows("scores", "float", Some(2));
    home.refused(&with(&|_| {}, &[scores.clone(), ports[1].clone(), ports[2].clone()]), "outputs");
    home.refused(&with(&|_| {}, &[ports[1].clone(), ports[0].clone(), ports[2].clone()]), "outputs");
    home.refused(&with(&|_| {}, &[ports[0].clone(), ports[1].clone(), ports[2].clone(), ports[0].clone()]), "outputs");
    assert!(accepted(&home.verdict(&with(&|_| {}, &[ports, &[scores]].concat()))));
    // The tail in another place than the end.
    let mut piece = tail.piece.clone();
    piece.call("Identity", &["scores"], "copy");
    home.refused(&carried.with(&piece, ports, &BTreeMap::new()), "step");
    // Two graphs in one file: readers take either, or both.
    let file = home.file();
    home.refused(&[&file[..], &file[..]].concat(), "");
}

/// Whatever the parameters say, a file with these names and rules is not accepted with another step's certificate.
#[test]
fn another_candidate_or_range_is_another_tail() {
    let home = Household::new();
    let bytes = home.file();
    let other = |change: &dyn Fn(&mut OutputStep)| {
        let mut certificate = home.certificate(&bytes);
        change(certificate.step.as_mut().expect("there is one"));
        let verdict = claimed(&bytes, &home.rules, &home.spec.schema, &certificate.to_json());
        assert!(!accepted(&verdict));
    };
    other(&|step| step.candidate = "x".into());
    other(&|step| step.outputs = Outputs::Labels(2));
    other(&|step| step.outputs = Outputs::Numbers(vec![Number { lo: -10.0, hi: 300.0, grid: None }; 2]));
    other(&|step| step.outputs = Outputs::Numbers(vec![Number { lo: -10.0, hi: 200.0, grid: Some(2) }; 2]));
    other(&|step| step.outputs = Outputs::Numbers(vec![Number { lo: 10.0, hi: -10.0, grid: None }; 2]));
    other(&|step| step.fallback.clear());
    other(&|step| step.fallback.push(step.fallback[0].clone()));
}

/// A tail around a name that is missing, empty or its own, byte for byte as the certificate says: no runtime loads it.
#[test]
fn a_candidate_must_stand_before_the_step() {
    let with = |candidate: &str| {
        let mut home = Household::new();
        home.step.candidate = candidate.into();
        home
    };
    for name in ["", "nowhere", "y", "in_domain", "ok", "deepsade.step.c", "deepsade.step.map0", "deepsade.step.zero"] {
        let home = with(name);
        home.refused(&home.file(), &format!("nothing before the step makes its candidate '{name}'"));
    }
    // An output that is left out has the empty name, and is none.
    let home = with("");
    let mut piece = Piece::default();
    piece.call("Identity", &["scores"], "");
    piece.append(home.tail().piece);
    let trunk = home.trunk();
    let unnamed = Carried::read(&trunk).unwrap().with(&piece, &home.tail().outputs, &BTreeMap::new());
    home.refused(&unnamed, "nothing before the step");
    // The input itself may be judged.
    let home = with("x");
    let verdict = home.verdict(&home.file());
    assert!(accepted(&verdict), "{:?}", rejection(&verdict));
}

/// Before set 11 the ends of a `Clip` were attributes: what the tail gives as operands would be refused, or left out.
#[test]
fn an_operator_set_older_than_the_step_is_rejected() {
    let home = Household::new();
    let file = home.file();
    let of = |version: u8| {
        let import = [0x42, 2, 0x10, 13];
        let at = file.windows(4).position(|w| w == import).expect("the set of operators is stated");
        let mut other = file.clone();
        other[at + 3] = version;
        other
    };
    for version in [8, 9, 10] {
        home.refused(&of(version), "older than the step's operators");
    }
    for version in [11, 12, 13, 21] {
        let verdict = home.verdict(&of(version));
        assert!(accepted(&verdict), "{version}: {:?}", rejection(&verdict));
    }
}

/// Visitors by kind, whole numbers both: a count that depends on a whole feature and on a category, and one that is free.
fn visitors() -> Household {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let schema = Schema {
        features: vec![
            feature("heat", Domain::Real { lo: 1.0, hi: 100.0 }),
            feature("seats", Domain::Integer { lo: 0, hi: 50 }),
            feature("day", Domain::Category { levels: ["rest", "work"].map(String::from).to_vec() }),
        ],
        task: Task::Regression { targets: ["guests", "staff"].map(String::from).to_vec(), whole: vec!["guests".into()] },
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let rules = vec![rule("guests <= seats + 1"), rule("staff >= 0 - 3")];
    let spec = compile(&rules, &schema).expect("rules compile");
    let numbers = vec![Number { lo: -10.0, hi: 200.0, grid: Some(0) }, Number { lo: -10.0, hi: 20.0, grid: None }];
    let fallback = vec![Case {
        when: vec![],
        weights: vec![(0, 1, 1.0), (0, 3, -2.0), (1, 0, 0.5)],
        bias: vec![0.0, 0.25],
        trees: vec![leaf(Bounds::Interval, vec![vec![1]]); 2],
    }];
    let step = OutputStep { candidate: "scores".into(), outputs: Outputs::Numbers(numbers), fallback };
    Household { spec, rules, step }
}

fn of_visitors(home: &Household) -> Option<Vec<u8>> {
    let mut model = Model::new(Network { inputs: 4, nodes: vec![dense(&[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5], &[0.0, 1.0])] });
    model.metadata.insert("deepsade.schema".into(), home.spec.schema.to_json());
    let trunk = model.to_trunk_bytes().expect("a valid network");
    let inputs = InputPorts::Rows(Port::rows("x", "float", Some(4)));
    let tail = Tail::new(&home.spec, &home.step, &inputs, output_names(|_| false)).ok()?;
    Some(Carried::read(&trunk).expect("it is ours").with(&tail.piece, &tail.outputs, &BTreeMap::new()))
}

#[test]
fn whole_numbers_are_accepted_from_a_grid_of_whole_numbers() {
    let home = visitors();
    let verdict = home.verdict(&of_visitors(&home).expect("it can be written"));
    assert!(accepted(&verdict), "{:?}", rejection(&verdict));
    // Without any rule it is a claim of its own.
    let (mut bare, none) = (visitors(), compile(&[], &home.spec.schema).expect("no rules"));
    (bare.rules, bare.spec) = (Vec::new(), none);
    bare.step.fallback[0].trees.clear();
    let bytes = of_visitors(&bare).expect("it can be written");
    assert!(accepted(&bare.verdict(&bytes)), "{:?}", rejection(&bare.verdict(&bytes)));
}

/// An output that no rule reads is a finite number, too.
#[test]
fn an_output_that_no_rule_reads_may_not_overflow() {
    let home = |weight: f32| {
        let mut home = visitors();
        home.rules.pop();
        home.spec = compile(&home.rules, &home.spec.schema).expect("it compiles");
        let case = &mut home.step.fallback[0];
        case.weights[2].2 = weight;
        case.trees.pop();
        home
    };
    let fine = home(1e35);
    let verdict = fine.verdict(&of_visitors(&fine).expect("it can be written"));
    assert!(accepted(&verdict), "{:?}", rejection(&verdict));
    let far = home(1e37);
    far.refused(&of_visitors(&far).expect("it can be written"), "range");
}

fn guests(step: &mut OutputStep) -> &mut Number {
    let Outputs::Numbers(numbers) = &mut step.outputs else { panic!("numbers") };
    &mut numbers[0]
}

/// Every way in which a number that is not whole could come out.
#[test]
fn whole_numbers_that_may_not_be_whole_are_rejected() {
    let written = of_visitors(&visitors()).expect("it can be written");
    let refused = |change: &dyn Fn(&mut OutputStep), word: &str| {
        let mut home = visitors();
        change(&mut home.step);
        // Where the tail is not even written, the file is the one from before.
        home.refused(&of_visitors(&home).unwrap_or_else(|| written.clone()), word);
    };
    refused(&|step| guests(step).grid = None, "output 0 must be a whole number");
    refused(&|step| guests(step).grid = Some(1), "output 0 must be a whole number");
    refused(&|step| guests(step).lo = -9.5, "too wide for its grid");
    refused(&|step| guests(step).hi = 16_777_218.0, "too wide for its grid");
    let beside = "beside its grid";
    refused(&|step| step.fallback[0].bias[0] = 0.5, beside);
    refused(&|step| step.fallback[0].weights[0].2 = 0.5, beside);
    refused(&|step| step.fallback[0].weights[1].2 = -1.5, beside);
    refused(&|step| step.fallback[0].weights[0].1 = 0, beside);
    // Whole, but beyond what float32 adds without rounding.
    refused(&|step| step.fallback[0].bias[0] = -16_777_200.0, beside);
    refused(&|step| step.fallback[0].weights[1].2 = -16_777_216.0, beside);
    // In a case that answers only somewhere, too.
    refused(
        &|step| {
            let mut first = step.fallback[0].clone();
            first.bias[0] = 0.5;
            step.fallback.insert(0, first);
        },
        beside,
    );
    // On a coarser grid, of whole numbers too, the fallback must be on that one.
    let mut even = visitors();
    guests(&mut even.step).grid = Some(-1);
    even.step.fallback[0].bias[0] = 2.0;
    even.refused(&of_visitors(&even).expect("it can be written"), beside);
}

/// What comes out of the tail, from candidates of all kinds in any runtime.
#[test]
fn whole_numbers_come_out_whatever_goes_in() {
    let (rng, home) = (&mut Rng(31), visitors());
    let inputs = rows_of(&home.spec.schema);
    let tail = Tail::new(&home.spec, &home.step, &inputs, output_names(|_| false)).expect("it can be written");
    let (mut taken, mut fallen) = (0, 0);
    for _ in 0..4000 {
        let x = point(&home.spec.schema, rng);
        let c = vec![number(rng, &[x[1], x[1] + 1.0, 199.9, 0.5]), number(rng, &[0.0, -3.0])];
        let columns = row(&home.spec.schema, &x);
        let flush = rng.below(2) == 0;
        let mut runtime = Tails { rng, flush };
        let known = runtime.run(&tail.piece, &[("in", Tensor::rows(columns.len(), columns)), ("scores", Tensor::standing(c))]);
        let (y, ok) = (&known["y"].data, known["ok"].data[0] > 0.5);
        assert!(y[0].fract() == 0.0 && home.spec.rules.iter().all(|r| holds(&r.claim, &x, y)), "{x:?} {y:?}");
        if ok { taken += 1 } else { fallen += 1 }
    }
    assert!(taken > 500 && fallen > 100, "{taken} {fallen}");
}
