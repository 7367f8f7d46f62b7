//! A run that is shown in a browser, and a run that is recorded.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::time::{Duration as WallDuration, Instant as WallInstant};

use redpoll_base::{Duration, Instant};
use redpoll_linux::signals::Signals;
use redpoll_sim::trace::TraceError;
use redpoll_sim::{Scenario, World, WorldOptions};
use redpoll_web::clock::{Anchor, step_to_frame};
use redpoll_web::message::{ClockAsk, Mode};
use redpoll_web::story::Writer;
use redpoll_web::{Desk, Server};

use crate::args::RunArgs;
use crate::failure::{Failure, asked_to_end, cannot_write};
use crate::modules::Log;
use crate::output::{is_closed_pipe, print};
use crate::web::{self, greeting};
use crate::{FAILED, USAGE};

/// Real time between two checks for requests from browsers.
const TURN: WallDuration = WallDuration::from_millis(15);
/// Longest simulated time between two checks for requests, while a browser is connected.
const SLICE: Duration = Duration::from_millis(500);

pub(super) struct Show {
    desk: Desk,
    signals: Option<Signals>,
    signal: Option<u8>,
    scenario: Scenario,
    file: String,
    anchor: Anchor,
    step: Duration,
    was_watched: bool,
}

/// The number of a signal that has ended a run, and the error of a capture.
type Ended = (Option<u8>, Option<TraceError>);

impl Show {
    pub(super) fn begin(server: Server, world: &World, args: &RunArgs) -> Result<Show, Failure> {
        // Block the signals before the server's threads start: threads inherit the blocked signals.
        let signals = Signals::watch().ok();
        // Use standard error, because the result may go to standard output.
        eprint!("{}", greeting(&server));
        let desk = server.start(world, Mode::Run);
        let mut desk = desk.map_err(|error| (FAILED, error.to_string()))?;
        desk.allow_restart(args.pcap.is_none());
        if args.paused {
            desk.pause();
        }
        Ok(Show {
            desk,
            signals,
            signal: None,
            scenario: world.scenario().clone(),
            file: args.scenario.file.clone(),
            anchor: Anchor::default(),
            step: Duration::from_millis(10),
            was_watched: false,
        })
    }

    /// Runs the world to its end or to a signal, as fast as possible without a browser, otherwise
    /// at the speed that viewers select. Afterwards `stay` can repeat the run.
    pub(super) fn simulate(
        &mut self,
        world: &mut World,
        duration: Duration,
        log: &mut Option<Log>,
    ) -> Result<Ended, Failure> {
        let end = Instant::ZERO + duration;
        let mut capture_failed = None;
        while world.now() < end && !self.is_asked_to_end() {
            self.turn(world, end)?;
            match log {
                Some(log) => log.write(world)?,
                None => drop(world.take_printed()),
            }
            match world.flush_traces() {
                Err(error) if is_closed_pipe(&error.source) => break,
                Err(error) => capture_failed = Some(error),
                Ok(()) => {}
            }
        }
        Ok((self.signal, capture_failed))
    }

    /// Shows the ended run, and its repetitions on request, until a signal.
    pub(super) fn stay(&mut self, world: &mut World, duration: Duration) -> Result<(), Failure> {
        if self.signals.is_none() {
            // Return at once, because without signals the user could not end the program.
            return Ok(());
        }
        let said = print("The page stays available until Ctrl-C.\n");
        said.map_err(|error| cannot_write("to standard output", &error))?;
        while !self.is_asked_to_end() {
            self.turn(world, Instant::ZERO + duration)?;
            drop(world.take_printed());
        }
        Ok(())
    }

    fn is_asked_to_end(&mut self) -> bool {
        let asked = self.signals.as_ref().and_then(asked_to_end);
        self.signal = self.signal.or(asked);
        self.signal.is_some()
    }

