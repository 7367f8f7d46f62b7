//! Nodes with firmware that requests radio operations: its events, and its orders to the simulator.
//!
//! Unlike the nodes of [`foreign`](crate::foreign), a guest leaves CSMA-CA, acknowledgements and
//! the address filter to its simulated radio. It gets one event at a time and answers with orders.
//! A program that can run guests passes [`WorldOptions::guests`](crate::WorldOptions::guests).

use redpoll_base::Instant;
use redpoll_mac::RxInfo;

use crate::foreign::ForeignSpec;

/// An event that a guest's firmware receives. [`GuestNode::run`] also gets the time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum GuestEvent<'a> {
    Start {
        /// Extended address of the device, in the order in which it is printed.
        eui64: [u8; 8],
    },
    /// The node's clock reached the time of [`GuestOrder::WakeAt`].
    Alarm,
    /// The radio received a frame, given without its check sequence.
    Frame { info: RxInfo, frame: &'a [u8] },
    /// The requested transmission has ended.
    Sent(GuestSent),
    /// The requested measurement of the channel's energy has ended.
    Energy { dbm: i8 },
    /// A line that was typed at the node's console, without the line end.
    Line(&'a str),
}

/// Outcome of a transmission, including its clear channel assessments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GuestSent {
    Sent,
    Acked { frame_pending: bool },
    NoAck,
    ChannelBusy,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GuestOrder {
    /// Sets the time of the next alarm by the node's clock; `None` cancels it.
    WakeAt(Option<Instant>),
    /// Sends a frame, given without its check sequence.
    Transmit {
        frame: Vec<u8>,
        /// Maximum number of backoffs after busy assessments; one more busy assessment fails the
        /// transmission. `None` sends without assessment.
        backoffs: Option<u8>,
    },
    /// Sets whether the receiver is on between operations.
    Listen(bool),
    Address {
        pan_id: u16,
        short: u16,
        /// EUI-64 in the order in which it is printed.
        extended: [u8; 8],
    },
    /// Changes the channel. All nodes of a simulation share one channel.
    Channel(u8),
    /// Sets whether data requests of a neighbour are acknowledged with the frame pending bit. The
    /// address is short (two bytes) or extended (eight bytes), in printed order.
    SourceMatch { neighbour: Vec<u8>, pending: bool },
    /// Sets whether all data requests are acknowledged with the frame pending bit.
    SourceMatchAll(bool),
    /// Measures the channel's energy for this many microseconds.
    MeasureEnergy(u32),
    /// Prints text; lines end with a line feed.
    Print(Vec<u8>),
    /// Reports an event of an application's stream. The address of the peer and the port of the
    /// receiver identify the stream.
    Stream {
        event: StreamEvent,
        peer: [u8; 16],
        port: u16,
        bytes: Vec<u8>,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum StreamEvent {
    /// The sender starts the stream, or restarts it from the first byte.
    Opened,
    /// The sender gave bytes to its TCP.
    Sent,
    /// The receiver read bytes.
    Received,
    /// The receiver read the end of the stream.
    Ended,
    /// The sender's connection failed.
    Failed,
}

impl TryFrom<u8> for StreamEvent {
    type Error = ();

    /// Returns the event whose value in the C type `enum redpoll_stream` is `number`.
    fn try_from(number: u8) -> Result<StreamEvent, ()> {
        use StreamEvent::{Ended, Failed, Opened, Received, Sent};
        let all = [Opened, Sent, Received, Ended, Failed];
        all.into_iter().find(|it| *it as u8 == number).ok_or(())
    }
}

/// Firmware that runs when it gets an event.
pub trait GuestNode: Send {
    /// Runs the firmware at `now` by the node's clock, and returns its orders. `busy` states
    /// whether the channel is busy.
    ///
    /// # Errors
    /// A one-line message if the firmware failed. The firmware gets no more events.
    fn run(
        &mut self,
        now: Instant,
        busy: bool,
        event: GuestEvent<'_>,
    ) -> Result<Vec<GuestOrder>, String>;
}

/// Loads a guest, see [`WorldOptions::guests`](crate::WorldOptions::guests).
pub(crate) type GuestLoader<'a> =
    dyn Fn(&ForeignSpec<'_>) -> Result<Box<dyn GuestNode>, String> + 'a;
