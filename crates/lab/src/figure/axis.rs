//! Ranges of data enter; a frame with ticks, grid, labels and a legend leaves, and the way from data to places in it.

use super::font;
use super::scene::{DotShape, Ink, LETTERS, Scene, Stroke, TextAnchor};

/// One direction of a plot.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) lo: f64,
    pub(crate) hi: f64,
    pub(crate) log: bool,
    /// Names at whole numbers, in place of ticks.
    pub(crate) names: Vec<String>,
}

/// A plot's frame: where it stands, and its axes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

/// How a series looks in a legend.
pub(crate) enum LegendKey {
    Line(Stroke),
    Dot(DotShape, Ink),
    Patch(Ink, f64),
}

impl Axis {
    /// Covers the finite values, with a little air; something to see even for one value or none.
    pub(crate) fn covering(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (lo, hi) = extent(values);
        let air = 0.05 * (hi - lo);
        Self { label: label.into(), lo: lo - air, hi: hi + air, log: false, names: Vec::new() }
    }

    /// The same, by powers of ten; values that are not positive play no part.
    pub(crate) fn logarithmic(label: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (lo, hi) = extent(values.into_iter().filter(|v| *v > 0.0).map(f64::log10));
        let air = 0.05 * (hi - lo);
        Self { label: label.into(), lo: 10f64.powf(lo - air), hi: 10f64.powf(hi + air), log: true, names: Vec::new() }
    }

    /// Whole powers of ten around a logarithmic axis: a tick at each end.
    pub(crate) fn decades(&self) -> (f64, f64) {
        (10f64.powf(self.lo.log10().floor()), 10f64.powf(self.hi.log10().ceil()))
    }

    /// One place a name, from 0.
    pub(crate) fn named(label: &str, names: Vec<String>) -> Self {
        Self { label: label.into(), lo: -0.5, hi: names.len().max(1) as f64 - 0.5, log: false, names }
    }

    /// 0 at `lo`, 1 at `hi`; kept near the frame.
    fn share(&self, v: f64) -> f64 {
        let share = if self.log {
            (v.max(f64::MIN_POSITIVE).log10() - self.lo.log10()) / (self.hi.log10() - self.lo.log10())
        } else {
            (v - self.lo) / (self.hi - self.lo)
        };
        if share.is_finite() { share.clamp(-0.02, 1.02) } else { 0.0 }
    }

    /// Places and texts of about `count` ticks.
    pub(crate) fn ticks(&self, count: usize) -> Vec<(f64, String)> {
        if !self.names.is_empty() {
            return self.names.iter().enumerate().map(|(k, name)| (k as f64, shortened(name))).collect();
        }
        if self.log {
            let (first, last) = (self.lo.log10().ceil() as i32, self.hi.log10().floor() as i32);
            let every = ((last - first).max(0) / count.max(1) as i32 + 1).max(1);
            let powers: Vec<_> = (first..=last).filter(|p| p.rem_euclid(every) == 0).map(|p| (10f64.powi(p), power(p))).collect();
            if powers.len() > 1 {
                return powers;
            }
        }
        let step = nice((self.hi - self.lo) / count.max(1) as f64);
        let (first, last) = ((self.lo / step).ceil() as i64, (self.hi / step).floor() as i64);
        (first..=last.min(first.saturating_add(50))).map(|k| (k as f64 * step, number(k as f64 * step, step))).collect()
    }
}

fn extent(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let finite = values.into_iter().filter(|v| v.is_finite());
    let (lo, hi) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    if lo < hi {
        (lo, hi)
    } else if lo == hi {
        (lo - 0.5 * lo.abs().max(1.0), hi + 0.5 * lo.abs().max(1.0))
    } else {
        (0.0, 1.0)
    }
}

/// 1, 2 or 5 times a power of ten, at least `step`.
fn nice(step: f64) -> f64 {
    let size = 10f64.powf(step.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * size >= step * 0.999).unwrap_or(10.0);
    if size.is_normal() { factor * size } else { 1.0 }
}

/// As many digits as a step needs; large and small ones by powers of ten.
fn number(v: f64, step: f64) -> String {
    let v = if v.abs() < step / 2.0 { 0.0 } else { v };
    if v != 0.0 && (v.abs() >= 1e6 || step < 1e-4) {
        return format!("{v:.1e}");
    }
    let digits = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{v:.digits$}").replace('-', "\u{2212}")
}