    /// Handles requests from browsers; then advances the run, or waits if it is paused or over.
    fn turn(&mut self, world: &mut World, end: Instant) -> Result<(), Failure> {
        self.desk.turn(world);
        match self.desk.take_wish() {
            Some(ClockAsk::Restart) => self.go_to(world, Instant::ZERO)?,
            Some(ClockAsk::Seek(t)) => self.go_to(world, end.min(Instant::from_micros(t)))?,
            Some(ClockAsk::Step) => {
                step_to_frame(world, end);
                self.desk.publish_now(world);
            }
            _ if self.comes_late(world, end) => self.go_to(world, Instant::ZERO)?,
            _ => {}
        }
        let is_over = world.now() >= end;
        if is_over && !self.desk.clock().ended {
            self.desk.publish_now(world);
        }
        self.desk.set_ended(is_over);
        let clock = self.desk.clock();
        if clock.paused || is_over {
            self.anchor = Anchor::default();
            self.desk.wait(TURN);
            return Ok(());
        }
        let speed = clock.speed.filter(|_| self.desk.is_watched());
        let goal = self.anchor.goal(web::now(), world.now().as_micros(), speed);
        let far = world.now() + self.step;
        let until = goal.map_or(far, |goal| far.min(Instant::from_micros(goal)));
        let started = WallInstant::now();
        world.run_until(until.min(end));
        let took = started.elapsed();
        self.step = if self.desk.is_watched() {
            super::next_step(self.step, took * 3).min(SLICE)
        } else {
            super::next_step(self.step, took)
        };
        if goal.is_some_and(|goal| world.now().as_micros() >= goal) {
            self.desk.wait(TURN.saturating_sub(took));
        }
        Ok(())
    }

    /// Returns whether to repeat the run, because the first browser connected after the run's end.
    /// A run that commands have changed is not repeated.
    fn comes_late(&mut self, world: &World, end: Instant) -> bool {
        let is_watched = self.desk.is_watched();
        let is_first = is_watched && !std::mem::replace(&mut self.was_watched, is_watched);
        let is_over = world.now() >= end;
        is_first && is_over && self.desk.clock().restartable && self.desk.commands() == 0
    }

    /// Moves the run to `to` as fast as possible, from its present state or from its beginning.
    fn go_to(&mut self, world: &mut World, to: Instant) -> Result<(), Failure> {
        world.set_live(false);
        if to < world.now() {
            let loader = crate::modules::loader(&self.file);
            let options = WorldOptions {
                loader: Some(&loader),
                guests: Some(&crate::modules::guest),
                ..WorldOptions::default()
            };
            let again = World::with(self.scenario.clone(), options);
            *world = again.map_err(|error| (USAGE, error.to_string()))?;
        }
        while world.now() < to {
            world.run_until(to.min(world.now() + SLICE));
            drop(world.take_printed());
            if self.is_asked_to_end() {
                break;
            }
        }
        self.anchor = Anchor::default();
        self.desk.renew(world);
        Ok(())
    }
}

/// The recording of a run, in a file.
pub(super) struct Record {
    writer: Writer<BufWriter<File>>,
    name: String,
}

impl Record {
    pub(super) fn create(path: &Path, world: &mut World) -> Result<Record, Failure> {
        let name = path.display().to_string();
        let failed = |error: std::io::Error| cannot_write(&name, &error);
        let file = File::create(path).map_err(failed)?;
        let writer = Writer::new(world, BufWriter::with_capacity(1 << 18, file)).map_err(failed)?;
        Ok(Record { writer, name })
    }

    /// Writes the events since the last call; returns the simulated time until the next call.
    pub(super) fn write(&mut self, world: &mut World) -> Result<Duration, Failure> {
        /// Simulated time between two writes. It is short, so that the recording shows smooth
        /// changes and buffers stay small.
        const STEP: Duration = Duration::from_millis(50);
        const MANY: usize = 1_000;
        let frames = self.writer.write(world);
        match frames.map_err(|error| cannot_write(&self.name, &error))? {
            MANY.. => Ok(Duration::from_millis(5)),
            _ => Ok(STEP),
        }
    }

    pub(super) fn flush(&mut self) -> Result<(), Failure> {
        let flushed = self.writer.flush();
        flushed.map_err(|error| cannot_write(&self.name, &error))
    }
}
