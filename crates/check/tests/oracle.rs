//! Random networks and rules: what the checker accepts, no float32 evaluation breaks.

mod common;

use common::{
    Rng, Runtime, accepted, act, certificate, claimed, dense, holds, leaf, model, pictures, point, prove, prove_along, row, rule,
};
use deepsade_check::{Arithmetic, Bounds, Lines, Tree};
use deepsade_net::{Activation, Network, Node, Op};
use deepsade_spec::Cut;
use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};

fn schema(rng: &mut Rng) -> Schema {
    let real = [(-1.0, 2.0), (0.0, 1.0), (0.5, 0.5), (-3e-39, 1.0)][rng.below(4)];
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    Schema {
        features: vec![
            feature("x", Domain::Real { lo: real.0, hi: real.1 }),
            feature("k", Domain::Category { levels: ["p", "q", "r"].map(String::from).to_vec() }),
            feature("n", Domain::Integer { lo: [-2, 0, 1][rng.below(3)], hi: 3 }),
        ],
        task: Task::regression(vec!["a".into(), "b".into()]),
        one_hot: [OneHot::Full, OneHot::DropFirst][rng.below(2)],
        filled: vec![],
    }
}

/// Dense layers with an activation, optionally a scaled input, a skip connection to the last layer, and a gate.
fn network(inputs: usize, rng: &mut Rng) -> Network {
    let mut nodes: Vec<Node> = Vec::new();
    let mut width = inputs;
    if rng.below(3) == 0 {
        let list = |rng: &mut Rng| (0..inputs).map(|_| rng.weight()).collect::<Vec<_>>();
        nodes.push(Node { op: Op::Affine { scale: list(rng), shift: list(rng) }, from: vec![0] });
    }
    if nodes.is_empty() && rng.below(4) == 0 {
        // The input itself times a number of it.
        nodes.push(Node { op: Op::Select(vec![[0, inputs - 1][rng.below(2)]]), from: vec![0] });
        nodes.push(Node { op: Op::Gate, from: vec![0, 1] });
    }
    let f = [Activation::Relu, Activation::Relu, Activation::Relu, Activation::Sigmoid, Activation::Tanh][rng.below(5)];
    let layer = |width: &mut usize, out: usize, nodes: &mut Vec<Node>, rng: &mut Rng| {
        let w = (0..out * *width).map(|_| rng.weight()).collect();
        let b = (0..out).map(|_| rng.weight()).collect();
        nodes.push(dense(out, *width, w, b, nodes.len()));
        *width = out;
    };
    for _ in 0..rng.below(3) {
        layer(&mut width, 3, &mut nodes, rng);
        nodes.push(act(f, nodes.len()));
    }
    if !nodes.is_empty() && rng.below(2) == 0 {
        let z = nodes.len();
        let columns = if rng.below(2) == 0 { vec![0] } else { (0..inputs).collect() };
        width += columns.len();
        nodes.push(Node { op: Op::Select(columns), from: vec![0] });
        nodes.push(Node { op: Op::Concat, from: vec![z, z + 1] });
    }
    layer(&mut width, 2, &mut nodes, rng);
    if rng.below(4) == 0 {
        nodes.push(act(Activation::Relu, nodes.len()));
    }
    if rng.below(3) == 0 {
        let u = nodes.len();
        // The first or the last column: x or n.
        nodes.push(Node { op: Op::Select(vec![[0, inputs - 1][rng.below(2)]]), from: vec![0] });
        nodes.push(Node { op: Op::Gate, from: vec![u, u + 1] });
    }
    Network { inputs, nodes }
}

