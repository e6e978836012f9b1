//! The tools of a question, and arguments that fit them.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use antiphon_core::reply::{ReplyParser, UnreadableReply};
use antiphon_core::{Fault, FaultCode, Schema, ToolSpec};
use antiphon_reply::CompiledSchema;
use serde_json::{Map, Value as Json, json};

use crate::tool_arguments::{is_text, properties, required, unfit_options, unknown};
use crate::tool_cache::only_reads;
use crate::tool_name::meant_name;

/// What models call the text that is looked for.
const QUERY: [&str; 5] = ["query", "q", "text", "search", "question"];

/// What tools call the most results that they return: such arguments narrow nothing.
const AMOUNT: [&str; 8] =
    ["limit", "size", "count", "top_k", "max_results", "num_results", "page_size", "per_page"];

/// The tools that a question may use, in their order, as the state keeps them: code that checks a
/// plan needs no connection to their servers.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolCatalogue<'s> {
    pub(super) specs: &'s [ToolSpec],
    pub(super) parsers: &'s ParserCache,
}

/// Compiled schemas of arguments by tool, for all runs of a system: compiling costs more than
/// everything else that is done with a plan.
#[derive(Debug, Default)]
pub(super) struct ParserCache(Mutex<BTreeMap<String, CompiledSchema>>);

impl ParserCache {
    /// The most tools that are remembered.
    const MOST: usize = 1_000;

    /// The parser of the arguments of a tool.
    ///
    /// # Errors
    /// A `Validation` fault `schema_invalid`.
    pub(super) fn parser(&self, spec: &ToolSpec) -> Result<CompiledSchema, Fault> {
        let known = self.parsers().get(&spec.name).cloned();
        if let Some(known) = known.filter(|known| known.schema().json == spec.parameters) {
            return Ok(known);
        }
        let schema = Schema::new(&spec.name, spec.parameters.clone());
        let parser = CompiledSchema::compile(&schema)?;
        let mut parsers = self.parsers();
        if parsers.len() >= Self::MOST {
            parsers.clear();
        }
        parsers.insert(spec.name.clone(), parser.clone());
        Ok(parser)
    }

    fn parsers(&self) -> MutexGuard<'_, BTreeMap<String, CompiledSchema>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Arguments that fit, and whether they had to be changed for it.
pub(super) struct CheckedArguments {
    pub(super) value: Json,
    pub(super) is_repaired: bool,
}

impl ToolCatalogue<'_> {
    /// Whether a tool leaves the world as it is, so that its calls may run beside others.
    pub(super) fn only_reads(&self, name: &str) -> bool {
        self.spec(name).is_some_and(only_reads)
    }

    /// Whether equal tasks with a tool are one call. They are planned at once, so that it does not
    /// matter whether its results may be kept for later.
    pub(super) fn shares_results(&self, name: &str) -> bool {
        self.spec(name).is_some_and(|spec| only_reads(spec) || spec.cache == Some(true))
    }

    /// The tool that a planner means: one of exactly this name, else one whose name it surrounds
    /// with blanks, quotes or a prefix such as `functions.`, or writes with other capitals.
    pub(super) fn meant(&self, given: &str) -> Option<&str> {
        let names: Vec<&str> = self.specs.iter().map(|spec| &*spec.name).collect();
        meant_name(given, &names)
    }

    /// Whether a call of a tool may go without an argument.
    pub(super) fn is_optional(&self, tool: &str, argument: &str) -> bool {
        self.spec(tool).is_some_and(|spec| !required(&spec.parameters).contains(&argument))
    }

    /// The arguments of a search without those that narrow it: the required ones, the text that is
    /// looked for and the number of results stay. None if nothing narrows it, if no text would be
    /// looked for, or if the tool does more than read.
    pub(super) fn widened(&self, name: &str, arguments: &Json, question: &str) -> Option<Json> {
        let spec = self.spec(name).filter(|spec| only_reads(spec))?;
        let needed = required(&spec.parameters);
        let stays =
            |name: &str| needed.contains(&name) || QUERY.contains(&name) || AMOUNT.contains(&name);
        let mut fields = arguments.as_object()?.clone();
        fields.retain(|name, _| stays(name));
        let looks_for = |(name, value): (&String, &Json)| {
            value.is_string() && (needed.contains(&name.as_str()) || QUERY.contains(&name.as_str()))
        };
        if !fields.iter().any(looks_for) {
            return None;
        }
        let wide = self.check(name, &Json::Object(fields), question).ok()?.value;
        (wide != *arguments).then_some(wide)
    }

    fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.specs.iter().find(|spec| spec.name == name)
    }

    /// The arguments as the tool gets them. Unknown ones are dropped where the tool allows none,
    /// optional ones if they do not fit, and a text to look for that is missing is the question.
    ///
    /// # Errors
    /// A `Validation` fault `invalid_value` that lists every place that does not fit after that.
    pub(super) fn check(
        &self,
        name: &str,
        arguments: &Json,
        question: &str,
    ) -> Result<CheckedArguments, Fault> {
        let spec = self.spec(name).ok_or_else(|| unknown_tool(name))?;
        let parser = self.parsers.parser(spec)?;
        let read = |arguments: &Json| {
            parser.parse_arguments(&arguments.to_string()).map(|parsed| parsed.value)
        };
        let mut unfit = match read(arguments) {
            Ok(value) => return Ok(CheckedArguments { value, is_repaired: false }),
            Err(unfit) => unfit,
        };
        let mut repaired = repaired(&spec.parameters, arguments, question);
        while let Some(arguments) = repaired {
            match read(&arguments) {
                Ok(value) => return Ok(CheckedArguments { value, is_repaired: true }),
                Err(again) => unfit = again,
            }
            repaired = without_unfit(&spec.parameters, arguments, &unfit);
        }
        Err(unfit.into_argument_fault(name))
    }

    /// The call of a plan that no model has made: the first of these tools that takes a question
    /// alone, one without side effects before others.
    pub(super) fn fallback(&self, question: &str) -> Option<(String, Json)> {
        let (first, others): (Vec<&ToolSpec>, Vec<&ToolSpec>) =
            self.specs.iter().partition(|spec| only_reads(spec));
        let mut fitting = first.iter().chain(&others).filter_map(|spec| {
            let arguments = question_alone(&spec.parameters, question);
            let checked = self.check(&spec.name, &arguments, question).ok()?;
            Some((spec.name.clone(), checked.value))
        });
        let unfit = || {
            let spec = self.specs.first()?;
            Some((spec.name.clone(), question_alone(&spec.parameters, question)))
        };
        fitting.next().or_else(unfit)
    }
}

/// The fault of a tool that does not exist.
pub(super) fn unknown_tool(name: &str) -> Fault {
    Fault::new(FaultCode::McpToolUnknown, format!("there is no such tool: {name}"))
}

fn repaired(schema: &Json, arguments: &Json, question: &str) -> Option<Json> {
    let mut fields = arguments.as_object()?.clone();
    let known = properties(schema)?;
    let unknown = unknown(schema, &fields);
    fields.retain(|name, _| !unknown.contains(name));
    for name in required(schema) {
        let is_query = QUERY.contains(&name) && known.get(name).is_some_and(is_text);
        if is_query && fields.get(name).is_none_or(Json::is_null) {
            fields.insert(name.to_owned(), question.into());
        }
    }
    Some(Json::Object(fields))
}

/// The arguments without the optional ones that do not fit, if there are some.
fn without_unfit(schema: &Json, mut arguments: Json, unfit: &UnreadableReply) -> Option<Json> {
    let fields = arguments.as_object_mut()?;
    let (given, unfit) = (fields.len(), unfit_options(schema, unfit));
    fields.retain(|name, _| !unfit.contains(name));
    (fields.len() < given).then_some(arguments)
}

/// Arguments with the question, and with 10 as `size` if there is such an argument.
fn question_alone(schema: &Json, question: &str) -> Json {
    let mut arguments = Map::new();
    let Some(known) = properties(schema) else { return json!({"query": question}) };
    let is_known = |name: &&str| known.get(*name).is_some_and(is_text);
    let named = QUERY.iter().copied().find(is_known);
    let needed = || required(schema).into_iter().find(is_known);
    let any = || known.keys().map(String::as_str).find(is_known);
    if let Some(name) = named.or_else(needed).or_else(any) {
        arguments.insert(name.to_owned(), question.into());
    }
    if known.contains_key("size") {
        arguments.insert("size".to_owned(), 10.into());
    }
    Json::Object(arguments)
}
