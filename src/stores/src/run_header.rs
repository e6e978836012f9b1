//! What identifies a run in its thread.

use antiphon_core::checkpoint::key_salt;
use antiphon_core::{Fault, FaultCode, Seed};

use crate::codec::{ByteReader, ByteWriter, MissingParts};

/// Identifies a run, so that another process can resume it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunHeader {
    /// The run's id.
    pub run_id: String,
    /// The seed of its ids.
    pub seed: Seed,
    /// The name of its graph.
    pub graph: String,
    /// Distinguishes the call keys of this run from those of its forks: [`Options::key_salt`].
    ///
    /// [`Options::key_salt`]: antiphon_core::run::Options::key_salt
    pub key_salt: u64,
}

impl RunHeader {
    /// The same run under another id, in another thread. Its key salt is new, so that it repeats its
    /// calls instead of taking over the results of the original.
    #[must_use]
    pub fn copied(self, run_id: &str) -> Self {
        Self { run_id: run_id.to_owned(), key_salt: key_salt(run_id), ..self }
    }

    /// Refuses to read the run's entries as those of the graph `reader` if that is another graph
    /// and lacks a part of them.
    ///
    /// # Errors
    /// `checkpoint_misfit`.
    pub(crate) fn refuse_other(&self, missing: MissingParts, reader: &str) -> Result<(), Fault> {
        let fault = missing.work.or(missing.channel).filter(|_| self.graph != reader);
        fault.map_or(Ok(()), Err)
    }

    /// A fault of reading the run's entries as those of the graph `reader`. Where that lacks a
    /// part, and the run is of another graph, the fault names that graph.
    pub(crate) fn name_graph(&self, fault: Fault, reader: &str) -> Fault {
        let stored = self.graph.as_str();
        let lacks =
            fault.code == FaultCode::CheckpointMisfit && fault.details.contains_key("missing");
        if !lacks || stored == reader {
            return fault;
        }
        let problem = &fault.message;
        let message = format!(
            "the thread holds a run of `{stored}`, which `{reader}` cannot read: {problem}"
        );
        Fault::new(FaultCode::CheckpointMisfit, message)
            .with("graph", stored)
            .hint(format!("resume it with `{stored}`, or choose another thread"))
    }

    /// The body of an entry of `EntryKind::Run`.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = ByteWriter::new();
        out.array(4);
        out.text(&self.run_id);
        out.number(self.seed.number());
        out.text(&self.graph);
        out.number(self.key_salt);
        out.into_bytes()
    }

    /// Decodes the body of an entry of `EntryKind::Run`.
    ///
    /// # Errors
    /// `checkpoint_corrupt` if it is damaged.
    pub fn decode(bytes: &[u8]) -> Result<Self, Fault> {
        let mut from = ByteReader::new(bytes);
        let length = from.array()?;
        let run_id = from.text()?.to_owned();
        let (seed, graph) = (Seed::new(from.number()?), from.text()?.to_owned());
        // Runs of an earlier antiphon had none, and had called nothing under it.
        let key_salt = if length > 3 { from.number()? } else { 0 };
        Ok(Self { run_id, seed, graph, key_salt })
    }
}