/// A rule with a bound near the edge of what the network does.
fn random_rule(samples: &[(Vec<f32>, Vec<f32>)], rng: &mut Rng) -> RuleText {
    let most = |f: &dyn Fn(&[f32], &[f32]) -> f64| samples.iter().map(|(x, y)| f(x, y)).fold(f64::MIN, f64::max);
    let slack = [0.0, 1e-9, 3e-7, 1e-6, 1e-4, 0.01, 0.3, 1.0][rng.below(8)] * [1.0, -1.0][usize::from(rng.below(6) == 0)];
    let d = f64::from;
    let (text, least): (&str, f64) = match rng.below(9) {
        0 => ("a <= C", most(&|_, y| d(y[0]))),
        1 => ("a - 2 * b < x + C", most(&|x, y| d(y[0]) - 2.0 * d(y[1]) - d(x[0]))),
        2 => ("x > 0.5 => a + b / 3 <= C", most(&|x, y| if x[0] > 0.5 { d(y[0]) + d(y[1]) / 3.0 } else { -1e3 })),
        3 => ("k == 'p' => a <= n + C", most(&|x, y| if x[1] == 0.0 { d(y[0]) - d(x[2]) } else { -1e3 })),
        4 => ("a <= C or b < C", most(&|_, y| d(y[0].min(y[1])))),
        5 => ("max(a, b) <= C and n + a < 3 + C", most(&|x, y| d(y[0].max(y[1])).max(d(x[2]) + d(y[0]) - 3.0))),
        6 => (
            "k in {'q', 'r'} and n >= 1 => abs(a) <= C",
            most(&|x, y| if x[1] > 0.0 && x[2] >= 1.0 { d(y[0].abs()) } else { -1e3 }),
        ),
        7 => ("a + b <= C * n", most(&|x, y| if x[2] > 0.0 { (d(y[0]) + d(y[1])) / d(x[2]) } else { -1e3 })),
        _ => ("x + n > 1 => a >= 0 - C", most(&|x, y| if x[0] + x[2] > 1.0 { -d(y[0]) } else { -1e3 })),
    };
    rule(&text.replace('C', &format!("({:.12})", least + slack)))
}

fn random_tree(bounds: Bounds, depth: usize, rng: &mut Rng) -> Tree {
    if depth == 0 || rng.below(2) == 0 {
        return leaf(bounds, vec![]);
    }
    let (feature, cut) = match rng.below(4) {
        0 => (1, Cut::Levels((0..3).filter(|_| rng.below(2) == 0).collect())),
        1 => (2, Cut::At((rng.unit() * 6.0 - 2.0) as f32)),
        _ => (0, Cut::At([0.0, -0.0, 0.5, 7.0, (rng.unit() * 2.0 - 0.5) as f32][rng.below(5)])),
    };
    let [below, above] = [0, 1].map(|_| Box::new(random_tree(bounds, depth - 1, rng)));
    Tree::Split { feature, cut, below, above }
}

/// Leaves replaced by splits on units of one relu, all of them or a few.
fn with_units(network: &Network, tree: Tree, rng: &mut Rng) -> Tree {
    let relus: Vec<usize> = (0..network.nodes.len()).filter(|k| network.nodes[*k].op == Op::Act(Activation::Relu)).collect();
    if relus.is_empty() {
        return tree;
    }
    let node = relus[rng.below(relus.len())];
    let mut part = |tree: Box<Tree>| Box::new(with_units(network, *tree, rng));
    if let Tree::Split { feature, cut, below, above } = tree {
        return Tree::Split { feature, cut, below: part(below), above: part(above) };
    }
    let width = network.width(node + 1).expect("a node of the network");
    (0..width).rev().fold(tree, |tree, unit| {
        if rng.below(4) == 0 {
            return tree;
        }
        Tree::Unit { node, unit, below: Box::new(tree.clone()), above: Box::new(tree) }
    })
}

