//! The address and TLS mode of a database. A URL that cannot be parsed is never quoted: any part
//! of it may be a password.

use std::time::Duration;

use antiphon_core::Fault;
use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::{PostgresSettings, fault};
use crate::postgres::tls::{Check, TlsClient};

/// A parsed URL and its settings.
pub(super) struct Address {
    config: Config,
    tls: TlsClient,
    schema: String,
    timeout: Duration,
    label: String,
}

/// The TLS options of a URL.
#[derive(Default)]
struct TlsMode {
    mode: Option<(SslMode, Check)>,
    root: Option<String>,
}

impl TlsMode {
    /// libpq's name for the operating system's root certificates.
    const SYSTEM: &str = "system";
    const PREFER: (SslMode, Check) = (SslMode::Prefer, Check::Nothing);

    /// What to check, and against which file of root certificates.
    fn resolved(&self) -> Result<(SslMode, Check, Option<&str>), Fault> {
        let root = self.root.as_deref();
        let is_system = root == Some(Self::SYSTEM);
        let usual = if is_system { (SslMode::Require, Check::IssuerAndName) } else { Self::PREFER };
        let (mode, check) = self.mode.unwrap_or(usual);
        match (mode, check, root) {
            (SslMode::Disable, ..) => Ok((mode, check, None)),
            (_, Check::IssuerAndName, _) if is_system => Ok((mode, check, None)),
            (..) if is_system => {
                // As in libpq: anyone can get a certificate from a public authority, so the name
                // must be checked too.
                Err(fault::setting("`sslrootcert=system` needs `sslmode=verify-full`"))
            }
            (_, Check::Issuer, None) => {
                Err(fault::setting("`sslmode=verify-ca` needs `sslrootcert`"))
            }
            // As in libpq: with root certificates, the issuer is checked.
            (_, Check::Nothing, Some(_)) => Ok((mode, Check::Issuer, root)),
            _ => Ok((mode, check, root)),
        }
    }
}

impl Address {
    pub(super) fn parse(url: &str, settings: &PostgresSettings) -> Result<Self, Fault> {
        check(settings)?;
        let (url, secrecy) = split(url)?;
        let mut config: Config = url.parse().map_err(|_| unread())?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(fault::setting("the URL names no host"));
        }
        let (mode, check, root) = secrecy.resolved()?;
        config.ssl_mode(mode);
        if config.get_application_name().is_none() {
            config.application_name("antiphon");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(settings.timeout.min(Duration::from_secs(10)));
        }
        // Detects a connection that was cut without notice.
        config.keepalives_idle(Duration::from_secs(30));
        Ok(Self {
            tls: TlsClient::new(check, root)?,
            label: label(&config),
            config,
            schema: settings.schema.clone(),
            timeout: settings.timeout,
        })
    }

    pub(super) const fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn tls(&self) -> TlsClient {
        self.tls.clone()
    }

    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    pub(super) const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Hosts, ports and database, for messages.
    pub(super) fn label(&self) -> &str {
        &self.label
    }
}

fn check(settings: &PostgresSettings) -> Result<(), Fault> {
    let schema = &settings.schema;
    let mut letters = schema.chars();
    let begins = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    let continues = letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if !begins || !continues || schema.len() > 63 || schema.starts_with("pg_") {
        let problem =
            format!("a schema name has at most 63 of the characters A-Z, a-z, 0-9 and _: {schema}");
        return Err(fault::setting(&problem));
    }
    if settings.pool == 0 || settings.pool > 64 {
        let problem = format!("`pool` must be 1 to 64 connections: {}", settings.pool);
        return Err(fault::setting(&problem));
    }
    if settings.timeout < Duration::from_millis(1) || settings.timeout > Duration::from_hours(24) {
        let problem = format!("`timeout` must be 1 ms to a day: {:?}", settings.timeout);
        return Err(fault::setting(&problem));
    }
    Ok(())
}

/// Separates the TLS options, which tokio-postgres does not know, from a URL.
fn split(url: &str) -> Result<(String, TlsMode), Fault> {
    let (scheme, rest) = url.split_once("://").ok_or_else(unread)?;
    if !matches!(scheme, "postgres" | "postgresql") {
        return Err(fault::setting("the URL does not begin with postgres:// or postgresql://"));
    }
    let (login, rest) =
        rest.split_once('@').map_or((None, rest), |(login, rest)| (Some(login), rest));
    let (location, options) = rest.split_once('?').unwrap_or((rest, ""));
    if location.contains('@') {
        // Otherwise a part of the password would be taken for the host.
        return Err(fault::setting("write an @ in a user or password as %40"));
    }
    let mut secrecy = TlsMode::default();
    let mut others = Vec::new();
    for option in options.split('&').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("sslmode", mode)) => secrecy.mode = Some(named(mode)?),
            Some(("sslrootcert", path)) => secrecy.root = Some(decoded(path)?),
            _ => others.push(option),
        }
    }
    let login = login.map_or_else(String::new, |login| format!("{login}@"));
    Ok((format!("postgres://{login}{location}?{}", others.join("&")), secrecy))
}

fn named(mode: &str) -> Result<(SslMode, Check), Fault> {
    match mode {
        "disable" => Ok((SslMode::Disable, Check::Nothing)),
        "prefer" => Ok((SslMode::Prefer, Check::Nothing)),
        "require" => Ok((SslMode::Require, Check::Nothing)),
        "verify-ca" => Ok((SslMode::Require, Check::Issuer)),
        "verify-full" => Ok((SslMode::Require, Check::IssuerAndName)),
        _ => Err(fault::setting(
            "`sslmode` must be disable, prefer, require, verify-ca or verify-full",
        )),
    }
}

fn decoded(text: &str) -> Result<String, Fault> {
    Ok(percent_decode_str(text).decode_utf8().map_err(|_| unread())?.into_owned())
}

fn unread() -> Fault {
    fault::setting("the URL cannot be parsed, or has an unknown option")
}

fn label(config: &Config) -> String {
    let (hosts, ports) = (config.get_hosts(), config.get_ports());
    let addresses = config.get_hostaddrs();
    let mut places: Vec<String> = hosts
        .iter()
        .map(|host| match host {
            Host::Tcp(name) if name.contains(':') => format!("[{name}]"),
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        })
        .collect();
    if places.is_empty() {
        places = addresses.iter().map(ToString::to_string).collect();
    }
    for (at, place) in places.iter_mut().enumerate() {
        let port = ports.get(at).or_else(|| ports.first()).copied().unwrap_or(5432);
        *place = format!("{place}:{port}");
    }
    let database = config.get_dbname().or_else(|| config.get_user()).unwrap_or_default();
    format!("{}/{database}", places.join(","))
}
