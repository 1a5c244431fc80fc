//! A plan enters; leave the calls that follow it: up its levels with the best of each state, and back down with the choice.

use super::super::super::draft::Draft;
use super::super::NOTHING;
use super::{Elimination, lines};

/// Lines that a product adds up as quickly as one is taken and added.
const DENSE: usize = 24;

impl Elimination {
    /// Calls that choose all facts: 0 or 1 a line.
    pub(in super::super) fn write(&self, worth: &str, draft: &mut Draft) -> String {
        let less = draft.call("Neg", &[worth]);
        let costs = [draft.call("Relu", &[worth]), draft.call("Relu", &[&less])];
        let mut values: Vec<[String; 2]> = Vec::new();
        let mut messages: Option<String> = None;
        for (d, level) in self.levels.iter().enumerate().rev() {
            let facts: Vec<usize> = level.iter().flat_map(|b| vec![b.fact; b.states.len()]).collect();
            let mut sides = self.sums(d, messages.as_deref(), worth, draft);
            for (sum, cost) in sides.iter_mut().zip(&costs) {
                let cost = draft.lines(cost, &facts);
                *sum = draft.call("Sub", &[sum, &cost]);
            }
            messages = Some(draft.call("Max", &[&sides[0], &sides[1]]));
            values.push(sides);
        }
        values.reverse();
        self.back(&values, draft)
    }

    /// What the facts that hang on those of a level are worth, in each state, if the facts of the level are all false, and all true.
    fn sums(&self, d: usize, messages: Option<&str>, any: &str, draft: &mut Draft) -> [String; 2] {
        let level = &self.levels[d];
        let bases = [0, 1].map(|side| {
            let allowed = level.iter().flat_map(|b| &b.states).map(|(_, sides)| sides[side]);
            draft.each(allowed.map(|yes| if yes { 0.0 } else { NOTHING }).collect())
        });
        let (Some(messages), Some(next)) = (messages, self.levels.get(d + 1)) else { return bases };
        let parts = [false, true].map(|side| self.parts(d, side));
        let (most, width) = (parts.iter().flatten().map(Vec::len).max().unwrap_or(0), lines(next));
        if width <= DENSE * most {
            return [0, 1].map(|side| {
                let ones = parts[side].iter().enumerate().flat_map(|(line, parts)| parts.iter().map(move |c| (line, *c)));
                let matrix = draft.ones(lines(level), width, ones);
                draft.call("Gemm", &[&matrix, messages, &bases[side]])
            });
        }
        // Behind the messages a line of zeros, for states with fewer parts.
        let (nil, first) = (draft.number(0.0), draft.lines(any, &[0]));
        let zeros = draft.call("Mul", &[&first, &nil]);
        let messages = draft.below(&[messages, &zeros]);
        [0, 1].map(|side| {
            (0..most).fold(bases[side].clone(), |sum, k| {
                let part: Vec<usize> = parts[side].iter().map(|p| p.get(k).copied().unwrap_or(width)).collect();
                let part = draft.lines(&messages, &part);
                draft.call("Add", &[&sum, &part])
            })
        })
    }

    /// For each line of a level those of the next that add up in it, if the facts of the level are all false or all true.
    fn parts(&self, d: usize, side: bool) -> Vec<Vec<usize>> {
        let (mut truth, mut parts) = (vec![false; self.facts], vec![Vec::new(); lines(&self.levels[d])]);
        for child in &self.levels[d + 1] {
            let bucket = &self.levels[d][child.parent];
            for (k, (bits, _)) in bucket.states.iter().enumerate().filter(|(_, (_, sides))| sides[usize::from(side)]) {
                bucket.settle(*bits, side, &mut truth);
                parts[bucket.first + k].extend(child.line(&truth));
            }
        }
        parts
    }

    /// From the first level down: the state of what a fact hangs on is known, and the better side in it.
    fn back(&self, values: &[[String; 2]], draft: &mut Draft) -> String {
        let (mut chosen, mut order) = (Vec::new(), Vec::new());
        // Twice the line of a fact's state, and one more if the fact is true.
        let mut codes = String::new();
        for (d, (level, sides)) in self.levels.iter().zip(values).enumerate() {
            let (yes, twice) = if d == 0 {
                let twice = draft.ints(&[level.len(), 1], level.iter().map(|b| 2 * b.first as i64).collect());
                (draft.call("Greater", &[&sides[1], &sides[0]]), twice)
            } else {
                let line = self.line_now(d, &codes, draft);
                let [no, yes] = [0, 1].map(|k| draft.call_with("GatherElements", &[&sides[k], &line], &[("axis", 0)]));
                (draft.call("Greater", &[&yes, &no]), draft.call("Add", &[&line, &line]))
            };
            if d + 1 < self.levels.len() {
                let one = draft.cast_int(&yes);
                codes = draft.call("Add", &[&twice, &one]);
            }
            chosen.push(draft.cast_float(&yes));
            order.extend(level.iter().map(|b| b.fact));
        }
        let chosen = draft.below(&chosen);
        let mut place = vec![0; self.facts];
        order.iter().enumerate().for_each(|(k, fact)| place[*fact] = k);
        draft.lines(&chosen, &place)
    }

    /// The line of each fact's state, from the states and the choices of the level before.
    fn line_now(&self, d: usize, codes: &str, draft: &mut Draft) -> String {
        let (before, level) = (&self.levels[d - 1], &self.levels[d]);
        let (mut table, mut start, mut truth) = (Vec::new(), Vec::new(), vec![false; self.facts]);
        for bucket in level {
            let parent = &before[bucket.parent];
            start.push(table.len() as i64 - 2 * parent.first as i64);
            for (bits, _) in &parent.states {
                for side in [false, true] {
                    parent.settle(*bits, side, &mut truth);
                    // A forbidden state is never the better one; any line will do for it.
                    table.push(bucket.line(&truth).unwrap_or(bucket.first) as i64);
                }
            }
        }
        let table = draft.ints(&[table.len()], table);
        let start = draft.ints(&[level.len(), 1], start);
        let code = draft.lines(codes, &level.iter().map(|b| b.parent).collect::<Vec<_>>());
        let at = draft.call("Add", &[&code, &start]);
        draft.call_with("Gather", &[&table, &at], &[("axis", 0)])
    }
}
