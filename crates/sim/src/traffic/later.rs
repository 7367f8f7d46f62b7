//! An app that starts some time after the beginning of the run.

use redpoll_base::{Duration, Instant};
use redpoll_stack::NodeEvent;

use super::{App, Context};

pub(super) struct Later {
    app: Box<dyn App>,
    delay: Duration,
    /// Start of the app; `None` before the run and after the start.
    start: Option<Instant>,
    has_started: bool,
}

impl Later {
    pub(super) fn wrap(app: Box<dyn App>, delay: Duration) -> Box<dyn App> {
        if delay.is_zero() {
            return app;
        }
        Box::new(Later {
            app,
            delay,
            start: None,
            has_started: false,
        })
    }
}

impl App for Later {
    fn start(&mut self, cx: &mut Context<'_>) {
        self.start = Some(cx.now + self.delay);
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        if self.has_started {
            self.app.on_event(cx, event);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        match self.start.take() {
            Some(_) => {
                self.has_started = true;
                self.app.start(cx);
            }
            None => self.app.on_timer(cx),
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        match self.start {
            Some(start) => Some(start),
            None if self.has_started => self.app.next_timer(),
            None => None,
        }
    }

    fn restart(&mut self, cx: &mut Context<'_>) -> bool {
        // The app does not wait for its start time: with state in flash it continues at once.
        self.app.restart(cx)
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        self.app.losses()
    }
}
