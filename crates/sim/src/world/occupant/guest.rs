//! A node with firmware that requests radio operations: its CSMA-CA, its radio, and its console.

use redpoll_base::{Duration, Instant, Rng};
use redpoll_mac::{FrameBuf, RadioResult, RadioWork};
use redpoll_wire::ieee802154::{Address, FrameHeader, timing};

use super::Resident;
use super::foreign::{PrintedLine, next_line};
use super::streams;
use crate::air::AirResult;
use crate::foreign::ForeignSpec;
use crate::guest::{GuestEvent, GuestLoader, GuestNode, GuestOrder, GuestSent};
use crate::radio::Identity;
use crate::scenario::{ConsoleLine, Interface, Scenario};
use crate::world::build::BuildError;
use crate::world::environment::Seat;

/// Span within which nodes are switched on.
const START_SPREAD: Duration = Duration::from_secs(1);
/// Minimum and maximum backoff exponents (IEEE 802.15.4-2015 table 8-94).
const MIN_BE: u8 = 3;
const MAX_BE: u8 = 5;
/// Channel that all simulated radios share.
const CHANNEL: u8 = 26;
/// Reported level of a busy channel, and of a free one, in dBm. Not every medium computes levels.
const BUSY_DBM: i8 = -75;
const FREE_DBM: i8 = -100;

pub(in crate::world) struct Guest {
    node: Box<dyn GuestNode>,
    /// Start of the firmware by the world's clock; `None` after the start.
    starts: Option<Instant>,
    eui64: [u8; 8],
    /// Time of the alarm by the node's clock.
    alarm: Option<Instant>,
    work: Work,
    listens: bool,
    channel: u8,
    identity: Identity,
    console: std::vec::IntoIter<ConsoleLine>,
    rng: Rng,
    text: Vec<u8>,
    has_failed: bool,
}

/// Radio work of a guest. Times are those of the world's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    Idle,
    Loading(Csma),
    BackoffUntil(Instant, Csma),
    Sending(Csma),
    /// A transmission on a channel that no other node uses.
    Elsewhere(Instant, GuestSent),
    MeasuresUntil(Instant),
}

/// Unslotted CSMA-CA of one frame (IEEE 802.15.4-2015 §6.2.5.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Csma {
    /// Allowed busy assessments; `None` sends without assessment.
    limit: Option<u8>,
    busy: u8,
}

impl Csma {
    fn backoff(self, rng: &mut Rng) -> Duration {
        let exponent = MIN_BE.saturating_add(self.busy).min(MAX_BE);
        let slots = u64::from(rng.below(1 << exponent));
        match self.limit {
            None | Some(0) => Duration::ZERO,
            Some(_) => Duration::from_micros(timing::UNIT_BACKOFF_US).times(slots),
        }
    }

    /// Returns the next attempt after a busy channel, if one is allowed.
    fn after_busy(self) -> Option<Csma> {
        let busy = self.busy.saturating_add(1);
        let limit = self.limit?;
        (busy <= limit).then_some(Csma { busy, ..self })
    }
}

impl Guest {
    /// Loads the firmware of a place that has one, and schedules its start.
    pub(in crate::world) fn load(
        scenario: &Scenario,
        seat: &mut Seat<'_>,
        loader: Option<&GuestLoader<'_>>,
    ) -> Result<Option<Guest>, BuildError> {
        let spec = &scenario.nodes[seat.index];
        let Some(module) = spec
            .module
            .as_ref()
            .filter(|_| spec.interface == Interface::Redpoll)
        else {
            return Ok(None);
        };
        let mut rng = seat.env.seed.node_stream("module", seat.index);
        let begins = Duration::from_micros(rng.below_u64(START_SPREAD.as_micros()));
        let foreign = ForeignSpec {
            name: &spec.name,
            module,
            number: spec.short,
            seed: rng.next_u64(),
            quantum: scenario.modules.quantum,
            patience: scenario.modules.patience,
        };
        let node = match loader {
            Some(load) => load(&foreign),
            None => Err("this command or build does not run nodes of the kind module; allowed: redpoll run, built with the feature `modules`".to_owned()),
        };
        let node = node.map_err(|problem| BuildError::Module {
            node: spec.name.clone(),
            problem,
        })?;
        let starts = Instant::ZERO + begins;
        let mut console = spec.console.clone();
        console.extend(streams::lines(scenario, seat.index, &mut rng));
        console.sort_by_key(|line| line.at);
        seat.start_work(RadioWork::Sleep, &[]);
        seat.wake_at_global(starts);
        Ok(Some(Guest {
            node,
            starts: Some(starts),
            eui64: spec.eui64,
            alarm: None,
            work: Work::Idle,
            listens: false,
            channel: CHANNEL,
            identity: seat.env.air.stations()[seat.index].identity,
            console: console.into_iter(),
            rng,
            text: Vec::new(),
            has_failed: false,
        }))
    }

