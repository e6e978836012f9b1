//! How much of a server's certificate is checked, in front of a real database.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use antiphon_core::Fault;
use antiphon_runtime::store::Store;
use antiphon_stores::PostgresStore;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

#[expect(dead_code, reason = "each of the tests uses a part of it")]
mod database;

use database::Schema;

/// Speaks TLS in front of a server that does not.
struct Guard {
    schema: Schema,
    folder: TempDir,
    port: u16,
}

impl Guard {
    /// With a certificate for `localhost`.
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let issuer = issuer();
        fs::write(folder.path().join("root.pem"), issuer.pem()).unwrap();
        fs::write(folder.path().join("other.pem"), self::issuer().pem()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.into()], key.into());
        let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
        let schema = Schema::new();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = schema.place().split('/').next().unwrap().to_owned();
        // Opening a store blocks the test's own thread.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(serve(listener, server, acceptor));
        });
        Self { schema, folder, port }
    }

    fn open(&self, host: &str, options: &str) -> Result<PostgresStore, Fault> {
        let options = options.replace('@', &self.folder.path().display().to_string());
        let (login, port) = (self.schema.login(), self.port);
        let url = format!("postgres://{login}@{host}:{port}/postgres?{options}");
        PostgresStore::connect(&url, &self.schema.settings())
    }
}

fn issuer() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

async fn serve(listener: std::net::TcpListener, server: String, acceptor: TlsAcceptor) {
    listener.set_nonblocking(true).unwrap();
    let listener = TcpListener::from_std(listener).unwrap();
    loop {
        let (mut client, _) = listener.accept().await.unwrap();
        let (server, acceptor) = (server.clone(), acceptor.clone());
        tokio::spawn(async move {
            let mut asked = [0; 8];
            let wants_tls = client.peek(&mut asked).await.is_ok_and(|_| asked[4..] == SSL_REQUEST);
            let mut server = TcpStream::connect(server).await.unwrap();
            if !wants_tls {
                let _ = copy_bidirectional(&mut client, &mut server).await;
                return;
            }
            client.read_exact(&mut asked).await.unwrap();
            client.write_all(b"S").await.unwrap();
            if let Ok(mut client) = acceptor.accept(client).await {
                let _ = copy_bidirectional(&mut client, &mut server).await;
            }
        });
    }
}

/// What a client that wants TLS says first, after the length.
const SSL_REQUEST: [u8; 4] = 80_877_103_u32.to_be_bytes();

#[tokio::test]
async fn each_mode_checks_what_it_says() {
    let guard = Guard::new();
    for (host, options) in [
        ("127.0.0.1", "sslmode=disable"),
        ("127.0.0.1", ""),
        ("127.0.0.1", "sslmode=prefer"),
        ("127.0.0.1", "sslmode=require"),
        ("127.0.0.1", "sslmode=verify-ca&sslrootcert=@/root.pem"),
        ("localhost", "sslmode=verify-full&sslrootcert=@/root.pem"),
        ("localhost", "sslrootcert=@%2Froot.pem&sslmode=verify-full"),
    ] {
        let store = guard.open(host, options).unwrap_or_else(|fault| panic!("{options}: {fault}"));
        assert_eq!(store.head("t").await.unwrap(), None);
    }
    for (host, options) in [
        ("127.0.0.1", "sslmode=verify-full&sslrootcert=@/root.pem"),
        ("localhost", "sslmode=verify-full&sslrootcert=@/other.pem"),
        ("localhost", "sslmode=verify-ca&sslrootcert=@/other.pem"),
        ("localhost", "sslmode=verify-full"),
    ] {
        let Err(fault) = guard.open(host, options) else { panic!("{options}: it was opened") };
        assert!(fault.message.contains("certificate"), "{options}: {}", fault.message);
    }
}

#[tokio::test]
async fn a_server_without_tls_is_refused_where_it_is_required() {
    let schema = Schema::new();
    let url = format!("{}&sslmode=require", schema.url());
    let Err(fault) = PostgresStore::connect(&url, &schema.settings()) else { panic!("opened") };
    assert!(fault.message.contains("TLS"), "{}", fault.message);
}

#[tokio::test]
async fn a_file_without_certificates_is_named() {
    let guard = Guard::new();
    let none: PathBuf = guard.folder.path().join("none.pem");
    fs::write(&none, "no certificate").unwrap();
    let Err(fault) = guard.open("localhost", "sslmode=verify-full&sslrootcert=@/none.pem") else {
        panic!("it was opened")
    };
    assert_eq!(fault.code, "store_setting_invalid");
}
