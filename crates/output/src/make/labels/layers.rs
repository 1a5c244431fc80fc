//! States in layers and the ways from one layer to the next enter; leaves a piece that finds the best way through.
//!
//! From the last layer up: `value(state) = max over its options of [ gain(option) + value(next state) ]`; then from the first state down,
//! at each state the option of the largest sum. The walk computes the sums again, along one way only.

use super::super::draft::Draft;

/// The options of a layer's states, as many for each.
#[derive(Debug, Default)]
pub(super) struct StateLayer {
    /// For each state and option the state of the next layer.
    pub(super) next: Vec<Vec<usize>>,
    /// For each state and option the line of what it gains.
    pub(super) gain: Vec<Vec<usize>>,
}

/// Layers; the first has one state.
#[derive(Debug, Default)]
pub(super) struct Layers {
    /// All but the last.
    pub(super) layers: Vec<StateLayer>,
    /// What the states of the last layer are worth.
    pub(super) ends: Vec<f32>,
}

impl StateLayer {
    fn options(&self) -> usize {
        self.next.first().map_or(0, Vec::len)
    }

    /// The lines of the gains, if they are the same for all states.
    fn shared(&self) -> Option<&[usize]> {
        let first = self.gain.first()?;
        self.gain.iter().all(|g| g == first).then_some(first)
    }
}

impl Layers {
    /// Calls that find the best way, given the gains, upright: for each layer the line of the gain that it takes.
    pub(super) fn write(&self, gains: &str, draft: &mut Draft) -> String {
        let ends = draft.each(self.ends.clone());
        // For each layer what its next states are worth.
        let mut values = vec![ends];
        for layer in self.layers[1..].iter().rev() {
            let next = values.last().cloned().unwrap_or_default();
            let options: Vec<String> = (0..layer.options()).map(|o| option(layer, o, &next, gains, draft)).collect();
            let options: Vec<&str> = options.iter().map(String::as_str).collect();
            values.push(if let [only] = options[..] { only.into() } else { draft.call("Max", &options) });
        }
        values.reverse();
        let (mut state, mut taken) = (None, Vec::new());
        for (k, (layer, next)) in self.layers.iter().zip(&values).enumerate() {
            let last = k + 1 == self.layers.len();
            let (to, line) = self.step(layer, next, last, state.as_deref(), gains, draft);
            state = Some(to);
            taken.push(line);
        }
        draft.below(&taken)
    }

    /// One step of the walk: the state it leads to, and the line of its gain.
    fn step(
        &self,
        layer: &StateLayer,
        values: &str,
        last: bool,
        state: Option<&str>,
        gains: &str,
        draft: &mut Draft,
    ) -> (String, String) {
        let options = layer.options();
        let flat = |rows: &[Vec<usize>]| rows.iter().flatten().map(|v| *v as i64).collect::<Vec<_>>();
        let next = draft.ints(&[layer.next.len() * options], flat(&layer.next));
        let gain = draft.ints(&[layer.gain.len() * options], flat(&layer.gain));
        let pick = |of: &str, at: &str, draft: &mut Draft| draft.call_with("Gather", &[of, at], &[("axis", 0)]);
        let along = |of: &str, at: &str, draft: &mut Draft| draft.call_with("GatherElements", &[of, at], &[("axis", 0)]);
        let best = |sums: &str, draft: &mut Draft| draft.call_with("ArgMax", &[sums], &[("axis", 0), ("keepdims", 1)]);
        let Some(state) = state else {
            // The first state is one for all rows.
            let sums = sum_all(layer, values, gains, draft);
            let choice = best(&sums, draft);
            return (pick(&next, &choice, draft), pick(&gain, &choice, draft));
        };
        let (wide, each) = (draft.ints(&[1], vec![options as i64]), draft.ints(&[options, 1], (0..options as i64).collect()));
        let start = draft.call("Mul", &[state, &wide]);
        let places = draft.call("Add", &[&start, &each]);
        let to = pick(&next, &places, draft);
        let worth = if last {
            let ends = draft.floats(&[self.ends.len()], self.ends.clone());
            pick(&ends, &to, draft)
        } else {
            along(values, &to, draft)
        };
        if let Some(lines) = layer.shared() {
            let gains = draft.lines(gains, lines);
            let sums = draft.call("Add", &[&worth, &gains]);
            let choice = best(&sums, draft);
            return (along(&to, &choice, draft), pick(&gain, &choice, draft));
        }
        let lines = pick(&gain, &places, draft);
        let gains = along(gains, &lines, draft);
        let sums = draft.call("Add", &[&worth, &gains]);
        let choice = best(&sums, draft);
        (along(&to, &choice, draft), along(&lines, &choice, draft))
    }
}

/// What an option of each state of a layer is worth.
fn option(layer: &StateLayer, o: usize, values: &str, gains: &str, draft: &mut Draft) -> String {
    let next = draft.lines(values, &layer.next.iter().map(|n| n[o]).collect::<Vec<_>>());
    let gain = match layer.shared() {
        Some(lines) => draft.lines(gains, &[lines[o]]),
        None => draft.lines(gains, &layer.gain.iter().map(|g| g[o]).collect::<Vec<_>>()),
    };
    draft.call("Add", &[&next, &gain])
}

/// What all options of the one state of the first layer are worth.
fn sum_all(layer: &StateLayer, values: &str, gains: &str, draft: &mut Draft) -> String {
    let none = Vec::new();
    let next = draft.lines(values, layer.next.first().unwrap_or(&none));
    let gain = draft.lines(gains, layer.gain.first().unwrap_or(&none));
    draft.call("Add", &[&next, &gain])
}

/// Calls that say which labels are present, each where a layer takes a certain gain.
pub(super) fn present(taken: &str, labels: &[(usize, usize)], draft: &mut Draft) -> String {
    let found = draft.lines(taken, &labels.iter().map(|(layer, _)| *layer).collect::<Vec<_>>());
    let asked = draft.ints(&[labels.len(), 1], labels.iter().map(|(_, line)| *line as i64).collect());
    let same = draft.call("Equal", &[&found, &asked]);
    draft.cast_float(&same)
}