    /// Runs the firmware with an event, and carries out its orders.
    fn run(&mut self, seat: &mut Seat<'_>, event: GuestEvent<'_>) {
        if self.has_failed || self.starts.is_some() {
            return;
        }
        let busy = seat.env.air.is_busy(seat.env.now, seat.index);
        let local = seat.local_now();
        match self.node.run(local, busy, event) {
            Ok(orders) => {
                for order in orders {
                    self.obey(seat, order);
                }
            }
            Err(problem) => self.fail(seat, problem),
        }
    }

    /// Switches off a node whose firmware failed. The other nodes continue.
    fn fail(&mut self, seat: &mut Seat<'_>, text: String) {
        self.has_failed = true;
        self.alarm = None;
        self.console = Vec::new().into_iter();
        self.listens = false;
        self.rest(seat);
        seat.env.failed.push(PrintedLine {
            at: seat.env.now,
            node: seat.index,
            text,
        });
    }

    fn obey(&mut self, seat: &mut Seat<'_>, order: GuestOrder) {
        match order {
            GuestOrder::WakeAt(at) => self.alarm = at,
            GuestOrder::Transmit { frame, backoffs } => self.transmit(seat, &frame, backoffs),
            GuestOrder::Listen(listens) => {
                self.listens = listens;
                self.rest(seat);
            }
            GuestOrder::Address {
                pan_id,
                short,
                extended,
            } => {
                self.identity = Identity {
                    pan_id,
                    short,
                    extended,
                };
                seat.env.air.set_identity(seat.index, self.identity);
            }
            GuestOrder::Channel(channel) => {
                self.channel = channel;
                self.rest(seat);
            }
            GuestOrder::SourceMatch { neighbour, pending } => {
                if let Some(neighbour) = address(&neighbour) {
                    seat.env.air.match_source(seat.index, neighbour, pending);
                }
            }
            GuestOrder::SourceMatchAll(all) => seat.env.air.match_all(seat.index, all),
            GuestOrder::MeasureEnergy(us) => {
                if self.work == Work::Idle {
                    seat.env.air.watch(seat.env.now, seat.index);
                    let ends = seat.env.now + Duration::from_micros(us.into());
                    self.work = Work::MeasuresUntil(ends);
                }
            }
            GuestOrder::Stream {
                event,
                peer,
                port,
                bytes,
            } => streams::observe(seat, event, (peer, port), &bytes),
            GuestOrder::Print(text) => {
                self.text.extend_from_slice(&text);
                let (at, node) = (seat.env.now, seat.index);
                while let Some(text) = next_line(&mut self.text) {
                    seat.env.printed.push(PrintedLine { at, node, text });
                }
            }
        }
    }

    fn rest(&mut self, seat: &mut Seat<'_>) {
        let work = match self.listens && self.channel == CHANNEL {
            true => RadioWork::Listen,
            false => RadioWork::Sleep,
        };
        seat.start_work(work, &[]);
    }

    fn transmit(&mut self, seat: &mut Seat<'_>, frame: &[u8], limit: Option<u8>) {
        if self.work != Work::Idle {
            return;
        }
        if self.channel != CHANNEL {
            // IEEE 802.15.4-2015 §12.1.3: 32 µs a byte, with six bytes before the frame and two
            // after it.
            let time = Duration::from_micros(32).times(frame.len() as u64 + 8);
            let wants_ack = FrameHeader::parse(frame).is_ok_and(|(header, _)| header.ack_request);
            let result = match wants_ack {
                true => GuestSent::NoAck,
                false => GuestSent::Sent,
            };
            self.work = Work::Elsewhere(seat.env.now + time, result);
            return;
        }
        self.work = Work::Loading(Csma { limit, busy: 0 });
        seat.start_work(RadioWork::Load, frame);
    }

