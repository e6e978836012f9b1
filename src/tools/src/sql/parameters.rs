//! Values that are bound to the placeholders of a query.

use std::fmt;

use antiphon_core::Fault;
use serde_json::{Map, Value as Json};

use super::fault;

/// Which value a placeholder stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ParameterKey {
    /// The first is 1.
    Position(usize),
    /// `:name`.
    Name(String),
}

impl fmt::Display for ParameterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Position(position) => write!(f, "${position}"),
            Self::Name(name) => write!(f, ":{name}"),
        }
    }
}

/// The values of a query's placeholders, as JSON: a list for `$1`, `$2` or `?`, an object for
/// `:name`. They never become a part of the query's text.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum QueryParameters {
    /// The query has no placeholders.
    #[default]
    None,
    /// By position.
    List(Vec<Json>),
    /// By name.
    Named(Map<String, Json>),
}

impl QueryParameters {
    /// From a JSON list or object; `null` for none.
    ///
    /// # Errors
    /// A `Validation` fault `query_parameters_invalid` for any other value.
    pub fn from_json(value: Json) -> Result<Self, Fault> {
        match value {
            Json::Null => Ok(Self::None),
            Json::Array(values) => Ok(Self::List(values)),
            Json::Object(values) => Ok(Self::Named(values)),
            other => Err(fault::bad_parameters(&format!(
                "the parameters must be a list or an object: {other}"
            ))),
        }
    }

    /// One value for each key, in their order.
    ///
    /// # Errors
    /// A `Validation` fault `query_parameters_invalid`: a value is missing, or none uses it.
    pub fn in_order(&self, keys: &[ParameterKey]) -> Result<Vec<&Json>, Fault> {
        let values = keys.iter().map(|key| self.get(key).ok_or_else(|| missing(key)));
        let values = values.collect::<Result<Vec<_>, _>>()?;
        self.unused(keys).map_or(Ok(values), |key| {
            Err(fault::bad_parameters(&format!("no placeholder of the query uses it: {key}")))
        })
    }

    fn get(&self, key: &ParameterKey) -> Option<&Json> {
        match (self, key) {
            (Self::List(values), ParameterKey::Position(position)) => {
                values.get(position.checked_sub(1)?)
            }
            (Self::Named(values), ParameterKey::Name(name)) => values.get(name),
            _ => None,
        }
    }

    fn unused(&self, keys: &[ParameterKey]) -> Option<ParameterKey> {
        match self {
            Self::None => None,
            Self::List(values) => {
                (1..=values.len()).map(ParameterKey::Position).find(|key| !keys.contains(key))
            }
            Self::Named(values) => {
                values.keys().cloned().map(ParameterKey::Name).find(|key| !keys.contains(key))
            }
        }
    }
}

fn missing(key: &ParameterKey) -> Fault {
    fault::bad_parameters(&format!("the query has a placeholder without a value: {key}"))
}
