//! The transfer of one file.

use std::io;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode};
use antiphon_net::{
    GuardedClient, GuardedOptions, HttpError, HttpReply, HttpRequest, Url, within, without_secrets,
};
use antiphon_runtime::Clock;
use serde::Serialize;

use super::file_name::{proposed_name, safe_file_name};
use super::part::{OpenPart, storage_failed};
use super::settings::DownloadSettings;
use crate::files::Root;
use crate::web::{above_zero, address_policy, check_status, parse_url, time_limit};

/// How often a transfer that breaks is continued within one call.
const CONTINUATIONS: usize = 3;

/// Downloads files into one folder.
///
/// A transfer that breaks or is cancelled leaves a part, `.antiphon-….part`, and the next one of the same URL continues it
/// if the server says that the file is still the same; otherwise it begins anew. A file appears under its name only when
/// it is complete.
#[derive(Debug)]
pub struct Downloader {
    client: GuardedClient,
    root: Root,
    types: Vec<String>,
    timeout: Duration,
    max_bytes: u64,
    overwrite: bool,
}

/// A file that was stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DownloadReport {
    /// Its name in the folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal digits.
    pub sha256: String,
    /// The media type that the server gives.
    pub media_type: String,
    /// Where it came from, after redirects.
    pub url: String,
    /// How many of its bytes an earlier transfer had left.
    pub resumed_from: u64,
}

impl Downloader {
    /// A downloader that has transferred nothing.
    ///
    /// # Errors
    /// `tool_setting_invalid`.
    pub fn new(settings: &DownloadSettings) -> Result<Self, Fault> {
        let policy = address_policy(&settings.allow, &settings.ports)?;
        // Parts of a compressed reply could not be continued.
        let options = GuardedOptions { decompress: false, ..GuardedOptions::default() };
        Ok(Self {
            client: GuardedClient::new(policy, options),
            root: Root::open(&settings.root)?,
            types: settings.types.iter().map(|kind| kind.to_ascii_lowercase()).collect(),
            timeout: time_limit(settings.timeout)?,
            max_bytes: above_zero("max_bytes", settings.max_bytes)?,
            overwrite: settings.overwrite,
        })
    }

    /// The longest that one file may take.
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Stores the file at `url`, as `name` if it is given, and otherwise under the name that the server or the URL
    /// proposes. `sha256` is what its hash must be.
    ///
    /// # Errors
    /// `url_invalid`, `address_refused`, `redirect_refused`, `server_unreachable`, `reply_too_large`,
    /// `download_timeout`, `download_type_refused`, `download_hash_mismatch`, `download_busy`, `download_failed`,
    /// `page_refused`, `page_unavailable`, `page_login_required`.
    pub async fn download(
        &self,
        url: &str,
        name: Option<&str>,
        sha256: Option<&str>,
        clock: &dyn Clock,
    ) -> Result<DownloadReport, Fault> {
        let url = parse_url(url)?;
        let work = self.transfer(&url, name, sha256, clock);
        within(clock, Some(self.timeout), work).await.ok_or_else(|| {
            let (place, seconds) = (without_secrets(&url), self.timeout.as_secs_f64());
            let message =
                format!("the download of {place} took longer than its limit in seconds: {seconds}");
            Fault::new(FaultCode::DownloadTimeout, message)
                .hint("call again to continue it, if the server permits")
        })?
    }

    async fn transfer(
        &self,
        url: &Url,
        name: Option<&str>,
        sha256: Option<&str>,
        clock: &dyn Clock,
    ) -> Result<DownloadReport, Fault> {
        let mut part = OpenPart::open(self.root.clone(), url, self.max_bytes).await?;
        let mut left = CONTINUATIONS;
        let reply = loop {
            let before = part.length;
            match self.attempt(url, &mut part, clock).await {
                Ok(reply) => break reply,
                // Something has come, so the rest may come too.
                Err(AttemptFailure::Broken(_)) if left > 0 && part.length > before => left -= 1,
                Err(AttemptFailure::Broken(error)) => {
                    part.leave().await;
                    return Err(error.into());
                }
                Err(AttemptFailure::Final(fault)) => {
                    part.leave().await;
                    return Err(fault);
                }
                Err(AttemptFailure::Useless(fault)) => {
                    part.remove();
                    return Err(fault);
                }
            }
        };
        let found = part.sha256();
        if let Some(expected) = sha256.filter(|text| !text.trim().eq_ignore_ascii_case(&found)) {
            part.remove();
            let place = without_secrets(url);
            let message =
                format!("the file at {place} has another SHA-256 than `{expected}`: {found}");
            return Err(Fault::new(FaultCode::DownloadHashMismatch, message)
                .hint("check the expected hash, or use another source"));
        }
        let proposed = name.map_or(reply.name, safe_file_name);
        let (bytes, resumed_from) = (part.length, part.resumed_from);
        let path = part.publish(&proposed, self.overwrite).await?;
        let (media_type, url) = (reply.media_type, reply.url);
        Ok(DownloadReport { path, bytes, sha256: found, media_type, url, resumed_from })
    }

