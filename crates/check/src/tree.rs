//! The negation of a rule, a region and a tree enter; that every leaf refutes every cell leaves, or the first that does not.
//!
//! Leaves are judged on several threads. What is said of a leaf depends on the way from the root to it and on nothing else, so what is
//! proved, the margin and the first leaf that fails are the same whatever the number of threads.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::thread;

use deepsade_net::Matrix;
use deepsade_spec::cells::cells;
use deepsade_spec::{Formula, Region};

use crate::cell::{Leaf, Refuter};
use crate::certificate::Tree;
use crate::decode;
use crate::machine::{Machine, Sign};
use crate::rejected::{Misfit, Rejected, Step, Why};

/// Atoms in one cell: far above what is used, far below what exhausts a stack or gamma(k).
pub const MAX_ATOMS: usize = 1024;
/// Leaves that one thread judges sooner than two.
const FEW: usize = 16;

/// One rule that was proved.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvedRule {
    /// Its name.
    pub name: String,
    /// Leaves of its tree.
    pub regions: usize,
    /// Cells that were refuted by multipliers, over all leaves.
    pub cells: usize,
    /// The smallest distance to a violation: by how much the weighted mean of a cell's atoms stays below zero, rounded down;
    /// infinite where no cell was left to refute.
    pub margin: f64,
}

impl ProvedRule {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.into(), regions: 0, cells: 0, margin: f64::INFINITY }
    }
}

/// On how many threads trees are judged, and when that ends early.
#[derive(Clone, Copy)]
pub(crate) struct CheckThreads<'w> {
    pub(crate) threads: usize,
    pub(crate) stop: &'w (dyn Fn() -> bool + Sync),
}

/// What judges the trees of a network's rules.
pub(crate) struct TreeChecker<'n> {
    pub(crate) refuter: Refuter<'n>,
    pub(crate) table: Option<&'n Matrix>,
    pub(crate) watch: CheckThreads<'n>,
}

/// A part of a tree and the way to it: the regions from the root on, the signs that are known there, and the sides taken.
#[derive(Clone)]
struct PlacedTree<'t> {
    tree: &'t Tree,
    regions: Vec<Arc<Region>>,
    signs: Vec<Sign>,
    path: Vec<bool>,
    /// Why it has no leaves.
    failed: Option<Why>,
}

impl PlacedTree<'_> {
    /// Appends its leaves, from the first side to the last. They cover its region and all evaluations on it: both sides of a split
    /// together are the region, and a computed number is at most 0 or at least 0.
    fn leaves(mut self, machine: &Machine, all: &mut Vec<Self>) {
        match self.sides(machine) {
            Ok(Some(sides)) => return sides.into_iter().for_each(|side| side.leaves(machine, all)),
            Ok(None) => {}
            Err(why) => self.failed = Some(why),
        }
        all.push(self);
    }

    fn sides(&self, machine: &Machine) -> Result<Option<[Self; 2]>, Why> {
        let (Tree::Split { below, above, .. } | Tree::Unit { below, above, .. }) = self.tree else { return Ok(None) };
        let mut sides = [(below, false), (above, true)].map(|(tree, above)| {
            let mut side = Self { tree, ..self.clone() };
            side.path.push(above);
            side
        });
        if let Tree::Split { feature, cut, .. } = self.tree {
            let parts = self.regions[self.regions.len() - 1].split(*feature, cut)?;
            sides.iter_mut().zip(parts).for_each(|(side, part)| side.regions.push(Arc::new(part)));
        }
        if let Tree::Unit { node, unit, .. } = self.tree {
            for (side, above) in sides.iter_mut().zip([false, true]) {
                side.signs.push(machine.sign(*node, *unit, above)?);
            }
        }
        Ok(Some(sides))
    }
}

