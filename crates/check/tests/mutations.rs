//! Damaged certificates and models: rejected, or what is accepted is still true.

mod common;

use common::{Rng, Runtime, accepted, act, certificate, claimed, dense, holds, leaf, model, point, rejection, row, rule};
use deepsade_check::{Arithmetic, Bounds, Certificate, Lines, Tree, Verdict};
use deepsade_net::{Activation, Model, Network, Node, Op};
use deepsade_spec::Cut;
use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};

fn schema() -> Schema {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    Schema {
        features: vec![
            feature("x", Domain::Real { lo: -1.0, hi: 1.0 }),
            feature("k", Domain::Category { levels: vec!["p".into(), "q".into()] }),
        ],
        task: Task::regression(vec!["a".into(), "b".into()]),
        one_hot: OneHot::Full,
        filled: vec![],
    }
}

/// z = relu([x + q, p - x]); a = z0 - x, b = z1 + x - 1/2 p (with x by a skip connection).
fn network() -> Network {
    Network {
        inputs: 3,
        nodes: vec![
            dense(2, 3, vec![1.0, 0.0, 1.0, -1.0, 1.0, 0.0], vec![0.0, 0.0], 0),
            act(Activation::Relu, 1),
            Node { op: Op::Concat, from: vec![2, 0] },
            dense(2, 5, vec![1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 1.0, 1.0, -0.5, 0.0], vec![0.0, 0.0], 3),
        ],
    }
}

/// a is at least 0: relu(v) - v + q. a is at most 1: p: relu(x) - x, at x = -1; q: x + 1 - x. b is at most 1: p: 1 - x + x - 1/2; q: relu(-x) + x, at x = 1.
fn rules(slack: &str) -> Vec<RuleText> {
    let texts = [
        format!("a <= 1 {slack}"),
        format!("x > 0.25 and k == 'q' => b <= 1 {slack}"),
        format!("a <= 1 {slack} or b <= 1 {slack}"),
        format!("0 <= a {slack}"),
        format!("0 <= 2 * a {slack}"),
    ];
    texts.iter().map(|t| rule(t)).collect()
}

fn lined(signs: Vec<f32>, slopes: Vec<[usize; 3]>) -> Tree {
    Tree::Leaf { bounds: Bounds::Relational, cells: vec![vec![1]], lines: vec![Lines { signs, slopes }] }
}

/// Proves the rules if the slack allows for rounding.
fn trees() -> Vec<Tree> {
    let by = |feature, cut, below, above| Tree::Split { feature, cut, below: Box::new(below), above: Box::new(above) };
    let one = |cells: Vec<Vec<u64>>| leaf(Bounds::Relational, cells);
    vec![
        by(1, Cut::Levels(vec![0]), one(vec![vec![1]]), by(0, Cut::At(0.5), one(vec![vec![2]]), one(vec![vec![3]]))),
        by(0, Cut::At(0.25), one(vec![]), leaf(Bounds::Interval, vec![vec![0, 0, 7]])),
        by(1, Cut::Levels(vec![1]), one(vec![vec![1, 0]]), one(vec![vec![5, 0]])),
        // p: where x <= 0, a = -x >= x - x. Where it is >= 0, a = x - x.
        by(
            1,
            Cut::Levels(vec![0]),
            Tree::Unit { node: 1, unit: 0, below: Box::new(lined(vec![1.0], vec![])), above: Box::new(lined(vec![0.0], vec![])) },
            one(vec![vec![1]]),
        ),
        // The slope 1 under relu(x), where the usual one is 0.
        by(1, Cut::Levels(vec![0]), lined(vec![], vec![[1, 0, 256]]), one(vec![vec![1]])),
    ]
}

fn broken_somewhere(network: &Network, rules: &[RuleText]) -> bool {
    let (schema, rng) = (schema(), &mut Rng(3));
    let spec = compile(rules, &schema).expect("rules");
    (0..300).any(|k| {
        let x = point(&schema, rng);
        let y = Runtime { rng, flush: k % 2 == 0 }.values(network, &row(&schema, &x)).pop().unwrap();
        spec.rules.iter().any(|r| !holds(&r.claim, &x, &y))
    })
}

