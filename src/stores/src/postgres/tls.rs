//! TLS to a database with libpq's semantics: the URL decides how much of a certificate is
//! checked.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use antiphon_core::Fault;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as Encrypted;

use super::fault;

mod certificate;
mod verifier;

use certificate::Certificate;
pub(super) use verifier::Check;
use verifier::Verifier;

/// Creates TLS connections.
#[derive(Clone)]
pub(super) struct TlsClient(Arc<ClientConfig>);

impl TlsClient {
    /// `root` is a PEM file of root certificates; without it the operating system's are trusted.
    pub(super) fn new(check: Check, root: Option<&str>) -> Result<Self, Fault> {
        let provider = Arc::new(ring::default_provider());
        let failed = |error: &dyn std::fmt::Display| {
            fault::setting(&format!("TLS cannot be set up: {error}"))
        };
        let verifier =
            Verifier::new(check, root, Arc::clone(&provider)).map_err(|error| failed(&error))?;
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        config.alpn_protocols = vec![b"postgresql".to_vec()];
        Ok(Self(Arc::new(config)))
    }
}

/// The handshake of one connection.
pub(super) struct TlsHandshake {
    connector: TlsConnector,
    host: ServerName<'static>,
}

impl MakeTlsConnect<Socket> for TlsClient {
    type Stream = EncryptedStream;
    type TlsConnect = TlsHandshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<TlsHandshake> {
        // A Unix socket has no host name, and uses no TLS.
        let host = if domain.is_empty() { "localhost" } else { domain };
        let host = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        Ok(TlsHandshake { connector: TlsConnector::from(Arc::clone(&self.0)), host })
    }
}

impl TlsConnect<Socket> for TlsHandshake {
    type Stream = EncryptedStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<EncryptedStream>> + Send>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(
            async move { Ok(EncryptedStream(self.connector.connect(self.host, stream).await?)) },
        )
    }
}

/// An encrypted connection.
pub(super) struct EncryptedStream(Encrypted<Socket>);

impl TlsStream for EncryptedStream {
    /// Binds the login to the certificate, so that a man in the middle cannot relay it.
    fn channel_binding(&self) -> ChannelBinding {
        let certificates = self.0.get_ref().1.peer_certificates().unwrap_or_default();
        let hash = certificates
            .first()
            .and_then(|first| Certificate::read(first).ok().and_then(|read| read.end_point(first)));
        hash.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

impl AsyncRead for EncryptedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for EncryptedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
