//! A problem of the last layer enters; SMT-LIB 2 text leaves that z3 and cvc5 read.
//!
//! `w_J_K` is the weight from input K to output J, `b_J` the bias of output J, `s_I` says that soft constraint I holds. With
//! quantifiers eliminated `|q|` becomes a variable `t >= q, t >= -q`, so that everything is linear; kept, K' is a `forall` over
//! `v_K`, what the last layer reads, and the products make it non-linear real arithmetic, as in the paper.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::problem::{Clause, LatentBox, LayerAtom, LayerForm, LayerRow, MaxSmtProblem, Soft};

/// What becomes of "for every input" in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantifiers {
    /// It stays, as in the paper: non-linear real arithmetic with quantifiers.
    Keep,
    /// The largest value over the box is written out: linear real arithmetic.
    #[default]
    Eliminate,
}

/// Names for people, in comments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    /// One for each output.
    pub outputs: Vec<String>,
    /// One for each input of the last layer.
    pub inputs: Vec<String>,
}

/// The name of an unknown.
pub fn unknown(problem: &MaxSmtProblem, k: usize) -> String {
    let weights = problem.inputs * problem.outputs;
    if k < weights { format!("w_{}_{}", k / problem.inputs, k % problem.inputs) } else { format!("b_{}", k - weights) }
}

/// Logic, unknowns, their box and K'.
pub fn preamble(problem: &MaxSmtProblem, quantifiers: Quantifiers, labels: &Labels) -> String {
    let mut out = String::from("(set-option :produce-models true)\n(set-option :produce-unsat-assumptions true)\n");
    let logic = match quantifiers {
        Quantifiers::Keep => "NRA",
        Quantifiers::Eliminate => "QF_LRA",
    };
    let _ = writeln!(out, "(set-logic {logic})");
    for (j, name) in labels.outputs.iter().enumerate() {
        let _ = writeln!(out, "; output {j}: {}", one_line(name));
    }
    for (k, name) in labels.inputs.iter().enumerate() {
        let _ = writeln!(out, "; input {k} of the last layer: {}", one_line(name));
    }
    for k in 0..problem.unknowns() {
        let name = unknown(problem, k);
        let _ = writeln!(out, "(declare-const {name} Real)");
        let (lo, hi) = (problem.lo[k], problem.hi[k]);
        if lo == hi {
            let _ = writeln!(out, "(assert (= {name} {}))", number(lo));
        } else {
            if lo.is_finite() {
                let _ = writeln!(out, "(assert (>= {name} {}))", number(lo));
            }
            if hi.is_finite() {
                let _ = writeln!(out, "(assert (<= {name} {}))", number(hi));
            }
        }
    }
    for (c, clause) in problem.hard.iter().enumerate() {
        let _ = writeln!(out, "; K', case {c}: of the rule {}", one_line(&clause.rule));
        match quantifiers {
            Quantifiers::Keep => keep(problem, clause, &mut out),
            Quantifiers::Eliminate => eliminate(problem, c, clause, &mut out),
        }
    }
    out
}

/// `s_I` and what it means.
pub fn soft(problem: &MaxSmtProblem, i: usize, soft: &Soft) -> String {
    let rows: Vec<String> = soft.rows.iter().map(|row| format!("(>= {} 0.0)", affine(problem, row))).collect();
    format!("(declare-const s_{i} Bool)\n(assert (=> s_{i} {}))\n", joined("and", &rows))
}

/// A number as SMT-LIB writes it: the shortest decimal that is read back as the same float.
pub fn number(x: f64) -> String {
    let mut text = format!("{}", x.abs());
    if !text.contains('.') {
        text.push_str(".0");
    }
    if x < 0.0 { format!("(- {text})") } else { text }
}

/// `(op a b)`; the part itself if there is only one.
pub fn joined(op: &str, parts: &[String]) -> String {
    if let [one] = parts { one.clone() } else { format!("({op} {})", parts.join(" ")) }
}

fn one_line(text: &str) -> String {
    deepsade_spec::shown::name(text).into_owned()
}

fn sum(mut terms: Vec<String>, constant: f64) -> String {
    if constant != 0.0 || terms.is_empty() {
        terms.push(number(constant));
    }
    joined("+", &terms)
}

fn times(factor: f64, name: &str) -> String {
    if factor == 1.0 { name.into() } else { format!("(* {} {name})", number(factor)) }
}

fn affine(problem: &MaxSmtProblem, row: &LayerRow) -> String {
    sum(row.a.iter().map(|(k, a)| times(*a, &unknown(problem, *k))).collect(), row.c)
}

