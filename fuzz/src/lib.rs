//! What the targets share: bytes enter, choices leave; schemas that rules are written for; models whose rules are false.

use deepsade_net::{Activation, Matrix, Network, Node, Op};
use deepsade_output::Judge;
use deepsade_spec::{Domain, Feature, NormalSpec, OneHot, RuleText, Schema, Task, compile};

/// Bytes as a source of choices; zeros when they are used up.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    /// Any number of 64 bits; small ones and powers of two are likely.
    pub fn word(&mut self) -> u64 {
        match self.below(4) {
            0 => u64::from(self.byte()),
            1 => 1 << self.below(64),
            2 => u64::MAX >> self.below(64),
            _ => (0..8).fold(0, |w, _| w << 8 | u64::from(self.byte())),
        }
    }

    /// Any float32.
    pub fn float(&mut self) -> f32 {
        match self.below(3) {
            0 => f32::from(self.byte()) / 16.0,
            1 => -f32::from(self.byte()) / 16.0,
            _ => f32::from_bits(self.word() as u32),
        }
    }
}

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(ToString::to_string).collect()
}

/// A schema for each kind of task, over a real, a whole number and a category.
pub fn schema(k: usize) -> Schema {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    let task = match k % 5 {
        0 => Task::regression(names(&["y", "z"])),
        1 => Task::Binary { target: "y".into(), classes: names(&["a", "b"]) },
        2 => Task::Multiclass { target: "y".into(), classes: names(&["a", "b", "c"]) },
        3 => Task::Multilabel { labels: names(&["d0", "d1", "d2", "d3"]) },
        _ => Task::Ranking { items: names(&["p", "q", "r"]) },
    };
    let features = vec![
        feature("x", Domain::Real { lo: -1.0, hi: 2.0 }),
        feature("n", Domain::Integer { lo: -3, hi: 5 }),
        feature("c", Domain::Category { levels: names(&["u", "v", "w"]) }),
    ];
    Schema { features, task, one_hot: if k.is_multiple_of(2) { OneHot::Full } else { OneHot::DropFirst }, filled: vec![] }
}

/// A model with a rule that some input of its domain breaks, by construction.
pub struct Falsehood {
    /// The network.
    pub network: Network,
    /// The compiled rule.
    pub spec: NormalSpec,
    /// The rule.
    pub rules: Vec<RuleText>,
}

/// x in [-1, 1] and a category of two levels; `y = relu(x) + relu(-x)`, which is |x|, and `z = x / 2 + [c is 'v']`: both exact in float32.
/// The rule must be broken at `x` with this level.
fn absolute(task: Task, text: &str, (x, level): (f32, usize)) -> Falsehood {
    let dense =
        |w: &[&[f32]], b: &[f32]| Op::Dense { w: Matrix { rows: w.len(), cols: w[0].len(), data: w.concat() }, b: b.to_vec() };
    let network = Network {
        inputs: 3,
        nodes: vec![
            Node { op: dense(&[&[1.0, 0.0, 0.0], &[-1.0, 0.0, 0.0]], &[0.0, 0.0]), from: vec![0] },
            Node { op: Op::Act(Activation::Relu), from: vec![1] },
            Node { op: Op::Select(vec![0, 2]), from: vec![0] },
            Node { op: Op::Concat, from: vec![2, 3] },
            Node { op: dense(&[&[1.0, 1.0, 0.0, 0.0], &[0.0, 0.0, 0.5, 1.0]], &[0.0, 0.0]), from: vec![4] },
        ],
    };
    let features = vec![
        Feature { name: "x".into(), domain: Domain::Real { lo: -1.0, hi: 1.0 } },
        Feature { name: "c".into(), domain: Domain::Category { levels: names(&["u", "v"]) } },
    ];
    let schema = Schema { features, task, one_hot: OneHot::Full, filled: vec![] };
    let rules = vec![RuleText { name: "false".into(), text: text.into() }];
    let spec = compile(&rules, &schema).expect("the rule is one of the language");
    let mut row = vec![x, 0.0, 0.0];
    row[1 + level] = 1.0;
    let y = network.forward(&Matrix { rows: 1, cols: 3, data: row.clone() });
    assert!(Judge::new(&spec).breaks(0, &row, &y.data), "{text} is broken at {x}, {level}");
    Falsehood { network, spec, rules }
}

/// Rules that are false, most of them hardly.
pub fn falsehoods() -> Vec<Falsehood> {
    let regression = || Task::regression(names(&["y", "z"]));
    let classes = || Task::Binary { target: "k".into(), classes: names(&["a", "b"]) };
    let labels = || Task::Multilabel { labels: names(&["p", "q"]) };
    vec![
        absolute(regression(), "y < 1", (-1.0, 0)),
        absolute(regression(), "y <= 0.999999", (1.0, 1)),
        absolute(regression(), "y > 0", (0.0, 0)),
        absolute(regression(), "c == 'v' => z <= 1.4999", (1.0, 1)),
        absolute(regression(), "z < 1.5 or y < 1", (1.0, 1)),
        absolute(regression(), "y + 2 * z <= 3.99", (1.0, 1)),
        absolute(regression(), "x >= 0.5 => z >= 0.2501", (0.5, 0)),
        absolute(classes(), "c == 'u' => k == 'b'", (0.0, 0)),
        absolute(classes(), "c == 'v' => k == 'b'", (-1.0, 1)),
        absolute(labels(), "p", (0.0, 1)),
        absolute(labels(), "c == 'u' => not q", (1.0, 0)),
        absolute(labels(), "exactly(1, p, q)", (1.0, 1)),
    ]
}
