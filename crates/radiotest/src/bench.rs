//! The radio under test and the tester, with a record of what both report.

use std::task::{Context, Poll, Waker};

use redpoll_base::{Duration, Instant};
use redpoll_mac::{Radio, RadioCaps, RadioEvent, RadioResult, RadioWork, RxInfo};
use redpoll_wire::ieee802154::timing;

use crate::frames::as_ack;
use crate::tester::{By, Reply, Seen, Tester, What};
use crate::{Finding, Limits, Outcome};

/// Time after which an unfinished operation of the radio is regarded as hanging.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time after which no frame is on the air. The last report may take [`Limits::report`] longer.
const QUIET: Duration = Duration::from_millis(12);

pub(crate) struct Heard {
    pub(crate) info: RxInfo,
    pub(crate) frame: Vec<u8>,
}

pub(crate) struct Bench<'a> {
    radio: &'a mut dyn Radio,
    tester: &'a mut dyn Tester,
    idle: &'a mut dyn FnMut(),
    pub(crate) limits: Limits,
    pub(crate) caps: RadioCaps,
    heard: Vec<Heard>,
    dsn: u8,
    last: Instant,
}

pub(crate) fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

/// Returns the air time of a frame; `len` does not count the FCS.
pub(crate) fn on_air(len: usize) -> Duration {
    us(timing::air_time_us(len + 2))
}

pub(crate) fn passed() -> Finding {
    Ok(Outcome::Passed)
}

/// Returns the observation `seen` as an error if `is_so` is false.
pub(crate) fn ensure(is_so: bool, seen: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(seen()) }
}

impl<'a> Bench<'a> {
    pub(crate) fn new(
        radio: &'a mut dyn Radio,
        tester: &'a mut dyn Tester,
        limits: Limits,
        idle: &'a mut dyn FnMut(),
    ) -> Self {
        Bench {
            caps: radio.caps(),
            last: radio.now(),
            radio,
            tester,
            idle,
            limits,
            heard: Vec::new(),
            dsn: 0x40,
        }
    }

    /// Returns a sequence number that has not been used recently.
    pub(crate) fn dsn(&mut self) -> u8 {
        self.dsn = self.dsn.wrapping_add(1);
        self.dsn
    }

    pub(crate) fn now(&self) -> Instant {
        self.radio.now()
    }

    pub(crate) fn next(&mut self, until: Instant) -> Result<RadioEvent, String> {
        let mut cx = Context::from_waker(Waker::noop());
        loop {
            match self.radio.poll_event(&mut cx, Some(until)) {
                Poll::Ready(event) => {
                    let now = self.radio.now();
                    ensure(now >= self.last, || {
                        "the radio's clock has moved backwards".to_owned()
                    })?;
                    self.last = now;
                    return Ok(event);
                }
                Poll::Pending => (self.idle)(),
            }
        }
    }

    fn note(&mut self, info: RxInfo) {
        let frame = self.radio.frame().to_vec();
        self.heard.push(Heard { info, frame });
    }

    pub(crate) fn wait(&mut self, time: Duration) -> Result<(), String> {
        let until = self.now() + time;
        loop {
            match self.next(until)? {
                RadioEvent::Time if self.now() >= until => return Ok(()),
                RadioEvent::Time => {
                    return Err("the event Time came before the requested time".to_owned());
                }
                RadioEvent::Frame(info) => self.note(info),
                RadioEvent::Done(result) => {
                    return Err(format!(
                        "the radio reported {result:?}, but no operation was in progress"
                    ));
                }
            }
        }
    }

    /// Waits until all frames have ended and all events have been reported.
    pub(crate) fn quiet(&mut self) -> Result<(), String> {
        self.wait(QUIET + self.limits.report)
    }

    pub(crate) fn work(
        &mut self,
        work: RadioWork,
        frame: &[u8],
    ) -> Result<(RadioResult, Duration), String> {
        let began = self.now();
        self.radio.start(work, frame);
        let until = began + PATIENCE;
        loop {
            match self.next(until)? {
                RadioEvent::Done(result) => return Ok((result, self.now().since(began))),
                RadioEvent::Frame(info) => self.note(info),
                RadioEvent::Time => {
                    return Err(format!("the radio did not report the end of {work:?}"));
                }
            }
        }
    }

