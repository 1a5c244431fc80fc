//! Text enters; its width and its outlines leave, from a font that comes with the program, so that no system package is needed.

use std::sync::LazyLock;

use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Some glyphs of `DejaVu` Sans: assets/DejaVuSans-LICENSE.txt.
const FONT: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");

static FACE: LazyLock<Face<'static>> = LazyLock::new(|| Face::parse(FONT, 0).expect("the font that comes with the program"));

/// Height of a capital letter, as a share of the size.
pub(crate) const CAPITAL: f64 = 0.73;

/// Width of a line of text.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let units: u32 = text.chars().map(|c| u32::from(FACE.glyph_hor_advance(glyph(c)).unwrap_or(0))).sum();
    f64::from(units) * size / f64::from(FACE.units_per_em())
}

/// What the font does not have becomes its empty box.
fn glyph(c: char) -> GlyphId {
    FACE.glyph_index(c).unwrap_or(GlyphId(0))
}

/// The outlines of a line of text that begins at the origin, baseline at 0; `None` if nothing is to be seen.
pub(crate) fn outlines(text: &str, size: f64) -> Option<Path> {
    let scale = size as f32 / f32::from(FACE.units_per_em());
    let mut pen = Pen { path: PathBuilder::new(), x: 0.0 };
    for c in text.chars() {
        let glyph = glyph(c);
        FACE.outline_glyph(glyph, &mut pen);
        pen.x += f32::from(FACE.glyph_hor_advance(glyph).unwrap_or(0));
    }
    pen.path.finish()?.transform(Transform::from_scale(scale, -scale))
}

struct Pen {
    path: PathBuilder,
    x: f32,
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.path.move_to(self.x + x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.path.line_to(self.x + x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.path.quad_to(self.x + x1, y1, self.x + x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.path.cubic_to(self.x + x1, y1, self.x + x2, y2, self.x + x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
