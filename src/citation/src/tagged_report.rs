//! Reports in tagged blocks: what cites evidence, what argues, what nobody has verified.

use crate::block::item_mark;
use crate::hedge::{is_hedged, softened};
use crate::sentence::sentences;

/// What a block is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockTag {
    Cite,
    Analysis,
    Free,
    Unverified,
}

const TAGS: [(&str, BlockTag); 4] = [
    ("cite", BlockTag::Cite),
    ("analysis", BlockTag::Analysis),
    ("free", BlockTag::Free),
    ("unverified", BlockTag::Unverified),
];
/// In the place of a citation of nothing.
pub(crate) const UNKNOWN: &str = "[^unknown]";

/// A text without its tags.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct UntaggedText {
    /// Markdown with indices in brackets.
    pub(crate) text: String,
    /// Sentences that cite, with the indices.
    pub(crate) cited: Vec<(String, Vec<usize>)>,
    /// Sentences that argue.
    pub(crate) analyses: Vec<String>,
}

/// Takes the tags out of a text: sentences of `cite` blocks get the indices of their evidence, if
/// `allows` admits them, and those of `unverified` blocks say that they are not certain. What stands
/// in no block stays.
pub(crate) fn untagged(text: &str, allows: &dyn Fn(&str, usize) -> bool) -> UntaggedText {
    let mut made = UntaggedText::default();
    let mut rest = text;
    let (mut tag, mut keys) = (BlockTag::Free, Vec::new());
    while let Some((before, found, after)) = next_tag(rest) {
        made.add(before, (tag, &keys), allows);
        (tag, keys) = found.unwrap_or((BlockTag::Free, Vec::new()));
        rest = after;
    }
    made.add(rest, (tag, &keys), allows);
    made
}

/// A block that begins, with its indices; none at the end of one.
type OpenedBlock = Option<(BlockTag, Vec<usize>)>;

/// The next tag: what stands before it, what begins, and what stands after it.
fn next_tag(text: &str) -> Option<(&str, OpenedBlock, &str)> {
    text.match_indices('<').find_map(|(at, _)| {
        let (inner, after) = text.get(at + 1..)?.split_once('>')?;
        let ends = inner.starts_with('/');
        let inner = inner.trim_start_matches('/').trim();
        let name = inner.split([' ', '=']).next()?;
        let (_, tag) = TAGS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known))?;
        let numbers = inner.split(|sign: char| !sign.is_ascii_digit());
        let keys = numbers.filter_map(|number| number.parse().ok()).collect();
        Some((text.get(..at)?, (!ends).then_some((*tag, keys)), after))
    })
}

impl UntaggedText {
    fn add(
        &mut self,
        text: &str,
        (tag, keys): (BlockTag, &[usize]),
        allows: &dyn Fn(&str, usize) -> bool,
    ) {
        for line in text.split_inclusive('\n') {
            let content = line.trim();
            // Headings, and what separates the head of a table.
            let is_form = content.starts_with('#') || !content.contains(char::is_alphanumeric);
            if is_form || tag == BlockTag::Free {
                self.text.push_str(line);
                continue;
            }
            let item = item_mark(content).unwrap_or(0);
            let start = line.len() - line.trim_start().len() + item;
            let end = line.trim_end().len();
            let (head, body) = (line.get(..start), line.get(start..end));
            self.text.push_str(head.unwrap_or_default());
            self.add_line(body.unwrap_or_default(), (tag, keys), allows);
            self.text.push_str(line.get(end..).unwrap_or_default());
        }
    }

    fn add_line(
        &mut self,
        line: &str,
        (tag, keys): (BlockTag, &[usize]),
        allows: &dyn Fn(&str, usize) -> bool,
    ) {
        let spans = if line.starts_with('|') {
            vec![crate::span::TextSpan::new(0, line.len())]
        } else {
            sentences(line)
        };
        let mut from = 0;
        for span in spans {
            self.text.push_str(line.get(from..span.start).unwrap_or_default());
            from = span.end;
            let sentence = span.of(line).unwrap_or_default();
            match tag {
                BlockTag::Cite => self.cite(sentence, keys, allows),
                BlockTag::Unverified if !is_hedged(sentence) => {
                    self.text.push_str(&softened(sentence));
                }
                BlockTag::Analysis => {
                    self.analyses.push(sentence.to_owned());
                    self.text.push_str(sentence);
                }
                BlockTag::Unverified | BlockTag::Free => self.text.push_str(sentence),
            }
        }
        self.text.push_str(line.get(from..).unwrap_or_default());
    }

    fn cite(&mut self, sentence: &str, keys: &[usize], allows: &dyn Fn(&str, usize) -> bool) {
        let end = sentence.trim_end_matches(['.', '!', '?', '…', '。', '！', '？', '|', ' ']).len();
        let (words, stop) = sentence.split_at_checked(end).unwrap_or((sentence, ""));
        let own: Vec<usize> = keys.iter().copied().filter(|key| allows(sentence, *key)).collect();
        let marks = own.iter().map(|key| format!("[{key}]")).collect::<Vec<_>>().concat();
        let marks = if marks.is_empty() { UNKNOWN } else { &marks };
        self.text.push_str(words);
        self.text.push(' ');
        self.text.push_str(marks);
        self.text.push_str(stop);
        self.cited.push((sentence.to_owned(), own));
    }
}
