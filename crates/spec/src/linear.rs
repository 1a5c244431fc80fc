//! Linear forms with rational coefficients over outputs and input features.

use std::collections::BTreeMap;

use dashu::integer::IBig;

use crate::Rational;

/// What a linear form ranges over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Var {
    /// Output j of the network.
    Output(usize),
    /// The value of a numeric feature.
    Feature(usize),
    /// 1 if a category (first index) has a level (second index), else 0.
    Level(usize, usize),
}

impl Var {
    /// True for outputs.
    pub fn is_output(self) -> bool {
        matches!(self, Var::Output(_))
    }

    /// The feature behind an input variable.
    pub fn feature(self) -> Option<usize> {
        match self {
            Var::Output(_) => None,
            Var::Feature(f) | Var::Level(f, _) => Some(f),
        }
    }
}

/// `sum of coefficient * variable + constant`; no coefficient is zero.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Linear {
    /// Coefficients, by variable.
    pub terms: BTreeMap<Var, Rational>,
    /// The constant.
    pub constant: Rational,
}

impl Linear {
    /// A constant.
    pub fn constant(value: Rational) -> Self {
        Self { terms: BTreeMap::new(), constant: value }
    }

    /// A variable.
    pub fn var(var: Var) -> Self {
        Self { terms: BTreeMap::from([(var, Rational::ONE)]), constant: Rational::ZERO }
    }

    /// True if no variable occurs.
    pub fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }

    /// The only variable that occurs, with its coefficient; `None` if there are others, or none at all.
    pub fn single(&self) -> Option<(Var, &Rational)> {
        let mut terms = self.terms.iter();
        let (Some((var, c)), None) = (terms.next(), terms.next()) else { return None };
        Some((*var, c))
    }

    /// True if an output occurs.
    pub fn mentions_output(&self) -> bool {
        // Outputs sort first.
        self.terms.first_key_value().is_some_and(|(v, _)| v.is_output())
    }

    /// Adds `factor * other`.
    pub fn add_scaled(&mut self, factor: &Rational, other: &Linear) {
        for (var, c) in &other.terms {
            let sum = self.terms.entry(*var).or_default();
            *sum += factor * c;
            if sum.is_zero() {
                self.terms.remove(var);
            }
        }
        self.constant += factor * &other.constant;
    }

    /// `factor * self`.
    #[must_use]
    pub fn scaled(&self, factor: &Rational) -> Self {
        let mut result = Self::default();
        result.add_scaled(factor, self);
        result
    }

    /// The value at a point.
    pub fn at(&self, value: &impl Fn(Var) -> Rational) -> Rational {
        self.terms.iter().fold(self.constant.clone(), |sum, (var, c)| sum + c * value(*var))
    }
}

/// The least common multiple of the denominators of some numbers.
pub fn common_denominator<'a>(numbers: impl Iterator<Item = &'a Rational>) -> IBig {
    // Multiplied by what c still has in its denominator, c times the product is whole.
    numbers.fold(IBig::ONE, |product, c| {
        let left = (c * Rational::from(product.clone())).denominator().clone();
        product * left
    })
}
