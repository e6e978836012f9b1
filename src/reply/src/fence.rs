//! Fenced blocks of a reply.

/// What stands inside a fence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FenceBody<'a> {
    pub(crate) text: &'a str,
    /// Where it starts in the reply, in bytes.
    pub(crate) start: usize,
    /// False when the reply ends before the fence does.
    pub(crate) closed: bool,
    /// Whether something stands before the fence on its line.
    pub(crate) inline: bool,
}

/// The fenced blocks of `text` in their order, with any language tag.
/// A block may start in the middle of a line; it ends at a fence that is as
/// long and has nothing after it on its line.
pub(crate) fn bodies(text: &str) -> Vec<FenceBody<'_>> {
    let mut bodies = Vec::new();
    let mut fences = fences(text).into_iter();
    while let Some(opening) = fences.next() {
        let Some(start) = opening.body(text) else { continue };
        let closing = fences.find(|fence| fence.closes(opening, text));
        let end = closing.map_or(text.len(), |fence| fence.start);
        // A fence that closes on the line it opens has its body's start behind its end.
        let inside = text.get(start..end).unwrap_or_default();
        let inline = !opening.is_first(text);
        bodies.push(FenceBody { text: inside, start, closed: closing.is_some(), inline });
    }
    bodies
}

/// Three or more equal marks in a row.
#[derive(Clone, Copy, Debug)]
struct CodeFence {
    start: usize,
    end: usize,
    mark: u8,
}

impl CodeFence {
    /// Where the block that this fence opens begins, if it opens one. Looks
    /// only as far as the next fence, so that all of them stay linear.
    fn body(self, text: &str) -> Option<usize> {
        let line = skip_spaces(text.get(self.end..)?);
        let tag = line.split(is_no_tag).next()?;
        let after = skip_spaces(line.get(tag.len()..)?);
        if after.starts_with(['{', '[']) {
            return Some(text.len() - after.len());
        }
        let opens = self.is_first(text) || after.is_empty() || after.starts_with('\n');
        opens.then(|| text.len() - after.len() + after.find('\n').map_or(after.len(), |at| at + 1))
    }

    /// Whether nothing stands before it on its line.
    fn is_first(self, text: &str) -> bool {
        let before = text.get(..self.start).unwrap_or_default().trim_end_matches(SPACES);
        before.is_empty() || before.ends_with('\n')
    }

    fn closes(self, opening: Self, text: &str) -> bool {
        let after = skip_spaces(text.get(self.end..).unwrap_or_default());
        let long = self.end - self.start >= opening.end - opening.start;
        long && self.mark == opening.mark && (after.is_empty() || after.starts_with('\n'))
    }
}

const SPACES: [char; 3] = [' ', '\t', '\r'];

fn skip_spaces(text: &str) -> &str {
    text.trim_start_matches(SPACES)
}

fn is_no_tag(c: char) -> bool {
    !(c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-' | '.' | '#'))
}

fn fences(text: &str) -> Vec<CodeFence> {
    let mut fences = Vec::new();
    let mut run = CodeFence { start: 0, end: 0, mark: 0 };
    for (at, mark) in text.bytes().chain([0]).enumerate() {
        if mark == run.mark {
            continue;
        }
        run.end = at;
        if matches!(run.mark, b'`' | b'~') && run.end - run.start >= 3 {
            fences.push(run);
        }
        run = CodeFence { start: at, end: at, mark };
    }
    fences
}
