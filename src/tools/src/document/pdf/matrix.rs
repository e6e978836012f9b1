//! Transformations of the plane, as PDF writes them.

/// `[a b c d e f]`: a point (x, y) becomes (ax + cy + e, bx + dy + f).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PdfMatrix(pub(super) [f32; 6]);

impl PdfMatrix {
    pub(super) const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    pub(super) const fn translation(x: f32, y: f32) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// First `self`, then `next`.
    pub(super) fn then(self, next: Self) -> Self {
        let [ax, ay, bx, by, moved_x, moved_y] = self.0;
        let [to_x, to_y, and_x, and_y, last_x, last_y] = next.0;
        let turned = |x: f32, y: f32| (x * to_x + y * and_x, x * to_y + y * and_y);
        let (first, second) = (turned(ax, ay), turned(bx, by));
        let moved = turned(moved_x, moved_y);
        Self([first.0, first.1, second.0, second.1, moved.0 + last_x, moved.1 + last_y])
    }

    pub(super) const fn origin(self) -> (f32, f32) {
        let [_, _, _, _, x, y] = self.0;
        (x, y)
    }

    /// How long a unit of the first axis becomes.
    pub(super) fn scale(self) -> f32 {
        let [a, b, ..] = self.0;
        a.hypot(b)
    }
}
