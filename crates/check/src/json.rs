//! A JSON text enters, a tree of values leaves, or what is wrong and at which byte.
//!
//! Stricter than the standard where two readers could differ: a key occurs once, numbers keep their text, nesting is limited.

/// A JSON value; numbers stay text, so that each reader decides what it takes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

/// Brackets inside brackets; keeps the recursion, here and in whoever reads the tree, far from the end of the stack.
const MAX_DEPTH: usize = 256;

/// The whole text as one value.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
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

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("byte {}: nested deeper than {MAX_DEPTH}", self.at));
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                for (word, value) in [("null", Value::Null), ("true", Value::Bool(true)), ("false", Value::Bool(false))] {
                    if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.expected("a value"))
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        self.need(b'[')?;
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Ok(Value::Array(items));
            }
            self.need(b',')?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, String> {
        self.need(b'{')?;
        let mut fields: Vec<(String, Value)> = Vec::new();
        if self.take(b'}') {
            return Ok(Value::Object(fields));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.expected("a key in quotes"));
            }
            let key = self.string()?;
            // No object that this crate reads has many keys; a limit keeps the search for duplicates cheap.
            if fields.len() == 64 || fields.iter().any(|(k, _)| *k == key) {
                return Err(format!("byte {}: key {key:?} occurs twice, or there are too many keys", self.at));
            }
            self.need(b':')?;
            let value = self.value(depth + 1)?;
            fields.push((key, value));
            if self.take(b'}') {
                return Ok(Value::Object(fields));
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

    fn number(&mut self) -> Result<Value, String> {
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
        Ok(Value::Number(self.text[start..self.at].to_string()))
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
        Ok(match byte {
            Some(plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let high = self.hex()?;
                let code = if (0xd800..0xdc00).contains(&high) && self.text.as_bytes()[self.at..].starts_with(b"\\u") {
                    self.at += 2;
                    let low = self.hex()?;
                    0x1_0000 + ((high - 0xd800) << 10) + low.checked_sub(0xdc00).filter(|l| *l < 0x400).unwrap_or(0x11_0000)
                } else {
                    high
                };
                char::from_u32(code).ok_or_else(|| self.expected("a character, not half of one"))?
            }
            _ => return Err(self.expected("an escape")),
        })
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4).filter(|d| d.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.ok_or_else(|| self.expected("four hexadecimal digits"))?;
        let code = digits.iter().fold(0, |sum, d| sum * 16 + char::from(*d).to_digit(16).unwrap_or(0));
        self.at += 4;
        Ok(code)
    }
}

/// A string as JSON writes it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
