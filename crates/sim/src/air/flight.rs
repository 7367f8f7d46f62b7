//! Transmissions in progress.

use redpoll_base::Instant;
use redpoll_mac::FrameBuf;
use redpoll_wire::ieee802154::{Address, AuxiliaryHeader, DATA_REQUEST, FrameHeader, FrameType};

use super::{FrameClass, MessageType, Outcome};
use crate::medium::TxId;

/// Header fields of a frame for radios and the ledger.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    /// Unicast, broadcast or acknowledgment.
    pub kind: FrameClass,
    pub pan_id: Option<u16>,
    pub dst: Address,
    pub dsn: u8,
    pub wants_ack: bool,
    pub is_data_request: bool,
    /// Frame pending bit of an acknowledgment.
    pub frame_pending: bool,
}

impl Label {
    pub fn of(frame: &[u8]) -> Label {
        Label::of_parsed(FrameHeader::parse(frame).ok().as_ref())
    }

    /// Returns the label of a frame from header and payload. A malformed frame is a unicast to no
    /// node.
    pub fn of_parsed(parsed: Option<&(FrameHeader, &[u8])>) -> Label {
        let Some((header, payload)) = parsed else {
            return Label {
                kind: FrameClass::Unicast,
                pan_id: None,
                dst: Address::Absent,
                dsn: 0,
                wants_ack: false,
                is_data_request: false,
                frame_pending: false,
            };
        };
        let kind = if header.frame_type == FrameType::Ack {
            FrameClass::Ack
        } else if header.dst.is_broadcast() {
            FrameClass::Broadcast
        } else {
            FrameClass::Unicast
        };
        Label {
            kind,
            pan_id: header.dst_pan,
            dst: header.dst,
            dsn: header.dsn,
            wants_ack: kind == FrameClass::Unicast && header.ack_request,
            is_data_request: header.frame_type == FrameType::Command
                && command(header, payload) == Some(DATA_REQUEST),
            frame_pending: header.frame_pending,
        }
    }
}

/// Returns the identifier of a MAC command, which is not encrypted in a secured frame.
fn command(header: &FrameHeader, payload: &[u8]) -> Option<u8> {
    let rest = match header.security {
        true => AuxiliaryHeader::parse(payload).ok()?.1,
        false => payload,
    };
    rest.first().copied()
}

/// Properties of a loaded frame, which are the same in each transmission of the frame.
#[derive(Clone, Copy, Debug)]
pub struct Cargo {
    pub label: Label,
    pub message: MessageType,
}

impl Cargo {
    /// Returns the cargo of a radio that has not loaded a frame.
    pub fn none() -> Cargo {
        Cargo {
            label: Label::of_parsed(None),
            message: MessageType::Other,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Flight {
    pub id: u64,
    pub layout: u32,
    pub from: u32,
    pub label: Label,
    /// Type of the frame's message; `None` if the sender is off.
    pub message: Option<MessageType>,
    /// End of the frame's last bit.
    pub ends: Instant,
    /// The only node that the frame is for; `None` if there are several or none.
    pub addressee: Option<u32>,
    pub outcome: Option<Outcome>,
    /// Whether the frame is transmitted: its sender is on and the medium carries it.
    pub on_air: bool,
    pub frame: FrameBuf,
}

/// All transmissions in progress. Slots are reused.
#[derive(Clone, Debug, Default)]
pub struct Flights {
    places: Vec<Option<Flight>>,
    free: Vec<TxId>,
}

impl Flights {
    pub fn insert(&mut self, flight: Flight) -> TxId {
        if let Some(id) = self.free.pop() {
            self.places[id as usize] = Some(flight);
            return id;
        }
        self.places.push(Some(flight));
        (self.places.len() - 1) as TxId
    }

    pub fn find(&self, id: TxId) -> Option<&Flight> {
        self.places.get(id as usize)?.as_ref()
    }

    /// Returns the transmission `id` mutably, if it is in progress.
    pub fn find_mut(&mut self, id: TxId) -> Option<&mut Flight> {
        self.places.get_mut(id as usize)?.as_mut()
    }

    pub fn remove(&mut self, id: TxId) -> Option<Flight> {
        let flight = self.places.get_mut(id as usize)?.take()?;
        self.free.push(id);
        Some(flight)
    }

    pub fn under_way(&self) -> impl Iterator<Item = &Flight> {
        self.places.iter().flatten()
    }
}
