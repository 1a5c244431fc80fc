//! Microseconds to decode one row, and to take the likelihood and its gradient: rules of the use cases, and a hierarchy.
//!
//!     cargo bench --workspace --bench decode

use std::hint::black_box;
use std::time::Instant;

use deepsade_output::decode::{DecodeScratch, Decoder};
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const ROWS: usize = 1000;
const ROUNDS: usize = 30;

fn main() {
    println!("{:<58} {:>8} {:>12} {:>10} {:>12}", "", "nodes", "decode (us)", "goal (us)", "loss (us)");
    let digits = problem(Task::Multilabel { labels: names(10) }, vec!["sum(i * label[i] for i in 0..10) > 10".into()]);
    measure("UC4, ten labels with a sum above 10", &digits, Some(2.0));
    for n in [4, 6, 8, 10] {
        let lines =
            ["forall i in 0..N: exactly(1, at[i, p] for p in 0..N)", "forall p in 0..N: exactly(1, at[i, p] for i in 0..N)"];
        let rules = lines.iter().map(|t| t.replace('N', &n.to_string())).collect();
        let ranking = problem(Task::Ranking { items: names(n) }, rules);
        let name = if n == 4 { "UC5, an ordering of 4".into() } else { format!("an ordering of {n}") };
        measure(&name, &ranking, (n == 4).then_some(2.0));
    }
    let mut rng = ChaCha8Rng::seed_from_u64(500);
    let edge = |rng: &mut ChaCha8Rng| {
        let (a, b) = (rng.random_range(0..500usize), rng.random_range(0..499usize));
        let b = if b >= a { b + 1 } else { b };
        (a.max(b), a.min(b))
    };
    let dag: Vec<String> = (0..480).map(|_| edge(&mut rng)).map(|(a, b)| format!("label[{a}] => label[{b}]")).collect();
    measure("500 classes, random DAG of 480 implications", &problem(Task::Multilabel { labels: names(500) }, dag), Some(50.0));
    let tree: Vec<String> = (20..500).map(|a| format!("label[{a}] => label[{}]", rng.random_range(0..a))).collect();
    measure("500 classes, random trees with 20 roots", &problem(Task::Multilabel { labels: names(500) }, tree), Some(50.0));
}

fn names(n: usize) -> Vec<String> {
    (0..n).map(|k| format!("n{k}")).collect()
}

fn problem(task: Task, texts: Vec<String>) -> NormalSpec {
    let features = vec![Feature { name: "x".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } }];
    let rules: Vec<RuleText> = texts.into_iter().map(|text| RuleText { name: text.clone(), text }).collect();
    compile(&rules, &Schema { features, task, one_hot: OneHot::Full, filled: vec![] }).expect("the rules are well formed")
}

/// The fastest of several rounds over the same random scores, half of them positive, a row.
fn measure(name: &str, spec: &NormalSpec, goal: Option<f64>) {
    let decoder = Decoder::new(spec, 200_000).expect("the rules can be decoded");
    let n = decoder.labels();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let scores: Vec<f32> = (0..ROWS * n).map(|_| rng.random_range(-3.0..3.0)).collect();
    let (mut scratch, mut set, mut marginals) = (DecodeScratch::default(), vec![0.0; n], vec![0.0; n]);
    let mut fastest = |row: &mut dyn FnMut(&[f32], &mut DecodeScratch)| {
        let (mut best, begun) = (f64::INFINITY, Instant::now());
        for _ in (0..ROUNDS).take_while(|_| begun.elapsed().as_secs() < 2) {
            let started = Instant::now();
            scores.chunks_exact(n).for_each(|s| row(black_box(s), &mut scratch));
            best = best.min(started.elapsed().as_secs_f64() * 1e6 / ROWS as f64);
        }
        best
    };
    let decode = fastest(&mut |s, scratch| {
        black_box(decoder.best(s, &[], scratch, &mut set));
    });
    let loss = decoder.nodes().filter(|nodes| *nodes < 20_000).map(|_| {
        fastest(&mut |s, scratch| {
            black_box(decoder.log_valid(s, &[], scratch, &mut marginals));
        })
    });
    let number = |v: Option<f64>, digits: usize| v.map_or("-".into(), |v| format!("{v:.digits$}"));
    let verdict = goal.map_or("-".into(), |g| format!("{} {g}", if decode <= g { "reached" } else { "MISSED" }));
    let nodes = decoder.nodes().map_or("-".into(), |n| n.to_string());
    println!("{name:<58} {nodes:>8} {decode:>12.2} {verdict:>10} {:>12}", number(loss, 2));
}
