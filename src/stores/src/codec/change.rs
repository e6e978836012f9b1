//! The encoding of changes.

use antiphon_core::Fault;
use antiphon_core::channel::{ChannelId, Reducer, Write, WriteOp};
use antiphon_core::checkpoint::{
    CommitChange, MergedWrites, SubrunCommit, SuperstepDelta, TaskKey, WriteSource,
};
use antiphon_core::command::{Destination, Route, Update};
use antiphon_core::effect::{Ending, Question};

use super::names::GraphNames;
use super::reader::ByteReader;
use super::reducer::{self, MERGE, REPLACE, RESET};
use super::value::ValueCodec;
use super::writer::ByteWriter;
use super::{corrupt, misfit};

const SOURCES: [WriteSource; 4] =
    [WriteSource::Begin, WriteSource::Turn, WriteSource::Step, WriteSource::Edit];

impl ByteWriter {
    pub(super) fn change<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
        change: &CommitChange<V>,
    ) -> Result<(), Fault> {
        self.array(2);
        match change {
            CommitChange::Step(delta) => {
                self.number(0);
                self.delta(values, names, delta)?;
            }
            CommitChange::Finished(task, update) => {
                self.number(1);
                self.task(names, *task);
                self.array(2);
                self.writes(values, names, &update.writes, |_| None)?;
                self.route(values, names, &update.route)?;
            }
            CommitChange::Asked(task, question) => {
                self.number(2);
                self.task(names, *task);
                self.array(3);
                self.text(&question.id);
                self.list(&question.path, |out, name| out.text(name));
                self.value(values, "a question", &question.value)?;
            }
            CommitChange::Answered(task, answer) => {
                self.number(3);
                self.task(names, *task);
                self.value(values, "an answer", answer)?;
            }
            CommitChange::Ended(ended) => {
                self.number(4);
                self.ending(ended)?;
            }
            CommitChange::Called(task, attempt, record) => {
                self.number(5);
                self.task(names, *task);
                self.call(values, *attempt, record)?;
            }
            CommitChange::Subrun(task, attempt, commit) => {
                self.number(6);
                self.task(names, *task);
                self.array(5);
                self.number((*attempt).into());
                self.number(commit.index.into());
                self.flag(commit.repeatable);
                self.flag(commit.ended);
                self.bytes(&commit.bytes);
            }
        }
        Ok(())
    }

    /// Writes the key of a task as the first items of the list of four that its caller
    /// completes.
    fn task<V>(&mut self, names: &GraphNames<'_, V>, task: TaskKey) {
        self.array(4);
        self.number(task.key);
        self.number(task.slot.into());
        self.node(names, task.node);
    }

    fn delta<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
        delta: &SuperstepDelta<V>,
    ) -> Result<(), Fault> {
        self.array(4);
        let source = SOURCES.iter().position(|source| *source == delta.source);
        self.number(source.unwrap_or_default() as u64);
        self.number(delta.step);
        self.array(delta.merges.len());
        for MergedWrites { reduced, writes, former } in &delta.merges {
            self.array(2);
            self.array(reduced.len());
            for (channel, value) in reduced {
                let channel = names.channel(*channel);
                self.array(2);
                self.text(channel);
                self.value(values, channel, value)?;
            }
            let reducer = |channel| {
                let former = former.iter().find(|(written, _)| *written == channel);
                let declared = || names.graph().channel(channel).map(|channel| &channel.merge);
                former.map(|(_, reducer)| reducer).or_else(declared)
            };
            self.writes(values, names, writes, reducer)?;
        }
        self.pending_work(values, names, &delta.pending_work)
    }

    /// Writes that `reducer` names the reducers of, if they are merged.
    fn writes<'a, V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
        writes: &[Write<V>],
        reducer: impl Fn(ChannelId) -> Option<&'a Reducer>,
    ) -> Result<(), Fault> {
        self.array(writes.len());
        for write in writes {
            let channel = names.channel(write.channel);
            let ((kind, key), value) = match &write.op {
                WriteOp::Merge(value) => {
                    (reducer(write.channel).map_or((MERGE, None), reducer::kind_of), Some(value))
                }
                WriteOp::Replace(value) => ((REPLACE, None), Some(value)),
                WriteOp::Reset => ((RESET, None), None),
            };
            self.array(3 + usize::from(key.is_some()));
            self.text(channel);
            self.number(kind);
            if let Some(key) = key {
                self.text(key);
            }
            match value {
                Some(value) => self.value(values, channel, value)?,
                None => self.nil(),
            }
        }
        Ok(())
    }

    fn route<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
        route: &Route<V>,
    ) -> Result<(), Fault> {
        let (tag, choices) = match route {
            Route::Follow => (0, &[][..]),
            Route::Also(choices) => (1, choices.as_slice()),
            Route::Only(choices) => (2, choices.as_slice()),
            Route::End => (3, &[][..]),
        };
        self.array(2);
        self.number(tag);
        self.array(choices.len());
        for choice in choices {
            self.array(2);
            match choice {
                Destination::Node(node) => {
                    self.number(0);
                    self.node(names, *node);
                }
                Destination::Name(name) => {
                    self.number(1);
                    self.text(name);
                }
                Destination::Send(send) => {
                    self.number(2);
                    self.send(values, send)?;
                }
                Destination::End => {
                    self.number(3);
                    self.nil();
                }
            }
        }
        Ok(())
    }

    pub(super) fn ending(&mut self, ended: &Result<Ending, Fault>) -> Result<(), Fault> {
        self.array(2);
        match ended {
            Ok(Ending::Completed) => {
                self.number(0);
                self.nil();
            }
            Ok(Ending::Budget(dimension)) => {
                self.number(1);
                self.text(dimension.as_str());
            }
            Ok(Ending::Cancelled(reason)) => {
                self.number(2);
                self.text(reason);
            }
            Err(fault) => {
                self.number(3);
                self.serialized(fault)?;
            }
            Ok(Ending::Breakpoint) => {
                self.number(4);
                self.nil();
            }
        }
        Ok(())
    }
}