/// K' for one cell with `sum_k m_k q_k + r_k |q_k| + ... <= 0` for each choice of multipliers, of which one must hold.
fn eliminate(problem: &MaxSmtProblem, c: usize, clause: &Clause, out: &mut String) {
    let latent = &problem.boxes[clause.latent];
    let mut choices = Vec::new();
    for (h, choice) in clause.choices.iter().enumerate() {
        let forms = choice.iter().enumerate().map(|(f, form)| support(form, latent, &format!("{c}_{h}_{f}"), out));
        let forms: Vec<String> = forms.collect();
        choices.push(joined("and", &forms));
    }
    let _ = writeln!(out, "(assert {})", joined("or", &choices));
}

fn support(form: &LayerForm, latent: &LatentBox, place: &str, out: &mut String) -> String {
    let mut terms = Vec::new();
    let mut constant = form.constant;
    for (k, (m, r)) in latent.m.iter().zip(&latent.r).enumerate() {
        let own = form.c.iter().filter(|(at, _)| *at == k).map(|(_, c)| c).sum::<f64>();
        if form.alpha.is_empty() {
            constant += own * m + own.abs() * r;
            continue;
        }
        let q = sum(form.alpha.iter().map(|(j, alpha)| times(*alpha, &format!("w_{j}_{k}"))).collect(), own);
        if *m != 0.0 {
            terms.push(format!("(* {} {q})", number(*m)));
        }
        if *r > 0.0 {
            let t = format!("t_{place}_{k}");
            let _ = writeln!(out, "(declare-const {t} Real)\n(assert (>= {t} {q}))\n(assert (>= {t} (- {q})))");
            terms.push(format!("(* {} {t})", number(*r)));
        }
    }
    terms.extend(form.alpha.iter().map(|(j, alpha)| times(*alpha, &format!("b_{j}"))));
    format!("(<= {} 0.0)", sum(terms, constant))
}

/// K' for one cell as it stands: for every v of the box (and every factor g of the gate) some atom is at most 0.
fn keep(problem: &MaxSmtProblem, clause: &Clause, out: &mut String) {
    let latent = &problem.boxes[clause.latent];
    let gated = clause.gate.0 != clause.gate.1;
    let mut variables = Vec::new();
    let mut bounds = Vec::new();
    let mut quantify = |name: &str, lo: f64, hi: f64| {
        variables.push(format!("({name} Real)"));
        bounds.push(format!("(>= {name} {})", number(lo)));
        bounds.push(format!("(<= {name} {})", number(hi)));
    };
    for (k, (m, r)) in latent.m.iter().zip(&latent.r).enumerate().filter(|(_, (_, r))| **r > 0.0) {
        quantify(&format!("v_{k}"), m - r, m + r);
    }
    if gated {
        quantify("g", clause.gate.0, clause.gate.1);
    }
    let atoms: Vec<String> = clause.atoms.iter().map(|atom| at_most_zero(problem, atom, latent, clause.gate)).collect();
    let some = joined("or", &atoms);
    if variables.is_empty() {
        let _ = writeln!(out, "(assert {some})");
    } else {
        let _ = writeln!(out, "(assert (forall ({}) (=> {} {some})))", variables.join(" "), joined("and", &bounds));
    }
}

fn at_most_zero(problem: &MaxSmtProblem, atom: &LayerAtom, latent: &LatentBox, gate: (f64, f64)) -> String {
    let v = |k: usize| if latent.r[k] > 0.0 { format!("v_{k}") } else { number(latent.m[k]) };
    let mut outputs = Vec::new();
    for (j, alpha) in &atom.form.alpha {
        let products = (0..problem.inputs).filter(|k| latent.r[*k] > 0.0 || latent.m[*k] != 0.0);
        let terms = products.map(|k| format!("(* w_{j}_{k} {})", v(k))).chain([format!("b_{j}")]).collect();
        outputs.push(times(*alpha, &sum(terms, 0.0)));
    }
    let mut terms = Vec::new();
    if !outputs.is_empty() {
        let y = joined("+", &outputs);
        terms.push(if gate.0 == gate.1 { times(gate.0, &y) } else { format!("(* g {y})") });
    }
    terms.extend(atom.form.c.iter().map(|(k, c)| times(*c, &v(*k))));
    let mut constant = atom.form.constant;
    if atom.gate != 0.0 {
        if gate.0 == gate.1 { constant += atom.gate * gate.0 } else { terms.push(times(atom.gate, "g")) }
    }
    format!("(<= {} 0.0)", sum(terms, constant))
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_plain_decimals() {
        assert_eq!(number(3.0), "3.0");
        assert_eq!(number(-0.1), "(- 0.1)");
        assert_eq!(number(1e-7), "0.0000001");
        assert_eq!(number(2e17), "200000000000000000.0");
    }
}
