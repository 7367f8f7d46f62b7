//! Transmissions under way.

use redpoll_mac::FrameBuf;
use redpoll_wire::ieee802154::{Address, AuxiliaryHeader, DATA_REQUEST, FrameHeader, FrameType};

use super::{Kind, Outcome};
use crate::medium::TxId;

/// What radios and the ledger need to know of a frame's header.
#[derive(Clone, Copy, Debug)]
pub struct Label {
    /// Unicast, broadcast or acknowledgement.
    pub kind: Kind,
    /// Destination PAN.
    pub pan_id: Option<u16>,
    /// Destination.
    pub dst: Address,
    /// Sequence number.
    pub dsn: u8,
    /// The sender waits for an acknowledgement.
    pub wants_ack: bool,
    /// The frame is a data request.
    pub is_data_request: bool,
    /// An acknowledgement says that there is more to come.
    pub frame_pending: bool,
}

impl Label {
    /// The label of a frame without its FCS. A frame that cannot be read is a
    /// unicast to nobody.
    pub fn of(frame: &[u8]) -> Label {
        let Ok((header, payload)) = FrameHeader::parse(frame) else {
            return Label {
                kind: Kind::Unicast,
                pan_id: None,
                dst: Address::Absent,
                dsn: 0,
                wants_ack: false,
                is_data_request: false,
                frame_pending: false,
            };
        };
        let kind = if header.frame_type == FrameType::Ack {
            Kind::Ack
        } else if header.dst.is_broadcast() {
            Kind::Broadcast
        } else {
            Kind::Unicast
        };
        Label {
            kind,
            pan_id: header.dst_pan,
            dst: header.dst,
            dsn: header.dsn,
            wants_ack: kind == Kind::Unicast && header.ack_request,
            is_data_request: header.frame_type == FrameType::Command
                && command(&header, payload) == Some(DATA_REQUEST),
            frame_pending: header.frame_pending,
        }
    }
}

/// The identifier of a MAC command, which is in the clear also where the frame is secured.
fn command(header: &FrameHeader, payload: &[u8]) -> Option<u8> {
    let rest = match header.security {
        true => AuxiliaryHeader::parse(payload).ok()?.1,
        false => payload,
    };
    rest.first().copied()
}

/// A transmission under way.
#[derive(Clone, Debug)]
pub struct Flight {
    /// Its number in the run.
    pub id: u64,
    /// The layout of the medium in which it began.
    pub layout: u32,
    /// Index of the sending node.
    pub from: u32,
    /// What the header says.
    pub label: Label,
    /// The one node that it is for, if known and there is only one.
    pub addressee: Option<u32>,
    /// What became of it there; settled once.
    pub outcome: Option<Outcome>,
    /// It is really on the air: its sender is on and the medium carries it.
    pub on_air: bool,
    /// The frame, without its FCS.
    pub frame: FrameBuf,
}

/// All transmissions under way; places are used again.
#[derive(Clone, Debug, Default)]
pub struct Flights {
    places: Vec<Option<Flight>>,
    free: Vec<TxId>,
}

impl Flights {
    /// Takes in a transmission.
    pub fn insert(&mut self, flight: Flight) -> TxId {
        if let Some(id) = self.free.pop() {
            self.places[id as usize] = Some(flight);
            return id;
        }
        self.places.push(Some(flight));
        (self.places.len() - 1) as TxId
    }

    /// The transmission `id`, if it is under way.
    pub fn find(&self, id: TxId) -> Option<&Flight> {
        self.places.get(id as usize)?.as_ref()
    }

    /// The transmission `id`, if it is under way.
    pub fn find_mut(&mut self, id: TxId) -> Option<&mut Flight> {
        self.places.get_mut(id as usize)?.as_mut()
    }

    /// Removes a transmission that has ended.
    pub fn remove(&mut self, id: TxId) -> Option<Flight> {
        let flight = self.places.get_mut(id as usize)?.take()?;
        self.free.push(id);
        Some(flight)
    }

    /// All that are under way.
    pub fn under_way(&self) -> impl Iterator<Item = &Flight> {
        self.places.iter().flatten()
    }
}
