//! The random bytes that C passes: one part is a seed, another is secret.

/// Returns the seed of the node's random numbers, from the entropy that C passes.
pub(crate) fn seed(entropy: &[u8; 32]) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *entropy;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// Returns the secret of initial sequence numbers (RFC 6528 §3): other bytes of the same entropy.
pub(crate) fn secret(entropy: &[u8; 32]) -> [u8; 16] {
    let mut secret = [0; 16];
    for (to, from) in secret.iter_mut().zip(entropy.iter().skip(8)) {
        *to = *from;
    }
    secret
}
