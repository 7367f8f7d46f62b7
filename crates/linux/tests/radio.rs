//! A radio co-processor at the other end of a pseudo-terminal. It behaves correctly or wrongly:
//! garbage, resets, late or missing answers, a line that disappears.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::openpty;
use nix::unistd::ttyname;
use redpoll_base::{Instant, Rng};
use redpoll_linux::gateway::Clock;
use redpoll_linux::radio::Radio;
use redpoll_linux::radio::hdlc::{Decoder, encode};
use redpoll_linux::radio::line::LineSpec;
use redpoll_linux::radio::rcp::{Event, Identity, Rcp, packed};
use redpoll_linux::radio::spec::RadioSpec;
use redpoll_linux::radio::spinel::{Command, Message, property, radio_caps, status};
use redpoll_stack::mac::RadioResult;
use redpoll_testkit::has_terminals;
use redpoll_wire::hdlc::Frame;

const IDENTITY: Identity = Identity {
    channel: 20,
    pan_id: 0x7270,
    short: 1,
    extended: [2, 0x72, 0x70, 0, 0, 0, 0, 1],
    max_csma_backoffs: 4,
    max_frame_retries: 3,
};

const FRAME: [u8; 11] = [0x61, 0x98, 7, 0x70, 0x72, 2, 0, 1, 0, b'h', b'i'];

/// The fake's reaction to the next frame to send.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mood {
    Acknowledge,
    Ignore,
    ChannelBusy,
    Reset,
    /// The radio does not answer before the next request, and then answers.
    Late,
    Garbage,
}

/// The firmware of a radio co-processor, imitated.
struct Fake {
    tty: File,
    decoder: Decoder,
    mood: Mood,
    late: Option<u8>,
    seen: Sender<(u32, Vec<u8>)>,
}

impl Fake {
    fn run(mut self, moods: Receiver<Option<Mood>>) {
        let mut buffer = [0; 512];
        loop {
            let mut fds = [PollFd::new(self.tty.as_fd(), PollFlags::POLLIN)];
            let _ = poll(&mut fds, PollTimeout::from(5u8));
            match moods.try_recv() {
                Ok(Some(mood)) => self.mood = mood,
                Ok(None) | Err(std::sync::mpsc::TryRecvError::Disconnected) => return,
                Err(std::sync::mpsc::TryRecvError::Empty) => {}
            }
            let ready = fds[0]
                .revents()
                .is_some_and(|it| it.contains(PollFlags::POLLIN));
            if !ready {
                continue;
            }
            let Ok(len) = self.tty.read(&mut buffer) else {
                continue;
            };
            let bytes = buffer[..len].to_vec();
            for byte in bytes {
                if let Some(Frame::Good(frame)) = self.decoder.input(byte) {
                    let frame = frame.to_vec();
                    self.on_frame(&frame);
                }
            }
        }
    }

    fn say(&mut self, tid: u8, property: u32, value: &[u8]) {
        let message = Message {
            tid,
            command: Command::Is,
            property,
            value,
        };
        let _ = self.tty.write_all(&encode(&message.to_frame()));
    }

    fn reset(&mut self) {
        let power_on = packed(status::RESET_BEGIN);
        self.say(0, property::LAST_STATUS, &power_on);
    }

    fn on_frame(&mut self, frame: &[u8]) {
        let Some(message) = Message::parse(frame) else {
            return;
        };
        if let Some(tid) = self.late.take() {
            self.say(tid, property::LAST_STATUS, &[0, 0, 1]);
        }
        match (message.command, message.property) {
            (Command::Reset, _) => {
                let _ = self.tty.write_all(b"\x00\xffbootloader v0.1\r\n\x7e\x7e~~");
                self.reset();
            }
            (Command::Get, property::PROTOCOL_VERSION) => {
                self.say(message.tid, message.property, &[4, 3]);
            }
            (Command::Get, property::NCP_VERSION) => {
                self.say(message.tid, message.property, b"FAKE/1.0\0");
            }
            (Command::Get, property::RADIO_CAPS) => {
                let caps = radio_caps::ACK_TIMEOUT | radio_caps::CSMA_BACKOFF;
                self.say(message.tid, message.property, &packed(caps));
            }
            (Command::Set, property::STREAM_RAW) => {
                self.note(&message);
                self.transmit(message.tid);
            }
            (Command::Set, _) => {
                self.note(&message);
                self.say(message.tid, message.property, message.value);
            }
            _ => {}
        }
    }

    fn note(&self, message: &Message<'_>) {
        let _ = self.seen.send((message.property, message.value.to_vec()));
    }

