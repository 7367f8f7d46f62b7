//! Radios put through `redpoll_radiotest`: the simulator's, each of its chips; one at the end
//! of a serial line; one that is all software; and that one with each of many faults, which
//! are found.

#[path = "support/soft.rs"]
mod soft;
#[path = "support/tester.rs"]
mod tester;

use std::collections::VecDeque;
use std::task::{Context, Waker};

use redpoll_base::Addr;
use redpoll_mac::{Radio, RadioCaps};
use redpoll_radiotest::{IDENTITY, Limits, Report, examine};
use redpoll_sim::ether::{Ether, SimRadio};
use redpoll_sim::radio::{Config, Model};
use redpoll_uart::{Begin, LineRadio, LineServer, Port};

use soft::{Fault, SoftRadio};
use tester::{STATIONS, SUBJECT, SimTester};

fn examined(ether: &Ether, radio: &mut dyn Radio) -> Report {
    let mut tester = SimTester::new(ether);
    examine(radio, &mut tester, Limits::default(), &mut || {
        assert!(ether.step(), "nothing is to come");
    })
}

fn soft(caps: RadioCaps, fault: Option<Fault>) -> Report {
    let ether = Ether::new(STATIONS, &Config::of(Model::Ideal));
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
fn the_simulators_radio_is_as_it_says() {
    for model in [Model::Ideal, Model::Cc2420, Model::At86rf233] {
        let ether = Ether::new(STATIONS, &Config::of(model));
        let report = examined(&ether, &mut ether.radio(SUBJECT));
        assert_eq!(report.failures(), [""; 0], "{model:?}:\n{report}");
        assert_eq!(report.passed(), 23, "{report}");
    }
}

#[test]
fn so_is_a_radio_that_is_all_software() {
    for (caps, asked) in [(NOTHING, 16), (ACKS, 22), (MATCHES, 23), (EVERYTHING, 24)] {
        let report = soft(caps, None);
        assert_eq!(report.failures(), [""; 0], "{caps:?}:\n{report}");
        assert_eq!(report.passed(), asked, "{caps:?}:\n{report}");
    }
}

/// The other end of a line in memory: the simulator's radio.
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

    fn begin_anew(&mut self) {
        panic!("nothing went wrong");
    }
}

#[test]
fn so_is_the_simulators_at_the_end_of_a_line() {
    let ether = Ether::new(STATIONS, &Config::of(Model::At86rf233));
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

/// What a fault makes of a radio that has these abilities.
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
    // And each property is one that some radio lacks.
    let all = soft(EVERYTHING, None).checks;
    let never: Vec<_> = (all.iter().map(|it| it.name))
        .filter(|name| !found.contains(name))
        .collect();
    assert_eq!(never, [""; 0], "no fault is found by these");
}
