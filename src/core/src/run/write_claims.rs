//! The first writer of each channel in a superstep, so that conflicts are found without comparing
//! all pairs of writers.

use crate::channel::ChannelId;

/// By channel: the first writer of the superstep that is being merged.
#[derive(Debug)]
pub(super) struct WriteClaims {
    round: u64,
    first: Vec<WriteClaim>,
}

/// A write, by the slot of its task and its index among that task's writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WriteClaim {
    round: u64,
    pub(super) slot: u32,
    pub(super) place: usize,
}

impl WriteClaims {
    pub(super) fn new(channels: usize) -> Self {
        Self { round: 0, first: vec![WriteClaim::default(); channels] }
    }

    /// Forgets the last superstep.
    pub(super) const fn begin(&mut self) {
        self.round += 1;
    }

    /// The earlier writer of the channel; if there is none, records this one.
    pub(super) fn claim(
        &mut self,
        channel: ChannelId,
        slot: u32,
        place: usize,
    ) -> Option<WriteClaim> {
        let first = self.first.get_mut(channel.0 as usize)?;
        if first.round == self.round {
            return Some(*first);
        }
        *first = WriteClaim { round: self.round, slot, place };
        None
    }
}
