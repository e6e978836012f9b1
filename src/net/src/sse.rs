//! A parser of server-sent events that accepts chunks of any size.

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its type; empty for the default `message`.
    pub event: String,
    /// Its data lines, joined by line feeds.
    pub data: String,
    /// The last id that the stream has set.
    pub id: String,
}

/// Why a stream cannot be parsed further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event exceeds the parser's limit.
    #[error("an event of the stream is larger than the limit in bytes: {limit}")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}

/// Splits a byte stream into events by the WHATWG rules: lines end in CR, LF or CRLF, a colon
/// begins a comment, a byte-order mark may come first, and bytes that are not UTF-8 become
/// replacement characters.
///
/// ```
/// let mut parser = antiphon_net::SseParser::new(1024);
/// assert!(parser.push(b"data: hel").unwrap().is_empty());
/// assert_eq!(parser.push(b"lo\n\n").unwrap()[0].data, "hello");
/// ```
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    /// The unfinished line, as bytes: a character may be split.
    line: Vec<u8>,
    first_line: bool,
    /// The last byte was a CR: a following LF belongs to it.
    after_cr: bool,
    event: String,
    data: Option<String>,
    id: String,
}

impl SseParser {
    /// A parser of events with at most `limit` bytes.
    pub const fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            first_line: true,
            after_cr: false,
            event: String::new(),
            data: None,
            id: String::new(),
        }
    }

    /// Parses further bytes; returns the events that are complete.
    ///
    /// # Errors
    /// An event exceeds the limit; the stream cannot be parsed further.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, SseError> {
        let mut events = Vec::new();
        if let [first, rest @ ..] = bytes
            && self.after_cr
        {
            self.after_cr = false;
            bytes = if *first == b'\n' { rest } else { bytes };
        }
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            let (line, rest) = bytes.split_at(end);
            self.extend(line)?;
            events.extend(self.end_line());
            bytes = match rest {
                [b'\r', b'\n', rest @ ..] | [_, rest @ ..] => rest,
                [] => rest,
            };
            self.after_cr = rest == b"\r";
        }
        self.extend(bytes)?;
        Ok(events)
    }

    /// The event in which the stream ended, if it has data: some servers omit the last blank
    /// line.
    pub fn finish(mut self) -> Option<SseEvent> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.dispatch()
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), SseError> {
        let pending = self.line.len() + self.data.as_ref().map_or(0, String::len);
        if pending + bytes.len() > self.limit {
            return Err(SseError::TooLarge { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) -> Option<SseEvent> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.first_line) && line.starts_with(b"\xEF\xBB\xBF") {
            line.drain(..3);
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let line = String::from_utf8_lossy(&line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        self.take_field(field, value.strip_prefix(' ').unwrap_or(value));
        None
    }

    fn take_field(&mut self, field: &str, value: &str) {
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.event),
            "id" if !value.contains('\0') => value.clone_into(&mut self.id),
            // Comments (an empty field name), `retry` and unknown fields: there are no
            // reconnections, so `retry` does not matter.
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        let data = self.data.take()?;
        Some(SseEvent { event, data, id: self.id.clone() })
    }
}
