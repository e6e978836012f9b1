//! What threads may be called.

use antiphon_core::{Category, Fault};

/// Characters of a name that is given to a new thread.
pub const LONGEST: usize = 512;

/// Refuses a name under which no thread can be.
///
/// # Errors
/// `thread_invalid` if it is blank, or holds a zero.
pub fn check(name: &str) -> Result<(), Fault> {
    if name.trim().is_empty() {
        return Err(invalid(&format!("a thread's name is blank: {name:?}")));
    }
    if name.contains('\0') {
        let message = format!("a thread's name holds a character that no store keeps: {name:?}");
        return Err(invalid(&message));
    }
    Ok(())
}

/// Refuses a name that no thread is to be given.
///
/// # Errors
/// Those of [`check`], and `thread_invalid` if it is too long.
pub fn check_new(name: &str) -> Result<(), Fault> {
    check(name)?;
    let length = name.chars().count();
    if length <= LONGEST {
        return Ok(());
    }
    let message = format!("a thread's name takes at most {LONGEST} characters, found: {length}");
    Err(invalid(&message))
}

/// `thread_invalid`: no thread can be called so.
pub fn invalid(message: &str) -> Fault {
    Fault::new(Category::Validation, "thread_invalid", message)
        .hint("name it by a short text of yours")
}
