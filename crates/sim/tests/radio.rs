//! Radios tested with `redpoll_radiotest`: the simulator's radio with each of its chips; one at the
//! end of a serial line; one over a driver that only receives and sends, as in `embassy-nrf`; and a
//! software radio, also with each of many faults, all of which are detected.

#[path = "support/nrf.rs"]
pub mod nrf;
#[path = "support/soft.rs"]
mod soft;
#[path = "support/tester.rs"]
mod tester;

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use redpoll_base::{Addr, Duration, Instant};
use redpoll_mac::{Radio, RadioCaps, RadioEvent, RadioResult, RadioWork};
use redpoll_radiotest::{IDENTITY, Limits, Report, examine};
use redpoll_sim::{Ether, RadioConfig, RadioModel, SimRadio};
use redpoll_uart::{Begin, LineRadio, LineServer, Port};

use nrf::{Halves, Nrf};
use soft::{Fault, SoftRadio};
use tester::{STATIONS, SUBJECT, SimTester};

fn examined(ether: &Ether, radio: &mut dyn Radio) -> Report {
    let mut tester = SimTester::new(ether);
    examine(radio, &mut tester, Limits::default(), &mut || {
        assert!(ether.step(), "no event is pending");
    })
}

fn soft(caps: RadioCaps, fault: Option<Fault>) -> Report {
    let ether = Ether::new(STATIONS, &RadioConfig::from(RadioModel::Ideal));
    let mut radio = SoftRadio::new(ether.raw(SUBJECT), caps, fault);
    examined(&ether, &mut radio)
}

const NOTHING: RadioCaps = RadioCaps {
    auto_ack: false,
    csma: false,
    retries: false,
    source_match: false,
};
const ACKS: RadioCaps = RadioCaps {
    auto_ack: true,
    ..NOTHING
};
const MATCHES: RadioCaps = RadioCaps {
    source_match: true,
    ..ACKS
};
const EVERYTHING: RadioCaps = RadioCaps {
    csma: true,
    retries: true,
    ..MATCHES
};

#[test]
fn the_simulated_radio_passes_the_radio_test() {
    for model in [RadioModel::Ideal, RadioModel::Cc2420, RadioModel::At86rf233] {
        let ether = Ether::new(STATIONS, &RadioConfig::from(model));
        let report = examined(&ether, &mut ether.radio(SUBJECT));
        assert_eq!(report.failures(), [""; 0], "{model:?}:\n{report}");
        assert_eq!(report.passed(), 23, "{report}");
    }
}

#[test]
fn a_software_radio_passes_the_radio_test() {
    for (caps, asked) in [(NOTHING, 16), (ACKS, 22), (MATCHES, 23), (EVERYTHING, 24)] {
        let report = soft(caps, None);
        assert_eq!(report.failures(), [""; 0], "{caps:?}:\n{report}");
        assert_eq!(report.passed(), asked, "{caps:?}:\n{report}");
    }
}

/// The simulator's radio, at the other end of a line in memory.
struct FarEnd {
    server: LineServer<SimRadio>,
    comes: VecDeque<u8>,
}

impl Port for FarEnd {
    fn read(&mut self) -> Option<u8> {
        if self.comes.is_empty() {
            let mut cx = Context::from_waker(Waker::noop());
            let _ = self.server.poll(&mut cx, |byte| self.comes.push_back(byte));
        }
        self.comes.pop_front()
    }

    fn write(&mut self, byte: u8) {
        self.server.input(byte, |byte| self.comes.push_back(byte));
    }

    fn restart(&mut self) {
        panic!("nothing went wrong");
    }
}

#[test]
fn the_simulated_radio_over_a_line_passes_the_radio_test() {
    let ether = Ether::new(STATIONS, &RadioConfig::from(RadioModel::At86rf233));
    let begin = Begin {
        pan_id: IDENTITY.pan_id,
        short: IDENTITY.short,
        extended: IDENTITY.extended,
        caps: RadioCaps::default(),
        prefix: Addr::UNSPECIFIED,
        parent: Begin::NO_PARENT,
        secret: [0; 16],
        random: [0; 2],
        first_tag: 0,
    };
    let mut comes = VecDeque::new();
    let radio = ether.radio(SUBJECT);
    let server = LineServer::new(radio, begin, 7, |byte| comes.push_back(byte));
    let mut radio = LineRadio::new(FarEnd { server, comes });
    assert!(radio.poll_begin().is_some());
    let report = examined(&ether, &mut radio);
    assert_eq!(report.failures(), [""; 0], "{report}");
    assert_eq!((report.passed(), radio.lost(), radio.damaged()), (23, 0, 0));
}

fn over_a_driver() -> (Ether, Nrf, Halves) {
    let ether = Ether::new(STATIONS, &RadioConfig::from(RadioModel::Ideal));
    let nrf = Nrf::new(ether.raw(SUBJECT));
    let halves = Halves::new(nrf.clone());
    (ether, nrf, halves)
}

#[test]
fn a_driver_without_acknowledgments_passes_the_radio_test() {
    let (ether, _, mut radio) = over_a_driver();
    let report = examined(&ether, &mut radio);
    assert_eq!(report.failures(), [""; 0], "{report}");
    assert_eq!(report.passed(), 16, "{report}");
}

/// Polls a radio until it has an event.
fn next(ether: &Ether, radio: &mut dyn Radio, until: Instant) -> RadioEvent {
    let mut cx = Context::from_waker(Waker::noop());
    loop {
        match radio.poll_event(&mut cx, Some(until)) {
            Poll::Ready(event) => return event,
            Poll::Pending => assert!(ether.step(), "no event is pending"),
        }
    }
}