    fn transmit(&mut self, tid: u8) {
        match self.mood {
            Mood::Acknowledge => self.say(tid, property::LAST_STATUS, &[0, 1, 1]),
            Mood::Garbage => {
                let mut rng = Rng::new(3);
                let noise: Vec<u8> = (0..700).map(|_| rng.next_u32() as u8).collect();
                let _ = self.tty.write_all(&noise);
                let _ = self.tty.write_all(&encode(&[0x80, 6, 0x71, 1]));
                self.say(tid, property::LAST_STATUS, &[0, 1, 1]);
            }
            Mood::Ignore => self.say(tid, property::LAST_STATUS, &packed(status::NO_ACK)),
            Mood::ChannelBusy => {
                self.say(tid, property::LAST_STATUS, &packed(status::CCA_FAILURE));
            }
            Mood::Reset => self.reset(),
            Mood::Late => self.late = Some(tid),
        }
    }
}

/// A simulated radio on a pseudo-terminal, to which the symbolic link `link` points.
struct Stick {
    moods: Sender<Option<Mood>>,
    seen: Receiver<(u32, Vec<u8>)>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Stick {
    fn plug_in(link: &Path) -> Stick {
        let pty = openpty(None, None).unwrap();
        let name = ttyname(&pty.slave).unwrap();
        let _ = std::fs::remove_file(link);
        std::os::unix::fs::symlink(name, link).unwrap();
        let (moods, orders) = channel();
        let (sender, seen) = channel();
        let fake = Fake {
            tty: File::from(pty.master),
            decoder: Decoder::default(),
            mood: Mood::Acknowledge,
            late: None,
            seen: sender,
        };
        let thread = std::thread::spawn(move || {
            // Kept open, because the line ends when its last descriptor closes.
            let _slave = pty.slave;
            fake.run(orders);
        });
        Stick {
            moods,
            seen,
            thread: Some(thread),
        }
    }

    fn set(&self, mood: Mood) {
        self.moods.send(Some(mood)).unwrap();
        std::thread::sleep(StdDuration::from_millis(20));
    }

    fn unplug(mut self) {
        self.moods.send(None).unwrap();
        self.thread.take().unwrap().join().unwrap();
    }
}

struct Bench {
    radio: Radio,
    clock: Clock,
    troubles: Vec<String>,
}

impl Bench {
    fn open(link: &Path) -> Bench {
        let clock = Clock::start();
        let spec = RadioSpec::Spinel(LineSpec::Uart {
            path: link.to_owned(),
            baud: 115_200,
        });
        Bench {
            radio: Radio::open(&spec, IDENTITY, clock.now()).unwrap(),
            clock,
            troubles: Vec::new(),
        }
    }

    fn next(&mut self) -> Event {
        let begin = StdInstant::now();
        while begin.elapsed() < StdDuration::from_secs(15) {
            self.radio.turn(self.clock.now());
            match self.radio.poll_event() {
                Some(Event::Trouble(text)) => self.troubles.push(text),
                Some(event) => return event,
                None => std::thread::sleep(StdDuration::from_millis(1)),
            }
        }
        panic!("nothing happens: {:?}", self.troubles);
    }

    fn ready(&mut self) {
        let event = self.next();
        let Event::Ready { version, caps } = event else {
            panic!("{event:?}");
        };
        assert_eq!(version, "FAKE/1.0");
        assert!(caps.auto_ack && caps.csma && caps.source_match && !caps.retries);
    }

    fn send(&mut self) -> RadioResult {
        self.radio.transmit(self.clock.now(), &FRAME, true);
        match self.next() {
            Event::Done(result) => result,
            other => panic!("{other:?}"),
        }
    }

    fn was_told(&self, what: &str) -> bool {
        self.troubles.iter().any(|text| text.contains(what))
    }
}

fn link(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("radio-{name}-{}", std::process::id()))
}

const ACKED: RadioResult = RadioResult::Acked {
    frame_pending: true,
};

