//! A peer sends resets, urgent data and other segments at random into a window that is mostly
//! closed. A reset at RCV.NXT ends the connection regardless of the window (RFC 9293 §3.4,
//! MUST-66). No other segment does, and the URG bit has no effect.
//!
//! The engine has no urgent mechanism (MUST-30), so there is no urgency to report to the
//! application.

use redpoll_base::Rng;
use redpoll_tcp::{Config, Error, Event, State};
use redpoll_testkit::{Host, RST, Record};
use redpoll_wire::tcp::Flags;

/// Receive buffer in bytes.
const BUFFER: usize = 300;
const URG: Flags = Flags::ACK.with(Flags::URG);

/// Two connections that receive the same segments; for the second, URG is set wherever ACK is.
struct World {
    plain: Host,
    urgent: Host,
    rng: Rng,
    /// The peer's SND.NXT, the edge of our window, and our SND.NXT.
    theirs: u32,
    edge: u32,
    ours: u32,
    is_closing: bool,
    /// Number of segments that reached a closed window.
    shut: u32,
}

impl World {
    fn new(seed: u64) -> World {
        let config = Config {
            sack: false,
            timestamps: false,
            max_retries: 200,
            ..Config::default()
        };
        let host = || Host::established_with(&config, 100, 1_000, 1_000, BUFFER);
        World {
            plain: host(),
            urgent: host(),
            rng: Rng::named(seed, "closed window"),
            theirs: 1,
            edge: 1 + BUFFER as u32,
            ours: 1,
            is_closing: false,
            shut: 0,
        }
    }

    fn below(&mut self, limit: u32) -> u32 {
        self.rng.below(limit.max(1))
    }

    /// Delivers the peer's segment `record` to both connections.
    fn tell(&mut self, record: Record) {
        self.shut += u32::from(self.edge == self.theirs);
        let is_ack = record.control() == Flags::ACK;
        self.plain.send(record.clone());
        self.urgent
            .send(if is_ack { record.flags(URG) } else { record });
    }

    /// Checks that both connections sent the same segments and raised the same events.
    fn look(&mut self) -> Vec<Event> {
        let sent = self.plain.sent();
        assert_eq!(format!("{sent:?}"), format!("{:?}", self.urgent.sent()));
        for record in sent {
            let end = record.seq_number() + record.payload().len() as u32;
            self.ours = self.ours.max(end);
            if let Some(window) = record.window() {
                self.edge = self.edge.max(record.ack_number() + u32::from(window));
            }
        }
        let events = self.plain.events();
        assert_eq!(events, self.urgent.events());
        assert_eq!(self.plain.conn.state(), self.urgent.conn.state());
        events
    }

    /// Makes a segment that must not end the connection.
    fn noise(&mut self) -> Record {
        let (nxt, window) = (self.theirs, self.edge - self.theirs);
        let (near, far) = (1 + self.below(400), 500 + self.below(100_000));
        let old = Record::new().ack(self.ours - self.below(self.ours));
        match self.below(6) {
            // RFC 5961 §3.2: a reset next to RCV.NXT.
            0 => old.flags(RST).seq(nxt + near),
            1 => old.flags(RST).seq(nxt.wrapping_sub(near)),
            2 => old.flags(RST.with(Flags::URG)).seq(nxt + far),
            // Data beyond the window, and old data.
            3 => old.seq(nxt + window + near).len(40),
            4 => old.seq(nxt.wrapping_sub(far)).len(40),
            _ => old.seq(nxt).len(0),
        }
    }

    fn step(&mut self) {
        let window = self.edge - self.theirs;
        match self.below(8) {
            0..=2 => {
                let record = self.noise();
                self.tell(record);
            }
            // The peer fills the window, or sends a byte although it is closed.
            3 | 4 => {
                let len = if window == 0 { 1 } else { window.min(100) };
                let record = Record::new().seq(self.theirs).ack(self.ours);
                self.tell(record.len(len as usize));
                self.theirs += if window == 0 { 0 } else { len };
            }
            5 if self.below(8) == 0 => {
                let len = 1 + self.below(200) as usize;
                assert_eq!(self.plain.read(len), self.urgent.read(len));
            }
            6 if self.below(20) == 0 && !self.is_closing => {
                self.is_closing = true;
                self.plain.close();
                self.urgent.close();
            }
            _ if !self.is_closing => {
                let bytes = vec![b'x'; 1 + self.below(50) as usize];
                for host in [&mut self.plain, &mut self.urgent] {
                    let now = host.now();
                    let _ = host.conn.send(now, &bytes);
                }
            }
            _ => {}
        }
        let events = self.look();
        let is_over = events.iter().any(|it| matches!(it, Event::Failed(_)));
        assert!(!is_over, "{events:?}");
        let pause = [0, 0, 20, 300][self.below(4) as usize];
        self.plain.wait(pause);
        self.urgent.wait(pause);
        self.look();
    }

    /// Makes a reset at RCV.NXT with random other fields.
    fn reset(&mut self) {
        let flags = [RST, RST.with(Flags::ACK), RST.with(URG)][self.below(3) as usize];
        let record = Record::new().flags(flags).seq(self.theirs);
        let ack = [self.ours, 0, self.ours + 70_000][self.below(3) as usize];
        let len = [0, 0, 30][self.below(3) as usize];
        self.tell(record.ack(ack).len(len));
        assert_eq!(self.look().last(), Some(&Event::Failed(Error::Reset)));
        assert_eq!(self.plain.conn.state(), State::Closed);
    }
}

#[test]
fn a_closed_window_does_not_block_a_reset() {
    let (mut shut, mut resets) = (0, 0);
    for seed in 0..600 {
        let result = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            for _ in 0..20 + world.below(100) {
                world.step();
            }
            let is_shut = world.edge == world.theirs;
            world.reset();
            (world.shut, u32::from(is_shut))
        });
        match result {
            Ok(counts) => (shut, resets) = (shut + counts.0, resets + counts.1),
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    assert!(shut > 5_000 && resets > 200, "{shut} {resets}");
}
