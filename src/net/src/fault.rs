//! Failures of an exchange as faults of a tool.

use antiphon_core::{Fault, FaultCode};

use crate::error::HttpError;

impl From<HttpError> for Fault {
    /// The fault that a tool reports. Adapters of models have words of their own.
    fn from(error: HttpError) -> Self {
        let fault = |code| Self::new(code, error.to_string());
        match &error {
            HttpError::BadUrl(_) => fault(FaultCode::UrlInvalid)
                .hint("give a whole address such as `https://example.com/page`"),
            HttpError::BadMethod(_) | HttpError::BadHeader(_) => fault(FaultCode::InvalidValue),
            HttpError::AddressRefused(_) => fault(FaultCode::AddressRefused)
                .hint("use another source; who set up the tool can permit more with `allow`"),
            HttpError::RedirectRefused(_) => {
                fault(FaultCode::RedirectRefused).hint("use the target directly if you trust it")
            }
            HttpError::Setup(_) | HttpError::Unreachable { .. } | HttpError::Cut { .. } => {
                fault(FaultCode::ServerUnreachable)
            }
            HttpError::TooLarge { limit } => fault(FaultCode::ReplyTooLarge).with("limit", *limit),
        }
    }
}
