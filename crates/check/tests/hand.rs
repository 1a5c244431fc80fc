//! Cases whose bound is known in closed form: accepted exactly at the edge, rejected just beyond it.

mod common;

use common::{accepted, act, certificate, claimed, dense, leaf, model, rejection, rule};
use deepsade_check::{Arithmetic, Bounds, Misfit, Rejected, Step, Tree, Verdict, Why, check_until};
use deepsade_net::{Activation, Network, Node, Op};
use deepsade_spec::{Claim, Cut, Domain, Feature, OneHot, RuleText, Schema, Task};

fn schema(features: &[(&str, Domain)], targets: &[&str]) -> Schema {
    Schema {
        features: features.iter().map(|(n, d)| Feature { name: (*n).into(), domain: d.clone() }).collect(),
        task: Task::regression(targets.iter().map(ToString::to_string).collect()),
        one_hot: OneHot::Full,
        filled: vec![],
    }
}

fn real(lo: f32, hi: f32) -> Domain {
    Domain::Real { lo, hi }
}

fn judge(network: &Network, schema: &Schema, text: &str, arithmetic: Arithmetic, tree: Tree) -> Verdict {
    let (bytes, rules) = (model(network, schema), [rule(text)]);
    let certificate = certificate(&bytes, &rules, schema, arithmetic, vec![tree]);
    claimed(&bytes, &rules, schema, &certificate.to_json())
}

fn one(bounds: Bounds) -> Tree {
    leaf(bounds, vec![vec![1]])
}

use Arithmetic::{Float32, Real};
use Bounds::{Interval, Relational};

#[test]
fn identity_is_exact_and_strictness_counts() {
    let (net, schema) = (Network { inputs: 1, nodes: vec![] }, schema(&[("x", real(0.0, 1.0))], &["a"]));
    for bounds in [Interval, Relational] {
        assert!(accepted(&judge(&net, &schema, "a <= 1", Float32, one(bounds))));
        assert!(!accepted(&judge(&net, &schema, "a < 1", Float32, one(bounds))));
        // One float32 less.
        assert!(!accepted(&judge(&net, &schema, "a <= 0.999999940395355224609375", Float32, one(bounds))));
        // The output is the input, so this is an equation; x and a are one symbol.
        assert!(accepted(&judge(&net, &schema, "a <= x", Float32, one(bounds))));
    }
}

#[test]
fn one_dense_layer_is_accepted_exactly_at_its_error_bound() {
    let net = Network { inputs: 1, nodes: vec![dense(1, 1, vec![2.0], vec![1.0], 0)] };
    let schema = schema(&[("x", real(0.0, 1.0))], &["a"]);
    assert!(accepted(&judge(&net, &schema, "a <= 3", Real, one(Interval))));
    assert!(!accepted(&judge(&net, &schema, "a <= 2.9999999999999999999999", Real, one(Interval))));
    assert!(!accepted(&judge(&net, &schema, "a <= 3", Float32, one(Interval))));
    // gamma(2) (2 * 1 + 1) with gamma <= t + 2 t^2, t = 2^-23; and 2 (2 * 1 + 1 + 2 + 1) 2^-126.
    let edge = "a <= 3 + 3 / 8388608 + 6 / 70368744177664 + 12 / 85070591730234615865843651857942052864";
    assert!(accepted(&judge(&net, &schema, edge, Float32, one(Interval))));
    assert!(!accepted(&judge(&net, &schema, &format!("{edge} - 1e-60"), Float32, one(Interval))));
    let Verdict::Accepted(proof) = judge(&net, &schema, "2 * a <= 7", Float32, leaf(Interval, vec![vec![5]])) else {
        panic!("a margin of almost 1")
    };
    let margin = proof.rules[0].margin;
    assert!(margin < 1.0 && margin > 0.999_999 && proof.rules[0].regions == 1 && proof.rules[0].cells == 1);
}

