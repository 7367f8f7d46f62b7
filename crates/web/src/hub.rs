//! The state that all browsers share: the scribe, the kept messages, and the list of browsers.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::broadcast;

use crate::message::{Clock, FromServer};
use crate::scribe::{self, Scribe};
use crate::story::Story;

/// Maximum number of messages that a browser may be behind before it gets a new snapshot.
const BEHIND: usize = 128;
/// Bytes of messages kept for browsers that connect later.
const KEPT_BYTES: usize = 8 << 20;

pub(crate) type Message = Arc<str>;

pub(crate) struct Hub {
    room: Mutex<Room>,
    sender: broadcast::Sender<Message>,
    watchers: Arc<AtomicUsize>,
}

struct Room {
    source: Source,
    clock: Clock,
    kept: VecDeque<Message>,
    kept_bytes: usize,
}

impl Hub {
    pub(crate) fn new(source: Source, clock: Clock, watchers: Arc<AtomicUsize>) -> Hub {
        Hub {
            room: Mutex::new(Room {
                source,
                clock,
                kept: VecDeque::new(),
                kept_bytes: 0,
            }),
            sender: broadcast::Sender::new(BEHIND),
            watchers,
        }
    }

    /// Begins another run, with another scribe.
    pub(crate) fn renew(&self, source: Source) {
        let mut room = self.room();
        room.forget();
        room.source = source;
        for message in room.source.beginning() {
            self.say(message);
        }
    }

    pub(crate) fn publish(&self, act: impl FnOnce(&mut Scribe) -> String) {
        let mut room = self.room();
        if let Source::Scribe(scribe) = &mut room.source {
            let message: Message = act(scribe).into();
            room.keep(message.clone());
            self.say(message);
        }
    }

    pub(crate) fn line(&self, line: String) {
        let message: Message = line.into();
        self.room().keep(message.clone());
        self.say(message);
    }

    pub(crate) fn set_clock(&self, clock: Clock) {
        let mut room = self.room();
        room.clock = clock;
        self.say(FromServer::Clock(clock).to_string().into());
    }

    /// Returns the messages for a browser that connects now, and its subscription to later ones.
    pub(crate) fn join(&self) -> (Vec<Message>, broadcast::Receiver<Message>) {
        let mut room = self.room();
        if self.watchers.fetch_add(1, Ordering::SeqCst) == 0 {
            // Changes were not recorded while no browser was connected.
            room.forget();
        }
        // The page acts on keystrokes as soon as it has the greeting, and must then know the clock.
        let mut messages = vec![FromServer::Clock(room.clock).to_string().into()];
        messages.extend(room.source.beginning());
        messages.extend(room.kept.iter().cloned());
        (messages, self.sender.subscribe())
    }

    pub(crate) fn leave(&self) {
        self.watchers.fetch_sub(1, Ordering::SeqCst);
    }

    /// Returns the present state for a browser that has fallen behind, and its new subscription.
    pub(crate) fn snapshot(&self) -> (Vec<Message>, broadcast::Receiver<Message>) {
        let room = self.room();
        let mut messages = room.source.beginning();
        // Omits the greeting, which would begin another run in the browser.
        messages.remove(0);
        messages.push(FromServer::Clock(room.clock).to_string().into());
        (messages, self.sender.subscribe())
    }

    pub(crate) fn layers(&self, frames: &[String]) -> Option<String> {
        let room = self.room();
        scribe::layers(
            frames,
            match &room.source {
                Source::Scribe(scribe) => scribe.contexts(),
                Source::Story(story) => &story.contexts,
            },
        )
    }

    fn say(&self, message: Message) {
        // Ignores the error: without a connected browser, the message has no receiver.
        let _ = self.sender.send(message);
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        // After a panic, at worst a message is missing.
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) enum Source {
    Scribe(Box<Scribe>),
    Story(Box<Story>),
}

impl Source {
    /// Returns the first messages for a browser: the run, the links, the state.
    fn beginning(&self) -> Vec<Message> {
        match self {
            Source::Scribe(scribe) => [scribe.hello(), scribe.scene(), scribe.state()]
                .into_iter()
                .map(Message::from)
                .collect(),
            Source::Story(story) => [&story.hello, &story.scene, &story.state]
                .into_iter()
                .map(|line| line.as_str().into())
                .collect(),
        }
    }
}

impl Room {
    fn keep(&mut self, message: Message) {
        self.kept_bytes += message.len();
        self.kept.push_back(message);
        while self.kept_bytes > KEPT_BYTES {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.kept_bytes -= oldest.len();
        }
    }

    fn forget(&mut self) {
        self.kept.clear();
        self.kept_bytes = 0;
    }
}