#[test]
fn a_radio_is_set_up_and_sends() {
    if !has_terminals("a_radio_is_set_up_and_sends") {
        return;
    }
    let link = link("sends");
    let stick = Stick::plug_in(&link);
    let mut bench = Bench::open(&link);
    bench.ready();
    assert_eq!(bench.send(), ACKED);
    stick.set(Mood::Ignore);
    assert_eq!(bench.send(), RadioResult::NoAck);
    stick.set(Mood::ChannelBusy);
    assert_eq!(bench.send(), RadioResult::ChannelBusy);
    let seen: Vec<_> = stick.seen.try_iter().collect();
    for (property, value) in [
        (property::PHY_CHAN, &[20][..]),
        (property::MAC_15_4_PANID, &[0x70, 0x72]),
        (property::MAC_15_4_SADDR, &[1, 0]),
        (property::MAC_15_4_LADDR, &IDENTITY.extended),
        (property::MAC_RAW_STREAM_ENABLED, &[1]),
    ] {
        assert!(seen.contains(&(property, value.to_vec())), "{property:#x}");
    }
    let raw = seen
        .iter()
        .find(|(p, _)| *p == property::STREAM_RAW)
        .unwrap();
    let expected = [&[13, 0], &FRAME[..], &[0, 0], &[20, 4, 3, 1, 1, 0, 1]].concat();
    assert_eq!(raw.1, expected);
    assert!(bench.troubles.is_empty(), "{:?}", bench.troubles);
    stick.unplug();
    let _ = std::fs::remove_file(link);
}

#[test]
fn a_misbehaving_radio_is_reported_and_set_up_again() {
    if !has_terminals("a_misbehaving_radio_is_reported_and_set_up_again") {
        return;
    }
    let link = link("misbehaves");
    let stick = Stick::plug_in(&link);
    let mut bench = Bench::open(&link);
    bench.ready();

    stick.set(Mood::Garbage);
    assert_eq!(bench.send(), ACKED);

    stick.set(Mood::Reset);
    assert_eq!(bench.send(), RadioResult::NoAck);
    assert!(
        bench.was_told("the radio was reset"),
        "{:?}",
        bench.troubles
    );
    bench.ready();
    stick.set(Mood::Acknowledge);
    assert_eq!(bench.send(), ACKED);

    stick.set(Mood::Late);
    assert_eq!(bench.send(), RadioResult::NoAck);
    assert!(
        bench.was_told("the outcome of a frame"),
        "{:?}",
        bench.troubles
    );
    stick.set(Mood::Acknowledge);
    bench.ready();
    assert_eq!(bench.send(), ACKED, "the late answer was for another");

    stick.unplug();
    let gone = bench.send_while_gone();
    assert_ne!(gone, ACKED);
    assert!(bench.was_told("has disconnected"), "{:?}", bench.troubles);
    let stick = Stick::plug_in(&link);
    bench.ready();
    assert_eq!(bench.send(), ACKED);
    stick.unplug();
    let _ = std::fs::remove_file(link);
}

impl Bench {
    /// Waits until the loss of the line is detected, then sends as [`Bench::send`] does.
    fn send_while_gone(&mut self) -> RadioResult {
        while !self.was_told("has disconnected") {
            self.radio.turn(self.clock.now());
            while let Some(event) = self.radio.poll_event() {
                if let Event::Trouble(text) = event {
                    self.troubles.push(text);
                }
            }
            std::thread::sleep(StdDuration::from_millis(1));
        }
        assert!(self.radio.fd().is_none());
        self.send()
    }
}

/// Checks the reports about a program that is not a radio, and about one that ends at once.
#[test]
fn a_process_without_the_radio_protocol_is_reported() {
    if !has_terminals("a_process_without_the_radio_protocol_is_reported") {
        return;
    }
    for program in ["/bin/cat", "/bin/true"] {
        let clock = Clock::start();
        let spec = RadioSpec::Spinel(LineSpec::Process {
            program: program.into(),
            arguments: Vec::new(),
            account: None,
        });
        let radio = Radio::open(&spec, IDENTITY, clock.now()).unwrap();
        let mut bench = Bench {
            radio,
            clock,
            troubles: Vec::new(),
        };
        while bench.troubles.is_empty() {
            bench.radio.turn(bench.clock.now());
            match bench.radio.poll_event() {
                Some(Event::Trouble(text)) => bench.troubles.push(text),
                Some(event) => panic!("{program}: {event:?}"),
                None => std::thread::sleep(StdDuration::from_millis(1)),
            }
            assert!(
                bench.clock.now() < Instant::from_millis(20_000),
                "{program}"
            );
        }
    }
    let spec = RadioSpec::Spinel(LineSpec::Process {
        program: "/no/such/program".into(),
        arguments: Vec::new(),
        account: None,
    });
    assert!(Radio::open(&spec, IDENTITY, Instant::ZERO).is_err());
}

