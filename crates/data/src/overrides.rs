//! The `[features.NAME]` tables of a rule file enter as TOML; stated kinds and domains, free of contradictions, leave.

use deepsade_spec::float32::{round_down, round_up};
use deepsade_spec::{Domain, Feature, Schema};
use indexmap::IndexMap;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::error::{DataError, OverrideProblem};
use super::gap::{MISSING_LEVEL, Markers, Missing};
use super::number::fits_f32;
use super::table::Kind;

/// Up to here every whole number is a float32.
pub(crate) const LARGEST_INTEGER: f64 = deepsade_spec::LARGEST_INTEGER as f64;

/// The `[features]` table, in the order of the rule file.
pub type Overrides = IndexMap<String, FeatureOverride>;

/// A list of two numbers: serde's own reading of an array takes the first two of a longer list.
fn two_ends<'de, D: Deserializer<'de>>(list: D) -> Result<Option<[f64; 2]>, D::Error> {
    let Some(ends) = Option::<Vec<f64>>::deserialize(list)? else { return Ok(None) };
    let count = ends.len();
    ends.try_into().map(Some).map_err(|_| de::Error::custom(format!("expected a list of 2 values, found {count}")))
}

/// What a rule file states about one feature; what it leaves open comes from the data.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FeatureOverride {
    /// `"real"`, `"integer"` or `"category"`. Default: category if `levels` are stated or the column holds text, else real.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<FeatureKind>,
    /// Smallest and largest value of a number, finite, in this order. Default: those of the data.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "two_ends")]
    pub range: Option<[f64; 2]>,
    /// What every value of a real number is a multiple of: a power of two from 2^-20 to 2^20 other than 1. Default: they may be any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    /// The levels of a category, in the order of their columns, at least one. Default: those of the data, sorted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<String>>,
    /// The levels of a category that have an order, from the lowest to the highest: the network reads the place of a level as a whole
    /// number. Default: levels have no order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<String>>,
    /// What is read where a row has no value, in training and ever after: `"median"`, `"mean"`, `"most-frequent"`, `"level"` (a level of
    /// its own), a number, or `{ level = "..." }`. Default: as `[data]` says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// Whether a feature of its own, `NAME is missing`, says where there was no value. Default: as `[data]` says; not of a category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indicator: Option<bool>,
    /// Texts that stand for no value in this column, besides those of `[data]`. Default: none.
    #[serde(skip_serializing_if = "Markers::is_empty")]
    pub missing_values: Markers,
}

/// The kind of a feature's domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FeatureKind {
    /// An interval of reals.
    Real,
    /// Whole numbers.
    Integer,
    /// Named levels.
    Category,
}

impl FeatureOverride {
    /// A real feature with a stated range.
    pub fn real(lo: f64, hi: f64) -> Self {
        Self { kind: Some(FeatureKind::Real), range: Some([lo, hi]), ..Self::default() }
    }

    /// A statement of exactly this domain.
    pub fn of(domain: &Domain) -> Self {
        match domain {
            Domain::Real { lo, hi } => Self::real(f64::from(*lo), f64::from(*hi)),
            Domain::Integer { lo, hi } => {
                Self { kind: Some(FeatureKind::Integer), range: Some([f64::from(*lo), f64::from(*hi)]), ..Self::default() }
            }
            Domain::Stepped { lo, hi, step } => Self { step: Some((*step).into()), ..Self::real((*lo).into(), (*hi).into()) },
            Domain::Ordered { levels } => {
                Self { kind: Some(FeatureKind::Category), order: Some(levels.clone()), ..Self::default() }
            }
            Domain::Category { levels } => {
                Self { kind: Some(FeatureKind::Category), levels: Some(levels.clone()), ..Self::default() }
            }
        }
    }

    /// A statement of exactly this feature of a schema.
    pub fn of_feature(feature: &Feature, schema: &Schema) -> Self {
        let filled = schema.filled.iter().find(|f| f.feature == feature.name);
        Self {
            missing: filled.map(|f| Missing::Stated(f.with.clone())),
            indicator: filled.map(|f| f.indicator),
            missing_values: Markers(filled.map(|f| f.markers.clone()).unwrap_or_default()),
            ..Self::of(&feature.domain)
        }
    }

    /// Refuses contradictions; `name` is the feature's, for the message.
    pub fn check(&self, name: &str) -> Result<(), DataError> {
        match self.problem() {
            None => Ok(()),
            Some(problem) => Err(DataError::Override { name: name.to_owned(), problem }),
        }
    }

