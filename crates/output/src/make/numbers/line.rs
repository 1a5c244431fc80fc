//! Outputs enter, of which each is in at most one sum with bounds, and has bounds of its own; calls leave that compute the nearest ones.
//!
//! The nearest outputs are `y(l) = clip(p + l give a)`, and `a.y(l)` grows with l: it must be at least the lower bound where l > 0 and at
//! most the upper one where l < 0. Newton's steps find l: `a.y` is piecewise linear with slope `sum of give_j a_j^2` over the outputs that are
//! not held by a bound of their own. If outputs are held from one side only, as in `y >= 0, sum(y) <= r`, it is convex or concave, the
//! steps after the first go one way, and a few of them are exact.

use super::plan::{Line, NearestPlan};
use super::writer::{FAR, PerLine, Side, Writer};

/// Which bounds of single outputs may hold one on its way.
#[derive(Debug, Clone, Copy)]
struct Holds {
    lower: bool,
    upper: bool,
}

pub(super) fn lines(w: &mut Writer, p: &str, plan: &NearestPlan, lower: &PerLine, upper: &PerLine, steps: usize) -> String {
    let lines = &plan.lines;
    let holds = holds(plan);
    let sums: Vec<&[_]> = lines.iter().map(|l| &l.lower[..]).collect();
    let least = w.bounds(&sums, vec![-FAR; lines.len()], Side::Lower);
    let one_value = lines.iter().all(|l| l.equal);
    let most = lines.iter().any(|l| !l.upper.is_empty()).then(|| {
        let sums: Vec<&[_]> = lines.iter().map(|l| &l.upper[..]).collect();
        w.bounds(&sums, vec![FAR; lines.len()], Side::Upper)
    });
    let most = if one_value { None } else { most };
    let against: Vec<Vec<f64>> = lines.iter().map(|l| l.a.iter().map(|a| -a).collect()).collect();
    let give = &w.ground.give;
    let square = |l: &Line| -> Vec<f64> { l.a.iter().zip(give).map(|(a, give)| a * give * a).collect() };
    let squares: Vec<Vec<f64>> = lines.iter().map(square).collect();
    let along: Vec<Vec<f64>> = lines.iter().map(|l| l.a.iter().zip(give).map(|(a, give)| a * give).collect()).collect();
    let smallest = |squares: &Vec<f64>| squares.iter().filter(|s| **s != 0.0).fold(1.0f64, |m, s| m.min(*s)) as f32;
    let flattest = PerLine::Constant(squares.iter().map(smallest).collect());
    let zero = w.draft.number(0.0);

    // The first one as if no bound held any output: on the side of the solution from which the next ones go one way.
    let mut l: Option<String> = None;
    for _ in 0..=steps {
        let (mut y, mut slope) = (p.to_string(), None);
        if let Some(l) = &l {
            let raw = w.push(l, &along, p);
            y = within(w, &raw, lower, upper, holds);
            let free = free(w, &raw, lower, upper, holds);
            let (found, flattest) = (w.product(&free, &squares, None), w.name(&flattest));
            slope = Some(w.draft.call("Max", &[&found, &flattest]));
        }
        let step = |w: &mut Writer, bound: &PerLine| {
            let gap = w.product(&y, &against, Some(bound));
            let (Some(slope), Some(l)) = (&slope, &l) else { return gap };
            let step = w.draft.call("Div", &[&gap, slope]);
            w.draft.call("Add", &[l, &step])
        };
        let up = step(w, &least);
        l = Some(match &most {
            None if one_value => up,
            None => w.draft.call("Relu", &[&up]),
            Some(most) => {
                let down = step(w, most);
                let down = w.draft.call("Min", &[&down, &zero]);
                w.draft.call("Max", &[&up, &down])
            }
        });
    }
    l.map_or(p.into(), |l| w.push(&l, &along, p))
}

fn holds(plan: &NearestPlan) -> Holds {
    let mut holds = Holds { lower: false, upper: false };
    for line in &plan.lines {
        for (j, a) in line.a.iter().enumerate().filter(|(_, a)| **a != 0.0) {
            // On the other side only what the rules say: within its range an output is from the start.
            let (rises, falls) = (line.equal || !line.lower.is_empty(), line.equal || !line.upper.is_empty());
            let (up, down) = if *a > 0.0 { (rises, falls) } else { (falls, rises) };
            holds.lower |= down || !plan.lower[j].is_empty();
            holds.upper |= up || !plan.upper[j].is_empty();
        }
    }
    holds
}

fn within(w: &mut Writer, y: &str, lower: &PerLine, upper: &PerLine, holds: Holds) -> String {
    let mut y = y.to_string();
    for (held, op, bound) in [(holds.lower, "Max", lower), (holds.upper, "Min", upper)] {
        if held {
            let bound = w.name(bound);
            y = w.draft.call(op, &[&y, &bound]);
        }
    }
    y
}

/// 1 for outputs that no bound holds, else 0.
fn free(w: &mut Writer, y: &str, lower: &PerLine, upper: &PerLine, holds: Holds) -> String {
    let mut parts = Vec::new();
    for (held, op, bound) in [(holds.lower, "Greater", lower), (holds.upper, "Less", upper)] {
        if held {
            let bound = w.name(bound);
            parts.push(w.draft.call(op, &[y, &bound]));
        }
    }
    let free = if let [one, other] = &parts[..] { w.draft.call("And", &[one, other]) } else { parts.remove(0) };
    w.draft.cast_float(&free)
}
