//! Holding the links of a report to the sources: a marker becomes a link, and a link that leads to
//! no source goes.

use std::fmt::Write as _;

use antiphon_citation::{BlockKind, TextBlock, TextSpan, blocks, code_span};

use super::source::{ResearchSource, SourceRegistry};

/// A report whose links all lead to sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkedReport {
    /// The text.
    pub text: String,
    /// The numbers of the sources that it links, each once, in the order of the text.
    pub cited: Vec<usize>,
    /// Links and markers that led to no source.
    pub removed: usize,
}

impl LinkedReport {
    /// Turns markers such as `[2]` and `[1, 3]` into links with the titles of their sources, and
    /// takes out what leads to no source: the text of a link stays, a bare address and a marker
    /// go. Code is left as it is.
    pub fn new(text: &str, sources: &SourceRegistry) -> Self {
        let mut report = Self::default();
        // Indented lines may be code or not: their links are held to the sources.
        let is_fenced = |block: &TextBlock| {
            let lines = block.lines.of(text).unwrap_or_default();
            lines.trim_start().starts_with(['`', '~'])
        };
        let is_code = |block: &TextBlock| block.kind == BlockKind::Code && is_fenced(block);
        let code: Vec<TextSpan> =
            blocks(text).into_iter().filter(is_code).map(|block| block.lines).collect();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            if code.iter().any(|lines| lines.holds(TextSpan::new(start, start + line.len()))) {
                report.text.push_str(line);
            } else {
                report.add_line(line, sources);
            }
            start += line.len();
        }
        report
    }

    fn add_line(&mut self, line: &str, sources: &SourceRegistry) {
        let mut rest = line;
        while let Some(sign) = rest.chars().next() {
            let taken = match sign {
                '\\' if rest.starts_with("\\`") || rest.starts_with("\\\\") => {
                    self.text.push_str(rest.get(..2).unwrap_or_default());
                    Some(2)
                }
                '`' => Some(self.add_code(rest)),
                '!' if rest.starts_with("![") => self.add_image(rest),
                '[' => self.add_bracket(rest, sources),
                'h' | 'H' | '<' => self.add_address(rest, sources),
                _ => None,
            };
            let taken = taken.unwrap_or_else(|| {
                self.text.push(sign);
                sign.len_utf8()
            });
            rest = rest.get(taken..).unwrap_or_default();
        }
    }

    /// Code between the same number of back-ticks; others mean themselves.
    fn add_code(&mut self, rest: &str) -> usize {
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let length = code_span(rest).unwrap_or(ticks);
        self.text.push_str(rest.get(..length).unwrap_or_default());
        length
    }

    /// An image is of no source: its text stays.
    fn add_image(&mut self, rest: &str) -> Option<usize> {
        let link = MarkdownLink::read(rest.get(1..)?)?;
        self.text.push_str(link.label);
        self.removed += 1;
        Some(1 + link.length)
    }

    fn add_bracket(&mut self, rest: &str, sources: &SourceRegistry) -> Option<usize> {
        if let Some(link) = MarkdownLink::read(rest) {
            if let Some((number, source)) = sources.find(link.target) {
                self.add_link(link.label, number, source);
            } else {
                self.text.push_str(link.label);
                self.removed += 1;
            }
            return Some(link.length);
        }
        let inside = rest.get(1..rest.find(']')?)?;
        let numbers = inside.split(',').map(|part| part.trim().parse().ok());
        let numbers: Vec<usize> = numbers.collect::<Option<_>>()?;
        let mut first = true;
        for number in numbers {
            let Some(source) = sources.get(number) else {
                self.removed += 1;
                continue;
            };
            if !first {
                self.text.push_str(", ");
            }
            first = false;
            self.add_link(source.name(), number, source);
        }
        if first {
            self.drop_space();
        }
        Some(inside.len() + 2)
    }

    /// An address without a text.
    fn add_address(&mut self, rest: &str, sources: &SourceRegistry) -> Option<usize> {
        let angle = usize::from(rest.starts_with('<'));
        let address = rest.get(angle..)?;
        let scheme = address.split_once("://")?.0.to_lowercase();
        if scheme != "http" && scheme != "https" {
            return None;
        }
        let is_end =
            |sign: char| sign.is_whitespace() || matches!(sign, '<' | '>' | '"' | ')' | ']');
        let end = address.find(is_end).unwrap_or(address.len());
        let address =
            address.get(..end)?.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']);
        let closed = rest.get(angle + address.len()..)?.starts_with('>');
        if let Some((number, source)) = sources.find(address) {
            self.add_link(source.name(), number, source);
        } else {
            self.removed += 1;
            self.drop_space();
        }
        Some(angle + address.len() + usize::from(angle == 1 && closed))
    }

    fn add_link(&mut self, label: &str, number: usize, source: &ResearchSource) {
        let label = label.replace('[', "(").replace(']', ")");
        let is_plain =
            |sign: char| !(sign.is_whitespace() || matches!(sign, '(' | ')' | '<' | '>'));
        let url = if source.url.chars().all(is_plain) {
            source.url.clone()
        } else {
            format!("<{}>", source.url.replace(['<', '>', '\n'], ""))
        };
        // Writing to a string cannot fail.
        let _ = write!(self.text, "[{label}]({url})");
        if !self.cited.contains(&number) {
            self.cited.push(number);
        }
    }

    /// Nothing stands between the words before and after what was taken out.
    fn drop_space(&mut self) {
        if self.text.ends_with(' ') {
            self.text.pop();
        }
    }
}

/// A link with a text: `[label](target "title")`.
struct MarkdownLink<'t> {
    label: &'t str,
    target: &'t str,
    length: usize,
}

impl<'t> MarkdownLink<'t> {
    fn read(rest: &'t str) -> Option<Self> {
        let close = balanced(rest, '[', ']')?;
        let after = rest.get(close + 1..)?;
        if !after.starts_with('(') {
            return None;
        }
        let end = balanced(after, '(', ')')?;
        let inside = after.get(1..end)?.trim();
        let target = match inside.strip_prefix('<').and_then(|inside| inside.split_once('>')) {
            Some((target, _)) => target,
            None => inside.split_once(" \"").map_or(inside, |(target, _)| target).trim(),
        };
        Some(Self { label: rest.get(1..close)?, target, length: close + 1 + end + 1 })
    }
}

/// Where the bracket closes that the text begins with.
fn balanced(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, sign) in text.char_indices() {
        if sign == open {
            depth += 1;
        } else if sign == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}
