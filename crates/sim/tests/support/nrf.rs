//! The radio of an nRF52840 with the interface of `embassy-nrf` 0.11, over a raw radio of the
//! simulator. It receives a frame on request, and sends one after an assessment.
//!
//! States and times are those of the manual (§6.20) and the driver: 130 µs until receiver or
//! transmitter are on, 128 for an assessment, 21 until the transmitter is off. A stopped receiver
//! stays ramped up. A transmission or a busy channel leaves the chip off. A change of the
//! assessment's settings switches the chip off and on for the next operation. A task runs [`TASK`]
//! after its interrupt.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use redpoll_base::{Duration, Instant};
use redpoll_mac::{Radio, RadioCaps, RadioEvent, RadioIdentity, RadioWork, RxInfo};
use redpoll_sim::testing::ether::{RawEvent, RawRadio};
use redpoll_transceiver::{
    Assessment, Exchange, Operator, Ticker, Transceiver, TransceiverRadio, nrf52840,
};
use redpoll_wire::ieee802154::timing;

const RAMP_UP: Duration = Duration::from_micros(130);
const TX_DISABLE: Duration = Duration::from_micros(21);
const CCA: Duration = Duration::from_micros(timing::CCA_US);
/// Time from an interrupt to the task: about 600 instructions at 64 MHz.
pub const TASK: Duration = Duration::from_micros(10);
/// Frequency of the clock, RTC1: 32,768 Hz.
const TICKS_PER_S: u64 = 32_768;
/// Link quality of every frame.
const LQI: u8 = 43;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Disabled(Instant),
    /// Ramped up without receiving.
    RxIdle,
    Rx(Instant),
    /// Assessing, turning around or transmitting.
    Sends,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Assess { first: bool },
    Send,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Received { is_intact: bool },
    Sent,
    Busy,
}

struct Chip {
    raw: RawRadio,
    state: State,
    /// Whether a changed setting requires switching the chip off and on.
    needs_enable: bool,
    assessment: Assessment,
    step: Option<(Instant, Step)>,
    /// The outcome, and the time at which the task gets it.
    outcome: Option<(Instant, Outcome)>,
    packet: Vec<u8>,
    alarm: Option<Instant>,
    /// Time in which the chip was not off.
    on: Duration,
    on_since: Option<Instant>,
}

#[derive(Clone)]
pub struct Nrf {
    chip: Rc<RefCell<Chip>>,
    received: Vec<u8>,
}

impl Nrf {
    pub fn new(raw: RawRadio) -> Nrf {
        let chip = Chip {
            state: State::Disabled(raw.now()),
            raw,
            needs_enable: true,
            assessment: Assessment::Channel,
            step: None,
            outcome: None,
            packet: Vec::new(),
            alarm: None,
            on: Duration::ZERO,
            on_since: None,
        };
        Nrf {
            chip: Rc::new(RefCell::new(chip)),
            received: Vec::new(),
        }
    }

    /// Returns the time in which the chip was not off.
    pub fn on(&self) -> Duration {
        let chip = self.chip.borrow();
        let now = chip.raw.now();
        chip.on_since.map_or(chip.on, |it| chip.on + now.since(it))
    }

    fn poll_outcome(&self, cx: &mut Context<'_>) -> Poll<Outcome> {
        let mut chip = self.chip.borrow_mut();
        chip.advance(cx);
        let now = chip.raw.now();
        match chip.outcome.take_if(|(at, _)| *at <= now) {
            Some((_, outcome)) => Poll::Ready(outcome),
            None => Poll::Pending,
        }
    }
}

impl Chip {
    /// Handles the events up to now, and registers the next call.
    fn advance(&mut self, cx: &mut Context<'_>) {
        loop {
            let steps = self.step.map(|(at, _)| at);
            let told = self.outcome.map(|(at, _)| at);
            let told = told.filter(|at| *at > self.raw.now());
            let until = [steps, told, self.alarm].into_iter().flatten().min();
            match self.raw.poll_event(cx, until) {
                Poll::Ready(Some(event)) => self.on_air(event),
                Poll::Ready(None) => self.on_time(),
                Poll::Pending => return,
            }
        }
    }

    fn on_time(&mut self) {
        let now = self.raw.now();
        self.alarm.take_if(|at| *at <= now);
        if let Some((at, step)) = self.step.take_if(|(at, _)| *at <= now) {
            self.on_step(at, step);
        }
    }

    fn on_step(&mut self, at: Instant, step: Step) {
        match step {
            Step::Assess { first } => {
                let is_busy = self.assessment == Assessment::Channel && self.raw.is_busy();
                self.step = match (is_busy, first) {
                    (true, _) => None,
                    (false, true) => Some((at + CCA, Step::Assess { first: false })),
                    (false, false) => Some((at + RAMP_UP, Step::Send)),
                };
                if is_busy {
                    self.turn(State::Disabled(at));
                    self.outcome = Some((at + TASK, Outcome::Busy));
                }
            }
            Step::Send => self.raw.send_at(at, &self.packet.clone()),
        }
    }

