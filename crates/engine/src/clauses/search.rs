//! Sets of literals that must each contain a clause enter, with rows; disjoint clauses leave, of all such the ones that most rows obey.
//!
//! A rule is broken where every literal of one of its cells fails. So clauses imply it iff each cell contains one of them. A larger
//! clause is obeyed by more rows and contained in fewer cells. Labels are dealt out to clauses by a local search first, then, where there
//! are few enough, by a branch and bound that starts from its result and is exact if it comes to an end.

use deepsade_solve::irreducible::irreducible;

/// Labels up to which all ways to deal them out are searched.
pub const MOST_EXACT: usize = 20;
/// Rows and cells that the branch and bound looks at in all, each once for a clause; the same for the local search.
const WORK: usize = 40_000_000;

/// A set of literals: labels that are present, and labels that are absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, PartialOrd, Ord)]
pub struct Literals {
    pub present: u128,
    pub absent: u128,
}

impl Literals {
    pub fn one(label: usize, present: bool) -> Self {
        let bit = 1 << label;
        if present { Self { present: bit, absent: 0 } } else { Self { present: 0, absent: bit } }
    }

    pub fn and(self, other: Self) -> Self {
        Self { present: self.present | other.present, absent: self.absent | other.absent }
    }

    pub fn without(self, other: Self) -> Self {
        Self { present: self.present & !other.present, absent: self.absent & !other.absent }
    }

    pub fn is_within(self, other: Self) -> bool {
        self.present & !other.present == 0 && self.absent & !other.absent == 0
    }

    fn speaks_of(self, label: usize) -> bool {
        (self.present | self.absent) >> label & 1 == 1
    }

    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    pub fn count(self) -> u32 {
        self.present.count_ones() + self.absent.count_ones()
    }

    /// Its literals in the order of the labels.
    pub fn each(self) -> impl Iterator<Item = (usize, bool)> {
        let all = (0..128usize).filter(move |label| self.speaks_of(*label));
        all.flat_map(move |label| {
            let has = move |mask: u128| mask >> label & 1 == 1;
            [true, false]
                .into_iter()
                .filter(move |sign| has(if *sign { self.present } else { self.absent }))
                .map(move |s| (label, s))
        })
    }

    /// Whether a row with these labels obeys it as a clause: some literal holds.
    pub fn obeyed_by(self, labels: u128) -> bool {
        self.true_in(labels) > 0
    }

    fn true_in(self, labels: u128) -> u32 {
        (self.present & labels).count_ones() + (self.absent & !labels).count_ones()
    }
}

/// Rows with the same labels, and what they count together.
pub type CountedRow = (u128, f64);

/// What is dealt out.
pub struct Deal<'a> {
    /// Each must contain a clause; none contains another.
    cells: Vec<Literals>,
    rows: &'a [CountedRow],
    /// All literals of the cells.
    literals: Literals,
}

/// Clauses, what the rows that obey all of them count, and whether nothing better is possible.
#[derive(Debug, Clone, PartialEq)]
pub struct DealtClauses {
    pub clauses: Vec<Literals>,
    pub obeying: f64,
    pub exact: bool,
}

impl DealtClauses {
    /// More rows; of equals fewer clauses, then weaker ones.
    fn better_than(&self, other: &Self) -> bool {
        let size = |d: &Self| (d.clauses.len(), u32::MAX - d.clauses.iter().map(|c| c.count()).sum::<u32>());
        self.obeying > other.obeying + SAME || self.obeying > other.obeying - SAME && size(self) < size(other)
    }
}

/// Weights of rows that differ by less are the same.
const SAME: f64 = 1e-9;

impl<'a> Deal<'a> {
    pub fn new(mut cells: Vec<Literals>, rows: &'a [CountedRow]) -> Self {
        cells.sort_unstable_by_key(|cell| (cell.count(), *cell));
        let mut least: Vec<Literals> = Vec::new();
        for cell in cells {
            if !least.iter().any(|l| l.is_within(cell)) {
                least.push(cell);
            }
        }
        let literals = least.iter().fold(Literals::default(), |all, cell| all.and(*cell));
        Self { cells: least, rows, literals }
    }

