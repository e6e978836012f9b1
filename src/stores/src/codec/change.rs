//! What happened, as bytes.

use antiphon_core::Fault;
use antiphon_core::channel::{Op, Write};
use antiphon_core::checkpoint::{Change, Delta, Merged, Source, SubrunCommit, TaskKey};
use antiphon_core::command::{Choice, Route, Update};
use antiphon_core::effect::{Ending, Question};

use super::names::Names;
use super::reader::Reader;
use super::value::ValueCodec;
use super::writer::Writer;
use super::{corrupt, misfit};

const SOURCES: [Source; 4] = [Source::Begin, Source::Turn, Source::Step, Source::Edit];

impl Writer {
    pub(super) fn change<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &Names<'_, V>,
        change: &Change<V>,
    ) -> Result<(), Fault> {
        self.array(2);
        match change {
            Change::Step(delta) => {
                self.number(0);
                self.delta(values, names, delta)?;
            }
            Change::Finished(task, update) => {
                self.number(1);
                self.task(names, *task);
                self.array(2);
                self.writes(values, names, &update.writes)?;
                self.route(values, names, &update.route)?;
            }
            Change::Asked(task, question) => {
                self.number(2);
                self.task(names, *task);
                self.array(3);
                self.text(&question.id);
                self.list(&question.path, |out, name| out.text(name));
                self.value(values, "a question", &question.value)?;
            }
            Change::Answered(task, answer) => {
                self.number(3);
                self.task(names, *task);
                self.value(values, "an answer", answer)?;
            }
            Change::Ended(ended) => {
                self.number(4);
                self.ending(ended)?;
            }
            Change::Called(task, attempt, made) => {
                self.number(5);
                self.task(names, *task);
                self.called(values, *attempt, made)?;
            }
            Change::Subrun(task, attempt, commit) => {
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

    /// The task a change is about goes into one list with what follows.
    fn task<V>(&mut self, names: &Names<'_, V>, task: TaskKey) {
        self.array(4);
        self.number(task.key);
        self.number(task.slot.into());
        self.node(names, task.node);
    }

    fn delta<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &Names<'_, V>,
        delta: &Delta<V>,
    ) -> Result<(), Fault> {
        self.array(4);
        let source = SOURCES.iter().position(|source| *source == delta.source);
        self.number(source.unwrap_or_default() as u64);
        self.number(delta.step);
        self.array(delta.merges.len());
        for Merged { made, writes } in &delta.merges {
            self.array(2);
            self.array(made.len());
            for (channel, value) in made {
                let channel = names.channel(*channel);
                self.array(2);
                self.text(channel);
                self.value(values, channel, value)?;
            }
            self.writes(values, names, writes)?;
        }
        self.outlook(values, names, &delta.outlook)
    }

    fn writes<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &Names<'_, V>,
        writes: &[Write<V>],
    ) -> Result<(), Fault> {
        self.array(writes.len());
        for write in writes {
            let channel = names.channel(write.channel);
            let (tag, value) = match &write.op {
                Op::Merge(value) => (0, Some(value)),
                Op::Replace(value) => (1, Some(value)),
                Op::Reset => (2, None),
            };
            self.array(3);
            self.text(channel);
            self.number(tag);
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
        names: &Names<'_, V>,
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
                Choice::Node(node) => {
                    self.number(0);
                    self.node(names, *node);
                }
                Choice::Name(name) => {
                    self.number(1);
                    self.text(name);
                }
                Choice::Send(send) => {
                    self.number(2);
                    self.send(values, send)?;
                }
                Choice::End => {
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
        }
        Ok(())
    }
}

impl Reader<'_> {
    pub(super) fn change<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &Names<'_, V>,
    ) -> Result<Change<V>, Fault> {
        self.expect_array(2)?;
        Ok(match self.number()? {
            0 => Change::Step(self.delta(values, names)?),
            1 => {
                let task = self.task(names)?;
                self.expect_array(2)?;
                let writes = self.writes(values, names)?.into();
                Change::Finished(task, Update { writes, route: self.route(values, names)? })
            }
            2 => {
                let task = self.task(names)?;
                self.expect_array(3)?;
                let id = self.text()?.to_owned();
                let path = self.list(|from| Ok(from.text()?.to_owned()))?;
                Change::Asked(task, Box::new(Question { id, path, value: values.read(self)? }))
            }
            3 => Change::Answered(self.task(names)?, values.read(self)?),
            4 => Change::Ended(self.ending()?),
            5 => {
                let task = self.task(names)?;
                let (attempt, made) = self.called(values)?;
                Change::Called(task, attempt, Box::new(made))
            }
            6 => {
                let task = self.task(names)?;
                self.expect_array(5)?;
                let (attempt, index) = (self.small()?, self.small()?);
                let (repeatable, ended) = (self.flag()?, self.flag()?);
                let bytes = self.blob()?.to_vec();
                let must_be_durable = false;
                let commit = SubrunCommit { index, must_be_durable, repeatable, ended, bytes };
                Change::Subrun(task, attempt, Box::new(commit))
            }
            _ => return Err(corrupt("an unknown kind of change")),
        })
    }

    fn task<V>(&mut self, names: &Names<'_, V>) -> Result<TaskKey, Fault> {
        self.expect_array(4)?;
        Ok(TaskKey { key: self.number()?, slot: self.small()?, node: self.node(names)? })
    }

    fn delta<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &Names<'_, V>,
    ) -> Result<Delta<V>, Fault> {
        self.expect_array(4)?;
        Ok(Delta {
            source: source_of(self.number()?)?,
            step: self.number()?,
            merges: self
                .list(|from| {
                    from.expect_array(2)?;
                    let made = from.list(|from| {
                        from.expect_array(2)?;
                        Ok((names.channel_named(from.text()?)?, values.read(from)?))
                    })?;
                    Ok(Merged { made, writes: from.writes(values, names)?.into() })
                })?
                .into(),
            outlook: self.outlook(values, names)?,
        })
    }

    fn writes<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &Names<'_, V>,
    ) -> Result<Vec<Write<V>>, Fault> {
        self.list(|from| {
            from.expect_array(3)?;
            let channel = names.channel_named(from.text()?)?;
            let op = match from.number()? {
                0 => Op::Merge(values.read(from)?),
                1 => Op::Replace(values.read(from)?),
                2 => {
                    from.optional(|_| Err::<(), _>(corrupt("a reset with a value")))?;
                    Op::Reset
                }
                _ => return Err(corrupt("an unknown kind of write")),
            };
            Ok(Write { channel, op })
        })
    }

    fn route<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &Names<'_, V>,
    ) -> Result<Route<V>, Fault> {
        self.expect_array(2)?;
        let tag = self.number()?;
        let choices = self.list(|from| {
            from.expect_array(2)?;
            Ok(match from.number()? {
                0 => Choice::Node(from.node(names)?),
                1 => Choice::Name(from.text()?.into()),
                2 => Choice::Send(from.send(values, names)?),
                3 => {
                    from.optional(|_| Err::<(), _>(corrupt("an end with a value")))?;
                    Choice::End
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
            _ => return Err(corrupt("an unknown ending")),
        })
    }
}

pub(super) fn source_of(tag: u64) -> Result<Source, Fault> {
    let source = usize::try_from(tag).ok().and_then(|tag| SOURCES.get(tag).copied());
    source.ok_or_else(|| corrupt("an unknown source of a superstep"))
}
