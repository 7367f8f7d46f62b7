//! Keys, and the opening of secured frames.

use redpoll_mac::security::{CcmStar, SoftwareAes};
use redpoll_wire::ieee802154::Address;

use crate::mac::Mac;
use crate::thread::Thread;

/// The key of a network, and the EUI-64s of its short addresses.
#[derive(Clone, Default)]
pub struct Keys {
    key: Option<[u8; 16]>,
    names: Vec<(u16, [u8; 8])>,
    prefix: [u8; 6],
    thread: Option<Thread>,
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

impl Keys {
    /// Returns keys with the EUI-64s of some short addresses. Every other short address has an
    /// EUI-64 of `prefix` followed by the short address.
    pub fn new(key: Option<[u8; 16]>, names: Vec<(u16, [u8; 8])>, prefix: [u8; 6]) -> Keys {
        Keys {
            key,
            names,
            prefix,
            thread: None,
        }
    }

    /// Adds the network key of a Thread network.
    pub fn with_thread(mut self, network_key: [u8; 16]) -> Keys {
        self.thread = Some(Thread::new(network_key));
        self
    }

    /// Returns the Thread network, if its key was given.
    pub fn thread(&mut self) -> Option<&mut Thread> {
        self.thread.as_mut()
    }

    pub fn is_given(&self) -> bool {
        self.key.is_some() || self.thread.is_some()
    }

    /// Returns the decrypted payload of a secured frame, if a key authenticates it.
    pub fn open(&self, mpdu: &[u8], mac: &Mac<'_>) -> Option<Vec<u8>> {
        let aux = mac.aux.filter(|aux| aux.level() != 0)?;
        let eui64 = self.eui64(mac.src)?;
        let mut nonce = [0; 13];
        let counter = aux.counter?.to_be_bytes();
        let parts = eui64.iter().chain(&counter).copied();
        for (to, from) in nonce.iter_mut().zip(parts.chain([aux.level()])) {
            *to = from;
        }
        let body_end = mpdu.len().checked_sub(mac.mic.len())?;
        let message_at = match aux.encrypts() {
            true => mac.header_len + mac.open_len(),
            false => body_end,
        };
        let open = mpdu.get(..message_at)?;
        let message = mpdu.get(message_at..body_end)?;
        if mac.mic.is_empty() {
            return None;
        }
        let thread = self.thread.iter();
        let thread = thread.flat_map(|it| it.mac_keys(aux.index.unwrap_or(0)));
        let mut message = self.key.into_iter().chain(thread).find_map(|key| {
            let mut message = message.to_vec();
            let is_authentic = SoftwareAes.open(&key, &nonce, open, &mut message, mac.mic);
            is_authentic.then_some(message)
        })?;
        let mut plain = mpdu.get(mac.header_len..message_at)?.to_vec();
        plain.append(&mut message);
        Some(plain)
    }

    fn eui64(&self, address: Address) -> Option<[u8; 8]> {
        match address {
            Address::Extended(eui64) => Some(eui64),
            Address::Short(short) => {
                let named = self.names.iter().find(|(it, _)| *it == short);
                let learned = || self.thread.as_ref().and_then(|it| it.name(short));
                named.map(|(_, eui64)| *eui64).or_else(learned).or_else(|| {
                    let bytes = self.prefix.into_iter().chain(short.to_be_bytes());
                    bytes.collect::<Vec<u8>>().try_into().ok()
                })
            }
            Address::Absent => None,
        }
    }
}
