//! Models that choose their outputs: what is right is accepted, and every damage to table, diagram or rules is found.

mod common;

use common::{accepted, certificate, claimed, dense, rejection, rule};
use deepsade_check::{Arithmetic, Tree, Verdict};
use deepsade_net::{Matrix, Model, Network, Node, Op};
use deepsade_spec::sets::{DECODE_KEY, Diagram, NEAREST_KEY, Place, SETS_KEY, Sets};
use deepsade_spec::{Domain, Feature, OneHot, RULES_KEY, RuleText, Schema, Task};

fn schema(task: Task) -> Schema {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    Schema {
        features: vec![
            feature("x", Domain::Real { lo: 0.0, hi: 1.0 }),
            feature("k", Domain::Category { levels: vec!["p".into(), "q".into()] }),
        ],
        task,
        one_hot: OneHot::Full,
    }
}

fn labels(n: usize) -> Schema {
    schema(Task::Multilabel { labels: (0..n).map(|j| format!("l{j}")).collect() })
}

/// Scores that overflow float32: nothing about them may matter.
fn scores(n: usize) -> Network {
    Network { inputs: 3, nodes: vec![dense(n, 3, vec![3e38; 3 * n], vec![3e38; n], 0)] }
}

fn bytes(network: Network, schema: &Schema, place: &str, sets: Option<&str>) -> Vec<u8> {
    let mut model = Model::new(network);
    model.metadata.insert("deepsade.schema".into(), schema.to_json());
    model.metadata.insert(DECODE_KEY.into(), place.into());
    model.metadata.extend(sets.map(|s| (SETS_KEY.to_string(), s.to_string())));
    model.to_bytes().expect("a valid network")
}

fn in_graph(schema: &Schema, rows: &[&[f32]]) -> Vec<u8> {
    let table = Matrix { rows: rows.len(), cols: rows[0].len(), data: rows.concat() };
    let mut network = scores(rows[0].len());
    network.nodes.push(Node { op: Op::Dense { w: table.clone(), b: vec![0.0; rows.len()] }, from: vec![1] });
    network.nodes.push(Node { op: Op::Choose(table), from: vec![2] });
    bytes(network, schema, "in-graph", None)
}

/// A model whose scores the library reads by these sets, carrying these rules.
fn library(schema: &Schema, sets: &str, texts: &[&str]) -> Vec<u8> {
    let mut model = Model::new(scores(schema.task.outputs()));
    model.metadata.insert("deepsade.schema".into(), schema.to_json());
    model.metadata.insert(RULES_KEY.into(), carried(texts));
    model.metadata.insert(DECODE_KEY.into(), "library".into());
    model.metadata.insert(SETS_KEY.into(), sets.into());
    model.to_bytes().expect("a valid network")
}

fn carried(texts: &[&str]) -> String {
    let entries: Vec<String> = texts.iter().map(|t| format!("{{\"name\":{t:?},\"text\":{t:?},\"normal\":\"\"}}")).collect();
    format!("[{}]", entries.join(","))
}

/// The verdict on such a model, for the rules that it carries.
fn judge_library(schema: &Schema, sets: &str, texts: &[&str]) -> Verdict {
    judge(&library(schema, sets, texts), schema, texts)
}

fn judge(model: &[u8], schema: &Schema, texts: &[&str]) -> Verdict {
    let rules: Vec<RuleText> = texts.iter().map(|t| rule(t)).collect();
    let trees = vec![Tree::Decode; rules.len()];
    claimed(model, &rules, schema, &certificate(model, &rules, schema, Arithmetic::Float32, trees).to_json())
}

fn reason(verdict: &Verdict) -> String {
    assert!(!accepted(verdict));
    let (step, reason) = rejection(verdict);
    format!("{step}: {reason}")
}

