//! The fields of an event, packed once nobody writes them any more.

use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value as Json};

/// The fields of an event: a map, which [`EventFields::pack`] turns into its JSON text. Events are kept
/// as long as the result of their run, and few of them are ever read; a map of small values takes
/// several times the room of its text. It is a map again as soon as somebody looks at it.
#[derive(Clone, Default)]
pub struct EventFields {
    fields: Option<Box<Map<String, Json>>>,
    /// In place of the fields.
    text: Option<Box<str>>,
    /// What the text says, once somebody has looked.
    read: OnceLock<Box<Map<String, Json>>>,
}

impl EventFields {
    /// Keeps the fields as text.
    pub fn pack(&mut self) {
        let Some(fields) = self.fields.take_if(|fields| !fields.is_empty()) else { return };
        match serde_json::to_string(&fields) {
            Ok(text) => {
                self.text = Some(text.into_boxed_str());
                // What an empty map said.
                self.read.take();
            }
            Err(_) => self.fields = Some(fields),
        }
    }

    /// The fields as a value, which is not kept here.
    pub fn to_json(&self) -> Json {
        let known = self.fields.as_deref().or_else(|| self.read.get().map(|read| &**read));
        Json::Object(known.map_or_else(|| self.unpacked(), Map::clone))
    }

    fn unpacked(&self) -> Map<String, Json> {
        let read = self.text.as_deref().map(serde_json::from_str);
        read.and_then(Result::ok).unwrap_or_default()
    }
}

impl Deref for EventFields {
    type Target = Map<String, Json>;

    fn deref(&self) -> &Map<String, Json> {
        match &self.fields {
            Some(fields) => fields,
            None => self.read.get_or_init(|| Box::new(self.unpacked())),
        }
    }
}

impl DerefMut for EventFields {
    fn deref_mut(&mut self) -> &mut Map<String, Json> {
        if self.text.is_some() {
            let read = self.read.take().unwrap_or_else(|| Box::new(self.unpacked()));
            (self.text, self.fields) = (None, Some(read));
        }
        self.fields.get_or_insert_default()
    }
}

impl From<Map<String, Json>> for EventFields {
    fn from(fields: Map<String, Json>) -> Self {
        Self { fields: Some(Box::new(fields)), ..Self::default() }
    }
}

impl PartialEq for EventFields {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl std::fmt::Debug for EventFields {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.to_json().fmt(f)
    }
}

impl Serialize for EventFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.fields {
            Some(fields) => fields.serialize(serializer),
            None => self.to_json().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for EventFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::EventFields;

    fn packed() -> EventFields {
        let mut data = EventFields::default();
        assert!(data.is_empty());
        data.insert("b".into(), json!(0.1));
        data.insert("a".into(), json!({"text": "ü\u{0}\"", "large": u64::MAX, "none": null}));
        data.pack();
        data
    }

    #[test]
    fn packed_fields_are_the_same_in_the_same_order() {
        let text = r#"{"b":0.1,"a":{"text":"ü\u0000\"","large":18446744073709551615,"none":null}}"#;
        let data = packed();
        assert_eq!(data.text.as_deref(), Some(text));
        assert_eq!(json!(data).to_string(), text);
        assert!(data.read.get().is_none(), "to write them elsewhere keeps no second copy");
        assert_eq!(data["b"], 0.1);
        assert_eq!(data.keys().collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(data, serde_json::from_str(text).unwrap());
    }

    #[test]
    fn packed_fields_can_be_changed() {
        let mut data = packed();
        assert_eq!(data.len(), 2);
        data.insert("c".into(), true.into());
        assert_eq!((data.len(), data.text.is_none()), (3, true));
        data.pack();
        data.pack();
        assert_eq!(data["c"], true);
        data.clear();
        data.pack();
        assert_eq!(*data, Map::new());
    }
}