#[test]
fn a_category_counts_once() {
    let levels = |n: usize| Domain::Category { levels: (0..n).map(|l| format!("l{l}")).collect() };
    let mut schema = schema(&[("k", levels(3))], &["a"]);
    let affine = |n: usize| Node { op: Op::Affine { scale: vec![2.0; n], shift: vec![1.0; n] }, from: vec![0] };
    // a = 5 [l0] - 3 [l1] + 2 [l2], once directly and once behind an affine layer: 2 w_l + 4.
    let plain = Network { inputs: 3, nodes: vec![dense(1, 3, vec![5.0, -3.0, 2.0], vec![0.0], 0)] };
    let scaled = Network { inputs: 3, nodes: vec![affine(3), dense(1, 3, vec![5.0, -3.0, 2.0], vec![0.0], 1)] };
    for (net, most) in [(&plain, 5), (&scaled, 14)] {
        assert!(accepted(&judge(net, &schema, &format!("a <= {most}"), Real, one(Interval))));
        assert!(!accepted(&judge(net, &schema, &format!("a <= {most} - 1e-30"), Real, one(Interval))));
    }
    // Cells of the negation: first and a > 5; not first and a > 2.
    let choice = leaf(Interval, vec![vec![0, 1], vec![0, 1]]);
    assert!(accepted(&judge(&plain, &schema, "k != 'l0' => a <= 2", Real, leaf(Interval, vec![vec![0, 1]]))));
    assert!(accepted(&judge(&plain, &schema, "a <= if k == 'l0' then 5 else 2", Real, choice.clone())));
    // Both sides of a split by level are visited; on each, only the cell of its level is left.
    let [yes, no] = [vec![0], vec![1, 2]].map(|levels| Tree::Split {
        feature: 0,
        cut: Cut::Levels(levels),
        below: Box::new(one(Interval)),
        above: Box::new(one(Interval)),
    });
    assert!(accepted(&judge(&plain, &schema, "a <= 5", Real, yes.clone())));
    assert!(!accepted(&judge(&plain, &schema, "a <= 4", Real, yes)));
    assert!(!accepted(&judge(&plain, &schema, "a <= 4", Real, no)));
    // Without a column for the first level: 0 for it, 5 and -3 for the others.
    schema.one_hot = OneHot::DropFirst;
    let dropped = Network { inputs: 2, nodes: vec![dense(1, 2, vec![-5.0, -3.0], vec![0.0], 0)] };
    assert!(accepted(&judge(&dropped, &schema, "a <= 0", Real, one(Interval))));
    assert!(accepted(&judge(&dropped, &schema, "a >= 0 or k != 'l0'", Real, leaf(Interval, vec![vec![1, 0]]))));
    assert!(accepted(&judge(&dropped, &schema, "a <= if k == 'l0' then 0 else 0 - 3", Real, choice)));
    assert!(!accepted(&judge(&dropped, &schema, "a <= 0 - 1e-9", Real, one(Interval))));
}

#[test]
fn relational_bounds_share_the_input() {
    // a = relu(x) - x on [-1, 1]: at most 1. The line over relu is x / 2 + 1 / 2; intervals alone give 2.
    let relu_minus_x = vec![
        dense(1, 1, vec![1.0], vec![0.0], 0),
        act(Activation::Relu, 1),
        Node { op: Op::Concat, from: vec![2, 0] },
        dense(1, 2, vec![1.0, -1.0], vec![0.0], 3),
    ];
    let (net, schema) = (Network { inputs: 1, nodes: relu_minus_x }, schema(&[("x", real(-1.0, 1.0))], &["a"]));
    assert!(accepted(&judge(&net, &schema, "a <= 1", Real, one(Relational))));
    assert!(!accepted(&judge(&net, &schema, "a <= 1 - 1e-20", Real, one(Relational))));
    assert!(!accepted(&judge(&net, &schema, "a <= 1.9", Real, one(Interval))));
    assert!(accepted(&judge(&net, &schema, "a <= 1.000001", Float32, one(Relational))));
    // Split at 0 each side is linear: a >= 0, up to rounding.
    let split =
        |bounds| Tree::Split { feature: 0, cut: Cut::At(0.0), below: Box::new(one(bounds)), above: Box::new(one(bounds)) };
    assert!(accepted(&judge(&net, &schema, "a >= 0", Real, split(Relational))));
    assert!(!accepted(&judge(&net, &schema, "a >= 0", Real, split(Interval))));
}