fn power(p: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32(0x2070 + c.to_digit(10).unwrap_or(0)).unwrap_or(c),
    };
    format!("10{}", p.to_string().chars().map(digit).collect::<String>())
}

/// A name that may be long, as far as there is room for it.
pub(crate) fn shortened(name: &str) -> String {
    const MOST: usize = 34;
    match name.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.into(),
    }
}

impl Frame {
    /// The place of a data point.
    pub(crate) fn at(&self, x: f64, y: f64) -> [f64; 2] {
        [self.left + self.width * self.x.share(x), self.top + self.height * (1.0 - self.y.share(y))]
    }

    /// Draws grid, ticks, labels and the border.
    pub(crate) fn draw(&self, scene: &mut Scene) {
        let (right, bottom) = (self.left + self.width, self.top + self.height);
        let small = LETTERS * 0.9;
        let across = self.x.ticks((self.width / 90.0) as usize);
        let widest = across.iter().map(|(_, t)| font::width(t, small)).fold(0.0, f64::max);
        // Names that would touch stand in two rows, then get smaller, then fewer.
        let named = !self.x.names.is_empty();
        let own = self.width / across.len().max(1) as f64 - 6.0;
        let rows = if named && widest > own { 2 } else { 1 };
        let room = own * rows as f64;
        let size = if named { small * (room / widest.max(1.0)).clamp(0.65, 1.0) } else { small };
        let every = if named { (widest * size / small / room).ceil().max(1.0) as usize } else { 1 };
        for (k, (v, text)) in across.iter().enumerate() {
            let [x, _] = self.at(*v, self.y.lo);
            if !named {
                scene.line(vec![[x, self.top], [x, bottom]], Stroke::new(Ink::Faint, 1.0));
            }
            if k % every == 0 {
                scene.text([x, bottom + 15.0 + (k % rows) as f64 * LETTERS], text, size, TextAnchor::Middle);
            }
        }
        let up = self.y.ticks(((self.height / 55.0) as usize).max(3));
        let widest = up.iter().map(|(_, t)| font::width(t, small)).fold(0.0, f64::max);
        for (v, text) in &up {
            let [_, y] = self.at(self.x.lo, *v);
            scene.line(vec![[self.left, y], [right, y]], Stroke::new(Ink::Faint, 1.0));
            scene.text([self.left - 8.0, y], text, small, TextAnchor::End);
        }
        let border = vec![[self.left, self.top], [self.left, bottom], [right, bottom]];
        scene.line(border, Stroke::new(Ink::Text, 1.5));
        let below = bottom + 40.0 + (rows - 1) as f64 * LETTERS;
        scene.text([self.left + self.width / 2.0, below], &self.x.label, LETTERS, TextAnchor::Middle);
        let label = super::Mark::Text {
            at: [(self.left - widest - 26.0).max(LETTERS * 0.6), self.top + self.height / 2.0],
            text: self.y.label.clone(),
            size: LETTERS,
            anchor: TextAnchor::Middle,
            upwards: true,
        };
        scene.marks.push(label);
    }
}

/// Draws the legend in rows from a place, no wider than given, and returns its height.
pub(crate) fn legend(scene: &mut Scene, [left, top]: [f64; 2], most: f64, keys: &[(LegendKey, String)]) -> f64 {
    const ROW: f64 = LETTERS * 1.5;
    let (mut x, mut y) = (left, top + ROW / 2.0);
    for (key, name) in keys {
        let name = shortened(name);
        let wide = 36.0 + font::width(&name, LETTERS) + 22.0;
        if x + wide > left + most && x > left {
            (x, y) = (left, y + ROW);
        }
        match key {
            LegendKey::Line(stroke) => scene.line(vec![[x, y], [x + 28.0, y]], *stroke),
            LegendKey::Dot(shape, ink) => scene.dot([x + 14.0, y], 6.0, *shape, *ink),
            LegendKey::Patch(ink, opacity) => {
                scene.area(vec![[x, y - 8.0], [x + 28.0, y - 8.0], [x + 28.0, y + 8.0], [x, y + 8.0]], *ink, *opacity);
            }
        }
        scene.text([x + 36.0, y], &name, LETTERS, TextAnchor::Start);
        x += wide;
    }
    y + ROW / 2.0 - top
}
