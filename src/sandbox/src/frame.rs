//! Frames between host and worker: a length, a kind, a body. Whoever is on
//! the other side is not trusted, so a length is checked against what its kind
//! may have before a byte is kept for it.

use std::fmt;

/// Bytes before a body: the length of what follows, and the kind.
pub const HEADER: usize = 5;
/// Bytes that are read of a frame before its length is known; most end within them.
pub const AHEAD: usize = 1 << 10;

/// Bytes from which a body is handed on in the memory that it was read into.
const LARGE: usize = 64 << 10;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// From the host: a job.
    Job,
    /// From both: raw bytes that belong to the frame before.
    Attachment,
    /// From the worker: a call of one of the host's functions.
    Call,
    /// From the host: what the call came to.
    Reply,
    /// From the worker: what came of the job.
    Outcome,
    /// From the worker: it waits for a job.
    Ready,
}

impl FrameKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Job, Self::Attachment, Self::Call, Self::Reply, Self::Outcome, Self::Ready];

    /// Its byte on the wire.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Job => b'J',
            Self::Attachment => b'A',
            Self::Call => b'C',
            Self::Reply => b'R',
            Self::Outcome => b'O',
            Self::Ready => b'S',
        }
    }

    fn of(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.byte() == byte)
    }
}

/// Most bytes that a body of each kind may have; what is 0 is not expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameBounds {
    /// For an attachment.
    pub attachment: u64,
    /// For a call.
    pub call: u64,
    /// For an outcome.
    pub outcome: u64,
    /// For the sign that it is ready.
    pub ready: u64,
}

impl FrameBounds {
    fn of(&self, kind: FrameKind) -> u64 {
        match kind {
            FrameKind::Attachment => self.attachment,
            FrameKind::Call => self.call,
            FrameKind::Outcome => self.outcome,
            FrameKind::Ready => self.ready,
            FrameKind::Job | FrameKind::Reply => 0,
        }
    }
}

/// How a worker breaks the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolFault {
    /// A kind that is not known.
    Unknown(u8),
    /// A kind that nobody waits for now.
    Unexpected(FrameKind),
    /// A body that is longer than its kind may have.
    TooLong(FrameKind, u64),
    /// A length that leaves no room for the kind.
    Empty,
}

impl fmt::Display for ProtocolFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(byte) => write!(f, "a frame of an unknown kind: {byte:#04x}"),
            Self::Unexpected(kind) => write!(f, "a frame that nobody waits for: {kind:?}"),
            Self::TooLong(kind, length) => {
                write!(f, "a frame of kind {kind:?} is too long: {length} bytes")
            }
            Self::Empty => f.write_str("a frame without a kind"),
        }
    }
}

/// Puts frames together out of what arrives, however it is cut.
#[derive(Debug, Default)]
pub struct FrameParser {
    held: Vec<u8>,
    read: usize,
}

impl FrameParser {
    /// A parser that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what has arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.held.drain(..self.read);
            self.read = 0;
        }
        self.held.extend_from_slice(bytes);
    }

    /// Whether nothing is left over.
    pub fn is_empty(&self) -> bool {
        self.read == self.held.len()
    }

    /// How many bytes are worth reading now: never more than [`AHEAD`] beyond the frame
    /// that is being read. The rest is left where it is, so that a worker cannot fill
    /// the host.
    ///
    /// # Errors
    /// A breach, as soon as the header of a frame shows it.
    pub fn wants(&self, bounds: &FrameBounds) -> Result<usize, ProtocolFault> {
        let held = self.held.len().saturating_sub(self.read);
        Ok(match self.header(bounds)? {
            None => AHEAD.saturating_sub(held),
            Some((_, length)) => (HEADER + length).saturating_sub(held),
        })
    }

    /// The next frame that is complete.
    ///
    /// # Errors
    /// A breach, as soon as the header of a frame shows it.
    pub fn next(
        &mut self,
        bounds: &FrameBounds,
    ) -> Result<Option<(FrameKind, Vec<u8>)>, ProtocolFault> {
        let Some((kind, length)) = self.header(bounds)? else { return Ok(None) };
        let start = self.read + HEADER;
        let Some(body) = self.held.get(start..start + length) else { return Ok(None) };
        if length >= LARGE && self.held.len() == start + length {
            // What takes much memory is not there twice.
            let mut body = std::mem::take(&mut self.held);
            body.drain(..start);
            self.read = 0;
            return Ok(Some((kind, body)));
        }
        let body = body.to_vec();
        self.read = start + length;
        Ok(Some((kind, body)))
    }

    /// Kind and length of the body that comes next, once they are there.
    fn header(&self, bounds: &FrameBounds) -> Result<Option<(FrameKind, usize)>, ProtocolFault> {
        let held = self.held.get(self.read..).unwrap_or_default();
        let [a, b, c, d, kind, ..] = *held else { return Ok(None) };
        let length = u32::from_le_bytes([a, b, c, d]).checked_sub(1).ok_or(ProtocolFault::Empty)?;
        let kind = FrameKind::of(kind).ok_or(ProtocolFault::Unknown(kind))?;
        match bounds.of(kind) {
            0 => Err(ProtocolFault::Unexpected(kind)),
            bound if u64::from(length) > bound => Err(ProtocolFault::TooLong(kind, length.into())),
            _ => Ok(Some((kind, length as usize))),
        }
    }
}

/// Appends a frame to `to`; false, and nothing appended, if its body is longer
/// than a length can say.
#[must_use]
pub fn write(to: &mut Vec<u8>, kind: FrameKind, body: &[u8]) -> bool {
    let Some(length) = body.len().checked_add(1).and_then(|length| u32::try_from(length).ok())
    else {
        return false;
    };
    to.reserve(HEADER + body.len());
    to.extend_from_slice(&length.to_le_bytes());
    to.push(kind.byte());
    to.extend_from_slice(body);
    true
}
