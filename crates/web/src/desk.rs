//! The simulation's end of the live view.
//!
//! The driver of a world calls [`Desk::turn`] between two steps, and wakes up when
//! [`Desk::fd`](AsFd) is readable or [`Desk::next_turn`] was reached. No call waits: if the server
//! is behind, events stay on the world's bounded tape.

use std::collections::VecDeque;
use std::io::Read as _;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};

use redpoll_sim::World;
use redpoll_sim::live::{Changes, Command, Refusal, Sample};
use tokio::sync::oneshot;

use crate::message::{Clock, ClockAsk, Mode, Scene};
use crate::scribe::Scribe;
use crate::story::Story;

/// Interval between two messages to browsers about changes.
const TURN: Duration = Duration::from_millis(20);
/// Interval between two messages with the figures of all nodes.
const FIGURES: Duration = Duration::from_millis(250);

#[derive(Debug)]
pub(crate) enum DeskMessage {
    Changes(Box<Batch>),
    Scene(Scene),
    Clock(Clock),
    Renewed(Box<Scribe>),
    /// A recording continues at another time.
    Jumped(Box<Story>),
    Line(String),
}

/// The changes up to a time, and the state at that time.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) changes: Changes,
    pub(crate) sample: Sample,
    pub(crate) figures: bool,
    pub(crate) wall_ms: Option<f64>,
}

pub(crate) struct Request {
    pub(crate) what: BrowserRequest,
    pub(crate) answer: oneshot::Sender<Result<String, String>>,
}

pub(crate) enum BrowserRequest {
    Clock(ClockAsk),
    Mesh(Command),
}

/// The simulation's end of the live view.
#[derive(Debug)]
pub struct Desk {
    pub(crate) news: tokio::sync::mpsc::Sender<DeskMessage>,
    pub(crate) requests: mpsc::Receiver<Request>,
    pub(crate) watchers: Arc<AtomicUsize>,
    /// Socket at which a byte arrives when requests wait.
    pub(crate) bell: UnixStream,
    pub(crate) mode: Mode,
    pub(crate) clock: Clock,
    pub(crate) next: Option<Instant>,
    pub(crate) figures_at: Instant,
    /// Messages that wait for the server, in addition to changes.
    pub(crate) outbox: VecDeque<DeskMessage>,
    pub(crate) wants: Option<ClockAsk>,
    pub(crate) commands: u64,
}

impl Desk {
    pub fn pause(&mut self) {
        self.set_clock(Clock {
            paused: true,
            ..self.clock
        });
    }

    /// Sets whether the run has ended; a run may continue after its end.
    pub fn set_ended(&mut self, ended: bool) {
        self.set_clock(Clock {
            ended,
            ..self.clock
        });
    }

    pub fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Returns the number of commands carried out so far.
    pub fn commands(&self) -> u64 {
        self.commands
    }

    /// Returns the time at which [`turn`](Self::turn) is due, if a browser is connected.
    pub fn next_turn(&self) -> Option<Instant> {
        self.next.filter(|_| self.is_watched())
    }

    /// Carries out requests, and sends changes to the server if they are due. [`Desk::take_wish`]
    /// returns the requests that only the driver can carry out.
    pub fn turn(&mut self, world: &mut World) {
        self.hear_bell();
        self.carry_out(Some(world));
        self.flush();
        if !self.is_watched() {
            if self.next.take().is_some() {
                world.set_live(false);
            }
            return;
        }
        let now = Instant::now();
        if self.next.is_none() {
            world.set_live(true);
            self.figures_at = now;
        } else if self.next.is_some_and(|next| now < next) {
            return;
        }
        self.next = Some(now + TURN);
        self.publish(world, now);
    }

    /// Sends changes to the server at once.
    pub fn publish_now(&mut self, world: &mut World) {
        if self.is_watched() && self.next.is_some() {
            let now = Instant::now();
            self.figures_at = now;
            self.publish(world, now);
        }
    }

    /// Returns the clock's request that only the driver can handle: a restart, or a jump in time.
    pub fn take_wish(&mut self) -> Option<ClockAsk> {
        self.wants.take()
    }

    /// Sets the clock of the run, and announces a change.
    pub fn set_clock(&mut self, clock: Clock) {
        if self.clock != clock {
            self.clock = clock;
            self.post(DeskMessage::Clock(clock));
        }
    }

