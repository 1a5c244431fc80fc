//! A proof about a model proves a rule file's rules only where both speak of the same features, outputs and inputs.

mod common;

use common::{accepted, certificate, dense, leaf, model, rejection, rule};
use deepsade_check::{Arithmetic, Bounds, Tree, Verdict, check};
use deepsade_net::Network;
use deepsade_spec::{Claim, Domain, Feature, Fill, Filled, OneHot, RuleText, Schema, Task};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn levels(of: &[&str]) -> Domain {
    Domain::Category { levels: names(of) }
}

fn schema(task: Task) -> Schema {
    let feature = |name: &str, domain| Feature { name: name.into(), domain };
    Schema {
        features: vec![
            feature("x", Domain::Real { lo: 0.0, hi: 1.0 }),
            feature("n", Domain::Integer { lo: -2, hi: 5 }),
            feature("k", levels(&["p", "q"])),
        ],
        task,
        one_hot: OneHot::Full,
        filled: vec![],
    }
}

/// What is said to a certificate that proves `text` of a model, if the person who wrote the rule meant `stated`.
fn judged(network: &Network, own: &Schema, stated: &Schema, text: &str, tree: Tree) -> Verdict {
    let (bytes, rules) = (model(network, own), [rule(text)]);
    let proof = certificate(&bytes, &rules, own, Arithmetic::Float32, vec![tree]);
    check(&bytes, &Claim { schema: stated.clone(), rules: rules.to_vec() }, &proof.to_json())
}

fn refused(verdict: &Verdict) -> String {
    let (step, reason) = rejection(verdict);
    assert_eq!(step, "claim", "{verdict:?}");
    reason
}

/// Outputs a and b, each in [0, 1].
fn two() -> Network {
    Network { inputs: 4, nodes: vec![dense(2, 4, vec![0.5, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0, 1.0], vec![0.0; 2], 0)] }
}

const ONE: fn() -> Tree = || leaf(Bounds::Interval, vec![vec![1]]);

#[test]
fn the_same_words_are_accepted() {
    let own = schema(Task::regression(names(&["a", "b"])));
    assert!(accepted(&judged(&two(), &own, &own, "a <= 1", ONE())));
}

#[test]
fn a_number_is_not_a_label() {
    // As a label the output need not stay below 1: the rule is another one.
    let network = Network { inputs: 4, nodes: vec![dense(1, 4, vec![1000.0, 0.0, 0.0, 0.0], vec![-500.0], 0)] };
    let own = schema(Task::Multilabel { labels: names(&["dose"]) });
    let text = "0 <= dose <= 1";
    for stated in [
        Task::regression(names(&["dose"])),
        Task::Binary { target: "dose".into(), classes: names(&["0", "1"]) },
        Task::Ranking { items: names(&["dose"]) },
    ] {
        let verdict = judged(&network, &own, &schema(stated), text, leaf(Bounds::Interval, vec![]));
        assert!(refused(&verdict).contains("the model is a multilabel task with the labels dose"));
    }
}

#[test]
fn outputs_keep_their_order_and_names() {
    let own = schema(Task::regression(names(&["a", "b"])));
    for other in [&["b", "a"][..], &["a", "c"], &["a"], &["a", "b", "c"]] {
        let stated = schema(Task::regression(names(other)));
        refused(&judged(&two(), &own, &stated, "a <= 1", ONE()));
    }
    let classes = |of: &[&str]| schema(Task::Binary { target: "y".into(), classes: names(of) });
    let network = Network { inputs: 4, nodes: vec![dense(2, 4, vec![0.0; 8], vec![1.0, 0.0], 0)] };
    let verdict = |stated: &Schema| judged(&network, &classes(&["N", "Y"]), stated, "y == 'N'", ONE());
    assert!(accepted(&verdict(&classes(&["N", "Y"]))));
    assert!(refused(&verdict(&classes(&["Y", "N"]))).contains("classification of y as \"Y\", \"N\""));
    let several = schema(Task::Multiclass { target: "y".into(), classes: names(&["N", "Y"]) });
    refused(&verdict(&several));
}

