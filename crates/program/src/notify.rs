//! Reports to a supervisor such as systemd in datagrams: first that the service is ready, and
//! later, at intervals, that its main loop runs (sd_notify(3), systemd.service(5) `WatchdogSec=`).
//!
//! The crate `sd-notify` does not support abstract addresses, and opens a blocking socket for each
//! message, which the sandbox would have to allow (ADR 43).

use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Supervisor {
    /// Socket of the service manager; `None` without a service manager.
    socket: Option<UnixDatagram>,
    /// Interval at which this process reports; `None` if the service manager expects no reports.
    every: Option<Duration>,
    told: Instant,
}

impl Supervisor {
    /// Reads the supervisor's settings from the environment: `NOTIFY_SOCKET` is the address.
    /// `WATCHDOG_USEC` is the longest allowed time between reports of the process `WATCHDOG_PID`.
    pub fn of_environment() -> Supervisor {
        let number = |name| {
            let text = std::env::var(name).ok()?;
            text.parse::<u64>().ok()
        };
        let is_ours = std::env::var_os("WATCHDOG_PID").is_none()
            || number("WATCHDOG_PID") == Some(std::process::id().into());
        let silence = number("WATCHDOG_USEC").filter(|us| is_ours && *us > 0);
        Supervisor {
            socket: socket(),
            // Half of the allowed time, as sd_watchdog_enabled(3) recommends.
            every: silence.map(|us| Duration::from_micros(us / 2)),
            told: Instant::now(),
        }
    }

    /// Reports that the service is ready.
    pub fn ready(&mut self) {
        self.tell("READY=1");
    }

    /// Reports that the main loop runs, if the interval has passed.
    pub fn lives(&mut self) {
        if self.every.is_some_and(|every| self.told.elapsed() >= every) {
            self.tell("WATCHDOG=1");
        }
    }

    fn tell(&mut self, what: &str) {
        if let Some(socket) = &self.socket {
            // Ignore an error: the service continues if the supervisor does not listen.
            let _ = socket.send(what.as_bytes());
        }
        self.told = Instant::now();
    }
}

fn socket() -> Option<UnixDatagram> {
    let name = std::env::var_os("NOTIFY_SOCKET")?;
    let address = match name.as_bytes() {
        // An abstract socket name, which is not a path in a file system.
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name),
        _ => SocketAddr::from_pathname(&name),
    };
    let socket = UnixDatagram::unbound().ok()?;
    socket.connect_addr(&address.ok()?).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}
