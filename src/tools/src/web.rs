//! What tools that open addresses of a model's choice share: settings, and the reading of replies.

use std::time::Duration;

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_net::{
    AddressPolicy, HttpError, HttpReply, StatusKind, Url, retry_after, without_secrets,
};

/// The policy of an allow list.
///
/// # Errors
/// `tool_setting_invalid` that names the entry.
pub(crate) fn address_policy(allow: &[String], ports: &[u16]) -> Result<AddressPolicy, Fault> {
    let policy = AddressPolicy::default().ports(ports.iter().copied());
    allow.iter().try_fold(policy, |policy, rule| {
        policy.allow(rule).map_err(|rule| {
            let message = format!("an entry of `allow` names no address, network or host: {rule}");
            let hint = "entries are `loopback`, `private`, `host`, `*.host`, `host:port`, an \
                address, or a network such as `10.1.0.0/16`";
            Fault::new(FaultCode::ToolSettingInvalid, message).hint(hint)
        })
    })
}

/// A time limit in seconds.
///
/// # Errors
/// `tool_setting_invalid` if it is not above zero.
pub(crate) fn time_limit(seconds: f64) -> Result<Duration, Fault> {
    let limit = Duration::try_from_secs_f64(seconds).ok();
    limit.filter(|limit| !limit.is_zero()).ok_or_else(|| {
        let message = format!("`timeout` must be a number of seconds above zero: {seconds}");
        Fault::new(FaultCode::ToolSettingInvalid, message)
    })
}

/// A number that must not be zero.
///
/// # Errors
/// `tool_setting_invalid` that names the setting.
pub(crate) fn above_zero<N>(name: &str, value: N) -> Result<N, Fault>
where
    N: Copy + Default + PartialOrd + std::fmt::Display,
{
    if value > N::default() {
        return Ok(value);
    }
    let message = format!("`{name}` must be above zero: {value}");
    Err(Fault::new(FaultCode::ToolSettingInvalid, message))
}

/// The URL in an argument.
///
/// # Errors
/// `url_invalid`.
pub(crate) fn parse_url(text: &str) -> Result<Url, Fault> {
    Url::parse(text.trim()).map_err(|_| {
        let shown: String = text.chars().take(200).collect();
        HttpError::BadUrl(shown).into()
    })
}

/// Whether a reply is a success.
///
/// # Errors
/// `page_login_required`, `page_refused`, `page_unavailable`.
pub(crate) fn check_status(reply: &HttpReply, now: Time) -> Result<(), Fault> {
    let status = reply.status();
    let place = without_secrets(reply.url());
    let answered = |code| {
        let message = format!("{place} answered with the HTTP status: {status}");
        Fault::new(code, message).with("status", status)
    };
    match StatusKind::of(status) {
        StatusKind::Success => Ok(()),
        StatusKind::Unauthorized | StatusKind::PaymentRequired => {
            Err(login_required(reply.url()).with("status", status))
        }
        StatusKind::RateLimited | StatusKind::TimedOut | StatusKind::ServerError => {
            let fault =
                answered(FaultCode::PageUnavailable).hint("use another source, or try later");
            Err(match retry_after(|name| reply.header(name), now) {
                Some(pause) => fault.with("retry_after", pause.as_secs_f64()),
                None => fault,
            })
        }
        StatusKind::NotFound | StatusKind::Refused | StatusKind::Redirect => {
            Err(answered(FaultCode::PageRefused).hint("check the address, or use another source"))
        }
    }
}

/// The fault of a page behind a login.
pub(crate) fn login_required(url: &Url) -> Fault {
    let message =
        format!("the page wants its readers to log in or to pay: {}", without_secrets(url));
    Fault::new(FaultCode::PageLoginRequired, message).hint("use another source")
}