    fn back_off(&mut self, seat: &mut Seat<'_>, csma: Csma) {
        let until = seat.env.now + csma.backoff(&mut self.rng);
        self.work = Work::BackoffUntil(until, csma);
    }

    /// Carries out everything that is due, and requests the next wake-up.
    fn proceed(&mut self, seat: &mut Seat<'_>) {
        let now = seat.env.now;
        if self.starts.is_some_and(|at| at <= now) {
            self.starts = None;
            let eui64 = self.eui64;
            self.run(seat, GuestEvent::Start { eui64 });
        }
        match self.work {
            Work::BackoffUntil(at, csma) if at <= now => {
                self.work = Work::Sending(csma);
                let cca = csma.limit.is_some();
                seat.start_work(RadioWork::Transmit { cca }, &[]);
            }
            Work::Elsewhere(at, result) if at <= now => {
                self.work = Work::Idle;
                self.run(seat, GuestEvent::Sent(result));
            }
            Work::MeasuresUntil(at) if at <= now => {
                self.work = Work::Idle;
                let was_busy = seat.env.air.was_busy(now, seat.index);
                let dbm = if was_busy { BUSY_DBM } else { FREE_DBM };
                self.run(seat, GuestEvent::Energy { dbm });
            }
            _ => {}
        }
        while let Some(line) = self
            .console
            .as_slice()
            .first()
            .filter(|line| self.starts.is_none() && Instant::ZERO + line.at <= now)
            .cloned()
        {
            let _ = self.console.next();
            self.run(seat, GuestEvent::Line(&line.text));
        }
        if self.alarm.is_some_and(|at| at <= seat.local_now()) {
            self.alarm = None;
            self.run(seat, GuestEvent::Alarm);
        }
        self.request_wake(seat);
    }

    fn request_wake(&self, seat: &mut Seat<'_>) {
        let work = match self.work {
            Work::BackoffUntil(at, _) | Work::Elsewhere(at, _) | Work::MeasuresUntil(at) => {
                Some(at)
            }
            _ => None,
        };
        let console = self.console.as_slice().first();
        let console = console.map(|line| Instant::ZERO + line.at);
        let times = match self.starts {
            Some(at) => [Some(at), None],
            None => [work, console],
        };
        for at in times.into_iter().flatten() {
            seat.wake_at_global(at);
        }
        if let Some(at) = self.alarm {
            seat.wake_at(at);
        }
    }
}

impl Resident for Guest {
    fn on_wake(&mut self, seat: &mut Seat<'_>) {
        seat.env.digest.add(seat.index as u64);
        self.proceed(seat);
    }

    fn on_frame(&mut self, seat: &mut Seat<'_>) {
        let received = seat.env.air.received(seat.index);
        let (info, twice) = (received.info, received.twice);
        let frame = FrameBuf::clone(&received.frame);
        for _ in 0..if twice { 2 } else { 1 } {
            let frame = &frame;
            self.run(seat, GuestEvent::Frame { info, frame });
        }
        self.proceed(seat);
    }

    fn on_radio_done(&mut self, seat: &mut Seat<'_>, result: AirResult) {
        let work = std::mem::replace(&mut self.work, Work::Idle);
        let sent = match (work, result) {
            (Work::Loading(csma), RadioResult::Loaded) => {
                self.back_off(seat, csma);
                None
            }
            (Work::Sending(csma), RadioResult::ChannelBusy) => match csma.after_busy() {
                Some(next) => {
                    self.back_off(seat, next);
                    None
                }
                None => Some(GuestSent::ChannelBusy),
            },
            (_, RadioResult::Acked { frame_pending }) => Some(GuestSent::Acked { frame_pending }),
            (_, RadioResult::Sent) => Some(GuestSent::Sent),
            _ => Some(GuestSent::NoAck),
        };
        if let Some(sent) = sent {
            self.run(seat, GuestEvent::Sent(sent));
        }
        self.proceed(seat);
    }
}

/// Reads an address of two or eight bytes in printed order.
fn address(bytes: &[u8]) -> Option<Address> {
    if let Ok(extended) = <[u8; 8]>::try_from(bytes) {
        return Some(Address::Extended(extended));
    }
    <[u8; 2]>::try_from(bytes)
        .ok()
        .map(|short| Address::Short(u16::from_be_bytes(short)))
}
