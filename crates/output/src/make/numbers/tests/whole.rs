//! Whole numbers: what comes out is whole, obeys, and is about as near as the nearest of all whole outputs, found by trying them.

use super::*;

/// A regression whose first targets are whole numbers.
fn of_whole(features: Vec<Feature>, targets: &[&str], whole: usize, rules: &[&str]) -> NormalSpec {
    let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let task = Task::Regression { targets: names(targets), whole: names(&targets[..whole]) };
    let schema = Schema { features, task, one_hot: OneHot::DropFirst, filled: vec![] };
    let rules: Vec<RuleText> =
        rules.iter().enumerate().map(|(k, text)| RuleText { name: format!("rule {k}"), text: (*text).into() }).collect();
    compile(&rules, &schema).unwrap()
}

fn on_grids(spec: &NormalSpec, lo: f32, hi: f32) -> Vec<Number> {
    let free = wide(spec.schema.task.outputs(), lo, hi);
    let grids = grids(spec, &free).unwrap();
    free.into_iter().zip(grids).map(|(n, grid)| Number { grid, ..n }).collect()
}

/// The squared distance of the nearest whole outputs that obey, all of them tried; `None` if none does.
fn best(judge: &Judge, rules: usize, x: &[f32], p: &[f32], (lo, hi): (i32, i32)) -> Option<f64> {
    let side = (hi - lo + 1) as usize;
    let mut least: Option<f64> = None;
    for k in 0..side.pow(p.len() as u32) {
        let y: Vec<f32> = (0..p.len()).map(|j| (lo + (k / side.pow(j as u32) % side) as i32) as f32).collect();
        let distance = y.iter().zip(p).map(|(y, p)| f64::from(y - p).powi(2)).sum::<f64>();
        if least.is_none_or(|least| distance < least) && (0..rules).all(|rule| !judge.breaks(rule, x, &y)) {
            least = Some(distance);
        }
    }
    least
}

struct Tally {
    /// The share of rows that are refused though whole outputs obey.
    refused: f64,
    /// The squared distance beside that of the nearest whole outputs; their sums over the rows that are taken.
    ratio: f64,
}

fn tried(spec: &NormalSpec, anchor: Option<&Anchor>, (lo, hi): (i32, i32), borders: &[f32]) -> Tally {
    const ROWS: usize = 400;
    let rng = &mut ChaCha8Rng::seed_from_u64(23);
    let ranges = on_grids(spec, lo as f32, hi as f32);
    let made = make(spec, &SOURCE, &ranges, &ALIKE[..ranges.len()], anchor).unwrap();
    let (x, outputs) = (inputs(spec, ROWS, borders, rng), ranges.len());
    let (width, rules) = ((hi - lo) as f32, spec.rules.len());
    let s = scores(ROWS, outputs, lo as f32 - 0.2 * width, hi as f32 + 0.2 * width, rng);
    let (ran, judge) = (run(spec, &made, &s, &x), Judge::new(spec));
    let (mut refused, mut own, mut least) = (0, 0.0, 0.0);
    for r in 0..ROWS {
        let p: Vec<f32> = s.row(r).iter().map(|v| v.clamp(lo as f32, hi as f32)).collect();
        let Some(best) = best(&judge, rules, x.row(r), &p, (lo, hi)) else { continue };
        if !ran.ok[r] {
            refused += 1;
            continue;
        }
        let y = ran.given.row(r);
        assert!(y.iter().all(|v| v.fract() == 0.0), "{y:?}");
        assert!((0..rules).all(|rule| !judge.breaks(rule, x.row(r), y)), "{y:?}");
        own += y.iter().zip(&p).map(|(y, p)| f64::from(y - p).powi(2)).sum::<f64>();
        least += best;
    }
    let found = Tally { refused: f64::from(refused) / ROWS as f64, ratio: own / least };
    let texts: Vec<&str> = spec.rules.iter().map(|r| &r.text[..]).collect();
    println!("{texts:?}, {}, {} calls: refused {}, ratio {}", made.how, made.piece.calls.len(), found.refused, found.ratio);
    found
}