/// Every damage to a text: cut off anywhere, one byte left out, one byte replaced, digits counted up.
fn damages(text: &str) -> Vec<String> {
    let mut all: Vec<String> = (0..text.len()).map(|end| text[..end].to_string()).collect();
    for k in 0..text.len() {
        let put = |new: &str| format!("{}{new}{}", &text[..k], &text[k + 1..]);
        all.extend(["", "0", "9", "-", "]", "}", "\"", ",", "e", "\u{0}"].map(put));
        if text.as_bytes()[k].is_ascii_digit() {
            all.push(put(&char::from(text.as_bytes()[k] + 1).to_string()));
        }
    }
    all
}

#[test]
fn the_undamaged_certificate_is_accepted_and_tight() {
    let (bytes, schema) = (model(&network(), &schema()), schema());
    let rules = rules("+ 1e-6");
    assert!(!broken_somewhere(&network(), &rules));
    let verdict = claimed(&bytes, &rules, &schema, &certificate(&bytes, &rules, &schema, Arithmetic::Float32, trees()).to_json());
    let Verdict::Accepted(proof) = &verdict else { panic!("{verdict:?}") };
    assert_eq!(proof.rules.iter().map(|r| (r.regions, r.cells)).collect::<Vec<_>>(), [(3, 3), (2, 1), (2, 2), (3, 3), (2, 2)]);
    assert!(proof.rules.iter().all(|r| r.margin > 0.0) && proof.rules[0].margin < 1e-6);
    assert_eq!(proof.spec, compile(&rules, &schema).unwrap());
    assert_eq!((proof.model_sha256.len(), proof.rules_sha256.len(), proof.arithmetic), (64, 64, Arithmetic::Float32));
}

#[test]
fn no_damage_makes_a_false_rule_accepted() {
    // Broken by 1e-6, with everything else in order.
    let (bytes, schema) = (model(&network(), &schema()), schema());
    let rules = rules("- 1e-6");
    assert!(broken_somewhere(&network(), &rules));
    let text = certificate(&bytes, &rules, &schema, Arithmetic::Float32, trees()).to_json();
    for damaged in damages(&text) {
        assert!(!accepted(&claimed(&bytes, &rules, &schema, &damaged)), "{damaged}");
    }
}

#[test]
fn damage_to_a_good_certificate_is_noticed_or_harmless() {
    let (bytes, schema) = (model(&network(), &schema()), schema());
    let rules = rules("+ 1e-6");
    let text = certificate(&bytes, &rules, &schema, Arithmetic::Float32, trees()).to_json();
    let mut harmless = 0;
    for damaged in damages(&text) {
        if accepted(&claimed(&bytes, &rules, &schema, &damaged)) {
            // Only where splits lie, how bounds are taken, or by which factor a list is multiplied, may differ.
            let (mut a, mut b) = (Certificate::from_json(&damaged).unwrap(), Certificate::from_json(&text).unwrap());
            assert_eq!((&a.model_sha256, &a.rules_sha256, a.arithmetic), (&b.model_sha256, &b.rules_sha256, b.arithmetic));
            assert_eq!(
                a.rules.iter_mut().map(|r| shape(&mut r.tree)).collect::<Vec<_>>(),
                b.rules.iter_mut().map(|r| shape(&mut r.tree)).collect::<Vec<_>>()
            );
            harmless += 1;
        }
    }
    assert!(harmless > 10, "spaces, factors, cuts: {harmless}");
}

/// The tree without its cuts, and zero or not for each multiplier.
fn shape(tree: &mut Tree) -> String {
    match tree {
        Tree::Split { feature, below, above, .. } => format!("({feature} {} {})", shape(below), shape(above)),
        Tree::Unit { node, unit, below, above } => format!("({node}.{unit} {} {})", shape(below), shape(above)),
        Tree::Leaf { cells, lines, .. } => format!("{:?} {}", cells.iter().map(Vec::len).collect::<Vec<_>>(), lines.len()),
        Tree::Decode => "decode".into(),
        Tree::Step => "step".into(),
    }
}

