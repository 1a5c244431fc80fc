//! Comparisons, chains of them, and membership in a set.

use super::names::list;
use super::{Elaborator, Meaning, and, iff, not, or};
use crate::Rational;
use crate::ast::{Expr, Relation};
use crate::error::{Fault, RuleErrorKind, Span};
use crate::linear::Var;
use crate::typed::{Bool, Num};

impl Elaborator<'_> {
    pub(super) fn chain(&mut self, operands: &[Expr], relations: &[Relation]) -> Result<Meaning, Fault> {
        let values = operands.iter().map(|o| self.value(o)).collect::<Result<Vec<_>, _>>()?;
        let mut parts = Vec::new();
        for (k, relation) in relations.iter().enumerate() {
            let spans = (&operands[k].span, &operands[k + 1].span);
            let [a, b] = [self.copy(&values[k], spans.0)?, self.copy(&values[k + 1], spans.1)?];
            parts.push(self.compare(a, *relation, b, spans)?);
        }
        Ok(Meaning::Bool(and(parts)))
    }

    fn compare(&self, a: Meaning, relation: Relation, b: Meaning, spans: (&Span, &Span)) -> Result<Bool, Fault> {
        let whole = spans.0.start..spans.1.end;
        let equality = matches!(relation, Relation::Equal | Relation::NotEqual);
        let signed = |member: Bool| if relation == Relation::Equal { member } else { not(member) };
        match (a, b) {
            (owner @ (Meaning::Category(_) | Meaning::Class), Meaning::Text(text)) if equality => {
                Ok(signed(self.one_of(&owner, &[(text, spans.1.clone())])?))
            }
            (Meaning::Text(text), owner @ (Meaning::Category(_) | Meaning::Class)) if equality => {
                Ok(signed(self.one_of(&owner, &[(text, spans.0.clone())])?))
            }
            (Meaning::Ordered(f), Meaning::Text(text)) => self.compare_place(f, &text, relation, spans.1),
            (Meaning::Text(text), Meaning::Ordered(f)) => self.compare_place(f, &text, relation.turned(), spans.0),
            (Meaning::Bool(a), Meaning::Bool(b)) if equality => Ok(signed(iff(a, b))),
            (a @ (Meaning::Num(_) | Meaning::Bool(_)), b @ (Meaning::Num(_) | Meaning::Bool(_))) => {
                let mut difference = self.to_number(a, spans.0)?;
                difference.add_scaled(&-Rational::ONE, self.to_number(b, spans.1)?);
                Ok(compare_with_zero(difference, relation))
            }
            (a, b) => {
                let hint = self.hint_for_incomparable(&a, &b, equality);
                Err((RuleErrorKind::Incomparable { left: self.describe(&a), right: self.describe(&b) }, whole, hint))
            }
        }
    }

    /// An ordered category beside one of its levels: their places are compared.
    fn compare_place(&self, f: usize, text: &str, relation: Relation, span: &Span) -> Result<Bool, Fault> {
        let feature = &self.schema.features[f];
        let place = Self::level(text, &feature.name, feature.domain.levels().unwrap_or_default(), span)?;
        let mut difference = Num::var(Var::Feature(f));
        difference.add_scaled(&-Rational::ONE, Num::constant(Rational::from(place)));
        Ok(compare_with_zero(difference, relation))
    }

    fn hint_for_incomparable(&self, a: &Meaning, b: &Meaning, equality: bool) -> Option<String> {
        let levels = |value: &Meaning| self.levels(value).map(|(_, levels)| levels);
        match (a, b) {
            (Meaning::Num(_), Meaning::Text(text)) | (Meaning::Text(text), Meaning::Num(_)) => {
                text.parse::<f64>().is_ok().then(|| format!("a number has no quotes: {text}"))
            }
            (owner, Meaning::Num(_)) | (Meaning::Num(_), owner) if levels(owner).is_some() => {
                Some(format!("a level goes in quotes: {}", list(levels(owner).unwrap_or_default())))
            }
            _ if !equality => {
                Some("levels have no order unless one is stated ([features.NAME] order = [...]): use ==, != or in {...}".into())
            }
            _ => None,
        }
    }

    pub(super) fn membership(&mut self, item: &Expr, set: &[Expr]) -> Result<Bool, Fault> {
        let owner = self.value(item)?;
        if matches!(owner, Meaning::Category(_) | Meaning::Class) {
            let mut texts = Vec::new();
            for member in set {
                match self.value(member)? {
                    Meaning::Text(text) => texts.push((text, member.span.clone())),
                    other => {
                        let hint = self.hint_for_incomparable(&owner, &other, true);
                        let found = self.describe(&other);
                        return Err((RuleErrorKind::Type { expected: "a level in quotes", found }, member.span.clone(), hint));
                    }
                }
            }
            return self.one_of(&owner, &texts);
        }
        let mut parts = Vec::new();
        for member in set {
            let value = self.value(member)?;
            let copy = self.copy(&owner, &item.span)?;
            parts.push(self.compare(copy, Relation::Equal, value, (&item.span, &member.span))?);
        }
        Ok(or(parts))
    }

    /// The name and the levels of a category or of the class.
    fn levels(&self, owner: &Meaning) -> Option<(&str, &[String])> {
        match owner {
            Meaning::Category(f) | Meaning::Ordered(f) => {
                Some((&self.schema.features[*f].name, self.schema.features[*f].domain.levels()?))
            }
            Meaning::Class => Some((self.schema.task.target_columns()[0], self.schema.task.classes()?)),
            _ => None,
        }
    }

    fn one_of(&self, owner: &Meaning, texts: &[(String, Span)]) -> Result<Bool, Fault> {
        let (name, levels) = self.levels(owner).expect("only categories and the class are looked up here");
        let mut members = Vec::new();
        for (text, span) in texts {
            members.push(Self::level(text, name, levels, span)?);
        }
        members.sort_unstable();
        members.dedup();
        Ok(match owner {
            _ if members.len() == levels.len() => Bool::Const(true),
            Meaning::Category(f) => Bool::LevelIn(*f, members),
            _ => Bool::ClassIn(members, levels.len()),
        })
    }
}

/// `num relation 0`, decided where nothing varies.
pub(super) fn compare_with_zero(num: Num, relation: Relation) -> Bool {
    match num.as_constant() {
        Some(value) => Bool::Const(relation.holds(value)),
        None => Bool::Compare(num, relation),
    }
}