/// Arbitrary bytes over the line cause no panic; memory is bounded, and each transmission ends.
#[test]
fn random_messages_do_no_harm() {
    for seed in 0..200 {
        let mut rng = Rng::new(seed);
        let mut rcp = Rcp::new(IDENTITY);
        let mut now = Instant::from_millis(1);
        rcp.on_connected(now);
        let (mut sent, mut done) = (0, 0);
        for _ in 0..400 {
            now += redpoll_base::Duration::from_millis(rng.below(400).into());
            let properties = [
                0, 1, 2, 0x20, 0x21, 0x34, 0x35, 0x36, 0x37, 0x71, 0x120b, 0x1303,
            ];
            let property = properties[rng.below(12) as usize];
            let len = rng.below(30) as usize;
            let mut value: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
            if property == 1 {
                value = vec![4, 3];
            }
            let message = Message {
                tid: rng.below(16) as u8,
                command: Command::Is,
                property,
                value: &value,
            };
            let mut line = encode(&message.to_frame());
            if rng.below(5) == 0 {
                let at = rng.below(line.len() as u32) as usize;
                line[at] ^= 1 << rng.below(8);
            }
            rcp.input(now, &line);
            rcp.on_timeout(now);
            if rng.below(4) == 0 && sent == done {
                rcp.transmit(now, &FRAME, true);
                sent += 1;
            }
            assert!(rcp.output().len() < 64 * 1_024);
            rcp.output().clear();
            while let Some(event) = rcp.poll_event() {
                done += usize::from(matches!(event, Event::Done(_)));
            }
        }
        for _ in 0..20 {
            now += redpoll_base::Duration::from_millis(4_000);
            rcp.on_timeout(now);
            while let Some(event) = rcp.poll_event() {
                done += usize::from(matches!(event, Event::Done(_)));
            }
        }
        assert_eq!(sent, done, "seed {seed}");
    }
}

/// A radio that sends reset notices for ever and reads nothing takes no more memory than one
/// that behaves, and is reported.
#[test]
fn endless_reset_notices_are_bounded_and_reported() {
    let mut rcp = Rcp::new(IDENTITY);
    rcp.on_connected(Instant::ZERO);
    let message = Message {
        tid: 0,
        command: Command::Is,
        property: property::LAST_STATUS,
        value: &packed(status::RESET_BEGIN),
    };
    let notice = encode(&message.to_frame());
    let (mut longest, mut reports) = (0, Vec::new());
    // A hundred notices in each of 6,000 ms, as many as a fast line can carry.
    for ms in 0..6_000 {
        let now = Instant::from_millis(ms);
        for _ in 0..100 {
            rcp.input(now, &notice);
        }
        rcp.on_timeout(now);
        longest = longest.max(rcp.output().len());
        while let Some(event) = rcp.poll_event() {
            match event {
                Event::Trouble(text) => reports.push(text),
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(longest < 1_000, "{longest} bytes wait for the line");
    let said = "the radio resets repeatedly";
    assert!(reports.iter().any(|it| it.contains(said)), "{reports:?}");
    assert!(reports.len() <= 8, "{reports:?}");
    assert_eq!(rcp.counters().reset_notices, 600_000);
    assert!(rcp.counters().unanswered > 0);
}

/// If a radio reads nothing, the queue of requests to it does not grow without limit.
#[test]
fn a_radio_that_reads_nothing_is_bounded() {
    let mut rcp = set_up_rcp();
    for round in 0..100_000 {
        rcp.set_pending(2, round % 2 == 0);
    }
    assert!(rcp.output().len() <= 16 * 1_024);
    assert!(rcp.counters().unsent > 0);
}

fn set_up_rcp() -> Rcp {
    let mut rcp = Rcp::new(IDENTITY);
    let now = Instant::ZERO;
    rcp.on_connected(now);
    let mut decoder = Decoder::default();
    while !rcp.is_ready() {
        let bytes: Vec<u8> = rcp.output().drain(..).collect();
        for byte in bytes {
            let Some(Frame::Good(frame)) = decoder.input(byte) else {
                continue;
            };
            let asked = Message::parse(frame).unwrap();
            let (power_on, caps) = (packed(status::RESET_BEGIN), packed(0));
            let (property, value) = match (asked.command, asked.property) {
                (Command::Reset, _) => (property::LAST_STATUS, &power_on[..]),
                (Command::Get, property::PROTOCOL_VERSION) => (asked.property, &[4, 3][..]),
                (Command::Get, property::NCP_VERSION) => (asked.property, &b"FAKE\0"[..]),
                (Command::Get, _) => (asked.property, &caps[..]),
                _ => (asked.property, asked.value),
            };
            let answer = Message {
                tid: asked.tid,
                command: Command::Is,
                property,
                value,
            };
            rcp.input(now, &encode(&answer.to_frame()));
        }
    }
    rcp
}
