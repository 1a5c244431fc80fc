//! A picture as plain data: marks in the order in which they are painted, in units of pixels, y downwards.

/// Size of most letters.
pub(crate) const LETTERS: f64 = 17.0;

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// What it shows, for those who can't see it.
    pub title: String,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
    /// What is painted, first to last.
    pub marks: Vec<Mark>,
}

/// A colour by its role; a theme decides what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Letters and axes.
    Text,
    /// Grid lines.
    Faint,
    /// The ground.
    Paper,
    /// The k-th series; after seven they repeat.
    Series(usize),
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stroke {
    /// Its colour.
    pub ink: Ink,
    /// Its width.
    pub width: f64,
    /// Whether it is dashed.
    pub dashed: bool,
}

/// The shape of a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DotShape {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle.
    Triangle,
    /// A square on its corner.
    Diamond,
    /// An x.
    Cross,
}

/// Which part of a text stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextAnchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

impl TextAnchor {
    /// Where a text of this width begins, seen from the point at which it is anchored.
    pub fn start(self, width: f64) -> f64 {
        match self {
            TextAnchor::Start => 0.0,
            TextAnchor::Middle => -width / 2.0,
            TextAnchor::End => -width,
        }
    }
}

/// Something painted.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// Straight lines from point to point.
    Line {
        /// The points.
        points: Vec<[f64; 2]>,
        /// How.
        stroke: Stroke,
    },
    /// A filled polygon.
    Area {
        /// Its corners.
        points: Vec<[f64; 2]>,
        /// Its colour.
        ink: Ink,
        /// From 0, invisible, to 1.
        opacity: f64,
    },
    /// A rectangle without soft edges, so that neighbours leave no seam.
    Tile {
        /// Left, top, width, height.
        place: [f64; 4],
        /// Its colour.
        ink: Ink,
        /// From 0, invisible, to 1.
        opacity: f64,
    },
    /// A data point.
    Dot {
        /// Its middle.
        at: [f64; 2],
        /// Its size.
        radius: f64,
        /// Its shape.
        shape: DotShape,
        /// Its colour.
        ink: Ink,
    },
    /// A line of text; its middle is at the height of the place.
    Text {
        /// The place.
        at: [f64; 2],
        /// The letters.
        text: String,
        /// Their size.
        size: f64,
        /// What stands at the place.
        anchor: TextAnchor,
        /// Turned to run upwards.
        upwards: bool,
    },
}

impl DotShape {
    /// The k-th of them.
    pub fn nth(k: usize) -> Self {
        [DotShape::Circle, DotShape::Square, DotShape::Triangle, DotShape::Diamond, DotShape::Cross][k % 5]
    }

    /// The corners around a middle; none for a circle, and for a cross its two lines one after the other.
    pub(crate) fn corners(self, [x, y]: [f64; 2], r: f64) -> Vec<[f64; 2]> {
        let at = |corners: &[[f64; 2]]| corners.iter().map(|[dx, dy]| [x + r * dx, y + r * dy]).collect();
        match self {
            DotShape::Circle => Vec::new(),
            DotShape::Square => at(&[[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]),
            DotShape::Triangle => at(&[[0.0, -1.2], [1.05, 0.75], [-1.05, 0.75]]),
            DotShape::Diamond => at(&[[0.0, -1.25], [1.25, 0.0], [0.0, 1.25], [-1.25, 0.0]]),
            DotShape::Cross => at(&[[-0.9, -0.9], [0.9, 0.9], [-0.9, 0.9], [0.9, -0.9]]),
        }
    }
}

impl Stroke {
    /// A full line.
    pub fn new(ink: Ink, width: f64) -> Self {
        Self { ink, width, dashed: false }
    }

    /// A dashed line.
    pub fn dashed(ink: Ink, width: f64) -> Self {
        Self { ink, width, dashed: true }
    }
}

impl Scene {
    /// An empty picture.
    pub fn new(title: &str, width: f64, height: f64) -> Self {
        Self { title: title.into(), width, height, marks: Vec::new() }
    }

    pub(crate) fn line(&mut self, points: Vec<[f64; 2]>, stroke: Stroke) {
        if points.len() > 1 {
            self.marks.push(Mark::Line { points, stroke });
        }
    }

    pub(crate) fn area(&mut self, points: Vec<[f64; 2]>, ink: Ink, opacity: f64) {
        self.marks.push(Mark::Area { points, ink, opacity });
    }

    pub(crate) fn dot(&mut self, at: [f64; 2], radius: f64, shape: DotShape, ink: Ink) {
        self.marks.push(Mark::Dot { at, radius, shape, ink });
    }

    pub(crate) fn text(&mut self, at: [f64; 2], text: &str, size: f64, anchor: TextAnchor) {
        self.marks.push(Mark::Text { at, text: text.into(), size, anchor, upwards: false });
    }
}
