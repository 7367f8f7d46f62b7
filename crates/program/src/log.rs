//! The log: one line on standard error for each event, with its fields. If systemd's journal reads
//! standard error, the events become entries of the journal instead.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};

use clap::ValueEnum;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, registry};

use crate::journal::{self, Journal};
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

/// Starts writing the events of this process. Only the first call has an effect. The journal's
/// socket is opened here, so that a sandbox may forbid new sockets.
pub fn begin(level: LogLevel) {
    set_level(level);
    let to_journal = journal::reads_standard_error();
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .event_format(Lines { to_journal });
    let journal = if to_journal {
        Journal::open().ok()
    } else {
        None
    };
    let subscriber = registry().with(Chosen { journal, lines });
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

/// Returns the severity as in syslog(3), and the word for it before a line.
fn severity(level: &Level) -> (u8, &'static str) {
    match *level {
        Level::ERROR => (3, "error: "),
        Level::WARN => (4, "warning: "),
        Level::INFO => (6, ""),
        Level::DEBUG | Level::TRACE => (7, "debug: "),
    }
}

/// Discards events less severe than [`LEVEL`], and all events of libraries. The others go to the
/// journal. Without a journal, or if it does not accept an event, they become lines.
struct Chosen<L> {
    journal: Option<Journal>,
    lines: L,
}

impl<S, L> Layer<S> for Chosen<L>
where
    S: Subscriber,
    L: Layer<S>,
{
    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let is_ours = metadata.target().starts_with("redpoll");
        if !is_ours || rank(metadata.level()) > LEVEL.load(Ordering::Relaxed) {
            return;
        }
        let (number, _) = severity(metadata.level());
        let is_sent = |journal: &Journal| journal.send(number, output::name(), event).is_ok();
        if !self.journal.as_ref().is_some_and(is_sent) {
            self.lines.on_event(event, context);
        }
    }
}

/// Writes `redpoll: warning: message field=value`, or `<4>message field=value` for the journal,
/// which reads the severity from such a line as in sd-daemon(3).
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
        let (number, word) = severity(event.metadata().level());
        if self.to_journal {
            write!(writer, "<{number}>")?;
        } else {
            write!(writer, "{}: {word}", output::name())?;
        }
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}