    /// One request, which continues the part if it can.
    async fn attempt(
        &self,
        url: &Url,
        part: &mut OpenPart,
        clock: &dyn Clock,
    ) -> Result<ReplyFacts, AttemptFailure> {
        let mut request = HttpRequest::get(url.clone()).header("accept-encoding", "identity")?;
        if let Some(validator) = part.validator.as_deref().filter(|_| part.length > 0) {
            let range = format!("bytes={}-", part.length);
            request = request.header("range", &range)?.header("if-range", validator)?;
        }
        let mut reply = self.client.send(&request).await?;
        if reply.status() == 416 || (reply.status() == 206 && !continues(&reply, part.length)) {
            // The server does not have the rest of what we have: from the beginning.
            part.reset(None).await.map_err(AttemptFailure::Final)?;
            let request = HttpRequest::get(url.clone()).header("accept-encoding", "identity")?;
            reply = self.client.send(&request).await?;
        }
        check_status(&reply, clock.now()).map_err(AttemptFailure::Final)?;
        let facts = ReplyFacts::read(&reply);
        self.check_type(&facts).map_err(AttemptFailure::Useless)?;
        if reply.status() != 206 {
            part.reset(validator_of(&reply)).await.map_err(AttemptFailure::Final)?;
        }
        let too_large = || AttemptFailure::Useless(too_large(self.max_bytes));
        let announced = reply.content_length().unwrap_or_default();
        if part.length.saturating_add(announced) > self.max_bytes {
            return Err(too_large());
        }
        while let Some(piece) = reply.chunk().await? {
            if part.length + piece.len() as u64 > self.max_bytes {
                return Err(too_large());
            }
            part.append(&piece).await?;
        }
        Ok(facts)
    }

    fn check_type(&self, facts: &ReplyFacts) -> Result<(), Fault> {
        let kind = &facts.media_type;
        let matches = |wanted: &String| match wanted.strip_suffix('*') {
            Some(start) => kind.starts_with(start),
            None => kind == wanted,
        };
        if self.types.is_empty() || self.types.iter().any(matches) {
            return Ok(());
        }
        let message = format!("files of this media type are not stored: `{kind}`");
        Err(Fault::new(FaultCode::DownloadTypeRefused, message)
            .hint(format!("the types are {}", self.types.join(", "))))
    }
}

fn too_large(limit: u64) -> Fault {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    HttpError::TooLarge { limit }.into()
}

/// Why an attempt did not complete the file.
enum AttemptFailure {
    /// The connection broke; what has come is kept.
    Broken(HttpError),
    /// Another attempt would end the same way; what has come is kept.
    Final(Fault),
    /// What has come is of no use.
    Useless(Fault),
}

impl From<HttpError> for AttemptFailure {
    fn from(error: HttpError) -> Self {
        match error {
            HttpError::Cut { .. } | HttpError::Unreachable { .. } => Self::Broken(error),
            error => Self::Final(error.into()),
        }
    }
}

impl From<io::Error> for AttemptFailure {
    fn from(error: io::Error) -> Self {
        Self::Final(storage_failed(&error.to_string()))
    }
}

/// What a reply says about its file.
struct ReplyFacts {
    name: String,
    media_type: String,
    url: String,
}

impl ReplyFacts {
    fn read(reply: &HttpReply) -> Self {
        let media_type = reply.header("content-type").unwrap_or_default();
        let media_type = media_type.split(';').next().unwrap_or_default().trim();
        Self {
            name: proposed_name(reply.header("content-disposition"), reply.url()),
            media_type: media_type.to_ascii_lowercase(),
            url: reply.url().to_string(),
        }
    }
}

/// Whether a partial reply begins where the part ends: `bytes 100-199/200`.
fn continues(reply: &HttpReply, length: u64) -> bool {
    let range = reply.header("content-range").and_then(|range| range.strip_prefix("bytes "));
    let start = range.and_then(|range| range.split('-').next()?.trim().parse().ok());
    start == Some(length)
}

/// What proves that the file is the same later; weak tags do not.
fn validator_of(reply: &HttpReply) -> Option<String> {
    let tag = reply.header("etag").filter(|tag| tag.starts_with('"'));
    tag.or_else(|| reply.header("last-modified")).map(str::to_owned)
}
