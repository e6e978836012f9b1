//! The address of a database. A URL that cannot be parsed is never quoted: any part of it may be
//! a password.

use std::path::PathBuf;
use std::time::Duration;

use antiphon_core::Fault;
use antiphon_net::Url;
use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls::{self, CertificateCheck};
use crate::sql::fault;

/// A parsed URL.
#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) tls: MakeRustlsConnect,
    /// Host, port and database, for messages.
    pub(super) label: String,
}

impl Address {
    pub(super) fn parse(url: &str, connect_timeout: Duration) -> Result<Self, Fault> {
        let url = Url::parse(url).map_err(|_| unread())?;
        if !matches!(url.scheme(), "postgres" | "postgresql") {
            return Err(setting("the URL of the database does not begin with postgresql://"));
        }
        let mut config = Config::new();
        config.connect_timeout(connect_timeout).application_name("antiphon");
        let options = UrlOptions::read(&url, &mut config)?;
        let host = options.host.or_else(|| url.host_str().map(str::to_owned));
        let host = host.filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| setting("the URL of the database names no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port().unwrap_or(5432);
        config.host(host).port(port);
        if !url.username().is_empty() {
            config.user(decoded(url.username())?);
        }
        if let Some(password) = url.password() {
            config.password(decoded(password)?);
        }
        let database = decoded(url.path().trim_start_matches('/'))?;
        if !database.is_empty() {
            config.dbname(&database);
        }
        // Detects a connection that was cut without notice.
        config.keepalives_idle(Duration::from_secs(30));
        config.ssl_mode(options.mode);
        let tls = tls::client(options.check, options.root.as_deref())?;
        Ok(Self { config, tls, label: format!("{host}:{port}/{database}") })
    }
}

struct UrlOptions {
    mode: SslMode,
    check: CertificateCheck,
    root: Option<PathBuf>,
    host: Option<String>,
}

impl UrlOptions {
    fn read(url: &Url, config: &mut Config) -> Result<Self, Fault> {
        let mut options = Self {
            mode: SslMode::Prefer,
            check: CertificateCheck::Nothing,
            root: None,
            host: None,
        };
        for (key, value) in url.query_pairs() {
            match key.as_ref() {
                "sslmode" => (options.mode, options.check) = ssl_mode(&value)?,
                "sslrootcert" => options.root = Some(PathBuf::from(value.as_ref())),
                "host" => options.host = Some(value.into_owned()),
                "application_name" => {
                    config.application_name(value.as_ref());
                }
                other => {
                    let problem = format!("unknown option in the URL of the database: {other}");
                    return Err(setting(&problem));
                }
            }
        }
        if options.root.is_some() && options.check == CertificateCheck::Nothing {
            return Err(setting("`sslrootcert` needs `sslmode=verify-full`"));
        }
        Ok(options)
    }
}

fn ssl_mode(mode: &str) -> Result<(SslMode, CertificateCheck), Fault> {
    match mode {
        "disable" => Ok((SslMode::Disable, CertificateCheck::Nothing)),
        "prefer" => Ok((SslMode::Prefer, CertificateCheck::Nothing)),
        "require" => Ok((SslMode::Require, CertificateCheck::Nothing)),
        "verify-full" => Ok((SslMode::Require, CertificateCheck::IssuerAndName)),
        _ => Err(setting("`sslmode` must be disable, prefer, require or verify-full")),
    }
}

fn decoded(text: &str) -> Result<String, Fault> {
    Ok(percent_decode_str(text).decode_utf8().map_err(|_| unread())?.into_owned())
}

fn unread() -> Fault {
    setting("the URL of the database cannot be parsed")
}

fn setting(problem: &str) -> Fault {
    let hint = "write postgresql://user:password@host:5432/database, with special characters of \
                the password in percent encoding, and options such as ?sslmode=verify-full";
    fault::setting(problem, hint)
}
