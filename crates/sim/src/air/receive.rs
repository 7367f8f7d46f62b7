//! Reception: the handling of frames that end.

use redpoll_base::Instant;
use redpoll_mac::{FrameBuf, RadioResult, RxInfo};
use redpoll_wire::ieee802154::{Address, FrameHeader};

use super::flight::Flight;
use super::send::outcome_of;
use super::{Air, Event, FrameClass, Indication, Outcome};
use crate::fault::{FrameFacts, Treatment};
use crate::kernel::Queue;
use crate::medium::{Reception, TxId};
use crate::radio::{Acking, Overhears, Received, State, TURNAROUND, Work};

impl Air {
    pub(super) fn on_flight_end<E: From<Event>>(
        &mut self,
        now: Instant,
        tx: TxId,
        queue: &mut Queue<E>,
    ) {
        let Some(mut flight) = self.flights.remove(tx) else {
            return;
        };
        let from = flight.from as usize;
        self.land(now, from, flight.label.kind, queue);
        if flight.on_air {
            for index in self.medium.links_of(flight.layout).range(from) {
                let link = self.medium.links_of(flight.layout).at(index);
                if let Some(reception) = self.medium.end(now, tx, &link) {
                    let outcome = self.receive(
                        now,
                        link.to as usize,
                        &flight,
                        reception,
                        link.rssi_dbm,
                        queue,
                    );
                    self.close(&mut flight, link.to, link.receives, outcome);
                }
            }
        }
        if flight.label.kind != FrameClass::Broadcast {
            let outcome = flight.outcome.unwrap_or(Outcome::OutOfRange);
            let at = flight.addressee.unwrap_or(flight.from) as usize;
            self.settle((flight.id, flight.label.kind, from), outcome, at);
            self.digest.add(outcome as u64);
        }
    }

    fn close(&mut self, flight: &mut Flight, node: u32, receives: bool, outcome: Outcome) {
        if flight.label.kind == FrameClass::Broadcast {
            if receives {
                let from = flight.from as usize;
                self.settle(
                    (flight.id, FrameClass::Broadcast, from),
                    outcome,
                    node as usize,
                );
            }
        } else if flight.addressee == Some(node) {
            flight.outcome.get_or_insert(outcome);
        }
    }