    pub(crate) fn load(&mut self, frame: &[u8]) -> Result<(), String> {
        let (result, _) = self.work(RadioWork::Load, frame)?;
        ensure(result == RadioResult::Loaded, || {
            format!("Load ended in {result:?}; expected: Loaded")
        })
    }

    pub(crate) fn transmit(&mut self, cca: bool) -> Result<(RadioResult, Duration), String> {
        self.work(RadioWork::Transmit { cca }, &[])
    }

    pub(crate) fn set(&mut self, work: RadioWork) {
        self.radio.start(work, &[]);
    }

    /// Makes the tester send a frame, and waits until all events have been reported. Returns the
    /// frames that the radio delivered, and the frames that it sent. Each sent frame has its delay
    /// after the end of the tester's frame.
    pub(crate) fn say(&mut self, frame: &[u8]) -> Result<Said, String> {
        self.tester.send_after(us(1_000), frame);
        self.quiet()?;
        let seen = self.seen();
        let own = seen.iter().find(|it| it.by == By::Tester);
        let ended = own
            .ok_or("the tester does not report its own frame; check the tester")?
            .ended;
        let acks = seen.iter().filter(|it| it.by == By::Radio).map(|it| {
            let frame = it.frame.as_deref().unwrap_or_default();
            let after = it.began.since(ended);
            Ack {
                after,
                what: as_ack(frame),
                frame: frame.to_vec(),
            }
        });
        Ok(Said {
            sent: acks.collect(),
            heard: std::mem::take(&mut self.heard),
        })
    }

    pub(crate) fn tester(&mut self) -> &mut dyn Tester {
        &mut *self.tester
    }

    pub(crate) fn reply(&mut self, after: u64, what: What) {
        let after = us(after);
        self.tester.reply(Some(Reply { after, what }));
    }

    /// Returns the frames that the tester received or sent since the last call.
    pub(crate) fn seen(&mut self) -> Vec<Seen> {
        std::iter::from_fn(|| self.tester.poll_seen()).collect()
    }

    /// Returns the frames that the radio has sent since the last call.
    pub(crate) fn sent(&mut self) -> Vec<Option<Vec<u8>>> {
        let by_radio = self.seen().into_iter().filter(|it| it.by == By::Radio);
        by_radio.map(|it| it.frame).collect()
    }

    pub(crate) fn heard(&mut self) -> Vec<Heard> {
        std::mem::take(&mut self.heard)
    }

    pub(crate) fn settle(&mut self) {
        self.radio.start(RadioWork::Listen, &[]);
        self.tester.reply(None);
        // Ignore the error: it follows from an earlier failure, which has been reported.
        let _ = self.quiet();
        self.seen();
        self.heard.clear();
    }
}

pub(crate) struct Said {
    pub(crate) heard: Vec<Heard>,
    pub(crate) sent: Vec<Ack>,
}

pub(crate) struct Ack {
    /// Delay of the acknowledgement after the end of the tester's frame.
    pub(crate) after: Duration,
    /// Sequence number and frame-pending bit of the acknowledgement, if it is an Imm-ACK.
    pub(crate) what: Option<(u8, bool)>,
    pub(crate) frame: Vec<u8>,
}

impl Said {
    /// Checks that the radio has delivered only `frame`, and only once.
    pub(crate) fn is_heard(&self, frame: &[u8]) -> Result<(), String> {
        match self.heard.as_slice() {
            [one] if one.frame == frame => Ok(()),
            [] => Err("the frame was not passed up".to_owned()),
            [one] if one.frame.len() == frame.len() + 2 => {
                Err("the frame was passed up with its FCS".to_owned())
            }
            [_] => Err("the frame was passed up with wrong bytes".to_owned()),
            more => Err(format!("the frame was passed up {} times", more.len())),
        }
    }

    pub(crate) fn is_unanswered(&self) -> Result<(), String> {
        ensure(self.sent.is_empty(), || {
            format!(
                "the radio sent {:02x?}; expected: no frame",
                self.sent[0].frame
            )
        })
    }
}
