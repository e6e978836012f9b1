//! Valid names of threads.

use antiphon_core::{Fault, FaultCode};

/// The most characters in the name of a new thread.
pub const LONGEST: usize = 512;

/// Checks a name under which a thread is looked up.
///
/// # Errors
/// `thread_invalid` if it is blank or contains a NUL character.
pub fn check(name: &str) -> Result<(), Fault> {
    if name.trim().is_empty() {
        return Err(invalid(&format!("a thread's name is blank: {name:?}")));
    }
    if name.contains('\0') {
        let message = format!("a thread's name contains a NUL or an unpaired surrogate: {name:?}");
        return Err(invalid(&message));
    }
    Ok(())
}

/// Checks a name for a new thread.
///
/// # Errors
/// Those of [`check`], and `thread_invalid` if it is too long.
pub fn check_new(name: &str) -> Result<(), Fault> {
    check(name)?;
    let length = name.chars().count();
    if length <= LONGEST {
        return Ok(());
    }
    let message =
        format!("a thread's name must have at most {LONGEST} characters, found: {length}");
    Err(invalid(&message))
}

/// `thread_invalid`: the name is not valid for a thread.
pub fn invalid(message: &str) -> Fault {
    Fault::new(FaultCode::ThreadInvalid, message).hint("pass a short string")
}
