//! Outputs that are clipped to bounds: files that obey are accepted, forged ones are not.

mod common;

use std::ops::ControlFlow;

use common::Rng;
use common::tail::{Tails, Tensor};
use deepsade_check::step::{Clips, Number, Round};
use deepsade_check::{
    Arithmetic, Bounds, Certificate, Keeper, PairArgument, PairProof, PairProvedBy, RuleProof, Tree, Verdict, check, sha256_hex,
};
use deepsade_net::{Activation, Matrix, Model, Network, Node, Op, TRUNK_OUTPUT};
use deepsade_spec::canonical::canonical;
use deepsade_spec::cells::cells;
use deepsade_spec::{
    Atom, Claim, Domain, Feature, Formula, Linear, Moves, NormalSpec, OneHot, PairRule, Rational, Region, RuleText, SCHEMA_KEY,
    Schema, Task, Var, compile,
};

/// Income, a number that may be negative, and a flag; two outputs.
fn spec(rules: &[&str]) -> NormalSpec {
    spec_of(rules, Task::regression(vec!["u".into(), "v".into()]))
}

fn spec_of(rules: &[&str], task: Task) -> NormalSpec {
    spec_from(1.0, rules, task)
}

/// The same with incomes from `least` on.
fn spec_from(least: f32, rules: &[&str], task: Task) -> NormalSpec {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let schema = Schema {
        features: vec![
            feature("r", Domain::Real { lo: least, hi: 50.0 }),
            feature("a", Domain::Real { lo: -2.0, hi: 3.0 }),
            feature("flag", Domain::Integer { lo: 0, hi: 1 }),
        ],
        task,
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let text = |(k, text): (usize, &&str)| RuleText { name: format!("rule {k}"), text: (*text).into() };
    compile(&rules.iter().enumerate().map(text).collect::<Vec<_>>(), &schema).unwrap()
}

const RULES: [&str; 5] = ["u + v <= r", "flag == 1 => u <= 2", "a >= 1 => v >= -4", "increasing(u, r)", "increasing(v, {r, a})"];

/// u rises with r, v with r and a; both are free in the flag.
fn network() -> Network {
    let matrix = |rows, cols, data: &[f32]| Matrix { rows, cols, data: data.to_vec() };
    let node = |op, from: &[usize]| Node { op, from: from.to_vec() };
    let first = matrix(4, 3, &[0.5, 0.0, -3.0, 0.25, 1.5, 2.0, -0.125, 0.0, 1.0, 0.0, 0.0, 7.0]);
    Network {
        inputs: 3,
        nodes: vec![
            node(Op::Dense { w: first, b: vec![-4.0, 0.5, 3.0, 0.0] }, &[0]),
            node(Op::Act(Activation::Relu), &[1]),
            node(Op::Dense { w: matrix(2, 4, &[2.0, 0.0, -1.0, 3.0, 0.5, 4.0, -2.0, -9.0]), b: vec![-1.0, 2.0] }, &[2]),
        ],
    }
}

/// u <= 0.625 r, v <= 0.25 r; u <= 1.9375 where the flag is 1; v >= -3.9375 where a >= 1.
fn clips(spec: &NormalSpec) -> Clips {
    let number = Number { lo: -100.0, hi: 100.0, grid: None };
    let conditions = spec.conditions();
    let condition = |feature: usize| {
        let at = conditions.iter().position(|c| c.linear.terms.keys().any(|v| v.feature() == Some(feature))).unwrap();
        // The rule holds where the condition fails: its atom is the opposite.
        (at, false)
    };
    let none = || vec![Vec::new(), Vec::new()];
    Clips {
        numbers: vec![number; 2],
        rounds: vec![
            Round { upper: true, when: none(), weights: vec![(0, 0, 0.625), (1, 0, 0.25)], bias: vec![0.0, 0.0] },
            Round { upper: true, when: vec![vec![condition(2)], vec![]], weights: vec![], bias: vec![1.9375, 100.0] },
            Round { upper: false, when: vec![vec![], vec![condition(1)]], weights: vec![], bias: vec![-100.0, -3.9375] },
        ],
        meet: Vec::new(),
        trees: Vec::new(),
    }
}

/// Signs, and of a change slopes.
fn argument(rule: &PairRule) -> PairArgument {
    let by_slopes = rule.parts.iter().any(|part| matches!(part.moves, Moves::By(_)));
    if by_slopes { PairArgument::Slopes(common::leaf(Bounds::Interval, vec![])) } else { PairArgument::Signs }
}

struct Case {
    spec: NormalSpec,
    model: Model,
    clips: Clips,
}

impl Case {
    fn new() -> Self {
        let spec = spec(&RULES);
        let mut clips = clips(&spec);
        clips.trees = trees(&clips, &spec);
        Self { model: model(&spec, network()), clips, spec }
    }

    fn verdict(&self) -> Verdict {
        let mut model = self.model.clone();
        if model.behind.is_none() {
            model.behind = Some(self.clips.behind(&self.spec).unwrap());
        }
        let bytes = model.to_bytes().unwrap();
        let certificate = Certificate {
            model_sha256: sha256_hex(&bytes),
            rules_sha256: sha256_hex(canonical(&self.spec).as_bytes()),
            arithmetic: Arithmetic::Float32,
            rules: self.spec.rules.iter().map(|r| RuleProof { name: r.name.clone(), tree: Tree::Step }).collect(),
            pairs: self.spec.pairs.iter().map(|r| PairProof { name: r.name.clone(), argument: argument(r) }).collect(),
            step: None,
            clips: Some(self.clips.clone()),
        };
        assert_eq!(Certificate::from_json(&certificate.to_json()).as_ref(), Ok(&certificate));
        check(&bytes, &Claim::from(&self.spec), &certificate.to_json())
    }

    fn rejected(&self) -> String {
        match self.verdict() {
            Verdict::Rejected(why) => format!("{}: {}", why.at, why.why),
            Verdict::Accepted(_) => panic!("accepted"),
        }
    }
}

fn model(spec: &NormalSpec, network: Network) -> Model {
    let mut model = Model::new(network);
    model.metadata.insert(SCHEMA_KEY.into(), spec.schema.to_json());
    model
}

/// One leaf a claim; of each cell the atom that refutes it alone, or one and its opposite, the last one where none does. Every column is a feature.
fn trees(clips: &Clips, spec: &NormalSpec) -> Vec<Tree> {
    let (claims, bounds) = (clips.claims(spec).unwrap(), clips.network(3));
    let Op::Dense { w, b } = &bounds.nodes[0].op else { panic!("the bounds are one layer") };
    let number = |v: f32| Rational::try_from(v).unwrap();
    let of_inputs = |atom: &Atom| {
        let mut linear = Linear::constant(atom.linear.constant.clone());
        for (var, c) in &atom.linear.terms {
            let Var::Output(k) = var else {
                linear.add_scaled(c, &Linear::var(*var));
                continue;
            };
            linear.constant += c * number(b[*k]);
            w.row(*k).iter().enumerate().for_each(|(f, v)| linear.add_scaled(&(c * number(*v)), &Linear::var(Var::Feature(f))));
        }
        linear
    };
    let whole = Region::domain(&spec.schema).unwrap();
    let tree = |claim: &Formula| {
        let mut lists: Vec<Vec<u64>> = Vec::new();
        let _ = cells(&claim.negated(), &mut |atoms| {
            let mut part = whole.clone();
            atoms.iter().for_each(|atom| part.cut(atom));
            if !part.is_empty() {
                let refutes = |atom: &Atom| part.most(&of_inputs(atom), &spec.schema) < Rational::ZERO;
                let opposite = |k: usize| atoms.iter().position(|other| *other == atoms[k].opposite());
                let torn = || (0..atoms.len()).find_map(|k| Some(vec![k, opposite(k)?]));
                let one = atoms.iter().position(refutes).map(|k| vec![k]);
                let at = one.or_else(torn).unwrap_or_else(|| vec![atoms.len() - 1]);
                lists.push((0..atoms.len()).map(|k| u64::from(at.contains(&k))).collect());
            }
            ControlFlow::<()>::Continue(())
        });
        common::leaf(Bounds::Interval, lists)
    };
    claims.rules.iter().map(|rule| tree(&rule.claim)).collect()
}

#[test]
fn valid_clips_are_accepted() {
    let Verdict::Accepted(accepted) = Case::new().verdict() else { panic!("{}", Case::new().rejected()) };
    assert_eq!(accepted.kept_by, Keeper::Clips);
    assert_eq!((accepted.rules.len(), accepted.pairs.len()), (3, 2));
    assert!(accepted.pairs.iter().all(|p| p.tolerance == 0.0 && p.by == PairProvedBy::Signs));
}

/// What the file computes obeys every rule and never falls from one input to the next, whatever order sums are taken in; the network
/// alone does not obey.
#[test]
fn clipped_outputs_obey_where_the_network_does_not() {
    let case = Case::new();
    let behind = case.clips.behind(&case.spec).unwrap();
    let mut rng = Rng(7);
    let (mut broken, mut changed) = (0, 0);
    for round in 0..200 {
        let (a, flag) = ((rng.unit() * 5.0 - 2.0) as f32, rng.below(2) as f32);
        let x: Vec<f32> = (0..50).flat_map(|k| [1.0 + k as f32, if round % 4 == 0 { 1.0 } else { a }, flag]).collect();
        let scores = case.model.network.forward(&Matrix { rows: 50, cols: 3, data: x.clone() });
        let given = [("x", Tensor::rows(3, x)), (TRUNK_OUTPUT, Tensor::rows(2, scores.data.clone()))];
        let flush = rng.below(2) == 0;
        let known = Tails { rng: &mut rng, flush }.run(&behind.piece, &given);
        let (y, ok) = (&known["y"].data, &known["ok"].data);
        let obeys = |r: usize, u: f32, v: f32| {
            let (r, a, flag) = (given[0].1.data[3 * r], given[0].1.data[3 * r + 1], given[0].1.data[3 * r + 2]);
            f64::from(u) + f64::from(v) <= f64::from(r) && (flag < 0.5 || u <= 2.0) && (a < 1.0 || v >= -4.0)
        };
        for r in 0..50 {
            let (u, v) = (y[2 * r], y[2 * r + 1]);
            assert!(obeys(r, u, v) && ok[r] == 1.0, "{u} {v}");
            assert!(r == 0 || u >= y[2 * r - 2] && v >= y[2 * r - 1], "falls with r");
            broken += usize::from(!obeys(r, scores.row(r)[0], scores.row(r)[1]));
            changed += usize::from(scores.row(r) != [u, v]);
        }
    }
    assert!(broken > 1000 && changed < 200 * 50, "{broken} {changed}");
}

#[test]
fn invalid_bounds_are_rejected() {
    // Together more than the income.
    let mut case = Case::new();
    case.clips.rounds[0].weights[0].2 = 0.8;
    case.clips.trees = trees(&case.clips, &case.spec);
    assert!(case.rejected().contains("rule 0"), "{}", case.rejected());
    // Exactly the income: nothing is left for rounding.
    case.clips.rounds[0].weights[0].2 = 0.75;
    case.clips.trees = trees(&case.clips, &case.spec);
    assert!(case.rejected().contains("rule 0"), "{}", case.rejected());
    // Above the rule's own bound.
    let mut case = Case::new();
    case.clips.rounds[1].bias[0] = 2.5;
    case.clips.trees = trees(&case.clips, &case.spec);
    assert!(case.rejected().contains("rule 1"), "{}", case.rejected());
    // Where the condition does not hold in place of where it does.
    let mut case = Case::new();
    case.clips.rounds[1].when[0][0].1 ^= true;
    case.clips.trees = trees(&case.clips, &case.spec);
    assert!(case.rejected().contains("rule 1"), "{}", case.rejected());
    // A lower bound above an upper one undoes it.
    let mut case = Case::new();
    case.clips.rounds[2].bias[0] = 40.0;
    case.clips.trees = trees(&case.clips, &case.spec);
    assert!(case.rejected().contains("cross"), "{}", case.rejected());
    // Below the range, above the range.
    let mut case = Case::new();
    case.clips.numbers[0].lo = 0.75;
    case.clips.trees = trees(&case.clips, &case.spec);
    assert!(case.rejected().contains("cross"), "{}", case.rejected());
}

#[test]
fn invalid_trends_are_rejected() {
    // A bound that falls with r.
    let mut case = Case::new();
    case.clips.rounds[2].weights.push((1, 0, -0.001));
    case.clips.rounds[2].bias[1] = -3.875;
    case.clips.trees = trees(&case.clips, &case.spec);
    assert!(case.rejected().contains("move the other way"), "{}", case.rejected());
    // An upper bound that begins to hold as a rises: v would fall.
    let mut case = Case::new();
    let asked = case.clips.rounds[2].when[1].clone();
    case.clips.rounds[1].when[1] = asked;
    case.clips.rounds[1].bias[1] = 50.0;
    case.clips.trees = trees(&case.clips, &case.spec);
    assert!(case.rejected().contains("move the other way"), "{}", case.rejected());
    // A weight of the wrong sign, before the clips.
    let mut case = Case::new();
    let Op::Dense { w, .. } = &mut case.model.network.nodes[2].op else { panic!() };
    w.data[0] = -2.0;
    assert!(case.rejected().contains("\"r\"") || case.rejected().contains("'r'"), "{}", case.rejected());
}

#[test]
fn invalid_files_are_rejected() {
    let case = Case::new();
    let honest = case.clips.behind(&case.spec).unwrap();
    // Every constant of the tail changed, every call's operator changed, a call left out.
    for k in 0..honest.piece.tensors.len() {
        let mut forged = Case::new();
        let mut behind = honest.clone();
        let deepsade_net::onnx::piece::Numbers::Float(data) = &mut behind.piece.tensors[k].data else { continue };
        data[0] = if data[0] + 1.0 == data[0] { 0.0 } else { data[0] + 1.0 };
        forged.model.behind = Some(behind);
        assert!(forged.rejected().contains("does not clip"), "tensor {k}: {}", forged.rejected());
    }
    for k in 0..honest.piece.calls.len() {
        let mut forged = Case::new();
        let mut behind = honest.clone();
        let op = &mut behind.piece.calls[k].op;
        *op = match op.as_str() {
            "Min" => "Max".into(),
            "Max" => "Min".into(),
            _ => continue,
        };
        forged.model.behind = Some(behind);
        assert!(forged.rejected().contains("does not clip"), "call {k}: {}", forged.rejected());
    }
    // Trees for other claims, and none at all.
    let mut forged = Case::new();
    forged.clips.trees.pop();
    assert!(forged.rejected().contains("clips"), "{}", forged.rejected());
    let mut forged = Case::new();
    forged.clips.rounds.reverse();
    forged.model.behind = Some(honest);
    assert!(forged.rejected().contains("lower bounds after upper ones"), "{}", forged.rejected());
}

/// u is a whole number; v is bounded where a sum of features is large, which float32 can't always tell.
fn counted() -> Case {
    let task = Task::Regression { targets: vec!["u".into(), "v".into()], whole: vec!["u".into()] };
    let rules = ["u <= 0.5 * r + 2", "u >= -1", "r + 4 * a > 20 => v >= 3", "increasing(u, r)", "increasing(v, {r, a})"];
    let spec = spec_of(&rules, task);
    let none = || vec![Vec::new(), Vec::new()];
    let mut clips = Clips {
        numbers: vec![Number { lo: -100.0, hi: 100.0, grid: Some(0) }, Number { lo: -100.0, hi: 100.0, grid: None }],
        rounds: vec![
            Round { upper: true, when: none(), weights: vec![(0, 0, 0.4999)], bias: vec![1.999, 100.0] },
            Round { upper: false, when: vec![vec![], vec![(0, false)]], weights: vec![], bias: vec![-1.0, 3.0] },
        ],
        meet: Vec::new(),
        trees: Vec::new(),
    };
    assert_eq!(spec.conditions().len(), 1);
    clips.trees = trees(&clips, &spec);
    Case { model: model(&spec, network()), clips, spec }
}

#[test]
fn whole_numbers_and_conditions_on_sums_are_clipped() {
    let case = counted();
    let Verdict::Accepted(accepted) = case.verdict() else { panic!("{}", case.rejected()) };
    assert_eq!((accepted.rules.len(), accepted.pairs.len()), (3, 2));
    let behind = case.clips.behind(&case.spec).unwrap();
    let mut rng = Rng(11);
    for _ in 0..300 {
        // Rows along r, most of them across the border of the condition, in steps of an ulp.
        let (a, flag) = ((rng.unit() * 5.0 - 2.0) as f32, rng.below(2) as f32);
        let mut r = (20.0 - 4.0 * a).clamp(1.0, 49.0);
        (0..20).for_each(|_| r = r.next_down().max(1.0));
        let rows: Vec<f32> = (0..40)
            .map(|k| {
                if k % 8 == 7 {
                    rng.unit() as f32 * 49.0 + 1.0
                } else {
                    r = r.next_up();
                    r
                }
            })
            .collect();
        let x: Vec<f32> = rows.iter().flat_map(|r| [*r, a, flag]).collect();
        let scores = case.model.network.forward(&Matrix { rows: 40, cols: 3, data: x.clone() });
        let given = [("x", Tensor::rows(3, x)), (TRUNK_OUTPUT, Tensor::rows(2, scores.data.clone()))];
        let flush = rng.below(2) == 0;
        let known = Tails { rng: &mut rng, flush }.run(&behind.piece, &given);
        for (k, r) in rows.iter().enumerate() {
            let (u, v) = (known["y"].data[2 * k], known["y"].data[2 * k + 1]);
            assert!(u.fract() == 0.0 && u >= -1.0 && f64::from(u) <= 0.5 * f64::from(*r) + 2.0, "{u} at {r}");
            assert!(f64::from(*r) + 4.0 * f64::from(a) <= 20.0 || v >= 3.0, "{v} at {r}, {a}");
            let free = scores.row(k)[0];
            assert!((u - free).abs() <= 0.5 || f64::from(free) > 0.4999 * f64::from(*r) + 1.0 || free < -1.0, "{u} for {free}");
        }
    }
}

#[test]
fn bounds_of_whole_numbers_leave_room_for_one() {
    // A constant that is no whole number.
    let mut case = counted();
    case.clips.rounds[1].bias[0] = -0.5;
    assert!(refused(&case).contains("whole number by a constant"));
    // Between -1 and 0.4999 r - 1 there is always some number, but at r = 1 no whole one if the lower bound were no whole number itself,
    // and the checker asks for a width of 1 where one of the two is rounded.
    let mut case = counted();
    case.clips.rounds[0].bias[0] = -1.0;
    case.clips.trees = trees(&case.clips, &case.spec);
    assert!(case.rejected().contains("cross"), "{}", case.rejected());
    // A grid of halves is none of whole numbers.
    let mut case = counted();
    case.clips.numbers[0].grid = Some(1);
    assert!(refused(&case).contains("grid"));
}

/// Both sides of u meet where r is 0; v may be any number, or a whole one.
fn corner(whole: bool) -> Case {
    let whole = if whole { vec!["u".into()] } else { vec![] };
    let grid = if whole.is_empty() { None } else { Some(0) };
    let task = Task::Regression { targets: vec!["u".into(), "v".into()], whole };
    let spec = spec_from(0.0, &["u <= 0.5 * r", "u >= 0", "u + v <= 0.75 * r + 4", "increasing(u, r)"], task);
    let none = || vec![Vec::new(), Vec::new()];
    let mut clips = Clips {
        numbers: vec![Number { lo: -100.0, hi: 100.0, grid }, Number { lo: -100.0, hi: 100.0, grid: None }],
        rounds: vec![
            Round { upper: true, when: none(), weights: vec![(0, 0, 0.5), (1, 0, 0.25)], bias: vec![-0.001, 3.999] },
            Round { upper: false, when: none(), weights: vec![], bias: vec![0.0, -100.0] },
        ],
        meet: vec![0],
        trees: Vec::new(),
    };
    clips.trees = trees(&clips, &spec);
    Case { model: model(&spec, network()), clips, spec }
}

#[test]
fn bounds_may_meet_in_a_corner() {
    for whole in [false, true] {
        let case = corner(whole);
        let Verdict::Accepted(accepted) = case.verdict() else { panic!("{}", case.rejected()) };
        assert_eq!((accepted.rules.len(), accepted.pairs.len()), (3, 1));
        let behind = case.clips.behind(&case.spec).unwrap();
        let mut rng = Rng(12);
        for _ in 0..300 {
            let scale = 10f64.powi(-(rng.below(46) as i32));
            let mut rows: Vec<f32> = (0..20).map(|k| if k == 0 { 0.0 } else { (rng.unit() * 50.0 * scale) as f32 }).collect();
            rows.sort_by(f32::total_cmp);
            let x: Vec<f32> = rows.iter().flat_map(|r| [*r, 1.0, 0.0]).collect();
            let scores: Vec<f32> = (0..20).flat_map(|k| [k as f32 * 4.0 - 9.0, (rng.unit() * 9.0) as f32]).collect();
            let given = [("x", Tensor::rows(3, x)), (TRUNK_OUTPUT, Tensor::rows(2, scores))];
            let flush = rng.below(2) == 0;
            let known = Tails { rng: &mut rng, flush }.run(&behind.piece, &given);
            let mut before = f32::NEG_INFINITY;
            for (k, r) in rows.iter().enumerate() {
                let (r, u, v) = (f64::from(*r), known["y"].data[2 * k], known["y"].data[2 * k + 1]);
                assert!(u >= before && u >= 0.0 && f64::from(u) <= 0.5 * r, "{u} at {r:e}");
                assert!(f64::from(u) + f64::from(v) <= 0.75 * r + 4.0 && (!whole || u.fract() == 0.0), "{u}, {v} at {r:e}");
                before = u;
            }
        }
    }
}

#[test]
fn what_comes_out_where_bounds_cross_must_obey_as_well() {
    let with = |whole: bool, change: &dyn Fn(&mut Clips)| {
        let mut case = corner(whole);
        change(&mut case.clips);
        if case.clips.behind(&case.spec).is_ok() {
            case.clips.trees = trees(&case.clips, &case.spec);
        }
        refused(&case)
    };
    // Where nobody says that they meet they cross.
    assert!(with(false, &|c| c.meet.clear()).contains("cross"));
    // A lower bound that is above the rule's in the corner.
    assert!(with(false, &|c| c.rounds[1].bias[0] = 0.25).contains("rule 0"));
    // The rule about both outputs is broken by the lower bound of the other that meets nothing.
    let both = with(false, &|c| (c.meet, c.rounds[1].bias[1]) = (vec![0, 1], 4.5));
    assert!(both.contains("rule 2"), "{both}");
    // A lower bound of a whole number that is rounded before it comes out.
    let rounded = with(true, &|c| c.rounds[1].weights = vec![(0, 1, 0.125)]);
    assert!(rounded.contains("no whole number"), "{rounded}");
    for meet in [vec![0, 0], vec![1, 0], vec![7]] {
        assert!(with(false, &|c| c.meet.clone_from(&meet)).contains("once each"), "{meet:?}");
    }
}

/// Why there is no such file at all.
fn refused(case: &Case) -> String {
    case.clips.behind(&case.spec).map_or_else(|fault| fault.to_string(), |_| case.rejected())
}

/// Behind clips an output changes by no more than the network's or the bound that changes most: u by at most 1.125 and 0.625 as r grows by 1, v by at
/// most 1.5 and 0.25. A bound whose condition reads what moves may jump.
#[test]
fn a_clipped_output_changes_by_no_more_than_what_it_is_made_of() {
    let said = |case: &Case| if matches!(case.verdict(), Verdict::Accepted(_)) { String::new() } else { case.rejected() };
    let case = |change: &str, weaker: f32| {
        let mut case = Case::new();
        case.spec = spec(&[&RULES[..3], &[change]].concat());
        let Op::Dense { w, .. } = &mut case.model.network.nodes[0].op else { unreachable!() };
        w.data.iter_mut().for_each(|w| *w *= weaker);
        case.model = model(&case.spec, case.model.network.clone());
        case
    };
    for (change, weaker, held) in [
        ("change(u, {r}, by = 1) <= 1.13", 1.0, true),
        ("change(u, {r}, by = 1) <= 1.12", 1.0, false),
        ("change(v, {r}, by = 1) <= 1.51", 1.0, true),
        ("change(u + 2 * v, {r}, by = 1) <= 4.13", 1.0, true),
        ("change(u - 2 * v, {r}, by = 1) <= 4.13", 1.0, true),
        ("change(u + 2 * v, {r}, by = 1) <= 4.12", 1.0, false),
        // The network hardly moves; its bounds do.
        ("change(u, {r}, by = 1) <= 0.63", 0.125, true),
        ("change(u, {r}, by = 1) <= 0.62", 0.125, false),
        ("change(u - v, {r}, by = 1) <= 0.88", 0.125, true),
        ("change(u - v, {r}, by = 1) <= 0.87", 0.125, false),
        // u is bounded under a condition on the flag, v under one on a.
        ("change(u, {a}, by = 0.1) <= 0.01", 1.0, true),
        ("change(v, {a}, by = 0.1) <= 100", 1.0, false),
        ("change(u, {flag}, by = 1) <= 100", 1.0, false),
    ] {
        let why = said(&case(change, weaker));
        assert_eq!(why.is_empty(), held, "{change}: {why}");
    }
    // Trends are not shown so.
    let mut trend = Case::new();
    trend.spec = spec(&[&RULES[..3], &["increasing(u, r) and change(u, {r}, by = 1) <= 2"]].concat());
    trend.model = model(&trend.spec, network());
    assert_eq!(said(&trend), "", "signs show the one, slopes the other");
    let Op::Dense { w, .. } = &mut trend.model.network.nodes[0].op else { unreachable!() };
    w.data[0] *= -1.0;
    assert!(trend.rejected().contains("clipped"), "{}", trend.rejected());
}
