//! A scene enters, the bytes of a PNG file leave: on white, letters drawn as outlines.

use tiny_skia::{Color, FillRule, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, Rect, StrokeDash, Transform};

use super::font::{self, CAPITAL};
use super::scene::{DotShape, Ink, Mark, Scene, Stroke};
use super::svg::colour;

/// Pixels a side that a picture may have.
const MOST_PIXELS: f64 = 8192.0;

impl Scene {
    /// The picture as a PNG file, `scale` pixels a unit (less where it would be larger than 8192 pixels).
    pub fn png(&self, scale: f64) -> Vec<u8> {
        let scale = scale.min(MOST_PIXELS / self.width.max(self.height).max(1.0));
        let pixels = |length: f64| (length * scale).ceil().clamp(1.0, MOST_PIXELS) as u32;
        let mut canvas = Pixmap::new(pixels(self.width), pixels(self.height)).expect("a picture of some size");
        canvas.fill(Color::WHITE);
        let turn = Transform::from_scale(scale as f32, scale as f32);
        for mark in &self.marks {
            draw(&mut canvas, mark, turn);
        }
        canvas.encode_png().expect("pixels become a PNG file")
    }
}

fn paint(ink: Ink, opacity: f64, smooth: bool) -> Paint<'static> {
    let [r, g, b] = colour(ink);
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, (opacity.clamp(0.0, 1.0) * 255.0).round() as u8);
    paint.anti_alias = smooth;
    paint
}

fn path(points: &[[f64; 2]], closed: bool) -> Option<Path> {
    let mut path = PathBuilder::new();
    for (k, [x, y]) in points.iter().enumerate() {
        if k == 0 { path.move_to(*x as f32, *y as f32) } else { path.line_to(*x as f32, *y as f32) }
    }
    if closed {
        path.close();
    }
    path.finish()
}

fn fill(canvas: &mut Pixmap, path: Option<Path>, ink: Ink, opacity: f64, turn: Transform) {
    if let Some(path) = path {
        canvas.fill_path(&path, &paint(ink, opacity, true), FillRule::Winding, turn, None);
    }
}

fn stroke(canvas: &mut Pixmap, points: &[[f64; 2]], stroke: Stroke, turn: Transform) {
    let Some(path) = path(points, false) else { return };
    let style = tiny_skia::Stroke {
        width: stroke.width as f32,
        line_join: LineJoin::Round,
        line_cap: LineCap::Butt,
        dash: if stroke.dashed { StrokeDash::new(vec![7.0, 5.0], 0.0) } else { None },
        ..tiny_skia::Stroke::default()
    };
    canvas.stroke_path(&path, &paint(stroke.ink, 1.0, true), &style, turn, None);
}

fn draw(canvas: &mut Pixmap, mark: &Mark, turn: Transform) {
    match mark {
        Mark::Line { points, stroke: style } => stroke(canvas, points, *style, turn),
        Mark::Area { points, ink, opacity } => fill(canvas, path(points, true), *ink, *opacity, turn),
        Mark::Tile { place, ink, opacity } => {
            let [x, y, w, h] = place.map(|v| v as f32);
            if let Some(rect) = Rect::from_xywh(x, y, w, h) {
                canvas.fill_rect(rect, &paint(*ink, *opacity, false), turn, None);
            }
        }
        Mark::Dot { at: [x, y], radius, shape: DotShape::Circle, ink } => {
            fill(canvas, PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32), *ink, 1.0, turn);
        }
        Mark::Dot { at, radius, shape: DotShape::Cross, ink } => {
            let corners = DotShape::Cross.corners(*at, *radius);
            corners.chunks(2).for_each(|line| stroke(canvas, line, Stroke::new(*ink, radius * 0.6), turn));
        }
        Mark::Dot { at, radius, shape, ink } => fill(canvas, path(&shape.corners(*at, *radius), true), *ink, 1.0, turn),
        Mark::Text { at: [x, y], text, size, anchor, upwards } => {
            let width = font::width(text, *size);
            let start = anchor.start(width);
            let mut place = Transform::from_translate(start as f32, (size * CAPITAL / 2.0) as f32);
            if *upwards {
                place = place.post_rotate(-90.0);
            }
            place = place.post_translate(*x as f32, *y as f32).post_concat(turn);
            fill(canvas, font::outlines(text, *size), Ink::Text, 1.0, place);
        }
    }
}