#[test]
fn what_is_missing_is_named() {
    let (bytes, schema) = (model(&network(), &schema()), schema());
    let rules = rules("+ 1e-6");
    let good = certificate(&bytes, &rules, &schema, Arithmetic::Float32, trees());
    let rejected = |change: &dyn Fn(&mut Certificate)| {
        let mut bad = good.clone();
        change(&mut bad);
        let verdict = claimed(&bytes, &rules, &schema, &bad.to_json());
        assert!(!accepted(&verdict));
        let (step, reason) = rejection(&verdict);
        format!("{step}: {reason}")
    };
    let lists = |tree: &mut Tree, f: &dyn Fn(&mut Vec<Vec<u64>>)| match tree {
        Tree::Split { below, .. } => match below.as_mut() {
            Tree::Leaf { cells, .. } => f(cells),
            _ => unreachable!(),
        },
        _ => unreachable!(),
    };
    let name = "rule \"a <= 1 + 1e-6 or b <= 1 + 1e-6\", region root/below";
    let missing = rejected(&|c| lists(&mut c.rules[2].tree, &|cells| cells[0].truncate(1)));
    assert_eq!(missing, format!("{name}, cell 0: 1 multipliers for 2 atoms"));
    let list = rejected(&|c| lists(&mut c.rules[2].tree, &Vec::clear));
    assert_eq!(list, format!("{name}, cell 0: no multipliers for this cell"));
    let extra = rejected(&|c| lists(&mut c.rules[2].tree, &|cells| cells.push(vec![1, 0])));
    assert_eq!(extra, format!("{name}: 1 lists of multipliers too many"));
    let zero = rejected(&|c| lists(&mut c.rules[2].tree, &|cells| cells[0] = vec![0, 0]));
    assert_eq!(zero, format!("{name}, cell 0: all multipliers are zero"));
    let unit = |change: &dyn Fn(&mut Tree)| {
        rejected(&|c| {
            let Tree::Split { below, .. } = &mut c.rules[3].tree else { unreachable!() };
            change(below);
        })
    };
    let lines = |change: &dyn Fn(&mut Vec<Lines>)| {
        unit(&|tree| {
            let Tree::Unit { below, .. } = tree else { unreachable!() };
            let Tree::Leaf { lines, .. } = below.as_mut() else { unreachable!() };
            change(lines);
        })
    };
    let name = "rule \"0 <= a + 1e-6\", region root/below";
    assert_eq!(lines(&|l| l[0].signs.clear()), format!("{name}/below, cell 0: 0 multipliers for 1 signs"));
    assert!(lines(&|l| l[0].signs[0] = 0.0).contains("not refuted"));
    assert!(lines(&|l| l[0].signs[0] = 1e30).contains("not refuted"));
    assert!(lines(&|l| l[0].signs[0] = -1.0).starts_with("certificate: a line has a sign below 0"));
    assert!(lines(&|l| l[0].signs[0] = f32::NAN).starts_with("certificate: "));
    assert!(lines(&|l| l[0].slopes.push([1, 0, 257])).starts_with("certificate: a line has a sign below 0, or slopes"));
    assert_eq!(lines(&|l| l.push(l[0].clone())), format!("{name}/below: 2 lines for 1 lists of multipliers"));
    for (node, column) in [(0, 0), (1, 2), (2, 0), (4, 0), (usize::MAX, 0), (1, usize::MAX)] {
        let unknown = unit(&|tree| {
            let Tree::Unit { node: k, unit: i, .. } = tree else { unreachable!() };
            (*k, *i) = (node, column);
        });
        assert_eq!(unknown, format!("{name}: node {node} is no ReLU with a unit {column}"));
    }
    assert!(rejected(&|c| c.rules.truncate(2)).starts_with("rules: "));
    assert!(rejected(&|c| c.rules.push(c.rules[0].clone())).starts_with("rules: "));
    assert!(rejected(&|c| c.rules.swap(0, 1)).starts_with("rules: "));
    assert!(rejected(&|c| c.rules[1].name.push('.')).starts_with("rules: "));
    assert!(rejected(&|c| c.model_sha256.make_ascii_uppercase()).starts_with("model hash: "));
    assert!(rejected(&|c| c.rules_sha256 = c.model_sha256.clone()).starts_with("rules hash: "));
    let cut = |c: &mut Certificate, new: Cut| match &mut c.rules[0].tree {
        Tree::Split { cut, .. } => *cut = new,
        _ => unreachable!(),
    };
    for new in [vec![2], vec![0, 0], vec![1, 0], vec![usize::MAX]] {
        assert!(rejected(&|c| cut(c, Cut::Levels(new.clone()))).contains("region root: levels"));
    }
    assert!(rejected(&|c| cut(c, Cut::At(0.5))).contains("does not split feature 1"));
    for at in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        assert!(rejected(&|c| cut(c, Cut::At(at))).starts_with("certificate: "));
    }
    let deep = |n: usize| {
        let mut tree = leaf(Bounds::Interval, vec![]);
        for _ in 0..n {
            let above = Box::new(leaf(Bounds::Interval, vec![]));
            tree = Tree::Split { feature: 0, cut: Cut::At(0.0), below: Box::new(tree), above };
        }
        tree
    };
    assert!(rejected(&|c| c.rules[0].tree = deep(200)).starts_with("rule "));
    assert!(rejected(&|c| c.rules[0].tree = deep(201)).contains("deeper"));
    assert!(rejected(&|c| c.rules[0].tree = deep(2000)).contains("deeper"));
}