#[test]
fn a_cell_of_two_atoms_needs_both() {
    let net = Network { inputs: 1, nodes: vec![dense(2, 1, vec![1.0, -1.0], vec![0.0, -0.5], 0)] };
    let schema = schema(&[("x", real(-1.0, 1.0))], &["a", "b"]);
    let try_list = |list: Vec<u64>| judge(&net, &schema, "not (a > 0 and b > 0)", Float32, leaf(Interval, vec![list]));
    assert!(accepted(&try_list(vec![1, 1])));
    for list in [vec![1, 0], vec![0, 1], vec![1, 2], vec![2, 1], vec![0, 0], vec![1], vec![1, 1, 1], vec![]] {
        let verdict = try_list(list.clone());
        // 1 : 2 gives -x - 1, which rounding lifts above 0 at the region's end.
        assert!(!accepted(&verdict), "{list:?}: {verdict:?}");
    }
}

#[test]
fn conditions_cut_the_region_to_the_next_float() {
    let (net, schema) = (Network { inputs: 1, nodes: vec![] }, schema(&[("x", real(0.0, 1.0))], &["a"]));
    let split = |at, below: Vec<Vec<u64>>, above: Vec<Vec<u64>>| Tree::Split {
        feature: 0,
        cut: Cut::At(at),
        below: Box::new(leaf(Interval, below)),
        above: Box::new(leaf(Interval, above)),
    };
    let text = "x > 0.5 => a >= 0.500000059604644775390625";
    // x > 0.5 begins at the next float32, where a is just large enough.
    assert!(accepted(&judge(&net, &schema, text, Float32, leaf(Interval, vec![vec![0, 1]]))));
    // Split at 0.5 the cell is void below; a list for it would be one too many.
    assert!(accepted(&judge(&net, &schema, text, Float32, split(0.5, vec![], vec![vec![0, 1]]))));
    assert!(!accepted(&judge(&net, &schema, text, Float32, split(0.5, vec![vec![0, 1]], vec![vec![0, 1]]))));
    // One float32 further both sides have it; outside the region one side is empty, and nothing is lost.
    assert!(!accepted(&judge(&net, &schema, text, Float32, split(0.5f32.next_up(), vec![], vec![vec![0, 1]]))));
    assert!(accepted(&judge(&net, &schema, text, Float32, split(0.5f32.next_up(), vec![vec![0, 1]], vec![vec![0, 1]]))));
    assert!(accepted(&judge(&net, &schema, text, Float32, split(7.0, vec![vec![0, 1]], vec![]))));
    assert!(!accepted(&judge(&net, &schema, text, Float32, split(7.0, vec![], vec![]))));
    assert!(!accepted(&judge(&net, &schema, text, Float32, split(-7.0, vec![], vec![]))));
}

#[test]
fn a_gate_is_checked_at_its_ends() {
    // a = r u with u in [0.5 - x / 10, ...]: u = 0.5 + 0.1 x <= 0.6.
    let nodes = vec![
        Node { op: Op::Select(vec![1]), from: vec![0] },
        dense(1, 1, vec![0.1], vec![0.5], 1),
        Node { op: Op::Select(vec![0]), from: vec![0] },
        Node { op: Op::Gate, from: vec![2, 3] },
    ];
    let net = Network { inputs: 2, nodes };
    let over = |r: Domain| schema(&[("r", r), ("x", real(0.0, 1.0))], &["a"]);
    for bounds in [Interval, Relational] {
        let whole = over(Domain::Integer { lo: 0, hi: 1000 });
        assert!(accepted(&judge(&net, &whole, "a <= 0.61 * r", Float32, one(bounds))));
        assert!(!accepted(&judge(&net, &whole, "a <= 0.59 * r", Float32, one(bounds))));
        assert!(accepted(&judge(&net, &whole, "a >= 0.49 * r", Float32, one(bounds))));
        assert!(accepted(&judge(&net, &over(real(1e-20, 1000.0)), "a <= 0.61 * r", Float32, one(bounds))));
        assert!(accepted(&judge(&net, &over(real(0.0, 1000.0)), "a <= 0.61 * r", Real, one(bounds))));
        assert!(accepted(&judge(&net, &over(real(0.0, 1000.0)), "a <= 0.61 * r + 1e-30", Float32, one(bounds))));
        // A negative factor turns the rule round.
        let negative = over(Domain::Integer { lo: -5, hi: 0 });
        assert!(accepted(&judge(&net, &negative, "a >= 0.61 * r", Float32, one(bounds))));
        assert!(!accepted(&judge(&net, &negative, "a <= 0.61 * r", Float32, one(bounds))));
    }
    // With real r down to 0 the rule is broken in float32: the smallest denormal times 0.6 rounds to itself.
    let smallest = f32::from_bits(1);
    assert_eq!(smallest * 0.6, smallest);
    assert!(!accepted(&judge(&net, &over(real(0.0, 1000.0)), "a <= 0.61 * r", Float32, one(Relational))));
}

