//! Raw radios: those of nodes whose firmware does itself what a radio chip can do for it.
//!
//! Such a radio takes every frame that it can follow, whoever it is for, and says when one
//! begins; it sends what it is given at once, with neither assessment nor turnaround, and
//! neither acknowledges frames nor waits for acknowledgements. These are frames as all
//! others, which the firmware makes and understands.

use redpoll_base::Instant;
use redpoll_mac::{FrameBuf, RadioResult, RxInfo};

use super::flight::Flight;
use super::receive::lqi;
use super::send::outcome_of;
use super::{Air, Event, Indication, Kind, Outcome};
use crate::fault::Treatment;
use crate::kernel::Queue;
use crate::medium::Reception;
use crate::radio::{Acking, Received, State, Work};

impl Air {
    /// From now on the radio of `node` is a raw one.
    pub fn make_raw(&mut self, node: usize) {
        self.stations[node].is_raw = true;
    }

    /// Whether it is one.
    pub fn is_raw(&self, node: usize) -> bool {
        self.stations[node].is_raw
    }

    /// Whether there is energy in the channel at `node`, as a clear channel assessment of
    /// no duration finds it.
    pub fn is_busy(&mut self, now: Instant, node: usize) -> bool {
        self.medium.is_busy(now, node)
    }

    /// What the radio of `node` knows of the frame that it follows, if it does.
    pub fn following(&self, node: usize) -> RxInfo {
        let flight = self.medium.followed(node);
        let flight = flight.and_then(|tx| self.flights.find(tx));
        let link =
            flight.and_then(|it| self.medium.links_of(it.layout).find(it.from as usize, node));
        link.map_or_else(RxInfo::default, |link| info(link.rssi_dbm))
    }

    /// A raw radio sends `frame` from now on. What it was receiving is lost. A radio that
    /// is switched off by a fault, or that sends already, has sent it at once.
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
        // Nothing but the frame's number says whom an acknowledgement is for.
        let owed = station.acking.take();
        let answered = owed.filter(|owed| super::Label::of(frame).dsn == owed.dsn);
        self.abandon(node, Outcome::ReceiverTransmitting);
        let is_ack = super::Label::of(frame).kind == Kind::Ack;
        let addressee = answered.filter(|_| is_ack).map(|owed| owed.to);
        self.take_off(now, node, &buffer, addressee, queue);
    }

    /// A frame that a raw radio followed has ended.
    pub(super) fn receive_raw(
        &mut self,
        now: Instant,
        node: usize,
        flight: &Flight,
        reception: Reception,
        rssi_dbm: i8,
    ) -> Outcome {
        let mut outcome = outcome_of(reception);
        let is_ack = flight.label.kind == Kind::Ack;
        if reception == Reception::Intact
            && self.treatment(now, node, flight, is_ack) != Treatment::Pass
        {
            // There is no radio here that could acknowledge what its processor loses, and
            // what is doubled arrives once.
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
