//! The outcome of a job as a worker of any engine reports it. A worker may report anything, so
//! everything is parsed into types, counted again, and truncated.

use std::collections::{BTreeMap, BTreeSet};

use antiphon_runtime::sandbox::{GuestFault, GuestFaultKind, JobOutcome, JobOutput, SandboxBudget};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};

use crate::tagged::{self, ValueFault, ValueSize};

/// The bytes of an outcome beside value and variables: messages.
const AROUND: u64 = 4 << 20;
/// The most characters of a message.
const MESSAGE: usize = 16_000;
/// The most characters of a name or a line.
const LINE: usize = 1_000;
/// The most stack frames, the innermost ones.
const FRAMES: usize = 5;
/// The most characters of the name of a variable or table.
const NAME: usize = 1_000;
/// The most variables and tables that are reported as lost.
const LOST: usize = 201;

/// An outcome, as a worker sends it.
#[derive(Deserialize)]
pub struct OutcomeBody {
    /// `null` is a value too; without the field there is none.
    #[serde(default, deserialize_with = "present")]
    value: Option<Json>,
    #[serde(default)]
    value_error: Option<GuestFault>,
    #[serde(default)]
    locals: Map<String, Json>,
    #[serde(default)]
    local_errors: BTreeMap<String, GuestFault>,
    /// The tables that follow.
    #[serde(default)]
    pub tables: Vec<TableHeader>,
    #[serde(default)]
    table_errors: BTreeMap<String, GuestFault>,
    /// The number of figures that follow.
    #[serde(default)]
    pub figures: u64,
    #[serde(default)]
    error: Option<GuestFault>,
}

/// A table that follows as an attachment.
#[derive(Clone, Deserialize)]
pub struct TableHeader {
    /// Its name.
    pub name: String,
}

/// The bounds for a job that wants these outputs: 0 for those that it does not want.
pub fn granted(budget: SandboxBudget, want: &[JobOutput]) -> SandboxBudget {
    let if_wanted = |what, most| if want.contains(&what) { most } else { 0 };
    SandboxBudget {
        value_bytes: if_wanted(JobOutput::Value, budget.value_bytes),
        locals_bytes: if_wanted(JobOutput::Locals, budget.locals_bytes),
        local_names: if_wanted(JobOutput::Locals, budget.local_names),
        tables: if_wanted(JobOutput::Tables, budget.tables),
        figures: if_wanted(JobOutput::Figures, budget.figures),
        ..budget
    }
}

/// The largest outcome in bytes.
pub fn longest(budget: &SandboxBudget) -> u64 {
    budget.value_bytes + budget.locals_bytes + AROUND
}

