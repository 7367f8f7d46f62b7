//! TCP connections, out of the datagrams that carry them.

use std::collections::HashMap;

use super::datagrams::{Datagram, Fate};
use super::half::Half;
use super::segment::End;
use super::tally::{Event, Tally};

/// Connections that are looked at; those that come later are counted.
const FLOWS_MAX: usize = 1_024;

/// A connection, as far as the capture has it.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The end that was heard first, and the other one.
    pub ends: [End; 2],
    /// What goes from the first end to the other, and back.
    pub halves: [Half; 2],
    pub start_us: u64,
    pub end_us: u64,
    pub polled: Tally,
    /// Attempts at frames that collided with a hidden node's.
    pub collided: u64,
    /// Attempts at frames.
    pub attempts: u64,
}

impl Flow {
    fn new(datagram: &Datagram) -> Flow {
        let segment = &datagram.segment;
        Flow {
            ends: [segment.from, segment.to],
            halves: [Half::default(), Half::default()],
            start_us: datagram.first.start_us,
            end_us: datagram.end_us,
            polled: Tally::default(),
            collided: 0,
            attempts: 0,
        }
    }

    fn input(&mut self, datagram: &Datagram) {
        let side = usize::from(datagram.segment.from != self.ends[0]);
        self.end_us = self.end_us.max(datagram.end_us);
        self.attempts += u64::from(datagram.attempts);
        self.link(datagram);
        let [first, second] = &mut self.halves;
        let (half, back) = match side {
            0 => (first, second),
            _ => (second, first),
        };
        half.locate(datagram);
        if half.near == Some(datagram.src) {
            half.left(datagram);
            back.ack_left(datagram);
        }
        match datagram.fate {
            Fate::Lost { .. } => half.lost(datagram),
            Fate::Arrived if back.near == Some(datagram.dst) => {
                half.arrived(datagram);
                back.acknowledged(datagram, half.shift.unwrap_or(0));
            }
            Fate::Arrived => {}
        }
    }

    fn link(&mut self, datagram: &Datagram) {
        for polled in &datagram.polled {
            self.polled.add(Event {
                frames: [polled.request, polled.fragment],
                cost_us: polled.wait_us,
                detail_us: polled.wait_us,
            });
        }
        self.collided += datagram.collided;
    }

    /// How long data were in flight, either way.
    pub fn busy_us(&self) -> u64 {
        self.halves.iter().map(|half| half.busy_us).sum()
    }
}

/// All connections.
#[derive(Default)]
pub struct Flows {
    known: HashMap<(End, End), usize>,
    flows: Vec<Flow>,
    /// Segments of connections for which there was no room.
    pub beyond: u64,
    end_us: u64,
}

impl Flows {
    pub fn input(&mut self, datagram: &Datagram) {
        let (from, to) = (datagram.segment.from, datagram.segment.to);
        self.end_us = self.end_us.max(datagram.end_us);
        let key = (from.min(to), from.max(to));
        let at = match self.known.get(&key) {
            Some(&at) => at,
            None if self.flows.len() >= FLOWS_MAX => {
                self.beyond += 1;
                return;
            }
            None => {
                self.known.insert(key, self.flows.len());
                self.flows.push(Flow::new(datagram));
                self.flows.len() - 1
            }
        };
        self.flows[at].input(datagram);
    }

    /// At the capture's end: the connections, in the order in which they began.
    pub fn finish(mut self) -> Vec<Flow> {
        for flow in &mut self.flows {
            flow.halves
                .iter_mut()
                .for_each(|half| half.finish(self.end_us));
        }
        self.flows
    }
}
