//! TCP connections in the captured datagrams. Connections between the same ends form one flow.

use std::collections::HashMap;

use redpoll_base::Addr;

use super::datagrams::{Datagram, Fate};
use super::half::Half;
use super::segment::End;
use super::tally::{Event, Tally};
use super::trace::Trace;

/// Maximum number of connections that are followed at a time. Another connection ends the one that
/// was silent for longest.
const OPEN_MAX: usize = 1_024;
/// Maximum number of flows; connections between more pairs of ends are only counted.
const FLOWS_MAX: usize = 1_024;

/// The packets between a client and a port of a server, in one or several connections.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The sender of the flow's first captured segment, and the other end.
    pub ends: [End; 2],
    /// Both directions, starting with the one from the first end.
    pub halves: [Half; 2],
    pub connections: u64,
    pub start_us: u64,
    pub end_us: u64,
    pub polled: Tally,
    /// Attempts at frames that collided with a hidden node's frame.
    pub collided: u64,
    /// Attempts that failed while the receiver or one of its neighbours was on the air.
    pub disturbed: u64,
    pub attempts: u64,
    /// Number of attempts that were acknowledged, whether or not the sender received the
    /// acknowledgement.
    pub acked: u64,
    /// The segments of both directions in the first connection, if they are recorded.
    pub traces: Option<Box<[Trace; 2]>>,
}

impl Flow {
    fn new(datagram: &Datagram, is_recorded: bool) -> Flow {
        let segment = &datagram.segment;
        Flow {
            ends: [segment.from, segment.to],
            halves: [Half::default(), Half::default()],
            connections: 1,
            start_us: datagram.first.start_us,
            end_us: datagram.end_us,
            polled: Tally::default(),
            collided: 0,
            disturbed: 0,
            attempts: 0,
            acked: 0,
            traces: is_recorded.then(Box::default),
        }
    }

    fn input(&mut self, datagram: &Datagram) {
        let side = usize::from(datagram.segment.from != self.ends[0]);
        self.end_us = self.end_us.max(datagram.end_us);
        self.attempts += u64::from(datagram.attempts);
        self.acked += u64::from(datagram.acked);
        self.collided += datagram.collided;
        self.disturbed += u64::from(datagram.disturbed);
        for polled in &datagram.polled {
            self.polled.add(Event {
                frames: [polled.request, polled.fragment],
                cost_us: polled.wait_us,
                detail_us: polled.wait_us,
            });
        }
        let [first, second] = &mut self.halves;
        let (half, back) = match side {
            0 => (first, second),
            _ => (second, first),
        };
        half.locate(datagram);
        let is_near = half.near == Some(datagram.src);
        match datagram.fate {
            Fate::Begun if is_near => {
                if let Some(traces) = &mut self.traces {
                    traces[side].left(datagram);
                }
                half.left(datagram);
                back.ack_left(datagram);
            }
            Fate::Arrived | Fate::Lost { .. } if is_near => half.passed(datagram),
            _ => {}
        }
        match datagram.fate {
            Fate::Lost { .. } => half.lost(datagram),
            Fate::Arrived if back.near == Some(datagram.dst) => {
                if let Some(traces) = &mut self.traces {
                    traces[1 - side].acknowledged(datagram);
                }
                half.arrived(datagram);
                back.acknowledged(datagram, half.shift.unwrap_or(0));
            }
            Fate::Begun | Fate::Arrived | Fate::Tried => {}
        }
    }

    fn finish(&mut self) {
        let end_us = self.end_us;
        self.halves.iter_mut().for_each(|half| half.finish(end_us));
    }

    /// Adds a later connection between the same ends.
    fn join(&mut self, other: Flow) {
        for (half, more) in self.halves.iter_mut().zip(other.halves) {
            half.join(more);
        }
        self.connections += other.connections;
        self.start_us = self.start_us.min(other.start_us);
        self.end_us = self.end_us.max(other.end_us);
        self.polled.join(other.polled);
        self.collided += other.collided;
        self.disturbed += other.disturbed;
        self.attempts += other.attempts;
        self.acked += other.acked;
    }

    /// Returns the direction with more data.
    pub fn main(&self) -> &Half {
        let [first, second] = &self.halves;
        if first.bytes >= second.bytes {
            first
        } else {
            second
        }
    }

    /// Returns the time in which data were in flight, summed over both directions, in microseconds.
    pub fn busy_us(&self) -> u64 {
        self.halves.iter().map(|half| half.busy_us).sum()
    }
}

#[derive(Default)]
pub struct Flows {
    open: HashMap<(End, End), Flow>,
    known: HashMap<(Addr, End), usize>,
    flows: Vec<Flow>,
    /// Number of connections left out, because the table has `FLOWS_MAX` pairs of ends.
    pub beyond: u64,
    /// Number of connections yet to come whose segments will be recorded.
    records: usize,
}

impl Flows {
    /// Makes an empty table, which records the segments of the first `records` connections.
    pub fn recording(records: usize) -> Flows {
        Flows {
            records,
            ..Flows::default()
        }
    }

    pub fn input(&mut self, datagram: &Datagram) {
        let segment = &datagram.segment;
        let key = (segment.from.min(segment.to), segment.from.max(segment.to));
        // A SYN with another initial sequence number opens a new connection between known ports.
        let is_begun = datagram.fate == Fate::Begun;
        let is_new = is_begun && segment.is_syn && segment.ack.is_none();
        let is_over = |flow: &Flow| {
            let side = usize::from(segment.from != flow.ends[0]);
            !flow.halves[side].began_with(segment.seq)
        };
        if is_new && self.open.get(&key).is_some_and(is_over) {
            self.close(key);
        }
        if is_begun && self.open.len() >= OPEN_MAX && !self.open.contains_key(&key) {
            let silent = self.open.iter().min_by_key(|(_, flow)| flow.end_us);
            if let Some(key) = silent.map(|(key, _)| *key) {
                self.close(key);
            }
        }
        if is_begun {
            let records = &mut self.records;
            let flow = self.open.entry(key).or_insert_with(|| {
                let is_recorded = *records > 0;
                *records = records.saturating_sub(1);
                Flow::new(datagram, is_recorded)
            });
            flow.input(datagram);
        } else if let Some(flow) = self.open.get_mut(&key) {
            flow.input(datagram);
        }
    }

    /// Ends all connections. Returns the flows in the order in which they began.
    pub fn finish(&mut self) -> Vec<Flow> {
        let mut left: Vec<_> = self
            .open
            .iter()
            .map(|(key, it)| (it.start_us, *key))
            .collect();
        left.sort_unstable();
        for (_, key) in left {
            self.close(key);
        }
        let mut flows = std::mem::take(&mut self.flows);
        flows.sort_by_key(|flow| flow.start_us);
        flows
    }

    fn close(&mut self, key: (End, End)) {
        let Some(mut flow) = self.open.remove(&key) else {
            return;
        };
        flow.finish();
        let ends = (flow.ends[0].addr, flow.ends[1]);
        match self.known.get(&ends) {
            Some(&at) => self.flows[at].join(flow),
            None if self.flows.len() >= FLOWS_MAX => self.beyond += 1,
            None => {
                self.known.insert(ends, self.flows.len());
                self.flows.push(flow);
            }
        }
    }
}
