//! Names of ours as the server permits them.

use std::fmt::Write;

/// Letters, digits, `-` and `_`; of all else the bytes in hexadecimal, after a `=`.
pub(super) fn encode(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') {
            encoded.push(char::from(byte));
        } else {
            // A string takes what is written to it.
            let _ = write!(encoded, "={byte:02X}");
        }
    }
    encoded
}

/// Where messages of a topic go.
pub(super) fn subject(prefix: &str, kind: &str, topic: &str) -> String {
    format!("{prefix}.{kind}.{}", encode(topic))
}
