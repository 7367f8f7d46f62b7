//! A web server with a page and a file.
//!
//! Clients cannot block it. While all its connections are in use, one of them is ended for a new
//! client: the connection that has been without a request for longest, otherwise the slowest one,
//! if its client receives less than 300 bytes a second. A client also has a minute for its request
//! and for each 2,000 bytes of the answer, and 15 seconds between two requests.

use core::array::from_fn;
use core::cell::Cell;
use core::convert::Infallible;
use core::net::{Ipv6Addr, SocketAddr};

use edge_http::io::Error;
use edge_http::io::server::Connection;
use edge_http::{Method, RequestHeaders};
use edge_nal::{Close, TcpAccept, TcpBind, TcpShutdown};
use embassy_futures::select::{Either, select, select_array};
use embedded_io_async::{ErrorType, Read, Write};

use crate::decimal::Decimal;

/// Requests that are answered at the same time. A node has this many connections for the
/// server.
pub const AT_ONCE: usize = 3;
const HEAD: usize = 512;
const FIELDS: usize = 16;

/// Time between two checks of a connection, in milliseconds.
const LOOK: u32 = 500;
/// Number of checks in which a client must send a whole request, or receive [`LEAST_BYTES`] or the
/// rest of the answer.
const PATIENCE: u32 = 60_000 / LOOK;
/// Bytes of an answer that a client must receive in [`PATIENCE`].
const LEAST_BYTES: u64 = 2_000;
/// Number of checks for which a connection stays open without a request.
const IDLE: u32 = 15_000 / LOOK;
/// Number of checks before a request and its answer may be ended for another client: two seconds.
const GRACE: u32 = 2_000 / LOOK;
/// Bytes of an answer that a client must receive in a second to keep its connection.
const LEAST_PACE: u64 = 300;
/// Bytes of an answer that may wait in the connection. The client may have received all bytes but
/// these.
const SEND_BUFFER: u64 = 2_440;

/// The answer to `/`.
pub const PAGE: &str = "A web server on Redpoll.\n";

/// Byte `at` of `/file`.
pub fn content(at: usize) -> u8 {
    (at as u32).wrapping_mul(0x9e37_79b1).to_be_bytes()[0]
}

/// Answers on `port`: `/` with [`PAGE`], `/file` with `file` bytes, other paths with 404, other
/// methods with 405. It ends with an error if the network does. `pause` waits for a number of
/// milliseconds.
///
/// # Errors
/// Those of binding and accepting.
pub async fn serve<N: TcpBind>(
    net: &N,
    port: u16,
    file: usize,
    pause: impl AsyncFn(u32),
) -> Result<Infallible, Error<N::Error>> {
    let local = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
    let listener = net.bind(local).await.map_err(Error::Io)?;
    let slots: [Slot; AT_ONCE] = from_fn(|_| Slot::default());
    let work = async |at: usize| {
        let mut head = [0; HEAD];
        loop {
            let (_, mut stream) = listener.accept().await.map_err(Error::Io)?;
            slots[at].enter(Phase::Busy);
            let talk = converse(&mut stream, &mut head, &slots[at], file);
            let ended = select(talk, watch(&slots, at, &pause)).await;
            slots[at].enter(Phase::Free);
            if let Either::Second(Ending::Reset) = ended {
                // A connection that has ended by itself needs no reset.
                let _ = stream.abort().await;
            }
        }
    };
    select_array::<_, AT_ONCE>(from_fn(&work)).await.0
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Phase {
    #[default]
    Free,
    /// A request or its answer is in progress.
    Busy,
    /// The client has acknowledged the answer.
    Idle,
}

/// A place for a connection; there are [`AT_ONCE`] of these.
#[derive(Default)]
struct Slot {
    phase: Cell<Phase>,
    /// Number of the server's checks since the phase began.
    age: Cell<u32>,
    /// Bytes of the answer that were written, and the number of these at the start of the present
    /// minute.
    given: Cell<u64>,
    before: Cell<u64>,
}

impl Slot {
    fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.age.set(0);
        self.given.set(0);
        self.before.set(0);
    }

    /// Counts a check. Returns how the connection ends, if its time has passed.
    fn look(&self) -> Option<Ending> {
        let age = self.age.get() + 1;
        self.age.set(age);
        match self.phase.get() {
            Phase::Idle if age >= IDLE => Some(Ending::Close),
            Phase::Busy if age.is_multiple_of(PATIENCE) => {
                let given = self.given.get();
                let taken = given - self.before.replace(given);
                (taken < LEAST_BYTES).then_some(Ending::Reset)
            }
            _ => None,
        }
    }

    /// Returns a value by which connections give way: the one with the highest value first. `None`
    /// if this connection does not give way.
    fn rank(&self) -> Option<(bool, u64)> {
        let age = self.age.get();
        match self.phase.get() {
            Phase::Idle => Some((true, age.into())),
            Phase::Busy if age >= GRACE => {
                let taken = self.given.get().saturating_sub(SEND_BUFFER);
                let pace = taken * 1_000 / u64::from(age * LOOK);
                LEAST_PACE.checked_sub(pace + 1).map(|rank| (false, rank))
            }
            _ => None,
        }
    }
}

