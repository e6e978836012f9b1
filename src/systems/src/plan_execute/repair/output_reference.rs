//! References as they are meant.

use std::convert::Infallible;

use serde_json::{Map, Value as Json, json};

use super::output_form::OutputForm;
use super::{DraftStep, PlanDraft, PlanRepair, text_of};
use crate::json_texts::{replace_fields, visit};
use crate::plan_execute::capability::canonical;
use crate::plan_execute::reference::{OPEN, OUTPUTS, OutputField};
use crate::tool_name::meant_name;

/// Words that planners write for the whole result.
const RESULT: [&str; 5] = ["result", "output", "results", "data", "value"];

/// A step that a reference may lead to, and its tool.
#[derive(Clone)]
struct Source {
    id: String,
    tool: String,
}

impl PlanDraft<'_> {
    /// Puts the references of all steps right.
    pub(super) fn fix_references(&mut self) {
        let carried = self.carried.iter();
        let carried = carried.map(|(id, tool)| Source { id: id.clone(), tool: tool.clone() });
        let mut earlier: Vec<Source> = carried.collect();
        let own = |step: &DraftStep| Source {
            id: text_of(step, "stepId").to_owned(),
            tool: text_of(step, "tool_name").to_owned(),
        };
        let all: Vec<Source> =
            self.stages.iter().flatten().map(own).chain(earlier.clone()).collect();
        let (capabilities, mut repairs) = (self.capabilities, Vec::new());
        self.each_step(&mut |step| {
            let this = own(step.fields);
            let others = |sources: &[Source]| -> Vec<Source> {
                sources.iter().filter(|source| source.id != this.id).cloned().collect()
            };
            let known = KnownOutputs {
                all: &all,
                earlier: others(&earlier),
                form: &|tool| {
                    let role = capabilities.role_of(tool).unwrap_or_default();
                    let tool = capabilities.tool(role, tool);
                    OutputForm::of(tool.and_then(|tool| tool.spec.results.as_ref()))
                },
            };
            let input = step.fields.get_mut("sub_task_input").and_then(Json::as_object_mut);
            if let Some(input) = input {
                repairs.extend(known.fix_input(input, &step.path));
            }
            earlier.push(this);
        });
        self.repairs.extend(repairs);
    }
}

/// What references of a step can mean.
struct KnownOutputs<'k> {
    /// All steps: a reference that names one of them means it.
    all: &'k [Source],
    /// Those before it.
    earlier: Vec<Source>,
    form: &'k dyn Fn(&str) -> OutputForm,
}

impl KnownOutputs<'_> {
    /// Puts the references of an input right, and returns what was wrong in it.
    fn fix_input(&self, input: &mut Map<String, Json>, path: &str) -> Vec<PlanRepair> {
        let mut repairs = Vec::new();
        for (name, value) in &*input {
            visit(value, &mut |inner, text| {
                let mut fixed = |given: &str, meant: &str| {
                    let path = format!("{path}.sub_task_input.{name}{inner}");
                    repairs.push(PlanRepair { path, message: format!("read as {meant}: {given}") });
                };
                self.rewritten(text, &mut fixed);
            });
        }
        let rewrite = |text: &str| Ok::<_, Infallible>(json!(self.rewritten(text, &mut |_, _| {})));
        let Ok(fixed) = replace_fields(input, &rewrite);
        *input = fixed;
        repairs
    }

    /// A text with its references as they are meant; tells of each that was written otherwise.
    fn rewritten(&self, text: &str, tell: &mut dyn FnMut(&str, &str)) -> String {
        let (mut rewritten, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once(OPEN) {
            rewritten.push_str(before);
            rewritten.push_str(OPEN);
            rest = after;
            let Some((inside, next)) = after.split_once('}') else { break };
            if before.ends_with('\\') {
                continue;
            }
            let meant = self.meant(inside).filter(|meant| meant != inside);
            if let Some(meant) = &meant {
                tell(&format!("{OPEN}{inside}}}"), &format!("{OPEN}{meant}}}"));
            }
            rewritten.push_str(meant.as_deref().unwrap_or(inside));
            rewritten.push('}');
            rest = next;
        }
        rewritten.push_str(rest);
        rewritten
    }

    /// The inside of a reference as it is meant.
    fn meant(&self, inside: &str) -> Option<String> {
        let bare = inside.trim().replace('[', ".").replace(']', "");
        let named = bare.strip_prefix(OUTPUTS);
        let (source, rest) = match self.named(named.unwrap_or(&bare)) {
            Some(known) => known,
            None => self.unknown(named?)?,
        };
        let form = (self.form)(&source.tool);
        let mut path: Vec<&str> = rest.split('.').filter(|part| !part.is_empty()).collect();
        let word = path.first().copied().unwrap_or_default();
        let field = OutputField::ALL.into_iter().find(|field| field.name() == word);
        if field.is_some() || (RESULT.contains(&word) && !form.has_field(word)) {
            path.remove(0);
        }
        let path = form.meant(&path);
        // A summary is a text: a path leads into the result.
        let field = field.filter(|_| path.is_empty()).unwrap_or(OutputField::Result);
        let parts = [source.id.as_str(), field.name()].into_iter().chain(path);
        Some(format!("{OUTPUTS}{}", parts.collect::<Vec<_>>().join(".")))
    }

    /// The step whose id a reference begins with, the shortest one, and what follows.
    fn named<'n>(&self, named: &'n str) -> Option<(&Source, &'n str)> {
        let after = |source: &'_ &Source| {
            let rest = named.strip_prefix(source.id.as_str())?;
            (!source.id.is_empty() && (rest.is_empty() || rest.starts_with('.'))).then_some(rest)
        };
        let mut begins: Vec<(&Source, &str)> =
            self.all.iter().filter_map(|source| Some((source, after(&source)?))).collect();
        begins.sort_by_key(|(source, _)| source.id.len());
        begins.first().copied()
    }

    /// The step that is meant by a name that no step has: the only one that calls the tool of that
    /// name, the only one whose id is alike, or the only one there is.
    fn unknown<'n>(&self, named: &'n str) -> Option<(&Source, &'n str)> {
        let (name, rest) = named.split_once('.').map_or((named, ""), |(name, rest)| (name, rest));
        let only = |fits: &dyn Fn(&Source) -> bool| {
            let mut fitting = self.earlier.iter().filter(|source| fits(source));
            fitting.next().filter(|_| fitting.next().is_none())
        };
        let ids: Vec<&str> = self.earlier.iter().map(|source| source.id.as_str()).collect();
        let alike = meant_name(name, &ids);
        let step = only(&|source| canonical(&source.tool) == canonical(name))
            .or_else(|| only(&|source| alike == Some(source.id.as_str())))
            .or_else(|| {
                only(&|source| number(name).is_some() && number(&source.id) == number(name))
            })
            .or_else(|| only(&|_| true));
        step.map(|step| (step, rest))
    }
}

/// The number that a name ends with.
fn number(name: &str) -> Option<&str> {
    let start = name.trim_end_matches(|sign: char| sign.is_ascii_digit()).len();
    name.get(start..).filter(|digits| !digits.is_empty())
}
