//! Readings over TLS 1.3, by `embedded-tls`: with a key that both ends have (PSK), or with
//! the server's certificate.

use embedded_io_async::{Read, Write};
use embedded_tls::pki::CertVerifier;
use embedded_tls::{
    Aes128GcmSha256, Certificate, CryptoProvider, FlushPolicy, MaxFragmentLength, TlsClock,
    TlsConfig, TlsConnection, TlsContext, TlsError, TlsVerifier, UnsecureProvider,
};
use rand_core::CryptoRngCore;

/// The longest certificate that is accepted from a server, in bytes.
pub const CERTIFICATE: usize = 1_024;

/// Memory of a connection: buffers for the records in both directions.
///
/// The first flight must fit into `output`, and the longest record of the server into `input`. The
/// client requests RFC 6066's limit of 512 bytes, which OpenSSL keeps; the longest record then has
/// 805 bytes (RFC 6066 §4). A chain of certificates is one record.
#[derive(Debug)]
pub struct Records<'m> {
    /// The server's records.
    pub input: &'m mut [u8],
    /// The client's records.
    pub output: &'m mut [u8],
}

/// A key that both ends know, and the name by which the server finds it (RFC 8446 §4.2.11).
#[derive(Clone, Copy, Debug)]
pub struct Psk<'k> {
    /// The key: with SHA-256, more than 32 bytes bring no more security.
    pub key: &'k [u8],
    /// Name of the key.
    pub identity: &'k [u8],
}

/// A function that returns the time for checking certificates, in seconds since 1970 (UTC), if the
/// time is known.
pub type Clock = fn() -> Option<u64>;

/// Sends `reading`, and waits until the server's answer has filled `answer`, unless `answer` is
/// empty. Then returns the stream, whose TLS is closed.
///
/// # Errors
/// The error of `embedded-tls`.
pub async fn send_with_psk<S: Read + Write>(
    stream: S,
    records: Records<'_>,
    psk: Psk<'_>,
    rng: impl CryptoRngCore,
    (reading, answer): (&[u8], &mut [u8]),
) -> Result<S, TlsError> {
    let config = TlsConfig::new()
        .with_psk(psk.key, &[psk.identity])
        .with_max_fragment_length(MaxFragmentLength::Bits9);
    let provider = UnsecureProvider::new::<Aes128GcmSha256>(rng);
    send(stream, records, &config, provider, (reading, answer)).await
}

/// Sends a reading to a server whose certificate for `name` was signed by `ca` (DER, with ECDSA on
/// P-256), and is valid at the time of the clock `K`.
///
/// # Errors
/// The error of `embedded-tls`.
pub async fn send_with_certificate<S: Read + Write, K: TlsClock>(
    stream: S,
    records: Records<'_>,
    (name, ca): (&str, &[u8]),
    rng: impl CryptoRngCore,
    (reading, answer): (&[u8], &mut [u8]),
) -> Result<S, TlsError> {
    let config = TlsConfig::new()
        .with_server_name(name)
        .with_max_fragment_length(MaxFragmentLength::Bits9);
    let verifier: CertVerifier<'_, Aes128GcmSha256, K, CERTIFICATE> =
        CertVerifier::new(Certificate::X509(ca));
    let provider = Checked { rng, verifier };
    send(stream, records, &config, provider, (reading, answer)).await
}

async fn send<S: Read + Write>(
    stream: S,
    records: Records<'_>,
    config: &TlsConfig<'_>,
    provider: impl CryptoProvider<CipherSuite = Aes128GcmSha256>,
    (reading, answer): (&[u8], &mut [u8]),
) -> Result<S, TlsError> {
    let mut tls = TlsConnection::new(stream, records.input, records.output);
    // A flush does not wait for acknowledgments, which would take a round trip.
    tls.set_flush_policy(FlushPolicy::Relaxed);
    tls.open(TlsContext::new(config, provider)).await?;
    let mut rest = reading;
    while !rest.is_empty() {
        let taken = tls.write(rest).await?;
        rest = &rest[taken..];
    }
    tls.flush().await?;
    let mut len = 0;
    while len < answer.len() {
        len += tls.read(&mut answer[len..]).await?;
    }
    tls.close().await.map_err(|(_, error)| error)
}

struct Checked<R, V> {
    rng: R,
    verifier: V,
}

impl<R: CryptoRngCore, V: TlsVerifier<Aes128GcmSha256>> CryptoProvider for Checked<R, V> {
    type CipherSuite = Aes128GcmSha256;
    // The clients of this file sign nothing.
    type Signature = &'static [u8];

    fn rng(&mut self) -> impl CryptoRngCore {
        &mut self.rng
    }

    fn verifier(&mut self) -> Result<&mut impl TlsVerifier<Aes128GcmSha256>, TlsError> {
        Ok(&mut self.verifier)
    }
}
