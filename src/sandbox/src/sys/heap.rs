//! The heap of the zygote.

/// The largest hole to fill, in bytes; larger blocks come from fresh pages.
#[cfg(target_env = "gnu")]
const LARGEST: usize = 16 << 10;
/// The allocation granularity of glibc.
#[cfg(target_env = "gnu")]
const STEP: usize = 16;

/// Allocates every free block within the heap, for ever.
///
/// Forks share pages until they write to them. A block that a worker allocates from a hole costs
/// it a copy of the page around, and the free lists run through many pages. Without holes, its
/// allocations come from adjacent fresh pages.
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

/// Other C libraries keep free blocks together.
#[cfg(not(target_env = "gnu"))]
pub(crate) fn fill_holes() {}