    /// Handles requests without a world, for a recording.
    pub fn turn_without_world(&mut self) {
        self.hear_bell();
        self.carry_out(None);
        self.flush();
    }

    /// Sends the next line of a recording; `false` without sending if the server is behind.
    #[must_use]
    pub fn say(&mut self, line: &str) -> bool {
        self.flush();
        self.outbox.is_empty()
            && self
                .news
                .try_send(DeskMessage::Line(line.to_owned()))
                .is_ok()
    }

    /// Continues a recording at another place.
    pub fn jump(&mut self, story: Story) {
        self.post(DeskMessage::Jumped(Box::new(story)));
    }

    pub fn wait(&mut self, most: Duration) {
        // Without a timeout the read would wait for ever, and a timeout of 0 is invalid.
        let most = most.max(Duration::from_millis(1));
        let _ = self.bell.set_nonblocking(false);
        let _ = self.bell.set_read_timeout(Some(most));
        let mut byte = [0];
        let _ = self.bell.read(&mut byte);
        let _ = self.bell.set_nonblocking(true);
    }

    fn post(&mut self, news: DeskMessage) {
        self.outbox.push_back(news);
        self.flush();
    }

    fn flush(&mut self) {
        while !self.outbox.is_empty() {
            let Ok(room) = self.news.try_reserve() else {
                return;
            };
            if let Some(news) = self.outbox.pop_front() {
                room.send(news);
            }
        }
    }

    /// Sets whether the page may restart the run.
    pub fn allow_restart(&mut self, may: bool) {
        self.set_clock(Clock {
            restartable: may,
            ..self.clock
        });
    }

    pub fn renew(&mut self, world: &mut World) {
        let scribe = Box::new(Scribe::new(world, self.mode));
        // Messages of the previous run that wait are dropped.
        self.outbox.clear();
        self.post(DeskMessage::Renewed(scribe));
        if self.next.is_some() {
            world.set_live(true);
        }
    }

    fn publish(&mut self, world: &mut World, now: Instant) {
        self.flush();
        let Ok(room) = self.news.try_reserve() else {
            return;
        };
        if !self.outbox.is_empty() {
            return;
        }
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let wall_ms = since_1970.map(|it| it.as_secs_f64() * 1e3).ok();
        let figures = now >= self.figures_at;
        if figures {
            self.figures_at = now + FIGURES;
        }
        room.send(DeskMessage::Changes(Box::new(Batch {
            changes: world.live_changes(),
            sample: world.live_sample(),
            figures,
            wall_ms: wall_ms.filter(|_| self.mode == Mode::Up),
        })));
    }

    fn hear_bell(&mut self) {
        let mut bytes = [0; 64];
        while self.bell.read(&mut bytes).is_ok_and(|len| len > 0) {}
    }

    fn carry_out(&mut self, mut world: Option<&mut World>) {
        while let Ok(Request { what, answer }) = self.requests.try_recv() {
            let said = match (what, &mut world) {
                (BrowserRequest::Clock(ask), _) => self.set(ask),
                (BrowserRequest::Mesh(command), Some(world)) => self.command(world, &command),
                (BrowserRequest::Mesh(_), None) => {
                    Err("this recording cannot be changed".to_owned())
                }
            };
            // Ignores the error: the requester may have disconnected.
            let _ = answer.send(said);
        }
    }

    fn command(&mut self, world: &mut World, command: &Command) -> Result<String, String> {
        if self.mode == Mode::Up && matches!(command, Command::Attack { .. }) {
            return Err("attacks run in simulations only: redpoll run SCENARIO --web".to_owned());
        }
        let said = world
            .command(command)
            .map_err(|refusal: Refusal| refusal.to_string())?;
        self.commands += 1;
        self.post(DeskMessage::Scene(Scribe::scene_of(world)));
        self.figures_at = Instant::now();
        self.next = self.next.map(|_| Instant::now());
        Ok(said)
    }

    fn set(&mut self, ask: ClockAsk) -> Result<String, String> {
        let mut clock = self.clock;
        if let Some(wish) = clock.obey(ask)? {
            self.wants = Some(wish);
        }
        self.set_clock(clock);
        Ok(String::new())
    }
}

impl AsFd for Desk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
