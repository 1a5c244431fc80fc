//! Networks that end in a choice among the rows of a table: what is right is accepted, and every damage to table or rules is found.

mod common;

use common::{accepted, certificate, claimed, dense, leaf, rejection, rule};
use deepsade_check::{Arithmetic, Bounds, Keeper, Tree, Verdict};
use deepsade_net::{Matrix, Model, Network, Node, Op};
use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task};

fn schema(task: Task) -> Schema {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    Schema {
        features: vec![
            feature("x", Domain::Real { lo: 0.0, hi: 1.0 }),
            feature("k", Domain::Category { levels: vec!["p".into(), "q".into()] }),
        ],
        task,
        one_hot: OneHot::Full,
        filled: vec![],
    }
}

fn labels(n: usize) -> Schema {
    schema(Task::Multilabel { labels: (0..n).map(|j| format!("l{j}")).collect() })
}

/// Scores that overflow float32: nothing about them may matter.
fn scores(n: usize) -> Network {
    Network { inputs: 3, nodes: vec![dense(n, 3, vec![3e38; 3 * n], vec![3e38; n], 0)] }
}

fn chosen(schema: &Schema, rows: &[&[f32]]) -> Vec<u8> {
    let table = Matrix { rows: rows.len(), cols: rows[0].len(), data: rows.concat() };
    let mut network = scores(rows[0].len());
    network.nodes.push(Node { op: Op::Dense { w: table.clone(), b: vec![0.0; rows.len()] }, from: vec![1] });
    network.nodes.push(Node { op: Op::Choose(table), from: vec![2] });
    common::model(&network, schema)
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
    let verdict = judge(&chosen(&schema, &rows), &schema, &rules);
    let Verdict::Accepted(proof) = &verdict else { panic!("{verdict:?}") };
    assert_eq!(proof.kept_by, Keeper::Choice);
    assert_eq!(proof.rules.iter().map(|r| r.cells).collect::<Vec<_>>(), [2, 2]);
    for k in 0..6 {
        let mut flat = rows.concat();
        flat[k] = 1.0 - flat[k];
        let verdict = judge(&chosen(&schema, &[&flat[..3], &flat[3..]]), &schema, &rules);
        let expected =
            format!("rule \"exactly(2, label[j] for j in 0..3)\", region root: row {} of the table breaks the rule", k / 3);
        assert_eq!(reason(&verdict), expected);
    }
    let more: [&[f32]; 3] = [rows[0], rows[1], &[0.0, 1.0, 1.0]];
    assert!(reason(&judge(&chosen(&schema, &more), &schema, &rules)).contains("label[2] => label[0]\", region root: row 2"));
}

#[test]
fn a_table_knows_nothing_of_the_input() {
    let schema = labels(2);
    let model = chosen(&schema, &[&[1.0, 0.0], &[1.0, 1.0]]);
    assert!(accepted(&judge(&model, &schema, &["x < 0.5 => label[0]"])));
    assert!(reason(&judge(&model, &schema, &["x < 0.5 => label[1]"])).contains("row 0"));
    assert!(reason(&judge(&model, &schema, &["label[0] <=> x < 0.5"])).contains("row 0"));
}

#[test]
fn classes_are_chosen_too() {
    let classes = ["u", "v", "w"].map(String::from).to_vec();
    let schema = schema(Task::Multiclass { target: "c".into(), classes });
    let rows: [&[f32]; 2] = [&[1.0, 0.0, 0.0], &[0.0, 0.0, 1.0]];
    assert!(accepted(&judge(&chosen(&schema, &rows), &schema, &["c in {'u', 'w'}"])));
    assert!(reason(&judge(&chosen(&schema, &rows), &schema, &["c == 'u'"])).contains("row 1"));
}

#[test]
fn a_certificate_of_choices_reads_back() {
    let schema = labels(2);
    let model = chosen(&schema, &[&[1.0, 0.0]]);
    let certificate = certificate(&model, &[rule("label[0]")], &schema, Arithmetic::Float32, vec![Tree::Decode]);
    assert_eq!(deepsade_check::Certificate::from_json(&certificate.to_json()), Ok(certificate));
}

#[test]
fn a_proof_by_choice_needs_a_network_that_chooses() {
    let schema = labels(2);
    let texts = ["label[0] or label[1]"];
    let small = Network { inputs: 3, nodes: vec![dense(2, 3, vec![0.0; 6], vec![1.0; 2], 0)] };
    let plain = reason(&judge(&common::model(&small, &schema), &schema, &texts));
    assert!(plain.ends_with("region root: the model does not choose its outputs"), "{plain}");
    // What the metadata say of a choice proves nothing: the graph's outputs are what is judged.
    for place in ["in-graph", "library"] {
        let mut model = Model::from_own_bytes(&common::model(&small, &schema)).unwrap();
        model.metadata.insert("deepsade.decode".into(), place.into());
        model.metadata.insert("deepsade.decode.sets".into(), "{\"order\":[0],\"nodes\":[[0,0,1]]}".into());
        let said = reason(&judge(&model.to_bytes().unwrap(), &schema, &texts));
        assert!(said.ends_with("region root: the model does not choose its outputs"), "{said}");
    }
}

/// Rows are copied, so what they hold is judged as it is: a label is there iff its number is above 0.
#[test]
fn rows_of_other_numbers_are_judged_exactly() {
    let schema = labels(2);
    let with = |row: &[f32], text| judge(&chosen(&schema, &[row]), &schema, &[text]);
    for (v, there) in [(1e-45, true), (0.5, true), (3e38, true), (0.0, false), (-0.0, false), (-1e-45, false), (-2.0, false)] {
        assert_eq!(accepted(&with(&[v, 1.0], "label[0]")), there, "{v}");
        assert_eq!(accepted(&with(&[v, 1.0], "not label[0]")), !there, "{v}");
    }
}

/// A row of the table is not the score.
#[test]
fn scores_are_not_chosen() {
    let schema = labels(2);
    let model = chosen(&schema, &[&[1.0, 0.0]]);
    for text in ["score(0) <= 1", "score(0) - score(1) <= 1 or label[0]", "label[0] or score(1) >= 0"] {
        for tree in [Tree::Decode, leaf(Bounds::Interval, vec![vec![1]])] {
            let rules = [rule(text)];
            let proof = certificate(&model, &rules, &schema, Arithmetic::Float32, vec![tree]);
            let verdict = claimed(&model, &rules, &schema, &proof.to_json());
            assert!(reason(&verdict).contains("reads raw scores"), "{text}: {verdict:?}");
        }
    }
}

#[test]
fn a_contradiction_has_no_rows_and_no_proof() {
    let schema = labels(1);
    for rows in [&[1.0f32][..], &[0.0]] {
        assert!(reason(&judge(&chosen(&schema, &[rows]), &schema, &["label[0]", "not label[0]"])).contains("row 0"));
    }
}
