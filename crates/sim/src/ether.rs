//! Simulated radios that implement the trait [`Radio`], for programs and tests that build their
//! nodes without a scenario.
//!
//! All stations receive one another. The caller advances time in steps:
//!
//! ```
//! use std::task::{Context, Poll, Waker};
//!
//! use redpoll_mac::{Radio, RadioEvent, RadioResult, RadioWork};
//! use redpoll_sim::{Ether, RadioConfig, RadioModel};
//!
//! let ether = Ether::new(2, &RadioConfig::from(RadioModel::Cc2420));
//! let mut radio = ether.radio(0);
//! radio.start(RadioWork::Load, b"a frame");
//! let event = loop {
//!     match radio.poll_event(&mut Context::from_waker(Waker::noop()), None) {
//!         Poll::Ready(event) => break event,
//!         Poll::Pending => assert!(ether.step(), "no event is pending"),
//!     }
//! };
//! assert_eq!(event, RadioEvent::Done(RadioResult::Loaded));
//! ```

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use redpoll_base::{Duration, Instant};
use redpoll_mac::{
    FrameBuf, Radio, RadioCaps, RadioEvent, RadioIdentity, RadioResult, RadioWork, RxInfo,
};
use redpoll_wire::ieee802154::imm_ack;

use crate::air::{self, Air, Event, Indication, Label, Layout};
use crate::kernel::{Queue, Seed};
use crate::medium::{Config as Medium, Site};
use crate::radio::{Config, Identity};

/// Simulated radios, all within range of one another.
#[derive(Clone)]
pub struct Ether(Rc<RefCell<Inner>>);

struct Inner {
    air: Air,
    queue: Queue<Next>,
    now: Instant,
    stations: Vec<Station>,
}

#[derive(Default)]
struct Station {
    inbox: VecDeque<Item>,
    waker: Option<Waker>,
    until: Option<Instant>,
    replies: Option<Reply>,
    /// Beginning of the frame that a raw radio receives.
    followed: Instant,
}

enum Item {
    Frame(Box<FrameBuf>, RxInfo),
    Done(RadioResult),
    Raw(RawEvent),
}

enum Next {
    Air(Event),
    Send { station: usize, frame: Vec<u8> },
}

impl From<Event> for Next {
    fn from(event: Event) -> Self {
        Next::Air(event)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RawEvent {
    /// A frame has ended.
    Heard {
        /// Beginning of the frame's preamble.
        began: Instant,
        /// End of the frame's last symbol.
        ended: Instant,
        /// The intact frame without its FCS; `None` if it was damaged.
        frame: Option<Vec<u8>>,
        info: RxInfo,
    },
    Sent(Instant),
}

/// Automatic reply of a raw radio to a frame that requests an acknowledgment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// Time from the frame's end to the reply's first symbol.
    pub after: Duration,
    pub what: Answer,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Ack {
        pending: bool,
        /// Difference between the sequence numbers of the reply and of the frame.
        off_by: u8,
    },
    Frame(Vec<u8>),
}

impl Ether {
    /// Creates `stations` stations with the radio `chip`, at most 10 m apart.
    pub fn new(stations: usize, chip: &Config) -> Ether {
        let identity = |station: usize| Identity {
            pan_id: 0xffff,
            short: 0xffff,
            extended: [0, 0, 0, 0, 0, 0, 0, station as u8],
        };
        let identities: Vec<_> = (0..stations).map(identity).collect();
        let (medium, apart) = (Medium::default(), 10.0 / stations as f64);
        let positions: Vec<_> = (0..stations).map(|it| (it as f64 * apart, 0.0)).collect();
        let mut queue = Queue::default();
        let layout = Layout {
            site: Site::of(&medium, &positions),
            radio: chip,
            identities: &identities,
            faults: &[],
        };
        let inner = Inner {
            air: Air::new(&layout, Seed(1), &mut queue),
            queue,
            now: Instant::ZERO,
            stations: identities.iter().map(|_| Station::default()).collect(),
        };
        Ether(Rc::new(RefCell::new(inner)))
    }

    /// Returns the radio of a station, which sends and awaits acknowledgments automatically and has
    /// a source match table.
    pub fn radio(&self, station: usize) -> SimRadio {
        SimRadio {
            ether: self.clone(),
            station,
            frame: FrameBuf::new(),
        }
    }

    /// Makes the radio of a station raw for the rest of the run, and returns it. A raw radio
    /// accepts every frame, sends at once and does nothing automatically.
    #[doc(hidden)]
    pub fn raw(&self, station: usize) -> RawRadio {
        self.0.borrow_mut().air.make_raw(station);
        RawRadio {
            ether: self.clone(),
            station,
        }
    }

    fn now(&self) -> Instant {
        self.0.borrow().now
    }

    /// Advances time to the next event, or to the `until` of a waiting poll if that is earlier.
    /// Returns false if there is neither an event nor such a time.
    pub fn step(&self) -> bool {
        self.0.borrow_mut().step()
    }
}

impl Inner {
    fn step(&mut self) -> bool {
        let wanted = self.stations.iter().filter_map(|it| it.until).min();
        let Some(at) = self.queue.next_at().into_iter().chain(wanted).min() else {
            return false;
        };
        self.now = self.now.max(at);
        match self.queue.pop_until(at).map(|next| next.event) {
            Some(Next::Air(event)) => self.air.on_event(self.now, event, &mut self.queue),
            Some(Next::Send { station, frame }) => {
                (self.air).send_raw(self.now, station, &frame, &mut self.queue);
            }
            None => {}
        }
        self.deliver();
        for station in &mut self.stations {
            if station.until.is_some_and(|until| until <= self.now) {
                station.until = None;
                station.wake();
            }
        }
        true
    }

