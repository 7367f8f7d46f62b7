//! Link-layer security (IEEE 802.15.4-2015 §9): a node authenticates each frame, encrypts it if so
//! configured, and accepts no frame twice.
//!
//! [`Security`] protects the frames of one node with AES-128 in CCM* mode. The owner of the
//! [`Mac`](crate::Mac) also owns the [`Security`], and calls [`Mac::seal`](crate::Mac::seal) for
//! the submitted frame and [`Mac::input_secured`](crate::Mac::input_secured) for a received one.
//! Such a node neither sends nor accepts unprotected data frames and MAC commands; Imm-ACKs have no
//! security in IEEE 802.15.4.
//!
//! - `ccm.rs`: AES and CCM*, in software or in hardware;
//! - `keys.rs`: several keys, so that a network can change its key;
//! - `counter.rs`: this node's persistent frame counter;
//! - `layout.rs`: the parts of a secured frame;
//! - `refusal.rs`: the reasons why frames are rejected, and their counters;
//! - `replay.rs`: the replay protection for neighbours' frames.
//!
//! # Identity of a sender
//!
//! The nonce of a frame has the EUI-64 of its sender, but most frames carry a short address. The
//! EUI-64 of a short address is known from a table ([`Security::name_neighbour`]) or, if every
//! EUI-64 of the network ends in the short address, from their common first six bytes
//! ([`SecurityConfig::eui64_prefix`]). A frame of an unknown sender is rejected
//! ([`Refusal::UnknownSender`]).
//!
//! # Limitations
//!
//! This layer neither agrees on keys nor distributes them. A reboot deletes the counters of all
//! neighbours. The node then accepts any counter in the first frame of each neighbour, so recorded
//! frames can be replayed once until the neighbour itself is heard. Imm-ACKs can be forged. Strobes
//! and probes of duty-cycled MACs have no security.

mod ccm;
mod counter;
mod keys;
mod layout;
mod refusal;
mod replay;
#[cfg(test)]
mod tests;

use redpoll_base::{Memory, move_within};
use redpoll_wire::Cursor;
pub use redpoll_wire::ieee802154::SecurityLevel;
use redpoll_wire::ieee802154::{self, Address, AuxiliaryHeader, FrameHeader};

use crate::FrameBuf;
use crate::counters::count;
pub use ccm::{Aes, BlockAes, CcmStar, CipherFault, SoftwareAes};
use counter::{FrameCounter, NoCounter};
pub use keys::{Key, KeyError};
use layout::{Layout, auxiliary};
pub use refusal::{Refusal, SecurityCounters};
pub use replay::ReplayEntry;
use replay::{Age, Replay};

/// Configuration of the protection of a node's frames.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct SecurityConfig {
    /// The level of sent frames, and the least level of accepted ones.
    pub level: SecurityLevel,
    /// The first key; [`Security::add_key`] adds others.
    pub key: Key,
    /// The cipher: [`SoftwareAes`], or hardware.
    pub cipher: &'static dyn CcmStar,
    /// This node's EUI-64, big-endian as printed. It must be unique in the network, because two
    /// nodes with one EUI-64 would use the same nonces.
    pub eui64: [u8; 8],
    /// The first six bytes of every node's EUI-64, if its short address follows them.
    pub eui64_prefix: Option<[u8; 6]>,
    /// The last stored frame counter ([`Security::poll_counter`]); 0 on a node that has never used
    /// the key.
    pub counter_stored: u32,
    /// Frame counters that one write to persistent memory reserves; a reboot skips at most that
    /// many. With 1,000, flash that endures 10,000 writes lasts for ten million frames.
    pub counter_stretch: u32,
}

impl SecurityConfig {
    /// Returns the configuration of a node that has never used the key, and that reserves 1,000
    /// frame counters at a time.
    pub fn new(
        level: SecurityLevel,
        key: Key,
        cipher: &'static dyn CcmStar,
        eui64: [u8; 8],
    ) -> Self {
        SecurityConfig {
            level,
            key,
            cipher,
            eui64,
            eui64_prefix: None,
            counter_stored: 0,
            counter_stretch: 1_000,
        }
    }

    /// Returns this configuration after `set` has changed it.
    #[must_use]
    pub fn with(mut self, set: impl FnOnce(&mut Self)) -> Self {
        set(&mut self);
        self
    }
}

impl core::fmt::Debug for SecurityConfig {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SecurityConfig")
            .field("level", &self.level)
            .field("key", &self.key)
            .field("eui64", &self.eui64)
            .finish_non_exhaustive()
    }
}

/// The tables of a [`Security`], in the caller's memory. Their lengths limit their entries.
pub struct SecurityMemory<M: Memory + 'static> {
    /// One entry for each pair of a neighbour and a key that it uses; see [`Refusal::NoRoom`].
    pub replay: M::Table<Option<ReplayEntry>>,
    /// Neighbours with a known EUI-64; may be empty.
    pub names: M::Table<Option<NamedNeighbour>>,
}

