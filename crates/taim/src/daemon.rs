//! The loop between the kernel's queue and the engine.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration as StdDuration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::Signal;
use nix::sys::time::TimeSpec;
use redpoll_assist::taim::{Input, Taim};
use redpoll_base::Duration;
use redpoll_linux::gateway::Clock;
use redpoll_linux::nfqueue::NfQueue;
use redpoll_linux::signals::{self, Notice, Signals};
use redpoll_page::Page;
use tracing::{error, info, warn};

use super::Heap;
use super::args::Options;
use super::config::ConfigFile;
use super::events::Events;
use super::reports::Reports;
use super::settings::Settings;
use super::tell::{Snapshot, Status, Times};
use redpoll_program::log;
use redpoll_program::notify::Supervisor;

/// Maximum number of packets that are taken from the kernel before due packets leave.
const BURST: usize = 64;
/// Longest time until the loop notices an HTTP request.
const MAX_WAIT: StdDuration = StdDuration::from_millis(100);

/// Step by which the limit of the kernel's queue changes.
const LIMIT_STEP: u32 = 64;

/// Opens the queue, with an engine without flows.
pub(super) type Begin = Box<dyn Fn(&Settings) -> io::Result<(NfQueue, Taim<Heap, u32>)>>;

/// The source of the settings, which the daemon reads again at SIGHUP.
pub(super) struct Reload {
    pub(super) options: Options,
    pub(super) file: ConfigFile,
    /// Whether SIGHUP ends the program instead of reloading the settings: if the program runs on a
    /// terminal, SIGHUP means that the terminal is closed.
    pub(super) ends_on_hangup: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    Over,
    /// The terminal stops the program until a signal continues it.
    Stopped,
}

pub(super) struct Daemon {
    queue: NfQueue,
    taim: Taim<Heap, u32>,
    begin: Begin,
    clock: Clock,
    signals: Signals,
    metrics: Option<Page>,
    supervisor: Supervisor,
    settings: Settings,
    reload: Reload,
    events: Events,
    /// Maximum number of packets that the kernel holds in its queue.
    limit: u32,
    times: Times,
    /// Delay, after the time at which it was due, of each packet that leaves in this turn.
    turn: Vec<Duration>,
}

impl Daemon {
    pub(super) fn new(
        begin: Begin,
        signals: Signals,
        supervisor: Supervisor,
        settings: Settings,
        reload: Reload,
    ) -> io::Result<Self> {
        let (queue, taim) = begin(&settings)?;
        Ok(Daemon {
            queue,
            taim,
            begin,
            clock: Clock::start(),
            signals,
            metrics: None,
            supervisor,
            limit: settings.margin,
            events: Events::new(settings.interface.clone()),
            settings,
            reload,
            times: Times::default(),
            turn: Vec::with_capacity(4 * BURST),
        })
    }

    pub(super) fn answers(&mut self, page: Page) {
        self.metrics = Some(page);
    }

    /// Runs until a signal, and then releases all held packets. Ctrl-Z also releases the packets
    /// and suspends the program. Packets pass until the program continues.
    pub(super) fn live(mut self, mut json: Option<Reports>) -> io::Result<()> {
        let mut status = Status::new();
        self.events.start(self.settings.is_interface_named);
        loop {
            self.supervisor.ready();
            let lived = self.rounds(&mut json, &mut status);
            status.clear();
            let freed = self.queue.accept_all();
            if lived? == Ended::Over {
                return freed;
            }
            freed?;
            signals::stop()?;
            (self.queue, self.taim) = (self.begin)(&self.settings)?;
            self.limit = self.settings.margin;
            self.events.restart();
        }
    }

