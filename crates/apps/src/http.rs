//! A web server over `edge-http`, for HTTP/1.1 and the method GET.
//!
//! Clients cannot block it. While all its connections are in use, the server ends one to make room:
//! the connection that has been without a request for longest. If every connection has a request,
//! it ends the slowest one that receives less than 300 bytes a second, or less than 120 until it
//! has received 1,500 bytes. Other limits: a minute for a request, a minute for each 2,000 bytes of
//! the answer, and 15 seconds between two requests.
//!
//! After it has ended a slow connection, the server is careful for at least a minute. It sends 176
//! bytes of an answer, and then only as many unacknowledged bytes as the client has acknowledged.
//! Otherwise, slow clients would use much air time for answers that the server does not complete.

use core::array::from_fn;
use core::cell::Cell;
use core::convert::Infallible;
use core::net::{Ipv6Addr, SocketAddr};

pub use edge_http::io::Error;
use edge_http::io::server::Connection;
use edge_http::{Method, RequestHeaders};
use edge_nal::{Close, TcpAccept, TcpBind, TcpShutdown};
use embassy_futures::select::{Either, select, select_array};
use embedded_io_async::{ErrorType, Read, Write};
use redpoll_base::{Delivery, Duration};

use crate::decimal::Decimal;

/// Maximum number of requests that are answered at the same time. A node has this many connections
/// for the server.
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
/// Number of checks, of any connections, for which the server limits the unacknowledged bytes of
/// its answers (is careful) after it has ended a slow connection. These checks take a minute if all
/// connections are in use, and otherwise longer.
const CAREFUL: u32 = AT_ONCE as u32 * Delivery::CAREFUL.millis_saturating() / LOOK;
/// Bytes of an answer that may wait in the connection, not yet received by the client.
const SEND_BUFFER: u64 = 2_440;

/// The content of a server.
pub trait Site {
    /// Identifies a resource of the site; [`find`](Self::find) returns it.
    type Resource: Copy;

    /// Returns the resource at a path, which begins with `/`; `None` becomes an answer with 404.
    fn find(&self, path: &str) -> Option<Self::Resource>;

    /// Returns the length of a resource in bytes.
    fn len(&self, resource: Self::Resource) -> usize;

    /// Fills `out` with a resource's bytes from `begin` on; the resource is at least that long.
    fn read(&self, resource: Self::Resource, begin: usize, out: &mut [u8]);

    /// Returns the media type of a resource, such as `text/html`.
    fn media_type(&self, resource: Self::Resource) -> Option<&str> {
        let _ = resource;
        None
    }
}

/// A page of a site in memory.
#[derive(Clone, Copy, Debug)]
pub struct Page<'p> {
    /// The path of the page, which begins with `/`.
    pub path: &'p str,
    /// The media type of the page, such as `text/html`.
    pub media_type: &'p str,
    /// The content of the page.
    pub body: &'p [u8],
}

/// Pages in memory.
///
/// ```
/// use redpoll_apps::http::{Page, Site};
///
/// let site = [Page { path: "/", media_type: "text/plain", body: b"22.5" }];
/// let page = site.as_slice().find("/").expect("the site has this page");
/// assert_eq!(page.body, b"22.5");
/// assert!(site.as_slice().find("/more").is_none());
/// ```
impl<'p> Site for [Page<'p>] {
    type Resource = Page<'p>;

    fn find(&self, path: &str) -> Option<Page<'p>> {
        self.iter().find(|page| page.path == path).copied()
    }

    fn len(&self, page: Page<'p>) -> usize {
        page.body.len()
    }

    fn read(&self, page: Page<'p>, begin: usize, out: &mut [u8]) {
        let bytes = page.body.get(begin..).unwrap_or_default();
        for (place, byte) in out.iter_mut().zip(bytes) {
            *place = *byte;
        }
    }

    fn media_type(&self, page: Page<'p>) -> Option<&str> {
        Some(page.media_type)
    }
}

