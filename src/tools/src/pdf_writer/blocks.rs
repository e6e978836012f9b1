//! What a document consists of.

use std::collections::BTreeSet;

use super::rich_text::RichText;

/// A part of a document that stands above or below others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Block {
    Heading {
        level: u8,
        text: RichText,
    },
    Paragraph(RichText),
    /// Lines that keep their breaks and spaces: code, or plain text.
    Lines {
        text: String,
        code: bool,
    },
    List(Vec<ListItem>),
    Quote(Vec<Self>),
    Table(Table),
    Image {
        path: String,
        description: String,
    },
    Rule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListItem {
    /// A bullet, a number or a box.
    pub(super) marker: String,
    pub(super) blocks: Vec<Block>,
}

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ColumnAlignment {
    #[default]
    Start,
    Centre,
    End,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) sides: Vec<ColumnAlignment>,
    pub(super) header: Vec<RichText>,
    pub(super) rows: Vec<Vec<RichText>>,
}

/// The characters of all texts.
pub(super) fn characters(blocks: &[Block]) -> BTreeSet<char> {
    let mut found = BTreeSet::new();
    collect(blocks, &mut found);
    found
}

fn collect(blocks: &[Block], found: &mut BTreeSet<char>) {
    for block in blocks {
        match block {
            Block::Heading { text, .. } | Block::Paragraph(text) => found.extend(text.text.chars()),
            Block::Lines { text, .. } => found.extend(text.chars()),
            Block::Quote(inner) => collect(inner, found),
            Block::List(items) => {
                for item in items {
                    found.extend(item.marker.chars());
                    collect(&item.blocks, found);
                }
            }
            Block::Table(table) => {
                let cells = table.header.iter().chain(table.rows.iter().flatten());
                found.extend(cells.flat_map(|cell| cell.text.chars()));
            }
            Block::Image { .. } | Block::Rule => {}
        }
    }
}