#[test]
fn tables_are_accepted_row_by_row_and_every_flipped_entry_is_found() {
    let schema = labels(3);
    let rules = ["exactly(2, label[j] for j in 0..3)", "label[2] => label[0]"];
    let rows: [&[f32]; 2] = [&[1.0, 0.0, 1.0], &[1.0, 1.0, 0.0]];
    let verdict = judge(&in_graph(&schema, &rows), &schema, &rules);
    let Verdict::Accepted(proof) = &verdict else { panic!("{verdict:?}") };
    assert_eq!(proof.decoded, Some(Place::InGraph));
    assert_eq!(proof.rules.iter().map(|r| r.cells).collect::<Vec<_>>(), [2, 2]);
    for k in 0..6 {
        let mut flat = rows.concat();
        flat[k] = 1.0 - flat[k];
        let verdict = judge(&in_graph(&schema, &[&flat[..3], &flat[3..]]), &schema, &rules);
        let expected =
            format!("rule \"exactly(2, label[j] for j in 0..3)\", region root: row {} of the table breaks the rule", k / 3);
        assert_eq!(reason(&verdict), expected);
    }
    let more: [&[f32]; 3] = [rows[0], rows[1], &[0.0, 1.0, 1.0]];
    assert!(reason(&judge(&in_graph(&schema, &more), &schema, &rules)).contains("label[2] => label[0]\", region root: row 2"));
}

#[test]
fn a_table_knows_nothing_of_the_input() {
    let schema = labels(2);
    let model = in_graph(&schema, &[&[1.0, 0.0], &[1.0, 1.0]]);
    assert!(accepted(&judge(&model, &schema, &["x < 0.5 => label[0]"])));
    assert!(reason(&judge(&model, &schema, &["x < 0.5 => label[1]"])).contains("row 0"));
    assert!(reason(&judge(&model, &schema, &["label[0] <=> x < 0.5"])).contains("row 0"));
}

/// x < 0.5 => exactly one of three labels, else none of the first two.
fn diagram() -> Diagram {
    // Facts 0 to 2 are labels, 3 is the condition x >= 0.5, as it stands in the first rule's normal form.
    let nodes = vec![
        [3, 0, 1], // 2: label 2
        [3, 1, 0], // 3: not label 2
        [2, 2, 3], // 4: one of labels 1, 2
        [2, 3, 0], // 5: neither
        [1, 4, 5], // 6: exactly one
        [2, 1, 0], // 7: not label 1
        [1, 7, 0], // 8: neither of 0, 1
        [0, 6, 8],
    ];
    Diagram { order: vec![3, 0, 1, 2], nodes }
}

const CONDITIONAL: [&str; 2] = ["x < 0.5 => exactly(1, label[j] for j in 0..3)", "x >= 0.5 => not label[0] and not label[1]"];

#[test]
fn a_diagram_with_conditions_is_accepted_and_every_other_edge_that_adds_sets_is_found() {
    let schema = labels(3);
    let judged = |d: &Diagram| judge_library(&schema, &Sets::Diagram(d.clone()).to_json(), &CONDITIONAL);
    let verdict = judged(&diagram());
    let Verdict::Accepted(proof) = &verdict else { panic!("{verdict:?}") };
    assert_eq!(proof.decoded, Some(Place::Library));
    let obeys = |large: bool, set: usize| {
        let l = |j: usize| set >> j & 1 == 1;
        if large { !l(0) && !l(1) } else { usize::from(l(0)) + usize::from(l(1)) + usize::from(l(2)) == 1 }
    };
    let comes_out = |d: &Diagram, p: bool, set: usize| {
        let mut id = d.root();
        while id >= 2 {
            let [level, low, high] = d.nodes[id - 2];
            let fact = d.order[level];
            id = if if fact == 3 { p } else { set >> fact & 1 == 1 } { high } else { low };
        }
        id == 1
    };
    let (mut good, mut bad, mut misshapen, mut empty) = (0, 0, 0, 0);
    for node in 0..8 {
        for side in 1..3 {
            for to in 0..10 {
                let mut damaged = diagram();
                damaged.nodes[node][side] = to;
                let verdict = judged(&damaged);
                if !accepted(&verdict) && reason(&verdict).starts_with("decode: node") {
                    misshapen += 1;
                    continue;
                }
                let total = [false, true].iter().all(|p| (0..8).any(|s| comes_out(&damaged, *p, s)));
                if !total {
                    assert!(reason(&verdict).starts_with("decode: no set is left where"), "{verdict:?}");
                    empty += 1;
                    continue;
                }
                let sound = [false, true].iter().all(|p| (0..8).all(|s| !comes_out(&damaged, *p, s) || obeys(*p, s)));
                assert_eq!(accepted(&verdict), sound, "node {node} side {side} to {to}: {verdict:?}");
                if sound {
                    good += 1;
                } else {
                    bad += 1;
                    assert!(reason(&verdict).ends_with("region root: a set that can come out breaks the rule"));
                }
            }
        }
    }
    assert!(good > 10 && bad > 10 && misshapen > 10 && empty > 1, "{good} {bad} {misshapen} {empty}");
}

