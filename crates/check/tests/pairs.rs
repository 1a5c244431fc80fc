//! Rules between two inputs: what is accepted is broken by no evaluation, and what is wrong by one sign is rejected.

mod common;

use common::{Rng, Runtime, accepted, act, certificate, claimed, dense, leaf, model, point, rejection, row, rule};
use deepsade_check::{Arithmetic, Bounds, PairArgument, PairProof, PairProvedBy, Tree, Verdict};
use deepsade_net::{Activation, Network, Node, Op};
use deepsade_spec::{Cut, Domain, Feature, Kept, NormalSpec, OneHot, Pair, Rational, Schema, Task, Var, compile};

fn schema() -> Schema {
    let levels = ["p", "q", "r"].map(String::from).to_vec();
    let features = vec![
        Feature { name: "x".into(), domain: Domain::Real { lo: -1.0, hi: 2.0 } },
        Feature { name: "n".into(), domain: Domain::Integer { lo: 0, hi: 4 } },
        Feature { name: "k".into(), domain: Domain::Category { levels } },
    ];
    Schema { features, task: Task::regression(vec!["a".into(), "b".into()]), one_hot: OneHot::Full, filled: vec![] }
}

/// The verdict on one rule with an argument.
fn verdict(network: &Network, schema: &Schema, text: &str, arithmetic: Arithmetic, argument: PairArgument) -> Verdict {
    let (bytes, rules) = (model(network, schema), [rule(text)]);
    let mut certificate = certificate(&bytes, &rules, schema, arithmetic, vec![]);
    certificate.rules.clear();
    certificate.pairs = vec![PairProof { name: text.into(), argument }];
    claimed(&bytes, &rules, schema, &certificate.to_json())
}

fn signs(network: &Network, schema: &Schema, text: &str) -> Verdict {
    verdict(network, schema, text, Arithmetic::Float32, PairArgument::Signs)
}

fn whole() -> Tree {
    leaf(Bounds::Interval, vec![])
}

/// x -> 3 relus -> 2 outputs, all weights on the way from x as the signs say; n and k enter freely.
fn rising(rng: &mut Rng) -> Network {
    let kinds = [1.0f32, -1.0, 1.0];
    let free = |rng: &mut Rng| rng.weight();
    let w: Vec<f32> = kinds
        .iter()
        .flat_map(|s| {
            let mut row: Vec<f32> = (0..5).map(|_| free(rng)).collect();
            row[0] = s * (rng.unit() as f32 + 0.1);
            row
        })
        .collect();
    let b = (0..3).map(|_| rng.weight()).collect();
    let out: Vec<f32> = (0..2).flat_map(|_| kinds.map(|s| s * (rng.unit() as f32 + 0.1))).collect();
    let nodes = vec![dense(3, 5, w, b, 0), act(Activation::Relu, 1), dense(2, 3, out, vec![0.25, -0.5], 2)];
    Network { inputs: 5, nodes }
}

#[test]
fn signs_of_weights_prove_a_trend_and_one_wrong_sign_is_named() {
    let rng = &mut Rng(3);
    for _ in 0..40 {
        let network = rising(rng);
        assert!(
            accepted(&signs(&network, &schema(), "increasing(a, x)")),
            "{:?}",
            rejection(&signs(&network, &schema(), "increasing(a, x)"))
        );
        assert!(accepted(&signs(&network, &schema(), "increasing(a + 2 * b, x) and increasing(b, x)")));
        assert!(accepted(&signs(&network, &schema(), "n >= 2 => increasing(a, x)")));
        for wrong in ["decreasing(a, x)", "unaffected(a, x)", "increasing(a - b, x)", "change(a, {x}, by = 1) <= 1000"] {
            assert!(!accepted(&signs(&network, &schema(), wrong)), "{wrong}");
        }
        // The weight of x in one unit of the first layer, or of one unit in the output.
        let mut first = network.clone();
        let unit = rng.below(3);
        let Op::Dense { w, .. } = &mut first.nodes[0].op else { unreachable!() };
        w.data[unit * 5] *= -1.0;
        let (at, why) = rejection(&signs(&first, &schema(), "increasing(a, x)"));
        assert!(at.contains("increasing(a, x)") && why.contains("\"x\"") && why.contains("node 2"), "{at}: {why}");
        let mut last = network.clone();
        let Op::Dense { w, .. } = &mut last.nodes[2].op else { unreachable!() };
        w.data[unit] *= -1.0;
        assert!(!accepted(&signs(&last, &schema(), "increasing(a, x)")));
        assert!(accepted(&signs(&last, &schema(), "increasing(b, x)")), "the other output is as it was");
    }
}

