//! A JSON text enters, a tree of values leaves, or what is wrong and at which byte.
//!
//! Stricter than the standard where two readers could differ: a key occurs once, numbers keep their text, nesting is limited.

use std::collections::BTreeSet;

/// A JSON value, as far as certificates need it; numbers stay text, so that each reader decides what it takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// A number, as written.
    Number(String),
    /// A string, unescaped.
    Text(String),
    /// `[...]`.
    Array(Vec<Json>),
    /// `{...}`, keys in the order of the text, each once.
    Object(Vec<(String, Json)>),
}

/// Brackets inside brackets; keeps the recursion, here and in whoever reads the tree, far from the end of the stack.
const MAX_DEPTH: usize = 256;

/// The whole text as one value.
pub fn parse(text: &str) -> Result<Json, String> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.expected("the end")),
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.byte(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.byte()
    }

    fn expected(&self, what: &str) -> String {
        format!("byte {}: expected {what}", self.at)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, byte: u8) -> Result<(), String> {
        if self.take(byte) { Ok(()) } else { Err(self.expected(&format!("`{}`", char::from(byte)))) }
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        match self.peek() {
            Some(b'{' | b'[') if depth == MAX_DEPTH => Err(format!("byte {}: nested deeper than {MAX_DEPTH}", self.at)),
            Some(b'{') => {
                let fields = self.items(b'}', |this| {
                    let key = if this.peek() == Some(b'"') { this.string()? } else { return Err(this.expected("a key")) };
                    this.need(b':')?;
                    Ok((key, this.value(depth + 1)?))
                })?;
                let keys: BTreeSet<_> = fields.iter().map(|(key, _)| key).collect();
                if keys.len() < fields.len() {
                    return Err(format!("byte {}: a key of this object occurs twice", self.at));
                }
                Ok(Json::Object(fields))
            }
            Some(b'[') => Ok(Json::Array(self.items(b']', |this| this.value(depth + 1))?)),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => Err(self.expected("a value")),
        }
    }

    /// What stands between brackets, with commas between.
    fn items<T>(&mut self, close: u8, item: impl Fn(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        self.at += 1;
        let mut items = Vec::new();
        if self.take(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.take(close) {
                return Ok(items);
            }
            self.need(b',')?;
        }
    }

    fn digits(&mut self) -> Result<(), String> {
        let start = self.at;
        while matches!(self.byte(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(self.expected("a digit")) }
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        self.at += usize::from(self.byte() == Some(b'-'));
        let first = self.at;
        self.digits()?;
        if self.text.as_bytes()[first] == b'0' && self.at > first + 1 {
            return Err(format!("byte {first}: a number starts with a superfluous 0"));
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(Json::Number(self.text[start..self.at].to_string()))
    }

    fn string(&mut self) -> Result<String, String> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let start = self.at;
            while !matches!(self.byte(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            out.push_str(&self.text[start..self.at]);
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                _ => return Err(self.expected("a closing quote")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let byte = self.byte();
        self.at += 1;
        let found = match byte {
            Some(b'b') => Some('\u{8}'),
            Some(b'f') => Some('\u{c}'),
            Some(b'n') => Some('\n'),
            Some(b'r') => Some('\r'),
            Some(b't') => Some('\t'),
            Some(b'u') => {
                let mut code = self.hex();
                if let Some(high @ 0xd800..0xdc00) = code {
                    // Two halves of one character.
                    self.at += 2 * usize::from(self.text.as_bytes()[self.at..].starts_with(b"\\u"));
                    code = self.hex().filter(|low| (0xdc00..0xe000).contains(low));
                    code = code.map(|low| 0x1_0000 + ((high - 0xd800) << 10) + low - 0xdc00);
                }
                code.and_then(char::from_u32)
            }
            plain => plain.filter(|b| b"\"\\/".contains(b)).map(char::from),
        };
        found.ok_or_else(|| self.expected("an escape"))
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.chars().try_fold(0, |sum, d| Some(sum * 16 + d.to_digit(16)?))
    }
}

/// A string as JSON writes it.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => out.extend(format!("\\u{:04x}", u32::from(c)).chars()),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The nearest float32, as Rust reads decimals; an infinite one is refused.
pub fn float(value: Json, what: &str) -> Result<f32, String> {
    match value {
        Json::Number(text) => text.parse().ok().filter(|x: &f32| x.is_finite()).ok_or(format!("`{what}` is out of range")),
        _ => Err(format!("`{what}` is no number")),
    }
}

/// The values of exactly these keys.
pub fn fields<const N: usize>(value: Json, keys: [&str; N], what: &str) -> Result<[Json; N], String> {
    let Json::Object(mut fields) = value else { return Err(format!("{what} is no object")) };
    let mut values = Vec::new();
    for key in keys {
        let at = fields.iter().position(|(k, _)| k == key).ok_or_else(|| format!("{what} has no `{key}`"))?;
        values.push(fields.swap_remove(at).1);
    }
    let unknown = || format!("{what} has unknown keys");
    if fields.is_empty() { values.try_into().map_err(|_| unknown()) } else { Err(unknown()) }
}

/// The text of a string.
pub fn string(value: Json, what: &str) -> Result<String, String> {
    if let Json::Text(text) = value { Ok(text) } else { Err(format!("`{what}` is no string")) }
}

/// The items of a list.
pub fn array(value: Json, what: &str) -> Result<Vec<Json>, String> {
    if let Json::Array(items) = value { Ok(items) } else { Err(format!("`{what}` is no list")) }
}

/// A whole number without sign, point or exponent.
pub fn whole<T: std::str::FromStr>(value: Json, what: &str) -> Result<T, String> {
    match value {
        Json::Number(text) if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    }
    .ok_or_else(|| format!("{what} is no whole number in range"))
}

#[cfg(test)]
mod tests;
