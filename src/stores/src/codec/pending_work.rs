//! The encoding of state and pending work.

use std::time::Duration;

use antiphon_core::Fault;
use antiphon_core::budget::{BudgetDimension, BudgetUsage};
use antiphon_core::channel::ChannelId;
use antiphon_core::checkpoint::PendingWork;
use antiphon_core::command::Send;
use antiphon_core::graph::{JoinEdge, NodeId};
use antiphon_core::model::Usage;
use antiphon_core::state::State;

use super::names::GraphNames;
use super::reader::ByteReader;
use super::value::ValueCodec;
use super::writer::ByteWriter;
use super::{corrupt, unstorable};

/// The items of a send without a limit, as the first format has it, and with one.
const SEND: usize = 3;
const SEND_WITH_LIMIT: usize = 4;

impl ByteWriter {
    pub(super) fn spent(&mut self, spent: &BudgetUsage) {
        let BudgetUsage { supersteps, model_calls, tool_calls, retries, usage } = *spent;
        self.array(6);
        for count in
            [supersteps, model_calls, tool_calls, retries, usage.input_tokens, usage.output_tokens]
        {
            self.number(count);
        }
    }

    /// A value of a channel.
    pub(super) fn value<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        channel: &str,
        value: &V,
    ) -> Result<(), Fault> {
        values.write(value, self).map_err(|problem| unstorable(channel, &problem))
    }

    pub(super) fn state<V: antiphon_core::value::Value>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
        state: &State<V>,
    ) -> Result<(), Fault> {
        let ids = (0_u32..).map(ChannelId).take(names.graph().channels().len());
        let held: Vec<_> = ids.filter_map(|id| Some((names.channel(id), state.get(id)?))).collect();
        self.array(held.len());
        for (channel, value) in held {
            self.array(2);
            self.text(channel);
            self.value(values, channel, value)?;
        }
        Ok(())
    }

    pub(super) fn send<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        send: &Send<V>,
    ) -> Result<(), Fault> {
        self.array(if send.limit.is_some() { SEND_WITH_LIMIT } else { SEND });
        self.text(&send.node);
        self.value(values, &send.node, &send.input)?;
        let micros = |timeout: Duration| u64::try_from(timeout.as_micros()).unwrap_or(u64::MAX);
        self.optional(send.timeout.map(micros), Self::number);
        if let Some(limit) = send.limit {
            self.number(micros(limit));
        }
        Ok(())
    }

    pub(super) fn pending_work<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
        pending_work: &PendingWork<V>,
    ) -> Result<(), Fault> {
        let PendingWork { ready, deferred, sends, arrived, over, sealed, exempt, grace, detour } =
            pending_work;
        self.array(9);
        self.nodes(names, ready);
        self.nodes(names, deferred);
        self.array(sends.len());
        sends.iter().try_for_each(|send| self.send(values, send))?;
        let joins = names.graph().joins();
        let arrived: Vec<_> = arrived
            .iter()
            .filter_map(|(place, sources)| Some((joins.get(*place)?, sources)))
            .collect();
        self.array(arrived.len());
        for (join, sources) in arrived {
            self.array(3);
            self.node(names, join.target);
            self.nodes(names, &join.sources);
            self.nodes(names, sources);
        }
        self.flag(*over);
        self.list(sealed, |out, channel| out.text(names.channel(*channel)));
        self.list(exempt, |out, dimension| out.text(dimension.as_str()));
        self.optional(*grace, Self::number);
        self.optional(*detour, |out, detour| out.node(names, detour));
        Ok(())
    }
}

impl ByteReader<'_> {
    pub(super) fn spent(&mut self) -> Result<BudgetUsage, Fault> {
        self.expect_array(6)?;
        Ok(BudgetUsage {
            supersteps: self.number()?,
            model_calls: self.number()?,
            tool_calls: self.number()?,
            retries: self.number()?,
            usage: Usage { input_tokens: self.number()?, output_tokens: self.number()? },
        })
    }

    /// Reads a state without the values whose channels are missing.
    pub(super) fn state<V: antiphon_core::value::Value>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
    ) -> Result<State<V>, Fault> {
        let channels = names.graph().channels();
        let mut held: Vec<Option<V>> = channels.iter().map(|_| None).collect();
        for _ in 0..self.array()? {
            self.expect_array(2)?;
            let Some(channel) = names.channel_named(self.text()?) else {
                self.raw()?;
                continue;
            };
            let value = values.read(self)?;
            if let Some(slot) = held.get_mut(channel.0 as usize) {
                *slot = Some(value);
            }
        }
        Ok(State::of(held))
    }

    /// The items of a send, whose limit is left out if it has none.
    pub(super) fn send_length(&mut self) -> Result<usize, Fault> {
        match self.array()? {
            found @ (SEND | SEND_WITH_LIMIT) => Ok(found),
            found => Err(corrupt(&format!(
                "found a list of {found} items, expected {SEND} or {SEND_WITH_LIMIT}"
            ))),
        }
    }

    pub(super) fn send<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
    ) -> Result<Option<Send<V>>, Fault> {
        let has_limit = self.send_length()? == SEND_WITH_LIMIT;
        let node = self.node(names)?;
        let input =
            if node.is_some() { Some(values.read(self)?) } else { self.raw().map(|_| None)? };
        let timeout = self.optional(Self::number)?.map(Duration::from_micros);
        let limit = if has_limit { Some(Duration::from_micros(self.number()?)) } else { None };
        let node = names.graph().node_name(node);
        Ok(input.map(|input| Send { node, input, timeout, limit }))
    }

    pub(super) fn pending_work<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        names: &GraphNames<'_, V>,
    ) -> Result<PendingWork<V>, Fault> {
        self.expect_array(9)?;
        Ok(PendingWork {
            ready: self.nodes(names)?.into(),
            deferred: self.nodes(names)?,
            sends: self.present(|from| from.send(values, names))?,
            arrived: self.present(|from| from.arrived(names))?,
            over: self.flag()?,
            sealed: self.present(|from| Ok(names.channel_named(from.text()?)))?,
            exempt: self.list(Self::dimension)?,
            grace: self.optional(Self::number)?,
            detour: self.optional(|from| from.node(names))?.flatten(),
        })
    }

    /// A join, and the sources of it that have run; none if it is missing.
    fn arrived<V>(
        &mut self,
        names: &GraphNames<'_, V>,
    ) -> Result<Option<(usize, Vec<NodeId>)>, Fault> {
        self.expect_array(3)?;
        let (target, sources) = (self.text()?, self.list(Self::text)?);
        let node = names.graph().node_id(target);
        let sources: Vec<_> = sources.into_iter().map(|name| names.graph().node_id(name)).collect();
        let is_it = |join: &JoinEdge| {
            node == Some(join.target) && join.sources.iter().map(|it| Some(*it)).eq(sources.clone())
        };
        let place = names.graph().joins().iter().position(is_it);
        if place.is_none() {
            names.lacks("join before", target);
        }
        let arrived = self.nodes(names)?;
        Ok(place.map(|place| (place, arrived)))
    }

    pub(super) fn dimension(&mut self) -> Result<BudgetDimension, Fault> {
        let name = self.text()?;
        let found = BudgetDimension::ALL.into_iter().find(|dimension| dimension.as_str() == name);
        found.ok_or_else(|| corrupt("an unknown dimension of a budget"))
    }
}