    fn receive<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        flight: &Flight,
        reception: Reception,
        rssi_dbm: i8,
        queue: &mut Queue<E>,
    ) -> Outcome {
        self.stations[node].rest(now);
        if self.stations[node].is_raw {
            return self.receive_raw(now, node, flight, reception, rssi_dbm);
        }
        let intact = reception == Reception::Intact;
        let tells = match self.stations[node].overhears {
            Overhears::Nothing => false,
            Overhears::Own => intact && self.is_own(node, flight),
            Overhears::All => true,
        };
        if tells && flight.label.kind != FrameClass::Ack {
            if intact {
                *self.stations[node].overheard = flight.frame.clone();
            }
            let node = node as u32;
            self.indications
                .push_back(Indication::Overheard { node, intact });
        }
        let outcome = if reception != Reception::Intact {
            outcome_of(reception)
        } else if flight.label.kind == FrameClass::Ack {
            self.receive_ack(now, node, flight)
        } else {
            self.receive_frame(now, node, flight, rssi_dbm, queue)
        };
        self.resume(now, node, queue);
        outcome
    }

    /// Handles an Imm-ACK. It carries no address, so it belongs to a radio that waits for its
    /// sequence number.
    fn receive_ack(&mut self, now: Instant, node: usize, flight: &Flight) -> Outcome {
        let station = &self.stations[node];
        if station.work.awaits_answer() {
            return self.receive_answer(now, node, flight);
        }
        if station.work != Work::AwaitAck || station.dsn != flight.label.dsn {
            return Outcome::Unexpected;
        }
        if self.treatment(now, node, flight, true) == Treatment::Drop {
            return Outcome::Fault;
        }
        let frame_pending = flight.label.frame_pending;
        self.finish(now, node, RadioResult::Acked { frame_pending });
        Outcome::Delivered
    }

    /// Returns whether the address filter of a node's radio accepts a frame.
    fn is_own(&self, node: usize, flight: &Flight) -> bool {
        let identity = self.stations[node].identity;
        let is_own = flight.label.kind == FrameClass::Broadcast || identity.owns(flight.label.dst);
        is_own && identity.is_in(flight.label.pan_id)
    }

    fn receive_frame<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        flight: &Flight,
        rssi_dbm: i8,
        queue: &mut Queue<E>,
    ) -> Outcome {
        if !self.is_own(node, flight) {
            return Outcome::OutOfRange;
        }
        let treatment = self.treatment(now, node, flight, false);
        if treatment == Treatment::Drop {
            return Outcome::Fault;
        }
        let station = &mut self.stations[node];
        if station.reading && station.waiting.is_some() {
            return Outcome::RxOverrun;
        }
        let frame_pending = flight.label.is_data_request
            && (station.matches_all
                || source(&flight.frame).is_some_and(|it| station.source_match.contains(&it)));
        let mut frame = flight.frame.clone();
        if let Treatment::Corrupt { at, flip } = treatment {
            corrupt(&mut frame, at, flip);
        }
        let received = Received {
            frame,
            info: RxInfo {
                rssi_dbm,
                lqi: lqi(rssi_dbm),
                ack_sent_pending: frame_pending,
            },
            twice: treatment == Treatment::Duplicate,
        };
        if flight.label.wants_ack {
            station.acking = Some(Acking {
                to: flight.from,
                dsn: flight.label.dsn,
                frame_pending,
            });
            station.times.enter(now, State::Turnaround);
            let node = node as u32;
            queue.schedule(now + TURNAROUND, Event::AckDue { node }.into());
        }
        if treatment == Treatment::Lose {
            return Outcome::Fault;
        }
        if station.reading {
            station.waiting = Some(Box::new(received));
            return Outcome::Delivered;
        }
        let spi_time = self.chip.spi_time(received.frame.len());
        *station.incoming = received;
        if spi_time.is_zero() {
            let node = node as u32;
            self.indications.push_back(Indication::Frame { node });
        } else {
            station.reading = true;
            station.spi += spi_time;
            let node = node as u32;
            queue.schedule(now + spi_time, Event::ReadDone { node }.into());
        }
        Outcome::Delivered
    }

    /// Handles the end of the processor's read of a frame, and starts to read the waiting frame.
    pub(super) fn on_read_done<E: From<Event>>(
        &mut self,
        now: Instant,
        node: usize,
        queue: &mut Queue<E>,
    ) {
        let index = node as u32;
        self.indications
            .push_back(Indication::Frame { node: index });
        let station = &mut self.stations[node];
        if std::mem::take(&mut station.reading_waiting)
            && let Some(waiting) = station.waiting.take()
        {
            station.incoming = waiting;
        }
        if let Some(waiting) = &station.waiting {
            station.reading_waiting = true;
            let spi_time = self.chip.spi_time(waiting.frame.len());
            station.spi += spi_time;
            queue.schedule(now + spi_time, Event::ReadDone { node: index }.into());
        } else {
            station.reading = false;
            self.resume(now, node, queue);
        }
    }

    pub(super) fn treatment(
        &mut self,
        now: Instant,
        node: usize,
        flight: &Flight,
        is_ack: bool,
    ) -> Treatment {
        let facts = FrameFacts {
            from: flight.from as usize,
            to: node,
            is_ack,
        };
        self.faults.on_frame(now, facts)
    }
}

/// Sets a bit in one byte after the frame control and sequence number, because the radio has
/// already used these. Bits are never cleared: a bit set in one fragment and cleared in another
/// could leave the packet's checksum unchanged.
fn corrupt(frame: &mut FrameBuf, at: u32, flip: u8) {
    const FIRST: usize = 3;
    let mut bytes = frame.to_vec();
    let rest = bytes.get_mut(FIRST..).unwrap_or_default();
    if let Some(place) = (at as usize).checked_rem(rest.len()) {
        let mut bits = (0..8).map(|by| flip.rotate_left(by));
        let clear = bits.find(|bit| rest[place] & bit == 0);
        rest[place] |= clear.unwrap_or_default();
    }
    // The length of the frame has not changed, so the bytes fit.
    let _ = frame.copy_from(&bytes);
}

fn source(frame: &[u8]) -> Option<Address> {
    Some(FrameHeader::parse(frame).ok()?.0.src)
}

/// Converts signal strength into link quality: 0 at −95 dBm, 255 at −40 dBm.
pub(super) fn lqi(rssi_dbm: i8) -> u8 {
    let above = (i32::from(rssi_dbm) + 95).clamp(0, 55);
    (above * 255 / 55) as u8
}
