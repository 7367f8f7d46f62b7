//! The types between a MAC and the layer above it: events, received frames, and parameters of a
//! frame's service.

use redpoll_wire::ieee802154::Address;

/// The outcome of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TxStatus {
    /// Acknowledged by the neighbour, or a broadcast that was sent.
    Delivered,
    /// Given up: the last attempt was not acknowledged. The neighbour may
    /// still have received the frame.
    NoAck,
    /// Given up: the channel was never free during the last attempt.
    ChannelAccessFailure,
    /// Given up before the first attempt: link-layer security could not protect it.
    Unsealed,
}

/// Something the layer above should know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MacEvent {
    /// The service of a frame has ended.
    Done {
        /// Its addressee.
        dst: Address,
        /// How it ended.
        status: TxStatus,
        /// Attempts made, 1 or more. With a radio that retries by itself
        /// always 1.
        attempts: u8,
    },
    /// The service of a data request has ended.
    Polled {
        /// The parent that was asked.
        parent: Address,
        /// How it ended.
        status: TxStatus,
        /// The parent has something: it follows at once.
        frame_pending: bool,
    },
    /// A neighbour has asked for what waits here for it. An edge: when several
    /// ask before the caller polls, it sees the latest.
    DataRequest {
        /// Who.
        child: Address,
        /// The acknowledgement said that there is something, so the neighbour
        /// listens now.
        promised: bool,
    },
}

/// How a frame is to be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Service {
    /// Its frame-pending bit: more follows for the same addressee.
    pub frame_pending: bool,
    /// The addressee listens only for a moment: few and quick retries.
    pub quick: bool,
    /// The frame has been in service before and goes on where it stopped. Its
    /// bytes must be the same as then.
    pub repeats: Option<Ticket>,
}

/// Identifies a frame that is repeated later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    pub(crate) dsn: u8,
    /// Attempts made.
    pub(crate) attempts: u8,
}

impl Ticket {
    /// The ticket as a number.
    pub const fn to_bits(self) -> u16 {
        u16::from_be_bytes([self.dsn, self.attempts])
    }

    /// The ticket of a number.
    pub const fn from_bits(bits: u16) -> Self {
        let [dsn, attempts] = bits.to_be_bytes();
        Ticket { dsn, attempts }
    }
}

/// A data frame for this node, seen once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Indication<'f> {
    /// The neighbour that sent it; never [`Address::Absent`].
    pub src: Address,
    /// To which of this node's addresses, or the broadcast address.
    pub dst: Address,
    /// Its payload.
    pub payload: &'f [u8],
    /// Its signal strength in dBm.
    pub rssi_dbm: i8,
    /// Its frame-pending bit: its sender has more for this node.
    pub frame_pending: bool,
}
