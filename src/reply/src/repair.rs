//! Reads text that is nearly JSON: with comments, trailing commas, single
//! quotes, unquoted keys, Python's `None`, `True` and `False`, raw line breaks
//! in strings, or without its tail. Anything else is a fault, not a guess.

use serde_json::{Map, Number, Value as Json};

use crate::depth;
use crate::token::{Bracket, JsonToken, JsonTokens, SpannedJsonToken};
use crate::unescape::unescape;

/// Where a text stops being nearly JSON.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SyntaxFault {
    /// The byte at which it stands.
    pub(crate) at: usize,
    /// What could have stood there.
    pub(crate) wanted: &'static str,
}

/// The value that `text` starts with. A text that ends too early is closed:
/// what it had begun to say of a key, a literal or an escape is dropped.
pub(crate) fn repair(text: &str) -> Result<Json, SyntaxFault> {
    let mut parser = Parser { tokens: JsonTokens::new(text, 0), end: text.len() };
    let nothing = SyntaxFault { at: text.len(), wanted: "a JSON value" };
    let first = parser.tokens.next().ok_or(nothing)?;
    parser.value(first, depth::LIMIT)?.ok_or(nothing)
}

struct Parser<'a> {
    tokens: JsonTokens<'a>,
    end: usize,
}

impl<'a> Parser<'a> {
    /// The value that starts with `first`, or none if the text ends in it and
    /// nothing of it can be kept. `levels` more brackets may be nested.
    fn value(
        &mut self,
        first: SpannedJsonToken<'a>,
        levels: usize,
    ) -> Result<Option<Json>, SyntaxFault> {
        match first.token {
            JsonToken::Open(_) if levels == 0 => {
                Err(SyntaxFault { at: first.start, wanted: "less deeply nested JSON" })
            }
            JsonToken::Open(Bracket::Brace) => self.object(levels - 1).map(Some),
            JsonToken::Open(Bracket::Square) => self.list(levels - 1).map(Some),
            JsonToken::Quoted { body, closed } => Ok(Some(unescape(body, closed).into())),
            JsonToken::Word(word) => self.word(word, first),
            _ => Err(SyntaxFault { at: first.start, wanted: "a value" }),
        }
    }

    fn object(&mut self, levels: usize) -> Result<Json, SyntaxFault> {
        let mut fields = Map::new();
        while let Some(placed) = self.tokens.next() {
            let key = match placed.token {
                JsonToken::Close(Bracket::Brace) | JsonToken::Quoted { closed: false, .. } => break,
                JsonToken::Quoted { body, .. } => unescape(body, true),
                JsonToken::Word(word) => word.to_owned(),
                _ => return Err(SyntaxFault { at: placed.start, wanted: "a field name or `}`" }),
            };
            let Some(value) = self.field(levels)? else { break };
            fields.insert(key, value);
            if !self.has_next(Bracket::Brace, "a comma or `}`")? {
                break;
            }
        }
        Ok(Json::Object(fields))
    }

    /// The colon and the value of a field, or none if the text ends first.
    fn field(&mut self, levels: usize) -> Result<Option<Json>, SyntaxFault> {
        match self.tokens.next() {
            None => Ok(None),
            Some(SpannedJsonToken { token: JsonToken::Colon, .. }) => match self.tokens.next() {
                None => Ok(None),
                Some(first) => self.value(first, levels),
            },
            Some(placed) => Err(SyntaxFault { at: placed.start, wanted: "a colon" }),
        }
    }

    fn list(&mut self, levels: usize) -> Result<Json, SyntaxFault> {
        let mut items = Vec::new();
        while let Some(first) = self.tokens.next() {
            if first.token == JsonToken::Close(Bracket::Square) {
                break;
            }
            let Some(item) = self.value(first, levels)? else { break };
            items.push(item);
            if !self.has_next(Bracket::Square, "a comma or `]`")? {
                break;
            }
        }
        Ok(Json::Array(items))
    }

    /// Whether a comma follows, rather than `closing` or the end.
    fn has_next(&mut self, closing: Bracket, wanted: &'static str) -> Result<bool, SyntaxFault> {
        match self.tokens.next() {
            None => Ok(false),
            Some(placed) if placed.token == JsonToken::Close(closing) => Ok(false),
            Some(SpannedJsonToken { token: JsonToken::Comma, .. }) => Ok(true),
            Some(placed) => Err(SyntaxFault { at: placed.start, wanted }),
        }
    }

    fn word(&self, word: &str, place: SpannedJsonToken<'_>) -> Result<Option<Json>, SyntaxFault> {
        let last = place.end == self.end;
        if let Some((_, value)) = LITERALS.iter().find(|(name, _)| *name == word) {
            return Ok(Some(value.clone()));
        }
        if let Ok(number) = serde_json::from_str::<Number>(word) {
            return Ok(Some(number.into()));
        }
        let started = LITERALS.iter().any(|(name, _)| name.starts_with(word))
            || word.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        if last && started {
            return Ok(None);
        }
        Err(SyntaxFault { at: place.start, wanted: "a value; text needs quotes" })
    }
}

const LITERALS: [(&str, Json); 6] = [
    ("true", Json::Bool(true)),
    ("false", Json::Bool(false)),
    ("null", Json::Null),
    ("True", Json::Bool(true)),
    ("False", Json::Bool(false)),
    ("None", Json::Null),
];
