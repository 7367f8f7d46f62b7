//! The tester's stations in the simulator: a raw radio that sends, one that sends at the same time
//! to destroy a frame, and one that listens.

use std::task::{Context, Poll, Waker};

use redpoll_base::{Duration, Instant};
use redpoll_radiotest::{By, Reply, Seen, Tester, What};
use redpoll_sim::Ether;
use redpoll_sim::testing::ether::{Answer, RawEvent, RawRadio};

pub const SUBJECT: usize = 0;
pub const STATIONS: usize = 4;

pub struct SimTester {
    speaker: RawRadio,
    spoiler: RawRadio,
    listener: RawRadio,
    /// Ends of the tester's own transmissions.
    own: Vec<Instant>,
}

impl SimTester {
    pub fn new(ether: &Ether) -> SimTester {
        SimTester {
            speaker: ether.raw(1),
            spoiler: ether.raw(2),
            listener: ether.raw(3),
            own: Vec::new(),
        }
    }
}

fn poll(radio: &mut RawRadio) -> Option<RawEvent> {
    let mut cx = Context::from_waker(Waker::noop());
    match radio.poll_event(&mut cx, None) {
        Poll::Ready(event) => event,
        Poll::Pending => None,
    }
}

impl Tester for SimTester {
    fn send_after(&mut self, delay: Duration, frame: &[u8]) {
        let at = self.speaker.now() + delay;
        self.speaker.send_at(at, frame);
    }

    fn spoil_after(&mut self, delay: Duration, frame: &[u8]) {
        self.send_after(delay, frame);
        let at = self.spoiler.now() + delay;
        let other: Vec<u8> = frame.iter().map(|byte| !byte).collect();
        self.spoiler.send_at(at, &other);
    }

    fn reply(&mut self, reply: Option<Reply>) {
        self.speaker
            .reply(reply.map(|reply| redpoll_sim::testing::ether::Reply {
                after: reply.after,
                what: match reply.what {
                    What::Ack { pending, off_by } => Answer::Ack { pending, off_by },
                    What::Frame(frame) => Answer::Frame(frame),
                },
            }));
    }

    fn poll_seen(&mut self) -> Option<Seen> {
        for speaker in [&mut self.speaker, &mut self.spoiler] {
            while let Some(event) = poll(speaker) {
                if let RawEvent::Sent(at) = event {
                    self.own.push(at);
                }
            }
        }
        loop {
            let event = poll(&mut self.listener)?;
            if let RawEvent::Heard {
                began,
                ended,
                frame,
                ..
            } = event
            {
                let by = match self.own.contains(&ended) {
                    true => By::Tester,
                    false => By::Radio,
                };
                return Some(Seen {
                    by,
                    began,
                    ended,
                    frame,
                });
            }
        }
    }
}
