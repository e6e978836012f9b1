//! Where a server is, and how one logs in there.

use std::path::PathBuf;

use antiphon_core::{Fault, FaultCode};
use async_nats::{ConnectOptions, ServerAddr};
use percent_encoding::percent_decode_str;

/// Where a server is, and how one logs in there. What it holds is shown nowhere.
#[derive(Clone, Default)]
pub struct NatsAddress {
    /// `nats://host:4222`, or `tls://…`; a user and a password, or a token, may stand before an `@`.
    pub url: String,
    /// A user, in place of that in the URL.
    pub user: Option<String>,
    /// The password.
    pub password: Option<String>,
    /// A token in place of both.
    pub token: Option<String>,
    /// A credentials file of NATS (`.creds`: a JWT and the seed of its key) in place of all three.
    pub credentials_file: Option<PathBuf>,
    /// The certificates of authorities to trust beside those of the system, as a PEM file.
    pub ca_file: Option<PathBuf>,
    /// The certificate of this client, as a PEM file.
    pub certificate_file: Option<PathBuf>,
    /// Its private key, as a PEM file.
    pub key_file: Option<PathBuf>,
}

impl From<&str> for NatsAddress {
    fn from(url: &str) -> Self {
        Self { url: url.to_owned(), ..Self::default() }
    }
}

impl NatsAddress {
    /// The server.
    pub(super) fn server(&self) -> Result<ServerAddr, Fault> {
        let scheme = self.url.split_once("://").map(|(scheme, _)| scheme);
        if let Some(scheme) = scheme.filter(|scheme| !matches!(*scheme, "nats" | "tls")) {
            let message = format!("the URL of the queue's server has an unknown scheme: {scheme}");
            return Err(wrong(message));
        }
        // The text is not shown: it may hold a password.
        self.url
            .parse()
            .map_err(|_| wrong("the URL of the queue's server cannot be read".to_owned()))
    }

    /// How to log in at it.
    pub(super) fn options(&self, server: &ServerAddr) -> Result<ConnectOptions, Fault> {
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let user = self.user.clone().or_else(|| server.username().map(decode));
        let password = self.password.clone().or_else(|| server.password().map(decode));
        let mut options = match (self.token.clone(), user, password) {
            (Some(token), _, _) | (None, Some(token), None) => ConnectOptions::with_token(token),
            (None, Some(user), Some(password)) => {
                ConnectOptions::with_user_and_password(user, password)
            }
            (None, None, _) => ConnectOptions::new(),
        };
        self.check_files()?;
        if let Some(file) = &self.credentials_file {
            let read = std::fs::read_to_string(file);
            let read = read.and_then(|text| ConnectOptions::with_credentials(&text));
            // What the file holds is not shown, and neither is what is wrong with it.
            options = read.map_err(|_| {
                let message = format!("the file holds no credentials of NATS: {}", file.display());
                Fault::new(FaultCode::QueueSettingInvalid, message)
            })?;
        }
        if let Some(file) = self.ca_file.clone() {
            options = options.add_root_certificates(file).require_tls(true);
        }
        match (self.certificate_file.clone(), self.key_file.clone()) {
            (Some(certificate), Some(key)) => Ok(options.add_client_certificate(certificate, key)),
            (None, None) => Ok(options),
            (Some(_), None) | (None, Some(_)) => {
                let message = "a certificate of a client and its key go together";
                Err(Fault::new(FaultCode::QueueSettingInvalid, message))
            }
        }
    }

    /// Whether the files are there.
    fn check_files(&self) -> Result<(), Fault> {
        let files = [&self.credentials_file, &self.ca_file, &self.certificate_file, &self.key_file];
        match files.into_iter().flatten().find(|file| !file.is_file()) {
            Some(file) => {
                let message = format!("the file does not exist: {}", file.display());
                Err(Fault::new(FaultCode::QueueSettingInvalid, message))
            }
            None => Ok(()),
        }
    }
}

fn wrong(message: String) -> Fault {
    Fault::new(FaultCode::QueueSettingInvalid, message)
        .hint("write `nats://user:password@host:4222`, or `tls://…`")
}