    fn rounds(&mut self, json: &mut Option<Reports>, status: &mut Status) -> io::Result<Ended> {
        let mut write_at = self.clock.now() + self.settings.every();
        loop {
            self.supervisor.lives();
            let is_busy = self.turn()?;
            let now = self.clock.now();
            if let Some(page) = self.metrics.as_ref().filter(|page| page.is_asked()) {
                page.answer(self.snapshot().prometheus());
            }
            if let Some(file) = json.as_mut().filter(|_| now >= write_at) {
                write_at = now + self.settings.every();
                if !file.write(&self.snapshot().json()) {
                    *json = None;
                }
            }
            if status.is_due(now) {
                status.show(now, &self.taim);
            }
            self.events.report(now, &self.taim, self.queue.overflows());
            while let Some(notice) = self.signals.next()? {
                match notice {
                    Notice::End(Signal::SIGHUP) if !self.reload.ends_on_hangup => {
                        self.read_settings();
                    }
                    Notice::End(_) => {
                        if let Some(file) = json {
                            file.write(&self.snapshot().json());
                        }
                        return Ok(Ended::Over);
                    }
                    Notice::Stop => return Ok(Ended::Stopped),
                    Notice::Child => {}
                }
            }
            if !is_busy {
                self.wait()?;
            }
        }
    }

    /// Reads the settings again. If they have an error, the old ones stay.
    fn read_settings(&mut self) {
        let path = self.reload.file.path().display();
        let settings = match Settings::read(&self.reload.options, &self.reload.file) {
            Ok(settings) => settings,
            Err((_, line)) => {
                error!("the settings were not reloaded: {line}");
                return;
            }
        };
        for name in settings.fixed_differences(&self.settings) {
            warn!("a new value of {name} applies only after a restart");
        }
        self.taim.set_params(settings.params());
        log::set_level(settings.log_level);
        info!(file = %path, "the settings were reloaded");
        self.settings = settings.with_fixed_of(&self.settings);
    }

    /// Moves packets from the kernel to the engine, and returns to the kernel those that may leave.
    /// Returns whether the kernel's queue may contain more packets.
    fn turn(&mut self) -> io::Result<bool> {
        let now = self.clock.now();
        let mut taken = 0;
        while taken < BURST {
            let Some(packet) = self.queue.recv()? else {
                break;
            };
            taken += 1;
            match self.taim.input(now, packet.bytes, packet.id) {
                Input::Pass(id) | Input::WaitInstead(id) => self.queue.accept(id)?,
                Input::Wait => {}
            }
        }
        let now = self.clock.now();
        while let Some(packet) = self.taim.poll(now) {
            self.queue.accept(packet.handle)?;
            self.times.waited.add(packet.waited);
            self.turn.push(packet.late);
        }
        self.keep_limit();
        self.queue.flush()?;
        if !self.turn.is_empty() {
            let took = self.clock.now().since(now);
            for late in self.turn.drain(..) {
                self.times.late.add(late + took);
            }
        }
        Ok(taken == BURST)
    }

    /// Adapts the limit of the kernel's queue, which also counts the packets held here. The limit
    /// exceeds the number of held packets by about `--margin`: if this program is stopped or hangs,
    /// the queue soon overflows, and packets pass.
    fn keep_limit(&mut self) {
        let held = self.taim.waiting_packets().next_multiple_of(LIMIT_STEP);
        let wanted = held.saturating_add(self.settings.margin);
        if wanted > self.limit || wanted + 2 * LIMIT_STEP < self.limit {
            self.queue.limit(wanted);
            self.limit = wanted;
        }
    }

    fn wait(&self) -> io::Result<()> {
        let now = self.clock.now();
        let due = self.taim.poll_at().map(|wake| wake.at.since(now));
        let due = due.map_or(MAX_WAIT, |due| StdDuration::from_micros(due.as_micros()));
        let mut fds = [
            PollFd::new(self.queue.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        let timeout = TimeSpec::from_duration(due.min(MAX_WAIT));
        match ppoll(&mut fds, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn snapshot(&self) -> Snapshot {
        let overflows = self.events.overflows();
        Snapshot::of(self.clock.now(), &self.taim, self.times, overflows)
    }
}