    /// The best clauses; `None` if there are none, or none were found.
    pub fn best(&self) -> Option<DealtClauses> {
        let mut found = self.climb();
        let labels = self.labels();
        if labels.len() <= MOST_EXACT {
            let mut search = Search { deal: self, best: found, labels, work: WORK };
            search.deal_out(0, &mut Vec::new(), self.rows);
            found = DealtClauses { exact: search.work > 0, ..search.best };
        }
        found.clauses.sort_unstable_by_key(|c| (c.present | c.absent).trailing_zeros());
        self.covered(&found.clauses).then_some(found)
    }

    /// The labels of which cells speak: those of few cells first, which leave the fewest ways.
    fn labels(&self) -> Vec<usize> {
        let mut labels: Vec<usize> = (0..128).filter(|l| self.literals.speaks_of(*l)).collect();
        let cells = |l: &usize| self.cells.iter().filter(|cell| cell.speaks_of(*l)).count();
        labels.sort_by_key(|l| (cells(l), *l));
        labels
    }

    fn score(&self, clauses: Vec<Literals>) -> DealtClauses {
        let obeys = |row: &&CountedRow| clauses.iter().all(|clause| clause.obeyed_by(row.0));
        let obeying = self.rows.iter().filter(obeys).map(|row| row.1).sum();
        DealtClauses { clauses, obeying, exact: false }
    }

    fn covered(&self, clauses: &[Literals]) -> bool {
        self.cells.iter().all(|cell| clauses.iter().any(|clause| clause.is_within(*cell)))
    }

    /// From clauses of one literal each on: a literal is put somewhere, what this breaks is mended, and what fits is added.
    fn climb(&self) -> DealtClauses {
        let mut best = self.score(self.extended(self.singles()));
        if !self.covered(&best.clauses) {
            best.obeying = f64::NEG_INFINITY;
        }
        let mut work = WORK;
        let mut improved = true;
        while std::mem::take(&mut improved) {
            for (label, sign) in self.literals.each() {
                for place in 0..=best.clauses.len() {
                    work = work.saturating_sub((self.cells.len() + self.rows.len()) * (best.clauses.len() + 1));
                    if work == 0 {
                        return best;
                    }
                    let Some(next) = self.with(&best.clauses, label, sign, place) else { continue };
                    let next = self.score(self.extended(next));
                    if next.better_than(&best) {
                        (best, improved) = (next, true);
                        break;
                    }
                }
            }
        }
        best
    }

    /// Clauses of one literal: for the cell with the fewest literals left, the one that most rows have.
    fn singles(&self) -> Vec<Literals> {
        let mut clauses: Vec<Literals> = Vec::new();
        let weight = |l: Literals| self.rows.iter().filter(|row| l.obeyed_by(row.0)).map(|row| row.1).sum::<f64>();
        loop {
            let used = clauses.iter().fold(0, |used, c| used | c.present | c.absent);
            let open = self.cells.iter().filter(|cell| !clauses.iter().any(|clause| clause.is_within(**cell)));
            let free = |cell: &Literals| Literals { present: cell.present & !used, absent: cell.absent & !used };
            let Some(cell) = open.map(free).min_by_key(|cell| cell.count()) else { return clauses };
            let all = cell.each().map(|(label, sign)| Literals::one(label, sign));
            let Some(chosen) = all.max_by(|a, b| weight(*a).total_cmp(&weight(*b))) else {
                // A dead end: labels that contradict each other.
                return self.some_valid().unwrap_or(clauses);
            };
            clauses.push(chosen);
        }
    }

    /// The literals of a row that obeys, or of nothing.
    fn some_valid(&self) -> Option<Vec<Literals>> {
        let valid = |labels: u128| self.cells.iter().all(|cell| cell.obeyed_by(labels));
        let row = self.rows.iter().filter(|row| valid(row.0)).max_by(|a, b| a.1.total_cmp(&b.1))?;
        let labels = self.labels();
        Some(labels.into_iter().map(|l| Literals::one(l, row.0 >> l & 1 == 1)).collect())
    }

