//! Keys of a Thread network (Thread specification 1.1.1 §7.1.4), and what its MLE messages reveal.

use std::collections::BTreeMap;

use hmac::{Hmac, Mac as _};
use redpoll_base::Addr;
use redpoll_mac::security::{CcmStar, SoftwareAes};
use redpoll_wire::sixlowpan::Contexts;
use sha2::Sha256;

use crate::layer::Bytes;

/// Number of key indices: key sequences that differ by a multiple of this number have the same
/// index.
const INDICES: u32 = 128;
/// Number of key sequences that are tried for a key index, after those that MLE messages revealed.
const TRIES: u32 = 8;

/// MLE security suite 0: the security of IEEE 802.15.4.
const SECURED: u8 = 0;

/// TLVs of MLE (Thread specification §4.5) and of the dataset (§8.10.1).
mod tlv {
    pub const SOURCE_ADDRESS: u8 = 0;
    pub const ADDRESS16: u8 = 10;
    pub const NETWORK_DATA: u8 = 12;
    pub const ACTIVE_DATASET: u8 = 24;
    pub const MESH_LOCAL_PREFIX: u8 = 7;
    /// TLV types of the network data, without the stable bit.
    pub const PREFIX: u8 = 1;
    pub const CONTEXT: u8 = 3;
}

/// Keys derived from a key sequence.
#[derive(Clone, Copy)]
struct Derived {
    mle: [u8; 16],
    mac: [u8; 16],
}

/// A Thread network whose network key is known.
#[derive(Clone)]
pub struct Thread {
    network_key: [u8; 16],
    /// Key sequences of decrypted MLE messages, the latest first.
    seen: Vec<u32>,
    names: BTreeMap<u16, [u8; 8]>,
}

/// A decrypted MLE message.
pub struct Opened {
    pub plain: Vec<u8>,
    pub sequence: u32,
}

impl Thread {
    pub fn new(network_key: [u8; 16]) -> Thread {
        Thread {
            network_key,
            seen: Vec::new(),
            names: BTreeMap::new(),
        }
    }

    /// Returns the EUI-64 of a short address, if a message has revealed it.
    pub fn name(&self, short: u16) -> Option<[u8; 8]> {
        self.names.get(&short).copied()
    }

    /// Returns the MAC keys that may belong to a key index.
    pub fn mac_keys(&self, index: u8) -> impl Iterator<Item = [u8; 16]> + '_ {
        self.sequences(index)
            .filter_map(|sequence| Some(self.derive(sequence)?.mac))
    }

    fn sequences(&self, index: u8) -> impl Iterator<Item = u32> + '_ {
        let first = u32::from(index.wrapping_sub(1));
        let seen = self.seen.iter().copied();
        let seen = seen.filter(move |it| it % INDICES == first % INDICES);
        let others = (0..TRIES).map(move |turn| first + turn * INDICES);
        seen.chain(others.filter(move |it| !self.seen.contains(it)))
    }

    fn derive(&self, sequence: u32) -> Option<Derived> {
        let mut hmac = Hmac::<Sha256>::new_from_slice(&self.network_key).ok()?;
        hmac.update(&sequence.to_be_bytes());
        hmac.update(b"Thread");
        let hash = hmac.finalize().into_bytes();
        let (mle, mac) = hash.split_at(16);
        Some(Derived {
            mle: mle.try_into().ok()?,
            mac: mac.try_into().ok()?,
        })
    }

    /// Returns the command and TLVs of a secured MLE message, if a key authenticates it.
    pub fn open_mle(&self, ends: (Addr, Addr), eui64: [u8; 8], payload: &[u8]) -> Option<Opened> {
        let mut input = Bytes(payload);
        if input.u8()? != SECURED {
            return None;
        }
        let header = input.0;
        let control = input.u8()?;
        let level = control & 0b111;
        let counter: [u8; 4] = input.array()?;
        let (source, index) = match control >> 3 & 0b11 {
            1 => (None, input.u8()?),
            2 => (Some(input.u32()?), input.u8()?),
            _ => return None,
        };
        let header = header.get(..header.len() - input.0.len())?;
        let mic_len = match level {
            5 => 4,
            6 => 8,
            7 => 16,
            _ => return None,
        };
        let (message, mic) = input
            .0
            .split_at_checked(input.0.len().checked_sub(mic_len)?)?;
        let open: Vec<u8> = [&ends.0.0[..], &ends.1.0, header].concat();
        let mut nonce = [0; 13];
        let counter = counter.into_iter().rev();
        let parts = eui64.into_iter().chain(counter).chain([level]);
        nonce
            .iter_mut()
            .zip(parts)
            .for_each(|(to, from)| *to = from);
        let sequences: Vec<u32> = match source {
            Some(sequence) => vec![sequence],
            None => self.sequences(index).collect(),
        };
        sequences.into_iter().find_map(|sequence| {
            let key = self.derive(sequence)?.mle;
            let mut plain = message.to_vec();
            let is_right = SoftwareAes.open(&key, &nonce, &open, &mut plain, mic);
            is_right.then_some(Opened { plain, sequence })
        })
    }

    /// Stores what a message reveals: the key sequence, short addresses of both ends, and contexts.
    pub fn learn(
        &mut self,
        opened: &Opened,
        (src, dst): ([u8; 8], Option<[u8; 8]>),
        contexts: &mut Contexts,
    ) {
        self.seen.retain(|it| *it != opened.sequence);
        self.seen.insert(0, opened.sequence);
        let mut input = Bytes(&opened.plain);
        let _command = input.u8();
        while let Some((kind, content)) = mle_tlv(&mut input) {
            let short = <[u8; 2]>::try_from(content).map(u16::from_be_bytes);
            match (kind, short, dst) {
                (tlv::SOURCE_ADDRESS, Ok(short), _) => self.name_it(short, src),
                (tlv::ADDRESS16, Ok(short), Some(dst)) => self.name_it(short, dst),
                (tlv::NETWORK_DATA, ..) => network_data(content, contexts),
                (tlv::ACTIVE_DATASET, ..) => dataset(content, contexts),
                _ => {}
            }
        }
    }

    fn name_it(&mut self, short: u16, eui64: [u8; 8]) {
        self.names.insert(short, eui64);
    }
}