/// The end of a connection that the server gives up.
#[derive(Clone, Copy)]
enum Ending {
    Close,
    Reset,
}

/// Waits until connection `at` has to end.
async fn watch(slots: &[Slot; AT_ONCE], at: usize, pause: impl AsyncFn(u32)) -> Ending {
    loop {
        pause(LOOK).await;
        if let Some(ending) = slots[at].look() {
            return ending;
        }
        let is_full = slots.iter().all(|it| it.phase.get() != Phase::Free);
        let rank = slots[at].rank();
        let is_first = slots.iter().all(|it| it.rank() <= rank);
        if is_full && rank.is_some() && is_first {
            return Ending::Reset;
        }
    }
}

/// A stream that adds the written bytes to its slot.
struct Counted<'s, S> {
    stream: &'s mut S,
    slot: &'s Slot,
}

impl<S: ErrorType> ErrorType for Counted<'_, S> {
    type Error = S::Error;
}

impl<S: Read> Read for Counted<'_, S> {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, S::Error> {
        let len = self.stream.read(bytes).await?;
        if self.slot.phase.get() == Phase::Idle {
            self.slot.enter(Phase::Busy);
        }
        Ok(len)
    }
}

impl<S: Write> Write for Counted<'_, S> {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, S::Error> {
        let len = self.stream.write(bytes).await?;
        self.slot.given.update(|given| given + len as u64);
        Ok(len)
    }

    async fn flush(&mut self) -> Result<(), S::Error> {
        self.stream.flush().await
    }
}

async fn converse<S: Read + Write + TcpShutdown>(
    stream: &mut S,
    head: &mut [u8; HEAD],
    slot: &Slot,
    file: usize,
) -> Result<(), Error<S::Error>> {
    let mut stream = Counted { stream, slot };
    let mut goes_on = true;
    while goes_on {
        goes_on = match Connection::new(head, &mut stream).await {
            Ok(mut connection) => {
                answer(&mut connection, file).await?;
                connection.complete().await?;
                !connection.needs_close()
            }
            Err(Error::Io(_) | Error::ConnectionClosed | Error::IncompleteHeaders) => break,
            // RFC 9112 §5.1: a malformed request, such as one with a space before a colon.
            Err(error) => {
                let status = match error {
                    Error::TooLongHeaders | Error::TooManyHeaders => "431",
                    _ => "400",
                };
                for piece in ["HTTP/1.1 ", status, REFUSAL] {
                    let sent = stream.write_all(piece.as_bytes()).await;
                    sent.map_err(Error::Io)?;
                }
                false
            }
        };
        stream.flush().await.map_err(Error::Io)?;
        slot.enter(Phase::Idle);
    }
    // RFC 9112 §9.6: the server reads further bytes of the client, because a reset could destroy
    // the answer.
    stream.stream.close(Close::Write).await.map_err(Error::Io)?;
    while stream.stream.read(head).await.map_err(Error::Io)? > 0 {}
    Ok(())
}

/// The rest of an answer that refuses a request.
const REFUSAL: &str = " \r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Returns whether a request has one Host field, which only HTTP/1.0 may omit (RFC 9112 §3.2).
fn is_sound<const N: usize>(head: &RequestHeaders<'_, N>) -> bool {
    let fields = head.headers.iter_raw();
    let mut hosts = fields.filter(|(name, _)| name.eq_ignore_ascii_case("Host"));
    let is_good = match hosts.next() {
        Some((_, value)) => value
            .iter()
            .all(|byte| byte.is_ascii_graphic() && !b"/?#@\"<>".contains(byte)),
        None => !head.http11,
    };
    is_good && hosts.next().is_none()
}

async fn answer<S: Read + Write>(
    connection: &mut Connection<'_, S, FIELDS>,
    file_bytes: usize,
) -> Result<(), Error<S::Error>> {
    let head = connection.headers()?;
    let (is_get, path) = (head.method == Method::Get, head.path);
    let file = path == "/file";
    let is_sound = is_sound(head);
    let (status, bytes) = match (is_get, path) {
        _ if !is_sound => (400, 0),
        (false, _) => (405, 0),
        (true, "/") => (200, PAGE.len()),
        (true, "/file") => (200, file_bytes),
        _ => (404, 0),
    };
    let length = Decimal::of(i32::try_from(bytes).unwrap_or(i32::MAX));
    let fields = [("Content-Length", length.as_str())];
    connection.initiate_response(status, None, &fields).await?;
    if status != 200 {
        return Ok(());
    }
    if !file {
        return connection.write_all(PAGE.as_bytes()).await;
    }
    let mut chunk = [0; 256];
    for begin in (0..bytes).step_by(chunk.len()) {
        let len = chunk.len().min(bytes - begin);
        for (at, byte) in chunk[..len].iter_mut().enumerate() {
            *byte = content(begin + at);
        }
        connection.write_all(&chunk[..len]).await?;
    }
    Ok(())
}