/// The EUI-64 of a short address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedNeighbour {
    short: u16,
    eui64: [u8; 8],
}

/// The reason why a frame could not be protected, and was not sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SealError {
    /// Every frame counter has been used. The node is silent until it starts with another key.
    Exhausted,
    /// The next frame counters have not been stored yet ([`Security::poll_counter`]).
    NotStored,
    /// The frame has no room left for the auxiliary header and the integrity code.
    TooLong,
    Cipher,
}

/// The security of one node's link.
pub struct Security<M: Memory + 'static> {
    config: SecurityConfig,
    keys: keys::Keys,
    counter: FrameCounter,
    replay: Replay<M>,
    names: M::Table<Option<NamedNeighbour>>,
    pub(crate) counters: SecurityCounters,
}

/// Functions for the owner.
impl<M: Memory + 'static> Security<M> {
    /// Returns security with this configuration. It protects no frame before the first answer to
    /// [`Security::poll_counter`].
    pub fn new(config: SecurityConfig, memory: SecurityMemory<M>) -> Self {
        Security {
            keys: keys::Keys::new(config.key),
            counter: FrameCounter::new(config.counter_stored, config.counter_stretch),
            replay: Replay::new(memory.replay),
            names: memory.names,
            counters: SecurityCounters::default(),
            config,
        }
    }

    /// Returns a number to write now to persistent memory, as [`SecurityConfig::counter_stored`] of
    /// the next boot. Each number is returned once: call [`Security::on_counter_stored`] after the
    /// write or, to get the number again, [`Security::on_counter_failed`]. Frames have to wait if
    /// half of [`SecurityConfig::counter_stretch`] frames are sent before the write ends.
    pub fn poll_counter(&mut self) -> Option<u32> {
        self.counter.poll()
    }

    /// Records that the number of [`Security::poll_counter`] was written.
    pub fn on_counter_stored(&mut self, stored: u32) {
        self.counter.on_stored(stored);
    }

    /// Records that the number of [`Security::poll_counter`] could not be written. That function
    /// then returns it again; the caller decides how long to wait before the next attempt.
    pub fn on_counter_failed(&mut self) {
        self.counter.on_failed();
    }

    /// Returns whether every frame counter has been used, so that no frame can be sent.
    pub const fn is_exhausted(&self) -> bool {
        self.counter.is_exhausted()
    }

    /// Returns whether frames have to wait until a counter is stored.
    pub const fn waits(&self) -> bool {
        self.counter.waits()
    }

    /// Adds a key, which is accepted from neighbours from now on.
    ///
    /// # Errors
    /// [`KeyError::Full`]; [`KeyError::Taken`] if another key has its index.
    pub fn add_key(&mut self, key: Key) -> Result<(), KeyError> {
        self.keys.add(key)
    }

    /// Sends with the key of this index from now on. The frame counter continues.
    ///
    /// # Errors
    /// [`KeyError::Unknown`].
    pub fn switch_key(&mut self, index: u8) -> Result<(), KeyError> {
        self.keys.switch_to(index)
    }

    /// Removes the key of this index, and its replay entries.
    ///
    /// # Errors
    /// [`KeyError::Unknown`], [`KeyError::InUse`].
    pub fn remove_key(&mut self, index: u8) -> Result<(), KeyError> {
        self.keys.remove(index)?;
        self.replay.forget_key(index);
        Ok(())
    }

    /// Sets the EUI-64 of the neighbour with this short address; returns `false` if there is no
    /// room.
    pub fn name_neighbour(&mut self, short: u16, eui64: [u8; 8]) -> bool {
        let names = self.names.as_mut();
        let own = |place: &Option<NamedNeighbour>| place.is_some_and(|name| name.short == short);
        let at = names.iter().position(own);
        let at = at.or_else(|| names.iter().position(Option::is_none));
        let Some(place) = at.and_then(|at| names.get_mut(at)) else {
            return false;
        };
        *place = Some(NamedNeighbour { short, eui64 });
        true
    }

    /// Deletes the counters of a neighbour; returns whether there were any. For a neighbour that
    /// left the network, or that restarted with the same key and lost its counter. The neighbour's
    /// earlier frames can be replayed once until the neighbour is heard again.
    pub fn forget_neighbour(&mut self, eui64: [u8; 8]) -> bool {
        self.replay.forget(eui64)
    }

    /// Returns the number of neighbours whose frame counters are stored.
    pub fn neighbours(&self) -> usize {
        self.replay.len()
    }

    /// Returns the counters of protected, accepted and rejected frames.
    pub const fn counters(&self) -> &SecurityCounters {
        &self.counters
    }

    /// Returns the number of bytes that the protection adds to a frame: 9 to 22.
    pub(crate) const fn overhead(&self) -> usize {
        self.header(0).overhead()
    }

    const fn header(&self, frame_counter: u32) -> AuxiliaryHeader {
        AuxiliaryHeader {
            level: self.config.level,
            key: self.keys.in_use().identifier(),
            frame_counter,
        }
    }

    fn eui64_of(&self, address: Address) -> Option<[u8; 8]> {
        match address {
            Address::Extended(eui64) => Some(eui64),
            Address::Short(short) => {
                let mut names = self.names.as_ref().iter().flatten();
                let named = names.find(|name| name.short == short);
                let named = named.map(|name| name.eui64);
                named.or_else(|| Some(derived(self.config.eui64_prefix?, short)))
            }
            Address::Absent => None,
        }
    }
}

