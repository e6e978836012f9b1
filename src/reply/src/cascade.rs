//! The levels of the cascade, one after the other, until a value fits.

use serde_json::Value as Json;

use crate::compiled_schema::CompiledSchema;
use crate::fence::{self, FenceBody};
use crate::passage::{BracketSpan, passages};
use crate::repair::{SyntaxFault, repair};
use crate::strict;
use crate::token::is_blank;
use antiphon_core::excerpt::quoted;
use antiphon_core::reply::{ParseLevel, ParsedReply, UnreadableReply, Violation};

/// What the thoughts of a reasoning model begin and end with.
const THOUGHTS: (&str, &str) = ("<think>", "</think>");
/// Fenced blocks that are looked at, from the last.
const BLOCKS: usize = 64;

/// Reads `raw`. With `cut`, a limit stopped the model before it was done.
pub(crate) fn read(
    schema: &CompiledSchema,
    raw: &str,
    cut: bool,
) -> Result<ParsedReply, UnreadableReply> {
    let whole = raw.trim_matches(is_blank);
    let text = without_thoughts(whole);
    let mut search = ReplySearch { schema, cut, is_open: false, rejected: None, fault: None };
    // Where no thoughts begin, the end of some may be a part of the answer.
    let is_sure = text.len() == whole.len() || whole.starts_with(THOUGHTS.0);
    let found = search.run(text).or_else(|| if is_sure { None } else { search.run(whole) });
    if let Some(reading) = found {
        return Ok(reading);
    }
    let is_cut = search.is_open || (cut && search.is_fruitless());
    Err(UnreadableReply {
        raw: raw.to_owned(),
        is_text: !text.is_empty() && !is_cut && search.is_fruitless(),
        is_cut,
        errors: if is_cut { vec![unfinished(schema)] } else { search.errors(text) },
    })
}

/// A reply without the thoughts that a reasoning model writes before it, which may hold values that are
/// not the answer. The prompts of some models begin them, so that only their end stands in the reply.
fn without_thoughts(text: &str) -> &str {
    let rest = if text.starts_with(THOUGHTS.0) {
        Some(text.split_once(THOUGHTS.1).map_or("", |(_, rest)| rest))
    } else {
        let is_value = text.starts_with(['{', '[', '"']) && strict::parse(text, false).is_some();
        text.rsplit_once(THOUGHTS.1).map(|(_, rest)| rest).filter(|_| !is_value)
    };
    rest.map_or(text, |rest| rest.trim_matches(is_blank))
}

/// One walk through the levels, and what to say if it finds nothing.
struct ReplySearch<'s> {
    schema: &'s CompiledSchema,
    cut: bool,
    /// Whether the cut went through a value.
    is_open: bool,
    rejected: Option<RejectedValue>,
    fault: Option<SyntaxFault>,
}

/// A value that did not fit.
struct RejectedValue {
    /// Whether it is at least of the right type.
    kin: bool,
    /// Bytes of its text.
    size: usize,
    violations: Vec<Violation>,
}

