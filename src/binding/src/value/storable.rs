//! Whether what a node wrote can be stored, asked where it was written.

use antiphon_core::channel::{Write, WriteOp};
use antiphon_core::command::{Destination, Route, Update};
use antiphon_core::task::TaskOutcome;
use antiphon_core::{Fault, FaultCode};
use antiphon_stores::codec::unstorable;

use crate::graph::engine::Engine;
use crate::value::codec::ObjectCodec;
use crate::value::object::Object;

/// Checks that the values of an outcome can be stored. `outer` is the graph around the node's
/// own. So it is the node that fails, and its own policies apply.
pub(crate) fn check(
    values: &ObjectCodec,
    outcome: &TaskOutcome<Object>,
    (engine, outer): (&Engine, &Engine),
) -> Result<(), Fault> {
    match outcome {
        TaskOutcome::Done(update) => check_update(values, engine, update),
        TaskOutcome::Escalate(update) => check_update(values, outer, update),
        _ => Ok(()),
    }
}

fn check_update(
    values: &ObjectCodec,
    engine: &Engine,
    update: &Update<Object>,
) -> Result<(), Fault> {
    for Write { channel, op } in &update.writes {
        if let WriteOp::Merge(value) | WriteOp::Replace(value) = op {
            let channel = engine.graph.channel(*channel);
            fits(values, value, || channel.map_or("", |channel| &channel.name))?;
        }
    }
    let (Route::Also(choices) | Route::Only(choices)) = &update.route else { return Ok(()) };
    choices.iter().try_for_each(|choice| match choice {
        Destination::Send(sent) => fits(values, &sent.input, || &sent.node),
        _ => Ok(()),
    })
}

/// Whether a question can be stored; `node` asks it.
pub(crate) fn question_fits(
    values: &ObjectCodec,
    question: &Object,
    node: &str,
) -> Result<(), Fault> {
    values.problem(question).map_or(Ok(()), |problem| {
        let message = format!("the question of node `{node}` cannot be stored: {problem}");
        Err(Fault::new(FaultCode::ValueUnstorable, message)
            .with("node", node)
            .hint("ask with plain data, or register its type: antiphon.checkpoint.register"))
    })
}

/// Whether a value can be stored; `key` says what it is one of.
fn fits<'a>(values: &ObjectCodec, value: &Object, key: impl Fn() -> &'a str) -> Result<(), Fault> {
    values.problem(value).map_or(Ok(()), |problem| Err(unstorable(key(), &problem)))
}
