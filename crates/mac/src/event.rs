//! The types between a MAC and the upper layer: events, received frames, and parameters of a
//! frame's service.

use redpoll_wire::ieee802154::Address;

/// The outcome of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TxStatus {
    /// Acknowledged by the neighbour, or a broadcast that was sent.
    Delivered,
    /// Dropped: the last attempt was not acknowledged. The neighbour may have received the frame.
    NoAck,
    /// Dropped: the channel was never free during the last attempt.
    ChannelAccessFailure,
    /// Dropped before the first attempt: link-layer security could not protect it.
    Unsealed,
}

/// An event for the upper layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MacEvent {
    /// The service of a frame has ended.
    Done {
        /// Destination address.
        dst: Address,
        /// Outcome.
        status: TxStatus,
        /// Number of attempts, at least 1; always 1 with a radio that retries.
        attempts: u8,
    },
    /// The service of a data request has ended.
    Polled {
        /// The polled parent.
        parent: Address,
        /// Outcome.
        status: TxStatus,
        /// Whether the parent has a frame, which follows at once.
        frame_pending: bool,
    },
    /// A neighbour polls for its waiting frames. Several requests before the caller polls are
    /// reported as the latest one.
    DataRequest {
        /// Address of the neighbour.
        child: Address,
        /// Whether the acknowledgment of the request had the frame-pending bit, so that the neighbour
        /// listens now.
        promised: bool,
    },
}

/// Parameters of a frame's service.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Service {
    /// The frame-pending bit: more frames for the same destination follow.
    pub frame_pending: bool,
    /// Whether the destination listens only briefly, so that retries are fewer and sooner.
    pub quick: bool,
    /// The ticket of a frame whose service continues. Its bytes must be unchanged.
    pub repeats: Option<Ticket>,
}

/// The identity of a frame whose service continues later: sequence number and attempts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    pub(crate) dsn: u8,
    pub(crate) attempts: u8,
}

impl From<Ticket> for u16 {
    fn from(ticket: Ticket) -> u16 {
        u16::from_be_bytes([ticket.dsn, ticket.attempts])
    }
}

/// Restores a ticket that was kept as a number.
impl From<u16> for Ticket {
    fn from(bits: u16) -> Ticket {
        let [dsn, attempts] = bits.to_be_bytes();
        Ticket { dsn, attempts }
    }
}

/// A data frame for this node that is not a duplicate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Indication<'f> {
    /// The neighbour that sent the frame; never [`Address::Absent`].
    pub src: Address,
    /// The address to which the frame was sent: one of this node's, or the broadcast address.
    pub dst: Address,
    /// The payload for the upper layer, without the headers of the MAC and of the access method.
    pub payload: &'f [u8],
    /// Signal strength in dBm.
    pub rssi_dbm: i8,
    /// The frame-pending bit: the sender has more frames for this node.
    pub frame_pending: bool,
}
