//! `redpoll up --tui`: the mesh in the terminal, through the interface of the live view ([ADR
//! 22](../../../../../docs/adr/0022-a-seam-for-viewers.md)).
//!
//! - `view`: the state to show, made from samples of the world, independent of a terminal;
//! - `draw`: its layout on a screen of any size;
//! - `screen`: the terminal, which is restored at the end.

mod draw;
mod screen;
mod view;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use redpoll_base::{Duration, Instant};
use redpoll_sim::World;

use screen::Screen;
use view::{Key, View};

pub(super) use screen::refuse_without_terminal;

/// Interval between two drawings of the screen when no key is pressed.
const TURN: Duration = Duration::from_millis(250);

pub(super) struct Tui {
    screen: Screen,
    view: View,
    next: Instant,
    stdin: io::Stdin,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    GoOn,
    End,
}

impl Tui {
    /// Switches the terminal to the view. Fails if the terminal cannot be set up.
    pub(super) fn start(world: &World) -> io::Result<Tui> {
        Ok(Tui {
            view: View::of(world),
            screen: Screen::take()?,
            next: Instant::ZERO,
            stdin: io::stdin(),
        })
    }

    /// Returns the mesh time at which [`turn`](Self::turn) is due.
    pub(super) fn next_turn(&self) -> Instant {
        self.next
    }

    /// Adds a line of another part of the program to the log.
    pub(super) fn log(&mut self, line: &str) {
        self.view.log(line.trim());
    }

    /// Handles the pressed keys. Draws the view after a key, and whenever `next` is reached. Fails
    /// if the terminal cannot be read or written.
    pub(super) fn turn(&mut self, world: &mut World, now: Instant) -> io::Result<Wish> {
        let mut is_new = now >= self.next;
        while event::poll(std::time::Duration::ZERO)? {
            is_new = true;
            if let Event::Key(pressed) = event::read()?
                && let Some(key) = key(&pressed)
            {
                if key == Key::End {
                    return Ok(Wish::End);
                }
                self.press(key, world);
            }
        }
        if is_new {
            self.next = now + TURN;
            self.view.see(&world.live_sample());
            let view = &self.view;
            self.screen.draw(|frame| draw::draw(frame, view))?;
        }
        Ok(Wish::GoOn)
    }

    fn press(&mut self, key: Key, world: &mut World) {
        for command in self.view.press(key) {
            match world.command(&command) {
                Ok(done) => self.view.log(&done),
                Err(refusal) => self.view.log(&format!("refused: {refusal}")),
            }
        }
    }
}

impl AsFd for Tui {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stdin.as_fd()
    }
}

fn key(pressed: &KeyEvent) -> Option<Key> {
    if pressed.kind == KeyEventKind::Release {
        return None;
    }
    // In raw mode the terminal does not turn Ctrl-C into a signal.
    if pressed.modifiers.contains(KeyModifiers::CONTROL) {
        return (pressed.code == KeyCode::Char('c')).then_some(Key::End);
    }
    Some(match pressed.code {
        KeyCode::Char('q') => Key::End,
        KeyCode::Up | KeyCode::Char('k') => Key::Up,
        KeyCode::Down | KeyCode::Char('j') => Key::Down,
        KeyCode::Char('x') => Key::Power,
        KeyCode::Char('l') => Key::Lose,
        KeyCode::Char('t') => Key::Transfer,
        KeyCode::Char('p' | ' ') => Key::Pause,
        _ => return None,
    })
}
