//! A stub resolver: asks a name server for the IPv6 address of a name (RFC 1035, RFC 3596).
//!
//! Messages are those of the crate `domain`. The name server must be recursive, such as a router's
//! or a public one.

use core::net::{Ipv6Addr, SocketAddr};
use core::str::FromStr;

use domain::base::iana::Rcode;
use domain::base::{Message, MessageBuilder, Name, Rtype};
use domain::dep::octseq::Array;
use domain::rdata::Aaaa;
use edge_nal::{UdpReceive, UdpSend};
use embassy_futures::select::{Either, select};

/// The longest message over UDP, in bytes (RFC 1035 §2.3.4).
const MESSAGE: usize = 512;
/// The longest name, in bytes (RFC 1035 §2.3.4).
const NAME: usize = 255;
/// Milliseconds to wait for an answer after each of the three transmissions of the question.
const TIMEOUTS: [u32; 3] = [2_000, 4_000, 8_000];

/// The IPv6 address of a name, from the name server's answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// The first address in the answer.
    pub address: Ipv6Addr,
    /// The time for which the address is valid, in seconds.
    pub ttl_s: u32,
}

/// The reason why [`resolve`] found no address for a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Failure<E> {
    /// The text is not a name of DNS.
    Name,
    /// The socket failed.
    Network(E),
    /// The name does not exist.
    NoSuchName,
    /// The name has no IPv6 address.
    NoAddress,
    /// The answer is longer than a datagram, and its first part has no address.
    Truncated,
    /// The server reports another error, with this RCODE.
    Refused(u8),
    /// The server did not answer the question, which was sent three times.
    TimedOut,
}

/// Asks `server` over `socket` for the address of `name`, and follows aliases in its answer.
///
/// `id` is random and new for each call, and the socket's port is random: a forged answer has to
/// guess both (RFC 5452 §9). Other datagrams are ignored. `pause` waits for a number of
/// milliseconds; the question is repeated after 2 and 6 s, and given up after 14 s.
///
/// # Errors
/// The reason why there is no address.
pub async fn resolve<S: UdpSend + UdpReceive>(
    socket: &mut S,
    server: SocketAddr,
    name: &str,
    id: u16,
    pause: impl AsyncFn(u32),
) -> Result<Found, Failure<S::Error>> {
    let name = Name::<Array<NAME>>::from_str(name).or(Err(Failure::Name))?;
    let question = question(&name, id).ok_or(Failure::Name)?;
    for timeout in TIMEOUTS {
        let sent = socket.send(server, question.as_ref()).await;
        sent.map_err(Failure::Network)?;
        let answer = answer(socket, server, &name, id);
        if let Either::First(answer) = select(answer, pause(timeout)).await {
            return answer;
        }
    }
    Err(Failure::TimedOut)
}

/// Waits for an answer to the question.
async fn answer<S: UdpReceive>(
    socket: &mut S,
    server: SocketAddr,
    name: &Name<Array<NAME>>,
    id: u16,
) -> Result<Found, Failure<S::Error>> {
    let mut bytes = [0; MESSAGE];
    loop {
        let (len, from) = socket.receive(&mut bytes).await.map_err(Failure::Network)?;
        let datagram = bytes.get(..len).unwrap_or_default();
        if from != server {
            continue;
        }
        match read(datagram, name, id) {
            None => {}
            Some(Ok(found)) => return Ok(found),
            Some(Err(Negative {
                is_truncated: true, ..
            })) => return Err(Failure::Truncated),
            Some(Err(Negative { code, .. })) => {
                return Err(match code {
                    Rcode::NOERROR => Failure::NoAddress,
                    Rcode::NXDOMAIN => Failure::NoSuchName,
                    other => Failure::Refused(other.to_int()),
                });
            }
        }
    }
}

fn question(name: &Name<Array<NAME>>, id: u16) -> Option<Array<MESSAGE>> {
    let mut builder = MessageBuilder::from_target(Array::<MESSAGE>::new()).ok()?;
    builder.header_mut().set_id(id);
    builder.header_mut().set_rd(true);
    let mut question = builder.question();
    question.push((name, Rtype::AAAA)).ok()?;
    Some(question.finish())
}

/// An answer without an address.
struct Negative {
    /// The server's RCODE: NOERROR if the name exists.
    code: Rcode,
    /// Whether the server left out records (RFC 1035 §4.1.1, TC).
    is_truncated: bool,
}

/// Reads an answer. `None` for a message that does not answer the question.
fn read(datagram: &[u8], name: &Name<Array<NAME>>, id: u16) -> Option<Result<Found, Negative>> {
    let message = Message::from_octets(datagram).ok()?;
    let header = message.header();
    let question = message.sole_question().ok()?;
    let is_ours = header.qr()
        && header.id() == id
        && question.qtype() == Rtype::AAAA
        && question.qname() == name;
    if !is_ours {
        return None;
    }
    let negative = Negative {
        code: header.rcode(),
        is_truncated: header.tc(),
    };
    if negative.code != Rcode::NOERROR {
        return Some(Err(negative));
    }
    let canonical = message.canonical_name()?;
    let records = message.answer().ok()?.limit_to::<Aaaa>();
    let of_name = records.flatten().find(|it| *it.owner() == canonical);
    Some(of_name.map_or(Err(negative), |record| {
        Ok(Found {
            address: record.data().addr(),
            ttl_s: record.ttl().as_secs(),
        })
    }))
}
