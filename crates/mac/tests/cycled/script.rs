//! A cycle whose answers the test writes, and a node with it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::bench;

use bench::{FromSecs, ME, PEER, config};
use redpoll_base::{Duration, Instant, Rng};
use redpoll_mac::{
    Access, Cargo, Channel, Cycle, CycleEvent, CycleProperties, CycleStatus, Cycled, CycledResult,
    Errand, Mac, MacConfig, MacEvent, Meaning, Move, RadioCaps, RadioResult, RadioWork, RxInfo,
    Service, Target, TxStatus,
};
use redpoll_wire::ieee802154::Address;

pub(super) const HEADER: u8 = 0xa5;
pub(super) const STROBE: u8 = 0x5a;
pub(super) const PROBE: u8 = 0x99;

pub(super) const LOAD: Option<Work> = Some(RadioWork::Load);
pub(super) const TRANSMIT: Option<Work> = Some(RadioWork::Transmit { cca: true });
pub(super) const SENT: Done = RadioResult::Sent;
pub(super) const LOADED: Done = RadioResult::Loaded;
pub(super) const NO_ACK: Done = RadioResult::NoAck;
pub(super) const CHANNEL_BUSY: Done = RadioResult::ChannelBusy;
pub(super) const ACKED: Done = RadioResult::Acked {
    frame_pending: false,
};
pub(super) const TO_PEER: Target = Target {
    dst: PEER,
    continues: false,
};
pub(super) const SUBMITTED: CycleEvent<'_> = CycleEvent::Submitted(TO_PEER);
pub(super) const READY: CycleEvent<'_> = CycleEvent::Ready(TO_PEER);
pub(super) const SILENCE: CycleEvent<'_> = CycleEvent::Silence(TO_PEER);
pub(super) const ENDED: CycleEvent<'_> = CycleEvent::Ended;

pub(super) type Work = RadioWork<Job>;
pub(super) type Done = RadioResult<CycledResult>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Job {
    Sniff,
    Sense,
    Repeat,
}

pub(super) const fn assessed(channel: Channel) -> Done {
    RadioResult::Cycled(CycledResult::Assessed(channel))
}

pub(super) const fn answered(us: u64) -> Done {
    RadioResult::Cycled(CycledResult::Answered {
        frame_pending: false,
        begun_ago: Duration::from_micros(us),
    })
}

/// The answers of the cycle, and the events that it has heard.
#[derive(Debug)]
pub(super) struct Script {
    status: CycleStatus,
    errands: VecDeque<Errand<Job>>,
    /// Answers in the order of the events, each for an event of this kind only.
    answers: VecDeque<(Kind, Move<Job>)>,
    heard: Vec<CycleEvent<'static>>,
    pub(super) overheard: Vec<Vec<u8>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Submitted,
    Ready,
    Sensed,
    Blocked,
    Sent,
    Probe,
    Failed,
}

pub(super) fn kind(event: &CycleEvent<'_>) -> Option<Kind> {
    match event {
        CycleEvent::Submitted(_) => Some(Kind::Submitted),
        CycleEvent::Ready(_) => Some(Kind::Ready),
        CycleEvent::Sensed(_) => Some(Kind::Sensed),
        CycleEvent::Blocked => Some(Kind::Blocked),
        CycleEvent::Sent => Some(Kind::Sent),
        CycleEvent::Probe { .. } => Some(Kind::Probe),
        CycleEvent::Failed { .. } => Some(Kind::Failed),
        _ => None,
    }
}

#[derive(Clone, Debug)]
pub(super) struct Scripted(Rc<RefCell<Script>>);

impl Cycle<Job> for Scripted {
    fn status(&self, _: &Target) -> CycleStatus {
        self.0.borrow().status
    }

    fn poll(&mut self, _: Instant) -> Option<Errand<Job>> {
        self.0.borrow_mut().errands.pop_front()
    }

    fn on_event(&mut self, _: Instant, event: CycleEvent<'_>, _: &mut Rng) -> Option<Move<Job>> {
        let mut script = self.0.borrow_mut();
        if let CycleEvent::Overheard(payload) = event {
            script.overheard.push(payload.to_vec());
            return None;
        }
        script.heard.push(match event {
            CycleEvent::Assessed(channel) => CycleEvent::Assessed(channel),
            CycleEvent::Probed => CycleEvent::Probed,
            CycleEvent::Frame { more } => CycleEvent::Frame { more },
            CycleEvent::Strobe => CycleEvent::Strobe,
            CycleEvent::Overheard(_) => unreachable!(),
            CycleEvent::Submitted(target) => CycleEvent::Submitted(target),
            CycleEvent::Ready(target) => CycleEvent::Ready(target),
            CycleEvent::Sensed(channel) => CycleEvent::Sensed(channel),
            CycleEvent::Probe { src, target } => CycleEvent::Probe { src, target },
            CycleEvent::StrobeAnswered(target) => CycleEvent::StrobeAnswered(target),
            CycleEvent::Answered { target, begun_ago } => {
                CycleEvent::Answered { target, begun_ago }
            }
            CycleEvent::Acked(target) => CycleEvent::Acked(target),
            CycleEvent::Silence(target) => CycleEvent::Silence(target),
            CycleEvent::Sent => CycleEvent::Sent,
            CycleEvent::Blocked => CycleEvent::Blocked,
            CycleEvent::Failed { transmissions } => CycleEvent::Failed { transmissions },
            CycleEvent::Preempted => CycleEvent::Preempted,
            CycleEvent::Ended => CycleEvent::Ended,
        });
        let (wanted, _) = script.answers.front()?;
        if kind(&event) != Some(*wanted) {
            return None;
        }
        script.answers.pop_front().map(|(_, answer)| answer)
    }