    /// The clauses with a literal put into one of them, or into a new one; others leave clauses until every cell contains one.
    fn with(&self, clauses: &[Literals], label: usize, sign: bool, place: usize) -> Option<Vec<Literals>> {
        let mut next: Vec<Literals> =
            clauses.iter().map(|c| c.without(Literals { present: 1 << label, absent: 1 << label })).collect();
        next.resize(next.len().max(place + 1), Literals::default());
        next[place] = next[place].and(Literals::one(label, sign));
        for cell in &self.cells {
            if next.iter().any(|c| !c.is_empty() && c.is_within(*cell)) {
                continue;
            }
            // What must leave each clause so that it is contained, if the new literal stays and something is left.
            let left = |k: usize| Literals { present: next[k].present & cell.present, absent: next[k].absent & cell.absent };
            let may = |k: &usize| !left(*k).is_empty() && (*k != place || Literals::one(label, sign).is_within(*cell));
            let lost = |k: &usize| {
                self.rows.iter().filter(|r| next[*k].obeyed_by(r.0) && !left(*k).obeyed_by(r.0)).map(|r| r.1).sum::<f64>()
            };
            let cheapest = (0..next.len()).filter(may).min_by(|a, b| lost(a).total_cmp(&lost(b)))?;
            next[cheapest] = left(cheapest);
        }
        next.retain(|c| !c.is_empty());
        self.covered(&next).then_some(next)
    }

    /// The clauses without those that no cell needs, with every literal more that leaves all cells covered.
    fn extended(&self, clauses: Vec<Literals>) -> Vec<Literals> {
        let (mut clauses, _) = irreducible(clauses, |fewer| self.covered(fewer).then_some(()));
        for (label, sign) in self.literals.each() {
            if clauses.iter().any(|c| c.speaks_of(label)) {
                continue;
            }
            for k in 0..clauses.len() {
                let before = clauses[k];
                clauses[k] = before.and(Literals::one(label, sign));
                if self.covered(&clauses) {
                    break;
                }
                clauses[k] = before;
            }
        }
        clauses
    }
}

/// All ways to deal labels out, label by label.
struct Search<'a> {
    deal: &'a Deal<'a>,
    labels: Vec<usize>,
    best: DealtClauses,
    work: usize,
}

