//! What tools have returned in a run, so that the same need not be looked up
//! twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antiphon_core::approval::HostVerdict;
use antiphon_core::event::EventKind;
use antiphon_core::tool::succeeded;
use antiphon_core::{Fault, SideEffect, ToolOutcome, ToolSpec};
use antiphon_runtime::{CallContext, TaskReporter, Tool};
use async_trait::async_trait;
use serde_json::{Map, Value as Json, json};

/// The results of one run, by tool and arguments. A call is answered from here
/// if its tool only looks at the world, or says that it may be; what has failed
/// is tried again. Two equal calls at a time are one.
///
/// It lives in memory; [`ToolCache::take_unsaved`] is what a node of the run
/// writes to the state, so that a run that is resumed elsewhere knows it too.
#[derive(Debug, Default)]
pub struct ToolCache {
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    /// The holder of the lock makes the call that others wait for.
    results: BTreeMap<String, Arc<tokio::sync::Mutex<Option<Json>>>>,
    unsaved: Map<String, Json>,
    size: usize,
}

/// Whether calls of a tool leave the world as it is: then their order does not matter.
pub(crate) fn only_reads(spec: &ToolSpec) -> bool {
    matches!(spec.side_effect, SideEffect::None | SideEffect::Read)
}

impl ToolCache {
    /// Bytes of JSON beyond which a single result is not kept: 256 KiB.
    pub const LARGEST: usize = 256 * 1024;
    /// Bytes of JSON that are kept in all: 4 MiB.
    pub const ROOM: usize = 4 * 1024 * 1024;

    /// What an earlier drive of the run has saved; nothing if that is none.
    pub fn of(saved: Option<&Json>) -> Arc<Self> {
        let mut entries = Entries::default();
        for (key, value) in saved.and_then(Json::as_object).into_iter().flatten() {
            entries.size += size(key, value);
            let result = tokio::sync::Mutex::new(Some(value.clone()));
            entries.results.insert(key.clone(), Arc::new(result));
        }
        Arc::new(Self { entries: Mutex::new(entries) })
    }

    /// Whether calls of a tool may be answered from a cache: what it says
    /// itself, else whether it leaves the world as it is.
    pub fn takes(spec: &ToolSpec) -> bool {
        spec.cache.unwrap_or_else(|| only_reads(spec))
    }

    /// The tool with this cache before it. `scope` tells tools of one name apart.
    pub fn before(
        self: &Arc<Self>,
        tool: Arc<dyn Tool>,
        scope: &str,
        notes: TaskReporter,
    ) -> Arc<dyn Tool> {
        if !Self::takes(tool.spec()) {
            return tool;
        }
        Arc::new(CachedTool { tool, cache: Arc::clone(self), scope: scope.to_owned(), notes })
    }

    /// What has come since the last call, by a key that stands for the call.
    pub fn take_unsaved(&self) -> Map<String, Json> {
        std::mem::take(&mut self.entries().unsaved)
    }

    fn entry(&self, key: &str) -> Arc<tokio::sync::Mutex<Option<Json>>> {
        Arc::clone(self.entries().results.entry(key.to_owned()).or_default())
    }

    /// Whether there is room for a result; it is to be saved then.
    fn admit(&self, key: &str, value: &Json) -> bool {
        let size = size(key, value);
        let mut entries = self.entries();
        let fits = size <= Self::LARGEST && entries.size + size <= Self::ROOM;
        if fits {
            entries.size += size;
            entries.unsaved.insert(key.to_owned(), value.clone());
        }
        fits
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tool whose results are kept.
struct CachedTool {
    tool: Arc<dyn Tool>,
    cache: Arc<ToolCache>,
    scope: String,
    notes: TaskReporter,
}

#[async_trait]
impl Tool for CachedTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    async fn approve(&self, arguments: &Json, cx: &CallContext) -> Result<HostVerdict, Fault> {
        self.tool.approve(arguments, cx).await
    }

    async fn call(&self, arguments: Json, cx: &CallContext) -> ToolOutcome {
        let name = &self.tool.spec().name;
        let key = format!("{}/{name}({})", self.scope, normal(&arguments));
        let place = self.cache.entry(&key);
        let mut known = place.lock().await;
        if let Some(value) = &*known {
            let data = json!({"tool": name, "arguments": arguments});
            self.notes.note(EventKind::Custom, "tool_result_reused", data);
            return Ok(value.clone());
        }
        let outcome = self.tool.call(arguments, cx).await;
        if let Ok(value) = &outcome
            && succeeded(&outcome)
            && self.cache.admit(&key, value)
        {
            *known = Some(value.clone());
        }
        outcome
    }
}

/// Arguments that mean the same, in the same form: keys in order, and whole
/// numbers without a fraction.
fn normal(arguments: &Json) -> Json {
    match arguments {
        Json::Array(items) => items.iter().map(normal).collect(),
        Json::Object(fields) => {
            let sorted: BTreeMap<_, _> = fields.iter().collect();
            let fields = sorted.into_iter().map(|(key, value)| (key.clone(), normal(value)));
            Json::Object(fields.collect())
        }
        Json::Number(number) => whole_number(number.as_f64()).unwrap_or_else(|| arguments.clone()),
        other => other.clone(),
    }
}

/// A float that is a whole number, as one.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
fn whole_number(number: Option<f64>) -> Option<Json> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number = number.filter(|number| number.fract() == 0.0 && number.abs() < EXACT)?;
    Some(Json::from(number as i64))
}

fn size(key: &str, value: &Json) -> usize {
    key.len() + value.to_string().len()
}