#[test]
fn nothing_accepted_with_signs_and_slopes_is_broken() {
    let rng = &mut Rng(2);
    let (mut proved, mut broken) = (0, 0);
    for case in 0..600 {
        let schema = schema(rng);
        let network = network(schema.columns().len(), rng);
        let bytes = model(&network, &schema);
        let sample = |rng: &mut Rng, k: usize| {
            let x = point(&schema, rng);
            let y = Runtime { rng, flush: k.is_multiple_of(2) }.values(&network, &row(&schema, &x)).pop().unwrap();
            (x, y)
        };
        let samples: Vec<_> = (0..60).map(|k| sample(rng, k)).collect();
        let text = random_rule(&samples, rng);
        let claim = compile(std::slice::from_ref(&text), &schema).expect("a rule").rules.remove(0).claim;
        let tree = random_tree([Bounds::Relational, Bounds::Inherited][case % 2], 1, rng);
        let tree = with_units(&network, tree, rng);
        let lines = |signs: usize| {
            let slope = |rng: &mut Rng| [rng.below(network.nodes.len() + 1), rng.below(3), [0, 77, 128, 256][rng.below(4)]];
            Some(Lines {
                signs: (0..signs).map(|_| [0.0, 0.0, 0.25, 1.0, rng.unit() as f32 * 2.0][rng.below(5)]).collect(),
                slopes: (0..rng.below(6)).map(|_| slope(rng)).collect(),
            })
        };
        let yes = prove_along(&bytes, &text, &schema, Arithmetic::Float32, tree, lines).is_some();
        let mut violated = samples.iter().any(|(x, y)| !holds(&claim, x, y));
        broken += usize::from(violated);
        if yes {
            violated |= (0..400).any(|k| {
                let (x, y) = sample(rng, k);
                !holds(&claim, &x, &y)
            });
            assert!(!violated, "case {case}: {} accepted but broken, {network:?}", text.text);
            proved += 1;
        }
    }
    println!("proved {proved}; broken {broken}");
    assert!(proved > 100 && broken > 100, "{proved} {broken}");
}

/// Each pattern of signs with the multipliers of linear programming: in one input at most one condition is binding, and its
/// multiplier makes the form constant in x.
fn every_sign(w: &[f32], b: &[f32], v: &[f32], known: &mut Vec<bool>) -> Tree {
    let n = known.len();
    if n < w.len() {
        let mut part = |above| {
            known.push(above);
            let tree = every_sign(w, b, v, known);
            known.pop();
            Box::new(tree)
        };
        return Tree::Unit { node: 1, unit: n, below: part(false), above: part(true) };
    }
    let on = |i: usize| f32::from(u8::from(known[i]));
    let (slope, constant) = (0..n).fold((0.0, 0.0), |(s, c), i| (s + v[i] * w[i] * on(i), c + v[i] * b[i] * on(i)));
    let mut best = (constant + slope.abs(), vec![0.0; n]);
    for i in (0..n).filter(|i| w[*i] != 0.0) {
        let sign = on(i) * 2.0 - 1.0;
        let l = -slope / (sign * w[i]);
        let most = constant + l * sign * b[i];
        if l >= 0.0 && most < best.0 {
            best = (most, (0..n).map(|j| if i == j { l } else { 0.0 }).collect());
        }
    }
    // Where the signs contradict each other, no multiplier of one condition may do; two may.
    let bounds = |i: usize| (-b[i] / w[i], known[i] == (w[i] > 0.0));
    for i in 0..n {
        for j in 0..n {
            let ((lo, at_least), (hi, other)) = (bounds(i), bounds(j));
            if w[i] != 0.0 && w[j] != 0.0 && at_least && !other && lo > hi {
                let large = 1e4 / (lo - hi).max(1e-3);
                let mut signs = vec![0.0; n];
                signs[i] = large / w[i].abs();
                signs[j] = large / w[j].abs();
                best = (f32::MIN, signs);
            }
        }
    }
    Tree::Leaf { bounds: Bounds::Relational, cells: vec![vec![1]], lines: vec![Lines { signs: best.1, slopes: vec![] }] }
}

