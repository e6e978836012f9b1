//! Counts the work of an expression, so that none takes long.
//!
//! An expression is computed on one thread without pause, so the count is the thread's: each
//! operation on numbers adds to it, however deep it stands within a function.

use std::cell::Cell;

use super::error::MathError;

/// What one expression may take, in operations on 64-bit words: about a tenth of a second.
const MAX_WORK: u64 = 60_000_000;

thread_local! {
    static WORK: Cell<u64> = const { Cell::new(0) };
}

/// Begins to count for another expression.
pub(super) fn reset() {
    WORK.set(0);
}

/// Counts work that is about to be done.
pub(super) fn spend(work: u64) -> Result<(), MathError> {
    let total = WORK.get().saturating_add(work);
    WORK.set(total);
    if total > MAX_WORK {
        let error = MathError::new("the expression takes too much computation");
        return Err(error.hint("use smaller numbers, or approx(x) for floating point"));
    }
    Ok(())
}
