//! Entries of systemd's journal with a field for each value, by the journal's native protocol.
//!
//! The text of an entry also has the values, because `journalctl` shows only the text by default.
//! The crate `tracing-journald` leaves the values out of the text.

use std::fmt::{self, Write as _};
use std::io;
use std::os::unix::net::UnixDatagram;

use nix::sys::stat::fstat;
use tracing::Event;
use tracing::field::{Field, Visit};

/// The journal's socket, systemd-journald.service(8).
const SOCKET: &str = "/run/systemd/journal/socket";

/// A connection to the journal.
pub(crate) struct Journal {
    socket: UnixDatagram,
}

impl Journal {
    /// Connects to the journal. Fails if there is none.
    pub(crate) fn open() -> io::Result<Journal> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(SOCKET)?;
        // A full queue must not stop the program.
        socket.set_nonblocking(true)?;
        Ok(Journal { socket })
    }

    /// Sends an event with the priority of syslog(3). Fails if the journal does not accept it.
    pub(crate) fn send(&self, priority: u8, sender: &str, event: &Event<'_>) -> io::Result<()> {
        self.socket.send(&entry(priority, sender, event)).map(drop)
    }
}

/// Returns whether the journal reads this process's standard error, as systemd.exec(5) describes:
/// `JOURNAL_STREAM` is the device and the inode of the journal's socket.
pub(crate) fn reads_standard_error() -> bool {
    let Ok(stream) = std::env::var("JOURNAL_STREAM") else {
        return false;
    };
    fstat(io::stderr()).is_ok_and(|stat| stream == format!("{}:{}", stat.st_dev, stat.st_ino))
}

fn entry(priority: u8, sender: &str, event: &Event<'_>) -> Vec<u8> {
    let mut values = Values::default();
    event.record(&mut values);
    let mut entry = Vec::new();
    add(&mut entry, "PRIORITY", &priority.to_string());
    add(&mut entry, "SYSLOG_IDENTIFIER", sender);
    add(&mut entry, "MESSAGE", &values.text());
    for (name, value) in &values.fields {
        let name = format!("REDPOLL_{}", name.to_ascii_uppercase());
        add(&mut entry, &name, value);
    }
    entry
}

/// Appends a field. A value with line breaks is preceded by its length, as the protocol requires.
fn add(entry: &mut Vec<u8>, name: &str, value: &str) {
    entry.extend(name.as_bytes());
    if value.contains('\n') {
        entry.push(b'\n');
        entry.extend((value.len() as u64).to_le_bytes());
    } else {
        entry.push(b'=');
    }
    entry.extend(value.as_bytes());
    entry.push(b'\n');
}

/// The message and the named values of an event.
#[derive(Default)]
struct Values {
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl Values {
    /// Returns the message, followed by `name=value` for each value.
    fn text(&self) -> String {
        let mut text = self.message.clone();
        for (name, value) in &self.fields {
            let _ = write!(text, " {name}={value}");
        }
        text
    }
}

impl Visit for Values {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record(field, value.to_owned());
    }
}

impl Values {
    fn record(&mut self, field: &Field, value: String) {
        if field.name() == "message" {
            self.message = value;
        } else {
            self.fields.push((field.name(), value));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::{Context, SubscriberExt as _};

    use super::*;

    /// Keeps the entry of the last event.
    struct Last(Arc<Mutex<Vec<u8>>>);

    impl<S: tracing::Subscriber> Layer<S> for Last {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            *self.0.lock().unwrap() = entry(4, "redpoll", event);
        }
    }

    fn sent(act: impl FnOnce()) -> Vec<u8> {
        let last = Arc::new(Mutex::new(Vec::new()));
        let subscriber = tracing_subscriber::registry().with(Last(last.clone()));
        tracing::subscriber::with_default(subscriber, act);
        Arc::try_unwrap(last).unwrap().into_inner().unwrap()
    }

    #[test]
    fn each_value_is_a_field_and_stands_in_the_text() {
        let name = "wpan0";
        let entry = sent(|| tracing::warn!(packets = 3, interface = %name, "packets were dropped"));
        assert_eq!(
            String::from_utf8(entry).unwrap(),
            "PRIORITY=4\nSYSLOG_IDENTIFIER=redpoll\n\
             MESSAGE=packets were dropped packets=3 interface=wpan0\n\
             REDPOLL_PACKETS=3\nREDPOLL_INTERFACE=wpan0\n"
        );
    }

    #[test]
    fn no_value_can_forge_a_field() {
        let value = "x\nPRIORITY=0";
        let entry = sent(|| tracing::warn!(value, "text"));
        let mut expected = b"REDPOLL_VALUE\n\x0c\0\0\0\0\0\0\0".to_vec();
        expected.extend(b"x\nPRIORITY=0\n");
        assert!(entry.ends_with(&expected), "{entry:?}");
        let text = String::from_utf8_lossy(&entry).into_owned();
        assert!(text.contains("MESSAGE\n"), "{text}");
    }
}