#[test]
fn signs_decide_every_small_network_of_one_input() {
    let rng = &mut Rng(4);
    let mut needed = 0;
    for _ in 0..200 {
        let feature = Feature { name: "x".into(), domain: Domain::Real { lo: -1.0, hi: 1.0 } };
        let schema =
            Schema { features: vec![feature], task: Task::regression(vec!["a".into()]), one_hot: OneHot::Full, filled: vec![] };
        let [w, b, v] = [0; 3].map(|_| (0..3).map(|_| rng.weight()).collect::<Vec<f32>>());
        let network = Network {
            inputs: 1,
            nodes: vec![dense(3, 1, w.clone(), b.clone(), 0), act(Activation::Relu, 1), dense(1, 3, v.clone(), vec![0.0], 2)],
        };
        let bytes = model(&network, &schema);
        // Largest at an end or at a kink.
        let at = |x: f64| (0..3).map(|i| f64::from(v[i]) * (f64::from(w[i]) * x + f64::from(b[i])).max(0.0)).sum::<f64>();
        let kinks = (0..3).filter(|i| w[*i] != 0.0).map(|i| -f64::from(b[i]) / f64::from(w[i])).filter(|x| x.abs() <= 1.0);
        let most = kinks.chain([-1.0, 1.0]).map(at).fold(f64::MIN, f64::max);
        let tree = every_sign(&w, &b, &v, &mut Vec::new());
        let verdict = |slack: f64, tree: &Tree| {
            let rules = [rule(&format!("a <= ({:.9})", most + slack))];
            accepted(&claimed(
                &bytes,
                &rules,
                &schema,
                &certificate(&bytes, &rules, &schema, Arithmetic::Float32, vec![tree.clone()]).to_json(),
            ))
        };
        assert!(verdict(1e-5, &tree), "{network:?}, at most {most}");
        assert!(!verdict(-1e-5, &tree), "{network:?}, reaches {most}");
        needed += usize::from(!verdict(1e-5, &leaf(Bounds::Relational, vec![vec![1]])));
    }
    assert!(needed > 30, "{needed}");
}

#[test]
fn nothing_accepted_is_broken_by_any_evaluation() {
    let rng = &mut Rng(1);
    let (mut proved, mut close, mut broken) = ([0; 3], 0, 0);
    for case in 0..2500 {
        let schema = schema(rng);
        let inputs = schema.columns().len();
        let network = if case % 7 == 0 { pictures(inputs, 2, 1.0, rng) } else { network(inputs, rng) };
        let bytes = model(&network, &schema);
        let samples: Vec<_> = (0..60)
            .map(|k| {
                let x = point(&schema, rng);
                let y = Runtime { rng, flush: k % 2 == 0 }.values(&network, &row(&schema, &x)).pop().unwrap();
                (x, y)
            })
            .collect();
        let text = random_rule(&samples, rng);
        let claim = compile(std::slice::from_ref(&text), &schema).expect("a rule").rules.remove(0).claim;
        let bounds = [Bounds::Interval, Bounds::Relational, Bounds::Inherited][case % 3];
        let tree = random_tree(bounds, 2, rng);
        let certificate = prove(&bytes, &text, &schema, Arithmetic::Float32, tree);
        let mut violated = samples.iter().any(|(x, y)| !holds(&claim, x, y));
        broken += usize::from(violated);
        if certificate.is_some() {
            for k in 0..400 {
                let x = point(&schema, rng);
                let y = Runtime { rng, flush: k % 2 == 0 }.values(&network, &row(&schema, &x)).pop().unwrap();
                violated |= !holds(&claim, &x, &y);
            }
            assert!(!violated, "case {case}: {} accepted but broken, {network:?}", text.text);
            proved[case % 3] += 1;
            let edge = samples
                .iter()
                .any(|(x, y)| !holds(&claim, x, &[y[0] + 2e-6, y[1] + 2e-6]) || !holds(&claim, x, &[y[0] - 2e-6, y[1]]));
            close += usize::from(edge);
        }
    }
    println!("proved {proved:?}, of them close {close}; broken {broken}");
    assert!(proved.iter().all(|p| *p > 150) && close > 50 && broken > 100, "{proved:?} {close} {broken}");
}
