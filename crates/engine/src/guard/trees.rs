//! The multipliers of a guard enter; a proof of each rule leaves, for the certificate.

use deepsade_check::Tree;
use deepsade_spec::Cut;

use super::Guard;
use super::cell::Term;
use crate::rounding::whole;

/// Binary digits of a multiplier in a certificate.
const BITS: u32 = 20;

/// A tree of regions with the cells of each leaf.
#[derive(Debug, Clone)]
pub(super) enum Regions {
    Split { feature: usize, cut: Cut, below: Box<Regions>, above: Box<Regions> },
    Leaf(Vec<usize>),
}

impl Guard {
    /// The multipliers as a proof of each rule: each cell's as whole numbers, of the atoms as the rules have them.
    pub fn trees(&self) -> Vec<Tree> {
        self.trees.iter().map(|regions| self.tree(regions)).collect()
    }

    fn tree(&self, regions: &Regions) -> Tree {
        match regions {
            Regions::Split { feature, cut, below, above } => Tree::Split {
                feature: *feature,
                cut: cut.clone(),
                below: Box::new(self.tree(below)),
                above: Box::new(self.tree(above)),
            },
            Regions::Leaf(cells) => {
                let multipliers = |k: &usize| {
                    let cell = &self.cells[*k];
                    let least = cell.atoms.iter().map(|atom| atom.power).min().unwrap_or(0);
                    let beside = |atom: &Term| 2f64.powi((least - atom.power).max(-2000) as i32);
                    let own = |(l, atom): (&f64, &Term)| l / atom.unit * beside(atom);
                    let raw: Vec<f64> = cell.lambda().iter().zip(&cell.atoms).map(own).collect();
                    whole(&raw, BITS).0
                };
                Tree::Leaf { bounds: self.kind, cells: cells.iter().map(multipliers).collect(), lines: Vec::new() }
            }
        }
    }
}