#[test]
fn a_sigmoid_hides_a_trend_but_not_that_nothing_is_read() {
    let nodes = |w: Vec<f32>| {
        vec![dense(1, 5, w, vec![0.0], 0), act(Activation::Sigmoid, 1), dense(2, 1, vec![1.0, 1.0], vec![0.0; 2], 2)]
    };
    let network = Network { inputs: 5, nodes: nodes(vec![1.0, 1.0, 0.0, 0.0, 0.0]) };
    let (_, why) = rejection(&signs(&network, &schema(), "increasing(a, x)"));
    assert!(why.contains("may rise and fall"), "{why}");
    assert!(accepted(&signs(&network, &schema(), "unaffected(a, k)")));
    assert!(accepted(&signs(&network, &schema(), "unaffected(a, k) and unaffected(b, k)")));
    let some = Network { inputs: 5, nodes: nodes(vec![1.0, 1.0, 0.0, 0.0, 1e-30]) };
    assert!(!accepted(&signs(&some, &schema(), "unaffected(a, k)")));
    // Slopes know that a sigmoid rises: for exact numbers, and up to rounding as computed.
    let by_slopes = verdict(&network, &schema(), "increasing(a, x)", Arithmetic::Float32, PairArgument::Slopes(whole()));
    let Verdict::Accepted(proved) = &by_slopes else { panic!("{:?}", rejection(&by_slopes)) };
    assert!(proved.pairs[0].tolerance > 0.0 && proved.pairs[0].tolerance < 1e-5, "{:?}", proved.pairs[0]);
}

/// a = x r with r = n: rises in x since r is never negative, rises in n only where x is not negative.
#[test]
fn a_product_needs_the_signs_of_its_factors() {
    let network = |w: f32, b: f32| {
        let nodes = vec![
            Node { op: Op::Select(vec![1]), from: vec![0] },
            dense(2, 5, vec![w, 0.0, 0.0, 0.0, 0.0, w, 0.0, 0.0, 0.0, 0.0], vec![b; 2], 0),
            Node { op: Op::Gate, from: vec![2, 1] },
        ];
        Network { inputs: 5, nodes }
    };
    let two = network(1.0, 0.5);
    assert!(accepted(&signs(&two, &schema(), "increasing(a, x)")));
    assert!(!accepted(&signs(&two, &schema(), "increasing(a, n)")), "x + 0.5 may be negative");
    let three = network(1.0, 1.5);
    assert!(accepted(&signs(&three, &schema(), "increasing(a, {x, n})")));
    assert!(accepted(&signs(&network(-1.0, -2.5), &schema(), "decreasing(a, {x, n})")));
    assert!(!accepted(&signs(&network(-1.0, -2.5), &schema(), "increasing(a, n)")));
}

/// By a rounding a number falls a little, and a class is another one: what slopes show of scores up to rounding they do not show of it.
#[test]
fn slopes_do_not_prove_a_class_in_float32() {
    let classes = ["N", "Y"].map(String::from).to_vec();
    let schema = Schema { task: Task::Binary { target: "loan".into(), classes }, ..schema() };
    // The score of Y rises with x by a slope so small that rounding beside 1000 hides it; N's stays.
    let nodes = vec![dense(2, 5, vec![0.0, 0.0, 0.0, 0.0, 0.0, 1e-6, 0.0, 0.0, 0.0, 0.0], vec![1000.0, 1000.0], 0)];
    let network = Network { inputs: 5, nodes };
    let text = "increasing(score('Y') - score('N'), x)";
    let of = |text: &str, arithmetic| verdict(&network, &schema, text, arithmetic, PairArgument::Slopes(whole()));
    assert!(accepted(&of(text, Arithmetic::Float32)), "up to what rounding costs");
    let class = "increasing(loan == 'Y', x)";
    assert!(accepted(&of(class, Arithmetic::Real)), "{:?}", rejection(&of(class, Arithmetic::Real)));
    // Signs show this one, and they come first; with a path that goes the other way they do not.
    assert!(accepted(&of(class, Arithmetic::Float32)));
    let hidden = vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0];
    let nodes = vec![dense(2, 5, hidden, vec![3.0, 3.0], 0), dense(2, 2, vec![0.0, 0.0, 1.0, -1.0], vec![0.0, 0.0], 1)];
    let crossed = Network { inputs: 5, nodes };
    let of = |arithmetic| verdict(&crossed, &schema, class, arithmetic, PairArgument::Slopes(whole()));
    assert!(accepted(&of(Arithmetic::Real)), "{:?}", rejection(&of(Arithmetic::Real)));
    let (at, why) = rejection(&of(Arithmetic::Float32));
    assert!(at.contains("increasing") && why.contains("only signs show it in float32"), "{at}: {why}");
}

