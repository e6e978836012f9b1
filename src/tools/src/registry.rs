//! All families of built-in tools by name. The binding and the command line are written against this list, and
//! name none of them.

use std::fmt;
use std::sync::Arc;

use antiphon_core::{Fault, FaultCode, settings};
use antiphon_runtime::Tool;
use schemars::{JsonSchema, schema_for};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::calculator::Calculator;
use crate::document_search::DocumentSearchTools;
use crate::files::FileTools;
use crate::http_api::HttpApiTools;
use crate::sql::SqlTools;
use crate::web_search::WebSearchTools;

/// Makes the tools of a family from their settings.
type OpenFamily = fn(&Json) -> Result<Vec<Arc<dyn Tool>>, Fault>;

/// Tools that share settings, such as those that read and write files below one folder.
pub trait ToolFamily: 'static {
    /// The name in the registry, in snake case.
    const NAME: &'static str;
    /// One sentence for an index.
    const DESCRIPTION: &'static str;
    /// The settings; those that are left out keep their defaults.
    type Settings: DeserializeOwned + Serialize + Default + JsonSchema;

    /// Checks the settings and makes the tools. Connects to nothing.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid` that names the setting.
    fn open(settings: Self::Settings) -> Result<Vec<Arc<dyn Tool>>, Fault>;
}

/// What the registry knows of a family of tools.
#[derive(Clone, Copy)]
pub struct ToolEntry {
    /// The name, in snake case.
    pub name: &'static str,
    /// One sentence for an index.
    pub description: &'static str,
    settings_schema: fn() -> Json,
    open: OpenFamily,
}

impl ToolEntry {
    /// The entry of a family.
    pub const fn of<F: ToolFamily>() -> Self {
        Self {
            name: F::NAME,
            description: F::DESCRIPTION,
            settings_schema: schema::<F::Settings>,
            open: open::<F>,
        }
    }

    /// The JSON Schema of the settings.
    pub fn settings_schema(&self) -> Json {
        (self.settings_schema)()
    }

    /// Checks settings and makes the tools. Connects to nothing.
    ///
    /// # Errors
    /// A `Validation` fault `tool_setting_invalid` that names the setting.
    pub fn open(&self, settings: &Json) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        (self.open)(settings)
    }
}

impl fmt::Debug for ToolEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolEntry").field("name", &self.name).finish_non_exhaustive()
    }
}

/// All families of tools, in the order of their names.
pub fn registry() -> &'static [ToolEntry] {
    const ALL: &[ToolEntry] = &[
        ToolEntry::of::<Calculator>(),
        ToolEntry::of::<DocumentSearchTools>(),
        ToolEntry::of::<crate::download::Download>(),
        #[cfg(feature = "echo")]
        ToolEntry::of::<crate::echo::EchoTools>(),
        ToolEntry::of::<FileTools>(),
        ToolEntry::of::<HttpApiTools>(),
        ToolEntry::of::<crate::page_reader::PageReading>(),
        ToolEntry::of::<SqlTools>(),
        ToolEntry::of::<WebSearchTools>(),
        ToolEntry::of::<crate::pdf_writer::WritePdf>(),
    ];
    ALL
}

/// The family of that name.
///
/// # Errors
/// A `Validation` fault `tool_family_unknown`.
pub fn find(name: &str) -> Result<&'static ToolEntry, Fault> {
    registry().iter().find(|entry| entry.name == name).ok_or_else(|| {
        let known: Vec<_> = registry().iter().map(|entry| entry.name).collect();
        let message = format!("unknown family of tools: {name}");
        Fault::new(FaultCode::ToolFamilyUnknown, message)
            .hint(format!("the families are {}", known.join(", ")))
    })
}

fn open<F: ToolFamily>(given: &Json) -> Result<Vec<Arc<dyn Tool>>, Fault> {
    let label = format!("the tools `{}`", F::NAME);
    let settings = settings::read(given, &label, FaultCode::ToolSettingInvalid);
    F::open(settings.map_err(|fault| without_inner_texts(fault, given))?)
}

/// The fault without texts of objects and lists in the settings, which it may quote: some of them
/// are secrets.
fn without_inner_texts(mut fault: Fault, given: &Json) -> Fault {
    let mut texts = Vec::new();
    for value in given.as_object().into_iter().flat_map(|fields| fields.values()) {
        if value.is_object() || value.is_array() {
            collect_texts(value, &mut texts);
        }
    }
    for text in texts.into_iter().filter(|text| text.chars().count() >= 4) {
        fault.message = fault.message.replace(text, "***");
    }
    fault
}

fn collect_texts<'s>(value: &'s Json, texts: &mut Vec<&'s str>) {
    match value {
        Json::String(text) => texts.push(text),
        Json::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        // The name of a variant is no secret, and says what is wrong.
        Json::Object(fields) => fields
            .iter()
            .filter(|(key, _)| *key != "type")
            .for_each(|(_, value)| collect_texts(value, texts)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

fn schema<T: JsonSchema>() -> Json {
    json!(schema_for!(T))
}
