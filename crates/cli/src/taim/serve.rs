//! Answers Prometheus: a thread that asks the loop for a snapshot, so that the loop never
//! waits for anybody.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::tell::Snapshot;

/// How long somebody who asks may take for it, and the loop to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// No request is longer.
const LONGEST: usize = 4_096;

/// What thread and loop share.
#[derive(Default)]
struct Desk {
    is_asked: AtomicBool,
    answer: Mutex<Option<Snapshot>>,
    has_answer: Condvar,
}

/// Who answers.
pub(super) struct Server {
    desk: Arc<Desk>,
    address: SocketAddr,
}

impl Server {
    /// Listens at `address`. The thread ends with the process.
    ///
    /// # Errors
    /// The address is not to be had.
    pub(super) fn start(address: SocketAddr) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let desk = Arc::new(Desk::default());
        let shared = Arc::clone(&desk);
        std::thread::Builder::new().spawn(move || {
            for stream in listener.incoming().flatten() {
                // Who goes away gets no answer.
                let _ = serve(stream, &shared);
            }
        })?;
        Ok(Server { desk, address })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether somebody waits for a snapshot.
    pub(super) fn is_asked(&self) -> bool {
        self.desk.is_asked.swap(false, Ordering::Relaxed)
    }

    /// Gives it to who waits.
    pub(super) fn answer(&self, snapshot: Snapshot) {
        let answer = self.desk.answer.lock();
        *answer.unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        self.desk.has_answer.notify_one();
    }
}

fn serve(mut stream: TcpStream, desk: &Desk) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 1_024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let len = stream.read(&mut part)?;
        if len == 0 || request.len() > LONGEST {
            return Ok(());
        }
        request.extend(part.iter().take(len));
    }
    let (status, body) = match request.starts_with(b"GET /metrics ") {
        _ if !is_sound(&request) => ("400 Bad Request", String::new()),
        true => match ask(desk) {
            Some(snapshot) => ("200 OK", snapshot.prometheus()),
            None => ("503 Service Unavailable", String::new()),
        },
        false => (
            "404 Not Found",
            "only GET /metrics is answered\n".to_owned(),
        ),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Whether a request has one Host, which only HTTP/1.0 may leave out, and names without spaces
/// (RFC 9112 §3.2, §5.1).
fn is_sound(request: &[u8]) -> bool {
    let mut lines = request.split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default().trim_ascii_end();
    let is_old = first.ends_with(b" HTTP/1.0");
    let mut hosts = 0;
    for line in lines
        .map(<[u8]>::trim_ascii_end)
        .take_while(|line| !line.is_empty())
    {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            return false;
        };
        let (name, value) = line.split_at(colon);
        if name.is_empty() || name.iter().any(u8::is_ascii_whitespace) {
            return false;
        }
        if name.eq_ignore_ascii_case(b"host") {
            hosts += 1;
            let value = value.get(1..).unwrap_or_default().trim_ascii();
            if value.iter().any(|byte| b" \t/?#@".contains(byte)) {
                return false;
            }
        }
    }
    hosts == 1 || hosts == 0 && is_old
}

fn ask(desk: &Desk) -> Option<Snapshot> {
    let mut answer = desk.answer.lock().unwrap_or_else(PoisonError::into_inner);
    *answer = None;
    desk.is_asked.store(true, Ordering::Relaxed);
    let waited = desk
        .has_answer
        .wait_timeout_while(answer, PATIENCE, |answer| answer.is_none());
    let (mut answer, _) = waited.unwrap_or_else(PoisonError::into_inner);
    answer.take()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_need_one_host_and_names_without_spaces() {
        for (request, is_wrong) in redpoll_testkit::requests() {
            let text = String::from_utf8_lossy(&request);
            assert_eq!(is_sound(&request), !is_wrong, "{text}");
        }
    }
}