#[test]
fn slopes_bound_a_change_at_its_edge() {
    // a = 2 x - relu(x): slopes 1 and 2.
    let nodes = vec![
        dense(1, 5, vec![1.0, 0.0, 0.0, 0.0, 0.0], vec![0.0], 0),
        act(Activation::Relu, 1),
        Node { op: Op::Concat, from: vec![2, 0] },
        dense(2, 6, [vec![-1.0, 2.0], vec![0.0; 4], vec![0.0; 6]].concat(), vec![0.0; 2], 3),
    ];
    let network = Network { inputs: 5, nodes };
    let ask = |text: &str, arithmetic, tree: Tree| verdict(&network, &schema(), text, arithmetic, PairArgument::Slopes(tree));
    for (text, real, float32) in [
        ("change(a, {x}, by = 0.5) <= 1", true, false),
        ("change(a, {x}, by = 0.5) < 1", false, false),
        ("change(a, {x}, by = 0.5) <= 1.00001", true, true),
        ("change(a, {x, n}, by = 0.5) <= 1.00001", true, true),
        ("change(a, {x}, by = 0.5) <= 0.99", false, false),
    ] {
        assert_eq!(accepted(&ask(text, Arithmetic::Real, whole())), real, "{text}");
        assert_eq!(accepted(&ask(text, Arithmetic::Float32, whole())), float32, "{text}");
    }
    // Where x is at least 0 the slope is 1; the leaves meet, so the cut itself belongs to both.
    let split = |at: f32| Tree::Split { feature: 0, cut: Cut::At(at), below: Box::new(whole()), above: Box::new(whole()) };
    assert!(accepted(&ask("x >= 0.5 => change(a, {x}, by = 0.5) <= 0.5001", Arithmetic::Real, split(0.25))));
    assert!(!accepted(&ask("x >= 0.5 => change(a, {x}, by = 0.5) <= 0.4999", Arithmetic::Real, split(0.25))));
    // A condition with a gap does not keep the way between two inputs out of it.
    assert!(!accepted(&ask("x >= 0.5 or x <= -0.5 => change(a, {x}, by = 2) <= 2.5", Arithmetic::Real, split(0.25))));
    assert!(accepted(&ask("increasing(a, x)", Arithmetic::Real, whole())));
    assert!(!accepted(&ask("decreasing(a, x)", Arithmetic::Real, whole())));
    assert!(
        !accepted(&ask("unaffected(a, n)", Arithmetic::Real, Tree::Decode))
            || accepted(&signs(&network, &schema(), "unaffected(a, n)"))
    );
}

fn value(schema: &Schema, point: &[f32], y: &[f32], var: Var) -> Rational {
    let exact = |v: f32| Rational::try_from(v).expect("finite");
    let _ = schema;
    match var {
        Var::Output(j) => exact(y[j]),
        Var::Feature(f) => exact(point[f]),
        Var::Level(f, l) => Rational::from(u8::from(point[f] as usize == l)),
    }
}

