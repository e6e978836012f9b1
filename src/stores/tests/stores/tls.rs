//! How much of a server's certificate is checked, in front of a real database.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use antiphon_core::{Category, Fault};
use antiphon_stores::{PostgresSettings, PostgresStore};
use base64::prelude::{BASE64_STANDARD, Engine};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, PublicKeyData,
    SigningKey,
};
use ring::digest;
use rustls::crypto::ring as provider;
use rustls::pki_types::PrivateKeyDer;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ServerConfig, SupportedProtocolVersion};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use yasna::DERWriter;
use yasna::models::ObjectIdentifier;

use crate::database::Schema;

/// Speaks TLS in front of a server that does not.
struct Guard {
    schema: Schema,
    folder: TempDir,
    port: u16,
}

impl Guard {
    /// With a certificate for `localhost`.
    fn new() -> Self {
        let issuer = issuer();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        Self::with(certificate.der(), &key, &issuer.pem())
    }

    /// With a certificate, whose issuers are in the file `root.pem`.
    fn with(certificate: &[u8], key: &KeyPair, root: &str) -> Self {
        Self::speaking(rustls::ALL_VERSIONS, certificate, key, root)
    }

    fn speaking(
        versions: &[&'static SupportedProtocolVersion],
        certificate: &[u8],
        key: &KeyPair,
        root: &str,
    ) -> Self {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("root.pem"), root).unwrap();
        fs::write(folder.path().join("other.pem"), issuer().pem()).unwrap();
        let acceptor = acceptor(versions, certificate, key);
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

    fn accepts(&self, host: &str, options: &str) {
        self.open(host, options).unwrap_or_else(|fault| panic!("{host}?{options}: {fault}"));
    }

    fn refuses(&self, host: &str, options: &str) {
        let Err(fault) = self.open(host, options) else { panic!("{host}?{options}: opened") };
        assert_eq!(fault.code, "store_certificate_invalid", "{host}?{options}: {fault}");
        assert_eq!(fault.category, Category::Auth);
        let hint = fault.hint.as_deref().unwrap();
        assert!(hint.contains("sslmode") && hint.contains("sslrootcert"), "{hint}");
    }

    fn open(&self, host: &str, options: &str) -> Result<PostgresStore, Fault> {
        let options = options.replace('@', &self.folder.path().display().to_string());
        let (login, port) = (self.schema.login(), self.port);
        let url = format!("postgres://{login}@{host}:{port}/postgres?{options}");
        PostgresStore::connect(&url, &self.schema.settings())
    }
}

fn acceptor(
    versions: &[&'static SupportedProtocolVersion],
    certificate: &[u8],
    key: &KeyPair,
) -> TlsAcceptor {
    let provider = provider::default_provider();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let key = provider.key_provider.load_private_key(key).unwrap();
    // rustls would not serve every one of these by itself.
    let certified = CertifiedKey::new(vec![certificate.to_vec().into()], key);
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    TlsAcceptor::from(Arc::new(config))
}

/// What `openssl req -x509 -subj /CN=localhost` makes: an issuer, signed by itself.
fn self_signed(names: &[&str]) -> (CertificateParams, KeyPair) {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "localhost");
    (params, KeyPair::generate().unwrap())
}

/// A certificate of version 1, as `openssl x509 -req` made them.
fn version_1(subject: (&str, &KeyPair), issuer: (&str, &KeyPair), until: &str) -> Vec<u8> {
    let algorithm = |writer: DERWriter<'_>| {
        writer.write_sequence(|writer| writer.next().write_oid(&oid(&[1, 2, 840, 10045, 4, 3, 2])));
    };
    let name = |writer: DERWriter<'_>, name: &str| {
        let part = yasna::construct_der(|writer| {
            writer.write_sequence(|writer| {
                writer.next().write_oid(&oid(&[2, 5, 4, 3]));
                writer.next().write_utf8_string(name);
            });
        });
        writer.write_sequence(|writer| {
            writer.next().write_set(|writer| writer.next().write_der(&part));
        });
    };
    let time = |time: &str| [b"\x17\x0d", time.as_bytes()].concat();
    let certificate = yasna::construct_der(|writer| {
        writer.write_sequence(|writer| {
            writer.next().write_u8(7);
            algorithm(writer.next());
            name(writer.next(), issuer.0);
            writer.next().write_sequence(|writer| {
                writer.next().write_der(&time("200101000000Z"));
                writer.next().write_der(&time(until));
            });
            name(writer.next(), subject.0);
            writer.next().write_der(&subject.1.subject_public_key_info());
        });
    });
    let signature = issuer.1.sign(&certificate).unwrap();
    yasna::construct_der(|writer| {
        writer.write_sequence(|writer| {
            writer.next().write_der(&certificate);
            algorithm(writer.next());
            writer.next().write_bitvec_bytes(&signature, signature.len() * 8);
        });
    })
}