#[test]
fn the_model_covers_what_is_stated() {
    let own = schema(Task::regression(names(&["a", "b"])));
    let with = |f: usize, domain: Domain| {
        let mut stated = own.clone();
        stated.features[f].domain = domain;
        judged(&two(), &own, &stated, "a <= 1", ONE())
    };
    for (f, domain) in [(0, Domain::Real { lo: 0.25, hi: 0.5 }), (1, Domain::Integer { lo: 0, hi: 0 })] {
        assert!(accepted(&with(f, domain)));
    }
    for (f, domain) in [
        (0, Domain::Real { lo: 0.0, hi: 1.0f32.next_up() }),
        (0, Domain::Real { lo: 0.0f32.next_down(), hi: 1.0 }),
        (0, Domain::Real { lo: f32::NAN, hi: 1.0 }),
        // The same rule would be read otherwise: `x > 0.99999999` is true of 1 where x is whole, and not where it is real.
        (0, Domain::Integer { lo: 0, hi: 1 }),
        (0, Domain::Integer { lo: 0, hi: 2 }),
        (0, levels(&["p", "q"])),
        (1, Domain::Integer { lo: -3, hi: 5 }),
        // Reals between the whole numbers that the model covers.
        (1, Domain::Real { lo: -2.0, hi: 5.0 }),
        (1, Domain::Real { lo: 1.0, hi: 1.0 }),
        (2, levels(&["q", "p"])),
        (2, levels(&["p"])),
        (2, levels(&["p", "q", "r"])),
        (2, Domain::Integer { lo: 0, hi: 1 }),
    ] {
        refused(&with(f, domain.clone()));
    }
}

/// Multiples of a step are those of the model: another step, or none, is another claim.
#[test]
fn a_step_is_the_models_own() {
    let mut own = schema(Task::regression(names(&["a", "b"])));
    let stepped = |lo: f32, hi: f32, step: f32| Domain::Stepped { lo, hi, step };
    let with = |own: &Schema, domain: Domain| {
        let mut stated = own.clone();
        stated.features[0].domain = domain;
        judged(&two(), own, &stated, "a <= 1", ONE())
    };
    refused(&with(&own, stepped(0.0, 1.0, 0.25)));
    own.features[0].domain = stepped(0.0, 1.0, 0.25);
    for inside in [stepped(0.0, 1.0, 0.25), stepped(0.25, 0.5, 0.25)] {
        assert!(accepted(&with(&own, inside)));
    }
    for other in [
        stepped(0.0, 1.25, 0.25),
        stepped(-0.25, 1.0, 0.25),
        stepped(0.0, 1.0, 0.5),
        stepped(0.0, 1.0, 0.125),
        Domain::Real { lo: 0.0, hi: 1.0 },
        Domain::Integer { lo: 0, hi: 1 },
    ] {
        assert!(refused(&with(&own, other)).contains("the model is about multiples of 0.25 from 0 to 1"));
    }
    // A model whose own schema is none proves nothing.
    own.features[0].domain = stepped(0.0, 1.0, 0.3);
    assert!(!accepted(&judged(&two(), &own, &own, "a <= 1", ONE())));
}