#[test]
fn whole_outputs_are_near_the_nearest_of_all() {
    let n = || whole("n", 0, 12);
    let x = || real("x", 0.0, 10.0);
    let k = || category("k", &["p", "q", "r"]);
    let cases: Vec<(NormalSpec, (i32, i32))> = vec![
        (of_whole(vec![x()], &["a"], 1, &["0.4 <= a <= 7.6"]), (-5, 15)),
        (of_whole(vec![x()], &["a"], 1, &["a <= x", "a >= x - 2"]), (-5, 15)),
        (of_whole(vec![n()], &["a", "b"], 2, &["a + b <= 9", "a >= 0", "b >= 0"]), (-4, 12)),
        (of_whole(vec![n()], &["a", "b"], 2, &["a + b <= 1", "a >= 0", "b >= 0"]), (-4, 12)),
        (of_whole(vec![n()], &["a", "b"], 2, &["a + b < n + 1", "a - b <= 2.5", "a >= 0", "b >= 0"]), (-4, 12)),
        (of_whole(vec![n()], &["a", "b"], 2, &["2 * a + 3 * b <= 17", "a >= 0.5", "b >= 0 - 1"]), (-4, 12)),
        (of_whole(vec![n()], &["a", "b", "c"], 3, &["a + b == c", "a >= 0", "b >= 0", "c <= 14.2"]), (-2, 16)),
        (of_whole(vec![n()], &["a", "b", "c"], 3, &["a + b + c == n", "a >= 0", "b >= 0", "c >= 0"]), (0, 12)),
        // At x = 0 only 0 and 0 would obey, to the last bit: the tail, which needs room there, refuses them.
        (of_whole(vec![real("x", 0.5, 10.0)], &["a", "b"], 2, &["a + b <= x", "a >= 0", "b >= 0"]), (-2, 12)),
        (
            of_whole(vec![n(), k()], &["a", "b"], 2, &["k == 'q' => a + b <= n", "k == 'p' => b == 2 * a", "a >= 0", "b >= 0"]),
            (-2, 14),
        ),
        (of_whole(vec![n()], &["a", "b"], 2, &["a <= 1 or a >= 5", "a + b >= 3"]), (-4, 12)),
        // A step of one is many of another.
        (of_whole(vec![n()], &["a", "b", "c"], 3, &["c == 9 * a + 5 * b", "2 * a + b >= n / 4", "a >= 0", "b >= 0"]), (-1, 40)),
        (of_whole(vec![n(), k()], &["a", "c"], 2, &["c == 12 * a + n", "k == 'q' => a <= 1", "a >= 0"]), (-2, 60)),
        (of_whole(vec![n()], &["a", "b", "c"], 3, &["a + b == c", "c == n", "a >= 2"]), (-4, 16)),
        (of_whole(vec![n()], &["a", "b"], 2, &["n >= 6 => a >= b + 1", "abs(a - b) <= 4", "max(a, b) <= 10"]), (-2, 12)),
    ];
    let mut bad = Vec::new();
    for (spec, range) in &cases {
        let found = tried(spec, None, *range, &[]);
        // Beside a real feature the tail needs room, and a bound that is a whole number to the last bit is lost.
        let real = matches!(spec.schema.features[0].domain, Domain::Real { .. });
        if found.refused > 0.005 || found.ratio > if real { 1.1 } else { 1.02 } {
            bad.push((spec.rules.iter().map(|r| r.text.clone()).collect::<Vec<_>>(), found.refused, found.ratio));
        }
    }
    assert!(bad.is_empty(), "{bad:?}");
}

