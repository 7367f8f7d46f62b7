//! Radios within range of one another, in virtual time.

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use redpoll_stack::base::{Duration, Instant};
use redpoll_stack::mac::{
    Radio, RadioCaps, RadioEvent, RadioIdentity, RadioResult, RadioWork, RxInfo,
};
use redpoll_stack::wire::ieee802154::{Address, FrameHeader};

/// Time on the air of a frame of any length.
const FRAME: Duration = Duration::from_millis(4);

/// Stations on a channel without losses. Their radios send and await acknowledgments.
#[derive(Clone)]
pub struct Air(Rc<RefCell<Inner>>);

struct Inner {
    now: Instant,
    stations: Vec<Station>,
}

#[derive(Default)]
struct Station {
    identity: Option<RadioIdentity>,
    loaded: Vec<u8>,
    /// Neighbours whose frames are acknowledged with the frame pending bit.
    promised: BTreeSet<u16>,
    /// Events with their times, and the received frames.
    inbox: VecDeque<(Instant, RadioEvent, Vec<u8>)>,
    until: Option<Instant>,
    waker: Option<Waker>,
}

impl Station {
    fn accepts(&self, header: &FrameHeader) -> bool {
        self.identity.is_some_and(|own| {
            let is_own = match header.dst {
                Address::Short(short) => short == own.short || header.dst.is_broadcast(),
                Address::Extended(extended) => extended == own.extended,
                Address::Absent => false,
            };
            is_own && header.dst_pan == Some(own.pan_id)
        })
    }
}

impl Air {
    pub fn new(stations: usize) -> Air {
        Air(Rc::new(RefCell::new(Inner {
            now: Instant::from_millis(1_000),
            stations: (0..stations).map(|_| Station::default()).collect(),
        })))
    }

    pub fn radio(&self, station: usize) -> AirRadio {
        AirRadio {
            air: self.clone(),
            station,
            frame: Vec::new(),
        }
    }

    pub fn now(&self) -> Instant {
        self.0.borrow().now
    }

    /// Advances the time to the next event of a station, but not beyond `limit`. Returns whether
    /// there was an event.
    pub fn step(&self, limit: Instant) -> bool {
        let inner = &mut *self.0.borrow_mut();
        let events = inner.stations.iter().flat_map(|it| {
            let arrivals = it.inbox.iter().map(|(at, ..)| *at);
            arrivals.chain(it.until)
        });
        let next = events.min().filter(|at| *at <= limit);
        inner.now = inner.now.max(next.unwrap_or(limit));
        for station in &mut inner.stations {
            station.waker.take().into_iter().for_each(Waker::wake);
        }
        next.is_some()
    }
}

pub struct AirRadio {
    air: Air,
    station: usize,
    frame: Vec<u8>,
}

impl Radio for AirRadio {
    fn caps(&self) -> RadioCaps {
        RadioCaps {
            auto_ack: true,
            source_match: true,
            ..RadioCaps::default()
        }
    }

    fn set_identity(&mut self, identity: RadioIdentity) {
        self.air.0.borrow_mut().stations[self.station].identity = Some(identity);
    }

    fn now(&self) -> Instant {
        self.air.now()
    }

    fn start(&mut self, work: RadioWork, frame: &[u8]) {
        let inner = &mut *self.air.0.borrow_mut();
        let (at, result) = match work {
            RadioWork::Load => {
                inner.stations[self.station].loaded = frame.to_vec();
                (inner.now, RadioResult::Loaded)
            }
            RadioWork::Transmit { .. } => {
                let at = inner.now + FRAME;
                let frame = inner.stations[self.station].loaded.clone();
                let (header, _) = FrameHeader::parse(&frame).expect("the MAC made the frame");
                let (mut arrives, mut frame_pending) = (false, false);
                for (number, station) in inner.stations.iter_mut().enumerate() {
                    if number != self.station && station.accepts(&header) {
                        arrives = true;
                        let src = header.src;
                        frame_pending =
                            station.promised.iter().any(|it| src == Address::Short(*it));
                        let event = RadioEvent::Frame(RxInfo {
                            ack_sent_pending: frame_pending,
                            ..RxInfo::default()
                        });
                        station.inbox.push_back((at, event, frame.clone()));
                    }
                }
                let result = match (header.ack_request, arrives) {
                    (false, _) => RadioResult::Sent,
                    (true, true) => RadioResult::Acked { frame_pending },
                    (true, false) => RadioResult::NoAck,
                };
                (at, result)
            }
            RadioWork::SourceMatch { neighbour, pending } => {
                let promised = &mut inner.stations[self.station].promised;
                match pending {
                    true => promised.insert(neighbour),
                    false => promised.remove(&neighbour),
                };
                return;
            }
            _ => return,
        };
        let done = (at, RadioEvent::Done(result), Vec::new());
        inner.stations[self.station].inbox.push_back(done);
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<RadioEvent> {
        let inner = &mut *self.air.0.borrow_mut();
        let (now, station) = (inner.now, &mut inner.stations[self.station]);
        station.until = None;
        if let Some(place) = station.inbox.iter().position(|(at, ..)| *at <= now) {
            let (_, event, frame) = station.inbox.remove(place).expect("it was found");
            self.frame = frame;
            return Poll::Ready(event);
        }
        if until.is_some_and(|until| until <= now) {
            return Poll::Ready(RadioEvent::Time);
        }
        station.until = until;
        station.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    fn frame(&self) -> &[u8] {
        &self.frame
    }
}