impl ByteReader<'_> {
    /// A change; none if it is about a task whose node is missing.
    pub(super) fn change<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
    ) -> Result<Option<CommitChange<V>>, Fault> {
        self.expect_array(2)?;
        match self.number()? {
            0 => Ok(Some(CommitChange::Step(self.delta(values, names)?))),
            4 => Ok(Some(CommitChange::Ended(self.ending()?))),
            kind => {
                self.expect_array(4)?;
                let (key, slot, node) = (self.number()?, self.small()?, self.node(names)?);
                let Some(node) = node else { return self.raw().map(|_| None) };
                self.task_change(values, names, (kind, TaskKey { key, slot, node })).map(Some)
            }
        }
    }

    /// A change of this kind about a task.
    fn task_change<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
        (kind, task): (u64, TaskKey),
    ) -> Result<CommitChange<V>, Fault> {
        Ok(match kind {
            1 => {
                self.expect_array(2)?;
                let writes = self.present(|from| Ok(from.write(values, names)?.0))?.into();
                CommitChange::Finished(task, Update { writes, route: self.route(values, names)? })
            }
            2 => {
                self.expect_array(3)?;
                let id = self.text()?.to_owned();
                let path = self.list(|from| Ok(from.text()?.to_owned()))?;
                CommitChange::Asked(
                    task,
                    Box::new(Question { id, path, value: values.read(self)? }),
                )
            }
            3 => CommitChange::Answered(task, values.read(self)?),
            5 => {
                let (attempt, record) = self.call(values)?;
                CommitChange::Called(task, attempt, Box::new(record))
            }
            6 => {
                self.expect_array(5)?;
                let (attempt, index) = (self.small()?, self.small()?);
                let (repeatable, ended) = (self.flag()?, self.flag()?);
                let bytes = self.blob()?.to_vec();
                let must_be_durable = false;
                let commit = SubrunCommit { index, must_be_durable, repeatable, ended, bytes };
                CommitChange::Subrun(task, attempt, Box::new(commit))
            }
            _ => return Err(corrupt("an unknown kind of change")),
        })
    }

    fn delta<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
    ) -> Result<SuperstepDelta<V>, Fault> {
        self.expect_array(4)?;
        Ok(SuperstepDelta {
            source: source_of(self.number()?)?,
            step: self.number()?,
            merges: self.list(|from| {
                from.expect_array(2)?;
                let reduced = from.present(|from| {
                    from.expect_array(2)?;
                    let Some(channel) = names.channel_named(from.text()?) else {
                        return from.raw().map(|_| None);
                    };
                    Ok(Some((channel, values.read(from)?)))
                })?;
                let mut former = Vec::new();
                let writes = from.present(|from| {
                    let (write, stored) = from.write(values, names)?;
                    let channel = write.as_ref().map(|write| write.channel);
                    former.extend(
                        channel.and_then(|channel| reducer::former(names.graph(), channel, stored)),
                    );
                    Ok(write)
                })?;
                Ok(MergedWrites { reduced, writes: writes.into(), former })
            })?,
            pending_work: self.pending_work(values, names)?,
        })
    }

    /// A write, unless its channel is missing, and the reducer that has merged it, if that is
    /// named.
    fn write<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
    ) -> Result<(Option<Write<V>>, Option<Reducer>), Fault> {
        let length = self.array()?;
        let channel = names.channel_named(self.text()?);
        let kind = self.number()?;
        let reducer = self.reducer(kind, length)?;
        let Some(channel) = channel else {
            self.raw()?;
            return Ok((None, reducer));
        };
        let op = match kind {
            REPLACE => WriteOp::Replace(values.read(self)?),
            RESET => {
                self.optional(|_| Err::<(), _>(corrupt("a reset with a value")))?;
                WriteOp::Reset
            }
            _ => WriteOp::Merge(values.read(self)?),
        };
        Ok((Some(Write { channel, op }), reducer))
    }

    fn route<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
    ) -> Result<Route<V>, Fault> {
        self.expect_array(2)?;
        let tag = self.number()?;
        let choices = self.present(|from| {
            from.expect_array(2)?;
            Ok(match from.number()? {
                0 => from.node(names)?.map(Destination::Node),
                1 => Some(Destination::Name(from.text()?.into())),
                2 => from.send(values, names)?.map(Destination::Send),
                3 => {
                    from.optional(|_| Err::<(), _>(corrupt("an end with a value")))?;
                    Some(Destination::End)
                }
                _ => return Err(corrupt("an unknown kind of choice")),
            })
        })?;
        Ok(match tag {
            0 => Route::Follow,
            1 => Route::Also(choices),
            2 => Route::Only(choices),
            3 => Route::End,
            _ => return Err(misfit("route", &tag.to_string())),
        })
    }

    pub(super) fn ending(&mut self) -> Result<Result<Ending, Fault>, Fault> {
        self.expect_array(2)?;
        Ok(match self.number()? {
            0 => {
                self.optional(|_| Err::<(), _>(corrupt("an end with a value")))?;
                Ok(Ending::Completed)
            }
            1 => Ok(Ending::Budget(self.dimension()?)),
            2 => Ok(Ending::Cancelled(self.text()?.to_owned())),
            3 => Err(self.deserialized()?),
            4 => {
                self.optional(|_| Err::<(), _>(corrupt("an end with a value")))?;
                Ok(Ending::Breakpoint)
            }
            _ => return Err(corrupt("an unknown ending")),
        })
    }
}

pub(super) fn source_of(tag: u64) -> Result<WriteSource, Fault> {
    let source = usize::try_from(tag).ok().and_then(|tag| SOURCES.get(tag).copied());
    source.ok_or_else(|| corrupt("an unknown source of a superstep"))
}