/// Functions for the MAC.
impl<M: Memory + 'static> Security<M> {
    /// Protects a frame in place: the outgoing frame security procedure (§9.2.2).
    ///
    /// # Errors
    /// [`SealError`]; the frame must not be sent.
    pub(crate) fn seal(&mut self, frame: &mut FrameBuf) -> Result<(), SealError> {
        let sealed = self.try_seal(frame);
        count(match sealed {
            Ok(()) => &mut self.counters.sealed,
            Err(_) => &mut self.counters.unsealed,
        });
        sealed
    }

    fn try_seal(&mut self, frame: &mut FrameBuf) -> Result<(), SealError> {
        let parsed = FrameHeader::parse(frame);
        let (header, payload) = parsed.map_err(|_| SealError::TooLong)?;
        let (header_len, len) = (frame.len().saturating_sub(payload.len()), frame.len());
        let sealed_len = len.saturating_add(self.overhead());
        // The length is checked first, so that a frame that is too long uses no counter.
        let layout = Layout::of(&header, header_len, &self.header(0), sealed_len);
        let layout = layout.filter(|_| sealed_len <= FrameBuf::CAPACITY);
        let layout = layout.ok_or(SealError::TooLong)?;
        let counter = self.counter.take().map_err(|why| match why {
            NoCounter::Exhausted => SealError::Exhausted,
            NoCounter::NotStored => SealError::NotStored,
        })?;
        let aux = self.header(counter);
        frame.set_len(sealed_len);
        let room = frame.as_mut_slice();
        move_within(room, header_len..len, layout.body_at);
        let mut out = Cursor::new(room.get_mut(header_len..).unwrap_or_default());
        aux.emit(&mut out).map_err(|_| SealError::TooLong)?;
        ieee802154::set_security(room, true);
        let (text, mic) = room.split_at_mut_checked(layout.mic_at).unwrap_or_default();
        let (open, message) = text
            .split_at_mut_checked(layout.open_end)
            .unwrap_or_default();
        let nonce = aux.nonce(self.config.eui64);
        let (cipher, key) = (self.config.cipher, self.keys.in_use().bytes());
        let sealed = cipher.seal(key, &nonce, open, message, mic);
        sealed.map_err(|CipherFault| SealError::Cipher)
    }

    /// Writes `frame`, without its protection, to `clear`: the incoming frame security procedure
    /// (§9.2.3). `header` and `payload` are the parsed parts of `frame`.
    ///
    /// # Errors
    /// The reason why the frame must not be used. With [`Refusal::Replayed`], the frame is
    /// authentic, and `clear` contains it.
    pub(crate) fn open(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        frame: &[u8],
        clear: &mut FrameBuf,
    ) -> Result<(), Refusal> {
        let aux = auxiliary(header, payload)?;
        if !aux.level.satisfies(self.config.level) {
            return Err(Refusal::Level);
        }
        let key = *self.keys.find(aux.key).ok_or(Refusal::UnknownKey)?;
        let eui64 = self.eui64_of(header.src).ok_or(Refusal::UnknownSender)?;
        let counter = aux.frame_counter;
        let age = self.replay.age(eui64, key.index, counter);
        if age == Age::Old || counter == u32::MAX {
            return Err(Refusal::OldCounter);
        }
        let header_len = frame.len().saturating_sub(payload.len());
        let layout = Layout::of(header, header_len, &aux, frame.len());
        let layout = layout.ok_or(Refusal::Malformed)?;
        let nonce = aux.nonce(eui64);
        let is_authentic = layout.uncover(frame, clear, |open, message, mic| {
            let cipher = self.config.cipher;
            cipher.open(key.bytes(), &nonce, open, message, mic)
        });
        match age {
            _ if !is_authentic => Err(Refusal::Unauthenticated),
            Age::Repeated => Err(Refusal::Replayed),
            Age::NoRoom => Err(Refusal::NoRoom),
            Age::New | Age::Old => {
                self.replay.note(eui64, key.index, counter);
                count(&mut self.counters.opened);
                Ok(())
            }
        }
    }
}

/// Returns the EUI-64 of a short address in a network with a common prefix of six bytes.
const fn derived(prefix: [u8; 6], short: u16) -> [u8; 8] {
    let [a, b, c, d, e, f] = prefix;
    let [high, low] = short.to_be_bytes();
    [a, b, c, d, e, f, high, low]
}
