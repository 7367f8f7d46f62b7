//! Contexts: prefixes that both ends identify by a number (RFC 6282 §3.1.2, RFC 6775 §4.2).

#[cfg(test)]
mod tests;

use crate::ipv6::addr;
use redpoll_base::Addr;

/// A prefix that compressed addresses may elide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Context {
    /// The prefix; bits after `len` are zero.
    pub prefix: Addr,
    /// Length of the prefix in bits, 0 to 128.
    pub len: u8,
    /// Whether a node compresses with the context, as well as decompressing. A context that is
    /// being introduced or withdrawn is only for decompression (RFC 6775 §7.2).
    pub compress: bool,
}

impl Context {
    /// Returns the address with this context's prefix and the bits of `iid` that the prefix does
    /// not cover. RFC 6282 §3.1.1: bits covered by context information are always used; uncovered
    /// bits before the IID are zero.
    pub(super) fn join(&self, iid: [u8; 8]) -> Addr {
        let joined = addr::from_prefix_and_iid(&self.prefix, iid);
        match self.len {
            // The prefix has no bits after the first 64, so `joined` is complete.
            0..=64 => joined,
            len => addr::overlay(&self.prefix, len, &joined),
        }
    }
}

/// The table of contexts, numbered 0 to 15.
#[derive(Clone, Debug, Default)]
pub struct Contexts {
    entries: [Option<Context>; Self::MAX],
}

impl Contexts {
    /// The maximum number of contexts.
    pub const MAX: usize = 16;

    /// Returns a table without contexts.
    pub const fn new() -> Self {
        Contexts {
            entries: [None; Self::MAX],
        }
    }

    /// Returns a table whose context 0 is the first 64 bits of `prefix`.
    pub fn with_prefix(prefix: Addr) -> Self {
        let mut contexts = Contexts::new();
        contexts.set(0, prefix, 64);
        contexts
    }

    /// Sets context `cid` to the first `len` bits of `prefix`, for compression and decompression.
    /// Returns false without a change when `cid` is over 15 or `len` over 128.
    pub fn set(&mut self, cid: u8, prefix: Addr, len: u8) -> bool {
        self.insert(cid, prefix, len, true)
    }

    /// Sets a context like [`Contexts::set`]; without `compress` it is only used for decompression.
    pub fn insert(&mut self, cid: u8, prefix: Addr, len: u8, compress: bool) -> bool {
        match self.entries.get_mut(usize::from(cid)) {
            Some(entry) if len <= 128 => {
                *entry = Some(Context {
                    prefix: addr::prefix(&prefix, len),
                    len,
                    compress,
                });
                true
            }
            _ => false,
        }
    }

    /// Removes context `cid`.
    pub fn remove(&mut self, cid: u8) {
        if let Some(entry) = self.entries.get_mut(usize::from(cid)) {
            *entry = None;
        }
    }

    /// Returns context `cid`, if it is known.
    pub fn lookup(&self, cid: u8) -> Option<&Context> {
        self.entries.get(usize::from(cid))?.as_ref()
    }

    /// Returns the contexts for compression, lowest number first.
    pub(super) fn for_compression(&self) -> impl Iterator<Item = (u8, &Context)> {
        (0u8..)
            .zip(&self.entries)
            .filter_map(|(cid, entry)| Some((cid, entry.as_ref().filter(|c| c.compress)?)))
    }
}