fn oid(numbers: &[u64]) -> ObjectIdentifier {
    ObjectIdentifier::from_slice(numbers)
}

fn in_pem(der: &[u8]) -> String {
    pem::encode(&pem::Pem::new("CERTIFICATE", der))
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
        ("127.0.0.1", "sslmode=disable&sslrootcert=@/other.pem"),
        ("127.0.0.1", ""),
        ("127.0.0.1", "sslmode=prefer"),
        ("127.0.0.1", "sslmode=require"),
        ("127.0.0.1", "sslrootcert=@/root.pem"),
        ("127.0.0.1", "sslmode=require&sslrootcert=@/root.pem"),
        ("127.0.0.1", "sslmode=verify-ca&sslrootcert=@/root.pem"),
        ("localhost", "sslmode=verify-full&sslrootcert=@/root.pem"),
        ("localhost", "sslrootcert=@%2Froot.pem&sslmode=verify-full"),
    ] {
        guard.accepts(host, options);
    }
    for (host, options) in [
        ("127.0.0.1", "sslmode=verify-full&sslrootcert=@/root.pem"),
        ("localhost", "sslmode=verify-full&sslrootcert=@/other.pem"),
        ("localhost", "sslmode=verify-ca&sslrootcert=@/other.pem"),
        ("localhost", "sslmode=require&sslrootcert=@/other.pem"),
        ("localhost", "sslrootcert=@/other.pem"),
        ("localhost", "sslmode=verify-full"),
        ("localhost", "sslmode=verify-full&sslrootcert=system"),
        ("localhost", "sslrootcert=system"),
    ] {
        guard.refuses(host, options);
    }
    for options in ["sslmode=require&sslrootcert=system", "sslmode=verify-ca"] {
        let Err(fault) = guard.open("localhost", options) else { panic!("{options}: opened") };
        assert_eq!(fault.code, "store_setting_invalid", "{options}");
    }
}

#[tokio::test]
async fn a_certificate_that_is_signed_by_itself_is_its_own_issuer() {
    for names in [&[][..], &["localhost"], &["localhost", "::1"]] {
        let (params, key) = self_signed(names);
        let certificate = params.self_signed(&key).unwrap();
        let guard = Guard::with(certificate.der(), &key, &certificate.pem());
        guard.accepts("127.0.0.1", "sslmode=verify-ca&sslrootcert=@/root.pem");
        guard.accepts("localhost", "sslmode=verify-full&sslrootcert=@/root.pem");
        guard.refuses("127.0.0.1", "sslmode=verify-full&sslrootcert=@/root.pem");
        guard.refuses("localhost", "sslmode=verify-ca&sslrootcert=@/other.pem");
    }
    // Its names count, not the common one.
    let (params, key) = self_signed(&["elsewhere"]);
    let certificate = params.self_signed(&key).unwrap();
    let guard = Guard::with(certificate.der(), &key, &certificate.pem());
    guard.refuses("localhost", "sslmode=verify-full&sslrootcert=@/root.pem");
}

#[tokio::test]
async fn one_that_is_over_is_refused_though_it_is_named() {
    let (mut params, key) = self_signed(&["localhost"]);
    params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    let certificate = params.self_signed(&key).unwrap();
    let guard = Guard::with(certificate.der(), &key, &certificate.pem());
    guard.refuses("localhost", "sslmode=verify-ca&sslrootcert=@/root.pem");
    let old = version_1(("localhost", &key), ("localhost", &key), "210101000000Z");
    let guard = Guard::with(&old, &key, &in_pem(&old));
    guard.refuses("localhost", "sslmode=verify-ca&sslrootcert=@/root.pem");
}

