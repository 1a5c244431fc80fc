//! The attributes of a call enter; leave the ones that its operator asks for, and a refusal if there are others.

use deepsade_net::onnx::piece::{Attribute, Call};

use super::error::Wrong;

/// What has not been asked for yet.
pub(super) struct Attributes<'a>(Vec<(&'a str, &'a Attribute)>);

impl<'a> Attributes<'a> {
    pub(super) fn new(call: &'a Call) -> Self {
        Self(call.attributes.iter().map(|(name, value)| (name.as_str(), value)).collect())
    }

    fn take<T>(
        &mut self,
        name: &'static str,
        expected: &'static str,
        read: impl Fn(&'a Attribute) -> Option<T>,
    ) -> Result<Option<T>, Wrong> {
        let Some(at) = self.0.iter().position(|(n, _)| *n == name) else { return Ok(None) };
        read(self.0.remove(at).1).map(Some).ok_or(Wrong::Attribute { name, expected })
    }

    pub(super) fn int(&mut self, name: &'static str) -> Result<Option<i64>, Wrong> {
        self.take(name, "a whole number", |a| if let Attribute::Int(i) = a { Some(*i) } else { None })
    }

    /// A whole number that is 0 or 1.
    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, Wrong> {
        match self.int(name)? {
            None => Ok(default),
            Some(i @ 0..=1) => Ok(i == 1),
            Some(_) => Err(Wrong::Attribute { name, expected: "0 or 1" }),
        }
    }

    pub(super) fn ints(&mut self, name: &'static str) -> Result<Option<Vec<i64>>, Wrong> {
        self.take(name, "whole numbers", |a| if let Attribute::Ints(i) = a { Some(i.clone()) } else { None })
    }

    pub(super) fn float(&mut self, name: &'static str, default: f32) -> Result<f32, Wrong> {
        Ok(self.take(name, "a number", |a| if let Attribute::Float(f) = a { Some(*f) } else { None })?.unwrap_or(default))
    }

    pub(super) fn floats(&mut self, name: &'static str) -> Result<&'a [f32], Wrong> {
        let expected = "numbers";
        let read = |a: &'a Attribute| if let Attribute::Floats(f) = a { Some(&f[..]) } else { None };
        self.take(name, expected, read)?.ok_or(Wrong::Attribute { name, expected })
    }

    pub(super) fn texts(&mut self, name: &'static str) -> Result<&'a [String], Wrong> {
        let expected = "texts";
        let read = |a: &'a Attribute| if let Attribute::Texts(t) = a { Some(&t[..]) } else { None };
        self.take(name, expected, read)?.ok_or(Wrong::Attribute { name, expected })
    }

    /// Refuses what was not asked for.
    pub(super) fn finish(self) -> Result<(), Wrong> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => Err(Wrong::UnknownAttribute { name: (*name).into() }),
        }
    }
}