impl ReplySearch<'_> {
    fn run(&mut self, text: &str) -> Option<ParsedReply> {
        if let Some(value) = strict::parse(text, self.cut) {
            // JSON throughout: there is nothing in it for the other levels to find.
            let whole = value.is_object() || value.is_array();
            let reading = self.offer(value, text.len(), ParseLevel::Strict);
            if whole || reading.is_some() {
                return reading;
            }
        }
        let passages = passages(text);
        let bodies = blocks(text, &passages);
        self.fenced(&bodies)
            .or_else(|| self.balanced(&passages))
            .or_else(|| self.repaired(&bodies, &passages))
    }

    fn fenced(&mut self, bodies: &[FenceBody<'_>]) -> Option<ParsedReply> {
        bodies.iter().rev().find_map(|body| {
            let value = strict::parse(body.text.trim(), self.cut && !body.closed)?;
            self.offer(value, body.text.len(), ParseLevel::Fenced)
        })
    }

    fn balanced(&mut self, passages: &[BracketSpan<'_>]) -> Option<ParsedReply> {
        passages.iter().filter(|passage| passage.closed).find_map(|passage| {
            let value = strict::parse(passage.text, false)?;
            self.offer(value, passage.text.len(), ParseLevel::Balanced)
        })
    }

    fn repaired(
        &mut self,
        bodies: &[FenceBody<'_>],
        outer: &[BracketSpan<'_>],
    ) -> Option<ParsedReply> {
        let inner = bodies.iter().rev().find_map(|body| {
            let passages = passages(body.text);
            let cut = self.cut && !body.closed;
            passages.iter().find_map(|passage| self.repair(passage, body.start, cut))
        });
        inner.or_else(|| outer.iter().find_map(|passage| self.repair(passage, 0, self.cut)))
    }

    /// Repairs a passage of a text that starts at byte `offset` of the reply.
    fn repair(
        &mut self,
        passage: &BracketSpan<'_>,
        offset: usize,
        cut: bool,
    ) -> Option<ParsedReply> {
        if cut && !passage.closed {
            // Closed by a guess, half of a sentence would be the answer.
            self.is_open = true;
            return None;
        }
        match repair(passage.text) {
            Ok(value) => self.offer(value, passage.text.len(), ParseLevel::Repaired),
            Err(fault) => {
                let at = offset + passage.start + fault.at;
                self.fault.get_or_insert(SyntaxFault { at, ..fault });
                None
            }
        }
    }

    /// Takes `value` if it fits, and otherwise remembers why not when no value
    /// came closer so far.
    fn offer(&mut self, value: Json, size: usize, level: ParseLevel) -> Option<ParsedReply> {
        let kin = self.schema.is_kin(&value);
        match self.schema.fit(value) {
            Ok((value, coerced)) => Some(ParsedReply { value, level, coerced }),
            Err(violations) => {
                let rejected = RejectedValue { kin, size, violations };
                if self.rejected.as_ref().is_none_or(|best| rejected.rank() > best.rank()) {
                    self.rejected = Some(rejected);
                }
                None
            }
        }
    }

    /// Whether nothing looked like a value.
    fn is_fruitless(&self) -> bool {
        self.rejected.is_none() && self.fault.is_none()
    }

    fn errors(self, text: &str) -> Vec<Violation> {
        match (self.rejected, self.fault) {
            (Some(best), _) if best.kin => best.violations,
            (_, Some(fault)) => vec![broken(text, fault)],
            (Some(best), None) => best.violations,
            (None, None) => vec![missing(self.schema, text)],
        }
    }
}

impl RejectedValue {
    fn rank(&self) -> (bool, std::cmp::Reverse<usize>, usize) {
        (self.kin, std::cmp::Reverse(self.violations.len()), self.size)
    }
}

/// The last fenced blocks of `text`. When the reply itself starts as JSON, a
/// fence in that JSON is part of a string, and so is one in the middle of a line of
/// JSON that prose stands before.
fn blocks<'a>(text: &'a str, passages: &[BracketSpan<'_>]) -> Vec<FenceBody<'a>> {
    let whole = passages.first().filter(|passage| passage.start == 0);
    let from = whole.map_or(0, |passage| passage.text.len());
    let mut bodies = fence::bodies(text);
    bodies.retain(|body| body.start >= from && !(body.inline && is_inside(passages, body.start)));
    bodies.split_off(bodies.len().saturating_sub(BLOCKS))
}

/// Whether a place is inside of a passage that has an end.
fn is_inside(passages: &[BracketSpan<'_>], at: usize) -> bool {
    let before = passages.partition_point(|passage| passage.start < at);
    let last = passages.get(..before).and_then(<[_]>::last);
    last.is_some_and(|passage| passage.closed && at < passage.start + passage.text.len())
}

fn broken(text: &str, fault: SyntaxFault) -> Violation {
    let (before, after) = text.split_at_checked(fault.at).unwrap_or((text, ""));
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    let found = if after.is_empty() {
        "the end of the reply".to_owned()
    } else {
        let near: String = after.chars().take(24).collect();
        format!("{} at line {line}, column {column}", quoted(&near))
    };
    Violation::new("", fault.wanted, found)
}

fn unfinished(schema: &CompiledSchema) -> Violation {
    Violation::new("", schema.wanted(), "the beginning of one, cut off at the limit of tokens")
}

fn missing(schema: &CompiledSchema, text: &str) -> Violation {
    let found = match text {
        "" => "an empty reply".to_owned(),
        text => format!("text alone: {}", quoted(text)),
    };
    Violation::new("", schema.wanted(), found)
}