/// r times the input itself, r included: between the ends of r its square is smaller than at either.
#[test]
fn a_gate_may_read_the_input_itself() {
    let nodes = vec![Node { op: Op::Select(vec![1]), from: vec![0] }, Node { op: Op::Gate, from: vec![0, 1] }];
    let net = Network { inputs: 2, nodes };
    for domain in [real(-2.0, 2.0), Domain::Integer { lo: -2, hi: 2 }] {
        let schema = schema(&[("x", domain.clone()), ("r", domain)], &["a", "b"]);
        for bounds in [Interval, Relational] {
            for (text, holds) in
                [("b >= 3", false), ("b >= 0.5", false), ("b >= -4.1", true), ("b <= 4.1", true), ("b <= 3.9", false)]
            {
                assert_eq!(accepted(&judge(&net, &schema, text, Float32, one(bounds))), holds, "{text}");
                assert_eq!(accepted(&judge(&net, &schema, text, Real, one(bounds))), holds, "{text}");
            }
            // Beside a term in r of the rule's own, which does go to the end.
            assert!(accepted(&judge(&net, &schema, "a <= 2.1 * r + 9", Float32, one(bounds))));
            assert!(!accepted(&judge(&net, &schema, "b >= 4 * r - 4.5", Float32, one(bounds))));
        }
    }
    // The square of a number that is never negative.
    let positive = schema(&[("x", real(0.0, 1.0)), ("r", real(1.0, 2.0))], &["a", "b"]);
    assert!(accepted(&judge(&net, &positive, "b >= 0.9", Float32, one(Interval))));
    assert!(!accepted(&judge(&net, &positive, "b >= 1.5", Float32, one(Interval))));
}

#[test]
fn what_may_overflow_is_rejected() {
    let net = Network { inputs: 2, nodes: vec![dense(1, 2, vec![1e30, -1e30], vec![0.0], 0)] };
    let over = |hi: f32| schema(&[("x", real(0.0, hi)), ("z", real(0.0, hi))], &["a"]);
    assert!(accepted(&judge(&net, &over(1e7), "a <= 1e38", Float32, one(Interval))));
    // x - z may be small, but each product alone leaves float32.
    let (step, reason) = rejection(&judge(&net, &over(1e9), "x < 5 => a <= 1e40", Float32, leaf(Interval, vec![vec![0, 1]])));
    assert!(step == "range" && reason.contains("node 0"), "{step}: {reason}");
}

#[test]
fn sigmoid_is_not_trusted_to_stay_below_one() {
    let net = Network { inputs: 1, nodes: vec![dense(1, 1, vec![1.0], vec![0.0], 0), act(Activation::Sigmoid, 1)] };
    let schema = schema(&[("x", real(-100.0, 100.0))], &["a"]);
    assert!(!accepted(&judge(&net, &schema, "a <= 1", Float32, one(Interval))));
    assert!(accepted(&judge(&net, &schema, "-0.000001 <= a <= 1.000001", Float32, leaf(Interval, vec![vec![1]; 2]))));
}

#[test]
fn rules_about_nothing_but_their_own_condition_need_no_multipliers() {
    let net = Network { inputs: 1, nodes: vec![] };
    let schema = schema(&[("x", real(0.0, 1.0))], &["a"]);
    let text = "x > 0.5 and x < 0.25 => a > 100";
    let Verdict::Accepted(proof) = judge(&net, &schema, text, Float32, leaf(Interval, vec![])) else { panic!("void") };
    assert!(proof.rules[0].margin.is_infinite() && proof.rules[0].cells == 0);
    assert!(!accepted(&judge(&net, &schema, text, Float32, leaf(Interval, vec![vec![1, 1, 1]]))));
}

