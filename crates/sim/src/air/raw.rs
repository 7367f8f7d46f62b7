//! Raw radios, for nodes whose firmware implements the functions of a radio chip.
//!
//! A raw radio receives every frame, whatever its destination, and indicates the beginning of each.
//! It transmits at once, without assessment and turnaround. It neither sends nor awaits
//! acknowledgments: the firmware creates and interprets them like all other frames.

use redpoll_base::Instant;
use redpoll_mac::{FrameBuf, RadioResult, RxInfo};

use super::flight::Flight;
use super::receive::lqi;
use super::send::outcome_of;
use super::{Air, Event, FrameClass, Indication, Outcome};
use crate::fault::Treatment;
use crate::kernel::Queue;
use crate::medium::Reception;
use crate::radio::{Acking, Received, State, Work};

impl Air {
    pub fn make_raw(&mut self, node: usize) {
        self.stations[node].is_raw = true;
    }

    pub fn is_raw(&self, node: usize) -> bool {
        self.stations[node].is_raw
    }

    /// Returns whether the channel is busy at `node` now.
    pub fn is_busy(&mut self, now: Instant, node: usize) -> bool {
        self.medium.is_busy(now, node)
    }

    /// Returns the reception quality of the frame that the radio of `node` receives.
    pub fn following(&self, node: usize) -> RxInfo {
        let flight = self.medium.followed(node);
        let flight = flight.and_then(|tx| self.flights.find(tx));
        let link =
            flight.and_then(|it| self.medium.links_of(it.layout).find(it.from as usize, node));
        link.map_or_else(RxInfo::default, |link| info(link.rssi_dbm))
    }

    /// Sends `frame` from a raw radio, and abandons a reception in progress. If the radio is off or
    /// already transmits, reports `Sent` at once without a transmission.
    pub fn send_raw<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        frame: &[u8],
        queue: &mut Queue<E>,
    ) {
        let mut buffer = FrameBuf::new();
        let station = &mut self.stations[node];
        let is_free = !matches!(station.state(), State::Off | State::Transmit);
        if !is_free || buffer.copy_from(frame).is_err() {
            self.finish(now, node, RadioResult::Sent);
            return;
        }
        station.step(Work::Sending);
        // Only the sequence number identifies the addressee of an acknowledgment.
        let owed = station.acking.take();
        let cargo = self.stow(node, frame);
        let answered = owed.filter(|owed| cargo.label.dsn == owed.dsn);
        self.abandon(node, Outcome::ReceiverTransmitting);
        let is_ack = cargo.label.kind == FrameClass::Ack;
        let addressee = answered.filter(|_| is_ack).map(|owed| owed.to);
        self.take_off(now, node, &buffer, (cargo, addressee), queue);
    }

    pub(super) fn receive_raw(
        &mut self,
        now: Instant,
        node: usize,
        flight: &Flight,
        reception: Reception,
        rssi_dbm: i8,
    ) -> Outcome {
        let mut outcome = outcome_of(reception);
        let is_ack = flight.label.kind == FrameClass::Ack;
        if reception == Reception::Intact
            && self.treatment(now, node, flight, is_ack) != Treatment::Pass
        {
            // Every fault that selects this frame acts like `DropFrames`: a raw radio neither
            // acknowledges nor duplicates it.
            outcome = Outcome::Fault;
        }
        let intact = outcome == Outcome::Delivered;
        let station = &mut self.stations[node];
        if intact {
            let wants_ack = flight.label.wants_ack && station.identity.owns(flight.label.dst);
            station.acking = wants_ack.then_some(Acking {
                to: flight.from,
                dsn: flight.label.dsn,
                frame_pending: false,
            });
            *station.incoming = Received {
                frame: flight.frame.clone(),
                info: info(rssi_dbm),
                twice: false,
            };
        }
        let node = node as u32;
        self.indications
            .push_back(Indication::Heard { node, intact });
        outcome
    }
}

fn info(rssi_dbm: i8) -> RxInfo {
    RxInfo {
        rssi_dbm,
        lqi: lqi(rssi_dbm),
        ack_sent_pending: false,
    }
}