impl TreeChecker<'_> {
    /// Refutes the negation of a rule on a region, or says where it was not.
    pub(crate) fn rule(
        &mut self,
        rule: usize,
        name: &str,
        negation: &Formula,
        tree: &Tree,
        region: &Region,
        done: &mut ProvedRule,
    ) -> Result<(), Rejected> {
        let (regions, mut leaves) = (vec![Arc::new(region.clone())], Vec::new());
        let root = PlacedTree { tree, regions, signs: Vec::new(), path: Vec::new(), failed: None };
        root.leaves(&self.refuter.machine, &mut leaves);
        let (table, stop) = (self.table, self.watch.stop);
        let run = |refuter: &mut Refuter, leaves: &[PlacedTree]| {
            let (mut done, mut last) = (ProvedRule::new(""), &[][..]);
            for place in leaves {
                // Bounds of regions that this leaf does not lie in are not needed again, nor those of another rule's.
                let above = place.regions.iter().zip(last);
                refuter.leave(above.take_while(|(a, b)| Arc::ptr_eq(a, b)).count());
                last = &place.regions;
                let at = |cell| Step::Rule { rule, name: name.into(), path: place.path.clone(), cell };
                let judged = refute(refuter, negation, place, table, stop, &mut done);
                judged.map_err(|(cell, why)| Rejected { at: at(cell), why })?;
            }
            Ok(done)
        };
        // Neighbours share the bounds of the regions above them: each thread has a part in one piece.
        let (own, rest) = leaves.split_at(leaves.len().div_ceil(self.watch.threads.max(1)).max(FEW).min(leaves.len()));
        let others: Vec<_> = rest.chunks(own.len()).map(|part| (self.refuter.another(), part)).collect();
        let results = thread::scope(|scope| {
            let started = others.into_iter().map(|(mut own, part)| scope.spawn(move || run(&mut own, part)));
            let others: Vec<_> = started.collect();
            let own = run(&mut self.refuter, own);
            let joined = others.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            [own].into_iter().chain(joined).collect::<Vec<_>>()
        });
        for part in results {
            let part = part?;
            done.regions += part.regions;
            done.cells += part.cells;
            done.margin = done.margin.min(part.margin);
        }
        Ok(())
    }
}

/// Refutes every cell of a rule's negation on a leaf: the cells cover the negation.
fn refute(
    refuter: &mut Refuter,
    negation: &Formula,
    place: &PlacedTree,
    table: Option<&Matrix>,
    stop: &dyn Fn() -> bool,
    done: &mut ProvedRule,
) -> Result<(), (Option<usize>, Why)> {
    let plain = |why: Misfit| (None, Why::from(why));
    if let Some(why) = &place.failed {
        return Err((None, why.clone()));
    }
    done.regions += 1;
    let (bounds, lists, lines) = match place.tree {
        Tree::Leaf { bounds, cells, lines } => (*bounds, cells, lines),
        Tree::Decode => {
            let table = table.ok_or_else(|| plain(Misfit::NoChoice))?;
            done.cells += decode::obey(table, &negation.negated()).map_err(plain)?;
            return Ok(());
        }
        _ => return Err(plain(Misfit::NoStep)),
    };
    if !lines.is_empty() && lines.len() != lists.len() {
        return Err(plain(Misfit::Lines { found: lines.len(), lists: lists.len() }));
    }
    if negation.longest_cell() > MAX_ATOMS {
        return Err(plain(Misfit::LongCell(MAX_ATOMS)));
    }
    let (mut lists, mut lines, mut index) = (lists.iter(), lines.iter(), 0);
    let result = cells(negation, &mut |atoms| {
        let leaf = Leaf { regions: &place.regions, bounds, signs: &place.signs, cell: index };
        if !refuter.leaves_nothing(&leaf, atoms) {
            if stop() {
                return ControlFlow::Break((Some(index), Why::Stopped));
            }
            let list = lists.next().ok_or(Why::Misfit(Misfit::NoMultipliers));
            match list.and_then(|list| refuter.cell(atoms, list, &leaf, lines.next())) {
                Ok(margin) => done.margin = done.margin.min(margin),
                Err(why) => return ControlFlow::Break((Some(index), why)),
            }
            done.cells += 1;
        }
        index += 1;
        ControlFlow::Continue(())
    });
    match result {
        ControlFlow::Break(failed) => Err(failed),
        ControlFlow::Continue(()) if lists.len() > 0 => Err(plain(Misfit::TooManyMultipliers(lists.len()))),
        ControlFlow::Continue(()) => Ok(()),
    }
}
