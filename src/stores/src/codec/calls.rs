//! The encoding of calls.

use antiphon_core::Fault;
use antiphon_core::checkpoint::{Call, CallOutcome, CallRecord, Callee};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::corrupt;
use super::reader::ByteReader;
use super::value::{JsonCodec, ValueCodec};
use super::writer::ByteWriter;

impl ByteWriter {
    pub(super) fn call<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        attempt: u32,
        record: &CallRecord<V>,
    ) -> Result<(), Fault> {
        let CallRecord { index, alone, call, outcome } = record;
        self.array(8);
        self.number(attempt.into());
        self.number((*index).into());
        self.flag(*alone);
        self.text(call.callee.as_str());
        self.text(&call.name);
        self.number(call.digest);
        self.flag(call.repeatable);
        if let Some(outcome) = outcome {
            return self.outcome(values, &call.name, outcome);
        }
        self.nil();
        Ok(())
    }

    fn outcome<V>(
        &mut self,
        values: &impl ValueCodec<V>,
        name: &str,
        outcome: &CallOutcome<V>,
    ) -> Result<(), Fault> {
        self.array(2);
        match outcome {
            CallOutcome::Value(value) => {
                self.number(0);
                self.value(values, name, value)
            }
            CallOutcome::Raised(error) => {
                self.number(1);
                self.value(values, name, error)
            }
            CallOutcome::Reply(reply) => {
                self.number(2);
                self.serialized(reply)
            }
            CallOutcome::Json(json) => {
                self.number(3);
                self.value(&JsonCodec, name, json)
            }
            CallOutcome::Failed(fault) => {
                self.number(4);
                self.serialized(fault)
            }
            CallOutcome::Interrupted => {
                self.number(5);
                self.nil();
                Ok(())
            }
        }
    }

    /// Writes a value as JSON text.
    pub(super) fn serialized(&mut self, value: &impl Serialize) -> Result<(), Fault> {
        let text =
            serde_json::to_string(value).map_err(|_| corrupt("a value without a JSON form"))?;
        self.text(&text);
        Ok(())
    }
}

impl ByteReader<'_> {
    pub(super) fn call<V>(
        &mut self,
        values: &impl ValueCodec<V>,
    ) -> Result<(u32, CallRecord<V>), Fault> {
        self.expect_array(8)?;
        let (attempt, index, alone) = (self.small()?, self.small()?, self.flag()?);
        let callee = self.text()?;
        let callee = Callee::ALL.into_iter().find(|known| known.as_str() == callee);
        let callee = callee.ok_or_else(|| corrupt("a call of an unknown kind"))?;
        let name = self.text()?.to_owned();
        let call = Call { callee, name, digest: self.number()?, repeatable: self.flag()? };
        let outcome = self.optional(|from| from.outcome(values))?;
        Ok((attempt, CallRecord { index, alone, call, outcome }))
    }

    fn outcome<V>(&mut self, values: &impl ValueCodec<V>) -> Result<CallOutcome<V>, Fault> {
        self.expect_array(2)?;
        Ok(match self.number()? {
            0 => CallOutcome::Value(values.read(self)?),
            1 => CallOutcome::Raised(values.read(self)?),
            2 => CallOutcome::Reply(self.deserialized()?),
            3 => CallOutcome::Json(JsonCodec.read(self)?),
            4 => CallOutcome::Failed(self.deserialized()?),
            5 => {
                self.optional(|_| Err::<(), _>(corrupt("an empty outcome with a value")))?;
                CallOutcome::Interrupted
            }
            _ => return Err(corrupt("an unknown outcome of a call")),
        })
    }

    pub(super) fn deserialized<T: DeserializeOwned>(&mut self) -> Result<T, Fault> {
        serde_json::from_str(self.text()?)
            .map_err(|_| corrupt("a reply or fault that is not valid JSON"))
    }
}
