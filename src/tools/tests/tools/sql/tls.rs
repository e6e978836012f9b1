//! How much of a server's certificate is checked, in front of a real PostgreSQL.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use antiphon_core::Fault;
use antiphon_net::Secret;
use antiphon_tools::sql::{
    Database, PostgresDatabase, PostgresOptions, QueryLimits, QueryParameters, SqlDialect,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::corpus::policy;
use super::postgres::TestServer;

/// What a client that wants TLS says first, after the length.
const SSL_REQUEST: [u8; 4] = 80_877_103_u32.to_be_bytes();

/// Speaks TLS in front of a server that does not, with a certificate for `localhost`.
struct TlsFront {
    server: TestServer,
    folder: TempDir,
    port: u16,
    /// How many connections came with TLS.
    encrypted: Arc<AtomicUsize>,
}

impl TlsFront {
    /// None without a server.
    async fn start() -> Option<Self> {
        let server = TestServer::start().await?;
        let folder = tempfile::tempdir().unwrap();
        let issuer = issuer();
        std::fs::write(folder.path().join("root.pem"), issuer.pem()).unwrap();
        std::fs::write(folder.path().join("other.pem"), self::issuer().pem()).unwrap();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let encrypted = Arc::new(AtomicUsize::new(0));
        let place = server.place();
        tokio::spawn(serve(
            listener,
            place,
            TlsAcceptor::from(Arc::new(config)),
            encrypted.clone(),
        ));
        Some(Self { server, folder, port, encrypted })
    }

    /// Asks through a connection with these options; `@` is the folder of certificates.
    async fn ask(&self, host: &str, options: &str) -> Result<(), Fault> {
        let options = options.replace('@', &self.folder.path().display().to_string());
        let url = self.server.analyst_url_at(&format!("{host}:{}", self.port));
        let database = PostgresDatabase::open(
            &Secret::new(format!("{url}?{options}")),
            policy(SqlDialect::Postgres),
            PostgresOptions::default(),
        )?;
        let query = database.check("SELECT count(*) AS n FROM orders")?;
        let limits = QueryLimits::default();
        database.execute(&query, &QueryParameters::None, &limits).await.map(|_| ())
    }
}

fn issuer() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

async fn serve(
    listener: TcpListener,
    place: String,
    acceptor: TlsAcceptor,
    encrypted: Arc<AtomicUsize>,
) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let (place, acceptor, encrypted) = (place.clone(), acceptor.clone(), encrypted.clone());
        tokio::spawn(async move {
            let server = TcpStream::connect(place).await.unwrap();
            // A connection that fails is what some tests are about.
            let _ = relay(client, server, &acceptor, &encrypted).await;
        });
    }
}

async fn relay(
    mut client: TcpStream,
    mut server: TcpStream,
    acceptor: &TlsAcceptor,
    encrypted: &AtomicUsize,
) -> std::io::Result<()> {
    let mut asked = [0; 8];
    client.read_exact(&mut asked).await?;
    if asked[4..] != SSL_REQUEST {
        server.write_all(&asked).await?;
        copy_bidirectional(&mut client, &mut server).await?;
        return Ok(());
    }
    client.write_all(b"S").await?;
    let mut client = acceptor.accept(client).await?;
    encrypted.fetch_add(1, Ordering::Relaxed);
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

#[tokio::test]
async fn each_mode_checks_what_it_says() {
    let Some(front) = TlsFront::start().await else { return };
    for (host, options, encrypted) in [
        ("127.0.0.1", "sslmode=disable", 0),
        ("127.0.0.1", "sslmode=prefer", 1),
        ("127.0.0.1", "", 1),
        ("127.0.0.1", "sslmode=require", 1),
        ("localhost", "sslmode=verify-full&sslrootcert=@/root.pem", 1),
    ] {
        front.encrypted.store(0, Ordering::Relaxed);
        front.ask(host, options).await.unwrap_or_else(|fault| panic!("{options}: {fault}"));
        assert_eq!(front.encrypted.load(Ordering::Relaxed), encrypted, "{options}");
    }
}

#[tokio::test]
async fn a_certificate_of_another_issuer_or_name_is_refused() {
    let Some(front) = TlsFront::start().await else { return };
    for (host, options) in [
        ("localhost", "sslmode=verify-full&sslrootcert=@/other.pem"),
        ("127.0.0.1", "sslmode=verify-full&sslrootcert=@/root.pem"),
        ("localhost", "sslmode=verify-full"),
    ] {
        let fault = front.ask(host, options).await.unwrap_err();
        assert_eq!(fault.code, "database_unreachable", "{options}");
        assert!(!format!("{fault:?}").contains("word-of-"), "{fault:?}");
    }
    assert_eq!(front.encrypted.load(Ordering::Relaxed), 0);
}
