//! Router advertisements that announce the mesh's prefix to the computers of a link, by the
//! Route Information option of RFC 4191. They contain only this route, so this computer does
//! not become a default router.

use std::io::{self, IoSliceMut};
use std::net::{Ipv6Addr, SocketAddrV6, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn6,
    recvmsg, setsockopt, socket, sockopt,
};
use redpoll_base::{Duration, Instant, Rng};

/// Types of ICMPv6 messages (RFC 4861 §4.1, §4.2).
const ROUTER_SOLICITATION: u8 = 133;
const ROUTER_ADVERTISEMENT: u8 = 134;
/// Type of the Route Information option (RFC 4191 §2.3).
const ROUTE_INFORMATION: u8 = 24;
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
/// Hop limit of neighbour discovery messages, which no router has forwarded (RFC 4861 §6.1.1).
const HOP_LIMIT: i32 = 255;

/// MaxRtrAdvInterval and MinRtrAdvInterval, their defaults (RFC 4861 §6.2.1).
const INTERVAL_MAX: Duration = Duration::from_secs(600);
const INTERVAL_MIN: Duration = Duration::from_secs(200);
/// MAX_INITIAL_RTR_ADVERT_INTERVAL, MAX_INITIAL_RTR_ADVERTISEMENTS, MIN_DELAY_BETWEEN_RAS
/// and MAX_RA_DELAY_TIME (RFC 4861 §10).
const INITIAL_INTERVAL_MAX: Duration = Duration::from_secs(16);
const INITIAL_COUNT: u32 = 3;
const DELAY_BETWEEN: Duration = Duration::from_secs(3);
const ANSWER_DELAY_MAX: Duration = Duration::from_millis(500);
/// Time for which hosts keep the route: three times the longest interval (RFC 4191 §4).
const ROUTE_LIFETIME_S: u32 = 1_800;

/// Reason for which no prefix can be advertised.
#[derive(Debug, thiserror::Error)]
pub enum AdvertiserError {
    #[error("there is no interface {0} (to list the interfaces: `ip link`)")]
    NoInterface(String),
    /// Router advertisements need root, or the right to open raw sockets.
    #[error("no permission to send router advertisements (needs root or CAP_NET_RAW)")]
    NoPermission,
    /// Another failure, with the step that failed.
    #[error("cannot {step}: {source}")]
    Failed {
        step: &'static str,
        source: io::Error,
    },
}

fn failed(step: &'static str) -> impl Fn(Errno) -> AdvertiserError {
    move |errno| match errno {
        Errno::EPERM | Errno::EACCES => AdvertiserError::NoPermission,
        _ => AdvertiserError::Failed {
            step,
            source: errno.into(),
        },
    }
}

/// Times at which advertisements are sent (RFC 4861 §6.2.4, §6.2.6).
#[derive(Debug)]
struct Timetable {
    rng: Rng,
    next: Instant,
    last: Option<Instant>,
    sent: u32,
}

impl Timetable {
    /// Makes a timetable whose first advertisement is due at once.
    fn new(rng: Rng) -> Self {
        Timetable {
            rng,
            next: Instant::ZERO,
            last: None,
            sent: 0,
        }
    }

    fn between(&mut self, least: Duration, most: Duration) -> Duration {
        let span = u32::try_from((most - least).as_micros()).unwrap_or(u32::MAX);
        least + Duration::from_micros(u64::from(self.rng.below(span.saturating_add(1))))
    }

    fn on_sent(&mut self, now: Instant) {
        self.last = Some(now);
        self.sent = self.sent.saturating_add(1);
        let pause = self.between(INTERVAL_MIN, INTERVAL_MAX);
        self.next = now
            + if self.sent < INITIAL_COUNT {
                pause.min(INITIAL_INTERVAL_MAX)
            } else {
                pause
            };
    }

