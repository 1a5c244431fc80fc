//! K' for the hidden layers as they are: as a test of one last layer, and as the hard part of a problem of the last layer.

use deepsade_solve::maxsmt::MaxSmtProblem;
use deepsade_solve::maxsmt::problem::{Clause, LatentBox, LayerAtom, LayerForm};

use deepsade_spec::{Region, Schema};

use super::cell::{Cell, Term};
use super::{Guard, GuardError, multiplier};

/// The margin in the hard part, as a multiple of the guard's own: rounding the weights to float32 must not use it up.
const MARGIN: f64 = 1.5;

impl Guard {
    /// Bounds the hidden units over the whole domain for every rule, as the paper does, not over the inputs that its condition leaves.
    pub fn over_whole_latent_box(&mut self, schema: &Schema) -> Result<(), GuardError> {
        let whole = Region::domain(schema).map_err(GuardError::Domain)?;
        self.bounds.widen(schema, &whole);
        Ok(())
    }

    /// For rules about the presence of labels, which a last layer keeps at any size: the safe layer with entries of at most `size`. False,
    /// and nothing is changed, for other rules.
    pub fn start_small(&mut self, parameters: &mut [f32], size: f64) -> bool {
        let about_labels = |atom: &Term| atom.a.len() == 1 && atom.c.is_empty() && atom.d == 0.0 && atom.gate == 0.0;
        let labels = self.cells.iter().flat_map(|cell| cell.atoms.iter().filter(|atom| !atom.a.is_empty())).all(about_labels);
        let safe = self.safe();
        let most = safe.iter().fold(0.0f64, |most, w| most.max(f64::from(w.abs())));
        if !labels || self.cells.is_empty() || most <= 0.0 {
            return false;
        }
        let start = parameters.len() - safe.len();
        let before = parameters[start..].to_vec();
        parameters[start..].iter_mut().zip(&safe).for_each(|(w, s)| *w = (f64::from(*s) * size / most) as f32);
        self.bounds.update(parameters);
        let holds = self.holds(parameters);
        if !holds {
            parameters[start..].copy_from_slice(&before);
        }
        holds
    }

    /// Whether the data favour clauses that hold the rules: a piece of K' that was decided on.
    pub fn favours_clauses(&self) -> bool {
        self.cells.iter().any(|cell| cell.favoured.is_some())
    }

    /// `TranslateDomainConstraint` of the paper: the boxes of what the last layer reads, for these parameters.
    pub fn translate(&mut self, parameters: &[f32]) {
        self.bounds.update(parameters);
    }

    /// Whether the last layer, at the end of the parameters, satisfies K' as it was last translated. A cell that is held by a clause
    /// which the data favour is held by others only where it may `jump`.
    pub fn satisfied(&mut self, parameters: &mut [f32], jump: bool) -> bool {
        let layer = Self::layer(parameters, self.inputs, self.outputs);
        self.cells.iter_mut().all(|cell| {
            let v = self.bounds.last_input(cell.region);
            cell.read(&layer, v, &mut self.scratch);
            if cell.slack(v, self.margin, &self.scratch).excess <= 0.0 {
                return true;
            }
            if !cell.has_choice() || (!jump && cell.favoured.is_some()) {
                return false;
            }
            let before = cell.lambda().to_vec();
            let empty = multiplier::improve(cell, &layer, v, self.margin, 0.0, &mut self.scratch).excess <= 0.0;
            if !empty {
                cell.weigh(&before);
            }
            empty
        })
    }

    /// K' and a box for the last layer, without soft constraints.
    pub fn problem(&self, lo: Vec<f64>, hi: Vec<f64>) -> MaxSmtProblem {
        let regions = self.cells.iter().map(|c| c.region + 1).max().unwrap_or(0);
        let latent = |r: usize| {
            let v = self.bounds.last_input(r);
            LatentBox { m: v.m.iter().map(|x| f64::from(*x)).collect(), r: v.r.iter().map(|x| f64::from(*x)).collect() }
        };
        let boxes: Vec<LatentBox> = (0..regions).map(latent).collect();
        let sizes: Vec<Vec<f64>> = boxes.iter().map(|latent| self.output_sizes(latent, &lo, &hi)).collect();
        let hard =
            self.cells.iter().map(|cell| self.clause(cell, &boxes[cell.region], &sizes[cell.region], (&lo, &hi))).collect();
        MaxSmtProblem { inputs: self.inputs, outputs: self.outputs, lo, hi, hard, boxes, soft: Vec::new(), start: None }
    }