#[test]
fn rules_that_the_sets_were_not_made_for_are_rejected() {
    let schema = labels(3);
    let with = |text| judge_library(&schema, &Sets::Diagram(diagram()).to_json(), &[CONDITIONAL[0], CONDITIONAL[1], text]);
    assert!(accepted(&with("label[0] => not label[1]")));
    assert!(accepted(&with("label[0] or not label[0]")));
    assert!(!accepted(&with("label[0] or label[1]")));
    assert!(!accepted(&with("x < 0.5 => label[2]")));
    assert!(!accepted(&with("score(2) <= x")));
    // A free label may be either way.
    let free = "{\"order\":[0],\"nodes\":[[0,0,1]]}";
    assert!(accepted(&judge_library(&schema, free, &["label[0] or label[1]"])));
    assert!(!accepted(&judge_library(&schema, free, &["label[1]"])));
}

#[test]
fn classes_are_chosen_too() {
    let classes = ["u", "v", "w"].map(String::from).to_vec();
    let schema = schema(Task::Multiclass { target: "c".into(), classes });
    let rows: [&[f32]; 2] = [&[1.0, 0.0, 0.0], &[0.0, 0.0, 1.0]];
    assert!(accepted(&judge(&in_graph(&schema, &rows), &schema, &["c in {'u', 'w'}"])));
    assert!(reason(&judge(&in_graph(&schema, &rows), &schema, &["c == 'u'"])).contains("row 1"));
}

#[test]
fn implications_and_assignments_prove_what_they_say_and_no_more() {
    let six = labels(6);
    let sets = "{\"implications\":[[1,0],[2,0],[5,2]]}";
    assert!(accepted(&judge_library(&six, sets, &["label[1] => label[0]", "label[0] or not label[2]", "label[5] => label[2]"])));
    for text in ["label[0] => label[1]", "label[3] => label[0]", "label[1] => label[2]", "label[0]"] {
        assert!(reason(&judge_library(&six, sets, &[text])).contains("is not among what the sets obey"), "{text}");
    }
    let ranking = schema(Task::Ranking { items: ["a", "b", "c"].map(String::from).to_vec() });
    let sets = "{\"assignment\":3}";
    let lines = ["forall i in 0..3: exactly(1, at[i, p] for p in 0..3)", "forall p in 0..3: exactly(1, at[i, p] for i in 0..3)"];
    assert!(accepted(&judge_library(&ranking, sets, &lines)));
    assert!(!accepted(&judge_library(&ranking, sets, &["at[0, 0]"])));
    assert!(!accepted(&judge_library(&ranking, sets, &["forall i in 0..3: exactly(2, at[i, p] for p in 0..3)"])));
}

#[test]
fn what_the_metadata_say_must_be_so() {
    let schema = labels(2);
    let step = |model: &[u8]| reason(&judge(model, &schema, &["label[0] or label[1]"]));
    assert!(step(&bytes(scores(2), &schema, "in-graph", None)).starts_with("decode: "));
    assert!(step(&bytes(scores(2), &schema, "library", None)).contains("no `deepsade.rules`"));
    assert!(step(&bytes(scores(2), &schema, "elsewhere", None)).starts_with("decode: "));
    let texts = ["label[0] or label[1]"];
    assert!(step(&library(&schema, "{\"order\":[9],\"nodes\":[]}", &texts)).starts_with("decode: "));
    let halves: [&[f32]; 1] = [&[1.0, 0.5]];
    assert!(step(&in_graph(&schema, &halves)).contains("table of 0 and 1"));
    let small = Network { inputs: 3, nodes: vec![dense(2, 3, vec![0.0; 6], vec![1.0; 2], 0)] };
    let plain = common::model(&small, &schema);
    assert!(step(&plain).ends_with("region root: the model does not choose its outputs"));
    // A leaf speaks of the scores, and the library changes them.
    let model = library(&schema, "{\"order\":[0],\"nodes\":[[0,0,1]]}", &texts);
    let rules = [rule("label[0] or label[1]")];
    let leaf = certificate(
        &model,
        &rules,
        &schema,
        Arithmetic::Float32,
        vec![common::leaf(deepsade_check::Bounds::Interval, vec![vec![1, 1]])],
    );
    assert!(reason(&claimed(&model, &rules, &schema, &leaf.to_json())).starts_with("decode: the library chooses"));
}