/// A second input such as a rule speaks of: often the next float32.
fn moved(part: &Pair, schema: &Schema, from: &[f32], rng: &mut Rng) -> Vec<f32> {
    let other = point(schema, rng);
    let mut to = from.to_vec();
    for &f in &part.features {
        to[f] = match (&schema.features[f].domain, rng.below(3)) {
            (Domain::Real { hi, .. }, 0) => from[f].next_up().min(*hi),
            (Domain::Real { lo, hi }, 1) => (from[f] + (rng.unit() as f32 - 0.5)).clamp(*lo, *hi),
            _ => other[f],
        };
    }
    to
}

fn random_network(rng: &mut Rng) -> Network {
    let mut nodes = Vec::new();
    let mut width = 5;
    // One sign a layer often enough for a trend to survive.
    let weights = |n: usize, rng: &mut Rng| -> Vec<f32> {
        let one_sided = rng.below(3) > 0;
        (0..n)
            .map(|_| if one_sided { rng.weight().abs() * if rng.below(40) == 0 { -1.0 } else { 1.0 } } else { rng.weight() })
            .collect()
    };
    for _ in 0..rng.below(3) {
        let w = weights(3 * width, rng);
        nodes.push(dense(3, width, w, vec![0.1, -0.2, 0.0], nodes.len()));
        nodes.push(act([Activation::Relu, Activation::Relu, Activation::Tanh][rng.below(3)], nodes.len()));
        width = 3;
    }
    let w = weights(2 * width, rng);
    nodes.push(dense(2, width, w, vec![0.3, 0.0], nodes.len()));
    if rng.below(3) == 0 {
        let u = nodes.len();
        nodes.push(Node { op: Op::Select(vec![rng.below(2)]), from: vec![0] });
        nodes.push(Node { op: Op::Gate, from: vec![u, u + 1] });
    }
    Network { inputs: 5, nodes }
}

#[test]
fn nothing_accepted_is_broken_by_any_two_evaluations() {
    let rng = &mut Rng(11);
    let schema = schema();
    let texts = [
        "increasing(a, x)",
        "decreasing(a, n)",
        "increasing(a, {x, n})",
        "unaffected(a, k)",
        "n >= 2 => increasing(a + b, x)",
        "change(a, {x}, by = 0.5) <= 1",
        "change(a - b, {x, n}, by = 1) <= 3",
        "x >= 0 => change(b, {x}, by = 0.25) < 0.5",
    ];
    let (mut seen, mut by_slopes) = (0, 0);
    for _ in 0..1500 {
        let network = random_network(rng);
        let text = texts[rng.below(texts.len())];
        let spec: NormalSpec = compile(&[rule(text)], &schema).expect("it compiles");
        let tree = if rng.below(2) == 0 {
            whole()
        } else {
            Tree::Split {
                feature: 0,
                cut: Cut::At(rng.unit() as f32),
                below: Box::new(whole()),
                above: Box::new(leaf(Bounds::Relational, vec![])),
            }
        };
        let slopes = rng.below(2) == 0;
        let argument = if slopes { PairArgument::Slopes(tree) } else { PairArgument::Signs };
        let Verdict::Accepted(proved) = verdict(&network, &schema, text, Arithmetic::Float32, argument) else { continue };
        seen += 1;
        by_slopes += usize::from(slopes);
        let slack = Rational::try_from(proved.pairs[0].tolerance).expect("finite");
        for _ in 0..30 {
            for part in &spec.pairs[0].parts {
                let from = point(&schema, rng);
                let to = moved(part, &schema, &from, rng);
                let (order, flush) = (rng.next(), rng.below(2) == 0);
                let run = |p: &[f32], order: u64| {
                    let mut own = Rng(order);
                    Runtime { rng: &mut own, flush }.values(&network, &row(&schema, p)).pop().expect("outputs")
                };
                // Signs speak of one order of operations, bounds of slopes of any two.
                let (ya, yb) =
                    (run(&from, order), run(&to, if proved.pairs[0].by == PairProvedBy::Slopes { rng.next() } else { order }));
                let a = |var: Var| value(&schema, &from, &ya, var);
                let b = |var: Var| value(&schema, &to, &yb, var);
                if part.allows(&schema, &a, &b) {
                    let Kept::Number { linear, by, .. } = &part.kept else { panic!("numbers are compared") };
                    let kept =
                        part.keeps(&a, &b) || !slack.is_zero() && linear.at(&b) - linear.at(&a) + by + &slack >= Rational::ZERO;
                    assert!(kept, "{text}: {from:?} {to:?} {ya:?} {yb:?} {slack}");
                }
            }
        }
    }
    assert!(seen > 100 && by_slopes > 30, "{seen} {by_slopes}");
}

