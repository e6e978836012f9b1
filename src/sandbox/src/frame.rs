//! Frames between host and worker: length, kind, body. The other side is not trusted, so a
//! length is checked against the bound of its kind before any byte is buffered.

use std::fmt;

/// The bytes before a body: the length of the rest, and the kind.
pub const HEADER: usize = 5;
/// The bytes that are read before a frame's length is known; most frames are shorter.
pub const AHEAD: usize = 1 << 10;

/// Bodies of at least this size are passed on without a copy.
const LARGE: usize = 64 << 10;

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// A job, from the host.
    Job,
    /// Raw bytes that belong to the previous frame, from either side.
    Attachment,
    /// A call of a host function, from the worker.
    Call,
    /// The result of a call, from the host.
    Reply,
    /// The outcome of the job, from the worker.
    Outcome,
    /// The worker is ready for a job.
    Ready,
}

impl FrameKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Job, Self::Attachment, Self::Call, Self::Reply, Self::Outcome, Self::Ready];

    /// The byte of this kind.
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

/// The largest body of each kind, in bytes; 0 for kinds that are not expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameBounds {
    /// Of an attachment.
    pub attachment: u64,
    /// Of a call.
    pub call: u64,
    /// Of an outcome.
    pub outcome: u64,
    /// Of the ready signal.
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

/// A violation of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolFault {
    /// An unknown kind.
    Unknown(u8),
    /// A kind that is not expected now.
    Unexpected(FrameKind),
    /// A body that exceeds the bound of its kind.
    TooLong(FrameKind, u64),
    /// A length without room for the kind.
    Empty,
}

impl fmt::Display for ProtocolFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(byte) => write!(f, "a frame of an unknown kind: {byte:#04x}"),
            Self::Unexpected(kind) => write!(f, "an unexpected frame: {kind:?}"),
            Self::TooLong(kind, length) => {
                write!(f, "a frame of kind {kind:?} is too long: {length} bytes")
            }
            Self::Empty => f.write_str("a frame without a kind"),
        }
    }
}

/// Assembles frames from arriving bytes, however they are split.
#[derive(Debug, Default)]
pub struct FrameParser {
    held: Vec<u8>,
    read: usize,
}

impl FrameParser {
    /// A parser without bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds bytes that have arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.read > 0 {
            self.held.drain(..self.read);
            self.read = 0;
        }
        self.held.extend_from_slice(bytes);
    }

    /// Whether no bytes are left over.
    pub fn is_empty(&self) -> bool {
        self.read == self.held.len()
    }

    /// How many bytes to read now: at most [`AHEAD`] beyond the current frame. The rest stays in
    /// the socket, so that a worker cannot fill the host's memory.
    ///
    /// # Errors
    /// A violation, as soon as the header of a frame shows it.
    pub fn wants(&self, bounds: &FrameBounds) -> Result<usize, ProtocolFault> {
        let held = self.held.len().saturating_sub(self.read);
        Ok(match self.header(bounds)? {
            None => AHEAD.saturating_sub(held),
            Some((_, length)) => (HEADER + length).saturating_sub(held),
        })
    }

    /// The next complete frame.
    ///
    /// # Errors
    /// A violation, as soon as the header of a frame shows it.
    pub fn next(
        &mut self,
        bounds: &FrameBounds,
    ) -> Result<Option<(FrameKind, Vec<u8>)>, ProtocolFault> {
        let Some((kind, length)) = self.header(bounds)? else { return Ok(None) };
        let start = self.read + HEADER;
        let Some(body) = self.held.get(start..start + length) else { return Ok(None) };
        if length >= LARGE && self.held.len() == start + length {
            // A large body is handed over, not copied.
            let mut body = std::mem::take(&mut self.held);
            body.drain(..start);
            self.read = 0;
            return Ok(Some((kind, body)));
        }
        let body = body.to_vec();
        self.read = start + length;
        Ok(Some((kind, body)))
    }

    /// Kind and length of the next body, once its header is complete.
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

/// Appends a frame to `to`. Returns false and appends nothing if the body is too long for the
/// length field.
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