#[test]
fn features_are_the_stated_ones_in_their_order() {
    let own = schema(Task::regression(names(&["a", "b"])));
    let with = |change: &dyn Fn(&mut Schema)| {
        let mut stated = own.clone();
        change(&mut stated);
        refused(&judged(&two(), &own, &stated, "a <= 1", ONE()))
    };
    assert!(with(&|s| drop(s.features.remove(1))).contains("the feature \"n\", of which the rule file says nothing"));
    assert!(with(&|s| s.features.clear()).contains("\"x\""));
    assert!(with(&|s| s.features.swap(0, 1)).contains("column 0"));
    assert!(with(&|s| s.features[0].name = "z".into()).contains("no feature \"z\""));
    assert!(with(&|s| s.features.push(s.features[0].clone())).contains("no feature \"x\""));
    assert!(with(&|s| s.one_hot = OneHot::DropFirst).contains("each level but the first"));
    let numbers = |s: &mut Schema| s.features.truncate(2);
    // Without categories there is nothing to encode.
    let (mut a, mut b) = (own.clone(), own.clone());
    numbers(&mut a);
    numbers(&mut b);
    b.one_hot = OneHot::DropFirst;
    let network = Network { inputs: 2, nodes: vec![dense(2, 2, vec![0.0; 4], vec![0.5; 2], 0)] };
    assert!(accepted(&judged(&network, &a, &b, "a <= 1", ONE())));
}

#[test]
fn where_nothing_is_claimed_nothing_is_proved() {
    let own = schema(Task::regression(names(&["a", "b"])));
    let bytes = model(&two(), &own);
    let none: [RuleText; 0] = [];
    let proof = certificate(&bytes, &none, &own, Arithmetic::Float32, vec![]);
    let verdict = check(&bytes, &Claim { schema: own, rules: vec![] }, &proof.to_json());
    assert_eq!(rejection(&verdict), ("rules".into(), "there is no rule: nothing is claimed".into()));
}

#[test]
fn whole_numbers_are_part_of_the_claim() {
    let any = schema(Task::regression(names(&["a", "b"])));
    let whole = schema(Task::Regression { targets: names(&["a", "b"]), whole: names(&["b"]) });
    for (own, stated) in [(&any, &whole), (&whole, &any)] {
        let said = refused(&judged(&two(), own, stated, "a <= 1", ONE()));
        assert!(said.contains("a regression of a, b (b in whole numbers)"), "{said}");
    }
    // Nothing in the weights of a network keeps its outputs whole, not even that they are.
    let constant = Network { inputs: 4, nodes: vec![dense(2, 4, vec![0.0; 8], vec![1.0; 2], 0)] };
    for network in [two(), constant] {
        let (at, why) = rejection(&judged(&network, &whole, &whole, "a <= 1", ONE()));
        assert!(at == "whole" && why.contains("output 1 must be a whole number"), "{at}: {why}");
    }
}

#[test]
fn a_gap_is_read_as_it_is_stated() {
    let filled = |feature: &str, with: Fill, markers: &[&str]| Filled {
        feature: feature.into(),
        with,
        indicator: false,
        markers: names(markers),
    };
    let x = |with: f32, markers: &[&str]| filled("x", Fill::Number(with), markers);
    let with = |filled: Vec<Filled>| Schema { filled, ..schema(Task::regression(names(&["a", "b"]))) };
    let n = filled("n", Fill::Number(1.0), &[]);
    let own = with(vec![x(0.5, &["?", "-9"]), n.clone()]);
    let said = |stated: Vec<Filled>| judged(&two(), &own, &with(stated), "a <= 1", ONE());
    let same = Claim { schema: with(vec![x(0.5, &["-9", "?"]), n.clone()]), rules: vec![] };
    assert!(same.covered_by(&own).is_ok());
    // The feature that is named is the one that differs: another value, other texts that stand for no value, nothing at all.
    for (stated, named) in [
        (vec![x(0.25, &["?", "-9"]), n.clone()], "where \"x\" has no value, the rule file reads 0.25 (also for \"?\", \"-9\")"),
        (vec![x(0.5, &["?"]), n.clone()], "where \"x\" has no value, the rule file reads 0.5 (also for \"?\")"),
        (vec![n.clone()], "where \"x\" has no value, the rule file reads nothing"),
        (vec![x(0.5, &["?", "-9"])], "where \"n\" has no value, the rule file reads nothing"),
    ] {
        let reason = refused(&said(stated));
        assert!(reason.contains(named), "{reason}");
    }
}