/// Reads a TLV of MLE. If the length byte is 255, two bytes with the length follow.
pub(crate) fn mle_tlv<'a>(input: &mut Bytes<'a>) -> Option<(u8, &'a [u8])> {
    let kind = input.u8()?;
    let len = match input.u8()? {
        255 => usize::from(input.u16()?),
        len => usize::from(len),
    };
    Some((kind, input.take(len)?))
}

/// Stores the mesh-local prefix of a dataset as context 0.
fn dataset(content: &[u8], contexts: &mut Contexts) {
    let mut input = Bytes(content);
    while let Some((kind, content)) = mle_tlv(&mut input) {
        if kind == tlv::MESH_LOCAL_PREFIX && content.len() == 8 {
            contexts.set(0, prefix(content), 64);
        }
    }
}

/// Stores the contexts of the prefixes in the network data (Thread specification §5.18).
fn network_data(content: &[u8], contexts: &mut Contexts) {
    let mut input = Bytes(content);
    while let Some((kind, content)) = mle_tlv(&mut input) {
        let mut inner = Bytes(content);
        if kind >> 1 != tlv::PREFIX || inner.u8().is_none() {
            continue;
        }
        let Some(bits) = inner.u8().filter(|bits| *bits <= 128) else {
            continue;
        };
        let Some(bytes) = inner.take(usize::from(bits.div_ceil(8))) else {
            continue;
        };
        let prefix = prefix(bytes);
        while let Some((kind, content)) = mle_tlv(&mut inner) {
            if let (tlv::CONTEXT, [flags, ..]) = (kind >> 1, content) {
                contexts.set(flags & 0x0f, prefix, bits);
            }
        }
    }
}

fn prefix(bytes: &[u8]) -> Addr {
    let mut addr = [0; 16];
    addr.iter_mut()
        .zip(bytes)
        .for_each(|(to, from)| *to = *from);
    Addr(addr)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORK_KEY: [u8; 16] = [
        0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee,
        0xff,
    ];

    /// The test vector of the Thread specification, also in OpenThread's unit tests.
    #[test]
    fn keys_are_those_of_the_specification() {
        let keys = Thread::new(NETWORK_KEY).derive(0).unwrap();
        let mle = [
            0x54, 0x45, 0xf4, 0x15, 0x8f, 0xd7, 0x59, 0x12, 0x17, 0x58, 0x09, 0xf8, 0xb5, 0x7a,
            0x66, 0xa4,
        ];
        let mac = [
            0xde, 0x89, 0xc5, 0x3a, 0xf3, 0x82, 0xb4, 0x21, 0xe0, 0xfd, 0xe5, 0xa9, 0xba, 0xe3,
            0xbe, 0xf0,
        ];
        assert_eq!((keys.mle, keys.mac), (mle, mac));
    }

    #[test]
    fn sequences_of_an_index_begin_with_the_seen_ones() {
        let mut thread = Thread::new(NETWORK_KEY);
        thread.seen = vec![70_000, 1_281];
        let index = (70_000 % 128) as u8 + 1;
        assert_eq!(thread.sequences(index).next(), Some(70_000));
        let second: Vec<u32> = thread.sequences(2).take(3).collect();
        assert_eq!(second, [1_281, 1, 129]);
    }

    #[test]
    fn contexts_are_learned_from_network_data() {
        let mut contexts = Contexts::default();
        // A stable prefix TLV fd00:1::/64 with a stable context TLV: compress flag set, context 1.
        let data = [
            0x03, 14, 0, 64, 0xfd, 0, 0, 1, 0, 0, 0, 0, 0x07, 2, 0x11, 64,
        ];
        network_data(&data, &mut contexts);
        let context = contexts.lookup(1).unwrap();
        assert_eq!(context.prefix, prefix(&[0xfd, 0, 0, 1]));
        for cut in 0..data.len() {
            network_data(&data[..cut], &mut contexts);
        }
    }
}