/// Many outputs of which a whole number is spread; a day's hours, say.
#[test]
fn many_whole_outputs_make_a_whole_sum() {
    const ROWS: usize = 500;
    let names: Vec<String> = (0..24).map(|j| format!("h{j}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rules = [
        "sum(h for h in outputs) == n".replace("h for h in outputs", &names.join(", ")),
        format!("min({}) >= 0", names.join(", ")),
    ];
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let spec = of_whole(vec![whole("n", 0, 300)], &names, 24, &rules);
    let ranges = on_grids(&spec, 0.0, 400.0);
    let made = make(&spec, &SOURCE, &ranges, &ALIKE[..ranges.len()], None).unwrap();
    let rng = &mut ChaCha8Rng::seed_from_u64(3);
    let x = inputs(&spec, ROWS, &[], rng);
    let mut s = scores(ROWS, 24, 0.0, 2.0, rng);
    // About as large as their sum asks for.
    (0..ROWS).for_each(|r| s.row_mut(r).iter_mut().for_each(|v| *v *= x.row(r)[0] / 24.0));
    let ran = run(&spec, &made, &s, &x);
    assert!(refused(&spec, &made, &s, &x) <= 0.005);
    let whole = |r: usize| ran.given.row(r).iter().all(|v| v.fract() == 0.0);
    assert!((0..ROWS).all(whole));
    // What is missing after rounding is spread: nothing is far from where the nearest outputs are.
    let allowed = Allowed::new(&spec);
    for r in 0..ROWS {
        let p: Vec<f64> = s.row(r).iter().map(|v| f64::from(*v)).collect();
        let nearest = allowed.nearest(&allowed.at(x.row(r)).unwrap(), &p, 0.0).unwrap().y;
        let off = nearest.iter().zip(ran.given.row(r)).map(|(a, b)| (a - f64::from(*b)).abs()).fold(0.0, f64::max);
        assert!(off < 1.5, "row {r}: {off}");
    }
}

/// Beside numbers that need not be whole.
#[test]
fn whole_and_other_outputs_obey_together() {
    const ROWS: usize = 1000;
    let spec = of_whole(vec![real("x", 5.0, 30.0)], &["a", "b"], 1, &["a + b <= x", "a >= 0", "b >= 0.25"]);
    let ranges = on_grids(&spec, -10.0, 40.0);
    assert_eq!([ranges[0].grid, ranges[1].grid], [Some(0), None]);
    let made = make(&spec, &SOURCE, &ranges, &ALIKE[..ranges.len()], None).unwrap();
    let rng = &mut ChaCha8Rng::seed_from_u64(9);
    let (x, s) = (inputs(&spec, ROWS, &[], rng), scores(ROWS, 2, -5.0, 30.0, rng));
    assert!(refused(&spec, &made, &s, &x) <= 0.01);
    let ran = run(&spec, &made, &s, &x);
    let whole = (0..ROWS).filter(|r| ran.given.row(*r)[0].fract() == 0.0).count();
    let other = (0..ROWS).filter(|r| ran.given.row(*r)[1].fract() != 0.0).count();
    assert!(whole == ROWS && other > ROWS / 2, "{whole} {other}");
}

#[test]
fn grids_of_whole_numbers() {
    let n = || whole("n", 0, 9);
    let ks = |spec: &NormalSpec| on_grids(spec, -10.0, 10.0).iter().map(|n| n.grid).collect::<Vec<_>>();
    assert_eq!(ks(&of_whole(vec![n()], &["a", "b"], 1, &["a <= b"])), [Some(0), None]);
    // An equality puts all of its outputs on one grid; another one has its own.
    let spec = of_whole(vec![n()], &["a", "b", "c", "d"], 1, &["a + b == n", "c + d == 0.5"]);
    let found = ks(&spec);
    assert!(found[..2] == [Some(0), Some(0)] && found[2].is_some_and(|k| k > 0) && found[2] == found[3], "{found:?}");
    // Too large to be exact.
    let spec = of_whole(vec![n()], &["a", "b"], 2, &["a == 3 * b"]);
    let large = grids(&spec, &wide(2, -1e7, 1e7));
    assert!(matches!(large, Err(MakeError::Equality { why: NotEqual::TooLarge, .. })), "{large:?}");
}
