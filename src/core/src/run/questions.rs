//! Questions: a task that waits for an answer from outside.

use smallvec::SmallVec;

use super::frame::{AskedQuestion, TaskStatus};
use super::machine::Run;
use super::scope::Scopes;
use crate::channel::ChannelId;
use crate::checkpoint::CommitChange;
use crate::effect::Question;
use crate::event::{EventKind, Level};
use crate::fault::{Fault, FaultCode};
use crate::rules::Rules;
use crate::task::TaskId;
use crate::time::Time;
use crate::value::Value;

impl<V: Value> Run<V> {
    /// A task asks a question. The others of its superstep continue.
    pub(super) fn pause(&mut self, scope: u32, slot: u32, (question_id, value): AskedQuestion<V>) {
        let seed = self.scopes.task_seed(scope, slot);
        let path = self.scopes.path(scope, slot).iter().map(ToString::to_string).collect();
        let Some(record) = self.scopes.record(scope, slot) else { return };
        let answers = record.extra().answers.len();
        let id = question_id.unwrap_or_else(|| Question::<V>::own_id(seed, answers));
        let question = Question { id, path, value };
        let before = self.queue.trace_position();
        let Self { scopes, queue } = self;
        queue.log.emit(|| {
            let mut event = scopes.event(scope, slot, EventKind::Interrupt, Level::Info);
            event.data.insert("id".into(), question.id.clone().into());
            event.data.extend(question.value.to_json().map(|value| ("value".to_owned(), value)));
            event
        });
        self.notify_asked(scope, slot, &question);
        // After its event, so that the commit counts the event.
        let asked = |task| CommitChange::Asked(task, Box::new(question.clone()));
        if let Some(commit) = self.commit_of(scope, slot, asked) {
            self.queue.withhold(commit.id, before);
            self.queue.pending_commits.push_back(commit);
        }
        if let Some(frame) = self.scopes.frame_mut(scope) {
            frame.paused += 1;
            if let Some(record) = frame.records.get_mut(slot as usize) {
                record.status = TaskStatus::Paused(Box::new(question));
            }
        }
        self.close_task(scope);
    }

    /// Holds the question of a task with open calls on other threads or tasks: these end first, or
    /// their outcome would be unknown. Returns the question if the task can pause now.
    pub(super) fn hold_question(
        &mut self,
        scope: u32,
        slot: u32,
        asked: AskedQuestion<V>,
    ) -> Option<AskedQuestion<V>> {
        let record = self.scopes.record(scope, slot).filter(|record| record.has_open_calls());
        let Some(record) = record else { return Some(asked) };
        record.extra().asks = Some(asked);
        None
    }

    /// Pauses a task whose question was held, once no call is open or its deadline has passed.
    /// Returns whether it pauses.
    pub(super) fn release_question(&mut self, scope: u32, slot: u32, late: bool) -> bool {
        let Some(record) = self.scopes.record(scope, slot) else { return false };
        if !matches!(record.status, TaskStatus::Running) || (record.has_open_calls() && !late) {
            return false;
        }
        let asks = record.extra.as_mut().and_then(|extra| extra.asks.take());
        let Some(asked) = asks else { return false };
        self.queue.running -= 1;
        self.pause(scope, slot, asked);
        true
    }

    /// The channels of the run's own graph that the finished tasks of a paused superstep would
    /// change, with their values.
    ///
    /// # Errors
    /// The fault of a reducer of the host.
    pub fn preview(&self, rules: &mut impl Rules<V>) -> Result<Vec<(ChannelId, V)>, Fault> {
        let Some(frame) = self.scopes.frame(0) else { return Ok(Vec::new()) };
        frame.with_writes(frame.writes().map(|(_, write)| write), rules).map(SmallVec::into_vec)
    }

    /// All open questions, in the order of their tasks.
    pub fn questions(&self) -> Vec<Question<V>> {
        let mut questions = Vec::new();
        self.scopes.collect_questions(0, &mut questions);
        questions
    }

    /// Answers a question. Its task runs again and finds all its answers in order.
    ///
    /// # Errors
    /// A `Validation` fault if no open question has that id, or as
    /// [`Question::check_answer`]; the question then stays open.
    pub fn answer(&mut self, id: &str, value: V, now: Time) -> Result<(), Fault> {
        self.queue.log.now = now;
        let asked = self.scopes.find_question(0, id).ok_or_else(|| unknown(id))?;
        let value = asked.encode_answer(value, self.queue.schemas)?;
        self.discount_pause(now);
        if self.answer_agent(id, &value) {
            return Ok(());
        }
        for scope in self.scopes.indices() {
            let Some(frame) = self.scopes.frame_mut(scope) else { continue };
            let asks =
                |status: &TaskStatus<V>| matches!(status, TaskStatus::Paused(q) if q.id == id);
            let Some(slot) = frame.records.iter().position(|record| asks(&record.status)) else {
                continue;
            };
            frame.paused -= 1;
            let seed = self.scopes.task_seed(scope, u32::try_from(slot).unwrap_or(u32::MAX));
            let Some(frame) = self.scopes.frame_mut(scope) else { continue };
            let place = u32::try_from(slot).unwrap_or(u32::MAX);
            if let Some(record) = frame.records.get_mut(slot) {
                record.attempt -= 1;
                let extra = record.extra();
                if id == Question::<V>::own_id(seed, extra.answers.len()) {
                    extra.answers.push(value.clone());
                } else {
                    extra.relayed.push((id.to_owned(), value.clone()));
                }
            }
            if let Some(found) = self.scopes.get_mut(scope) {
                found.open += 1;
            }
            self.store_of(scope, place, |task| CommitChange::Answered(task, value));
            self.start_step_timer(0);
            self.start(scope, place);
            return Ok(());
        }
        Err(unknown(id))
    }