#[tokio::test]
async fn certificates_of_the_first_version_are_read() {
    let (root, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let later = "491231235959Z";
    let issuer = version_1(("root", &root), ("root", &root), later);
    let issued = version_1(("localhost", &key), ("root", &root), later);
    let alone = version_1(("localhost", &key), ("localhost", &key), later);
    let forged = version_1(("localhost", &key), ("root", &key), later);
    for versions in [&[&rustls::version::TLS12][..], &[&rustls::version::TLS13]] {
        let guard = Guard::speaking(versions, &issued, &key, &in_pem(&issuer));
        guard.accepts("127.0.0.1", "sslmode=require");
        guard.accepts("127.0.0.1", "sslmode=verify-ca&sslrootcert=@/root.pem");
        guard.accepts("localhost", "sslmode=verify-full&sslrootcert=@/root.pem");
        guard.refuses("127.0.0.1", "sslmode=verify-full&sslrootcert=@/root.pem");
        guard.refuses("localhost", "sslmode=verify-ca&sslrootcert=@/other.pem");
        let guard = Guard::speaking(versions, &alone, &key, &in_pem(&alone));
        guard.accepts("localhost", "sslmode=verify-full&sslrootcert=@/root.pem");
        let guard = Guard::speaking(versions, &forged, &key, &in_pem(&issuer));
        guard.refuses("localhost", "sslmode=verify-ca&sslrootcert=@/root.pem");
        // A server that shows a certificate must have its key.
        let guard = Guard::speaking(versions, &issued, &root, &in_pem(&issuer));
        guard.refuses("localhost", "sslmode=require");
    }
}

/// Replies like a server with its own TLS, until the client has proved
/// that it knows the password; gives what it said of the channel.
async fn ask_for_binding(listener: TcpListener, acceptor: TlsAcceptor) -> (String, String) {
    let (mut client, _) = listener.accept().await.unwrap();
    client.read_exact(&mut [0; 8]).await.unwrap();
    client.write_all(b"S").await.unwrap();
    let mut client = acceptor.accept(client).await.unwrap();
    let length = client.read_i32().await.unwrap();
    client.read_exact(&mut vec![0; usize::try_from(length).unwrap() - 4]).await.unwrap();
    say(&mut client, 10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0").await;
    let first = hear(&mut client).await;
    let (mechanism, first) = first.split_once('\0').unwrap();
    // A nonce holds every printable character but the comma, so maybe `r=` too.
    let nonce = first.rsplit_once(",r=").unwrap().1;
    say(&mut client, 11, format!("r={nonce}more,s=c2FsdA==,i=4096").as_bytes()).await;
    let last = hear(&mut client).await;
    let bound = last.trim_start_matches("c=").split(',').next().unwrap().to_owned();
    let refusal = b"SFATAL\0C28P01\0Mno\0\0";
    client.write_u8(b'E').await.unwrap();
    client.write_i32(i32::try_from(refusal.len()).unwrap() + 4).await.unwrap();
    client.write_all(refusal).await.unwrap();
    client.flush().await.unwrap();
    (mechanism.to_owned(), bound)
}

async fn say(client: &mut TlsStream<TcpStream>, kind: i32, body: &[u8]) {
    client.write_u8(b'R').await.unwrap();
    client.write_i32(i32::try_from(body.len()).unwrap() + 8).await.unwrap();
    client.write_i32(kind).await.unwrap();
    client.write_all(body).await.unwrap();
    client.flush().await.unwrap();
}

async fn hear(client: &mut TlsStream<TcpStream>) -> String {
    assert_eq!(client.read_u8().await.unwrap(), b'p');
    let length = client.read_i32().await.unwrap();
    let mut body = vec![0; usize::try_from(length).unwrap() - 4];
    client.read_exact(&mut body).await.unwrap();
    String::from_utf8_lossy(&body).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_is_bound_to_the_certificate() {
    let (params, key) = self_signed(&[]);
    let certificate = params.self_signed(&key).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = acceptor(rustls::ALL_VERSIONS, certificate.der(), &key);
    let asked = tokio::spawn(ask_for_binding(listener, acceptor));
    let url = format!("postgres://me:secret@127.0.0.1:{port}/db?sslmode=require");
    let Err(fault) = PostgresStore::connect(&url, &PostgresSettings::default()) else {
        panic!("it was opened")
    };
    assert_eq!(fault.code, "store_refused");
    let (mechanism, bound) = asked.await.unwrap();
    assert_eq!(mechanism, "SCRAM-SHA-256-PLUS");
    let hash = digest::digest(&digest::SHA256, certificate.der());
    let expected = [b"p=tls-server-end-point,,", hash.as_ref()].concat();
    assert_eq!(bound, BASE64_STANDARD.encode(expected));
}

#[tokio::test]
async fn a_login_that_cannot_be_bound_is_refused_where_it_has_to_be() {
    let schema = Schema::new();
    let url = format!("{}&channel_binding=require", schema.url());
    let Err(fault) = PostgresStore::connect(&url, &schema.settings()) else { panic!("opened") };
    assert_eq!((fault.code.as_str(), fault.category), ("store_refused", Category::Auth));
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