    /// Schedules an early advertisement to all hosts, in answer to a solicitation.
    fn on_asked(&mut self, now: Instant) {
        let soon = now + self.between(Duration::ZERO, ANSWER_DELAY_MAX);
        let allowed = self
            .last
            .map_or(soon, |last| soon.max(last + DELAY_BETWEEN));
        self.next = self.next.min(allowed);
    }
}

/// Advertises a prefix on an interface. The destructor requests the hosts to delete the route.
#[derive(Debug)]
pub struct Advertiser {
    /// A raw socket. `UdpSocket` is used only because it wraps the necessary calls.
    socket: UdpSocket,
    interface: u32,
    prefix: Ipv6Addr,
    timetable: Timetable,
}

impl Advertiser {
    /// Advertises `prefix`/64 on `interface`, from the first [`Advertiser::turn`] on. `seed`
    /// determines the random parts of the times.
    pub fn new(interface: &str, prefix: Ipv6Addr, seed: u64) -> Result<Self, AdvertiserError> {
        let index = if_nametoindex(interface)
            .map_err(|_| AdvertiserError::NoInterface(interface.to_owned()))?;
        let socket = socket(
            AddressFamily::Inet6,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
            SockProtocol::IcmpV6,
        )
        .map_err(failed("open a raw socket"))?;
        setsockopt(&socket, sockopt::Ipv6MulticastHops, &HOP_LIMIT)
            .map_err(failed("set the hop limit"))?;
        setsockopt(&socket, sockopt::Ipv6RecvHopLimit, &true)
            .map_err(failed("request the hop limits of received packets"))?;
        // Solicitations are sent to all routers of the link (RFC 4861 §4.1).
        let socket = UdpSocket::from(socket);
        let joined = socket.join_multicast_v6(&ALL_ROUTERS, index);
        joined.map_err(|source| AdvertiserError::Failed {
            step: "join the group of all routers",
            source,
        })?;
        Ok(Advertiser {
            socket,
            interface: index,
            prefix,
            timetable: Timetable::new(Rng::new(seed)),
        })
    }

    /// Returns when [`Advertiser::turn`] is to be called, if no solicitation arrives before.
    pub fn next_at(&self) -> Instant {
        self.timetable.next
    }

    /// Receives solicitations, and sends the due advertisements. Returns the errors of the kernel,
    /// but ignores that the link is down.
    pub fn turn(&mut self, now: Instant) -> io::Result<()> {
        while self.is_asked()? {
            self.timetable.on_asked(now);
        }
        if self.timetable.next <= now {
            self.timetable.on_sent(now);
            self.send(ROUTE_LIFETIME_S)?;
        }
        Ok(())
    }

    /// Reads waiting messages up to the first solicitation. Returns whether there was one; `false`
    /// means that no message is left.
    fn is_asked(&mut self) -> io::Result<bool> {
        loop {
            let mut message = [0; 64];
            let mut control = cmsg_space!(i32);
            let mut parts = [IoSliceMut::new(&mut message)];
            let received = recvmsg::<SockaddrIn6>(
                self.socket.as_raw_fd(),
                &mut parts,
                Some(&mut control),
                MsgFlags::empty(),
            );
            let (len, hop_limit, interface) = match received {
                Ok(received) => {
                    let limits = received.cmsgs()?.find_map(|control| match control {
                        ControlMessageOwned::Ipv6HopLimit(limit) => Some(limit),
                        _ => None,
                    });
                    let from = received.address.map(|address| address.scope_id());
                    (received.bytes, limits, from)
                }
                Err(Errno::EAGAIN) => return Ok(false),
                Err(Errno::EINTR) => continue,
                Err(errno) => return Err(errno.into()),
            };
            // If the source address is unspecified, the kernel does not report the scope.
            let is_here = interface.is_none_or(|index| index == 0 || index == self.interface);
            if is_solicitation(message.get(..len).unwrap_or_default(), hop_limit) && is_here {
                return Ok(true);
            }
        }
    }