impl OutcomeBody {
    /// Parses an outcome.
    ///
    /// # Errors
    /// The violation of the protocol, in words.
    pub fn read(text: &[u8], budget: &SandboxBudget) -> Result<Self, &'static str> {
        let size = ValueSize {
            bytes: longest(budget),
            nodes: budget.value_nodes * 2,
            depth: budget.value_depth + 4,
        };
        let json = tagged::parse(text, size).map_err(|refusal| match refusal {
            ValueFault::TooLarge(_) => "an outcome that is too large",
            ValueFault::Malformed(why) => why,
        })?;
        // serde would accept a list as the fields in order.
        let json = json.is_object().then_some(json).ok_or("an outcome with unexpected fields")?;
        let mut body: Self =
            serde_json::from_value(json).map_err(|_| "an outcome with unexpected fields")?;
        if body.tables.len() as u64 > budget.tables || body.figures > budget.figures {
            return Err("too many tables or figures");
        }
        body.check_wanted(budget)?;
        body.check_names()?;
        let faults = body.local_errors.values_mut().chain(body.table_errors.values_mut());
        for fault in faults.chain(&mut body.value_error).chain(&mut body.error) {
            if !fault.kind.may_be_claimed() {
                return Err("a kind of fault that a worker cannot report");
            }
            cut(fault);
        }
        Ok(body)
    }

    /// Refuses outputs that were not requested.
    fn check_wanted(&self, budget: &SandboxBudget) -> Result<(), &'static str> {
        let value = budget.value_bytes > 0 || (self.value.is_none() && self.value_error.is_none());
        let locals =
            budget.local_names > 0 || (self.locals.is_empty() && self.local_errors.is_empty());
        let tables = budget.tables > 0 || self.table_errors.is_empty();
        if value && locals && tables { Ok(()) } else { Err("an output that was not requested") }
    }

    /// Refuses names that the guest package would not send.
    fn check_names(&self) -> Result<(), &'static str> {
        let tables: BTreeSet<&str> = self.tables.iter().map(|table| table.name.as_str()).collect();
        if tables.len() < self.tables.len() {
            return Err("two tables of the same name");
        }
        if self.local_errors.len() > LOST || self.table_errors.len() > LOST {
            return Err("too many lost names");
        }
        let mut names = self.locals.keys().chain(self.local_errors.keys());
        let names_are_plain = names.all(|name| is_plain(name))
            && self.table_errors.keys().all(|name| is_plain(name))
            && tables.iter().all(|name| is_plain(name));
        if names_are_plain { Ok(()) } else { Err("a name with forbidden characters") }
    }

    /// Checks the values, and builds the outcome.
    ///
    /// # Errors
    /// The violation of the protocol, in words.
    pub fn check(mut self, budget: &SandboxBudget) -> Result<JobOutcome, &'static str> {
        let size = |bytes| {
            let SandboxBudget { value_nodes: nodes, value_depth: depth, .. } = *budget;
            ValueSize { bytes, nodes, depth }.generous()
        };
        if let Some(value) = &self.value
            && let Some(fault) = over(value, size(budget.value_bytes))?
        {
            self.value = None;
            self.value_error = Some(fault);
        }
        let mut left = size(budget.locals_bytes).bytes;
        let mut locals = Map::new();
        for (name, value) in self.locals {
            let fault = over(&value, size(budget.local_bytes))?;
            let length = tagged::bytes(&value);
            if let Some(fault) = fault.or_else(|| (length > left).then(too_large)) {
                self.local_errors.insert(name, fault);
                continue;
            }
            left -= length;
            if locals.len() as u64 >= budget.local_names {
                return Err("too many variables");
            }
            locals.insert(name, value);
        }
        Ok(JobOutcome {
            value: self.value,
            value_error: self.value_error,
            locals,
            local_errors: self.local_errors,
            table_errors: self.table_errors,
            error: self.error,
            ..JobOutcome::default()
        })
    }
}

fn over(value: &Json, size: ValueSize) -> Result<Option<GuestFault>, &'static str> {
    match tagged::check(value, size) {
        Ok(()) if tagged::bytes(value) <= size.bytes => Ok(None),
        Ok(()) | Err(ValueFault::TooLarge(_)) => Ok(Some(too_large())),
        Err(ValueFault::Malformed(why)) => Err(why),
    }
}

/// Whether a name is short and has no characters that affect a terminal: control characters, and
/// those that change the direction of text.
fn is_plain(name: &str) -> bool {
    let obeys = |sign: char| {
        sign.is_control()
            || matches!(sign, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(sign, '\u{2066}'..='\u{2069}')
    };
    name.chars().take(NAME + 1).count() <= NAME && !name.chars().any(obeys)
}

fn too_large() -> GuestFault {
    GuestFault::new(GuestFaultKind::ResultTooLarge, "the value is larger than its limit")
}

fn cut(fault: &mut GuestFault) {
    shorten(&mut fault.message, MESSAGE);
    for text in fault.exception.iter_mut().chain(&mut fault.source) {
        shorten(text, LINE);
    }
    if let Some(frames) = &mut fault.frames {
        frames.drain(..frames.len().saturating_sub(FRAMES));
        for frame in frames {
            shorten(&mut frame.function, LINE);
            shorten(&mut frame.source, LINE);
        }
    }
}

fn shorten(text: &mut String, most: usize) {
    if let Some((end, _)) = text.char_indices().nth(most) {
        text.truncate(end);
        text.push('…');
    }
}

fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(from).map(Some)
}
