//! The example of docs/certificate-format.md is a certificate, and a good one.

mod common;

use common::{claimed, dense, model};
use deepsade_check::{Certificate, Verdict, sha256_hex};
use deepsade_net::Network;
use deepsade_spec::canonical::canonical;
use deepsade_spec::{Domain, Feature, OneHot, RuleText, Schema, Task, compile};

#[test]
fn the_example_is_accepted() {
    let schema = Schema {
        features: vec![
            Feature { name: "x".into(), domain: Domain::Real { lo: 0.0, hi: 1.0 } },
            Feature { name: "k".into(), domain: Domain::Category { levels: vec!["p".into(), "q".into()] } },
        ],
        task: Task::regression(vec!["a".into()]),
        one_hot: OneHot::Full,
        filled: vec![],
    };
    let network = Network { inputs: 3, nodes: vec![dense(1, 3, vec![0.25, 0.5, 0.0], vec![0.0], 0)] };
    let rules = [("limit", "a <= 0.8"), ("small where p", "k == 'p' => a >= 0.4")]
        .map(|(name, text)| RuleText { name: name.into(), text: text.into() });
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/certificate-format.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, rest) = page.split_once("```json\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let bytes = model(&network, &schema);
    let spec = compile(&rules, &schema).unwrap();
    let text = example.replace("MODEL", &sha256_hex(&bytes)).replace("RULES", &sha256_hex(canonical(&spec).as_bytes()));
    let Verdict::Accepted(proof) = claimed(&bytes, &rules, &schema, &text) else {
        panic!("{:?}", claimed(&bytes, &rules, &schema, &text))
    };
    assert_eq!(
        proof.rules.iter().map(|r| (r.name.as_str(), r.regions, r.cells)).collect::<Vec<_>>(),
        [("limit", 3, 3), ("small where p", 1, 1)]
    );
    let certificate = Certificate::from_json(&text).unwrap();
    assert_eq!(Certificate::from_json(&certificate.to_json()), Ok(certificate));
}