    fn send(&self, route_lifetime_s: u32) -> io::Result<()> {
        let to = SocketAddrV6::new(ALL_NODES, 0, 0, self.interface);
        let message = advertisement(self.prefix, route_lifetime_s);
        match self.socket.send_to(&message, to) {
            Ok(_) => Ok(()),
            // Hosts receive the next advertisement when the link is up again.
            Err(error) if is_passing(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether the link may work again later, so that the error needs no report.
fn is_passing(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(
        errno,
        Some(
            Errno::ENETDOWN
                | Errno::ENETUNREACH
                | Errno::EADDRNOTAVAIL
                | Errno::EAGAIN
                | Errno::ENOBUFS
                | Errno::ENODEV
                | Errno::ENXIO
        )
    )
}

impl AsFd for Advertiser {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Advertiser {
    /// Advertises a lifetime of zero, which ends the route (RFC 4191 §2.3).
    fn drop(&mut self) {
        // A computer that does not receive this message keeps the route until its lifetime ends.
        let _ = self.send(0);
    }
}

/// Returns whether a message is a solicitation (RFC 4861 §6.1.1). The kernel checked its checksum.
fn is_solicitation(message: &[u8], hop_limit: Option<i32>) -> bool {
    hop_limit == Some(HOP_LIMIT)
        && message.len() >= 8
        && message.starts_with(&[ROUTER_SOLICITATION, 0])
}

/// RFC 4861 §4.2: the sender is not a default router, and leaves the other parameters unspecified.
/// RFC 4191 §2.3: the route has a medium preference. The kernel writes the checksum.
fn advertisement(prefix: Ipv6Addr, route_lifetime_s: u32) -> [u8; 32] {
    let mut message = [0; 32];
    message[0] = ROUTER_ADVERTISEMENT;
    // Length in units of 8 octets, length of the prefix, preference.
    message[16..20].copy_from_slice(&[ROUTE_INFORMATION, 2, 64, 0]);
    message[20..24].copy_from_slice(&route_lifetime_s.to_be_bytes());
    message[24..32].copy_from_slice(&prefix.octets()[..8]);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::from_millis(s * 1_000)
    }

    #[test]
    fn three_advertisements_leave_soon_and_then_one_every_few_minutes() {
        let mut timetable = Timetable::new(Rng::new(1));
        assert_eq!(timetable.next, Instant::ZERO);
        let mut times = vec![];
        for _ in 0..10 {
            times.push(timetable.next);
            timetable.on_sent(timetable.next);
        }
        let pauses: Vec<_> = times.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(
            pauses[..2]
                .iter()
                .all(|pause| *pause <= INITIAL_INTERVAL_MAX)
        );
        let later = &pauses[2..];
        assert!(
            later
                .iter()
                .all(|pause| *pause >= INTERVAL_MIN && *pause <= INTERVAL_MAX)
        );
    }

    #[test]
    fn solicitations_are_answered_at_most_every_three_seconds() {
        let mut timetable = Timetable::new(Rng::new(1));
        for _ in 0..3 {
            timetable.on_sent(timetable.next);
        }
        let last = timetable.last.unwrap();
        let now = last + Duration::from_secs(100);
        timetable.on_asked(now);
        assert!(timetable.next <= now + ANSWER_DELAY_MAX);
        timetable.on_sent(timetable.next);
        let last = timetable.last.unwrap();
        timetable.on_asked(last + Duration::from_millis(10));
        assert_eq!(timetable.next, last + DELAY_BETWEEN);
        // An answer never delays an advertisement that is due sooner.
        timetable.next = at(1);
        timetable.on_asked(at(2));
        assert_eq!(timetable.next, at(1));
    }

    #[test]
    fn only_solicitations_of_the_link_count() {
        let asks = [ROUTER_SOLICITATION, 0, 1, 2, 0, 0, 0, 0];
        assert!(is_solicitation(&asks, Some(255)));
        assert!(!is_solicitation(&asks, Some(64)));
        assert!(!is_solicitation(&asks, None));
        assert!(!is_solicitation(&asks[..7], Some(255)));
        assert!(!is_solicitation(&[135, 0, 1, 2, 0, 0, 0, 0], Some(255)));
    }
}
