//! The heap of a process that others are forked from.

/// Largest hole that is looked for, in bytes; what is larger comes from fresh pages.
#[cfg(target_env = "gnu")]
const LARGEST: usize = 16 << 10;
/// What the C library rounds sizes up to.
#[cfg(target_env = "gnu")]
const STEP: usize = 16;

/// Takes every hole between what is in use, for good.
///
/// A fork shares pages until it writes to them. Whatever it puts into a hole
/// costs it a copy of the page around, and the lists of holes lead through
/// many pages; without holes it gets fresh pages, one beside the other.
#[cfg(target_env = "gnu")]
pub(crate) fn fill_holes() {
    // SAFETY: it hands back to the system what nobody uses.
    unsafe { libc::malloc_trim(0) };
    // SAFETY: it counts, and touches no memory of ours.
    let counted = unsafe { libc::mallinfo() };
    let end = usize::try_from(counted.keepcost).unwrap_or(0);
    // SAFETY: it moves nothing, and says where the heap ends.
    let fresh = (unsafe { libc::sbrk(0) } as usize).saturating_sub(end);
    let mut left = usize::try_from(counted.fordblks).unwrap_or(0);
    for size in (STEP..=LARGEST).rev().step_by(STEP) {
        while left > 0 {
            // SAFETY: what comes is never read or written.
            let hole = unsafe { libc::malloc(size) };
            if hole.is_null() || hole as usize >= fresh {
                // SAFETY: it was just made, or is null.
                unsafe { libc::free(hole) };
                break;
            }
            left = left.saturating_sub(size);
        }
    }
}

/// Other libraries keep their holes together.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn fill_holes() {}