    fn deliver(&mut self) {
        while let Some(indication) = self.air.poll_indication() {
            let (node, item) = match indication {
                Indication::Frame { node } => {
                    let received = self.air.received(node as usize);
                    let frame = Box::new(received.frame.clone());
                    (node, Item::Frame(frame, received.info))
                }
                Indication::Done { node, result } if self.air.is_raw(node as usize) => {
                    debug_assert_eq!(result, RadioResult::Sent);
                    (node, Item::Raw(RawEvent::Sent(self.now)))
                }
                Indication::Done { node, result } => {
                    // Skip the results of operations that the radio of a device does not have.
                    let Some(result) = air::narrow(result) else {
                        continue;
                    };
                    (node, Item::Done(result))
                }
                Indication::Follows { node } => {
                    self.stations[node as usize].followed = self.now;
                    continue;
                }
                Indication::Heard { node, intact } => (node, self.heard(node as usize, intact)),
                Indication::Overheard { .. } => continue,
            };
            let station = &mut self.stations[node as usize];
            station.inbox.push_back(item);
            station.wake();
        }
    }

    fn heard(&mut self, node: usize, intact: bool) -> Item {
        let received = self.air.received(node);
        let frame = intact.then(|| received.frame.to_vec());
        let (station, info) = (&self.stations[node], received.info);
        if let (Some(frame), Some(reply)) = (&frame, &station.replies) {
            let label = Label::of(frame);
            let answer = match &reply.what {
                Answer::Ack { pending, off_by } => {
                    imm_ack(label.dsn.wrapping_add(*off_by), *pending).to_vec()
                }
                Answer::Frame(frame) => frame.clone(),
            };
            let (at, station) = (self.now + reply.after, node);
            if label.wants_ack {
                let frame = answer;
                self.queue.schedule(at, Next::Send { station, frame });
            }
        }
        Item::Raw(RawEvent::Heard {
            began: station.followed,
            ended: self.now,
            frame,
            info,
        })
    }
}

impl Station {
    fn wake(&mut self) {
        self.waker.take().into_iter().for_each(Waker::wake);
    }

    /// Stores the waker, which is called at `until` or at the next event.
    fn wait(&mut self, now: Instant, cx: &Context<'_>, until: Option<Instant>) -> Poll<()> {
        if until.is_some_and(|until| until <= now) {
            return Poll::Ready(());
        }
        self.until = until;
        self.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

pub struct SimRadio {
    ether: Ether,
    station: usize,
    frame: FrameBuf,
}

impl Radio for SimRadio {
    fn caps(&self) -> RadioCaps {
        RadioCaps {
            auto_ack: true,
            source_match: true,
            ..RadioCaps::default()
        }
    }

    fn set_identity(&mut self, identity: RadioIdentity) {
        let identity = Identity {
            pan_id: identity.pan_id,
            short: identity.short,
            extended: identity.extended,
        };
        let mut inner = self.ether.0.borrow_mut();
        inner.air.set_identity(self.station, identity);
    }

    fn now(&self) -> Instant {
        self.ether.now()
    }

    fn start(&mut self, work: RadioWork, frame: &[u8]) {
        let inner = &mut *self.ether.0.borrow_mut();
        (inner.air).start_work(
            inner.now,
            self.station,
            air::widen(work),
            frame,
            &mut inner.queue,
        );
        inner.deliver();
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<RadioEvent> {
        let inner = &mut *self.ether.0.borrow_mut();
        let station = &mut inner.stations[self.station];
        match station.inbox.pop_front() {
            Some(Item::Frame(frame, info)) => {
                self.frame = *frame;
                Poll::Ready(RadioEvent::Frame(info))
            }
            Some(Item::Done(result)) => Poll::Ready(RadioEvent::Done(result)),
            Some(Item::Raw(_)) => unreachable!("only the station of a RawRadio gets Item::Raw"),
            None => station
                .wait(inner.now, cx, until)
                .map(|()| RadioEvent::Time),
        }
    }

    fn frame(&self) -> &[u8] {
        &self.frame
    }
}

/// A radio that neither acknowledges, filters nor retransmits automatically.
pub struct RawRadio {
    ether: Ether,
    station: usize,
}

impl RawRadio {
    pub fn now(&self) -> Instant {
        self.ether.now()
    }

    /// Starts the preamble of `frame` at `at`, or now if `at` is past. A reception in progress is
    /// lost.
    pub fn send_at(&mut self, at: Instant, frame: &[u8]) {
        let inner = &mut *self.ether.0.borrow_mut();
        let (station, frame) = (self.station, frame.to_vec());
        let at = at.max(inner.now);
        inner.queue.schedule(at, Next::Send { station, frame });
    }

    pub fn is_busy(&mut self) -> bool {
        let inner = &mut *self.ether.0.borrow_mut();
        inner.air.is_busy(inner.now, self.station)
    }

    pub fn reply(&mut self, reply: Option<Reply>) {
        self.ether.0.borrow_mut().stations[self.station].replies = reply;
    }

    /// Returns the oldest unread event, or `None` if there is no event and the time `until` has
    /// come.
    pub fn poll_event(
        &mut self,
        cx: &mut Context<'_>,
        until: Option<Instant>,
    ) -> Poll<Option<RawEvent>> {
        let inner = &mut *self.ether.0.borrow_mut();
        let station = &mut inner.stations[self.station];
        match station.inbox.pop_front() {
            Some(Item::Raw(event)) => Poll::Ready(Some(event)),
            Some(_) => unreachable!("the station of a RawRadio gets only Item::Raw"),
            None => station.wait(inner.now, cx, until).map(|()| None),
        }
    }
}