/// Answers on `port`: paths of `site` with 200, other paths with 404, other methods than GET with
/// 405. Returns only if the network fails. `pause` waits for a number of milliseconds.
///
/// # Errors
/// The errors of binding and accepting.
pub async fn serve<N: TcpBind, W: Site + ?Sized>(
    net: &N,
    port: u16,
    site: &W,
    pause: impl AsyncFn(u32),
) -> Result<Infallible, Error<N::Error>> {
    let local = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
    let listener = net.bind(local).await.map_err(Error::Io)?;
    let slots: [Slot; AT_ONCE] = from_fn(|_| Slot::default());
    let careful = Cell::new(0);
    let work = async |at: usize| {
        let mut head = [0; HEAD];
        loop {
            let (_, mut stream) = listener.accept().await.map_err(Error::Io)?;
            slots[at].enter(Phase::Busy);
            let counted = Counted {
                stream: &mut stream,
                slot: &slots[at],
                careful: &careful,
            };
            let talk = converse(counted, &mut head, site);
            let ended = select(talk, watch(&slots, at, &careful, &pause)).await;
            slots[at].enter(Phase::Free);
            if let Either::Second(Ending::Reset) = ended {
                // Ignores an error: a connection that has ended meanwhile needs no reset.
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
    /// Number of checks since the connection entered its [`Phase`], or since the client
    /// acknowledged the first bytes of the answer.
    age: Cell<u32>,
    /// Bytes of the answer that were written so far.
    given: Cell<u64>,
    /// The value of `given` at the start of the present minute.
    before: Cell<u64>,
    /// Bytes of the answer that the client is known to have acknowledged.
    taken: Cell<u64>,
    /// Bytes of the body that were not written so far.
    rest: Cell<u64>,
}

impl Slot {
    fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.age.set(0);
        self.given.set(0);
        self.before.set(0);
        self.taken.set(0);
        self.rest.set(0);
    }

    /// Returns the state of the present answer for a client that has acknowledged `taken` bytes.
    fn delivery(&self, taken: u64) -> Delivery {
        Delivery {
            taken,
            unacked: self.given.get().saturating_sub(taken),
            age: Duration::from_millis(u64::from(self.age.get() * LOOK)),
        }
    }

    /// Returns how many bytes of the answer the server may write now while it limits unacknowledged
    /// bytes.
    fn allowance(&self) -> u64 {
        self.delivery(self.taken.get()).allowance(self.rest.get())
    }

    /// Records that the client has acknowledged all written bytes. The first acknowledgment
    /// restarts the measurement of the client's pace, because the server waits for it before it
    /// writes more.
    fn acknowledge(&self) {
        if self.taken.replace(self.given.get()) == 0 {
            self.age.set(0);
        }
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

    /// Returns the order in which connections are ended for other clients: the highest value first.
    /// `None` if this connection must not be ended.
    fn rank(&self) -> Option<(bool, u32)> {
        match self.phase.get() {
            Phase::Idle => Some((true, self.age.get())),
            Phase::Busy => {
                let taken = self.given.get().saturating_sub(SEND_BUFFER);
                let pace = self.delivery(taken.max(self.taken.get())).slow_pace()?;
                Some((false, u32::MAX - pace))
            }
            Phase::Free => None,
        }
    }
}

/// The way in which the server ends a connection.
#[derive(Clone, Copy)]
enum Ending {
    Close,
    Reset,
}

/// Waits until connection `at` has to end. `careful` is the number of checks for which the server
/// still limits the unacknowledged bytes of answers.
async fn watch(
    slots: &[Slot; AT_ONCE],
    at: usize,
    careful: &Cell<u32>,
    pause: impl AsyncFn(u32),
) -> Ending {
    loop {
        pause(LOOK).await;
        careful.update(|checks| checks.saturating_sub(1));
        if let Some(ending) = slots[at].look() {
            return ending;
        }
        let is_full = slots.iter().all(|it| it.phase.get() != Phase::Free);
        let rank = slots[at].rank();
        let is_first = slots.iter().all(|it| it.rank() <= rank);
        if is_full
            && is_first
            && let Some((is_idle, _)) = rank
        {
            if !is_idle {
                careful.set(CAREFUL);
            }
            return Ending::Reset;
        }
    }
}

/// A stream that counts the written bytes in its slot. While `careful` is not 0, it limits the
/// bytes that the client has not acknowledged.
struct Counted<'s, S> {
    stream: &'s mut S,
    slot: &'s Slot,
    careful: &'s Cell<u32>,
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
        let mut len = bytes.len();
        if self.careful.get() > 0 {
            if self.slot.allowance() == 0 {
                self.stream.flush().await?;
                self.slot.acknowledge();
            }
            len = len.min(usize::try_from(self.slot.allowance()).unwrap_or(len));
        }
        let len = self.stream.write(&bytes[..len]).await?;
        self.slot.given.update(|given| given + len as u64);
        Ok(len)
    }

    async fn flush(&mut self) -> Result<(), S::Error> {
        self.stream.flush().await
    }
}

async fn converse<S: Read + Write + TcpShutdown>(
    mut stream: Counted<'_, S>,
    head: &mut [u8; HEAD],
    site: &(impl Site + ?Sized),
) -> Result<(), Error<S::Error>> {
    let slot = stream.slot;
    let mut goes_on = true;
    while goes_on {
        goes_on = match Connection::new(head, &mut stream).await {
            Ok(mut connection) => {
                answer(&mut connection, slot, site).await?;
                connection.complete().await?;
                !connection.needs_close()
            }
            Err(Error::Io(_) | Error::ConnectionClosed | Error::IncompleteHeaders) => break,
            // RFC 9112 §5.1: the request is malformed, for example by a space before a colon.
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
    // RFC 9112 §9.6: read to the end, because unread bytes cause a reset, which may destroy the
    // answer.
    stream.stream.close(Close::Write).await.map_err(Error::Io)?;
    while stream.stream.read(head).await.map_err(Error::Io)? > 0 {}
    Ok(())
}

/// The text after the status code of an answer that refuses a request.
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
    slot: &Slot,
    site: &(impl Site + ?Sized),
) -> Result<(), Error<S::Error>> {
    let head = connection.headers()?;
    let found = site.find(head.path);
    let (status, resource) = match (head.method, found) {
        _ if !is_sound(head) => (400, None),
        (Method::Get, Some(resource)) => (200, Some(resource)),
        (Method::Get, None) => (404, None),
        _ => (405, None),
    };
    let bytes = resource.map_or(0, |it| site.len(it));
    let media_type = resource.and_then(|it| site.media_type(it));
    slot.rest.set(bytes as u64);
    let length = Decimal::of(i32::try_from(bytes).unwrap_or(i32::MAX));
    let fields = [
        ("Content-Length", length.as_str()),
        ("Content-Type", media_type.unwrap_or_default()),
    ];
    let fields = &fields[..1 + usize::from(media_type.is_some())];
    connection.initiate_response(status, None, fields).await?;
    let Some(resource) = resource else {
        return Ok(());
    };
    let mut chunk = [0; 256];
    for begin in (0..bytes).step_by(chunk.len()) {
        let len = chunk.len().min(bytes - begin);
        site.read(resource, begin, &mut chunk[..len]);
        connection.write_all(&chunk[..len]).await?;
        slot.rest.set((bytes - begin - len) as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