    fn problem(&self) -> Option<OverrideProblem> {
        let is_number = matches!(self.kind, Some(FeatureKind::Real | FeatureKind::Integer)) || self.range.is_some();
        if self.range.is_some() && self.kind == Some(FeatureKind::Category) {
            return Some(OverrideProblem::RangeOfCategory);
        }
        if (self.levels.is_some() || self.order.is_some()) && is_number {
            return Some(OverrideProblem::LevelsOfNumber);
        }
        if self.levels.is_some() && self.order.is_some() {
            return Some(OverrideProblem::LevelsAndOrder);
        }
        if self.missing == Some(Missing::OwnLevel) && (is_number || self.order.is_some()) {
            return Some(if is_number { OverrideProblem::LevelOfNumber } else { OverrideProblem::LevelInOrder });
        }
        if self.indicator == Some(true)
            && (self.levels.is_some() || self.kind == Some(FeatureKind::Category))
            && self.order.is_none()
        {
            return Some(OverrideProblem::IndicatorOfCategory);
        }
        if let Some(step) = self.step {
            let problem = match self.kind {
                Some(FeatureKind::Integer) => Some(OverrideProblem::StepOf("a whole one")),
                Some(FeatureKind::Category) => Some(OverrideProblem::StepOf("a category")),
                _ if self.levels.is_some() || self.order.is_some() => Some(OverrideProblem::StepOf("a category")),
                _ if step == 1.0 => Some(OverrideProblem::StepOfOne),
                // Whatever the range.
                _ => (!(is_f32(step) && stepped(0.0, 0.0, step).is_stepped())).then_some(OverrideProblem::Step(step)),
            };
            if problem.is_some() {
                return problem;
            }
        }
        if let Some([lo, hi]) = self.range {
            // Written so that NaN fails too.
            if !(fits_f32(lo) && fits_f32(hi) && lo <= hi) {
                return Some(OverrideProblem::Range(lo, hi));
            }
            let exact = |v: f64| v.fract() == 0.0 && v.abs() <= LARGEST_INTEGER;
            if self.kind == Some(FeatureKind::Integer) && !(exact(lo) && exact(hi)) {
                return Some(OverrideProblem::IntegerRange(lo, hi));
            }
            if let Some(step) = self.step
                && !(is_f32(lo) && is_f32(hi) && stepped(lo, hi, step).is_stepped())
            {
                return Some(OverrideProblem::SteppedRange(lo, hi, step));
            }
        }
        let levels = self.levels.as_deref().or(self.order.as_deref())?;
        if levels.is_empty() {
            return Some(OverrideProblem::NoLevels);
        }
        let (_, level) = levels.iter().enumerate().find(|(i, level)| levels[..*i].contains(level))?;
        Some(OverrideProblem::DuplicateLevel(level.clone()))
    }

    /// How the data column must be read; `None` leaves it to the data.
    pub fn expected_kind(&self) -> Option<Kind> {
        match self.kind {
            Some(FeatureKind::Category) => Some(Kind::Text),
            Some(FeatureKind::Real | FeatureKind::Integer) => Some(Kind::Number),
            None if self.levels.is_some() || self.order.is_some() => Some(Kind::Text),
            None if self.step.is_some() => Some(Kind::Number),
            None => self.range.map(|_| Kind::Number),
        }
    }

    /// The domain, if it is fully stated; for an override that passed [`FeatureOverride::check`].
    pub fn stated_domain(&self) -> Option<Domain> {
        if let Some(levels) = &self.levels {
            let own = (self.missing == Some(Missing::OwnLevel)).then(|| MISSING_LEVEL.to_owned());
            let own = own.filter(|own| !levels.contains(own));
            return Some(Domain::Category { levels: levels.iter().cloned().chain(own).collect() });
        }
        if let Some(levels) = &self.order {
            return Some(Domain::Ordered { levels: levels.clone() });
        }
        let [lo, hi] = self.range?;
        Some(match (self.kind, self.step) {
            (Some(FeatureKind::Integer), _) => Domain::Integer { lo: lo as i32, hi: hi as i32 },
            (_, Some(step)) => stepped(lo, hi, step),
            _ => Domain::Real { lo: round_down(lo), hi: round_up(hi) },
        })
    }
}

/// The multiples of a step, from and to float32 numbers.
pub(crate) fn stepped(lo: f64, hi: f64, step: f64) -> Domain {
    Domain::Stepped { lo: lo as f32, hi: hi as f32, step: step as f32 }
}

