//! A certificate enters, its text leaves. For those who search: the judge only reads.

use std::fmt::Write;

use deepsade_spec::{Cut, json};

use super::{Certificate, DECODE, FORMAT, Lines, PairArgument, PairProof, SIGNS, STEP, Tree, UNREAD, VERSION};

impl Certificate {
    /// The certificate's text; equal certificates give equal texts.
    pub fn to_json(&self) -> String {
        let mut out = format!(
            "{{\"format\":\"{FORMAT}\",\"version\":{VERSION},\"model_sha256\":{},\"rules_sha256\":{},\"arithmetic\":\"{}\",\"rules\":[",
            json::quoted(&self.model_sha256),
            json::quoted(&self.rules_sha256),
            self.arithmetic.name(),
        );
        for (k, rule) in self.rules.iter().enumerate() {
            let comma = if k > 0 { "," } else { "" };
            let _ = write!(out, "{comma}\n{{\"name\":{},\"tree\":", json::quoted(&rule.name));
            rule.tree.write(&mut out);
            out.push('}');
        }
        out.push(']');
        for (k, PairProof { name, argument }) in self.pairs.iter().enumerate() {
            let _ = write!(out, "{}\n{{\"name\":{},\"proof\":", if k > 0 { "," } else { ",\n\"pairs\":[" }, json::quoted(name));
            match argument {
                PairArgument::Signs => out.push_str(&format!("\"{SIGNS}\"")),
                PairArgument::Unread => out.push_str(&format!("\"{UNREAD}\"")),
                PairArgument::Slopes(tree) => tree.write(&mut out),
            }
            out.push('}');
        }
        out.push_str(if self.pairs.is_empty() { "" } else { "]" });
        if let Some(step) = &self.step {
            out.push_str(",\n\"step\":");
            super::step::write(step, &mut out);
        }
        if let Some(clips) = &self.clips {
            out.push_str(",\n\"clips\":");
            out.push_str(&clips.to_json());
        }
        out.push_str("}\n");
        out
    }
}

impl Tree {
    pub(super) fn write(&self, out: &mut String) {
        match self {
            Self::Split { feature, cut, below, above } => {
                let _ = match cut {
                    Cut::At(at) => write!(out, "{{\"feature\":{feature},\"at\":{at:?},\n\"below\":"),
                    Cut::Levels(levels) => write!(out, "{{\"feature\":{feature},\"levels\":{},\n\"below\":", list(levels)),
                };
                Self::write_parts(below, above, out);
            }
            Self::Unit { node, unit, below, above } => {
                let _ = write!(out, "{{\"node\":{node},\"unit\":{unit},\n\"below\":");
                Self::write_parts(below, above, out);
            }
            Self::Leaf { bounds, cells, lines } => {
                let cells: Vec<String> = cells.iter().map(|l| list(l)).collect();
                let _ = write!(out, "{{\"bounds\":\"{}\",\"cells\":{}", bounds.name(), list(&cells));
                let line = |l: &Lines| format!("{{\"signs\":{:?},\"slopes\":{}}}", l.signs, list(l.slopes.as_flattened()));
                if !lines.is_empty() {
                    let _ = write!(out, ",\"lines\":{}", list(&lines.iter().map(line).collect::<Vec<_>>()));
                }
                out.push('}');
            }
            Self::Decode => out.push_str(&format!("\"{DECODE}\"")),
            Self::Step => out.push_str(&format!("\"{STEP}\"")),
        }
    }

    fn write_parts(below: &Self, above: &Self, out: &mut String) {
        below.write(out);
        out.push_str(",\n\"above\":");
        above.write(out);
        out.push('}');
    }
}

fn list<T: ToString>(items: &[T]) -> String {
    format!("[{}]", items.iter().map(T::to_string).collect::<Vec<_>>().join(","))
}
