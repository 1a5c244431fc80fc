//! The bytes of a protobuf message enter; its fields leave one by one, each with its bytes as they stand in the file.
//!
//! For what is carried over without being understood. Forms that readers understand differently are refused: groups, numbers written
//! longer than they need be, fields that are cut off.

use super::error::ImportError;

/// One field of a message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) number: u64,
    pub(super) value: FieldValue<'a>,
    /// Tag and value as they stand.
    pub(super) raw: &'a [u8],
}

/// What a field holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum FieldValue<'a> {
    Varint(u64),
    Fixed,
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    /// The message or text that it holds.
    pub(super) fn bytes(&self) -> Option<&'a [u8]> {
        if let FieldValue::Bytes(bytes) = self.value { Some(bytes) } else { None }
    }

    /// Its text.
    pub(super) fn text(&self) -> Result<String, ImportError> {
        let text = self.bytes().and_then(|b| std::str::from_utf8(b).ok());
        text.map(String::from).ok_or(ImportError::Wire("a name that is no text"))
    }
}

/// The fields of a message, in the order of the file.
pub(super) fn fields(message: &[u8]) -> Result<Vec<Field<'_>>, ImportError> {
    let (mut rest, mut fields) = (message, Vec::new());
    while !rest.is_empty() {
        let start = rest;
        let tag = varint(&mut rest)?;
        let value = match tag & 7 {
            0 => FieldValue::Varint(varint(&mut rest)?),
            1 => fixed(&mut rest, 8)?,
            2 => {
                let length = usize::try_from(varint(&mut rest)?).map_err(|_| CUT)?;
                FieldValue::Bytes(take(&mut rest, length)?)
            }
            5 => fixed(&mut rest, 4)?,
            _ => return Err(ImportError::Wire("a group, which ONNX does not use")),
        };
        if tag >> 3 == 0 {
            return Err(ImportError::Wire("a field without a number"));
        }
        fields.push(Field { number: tag >> 3, value, raw: &start[..start.len() - rest.len()] });
    }
    Ok(fields)
}

/// Appends a field that holds bytes.
pub(super) fn put(number: u64, bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(number << 3 | 2, out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn put_varint(mut v: u64, out: &mut Vec<u8>) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

const CUT: ImportError = ImportError::Wire("a field that is cut off");

fn take<'a>(rest: &mut &'a [u8], n: usize) -> Result<&'a [u8], ImportError> {
    let (taken, left) = rest.split_at_checked(n).ok_or(CUT)?;
    *rest = left;
    Ok(taken)
}

fn fixed<'a>(rest: &mut &'a [u8], n: usize) -> Result<FieldValue<'a>, ImportError> {
    take(rest, n).map(|_| FieldValue::Fixed)
}

fn varint(rest: &mut &[u8]) -> Result<u64, ImportError> {
    let mut v = 0u64;
    for k in 0..10 {
        let byte = take(rest, 1)?[0];
        let part = u64::from(byte & 0x7f);
        if k == 9 && part > 1 {
            break;
        }
        v |= part << (7 * k);
        if byte < 0x80 {
            let minimal = k == 0 || byte != 0;
            return if minimal { Ok(v) } else { Err(ImportError::Wire("a number that is written longer than it need be")) };
        }
    }
    Err(ImportError::Wire("a number beyond 64 bits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_as_they_stand() {
        let mut message = vec![0x08, 0x96, 0x01];
        put(7, b"graph", &mut message);
        message.extend([0x15, 1, 2, 3, 4]);
        let found = fields(&message).unwrap();
        assert_eq!(found.iter().map(|f| f.number).collect::<Vec<_>>(), [1, 7, 2]);
        assert_eq!(found[0].value, FieldValue::Varint(150));
        assert_eq!(found[1].bytes(), Some(&b"graph"[..]));
        assert_eq!(found.iter().flat_map(|f| f.raw).copied().collect::<Vec<_>>(), message);
    }

    #[test]
    fn what_readers_may_understand_differently_is_refused() {
        // A tag with a needless byte, a group, a cut text, a field 0, eleven bytes of a number.
        for message in
            [&[0x88, 0x00, 1][..], &[0x0b], &[0x12, 5, 1], &[0x00, 1], &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2]]
        {
            assert!(matches!(fields(message), Err(ImportError::Wire(_))), "{message:?}");
        }
        assert!(fields(&[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]).is_ok());
    }
}