#[test]
fn hostile_texts_are_rejected() {
    let bytes = model(&network(), &schema());
    let rules = rules("");
    let good = certificate(&bytes, &rules, &schema(), Arithmetic::Float32, trees()).to_json();
    let twice = good.replacen("\"arithmetic\"", "\"version\":1,\"arithmetic\"", 1);
    let unknown = good.replacen("\"arithmetic\"", "\"note\":1,\"arithmetic\"", 1);
    let huge = good.replacen("[[1]]", "[[18446744073709551616]]", 1);
    let minus = good.replacen("[[1]]", "[[-1]]", 1);
    let point = good.replacen("[[1]]", "[[1.0]]", 1);
    let texts = [String::new(), "[".repeat(100_000), "{}".into(), "9".repeat(100_000), twice, unknown, huge, minus, point];
    for text in texts {
        assert_eq!(rejection(&claimed(&bytes, &rules, &schema(), &text)).0, "certificate");
    }
}

#[test]
fn a_changed_model_needs_its_own_proof() {
    let (good, schema) = (model(&network(), &schema()), schema());
    let rules = rules("+ 1e-6");
    let text = certificate(&good, &rules, &schema, Arithmetic::Float32, trees()).to_json();
    let rng = &mut Rng(9);
    let mut still = 0;
    for k in 0..good.len() {
        let mut bytes = good.clone();
        bytes[k] ^= 1 << rng.below(8);
        assert_eq!(rejection(&claimed(&bytes, &rules, &schema, &text)).0, "model hash", "byte {k}");
        // With the hash put right: if accepted, then true of the changed model.
        let rehashed = certificate(&bytes, &rules, &schema, Arithmetic::Float32, trees()).to_json();
        if accepted(&claimed(&bytes, &rules, &schema, &rehashed)) {
            let changed = Model::from_own_bytes(&bytes).unwrap().network;
            assert!(!broken_somewhere(&changed, &rules), "byte {k}");
            still += 1;
        }
    }
    // One float32 up or down for each weight: true or rejected.
    let (mut up, mut down) = (0, 0);
    for node in [0, 3] {
        for i in 0..6 {
            for step in [f32::next_up, f32::next_down] {
                let mut changed = network();
                let Op::Dense { w, .. } = &mut changed.nodes[node].op else { unreachable!() };
                w.data[i] = step(w.data[i]);
                let bytes = model(&changed, &schema);
                let text = certificate(&bytes, &rules, &schema, Arithmetic::Float32, trees()).to_json();
                let yes = accepted(&claimed(&bytes, &rules, &schema, &text));
                assert!(!yes || !broken_somewhere(&changed, &rules));
                if yes { up += 1 } else { down += 1 }
            }
        }
    }
    println!("{still} changed bytes still accepted; one step: {up} accepted, {down} rejected");
}
