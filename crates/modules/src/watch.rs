//! Detects firmware that never waits: a thread measures how long the current node has been running.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(50);

pub(crate) struct Watch {
    /// Number of times that a node has begun or stopped running; odd while a node runs.
    turn: AtomicU64,
    who: AtomicUsize,
    nodes: Mutex<Vec<Watched>>,
    is_over: AtomicBool,
}

#[derive(Clone)]
struct Watched {
    name: String,
    patience: Duration,
}

pub(crate) struct Ward {
    watch: Arc<Watch>,
    number: usize,
}

impl Watch {
    /// Starts the watch thread, which calls `on_hang` with a line about a node that runs too long.
    pub(crate) fn begin(on_hang: impl Fn(&str) + Send + 'static) -> Arc<Watch> {
        let watch = Arc::new(Watch {
            turn: AtomicU64::new(0),
            who: AtomicUsize::new(0),
            nodes: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let watched = Arc::clone(&watch);
        std::thread::spawn(move || watched.look(on_hang));
        watch
    }

    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn join(self: &Arc<Watch>, name: &str, patience: Duration) -> Ward {
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.push(Watched {
            name: name.to_owned(),
            patience,
        });
        Ward {
            watch: Arc::clone(self),
            number: nodes.len() - 1,
        }
    }

    fn look(&self, on_hang: impl Fn(&str)) {
        let mut seen = (0, Instant::now());
        while !self.is_over.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            let turn = self.turn.load(Ordering::Acquire);
            if turn.is_multiple_of(2) || turn != seen.0 {
                seen = (turn, Instant::now());
                continue;
            }
            let who = self.who.load(Ordering::Relaxed);
            let nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(Watched { name, patience }) = nodes.get(who).cloned() else {
                continue;
            };
            drop(nodes);
            if seen.1.elapsed() >= patience {
                on_hang(&format!(
                    "nodes.{name}.module: the module hangs: it has run for {:.1} s without waiting; \
                     allowed: at most {:.1} s (modules.patience)",
                    seen.1.elapsed().as_secs_f64(),
                    patience.as_secs_f64()
                ));
                seen.1 = Instant::now();
            }
        }
    }
}

impl Ward {
    pub(crate) fn during<R>(&self, run: impl FnOnce() -> R) -> R {
        self.watch.who.store(self.number, Ordering::Relaxed);
        self.watch.turn.fetch_add(1, Ordering::Release);
        let result = run();
        self.watch.turn.fetch_add(1, Ordering::Release);
        result
    }
}