/// Checks that the command to sleep switches the chip off, at once and again after a transmission.
#[test]
fn sleep_switches_a_chip_without_acknowledgments_off() {
    let (ether, nrf, mut radio) = over_a_driver();
    let us = Duration::from_micros;
    let on = |radio: &mut Halves, time: Duration| {
        let before = nrf.on();
        let until = radio.now() + time;
        while next(&ether, radio, until) != RadioEvent::Time {}
        nrf.on() - before
    };
    assert!(on(&mut radio, us(10_000)) > us(9_900));
    for rest in [RadioWork::Sleep, RadioWork::Doze] {
        radio.start(rest, &[]);
        assert_eq!(on(&mut radio, us(10_000)), us(0), "{rest:?}");
        radio.start(RadioWork::Load, &[0x41, 0x88, 1, 2, 3, 4, 5, 6, 7]);
        let done = next(&ether, &mut radio, Instant::FAR_FUTURE);
        assert_eq!(done, RadioEvent::Done(RadioResult::Loaded));
        radio.start(RadioWork::Transmit { cca: true }, &[]);
        // 130 µs ramp-up, 128 assessment, 130 ramp-up, 17 bytes with preamble and FCS.
        let sending = on(&mut radio, us(10_000));
        assert!(sending > us(900) && sending < us(1_000), "{sending:?}");
        radio.start(RadioWork::Listen, &[]);
        assert!(on(&mut radio, us(10_000)) > us(9_900));
    }
}

/// Checks that redundant commands cost nothing: a frame in reception arrives although the node
/// repeats its command to listen, or announces pending data for a neighbour.
#[test]
fn redundant_orders_lose_no_frame() {
    let (ether, _, mut radio) = over_a_driver();
    radio.set_identity(IDENTITY);
    let mut other = ether.raw(SUBJECT + 1);
    let mut frame = vec![0x41, 0x88, 9, 0x70, 0x72, 0xff, 0xff, 0x22, 0x00];
    frame.resize(60, 0);
    other.send_at(Instant::from_millis(2), &frame);
    for until_us in [2_500, 2_900] {
        let until = Instant::from_micros(until_us);
        assert_eq!(next(&ether, &mut radio, until), RadioEvent::Time);
        radio.start(RadioWork::Listen, &[]);
        let (neighbour, pending) = (7, true);
        radio.start(RadioWork::SourceMatch { neighbour, pending }, &[]);
    }
    let event = next(&ether, &mut radio, Instant::from_millis(20));
    assert!(matches!(event, RadioEvent::Frame(_)), "{event:?}");
    assert_eq!(radio.frame(), frame);
}

const FAULTS: &[(Fault, RadioCaps)] = &[
    (Fault::TimeComesEarly, ACKS),
    (Fault::DropsBroadcasts, ACKS),
    (Fault::DropsShort, ACKS),
    (Fault::IgnoresExtended, ACKS),
    (Fault::CutsLongFrames, ACKS),
    (Fault::KeepsFcs, ACKS),
    (Fault::HearsTwice, ACKS),
    (Fault::HandsOverDamaged, ACKS),
    (Fault::LosesEverySecond, ACKS),
    (Fault::AckLate, ACKS),
    (Fault::AckEarly, ACKS),
    (Fault::AckMissing, ACKS),
    (Fault::AckOfAnother, ACKS),
    (Fault::AcksEverybody, ACKS),
    (Fault::AcksUnasked, ACKS),
    (Fault::AlwaysPending, ACKS),
    (Fault::AlwaysPending, MATCHES),
    (Fault::NeverPending, MATCHES),
    (Fault::PendingForAll, MATCHES),
    (Fault::PendingUntold, MATCHES),
    (Fault::PendingForEver, MATCHES),
    (Fault::SendsTwice, ACKS),
    (Fault::DropsLastByte, ACKS),
    (Fault::ForgetsFrame, ACKS),
    (Fault::ReceivedOverwrites, ACKS),
    (Fault::SentTooEarly, ACKS),
    (Fault::SentTooLate, ACKS),
    (Fault::AlwaysLooks, ACKS),
    (Fault::NeverLooks, ACKS),
    (Fault::NeverLooks, EVERYTHING),
    (Fault::BusyForEver, ACKS),
    (Fault::NeverGivesUp, EVERYTHING),
    (Fault::TakesAnyAck, ACKS),
    (Fault::LosesPendingBit, ACKS),
    (Fault::HandsOverAck, ACKS),
    (Fault::GivesUpTooEarly, ACKS),
    (Fault::GivesUpTooLate, ACKS),
    (Fault::NeverRepeats, EVERYTHING),
    (Fault::DeafAfterwards, ACKS),
    (Fault::DeafAfterwards, NOTHING),
    (Fault::HearsAsleep, ACKS),
    (Fault::SleepsForEver, ACKS),
    (Fault::CannotSendAsleep, ACKS),
    (Fault::NoEnd, ACKS),
    (Fault::ClaimsAck, NOTHING),
];

#[test]
fn every_fault_is_found() {
    let mut found = std::collections::BTreeSet::new();
    for (fault, caps) in FAULTS {
        let report = soft(*caps, Some(*fault));
        assert!(!report.failures().is_empty(), "{fault:?} is not found");
        found.extend(report.failures());
    }
    // Every check must fail for at least one fault.
    let all = soft(EVERYTHING, None).checks;
    let never: Vec<_> = (all.iter().map(|it| it.name))
        .filter(|name| !found.contains(name))
        .collect();
    assert_eq!(never, [""; 0], "no fault is found by these");
}