    fn write_header(
        &self,
        src: Address,
        dst: Address,
        mac_header_len: usize,
        area: &mut [u8],
        payload_len: usize,
    ) -> usize {
        assert_eq!((src, dst, mac_header_len), (ME, PEER, 9));
        area[0] = HEADER;
        payload_len + 1
    }

    fn read<'f>(&self, payload: &'f [u8]) -> Meaning<'f> {
        match payload {
            [HEADER, data @ ..] => Meaning::Data(data),
            [STROBE] => Meaning::Strobe,
            [PROBE] => Meaning::Probe,
            _ => Meaning::Malformed,
        }
    }

    fn short(&self, from: Address) -> ([u8; 6], usize) {
        assert_eq!(from, ME);
        ([STROBE, 7, 0, 0, 0, 0], 2)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Duty(Cycled<Scripted>);

impl Access for Duty {
    type Work = Job;
    type Done = CycledResult;
    type Cycle = Scripted;

    fn cycle(&self) -> Option<&Cycled<Scripted>> {
        Some(&self.0)
    }

    fn cycle_mut(&mut self) -> Option<&mut Cycled<Scripted>> {
        Some(&mut self.0)
    }
}

pub(super) struct Node {
    pub(super) mac: Mac<Duty>,
    pub(super) script: Rc<RefCell<Script>>,
    pub(super) now: Instant,
    pub(super) loaded: Vec<u8>,
}

pub(super) const PROPERTIES: CycleProperties = CycleProperties {
    sleeps: true,
    asks_for_acks: true,
    repeats_all: false,
    header_len: 1,
    neighbour_queues: 0,
};

pub(super) fn plain() -> MacConfig {
    config().with(|it| {
        it.caps = RadioCaps {
            auto_ack: true,
            ..RadioCaps::default()
        };
        it.link_retry_delay = Duration::ZERO;
        it.max_frame_retries = 1;
    })
}

impl Node {
    pub(super) fn new() -> Self {
        Self::with(PROPERTIES)
    }

    pub(super) fn with(properties: CycleProperties) -> Self {
        let script = Rc::new(RefCell::new(Script {
            status: CycleStatus {
                listens: false,
                next: None,
                has_channel: false,
                awaits_probe: false,
                cargo: Cargo::Frame,
            },
            errands: VecDeque::new(),
            answers: VecDeque::new(),
            heard: Vec::new(),
            overheard: Vec::new(),
        }));
        let cycle = Cycled::new(Scripted(script.clone()), properties);
        let mut node = Node {
            mac: Mac::new(plain(), Duty(cycle), Rng::new(1)),
            script,
            now: Instant::from_secs(1),
            loaded: Vec::new(),
        };
        // The receiver of a new node is on, until the MAC turns it off.
        assert_eq!(node.poll(), Some(RadioWork::Doze));
        node
    }

    /// Makes the cycle answer the next event of this kind by this move.
    pub(super) fn answer(&mut self, kind: Kind, answer: Move<Job>) {
        self.script.borrow_mut().answers.push_back((kind, answer));
    }

    pub(super) fn demand(&mut self, set: impl FnOnce(&mut CycleStatus)) {
        set(&mut self.script.borrow_mut().status);
    }

    pub(super) fn errand(&mut self, errand: Errand<Job>) {
        self.script.borrow_mut().errands.push_back(errand);
    }

    pub(super) fn submit(&mut self, payload: &[u8]) {
        self.submit_as(payload, Service::default());
    }

    pub(super) fn submit_as(&mut self, payload: &[u8], how: Service) {
        let room = self.mac.frame_mut(PEER).expect("the MAC is idle");
        room[..payload.len()].copy_from_slice(payload);
        self.mac.submit(self.now, payload.len(), how);
    }

    pub(super) fn poll(&mut self) -> Option<Work> {
        let work = self.mac.poll_radio(self.now);
        if work == LOAD {
            self.loaded = self.mac.frame().to_vec();
        }
        work
    }

    pub(super) fn done(&mut self, result: Done) {
        self.mac.on_radio_done(self.now, result);
    }

    /// Ends the loading of a frame, and returns the next job.
    pub(super) fn load(&mut self) -> Option<Work> {
        assert_eq!(self.poll(), LOAD);
        self.done(LOADED);
        self.poll()
    }

    pub(super) fn in_ms(&self, ms: u64) -> Instant {
        self.now + Duration::from_millis(ms)
    }

    /// Advances the time to the MAC's next timer, which must run out at `at`.
    pub(super) fn sleep_until(&mut self, at: Instant) {
        assert_eq!(self.mac.poll_at().map(|wake| wake.at), Some(at));
        self.mac.on_timeout(self.now);
        assert_eq!(self.poll(), None, "too early");
        self.now = at;
        self.mac.on_timeout(self.now);
    }

    /// Returns the events since the last call.
    pub(super) fn heard(&mut self) -> Vec<CycleEvent<'static>> {
        std::mem::take(&mut self.script.borrow_mut().heard)
    }

    pub(super) fn outcome(&mut self) -> Option<(TxStatus, u8)> {
        let answers = &self.script.borrow().answers;
        assert!(answers.is_empty(), "not asked: {answers:?}");
        match self.mac.poll_event()? {
            MacEvent::Done {
                dst,
                status,
                attempts,
            } => {
                assert_eq!(dst, PEER);
                Some((status, attempts))
            }
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn hear(&mut self, frame: &[u8]) -> Option<Vec<u8>> {
        let info = RxInfo::default();
        let indication = self.mac.input_frame(self.now, frame, &info)?;
        Some(indication.payload.to_vec())
    }
}
