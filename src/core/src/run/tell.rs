//! Telling the host what it wants to show.

use std::sync::Arc;

use super::Run;
use super::frame::{Frame, Status};
use super::unit::Units;
use crate::command::Update;
use crate::effect::Question;
use crate::fault::Fault;
use crate::graph::NodeId;
use crate::notice::{News, Notice, Place, TaskNotice, Within};
use crate::task::TaskId;
use crate::value::Value;

impl<V: Value> Run<V> {
    /// What there is to tell since the last call, in order; nothing unless
    /// [`super::Options::shows`] says so. A question, and what comes after it, is
    /// told once the question's commit was acknowledged.
    pub fn take_notices(&mut self) -> Vec<Notice<V>> {
        self.desk.take_notices()
    }

    /// A nested graph hands something to the unit around it.
    pub(super) fn tell_handed_up(&mut self, unit: u32, slot: u32, update: &Update<V>) {
        if self.desk.shows.handed_up
            && let Some(record) = self.units.record(unit, slot)
        {
            let node = record.node;
            self.desk.notices.push(Notice::HandedUp(unit, node, update.clone()));
        }
    }

    pub(super) fn tell_begun(&mut self, unit: u32, slot: u32) {
        self.tell_task(unit, slot, |frame, slot| {
            let record = frame.records.get(slot as usize)?;
            let begins = record.attempt == 1;
            begins.then(|| News::Begun(record.input.clone(), frame.state.snapshot()))
        });
    }

    pub(super) fn tell_done(&mut self, unit: u32, slot: u32, update: &Update<V>) {
        self.tell_task(unit, slot, |_, _| Some(News::Done(update.clone())));
    }

    pub(super) fn tell_failed(&mut self, unit: u32, slot: u32, fault: &Fault) {
        self.tell_task(unit, slot, |_, _| Some(News::Failed(fault.clone())));
    }

    pub(super) fn tell_asked(&mut self, unit: u32, slot: u32, question: &Question<V>) {
        self.tell_task(unit, slot, |_, _| Some(News::Asked(vec![question.clone()])));
    }

    /// The run pauses: what each nested graph asks, the innermost first.
    pub(super) fn tell_nested_asked(&mut self) {
        if !self.desk.shows.tasks {
            return;
        }
        let mut asked = Vec::new();
        self.units.nested_questions(0, &mut asked);
        for (unit, slot, questions) in asked {
            self.tell_task(unit, slot, |_, _| Some(News::Asked(questions)));
        }
    }

    /// A superstep of a unit has been merged.
    pub(super) fn tell_merged(&mut self, unit: u32) {
        if !self.desk.shows.states {
            return;
        }
        let Some(frame) = self.units.frame(unit) else { return };
        if frame.state.touched().is_empty() {
            return;
        }
        self.desk.notices.push(if unit == 0 {
            Notice::Merged
        } else {
            Notice::MergedWithin(Box::new(Within {
                graph: Arc::clone(&frame.graph),
                namespace: self.units.namespace(unit),
                state: frame.state.snapshot(),
            }))
        });
    }

    fn tell_task(
        &mut self,
        unit: u32,
        slot: u32,
        news: impl FnOnce(&Frame<V>, u32) -> Option<News<V>>,
    ) {
        if !self.desk.shows.tasks {
            return;
        }
        let news = self.units.frame(unit).and_then(|frame| news(frame, slot));
        if let (Some(place), Some(news)) = (self.units.place(unit, slot), news) {
            self.desk.notices.push(Notice::Task(Box::new(TaskNotice { place, news })));
        }
    }

    /// Whether the outcome of this attempt of a node will count.
    pub fn awaits(&self, id: TaskId) -> bool {
        let frame = self.units.frame(id.unit);
        let record = frame.and_then(|frame| frame.records.get(id.slot as usize));
        record.is_some_and(|record| {
            record.serial == id.serial && matches!(record.status, Status::Running)
        })
    }

    /// Where a task stands, while it lasts.
    pub fn place_of(&self, id: TaskId) -> Option<Place<V>> {
        self.units.place(id.unit, id.slot)
    }
}

impl<V: Value> Units<V> {
    fn place(&self, unit: u32, slot: u32) -> Option<Place<V>> {
        let frame = self.frame(unit)?;
        let record = frame.records.get(slot as usize)?;
        (record.node != NodeId::START).then(|| Place {
            graph: Arc::clone(&frame.graph),
            namespace: self.namespace(unit),
            node: record.node,
            id: self.task_seed(unit, slot).stable_uuid(),
            step: frame.step,
            send: record.send,
        })
    }
}
