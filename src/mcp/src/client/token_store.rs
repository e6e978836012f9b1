//! Where the tokens of servers are kept.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rmcp::transport::auth::{AuthError, CredentialStore, StoredCredentials};
use serde::Serialize;
use serde_json::Value as Json;
use tokio::sync::Mutex;

/// The tokens of one server: in memory, and in a file if there is one.
#[derive(Clone)]
pub(super) struct TokenStore {
    server: Arc<str>,
    file: Option<Arc<Path>>,
    tokens: Arc<Mutex<Option<StoredCredentials>>>,
}

/// What a file keeps: tokens by the address of their server, which gets no others.
type TokenFile = BTreeMap<String, Json>;

impl TokenStore {
    /// An empty path stands for no file.
    pub(super) fn new(server: &str, file: &str) -> Self {
        let file = (!file.is_empty()).then(|| Path::new(file).into());
        Self { server: server.into(), file, tokens: Arc::default() }
    }

    fn read(&self, file: &Path) -> Result<Option<StoredCredentials>, AuthError> {
        let Some(kept) = read(file)?.remove(&*self.server) else { return Ok(None) };
        serde_json::from_value(kept).map(Some).map_err(|error| unusable(file, &error.into()))
    }

    fn write(&self, file: &Path, tokens: Option<&StoredCredentials>) -> Result<(), AuthError> {
        let mut all = read(file)?;
        match tokens {
            Some(tokens) => {
                let kept = serde_json::to_value(tokens);
                all.insert(
                    self.server.to_string(),
                    kept.map_err(|error| unusable(file, &error.into()))?,
                );
            }
            None => drop(all.remove(&*self.server)),
        }
        replace(file, &all).map_err(|error| unusable(file, &error))
    }
}

#[async_trait]
impl CredentialStore for TokenStore {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let mut tokens = self.tokens.lock().await;
        if let (None, Some(file)) = (&*tokens, &self.file) {
            *tokens = self.read(file)?;
            tokens.iter().for_each(redact);
        }
        Ok(tokens.clone())
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        redact(&credentials);
        let mut tokens = self.tokens.lock().await;
        if let Some(file) = &self.file {
            self.write(file, Some(&credentials))?;
        }
        *tokens = Some(credentials);
        Ok(())
    }

    async fn clear(&self) -> Result<(), AuthError> {
        let mut tokens = self.tokens.lock().await;
        if let Some(file) = &self.file {
            self.write(file, None)?;
        }
        *tokens = None;
        Ok(())
    }
}

/// A server that echoes a token puts it into no trace.
fn redact(credentials: &StoredCredentials) {
    let reply =
        credentials.token_response.as_ref().and_then(|reply| serde_json::to_value(reply).ok());
    for name in ["access_token", "refresh_token", "id_token"] {
        let token = reply.as_ref().and_then(|reply| reply.get(name)).and_then(Json::as_str);
        antiphon_runtime::redact::register(token.unwrap_or_default());
    }
}

fn read(file: &Path) -> Result<TokenFile, AuthError> {
    match fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| unusable(file, &error.into())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(TokenFile::new()),
        Err(error) => Err(unusable(file, &error)),
    }
}

/// Puts a file that its owner alone may read in the place of the old one.
fn replace(file: &Path, content: &impl Serialize) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    fs::create_dir_all(folder)?;
    let mut written = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut written, content)?;
    written.write_all(b"\n")?;
    written.as_file().sync_all()?;
    written.persist(file).map(drop).map_err(|error| error.error)
}

fn unusable(file: &Path, error: &io::Error) -> AuthError {
    AuthError::CredentialStoreError(format!("the file of tokens `{}`: {error}", file.display()))
}