#[test]
fn a_certificate_says_of_every_rule_why_it_holds() {
    let network = rising(&mut Rng(5));
    let (bytes, schema) = (model(&network, &schema()), schema());
    let rules = [rule("increasing(a, x)"), rule("increasing(b, x)")];
    let names =
        |list: &[&str]| list.iter().map(|n| PairProof { name: (*n).into(), argument: PairArgument::Signs }).collect::<Vec<_>>();
    let judged = |pairs: Vec<PairProof>| {
        let mut certificate = certificate(&bytes, &rules, &schema, Arithmetic::Float32, vec![]);
        certificate.rules.clear();
        certificate.pairs = pairs;
        claimed(&bytes, &rules, &schema, &certificate.to_json())
    };
    assert!(accepted(&judged(names(&["increasing(a, x)", "increasing(b, x)"]))));
    for wrong in [vec![], vec!["increasing(a, x)"], vec!["increasing(b, x)", "increasing(a, x)"], vec!["increasing(a, x)"; 3]] {
        assert!(!accepted(&judged(names(&wrong))), "{wrong:?}");
    }
    // A rule of one input and its tree do not stand for one of two.
    let mut forged = certificate(&bytes, &rules, &schema, Arithmetic::Float32, vec![whole(), whole()]);
    forged.pairs.clear();
    assert!(!accepted(&claimed(&bytes, &rules, &schema, &forged.to_json())));
}

/// a = 0.25 x + 0.3 lies in [0.05, 0.8]: with the rule that it lies in [0, 1] no two inputs change it by more. What is said without that rule,
/// or of less, is not taken, nor is the rule where it does not hold.
#[test]
fn what_other_rules_leave_no_room_for_needs_them() {
    let network = |w: f32| {
        let nodes = vec![dense(2, 5, vec![w, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], vec![0.3, 0.0], 0)];
        Network { inputs: 5, nodes }
    };
    let judged = |network: &Network, texts: &[&str]| {
        let (bytes, rules) = (model(network, &schema()), texts.iter().map(|t| rule(t)).collect::<Vec<_>>());
        let spec = compile(&rules, &schema()).unwrap();
        let trees = spec.rules.iter().map(|r| leaf(Bounds::Interval, vec![vec![1]; r.claim.conjuncts().len()])).collect();
        let own: Vec<_> = rules.iter().filter(|r| spec.rules.iter().any(|own| own.name == r.name)).cloned().collect();
        let mut certificate = certificate(&bytes, &rules, &schema(), Arithmetic::Float32, trees);
        certificate.rules.iter_mut().zip(&own).for_each(|(proof, rule)| proof.name.clone_from(&rule.name));
        certificate.rules.truncate(own.len());
        certificate.pairs =
            spec.pairs.iter().map(|r| PairProof { name: r.name.clone(), argument: PairArgument::Signs }).collect();
        claimed(&bytes, &rules, &schema(), &certificate.to_json())
    };
    let (within, change) = ("0 <= a <= 1", "change(a, {x}, by = 0.01) <= 1");
    let verdict = judged(&network(0.25), &[within, change]);
    let Verdict::Accepted(proved) = &verdict else { panic!("{:?}", rejection(&verdict)) };
    assert_eq!(proved.pairs[0].by, PairProvedBy::Idle);
    for wrong in
        [&[change][..], &[within, "change(a, {x}, by = 0.01) <= 0.99"], &["0 <= a <= 1.001", change], &["0 <= b <= 4", change]]
    {
        assert!(!accepted(&judged(&network(0.25), wrong)), "{wrong:?}");
    }
    let (at, _) = rejection(&judged(&network(0.5), &[within, change]));
    assert!(at.contains(within), "{at}");
    assert!(accepted(&judged(&network(0.5), &["n == 2 => unaffected(b, n)", "b <= 5"])));
    assert!(!accepted(&judged(&network(0.5), &["n >= 2 => unaffected(b, n)", "b <= 5"])));
}
