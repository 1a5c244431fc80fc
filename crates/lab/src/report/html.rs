//! Parts of a page enter, the page leaves: everything in one file, and nothing that comes from a user's file unescaped.

use std::fmt::Write;

use deepsade_spec::shown;

pub(crate) use crate::figure::escape;
use crate::figure::{Scene, Theme};

/// Tables with more columns than this may be wider than the text.
const WIDE: usize = 9;
const STYLE: &str = include_str!("../../assets/page.css");

/// Nothing is loaded from anywhere, whatever the page holds.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// A page under construction.
pub(crate) struct Html {
    body: String,
    links: Vec<(&'static str, &'static str)>,
}

impl Html {
    pub(crate) fn new() -> Self {
        Self { body: String::new(), links: Vec::new() }
    }

    /// Begins a section.
    pub(crate) fn section(&mut self, id: &'static str, title: &'static str) {
        self.links.push((id, title));
        self.raw(&format!("<h2 id=\"{id}\">{title}</h2>\n"));
    }

    /// Adds markup of ours.
    pub(crate) fn raw(&mut self, html: &str) {
        self.body.push_str(html);
    }

    /// Adds a paragraph of text.
    pub(crate) fn paragraph(&mut self, text: &str) {
        self.raw(&format!("<p>{}</p>\n", marked(text)));
    }

    /// Adds a table of text; numbers go to the right.
    pub(crate) fn table(&mut self, head: &[&str], rows: &[Vec<String>]) {
        let class = |text: &str| if text.parse::<f64>().is_ok() || text.contains(" ± ") { " class=\"n\"" } else { "" };
        // As in Markdown, stars around a cell make it bold.
        let bold = |text: &str| match text.strip_prefix("**").and_then(|t| t.strip_suffix("**")) {
            Some(inner) => format!("<strong>{}</strong>", escape(inner)),
            None => escape(text),
        };
        let right = |k: usize| rows.iter().all(|r| r.get(k).is_none_or(|t| t.is_empty() || t == "–" || !class(t).is_empty()));
        let mut out = format!("<div class=\"scroll{}\"><table><tr>", if head.len() > WIDE { " wide" } else { "" });
        for (k, name) in head.iter().enumerate() {
            let class = if right(k) && !rows.is_empty() { " class=\"n\"" } else { "" };
            let _ = write!(out, "<th scope=\"col\"{class}>{}</th>", escape(name));
        }
        out.push_str("</tr>\n");
        for row in rows {
            out.push_str("<tr>");
            for (k, cell) in row.iter().enumerate() {
                let class = if right(k) { " class=\"n\"" } else { "" };
                let _ = write!(out, "<td{class}>{}</td>", bold(cell));
            }
            out.push_str("</tr>\n");
        }
        self.raw(&(out + "</table></div>\n"));
    }

    /// Adds what is hidden until it is asked for.
    pub(crate) fn folded(&mut self, summary: &str, inside: impl FnOnce(&mut Self)) {
        self.raw(&format!("<details><summary>{}</summary>\n", escape(summary)));
        inside(self);
        self.raw("</details>\n");
    }

    /// Adds a picture with what it says.
    pub(crate) fn figure(&mut self, scene: &Scene, caption: &str) {
        self.raw(&format!("<figure>{}<figcaption>{}</figcaption></figure>\n", scene.svg(Theme::Page), escape(caption)));
    }

    /// Adds a picture from a file, as an image, in which nothing can run.
    pub(crate) fn picture(&mut self, svg: &str, caption: &str) {
        let mut source = String::with_capacity(2 * svg.len());
        for byte in svg.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b' ' | b'=' | b'/' | b':' | b'.' | b',' | b'-' | b';' | b'(' | b')' => {
                    source.push(byte as char);
                }
                other => {
                    let _ = write!(source, "%{other:02X}");
                }
            }
        }
        let caption = escape(caption);
        self.raw(&format!(
            "<figure><img alt=\"{caption}\" src=\"data:image/svg+xml,{source}\"><figcaption>{caption}</figcaption></figure>\n"
        ));
    }

    /// The page; `badge` stands on top of it.
    pub(crate) fn finish(self, title: &str, kind: &str, badge: &str) -> String {
        let links: String = self.links.iter().map(|(id, name)| format!("<a href=\"#{id}\">{name}</a>")).collect();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <link rel=\"icon\" href=\"data:,\">\n<title>{title} – DeepSaDe</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header>\n<h1>{title}</h1>\n<p class=\"soft\">{kind}</p>\n\
             {badge}<nav aria-label=\"Sections\">{links}</nav>\n</header>\n<main id=\"main\">\n{body}</main>\n\
             <footer>Made by <code>deepsade report</code> {version}. The page loads nothing from anywhere.</footer>\n</body>\n</html>\n",
            title = escape(title),
            kind = escape(kind),
            body = self.body,
            version = env!("CARGO_PKG_VERSION"),
        )
    }
}

/// Text of ours: escaped, and what stands between backticks as code.
pub(crate) fn marked(text: &str) -> String {
    let parts = escape(text);
    let part = |(k, part): (usize, &str)| if k % 2 == 1 { format!("<code>{part}</code>") } else { part.into() };
    parts.split('`').enumerate().map(part).collect()
}

/// JSON as a script element may hold it: no `<` can end the element, and nothing unseen reaches the page.
pub(crate) fn json_script(id: &str, value: &serde_json::Value) -> String {
    let text = value.to_string().replace('<', "\\u003c").replace(shown::hidden, "\u{fffd}");
    format!("<script type=\"application/json\" id=\"{id}\">{text}</script>\n")
}

/// A number for people: about four digits.
pub(crate) fn number(v: f64) -> String {
    match v.abs() {
        0.0 => "0".into(),
        a if !a.is_finite() => v.to_string(),
        a if !(1e-3..1e6).contains(&a) => format!("{v:.3e}"),
        a if a >= 1000.0 => format!("{v:.0}"),
        a if a >= 100.0 => format!("{v:.1}"),
        a if a >= 1.0 => format!("{v:.2}"),
        _ => format!("{v:.4}"),
    }
}
