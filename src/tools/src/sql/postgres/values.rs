//! Bound values. They travel as text, which the server reads by the type that the query gives
//! them, so that dates and decimals keep every digit.

use std::error::Error;

use serde_json::Value as Json;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, IsNull, Kind, ToSql, Type, to_sql_checked};

/// A JSON value as a bound value of any type.
#[derive(Debug)]
pub(super) struct BoundValue<'v>(pub(super) &'v Json);

impl ToSql for BoundValue<'_> {
    fn to_sql(
        &self,
        data_type: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let text = match self.0 {
            Json::Null => return Ok(IsNull::Yes),
            Json::Array(items) if is_array(data_type) => array(items),
            other => plain(other),
        };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_data_type: &Type) -> bool {
        true
    }

    fn encode_format(&self, _data_type: &Type) -> Format {
        Format::Text
    }

    to_sql_checked!();
}

fn is_array(data_type: &Type) -> bool {
    match data_type.kind() {
        Kind::Array(_) => true,
        Kind::Domain(base) => is_array(base),
        _ => false,
    }
}

fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The text form of an array, each item in quotes.
fn array(items: &[Json]) -> String {
    let item = |item: &Json| match item {
        Json::Null => "NULL".to_owned(),
        Json::Array(items) => array(items),
        other => format!("\"{}\"", plain(other).replace('\\', "\\\\").replace('"', "\\\"")),
    };
    let items: Vec<_> = items.iter().map(item).collect();
    format!("{{{}}}", items.join(","))
}
