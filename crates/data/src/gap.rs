//! What a rule file says of missing values enters as TOML: which texts mean them, and what is read in their place.

use std::collections::HashSet;

use deepsade_spec::Fill;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The level that stands for no value, where a category is to have one of its own.
pub const MISSING_LEVEL: &str = "missing";

/// How numbers are filled in: `impute` of `[data]`. Categories get their most frequent level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Impute {
    /// Not at all.
    #[default]
    None,
    /// By the value in the middle; of two the smaller.
    Median,
    /// By the mean; of whole numbers and of multiples of a step, the nearest of these.
    Mean,
    /// By the commonest value; of several the smallest.
    MostFrequent,
}

/// What is read where one feature has no value: `missing` of `[features.NAME]`.
#[derive(Debug, Clone, PartialEq)]
pub enum Missing {
    /// What the data say.
    Found(Impute),
    /// A level of its own, called [`MISSING_LEVEL`].
    OwnLevel,
    /// This.
    Stated(Fill),
}

const EXPECTED: &str =
    "\"median\", \"mean\", \"most-frequent\", \"level\" (a level of its own), a number, or { level = \"...\" }";

impl Serialize for Missing {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Named<'a> {
            level: &'a str,
        }
        match self {
            Self::Found(how) => how.serialize(serializer),
            Self::OwnLevel => serializer.serialize_str("level"),
            // As a float64: its digits are read back as the same float32.
            Self::Stated(Fill::Number(v)) => serializer.serialize_f64(f64::from(*v)),
            Self::Stated(Fill::Level(level)) => Named { level }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Missing {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Said;

        impl<'de> de::Visitor<'de> for Said {
            type Value = Missing;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<Missing, E> {
                Ok(match word {
                    "median" => Missing::Found(Impute::Median),
                    "mean" => Missing::Found(Impute::Mean),
                    "most-frequent" => Missing::Found(Impute::MostFrequent),
                    "level" => Missing::OwnLevel,
                    _ => return Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                })
            }

            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Missing, E> {
                // Adding zero turns -0 into 0.
                Ok(Missing::Stated(Fill::Number(v as f32 + 0.0)))
            }

            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Missing, E> {
                self.visit_f64(v as f64)
            }

            fn visit_u64<E: de::Error>(self, v: u64) -> Result<Missing, E> {
                self.visit_f64(v as f64)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Missing, A::Error> {
                let (mut level, unknown) = (None, |key: &str| de::Error::unknown_field(key, &["level"]));
                while let Some(key) = map.next_key::<String>()? {
                    if key != "level" || level.is_some() {
                        return Err(unknown(&key));
                    }
                    level = Some(map.next_value::<String>()?);
                }
                level.map(|level| Missing::Stated(Fill::Level(level))).ok_or_else(|| de::Error::missing_field("level"))
            }
        }

        deserializer.deserialize_any(Said)
    }
}

/// Texts that stand for no value; in a rule file numbers may stand among them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Markers(pub Vec<String>);

impl Markers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All texts that stand for no value in a column: those of all columns first, each once.
    pub(crate) fn beside(&self, of_all: Option<&Self>) -> Vec<String> {
        let mut texts = of_all.map_or_else(Vec::new, |m| m.0.clone());
        texts.extend(self.0.iter().cloned());
        let mut seen = HashSet::new();
        texts.retain(|t| seen.insert(t.clone()));
        texts
    }
}

impl<'de> Deserialize<'de> for Markers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Marker(String);

        impl<'de> Deserialize<'de> for Marker {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct TextOrNumber;

                impl de::Visitor<'_> for TextOrNumber {
                    type Value = Marker;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a text or a number that stands for no value")
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<Marker, E> {
                        Ok(Marker(text.trim().to_owned()))
                    }

                    fn visit_f64<E: de::Error>(self, v: f64) -> Result<Marker, E> {
                        Ok(Marker(crate::number::as_text(v)))
                    }

                    fn visit_i64<E: de::Error>(self, v: i64) -> Result<Marker, E> {
                        Ok(Marker(v.to_string()))
                    }

                    fn visit_u64<E: de::Error>(self, v: u64) -> Result<Marker, E> {
                        Ok(Marker(v.to_string()))
                    }
                }

                deserializer.deserialize_any(TextOrNumber)
            }
        }

        Ok(Self(Vec::<Marker>::deserialize(deserializer)?.into_iter().map(|m| m.0).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Told {
        missing: Missing,
    }

    fn read(text: &str) -> Result<Missing, toml::de::Error> {
        toml::from_str::<Told>(&format!("missing = {text}")).map(|t| t.missing)
    }

    #[test]
    fn every_form_is_read_and_written() {
        for (text, expected) in [
            ("'median'", Missing::Found(Impute::Median)),
            ("'mean'", Missing::Found(Impute::Mean)),
            ("'most-frequent'", Missing::Found(Impute::MostFrequent)),
            ("'level'", Missing::OwnLevel),
            ("-3", Missing::Stated(Fill::Number(-3.0))),
            ("0.1", Missing::Stated(Fill::Number(0.1))),
            ("{ level = 'median' }", Missing::Stated(Fill::Level("median".into()))),
        ] {
            assert_eq!(read(text).unwrap(), expected, "{text}");
            let written = toml::to_string(&Told { missing: expected.clone() }).unwrap();
            assert_eq!(toml::from_str::<Told>(&written).unwrap().missing, expected, "{written}");
        }
        for bad in ["'average'", "{ level = 3 }", "{ value = 3 }", "true", "[1]"] {
            let message = read(bad).unwrap_err().to_string();
            assert!(!message.contains("struct") && !message.contains("enum"), "{message}");
        }
        assert!(read("'average'").unwrap_err().to_string().contains("\"most-frequent\""));
    }

    #[test]
    fn markers_are_texts_or_numbers() {
        #[derive(Deserialize)]
        struct Told {
            missing_values: Markers,
        }
        let told: Told = toml::from_str("missing_values = ['?', -999, 9.5, ' unknown ']").unwrap();
        assert_eq!(told.missing_values.0, ["?", "-999", "9.5", "unknown"]);
    }
}
