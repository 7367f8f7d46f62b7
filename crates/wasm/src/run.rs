//! A world with its clock and its messages for the page.

use std::sync::Arc;
use std::time::Duration as RealDuration;

use redpoll_base::{Duration, Instant};
use redpoll_sim::live::Command;
use redpoll_sim::{Scenario, When, World, WorldOptions};
use redpoll_web::Scribe;
use redpoll_web::clock::{Anchor, step_to_frame};
use redpoll_web::message::{Clock, ClockAsk, FromServer, Mode};

/// The largest mesh. A browser's tab has a part of the computer's memory and one processor.
pub const NODES_MAX: usize = 1_000;
/// Real time of a turn, after which the worker listens to the page again.
const TURN: RealDuration = RealDuration::from_millis(12);
/// Interval between turns of a run that has reached its goal.
const PAUSE: RealDuration = RealDuration::from_millis(10);
/// Real time of a slice of the run.
const SLICE: RealDuration = RealDuration::from_millis(3);
/// The longest slice in simulated time: plots have a point for each slice.
const SLICE_MAX: Duration = Duration::from_millis(200);
/// Interval between messages with the figures of all nodes.
const FIGURES: RealDuration = RealDuration::from_millis(250);

/// A run of a scenario.
pub struct Run {
    scenario: Arc<Scenario>,
    world: World,
    scribe: Scribe,
    clock: Clock,
    anchor: Anchor,
    /// Duration of the next slice in simulated time.
    step: Duration,
    /// Time to which the run goes as fast as possible, without messages.
    jump: Option<Instant>,
    figures_at: RealDuration,
    lines: Vec<String>,
}

impl Run {
    /// Begins a run. Fails with the reason if the scenario cannot run in a browser.
    pub fn begin(mut scenario: Scenario, paused: bool) -> Result<Run, String> {
        let count = scenario.nodes.len();
        if count > NODES_MAX {
            return Err(format!(
                "{}: {count} nodes; a browser simulates at most {NODES_MAX} nodes: simulate fewer \
                 nodes, or use the program: redpoll run FILE --web",
                scenario.name
            ));
        }
        scenario.retain_apps_of(When::Run);
        let scenario = Arc::new(scenario);
        let mut world = build(&scenario)?;
        world.set_live(true);
        let mut run = Run {
            scribe: Scribe::new(&world, Mode::Run),
            scenario,
            world,
            clock: Clock {
                paused,
                speed: Some(1.0),
                ended: false,
                settable: true,
                restartable: true,
            },
            anchor: Anchor::default(),
            step: Duration::from_millis(10),
            jump: None,
            figures_at: RealDuration::ZERO,
            lines: Vec::new(),
        };
        run.introduce();
        Ok(run)
    }

    /// Advances the run for a few milliseconds of `clock`. Returns the time after which another
    /// call is useful; `None` if only a request changes anything.
    pub fn turn(&mut self, clock: impl Fn() -> RealDuration) -> Option<RealDuration> {
        let until = clock() + TURN;
        loop {
            let wait = self.advance(&clock);
            if wait != Some(RealDuration::ZERO) || clock() >= until {
                return wait;
            }
        }
    }

    /// Carries out a request for the clock.
    pub fn set_clock(&mut self, ask: ClockAsk) -> Result<String, String> {
        match self.clock.obey(ask)? {
            Some(ClockAsk::Step) => {
                let end = self.end();
                step_to_frame(&mut self.world, end);
                self.publish(true);
            }
            Some(ClockAsk::Restart) => self.jump_to(Instant::ZERO)?,
            Some(ClockAsk::Seek(t)) => self.jump_to(self.end().min(Instant::from_micros(t)))?,
            _ => {}
        }
        self.anchor = Anchor::default();
        self.tell_clock();
        Ok(String::new())
    }