fn is_f32(v: f64) -> bool {
    f64::from(v as f32) == v
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Overrides {
        toml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    fn refused(text: &str) -> String {
        match toml::from_str::<Overrides>(text) {
            Err(e) => e.to_string(),
            Ok(overrides) => overrides.iter().find_map(|(name, o)| o.check(name).err()).expect(text).to_string(),
        }
    }

    #[test]
    fn the_order_of_the_file_is_kept() {
        let o = parse("[z]\nrange = [0, 1]\n[a]\nkind = 'integer'\nrange = [-3, 5]\n[m]\nlevels = ['y', 'n']");
        assert_eq!(o.keys().collect::<Vec<_>>(), ["z", "a", "m"]);
        assert!(o.iter().all(|(name, f)| f.check(name).is_ok()));
        assert_eq!(o["a"].stated_domain(), Some(Domain::Integer { lo: -3, hi: 5 }));
        assert_eq!(o["m"].stated_domain(), Some(Domain::Category { levels: vec!["y".into(), "n".into()] }));
        assert_eq!((o["z"].expected_kind(), o["m"].expected_kind()), (Some(Kind::Number), Some(Kind::Text)));
    }

    #[test]
    fn a_step_is_read_and_written() {
        let o = parse("[t]\nstep = 0.25\nrange = [-1, 8]\n[big]\nkind = 'real'\nstep = 1024\n");
        assert!(o.iter().all(|(name, f)| f.check(name).is_ok()));
        let domain = Domain::Stepped { lo: -1.0, hi: 8.0, step: 0.25 };
        assert_eq!((o["t"].stated_domain(), o["big"].stated_domain()), (Some(domain.clone()), None));
        assert_eq!(o["big"].expected_kind(), Some(Kind::Number));
        let text = toml::to_string(&FeatureOverride::of(&domain)).unwrap();
        assert_eq!(toml::from_str::<FeatureOverride>(&text).unwrap().stated_domain(), Some(domain), "{text}");
    }

    #[test]
    fn stated_reals_are_rounded_outward() {
        let Some(Domain::Real { lo, hi }) = FeatureOverride::real(0.1, 0.3).stated_domain() else { panic!("a real domain") };
        assert!(f64::from(lo) <= 0.1 && f64::from(hi) >= 0.3);
        assert!(f64::from(lo.next_up()) > 0.1 && f64::from(hi.next_down()) < 0.3);
    }

    #[test]
    fn refusals() {
        assert!(refused("[a]\nrange = [2, 1]").contains("[features.a]: `range = [2, 1]`"));
        assert!(refused("[a]\nrange = [0, inf]").contains("finite"));
        assert!(refused("[a]\nrange = [nan, 1]").contains("finite"));
        assert!(refused("[a]\nrange = [0, 1e39]").contains("float32"));
        assert!(refused("[a]\nkind = 'integer'\nrange = [0, 1.5]").contains("whole numbers"));
        assert!(refused("[a]\nkind = 'integer'\nrange = [0, 16777217]").contains("2^24"));
        assert!(refused("[a]\nlevels = []").contains("empty"));
        assert!(refused("[a]\nlevels = ['x', 'x']").contains("'x' is listed twice"));
        assert!(refused("[a]\nkind = 'category'\nrange = [0, 1]").contains("not a `range`"));
        assert!(refused("[a]\nkind = 'real'\nlevels = ['x']").contains("not `levels`"));
        assert!(refused("[a]\nrange = [0, 1]\nlevels = ['x']").contains("not `levels`"));
        assert!(refused("[a]\nstep = 0.01").contains("`kind = \"integer\"`"));
        assert!(refused("[a]\nstep = 0.25000000001").contains("power of two"));
        assert!(refused("[a]\nstep = 1").contains("`kind = \"integer\"`"));
        for step in ["0", "-0.5", "inf", "nan", "2097152", "1e-7", "4e-46"] {
            assert!(refused(&format!("[a]\nstep = {step}")).contains("power of two"), "{step}");
        }
        assert!(refused("[a]\nkind = 'integer'\nstep = 2").contains("not a whole one"));
        assert!(refused("[a]\nkind = 'category'\nstep = 2").contains("not a category"));
        assert!(refused("[a]\nlevels = ['x']\nstep = 2").contains("not a category"));
        assert!(refused("[a]\nstep = 0.5\nrange = [0, 0.25]").contains("multiples of `step = 0.5`"));
        assert!(refused("[a]\nstep = 0.5\nrange = [0, 8388608.5]").contains("2^24"));
        assert!(refused("[a]\nstep = 0.5\nrange = [0, 3.0000000001]").contains("multiples"));
        assert!(refused("[a]\nrnge = [0, 1]").contains("unknown field `rnge`"));
        assert!(refused("[a]\nkind = 'text'").contains("unknown variant `text`"));
    }
}