    /// No limit of time counts a pause: a person may take as long as they like.
    fn discount_pause(&mut self, now: Time) {
        let Some(since) = self.queue.paused_since.take() else { return };
        let later = |at: &mut Option<Time>| *at = at.map(|at| at + now.since(since));
        later(&mut self.queue.deadline);
        for scope in self.scopes.indices() {
            let records = self.scopes.frame_mut(scope).map(|frame| frame.records.iter_mut());
            for extra in records.into_iter().flatten().filter_map(|record| record.extra.as_mut()) {
                later(&mut extra.expires);
                later(&mut extra.sent_until);
            }
        }
    }

    /// Checks that [`Run::answer`] would accept an answer, for several that are accepted together
    /// or not at all.
    ///
    /// # Errors
    /// As [`Run::answer`].
    pub fn check_answer(&self, id: &str, value: &V) -> Result<(), Fault> {
        let asked = self.scopes.find_question(0, id).ok_or_else(|| unknown(id))?;
        asked.check_answer(value, self.queue.schemas)
    }

    /// The answers of a task so far.
    pub fn answers(&self, scope: u32, slot: u32) -> Vec<V> {
        if let Some(agent) = self.scopes.agent(scope) {
            let seed = self.scopes.get(scope).map(|scope| scope.seed);
            return seed.map_or_else(Vec::new, |seed| agent.answers(seed, slot));
        }
        let record = self.scopes.frame(scope).and_then(|frame| frame.records.get(slot as usize));
        record
            .and_then(|record| record.extra.as_ref())
            .map_or_else(Vec::new, |extra| extra.answers.clone())
    }

    /// The answer to a question of a subrun, if there is one.
    pub fn relayed_answer(&self, task: TaskId, question: &str) -> Option<&V> {
        let record = self.scopes.frame(task.scope)?.records.get(task.slot as usize)?;
        let relayed = &record.extra.as_ref()?.relayed;
        relayed.iter().find_map(|(id, answer)| (id == question).then_some(answer))
    }

    /// The fault that a task handles, and the name of the failed node.
    pub fn handled(&self, scope: u32, slot: u32) -> Option<(std::sync::Arc<str>, &Fault)> {
        let frame = self.scopes.frame(scope)?;
        let (node, fault) = frame.records.get(slot as usize)?.handled()?;
        Some((frame.graph.node_name(Some(*node)), fault))
    }
}

impl<V: Value> Scopes<V> {
    fn collect_questions(&self, scope: u32, questions: &mut Vec<Question<V>>) {
        if let Some(agent) = self.agent(scope) {
            return questions.extend(agent.questions().cloned());
        }
        let records = self.frame(scope).map_or(&[][..], |frame| &frame.records);
        for record in records {
            match &record.status {
                TaskStatus::Paused(question) => questions.push(Question::clone(question)),
                TaskStatus::Nested(child) => self.collect_questions(*child, questions),
                _ => {}
            }
        }
    }
}

impl<V: Value> Scopes<V> {
    /// The tasks whose nested graphs ask questions.
    pub(super) fn nested_questions(
        &self,
        scope: u32,
        asked: &mut Vec<(u32, u32, Vec<Question<V>>)>,
    ) {
        let records = self.frame(scope).map_or(&[][..], |frame| &frame.records);
        for (slot, record) in (0_u32..).zip(records) {
            let TaskStatus::Nested(child) = record.status else { continue };
            // The agent's own task has reported its questions.
            if self.is_agent(child) {
                continue;
            }
            self.nested_questions(child, asked);
            let mut questions = Vec::new();
            self.collect_questions(child, &mut questions);
            if !questions.is_empty() {
                asked.push((scope, slot, questions));
            }
        }
    }

    fn find_question(&self, scope: u32, id: &str) -> Option<&Question<V>> {
        if let Some(agent) = self.agent(scope) {
            return agent.questions().find(|question| question.id == id);
        }
        let records = self.frame(scope).map_or(&[][..], |frame| &frame.records);
        records.iter().find_map(|record| match &record.status {
            TaskStatus::Paused(question) => Some(&**question).filter(|question| question.id == id),
            TaskStatus::Nested(child) => self.find_question(*child, id),
            _ => None,
        })
    }
}

fn unknown(id: &str) -> Fault {
    let message = format!("no open question has the id: {id}");
    Fault::new(FaultCode::QuestionUnknown, message)
        .hint("answer one of the ids in the paused result")
}
