//! stub
use crate::{Category, Fault, Schema};
use serde_json::Value as Json;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Strict,
    Repaired,
}
impl Level {
    pub fn as_str(self) -> &'static str {
        "x"
    }
}
#[derive(Debug)]
pub struct Shape {
    schema: Schema,
}
#[derive(Debug)]
pub struct Reading {
    pub value: Json,
    pub level: Level,
    pub coerced: Vec<String>,
}
#[derive(Debug)]
pub struct Unreadable {}
impl Unreadable {
    pub fn feedback(&self) -> String {
        String::new()
    }
    pub fn into_fault(self) -> Fault {
        Fault::new(Category::ModelOutput, "", "")
    }
}
impl Shape {
    pub fn schema(&self) -> &Schema {
        &self.schema
    }
    pub fn read(&self, t: &str) -> Result<Reading, Unreadable> {
        serde_json::from_str(t)
            .map(|value| Reading { value, level: Level::Strict, coerced: vec![] })
            .map_err(|_| Unreadable {})
    }
}