/// What the library reads is what was proved: the rules in the file, in their order, and no further step.
#[test]
fn the_rules_that_the_library_reads_are_those_that_were_proved() {
    let schema = labels(3);
    let sets = Sets::Diagram(diagram()).to_json();
    let with = |texts: &[&str]| judge(&library(&schema, &sets, texts), &schema, &CONDITIONAL);
    assert!(accepted(&with(&CONDITIONAL)));
    let swapped = [CONDITIONAL[1], CONDITIONAL[0]];
    let other = ["x < 0.4 => exactly(1, label[j] for j in 0..3)", CONDITIONAL[1]];
    for texts in [&swapped[..], &other, &CONDITIONAL[..1], &[]] {
        assert_eq!(reason(&with(texts)), "decode: the rules in the model's file are others", "{texts:?}");
    }
}

#[test]
fn a_contradiction_has_no_sets_and_no_proof() {
    let schema = labels(1);
    let verdict = judge_library(&schema, "{\"order\":[0],\"nodes\":[[0,0,0]]}", &["label[0]", "not label[0]"]);
    assert!(reason(&verdict).starts_with("decode: no set is left"), "{verdict:?}");
}

#[test]
fn outputs_that_the_library_moves_are_not_those_that_were_bounded() {
    let schema = schema(Task::Regression { targets: vec!["u".into()] });
    let small = Network { inputs: 3, nodes: vec![dense(1, 3, vec![0.0; 3], vec![1.0], 0)] };
    let rules = [rule("u <= 2")];
    let verdict = |place: Option<&str>| {
        let mut model = Model::new(small.clone());
        model.metadata.insert("deepsade.schema".into(), schema.to_json());
        model.metadata.extend(place.map(|p| (NEAREST_KEY.to_string(), p.to_string())));
        let model = model.to_bytes().expect("a valid network");
        let leaf = common::leaf(deepsade_check::Bounds::Interval, vec![vec![1]]);
        claimed(&model, &rules, &schema, &certificate(&model, &rules, &schema, Arithmetic::Float32, vec![leaf]).to_json())
    };
    assert!(accepted(&verdict(None)) && accepted(&verdict(Some("in-graph"))));
    assert!(reason(&verdict(Some("library"))).starts_with("nearest: the library moves the outputs"));
    assert!(reason(&verdict(Some("elsewhere"))).starts_with("nearest: "));
}

#[test]
fn a_certificate_of_choices_reads_back() {
    let schema = labels(2);
    let model = in_graph(&schema, &[&[1.0, 0.0]]);
    let certificate = certificate(&model, &[rule("label[0]")], &schema, Arithmetic::Float32, vec![Tree::Decode]);
    assert_eq!(deepsade_check::Certificate::from_json(&certificate.to_json()), Ok(certificate));
}

/// The library chooses labels; raw scores and the numbers of a regression come out of the graph as they are.
#[test]
fn the_library_chooses_neither_scores_nor_numbers() {
    let schema = labels(2);
    let every = "{\"order\":[],\"nodes\":[]}";
    for text in ["score(0) <= 1", "score(0) - score(1) <= 1 or label[0]", "label[0] or score(1) >= 0"] {
        let verdict = judge_library(&schema, every, &[text]);
        assert!(reason(&verdict).contains("reads raw scores"), "{text}: {verdict:?}");
    }
    // In the graph, too: the row of the table is not the score.
    for place in [Some("in-graph"), None] {
        let mut model = Model::from_own_bytes(&in_graph(&schema, &[&[1.0, 0.0]])).unwrap();
        model.metadata.remove(DECODE_KEY);
        model.metadata.extend(place.map(|p| (DECODE_KEY.to_string(), p.to_string())));
        let model = model.to_bytes().unwrap();
        let rules = [rule("score(0) <= 1")];
        for tree in [Tree::Decode, common::leaf(deepsade_check::Bounds::Interval, vec![vec![1]])] {
            let proof = certificate(&model, &rules, &schema, Arithmetic::Float32, vec![tree]);
            let verdict = claimed(&model, &rules, &schema, &proof.to_json());
            assert!(reason(&verdict).contains("reads raw scores"), "{place:?}: {verdict:?}");
        }
    }
    let numbers = self::schema(Task::Regression { targets: vec!["u".into(), "v".into()] });
    let verdict = judge_library(&numbers, every, &["u <= 1 or v <= 1"]);
    assert!(reason(&verdict).contains("not the numbers of a regression"), "{verdict:?}");
}