    /// Carries out a change of the mesh.
    pub fn command(&mut self, command: &Command) -> Result<String, String> {
        let done = self.world.command(command);
        let said = done.map_err(|refusal| refusal.to_string())?;
        self.scribe.set_scene(Scribe::scene_of(&self.world));
        self.lines.push(self.scribe.scene());
        self.publish(true);
        Ok(said)
    }

    pub fn layers(&self, frames: &[String]) -> Option<String> {
        self.scribe.layers(frames)
    }

    pub fn digest(&self) -> u64 {
        self.world.digest()
    }

    pub fn report(&mut self) -> Result<String, String> {
        serde_json::to_string(&self.world.report()).map_err(|error| error.to_string())
    }

    /// Returns the messages for the page since the last call.
    pub fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    /// Advances the run by a slice.
    fn advance(&mut self, clock: impl Fn() -> RealDuration) -> Option<RealDuration> {
        let now = clock();
        if let Some(to) = self.jump {
            self.run_slice(to, &clock);
            if self.world.now() >= to {
                self.arrive();
            }
            return Some(RealDuration::ZERO);
        }
        if self.clock.paused || self.clock.ended {
            return None;
        }
        let goal = self
            .anchor
            .goal(now, self.world.now().as_micros(), self.clock.speed);
        let until = goal.map_or(self.end(), |goal| {
            self.end().min(Instant::from_micros(goal))
        });
        self.run_slice(until, &clock);
        let is_over = self.world.now() >= self.end() || self.world.stall().is_some();
        let figures = is_over || now >= self.figures_at;
        if figures {
            self.figures_at = now + FIGURES;
        }
        self.publish(figures);
        if is_over {
            self.clock.ended = true;
            self.tell_clock();
            return None;
        }
        let is_there = self.world.now() >= until;
        Some(if is_there { PAUSE } else { RealDuration::ZERO })
    }

    fn run_slice(&mut self, until: Instant, clock: impl Fn() -> RealDuration) {
        let started = clock();
        self.world
            .run_until(until.min(self.world.now() + self.step));
        drop(self.world.take_printed());
        let took = clock().saturating_sub(started);
        if took > SLICE {
            self.step = self.step.divided_by(2).max(Duration::from_millis(1));
        } else if took < SLICE / 4 {
            self.step = self.step.times(2).min(SLICE_MAX);
        }
    }

    fn publish(&mut self, figures: bool) {
        if self.jump.is_some() {
            return;
        }
        let (changes, sample) = (self.world.live_changes(), self.world.live_sample());
        let line = self.scribe.changes(&changes, &sample, figures, None);
        self.lines.push(line);
    }

    /// Goes to `to`, from the present state or from the beginning.
    fn jump_to(&mut self, to: Instant) -> Result<(), String> {
        if to < self.world.now() {
            self.world = build(&self.scenario)?;
        }
        self.world.set_live(false);
        self.jump = Some(to);
        if self.world.now() >= to {
            self.arrive();
        }
        Ok(())
    }

    fn arrive(&mut self) {
        self.jump = None;
        self.world.set_live(true);
        self.scribe = Scribe::new(&self.world, Mode::Run);
        self.anchor = Anchor::default();
        self.clock.ended = self.world.now() >= self.end();
        self.introduce();
    }

    fn introduce(&mut self) {
        // The page acts on keystrokes as soon as it has the greeting, and must then know the clock.
        self.tell_clock();
        let scribe = &self.scribe;
        self.lines
            .extend([scribe.hello(), scribe.scene(), scribe.state()]);
    }

    fn tell_clock(&mut self) {
        self.lines.push(FromServer::Clock(self.clock).to_string());
    }

    fn end(&self) -> Instant {
        Instant::ZERO + self.scenario.duration
    }
}

fn build(scenario: &Arc<Scenario>) -> Result<World, String> {
    World::with(Arc::clone(scenario), WorldOptions::default())
        .map_err(|error| format!("{}: {error}", scenario.name))
}
