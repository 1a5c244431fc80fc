//! Any certificate for rules that are false: rejected, whatever it says. Text, or a tree made of the bytes, with the right hashes.
#![no_main]

use std::sync::LazyLock;

use deepsade_check::{Arithmetic, Bounds, Certificate, Lines, RuleProof, Tree, Verdict, check, sha256_hex};
use deepsade_engine::artifact;
use deepsade_fuzz::{Bytes, Falsehood, falsehoods};
use deepsade_spec::{Claim, Cut, canonical::canonical};
use libfuzzer_sys::fuzz_target;

struct Case {
    model: Vec<u8>,
    hashes: (String, String),
    claim: Claim,
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let case = |Falsehood { network, spec, rules }| {
        let model = artifact::model(&spec, network).and_then(|m| Ok(m.to_bytes()?)).expect("the network is one");
        let hashes = (sha256_hex(&model), sha256_hex(canonical(&spec).as_bytes()));
        Case { model, hashes, claim: Claim { schema: spec.schema, rules } }
    };
    falsehoods().into_iter().map(case).collect()
});

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = Bytes(bytes);
    let case = &CASES[bytes.below(CASES.len())];
    let certificate = match std::str::from_utf8(bytes.0) {
        Ok(text) if text.starts_with('{') => {
            reject(case, text);
            match Certificate::from_json(text) {
                Ok(certificate) => certificate,
                Err(_) => return,
            }
        }
        _ => {
            let arithmetic = if bytes.below(4) == 0 { Arithmetic::Real } else { Arithmetic::Float32 };
            let rules = vec![RuleProof { name: case.claim.rules[0].name.clone(), tree: tree(&mut bytes, 0) }];
            Certificate {
                model_sha256: String::new(),
                rules_sha256: String::new(),
                arithmetic,
                rules,
                pairs: vec![],
                step: None,
                clips: None,
            }
        }
    };
    let (model_sha256, rules_sha256) = case.hashes.clone();
    let text = Certificate { model_sha256, rules_sha256, ..certificate }.to_json();
    reject(case, &text);
});

fn reject(case: &Case, certificate: &str) {
    if let Verdict::Accepted(_) = check(&case.model, &case.claim, certificate) {
        panic!("the false rule {} is accepted by {certificate}", case.claim.rules[0].text);
    }
}

/// Features, nodes and units near those that there are.
fn tree(bytes: &mut Bytes, depth: usize) -> Tree {
    let kind = if depth < 6 { bytes.below(8) } else { 7 };
    match kind {
        0 | 1 => {
            let feature = bytes.below(3);
            let cut = match bytes.below(4) {
                0 => Cut::Levels((0..bytes.below(4)).map(|_| bytes.below(3)).collect()),
                _ => Cut::At(bytes.float()),
            };
            let (below, above) = (tree(bytes, depth + 1), tree(bytes, depth + 1));
            Tree::Split { feature, cut, below: below.into(), above: above.into() }
        }
        2 | 3 => {
            let (node, unit) = (bytes.below(4), bytes.below(3));
            let (below, above) = (tree(bytes, depth + 1), tree(bytes, depth + 1));
            Tree::Unit { node, unit, below: below.into(), above: above.into() }
        }
        4 => Tree::Decode,
        _ => {
            let bounds = [Bounds::Interval, Bounds::Relational, Bounds::Inherited][bytes.below(3)];
            let cells = (0..bytes.below(5)).map(|_| (0..bytes.below(5)).map(|_| bytes.word()).collect()).collect();
            let lines = (0..bytes.below(4)).map(|_| lines(bytes, depth)).collect();
            Tree::Leaf { bounds, cells, lines }
        }
    }
}

fn lines(bytes: &mut Bytes, depth: usize) -> Lines {
    let signs = (0..bytes.below(depth + 2)).map(|_| bytes.float()).collect();
    let slopes = (0..bytes.below(4)).map(|_| [bytes.below(4), bytes.below(3), 2 * usize::from(bytes.byte())]).collect();
    Lines { signs, slopes }
}
