//! Plans for other tasks, with the tools that there are. A small model copies the form of an
//! example better than it follows a description.

use serde_json::{Value as Json, json};

use super::capability::{
    CALCULATOR, Capabilities, DOCUMENT_SEARCH, DOCUMENTS, FILES, MODEL, PAGES, SEARCH,
};
use super::operand::ONLY_NUMBER;
use super::operation::{CREATE, PDF};
use crate::tool_arguments::{properties, required};

/// Tasks and their plans, line by line.
pub(super) fn examples(capabilities: &Capabilities) -> String {
    let example = PlanExample { capabilities };
    let plans = std::iter::once(example.fact()).chain(example.calculation()).chain(example.file());
    let shown = plans.map(|(task, stages)| {
        let steps = (1..).zip(stages).map(|(number, step)| json!([step.json(number)]));
        let plan = json!({"stages": steps.collect::<Vec<_>>()});
        format!("Task: {task}\n{plan}")
    });
    shown.collect::<Vec<_>>().join("\n\n")
}

struct PlanExample<'c> {
    capabilities: &'c Capabilities,
}

struct ExampleStep {
    tool: String,
    input: Json,
    narrative: &'static str,
}

impl ExampleStep {
    fn new(tool: &str, narrative: &'static str, input: Json) -> Self {
        Self { tool: tool.to_owned(), input, narrative }
    }

    fn json(&self, number: usize) -> Json {
        json!({
            "stepId": format!("s{number}"), "tool_name": self.tool, "sub_task_input": self.input,
            "narrative_step": self.narrative,
        })
    }
}

impl PlanExample<'_> {
    fn has(&self, tool: &str) -> bool {
        self.capabilities.role_of(tool).is_some()
    }

    /// One search, or a text without one.
    fn fact(&self) -> (&'static str, Vec<ExampleStep>) {
        let Some(search) = self.search("height of the lighthouse", "find the height") else {
            let input = json!({"prompt": "Write a greeting to a new neighbour."});
            let steps = vec![ExampleStep::new(MODEL, "write the greeting", input)];
            return ("Greet a new neighbour.", steps);
        };
        ("How high is the lighthouse?", vec![search])
    }

    /// A search, a page, a number of it and a calculation; and a file, if one can be written.
    fn calculation(&self) -> Option<(&'static str, Vec<ExampleStep>)> {
        let mut steps = vec![self.search("price of a ticket", "find the price")?];
        steps.extend(self.page());
        let read = format!("@{{outputs.s{}.result_data}}", steps.len());
        let prompt = format!("Write the price of one ticket, {ONLY_NUMBER}: {read}");
        steps.push(ExampleStep::new(MODEL, "take the number", json!({ "prompt": prompt })));
        if self.has(CALCULATOR) {
            let expression = format!("3 * @{{outputs.s{}.result_data}}", steps.len());
            let input = json!({ "expression": expression });
            steps.push(ExampleStep::new(CALCULATOR, "calculate the price of three", input));
        }
        if !self.writes(PDF) {
            return Some(("What do 3 tickets cost?", steps));
        }
        let content = format!("3 tickets cost @{{outputs.s{}.result_data}}.", steps.len());
        steps.push(written_file(PDF, "tickets.pdf", &content));
        Some(("What do 3 tickets cost? Write it into tickets.pdf.", steps))
    }

    /// A file whose text the task gives: nothing has to be looked up.
    fn file(&self) -> Option<(&'static str, Vec<ExampleStep>)> {
        let steps = || vec![written_file(CREATE, "list.txt", "Milk and bread")];
        self.writes(CREATE)
            .then(|| ("Write the file list.txt with the text Milk and bread.", steps()))
    }

    fn search(&self, query: &str, narrative: &'static str) -> Option<ExampleStep> {
        let tool = [DOCUMENT_SEARCH, SEARCH].into_iter().find(|tool| self.has(tool))?;
        Some(ExampleStep::new(tool, narrative, json!({ "query": query })))
    }

    /// The page that the search has found first.
    fn page(&self) -> Option<ExampleStep> {
        let (tool, found) = if self.has(DOCUMENT_SEARCH) {
            (DOCUMENTS, "results.0.path")
        } else {
            (PAGES, "0.link")
        };
        let role = self.capabilities.role_of(tool)?;
        let parameters = &self.capabilities.tool(role, tool)?.spec.parameters;
        let only = *required(parameters).first()?;
        properties(parameters)?.get(only)?;
        let input = json!({ only: format!("@{{outputs.s1.result_data.{found}}}") });
        Some(ExampleStep::new(tool, "read the best one", input))
    }

    fn writes(&self, operation: &str) -> bool {
        let tool =
            self.capabilities.role_of(FILES).and_then(|role| self.capabilities.tool(role, FILES));
        let known =
            tool.and_then(|tool| tool.spec.parameters.pointer("/properties/operation/enum"));
        known
            .and_then(Json::as_array)
            .is_some_and(|known| known.iter().any(|name| name == operation))
    }
}

fn written_file(operation: &str, name: &str, content: &str) -> ExampleStep {
    let params = json!({"filename": name, "content": content});
    ExampleStep::new(FILES, "write the file", json!({"operation": operation, "params": params}))
}