impl Search<'_> {
    /// Deals out the labels from `at` on; `rows` are those that may still obey all clauses.
    fn deal_out(&mut self, at: usize, clauses: &mut Vec<Literals>, rows: &[CountedRow]) {
        let cost = rows.len() * (clauses.len() + 1) + self.deal.cells.len();
        self.work = self.work.saturating_sub(cost);
        if self.work == 0 || !self.can_cover(at, clauses) {
            return;
        }
        // What labels to come can add to a row: each at most one literal to one clause.
        let free = self.labels[at..].iter().fold(0, |free, l| free | 1u128 << l);
        let open = self.open(free);
        let may = |row: &&CountedRow| {
            let missing = clauses.iter().filter(|clause| !clause.obeyed_by(row.0)).count() as u32;
            missing == 0 || missing <= open.true_in(row.0)
        };
        let left: Vec<CountedRow> = rows.iter().filter(may).copied().collect();
        let bound: f64 = left.iter().map(|row| row.1).sum();
        let same = bound <= self.best.obeying + SAME;
        if bound < self.best.obeying - SAME || same && clauses.len() >= self.best.clauses.len() {
            return;
        }
        let Some(&label) = self.labels.get(at) else {
            let found = self.deal.score(clauses.clone());
            if found.better_than(&self.best) {
                self.best = found;
            }
            return;
        };
        let signs = self.open(1 << label);
        for (_, sign) in signs.each() {
            for k in 0..=clauses.len() {
                if k == clauses.len() {
                    clauses.push(Literals::default());
                }
                let before = clauses[k];
                clauses[k] = before.and(Literals::one(label, sign));
                self.deal_out(at + 1, clauses, &left);
                clauses[k] = before;
                if before.is_empty() {
                    clauses.truncate(k);
                    break;
                }
            }
        }
        self.deal_out(at + 1, clauses, &left);
    }

    /// The literals of these labels of which cells speak.
    fn open(&self, labels: u128) -> Literals {
        let all = self.deal.literals;
        Literals { present: all.present & labels, absent: all.absent & labels }
    }

    /// Whether every cell contains a clause as it is, or may contain a new one.
    fn can_cover(&self, at: usize, clauses: &[Literals]) -> bool {
        let free = self.labels[at..].iter().fold(0, |free, l| free | 1u128 << l);
        let covered = |cell: &Literals| clauses.iter().any(|clause| clause.is_within(*cell));
        self.deal.cells.iter().all(|cell| (cell.present | cell.absent) & free != 0 || covered(cell))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LABELS: usize = 5;

    /// The most that any clauses without a label in common come to: every literal in every clause or in none, one by one.
    fn by_force(cells: &[Literals], rows: &[CountedRow]) -> Option<f64> {
        let ways = 2 * LABELS + 1;
        let mut best: Option<f64> = None;
        for code in 0..ways.pow(LABELS as u32) {
            let mut clauses = [Literals::default(); LABELS];
            let mut rest = code;
            for label in 0..LABELS {
                let way = rest % ways;
                rest /= ways;
                if way > 0 {
                    let clause = &mut clauses[(way - 1) / 2];
                    *clause = clause.and(Literals::one(label, way % 2 == 1));
                }
            }
            let clauses: Vec<Literals> = clauses.into_iter().filter(|c| !c.is_empty()).collect();
            if cells.iter().all(|cell| clauses.iter().any(|c| c.is_within(*cell))) {
                let obeys =
                    |row: &&CountedRow| clauses.iter().all(|c| c.each().any(|(l, present)| (row.0 >> l & 1 == 1) == present));
                let obeying = rows.iter().filter(obeys).map(|row| row.1).sum();
                best = Some(best.map_or(obeying, |b| b.max(obeying)));
            }
        }
        best
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn no_clauses_are_obeyed_by_more_rows(
            cells in prop::collection::vec((1u128..32, 0u128..32), 1..6),
            mixed in any::<bool>(),
            rows in prop::collection::vec((0u128..32, 1u32..5), 0..12),
        ) {
            let absent = |a: u128| if mixed { a } else { 0 };
            let cells: Vec<Literals> =
                cells.into_iter().map(|(present, a)| Literals { present, absent: absent(a) & !present }).collect();
            let rows: Vec<CountedRow> = rows.into_iter().map(|(labels, weight)| (labels, f64::from(weight))).collect();
            let found = Deal::new(cells.clone(), &rows).best();
            prop_assert_eq!(found.as_ref().map(|f| f.obeying), by_force(&cells, &rows));
            if let Some(DealtClauses { clauses, exact, .. }) = found {
                prop_assert!(exact);
                prop_assert!(cells.iter().all(|cell| clauses.iter().any(|c| c.is_within(*cell))));
                let labels: Vec<u128> = clauses.iter().map(|c| c.present | c.absent).collect();
                prop_assert!((0..labels.len()).all(|i| (0..i).all(|k| labels[i] & labels[k] == 0)), "{:?}", clauses);
            }
        }
    }

    /// At least 3 of 40 labels: too many for all ways, and three clauses do.
    #[test]
    fn many_labels_are_dealt_out_as_well() {
        let cells: Vec<Literals> = (0..40u32)
            .flat_map(|a| (0..a).map(move |b| Literals { present: ((1 << 40) - 1) & !(1u128 << a | 1 << b), absent: 0 }))
            .collect();
        let rows: Vec<CountedRow> = (0..40u32).map(|k| (0b111_u128.rotate_left(k) & ((1 << 40) - 1), 1.0)).collect();
        let found = Deal::new(cells.clone(), &rows).best().unwrap();
        assert!(cells.iter().all(|cell| found.clauses.iter().any(|c| c.is_within(*cell))));
        assert_eq!((found.clauses.len(), found.exact), (3, false));
        // Label k to clause k mod 3 is obeyed by all that have three in a row; one label to each clause by one row.
        assert!(found.obeying >= 10.0, "{found:?}");
    }
}
