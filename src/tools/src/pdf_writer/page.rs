//! Pagination before they are drawn: what stands where.

use std::rc::Rc;

use krilla::image::Image;

use super::typesetter::{Colour, Typeset};

/// The measures of all pages, in points from the upper left corner.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageMeasures {
    pub(super) width: f32,
    pub(super) height: f32,
    pub(super) margins: MarginMeasures,
}

/// Widths along the four sides of a page, in points.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarginMeasures {
    pub(super) top: f32,
    pub(super) right: f32,
    pub(super) bottom: f32,
    pub(super) left: f32,
}

impl PageMeasures {
    /// The upper edge of the text.
    pub(super) const fn top(&self) -> f32 {
        self.margins.top
    }

    pub(super) const fn bottom(&self) -> f32 {
        self.height - self.margins.bottom
    }

    /// The height that a page has for text.
    pub(super) const fn room(&self) -> f32 {
        self.bottom() - self.top()
    }

    /// The width that it has.
    pub(super) const fn line_width(&self) -> f32 {
        self.width - self.margins.left - self.margins.right
    }
}

/// A rectangle, by its upper left corner.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageRectangle {
    pub(super) x: f32,
    pub(super) y: f32,
    pub(super) width: f32,
    pub(super) height: f32,
}

/// One thing on a page.
pub(super) enum PageItem {
    /// A line of a text, with the left edge of the text and the upper edge of the line.
    Line {
        text: Rc<Typeset>,
        line: usize,
        x: f32,
        y: f32,
    },
    Fill {
        area: PageRectangle,
        colour: Colour,
    },
    Image {
        image: Image,
        area: PageRectangle,
    },
}

/// An entry of the outline.
#[derive(Clone, Debug)]
pub(super) struct Bookmark {
    pub(super) title: String,
    pub(super) level: u8,
    pub(super) page: usize,
    pub(super) y: f32,
}

/// The pages of a document.
#[derive(Default)]
pub(super) struct Pagination {
    pub(super) pages: Vec<Vec<PageItem>>,
    pub(super) bookmarks: Vec<Bookmark>,
}