    fn on_air(&mut self, event: RawEvent) {
        match event {
            RawEvent::Sent(at) => {
                assert_eq!(self.state, State::Sends, "nobody has sent that");
                self.turn(State::Disabled(at + TX_DISABLE));
                self.outcome = Some((at + TASK, Outcome::Sent));
            }
            RawEvent::Heard {
                began,
                ended,
                frame,
                ..
            } => {
                // The chip receives only frames that begin after its ramp-up.
                if !matches!(self.state, State::Rx(since) if since <= began) {
                    return;
                }
                self.turn(State::RxIdle);
                let is_intact = frame.is_some();
                self.packet = frame.unwrap_or_default();
                self.outcome = Some((ended + TASK, Outcome::Received { is_intact }));
            }
        }
    }

    fn turn(&mut self, state: State) {
        let now = self.raw.now();
        let is_on = !matches!(state, State::Disabled(_));
        match (is_on, self.on_since) {
            (true, None) => self.on_since = Some(now),
            (false, Some(since)) => {
                self.on += now.since(since);
                self.on_since = None;
            }
            _ => {}
        }
        self.state = state;
    }

    fn prepare(&mut self) -> Instant {
        let now = self.raw.now();
        let needs_enable = std::mem::take(&mut self.needs_enable);
        match self.state {
            State::RxIdle if !needs_enable => now,
            State::Disabled(at) => now.max(at) + RAMP_UP,
            _ => now + RAMP_UP,
        }
    }

    fn stop(&mut self) {
        if matches!(self.state, State::Rx(_)) {
            self.turn(State::RxIdle);
        }
        self.outcome = None;
    }
}

/// Stops the receiver when the future that waits for a frame is dropped.
struct Stops<'a>(&'a Nrf);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.chip.borrow_mut().stop();
    }
}

impl Transceiver for Nrf {
    async fn receive(&mut self) -> bool {
        {
            let mut chip = self.chip.borrow_mut();
            let since = chip.prepare();
            chip.turn(State::Rx(since));
        }
        let stops = Stops(self);
        let outcome = std::future::poll_fn(|cx| stops.0.poll_outcome(cx)).await;
        drop(stops);
        self.received.clone_from(&self.chip.borrow().packet);
        outcome == Outcome::Received { is_intact: true }
    }

    fn received(&self) -> Option<(&[u8], RxInfo)> {
        Some((&self.received, nrf52840::rx_info(LQI)))
    }

    fn assess_by(&mut self, assessment: Assessment) {
        let mut chip = self.chip.borrow_mut();
        chip.assessment = assessment;
        chip.needs_enable = true;
    }

    async fn try_send(&mut self, frame: &[u8]) -> bool {
        {
            let mut chip = self.chip.borrow_mut();
            chip.packet = frame.to_vec();
            let at = chip.prepare();
            chip.turn(State::Sends);
            chip.step = Some((at, Step::Assess { first: true }));
        }
        let outcome = std::future::poll_fn(|cx| self.poll_outcome(cx)).await;
        outcome == Outcome::Sent
    }

    fn disable(&mut self) {
        let mut chip = self.chip.borrow_mut();
        let now = chip.raw.now();
        chip.turn(State::Disabled(now));
    }
}

impl Ticker for Nrf {
    /// Returns whole ticks, rounded down.
    fn now(&self) -> Instant {
        at_tick(ticks(self.chip.borrow().raw.now()))
    }

    fn poll_until(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()> {
        // The first tick that is not before the time.
        let due = (ticks(at)..).map(at_tick).find(|it| *it >= at).unwrap();
        // `at_tick` rounds down, so the tick may begin up to 1 µs later.
        let due = due + Duration::from_micros(1);
        let mut chip = self.chip.borrow_mut();
        if chip.raw.now() >= due {
            chip.alarm = None;
            return Poll::Ready(());
        }
        chip.alarm = Some(due);
        chip.advance(cx);
        Poll::Pending
    }
}

fn ticks(at: Instant) -> u64 {
    at.as_micros() * TICKS_PER_S / 1_000_000
}

fn at_tick(ticks: u64) -> Instant {
    Instant::from_micros(ticks * 1_000_000 / TICKS_PER_S)
}

/// The MAC's radio over an [`Nrf`], and the driver's task, which `poll_event` also polls.
pub struct Halves {
    radio: TransceiverRadio<'static, Nrf>,
    operator: Pin<Box<dyn Future<Output = ()>>>,
}

impl Halves {
    pub fn new(nrf: Nrf) -> Halves {
        let exchange: &Exchange = Box::leak(Box::new(Exchange::new()));
        let driver = nrf.clone();
        Halves {
            radio: TransceiverRadio::new(exchange, nrf),
            operator: Box::pin(async move { Operator::new(exchange, driver).run().await }),
        }
    }
}

impl Radio for Halves {
    fn caps(&self) -> RadioCaps {
        self.radio.caps()
    }

    fn set_identity(&mut self, identity: RadioIdentity) {
        self.radio.set_identity(identity);
    }

    fn now(&self) -> Instant {
        self.radio.now()
    }

    fn start(&mut self, work: RadioWork, frame: &[u8]) {
        self.radio.start(work, frame);
    }

    fn poll_event(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<RadioEvent> {
        assert!(self.operator.as_mut().poll(cx).is_pending());
        self.radio.poll_event(cx, until)
    }

    fn frame(&self) -> &[u8] {
        self.radio.frame()
    }
}
