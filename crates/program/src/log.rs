//! The log on standard error: one line for each event, with its fields. For systemd's journal, each
//! line begins with its level as in sd-daemon(3).

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicU8, Ordering};

use clap::ValueEnum;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, registry};

use crate::output;

/// Levels of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    Error,
    /// Lost reports and packets, a vanished interface or radio
    Warn,
    /// Start, end, reload, an interface or radio that appears
    Info,
    /// Details, such as each change between holding packets and forwarding them at once
    Debug,
}

/// The least severe level that is written, which a reload may change.
static LEVEL: AtomicU8 = AtomicU8::new(LogLevel::Info as u8);

pub fn set_level(level: LogLevel) {
    LEVEL.store(level as u8, Ordering::Relaxed);
}

/// Starts writing the events of this process to standard error. Only the first call has an effect.
pub fn begin(level: LogLevel) {
    set_level(level);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .event_format(Lines {
            to_journal: std::env::var_os("JOURNAL_STREAM").is_some() && !io::stderr().is_terminal(),
        });
    let subscriber = registry().with(Chosen(lines));
    let _ = tracing::subscriber::set_global_default(subscriber);
}

fn rank(level: &Level) -> u8 {
    match *level {
        Level::ERROR => LogLevel::Error as u8,
        Level::WARN => LogLevel::Warn as u8,
        Level::INFO => LogLevel::Info as u8,
        Level::DEBUG | Level::TRACE => LogLevel::Debug as u8,
    }
}

/// Discards events less severe than [`LEVEL`], and all events of libraries.
struct Chosen<L>(L);

impl<S, L> Layer<S> for Chosen<L>
where
    S: Subscriber,
    L: Layer<S>,
{
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let is_ours = metadata.target().starts_with("redpoll");
        if is_ours && rank(metadata.level()) <= LEVEL.load(Ordering::Relaxed) {
            self.0.on_event(event, context);
        }
    }
}

/// Writes `redpoll: warning: message field=value`, or `<4>message field=value` to the journal.
struct Lines {
    to_journal: bool,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let (number, word) = match *event.metadata().level() {
            Level::ERROR => (3, "error: "),
            Level::WARN => (4, "warning: "),
            Level::INFO => (6, ""),
            Level::DEBUG | Level::TRACE => (7, "debug: "),
        };
        if self.to_journal {
            write!(writer, "<{number}>")?;
        } else {
            write!(writer, "{}: {word}", output::name())?;
        }
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}
