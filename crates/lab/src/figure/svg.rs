//! A scene enters, SVG text leaves: for a file of its own, or to stand in a page whose style decides the colours.

use std::fmt::Write;

use deepsade_spec::shown;

use super::font::CAPITAL;
use super::scene::{DotShape, Ink, Mark, Scene, Stroke, TextAnchor};

/// Where the picture will be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// On white, on its own.
    File,
    /// In a page that defines `--ink`, `--faint`, `--paper` and `--s0` to `--s6`.
    Page,
}

/// The colours of Okabe and Ito, the pale yellow last.
pub(crate) const SERIES: [[u8; 3]; 7] = [
    [0x00, 0x72, 0xb2],
    [0xd5, 0x5e, 0x00],
    [0x00, 0x9e, 0x73],
    [0xcc, 0x79, 0xa7],
    [0x56, 0xb4, 0xe9],
    [0xe6, 0x9f, 0x00],
    [0xf0, 0xe4, 0x42],
];

/// The colour on white.
pub(crate) fn colour(ink: Ink) -> [u8; 3] {
    match ink {
        Ink::Text => [0x22, 0x22, 0x22],
        Ink::Faint => [0xdd, 0xdd, 0xdd],
        Ink::Paper => [0xff, 0xff, 0xff],
        Ink::Series(k) => SERIES[k % SERIES.len()],
    }
}

fn paint(ink: Ink, theme: Theme) -> String {
    match (theme, ink) {
        (Theme::File, ink) => {
            let [r, g, b] = colour(ink);
            format!("#{r:02x}{g:02x}{b:02x}")
        }
        (Theme::Page, Ink::Text) => "var(--ink)".into(),
        (Theme::Page, Ink::Faint) => "var(--faint)".into(),
        (Theme::Page, Ink::Paper) => "var(--paper)".into(),
        (Theme::Page, Ink::Series(k)) => format!("var(--s{})", k % SERIES.len()),
    }
}

/// Text as HTML and XML may hold it, also between quotes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML has no other control characters, and what is not seen must not turn what is.
            c if shown::hidden(c) && !"\t\n\r".contains(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

impl Scene {
    /// The picture as SVG.
    pub fn svg(&self, theme: Theme) -> String {
        let (w, h) = (self.width, self.height);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{}\" \
             font-family=\"DejaVu Sans, Verdana, sans-serif\">",
            escape(&self.title)
        );
        if theme == Theme::File {
            let _ = write!(out, "<rect width=\"{w}\" height=\"{h}\" fill=\"{}\"/>", paint(Ink::Paper, theme));
        }
        for mark in &self.marks {
            mark_svg(&mut out, mark, theme);
        }
        out + "</svg>"
    }
}

fn mark_svg(out: &mut String, mark: &Mark, theme: Theme) {
    // Writing to a string does not fail.
    let _ = match mark {
        Mark::Line { points, stroke } => {
            write!(out, "<polyline points=\"{}\" fill=\"none\" {}/>", list(points), stroked(*stroke, theme))
        }
        Mark::Area { points, ink, opacity } => {
            write!(out, "<polygon points=\"{}\" fill=\"{}\" fill-opacity=\"{opacity}\"/>", list(points), paint(*ink, theme))
        }
        Mark::Tile { place: [x, y, w, h], ink, opacity } => write!(
            out,
            "<rect x=\"{x:.2}\" y=\"{y:.2}\" width=\"{w:.2}\" height=\"{h:.2}\" fill=\"{}\" fill-opacity=\"{opacity}\" \
             shape-rendering=\"crispEdges\"/>",
            paint(*ink, theme)
        ),
        Mark::Dot { at: [x, y], radius, shape: DotShape::Circle, ink } => {
            write!(out, "<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius}\" fill=\"{}\"/>", paint(*ink, theme))
        }
        Mark::Dot { at, radius, shape: DotShape::Cross, ink } => {
            let corners = DotShape::Cross.corners(*at, *radius);
            let stroke = stroked(Stroke::new(*ink, radius * 0.6), theme);
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| list(&corners[k..=k]));
            write!(out, "<path d=\"M{a}L{b}M{c}L{d}\" {stroke}/>")
        }
        Mark::Dot { at, radius, shape, ink } => {
            write!(out, "<polygon points=\"{}\" fill=\"{}\"/>", list(&shape.corners(*at, *radius)), paint(*ink, theme))
        }
        Mark::Text { at: [x, y], text, size, anchor, upwards } => {
            let anchor = match anchor {
                TextAnchor::Start => "start",
                TextAnchor::Middle => "middle",
                TextAnchor::End => "end",
            };
            let turn = if *upwards { format!(" transform=\"rotate(-90 {x:.2} {y:.2})\"") } else { String::new() };
            let baseline = [*x, y + size * CAPITAL / 2.0];
            write!(
                out,
                "<text x=\"{:.2}\" y=\"{:.2}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{}\"{turn}>{}</text>",
                baseline[0],
                baseline[1],
                paint(Ink::Text, theme),
                escape(text)
            )
        }
    };
}

fn stroked(stroke: Stroke, theme: Theme) -> String {
    let dash = if stroke.dashed { " stroke-dasharray=\"7 5\"" } else { "" };
    format!("stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\"{dash}", paint(stroke.ink, theme), stroke.width)
}

fn list(points: &[[f64; 2]]) -> String {
    points.iter().map(|[x, y]| format!("{x:.2},{y:.2}")).collect::<Vec<_>>().join(" ")
}