#[test]
fn schemas_that_describe_no_domain_are_rejected() {
    let net = Network { inputs: 1, nodes: vec![] };
    let good = schema(&[("x", real(0.0, 1.0))], &["a"]);
    let rules: [RuleText; 1] = [rule("a <= 1")];
    for (from, to) in [
        ("\"lo\":0.0", "\"lo\":2.0"),
        ("\"hi\":1.0", "\"hi\":1e300"),
        ("\"hi\":1.0", "\"hi\":null"),
        ("\"kind\":\"real\"", "\"kind\":\"integer\""),
        ("\"features\":[", "\"features\":[],\"other\":["),
        ("{", "["),
    ] {
        let text = good.to_json().replace(from, to);
        assert_ne!(text, good.to_json(), "{from}");
        let mut bad = deepsade_net::Model::new(net.clone());
        bad.metadata.insert("deepsade.schema".into(), text);
        let bytes = bad.to_bytes().unwrap();
        let certificate = certificate(&bytes, &rules, &good, Float32, vec![one(Interval)]);
        assert_eq!(rejection(&claimed(&bytes, &rules, &good, &certificate.to_json())).0, "schema", "{to}");
    }
    // Outputs that the network does not have, in the file alone and in the claim, too.
    for (targets, step) in [(&["a", "b"][..], "claim"), (&[], "schema")] {
        let bad = schema(&[("x", real(0.0, 1.0))], targets);
        let bytes = model(&net, &bad);
        let certificate = certificate(&bytes, &rules, &good, Float32, vec![one(Interval)]).to_json();
        assert_eq!(rejection(&claimed(&bytes, &rules, &good, &certificate)).0, step, "{targets:?}");
        assert!(!accepted(&claimed(&bytes, &rules, &bad, &certificate)), "{targets:?}");
    }
    let two = schema(&[("x", real(0.0, 1.0))], &["a", "b"]);
    let bytes = model(&net, &two);
    let certificate = certificate(&bytes, &rules, &two, Float32, vec![one(Interval)]).to_json();
    assert_eq!(rejection(&claimed(&bytes, &rules, &two, &certificate)).0, "schema");
}

#[test]
fn long_cells_neither_overflow_the_stack_nor_pass_unseen() {
    let (net, schema) = (Network { inputs: 1, nodes: vec![] }, schema(&[("x", real(0.0, 1.0))], &["a"]));
    let cell = |n: usize, end: &str| {
        let mut list = vec![0; n];
        list[0] = 1;
        judge(&net, &schema, &format!("exists i in 0..{n}: a <= {end} + i"), Float32, leaf(Interval, vec![list]))
    };
    assert!(accepted(&cell(1024, "1")));
    assert!(!accepted(&cell(1024, "0")));
    assert!(rejection(&cell(20_000, "1")).1.contains("more than 1024 atoms"));
}

#[test]
fn a_check_can_be_stopped_and_says_where_as_data() {
    let net = Network { inputs: 1, nodes: vec![dense(1, 1, vec![1.0], vec![0.0], 0)] };
    let (schema, rules) = (schema(&[("x", real(0.0, 1.0))], &["a"]), [rule("a <= 2")]);
    let bytes = model(&net, &schema);
    let claim = Claim { schema: schema.clone(), rules: rules.to_vec() };
    let half = |low, high| Tree::Split { feature: 0, cut: Cut::At(0.5), below: Box::new(low), above: Box::new(high) };
    let text = |tree| certificate(&bytes, &rules, &schema, Float32, vec![tree]).to_json();
    let good = text(half(one(Interval), one(Interval)));
    assert!(accepted(&check_until(&bytes, &claim, &good, 2, &|| false)));
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let second = || asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 1;
    let at = |path, cell| Step::Rule { rule: 0, name: "a <= 2".into(), path, cell };
    let stopped = Rejected { at: at(vec![true], Some(0)), why: Why::Stopped };
    assert_eq!(check_until(&bytes, &claim, &good, 2, &second), Verdict::Rejected(stopped));
    let Verdict::Rejected(bad) = check_until(&bytes, &claim, &text(half(one(Interval), leaf(Interval, vec![]))), 2, &|| false)
    else {
        panic!("a cell has no multipliers")
    };
    assert_eq!(bad, Rejected { at: at(vec![true], Some(0)), why: Why::Misfit(Misfit::NoMultipliers) });
    let few = [rule("a <= 0.25")];
    let tight = certificate(&bytes, &few, &schema, Float32, vec![one(Interval)]).to_json();
    let verdict = check_until(&bytes, &Claim { rules: few.to_vec(), ..claim }, &tight, 2, &|| false);
    assert!(matches!(verdict, Verdict::Rejected(Rejected { why: Why::NotRefuted(most), .. }) if (0.75..0.76).contains(&most)));
}