    /// For each output the most that its terms can add up to, signs aside.
    fn output_sizes(&self, latent: &LatentBox, lo: &[f64], hi: &[f64]) -> Vec<f64> {
        let most = |k: usize| lo[k].abs().max(hi[k].abs());
        let output = |j: usize| {
            let weights = (0..self.inputs).map(|k| most(j * self.inputs + k) * (latent.m[k].abs() + latent.r[k]));
            weights.sum::<f64>() + most(self.outputs * self.inputs + j)
        };
        (0..self.outputs).map(output).collect()
    }

    /// The pieces of K' that lie in the box: each a choice of multipliers.
    fn clause(&self, cell: &Cell, latent: &LatentBox, sizes: &[f64], (lo, hi): (&[f64], &[f64])) -> Clause {
        let free: Vec<usize> = (0..cell.atoms.len()).filter(|i| cell.atoms[*i].free).collect();
        let alone = |i: usize| (0..cell.atoms.len()).map(|k| f64::from(u8::from(k == i))).collect::<Vec<f64>>();
        // The multipliers at hand first: a search that tries choices in order tries them first.
        let mut multipliers = vec![cell.lambda().to_vec()];
        for other in cell.favoured.iter().cloned().chain(free.iter().map(|i| alone(*i))) {
            if !multipliers.contains(&other) {
                multipliers.push(other);
            }
        }
        let forms = |l: &Vec<f64>| cell.rho.iter().map(|rho| self.form(cell, l, *rho, latent, sizes)).collect();
        let mut choices: Vec<Vec<LayerForm>> = multipliers.iter().map(forms).collect();
        let inside = |forms: &Vec<LayerForm>| forms.iter().all(|f| f.least(lo, hi, self.inputs, self.outputs, latent) <= 0.0);
        if choices.iter().any(inside) {
            choices.retain(inside);
        } else {
            choices.truncate(1);
        }
        let (first, last) = (cell.rho.first().copied().unwrap_or(1.0), cell.rho.last().copied().unwrap_or(1.0));
        let atom = |i: &usize| {
            let term = &cell.atoms[*i];
            let margin = self.rounding(&[(term, 1.0)], last, latent, sizes);
            let form = LayerForm { alpha: term.a.clone(), c: term.c.clone(), constant: term.d + margin };
            LayerAtom { form, gate: term.gate }
        };
        Clause {
            rule: self.rules[cell.rule.min(self.rules.len() - 1)].clone(),
            latent: cell.region,
            choices,
            atoms: free.iter().map(atom).collect(),
            gate: (first, last),
        }
    }

    /// The weighted sum of the atoms at one value of the gate.
    fn form(&self, cell: &Cell, lambda: &[f64], rho: f64, latent: &LatentBox, sizes: &[f64]) -> LayerForm {
        let used: Vec<(&Term, f64)> = cell.atoms.iter().zip(lambda.iter().copied()).filter(|(_, l)| *l > 0.0).collect();
        let mut alpha = vec![0.0; self.outputs];
        let mut c = vec![0.0; self.inputs];
        let mut constant = self.rounding(&used, rho, latent, sizes);
        for (term, l) in &used {
            term.a.iter().for_each(|(j, a)| alpha[*j] += l * rho * a);
            term.c.iter().for_each(|(k, v)| c[*k] += l * v);
            constant += l * (term.d + rho * term.gate);
        }
        let sparse = |dense: Vec<f64>| dense.into_iter().enumerate().filter(|(_, v)| *v != 0.0).collect();
        LayerForm { alpha: sparse(alpha), c: sparse(c), constant }
    }

    /// What the rounding of a weighted sum of atoms may be, for any last layer of the box.
    fn rounding(&self, terms: &[(&Term, f64)], rho: f64, latent: &LatentBox, sizes: &[f64]) -> f64 {
        let term = |(term, l): &(&Term, f64)| {
            let outputs = term.a.iter().map(|(j, a)| a.abs() * sizes[*j]).sum::<f64>();
            let inputs = term.c.iter().map(|(k, c)| c.abs() * (latent.m[*k].abs() + latent.r[*k])).sum::<f64>();
            l * (rho * outputs + inputs + term.d.abs() + (rho * term.gate).abs())
        };
        MARGIN * self.margin.relative * terms.iter().map(term).sum::<f64>() + 1e-30
    }
}
