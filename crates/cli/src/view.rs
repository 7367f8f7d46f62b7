//! `redpoll view`: a finished run in a browser.

use std::fs::File;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use redpoll_linux::signals::Signals;
use redpoll_results::folder;
use redpoll_web::Desk;
use redpoll_web::clock::Anchor;
use redpoll_web::message::ClockAsk;
use redpoll_web::story::{Reader, StoryError};

use crate::args::ViewArgs;
use crate::failure::{Failure, asked_to_end};
use crate::output::{self, fail};
use crate::web;
use crate::{FAILED, USAGE};

/// Interval between two checks of the clock.
const TURN: Duration = Duration::from_millis(15);

pub fn run(args: &ViewArgs) -> ExitCode {
    match view(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, line)) => fail(code, line),
    }
}

fn view(args: &ViewArgs) -> Result<(), Failure> {
    let file = folder::file(&args.file, folder::RECORDING);
    let name = file.display();
    let signals = Signals::watch().map_err(|error| (FAILED, error.to_string()))?;
    let file =
        File::open(&file).map_err(|error| (FAILED, format!("cannot read {name}: {error}")))?;
    let mut reader = Reader::open(file).map_err(|error| {
        let code = match error {
            StoryError::Read(_) => FAILED,
            _ => USAGE,
        };
        (code, format!("{name}: {error}"))
    })?;
    if reader.is_cut() {
        eprintln!("warning: {name} is truncated; the page shows the frames that the file contains");
    }
    let server = web::listen_at(args.web)?;
    let said = output::print(&web::greeting(&server));
    said.map_err(|error| (FAILED, error.to_string()))?;
    let lost = |error: std::io::Error| (FAILED, format!("cannot read {name}: {error}"));
    let story = reader.seek(0).map_err(lost)?;
    let desk = server.start_recording(story);
    let desk = desk.map_err(|error| (FAILED, error.to_string()))?;
    let mut player = Player {
        end: reader.end(),
        reader,
        desk,
        t: 0,
        next: None,
        anchor: Anchor::default(),
    };
    while asked_to_end(&signals).is_none() {
        player.turn().map_err(lost)?;
        player.desk.wait(TURN);
    }
    Ok(())
}

struct Player {
    reader: Reader<File>,
    desk: Desk,
    end: u64,
    t: u64,
    next: Option<(u64, String)>,
    anchor: Anchor,
}

impl Player {
    fn turn(&mut self) -> std::io::Result<()> {
        self.desk.turn_without_world();
        match self.desk.take_wish() {
            Some(ClockAsk::Restart) => self.go_to(0)?,
            Some(ClockAsk::Seek(t)) => self.go_to(t)?,
            Some(ClockAsk::Step) => {
                self.tell_next()?;
            }
            _ => {}
        }
        let clock = self.desk.clock();
        if clock.paused || clock.ended || !self.desk.is_watched() {
            self.anchor = Anchor::default();
            return Ok(());
        }
        let goal = match self.anchor.goal(web::now(), self.t, clock.speed) {
            Some(goal) => goal,
            None => self.end,
        };
        let until = Instant::now() + TURN;
        while Instant::now() < until {
            self.fetch()?;
            match &self.next {
                Some((t, _)) if *t <= goal => {
                    if !self.tell_next()? {
                        break;
                    }
                }
                _ => break,
            }
        }
        self.t = self.t.max(goal.min(self.end));
        if self.next.is_none() {
            self.desk.set_ended(true);
        }
        Ok(())
    }

    fn fetch(&mut self) -> std::io::Result<()> {
        if self.next.is_none() {
            let line = self.reader.read()?;
            self.next = line.map(|(t, line)| (t, line.to_owned()));
        }
        Ok(())
    }

    /// Sends the next line; `false` if the server's queue is full, or the recording has ended.
    fn tell_next(&mut self) -> std::io::Result<bool> {
        self.fetch()?;
        let Some((t, line)) = &self.next else {
            return Ok(false);
        };
        let told = self.desk.say(line);
        if told {
            self.t = self.t.max(*t);
            self.next = None;
        }
        Ok(told)
    }

    fn go_to(&mut self, t: u64) -> std::io::Result<()> {
        let story = self.reader.seek(t.min(self.end))?;
        self.desk.jump(story);
        self.desk.set_ended(false);
        self.next = None;
        self.t = t.min(self.end);
        self.anchor = Anchor::default();
        Ok(())
    }
}
