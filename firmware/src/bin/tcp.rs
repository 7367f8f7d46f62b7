//! Calls every function of the TCP engine with arguments unknown to the compiler, so the linked
//! code is that of the whole engine.
//!
//! Like a product, the image has one table of connections, and calls each function at one place.
//! With more places, the compiler would inline parts of the engine twice.
//!
//! `Reconnect` is omitted, because it belongs to the application.
//!
//! The image is never run. Its own code does not panic, so if the image contains code that can
//! panic, it is the engine's.
#![no_std]
#![no_main]

use core::hint::black_box;

use redpoll_base::{Addr, Ecn};
use redpoll_firmware as image;
use redpoll_firmware::unknown::{any, endpoint, keepalive, now, span};
use redpoll_tcp::{
    Answer, Config, Connection, FastOpenServer, FastOpenServers, HalfOpen, IcmpKind, Incoming,
    IpMeta, IsnGenerator, Listener, Segment, SendRing, SeqNum, SynCache, Terms, Token,
    UserTimeoutOption,
};

type Buffer = &'static mut [u8];
type Slot = Option<Connection<Buffer>>;

/// Returns parameters that the compiler does not know. Each is set separately, so that defaults are
/// not counted as code.
#[inline(never)]
fn config() -> Config {
    Config {
        keepalive: keepalive(),
        user_timeout: any(true).then(span),
        user_timeout_option: any(true).then(|| UserTimeoutOption {
            advertise: span(),
            most: span(),
        }),
        ..black_box(Config::default())
    }
}

struct Node<'a> {
    config: &'a Config,
    isn: IsnGenerator,
    slots: [Slot; 2],
    listener: Listener,
    half_open: &'a mut SynCache<[HalfOpen; 4]>,
    servers: &'a mut FastOpenServers<[FastOpenServer; 4]>,
}

#[unsafe(no_mangle)]
fn image_main() -> ! {
    let Some([a, b, c, d]) = image::memory::buffers() else {
        image::host::exit(false)
    };
    let mut free = [Some((a, b)), Some((c, d))];
    let mut node = Node {
        config: &config(),
        isn: IsnGenerator::new(any([7; 16])),
        slots: [None, None],
        listener: Listener::new(endpoint()),
        half_open: &mut SynCache::new([HalfOpen::default(); 4]),
        servers: &mut FastOpenServers::new([FastOpenServer::default(); 4]),
    };
    let bytes = any([0u8; 64]);
    loop {
        let index = usize::from(any(0u8) & 1);
        match any(0u8) {
            0 => node.input(&bytes, &mut free),
            1 => node.open(&mut free),
            2 => node.half_open(),
            _ => {
                if let Some(slot) = node.slots.get_mut(index) {
                    if let Some(connection) = slot {
                        happen(node.servers, connection, None);
                        use_one(connection);
                    }
                    let is_finished = slot.as_ref().is_some_and(Connection::is_finished);
                    if is_finished && let Some(free) = free.get_mut(index) {
                        *free = slot.take().map(Connection::into_buffers);
                    }
                }
            }
        }
    }
}

type Free = [Option<(Buffer, Buffer)>; 2];

impl Node<'_> {
    fn open(&mut self, free: &mut Free) {
        let (Some(slot), Some((tx, rx))) = (
            self.slots.iter_mut().find(|slot| slot.is_none()),
            free.iter_mut().find_map(Option::take),
        ) else {
            return;
        };
        let (here, there) = (endpoint(), endpoint());
        let iss = self.isn.isn(now(), &here, &there);
        let offset = self.isn.timestamp_offset(&here, &there);
        let connection =
            Connection::connect(now(), self.config, here, there, iss, SendRing::new(tx), rx);
        let connection = slot.insert(connection);
        connection.set_timestamp_offset(offset);
        if let Some((cookie, mss)) = self.servers.find(now(), &there) {
            connection.fast_open(&cookie, mss);
        }
    }

    /// Handles a segment: for a connection, or otherwise for the listener.
    fn input(&mut self, bytes: &[u8], free: &mut Free) {
        let meta = IpMeta {
            src: Addr(any([1; 16])),
            dst: Addr(any([2; 16])),
            ecn: any(Ecn::NotEct),
            hop_limit: any(64),
        };
        let Ok(seg) = &Segment::parse(&meta, bytes) else {
            return;
        };
        let is_its = |it: &Connection<Buffer>| it.matches(&meta, seg) && !it.yields_to(seg);
        let its = self
            .slots
            .iter()
            .position(|slot| slot.as_ref().is_some_and(is_its));
        let index = its.or_else(|| self.request(&meta, seg, free));
        let slot = index.and_then(|index| self.slots.get_mut(index));
        if let Some(Some(connection)) = slot {
            happen(self.servers, connection, Some((&meta, seg)));
        }
    }

    /// Handles a segment without a connection; returns the index of the connection that it makes.
    fn request(&mut self, meta: &IpMeta, seg: &Segment<'_>, free: &mut Free) -> Option<usize> {
        black_box(self.listener.local());
        if !self.listener.matches(meta, seg) {
            answer(redpoll_tcp::reset_reply(meta, seg));
            return None;
        }
        let terms = Terms {
            config: self.config,
            isn: &self.isn,
            fast_open: any(true),
            window: any(1848),
        };
        let half_open = &mut *self.half_open;
        let incoming = Incoming {
            now: now(),
            local: any(0),
            meta,
            seg,
        };
        let made = match half_open.input(&terms, &incoming) {
            Answer::Reply(header) | Answer::Cookie(header) | Answer::Reset(header) => {
                answer(Some(header));
                return None;
            }
            Answer::Drop => return None,
            Answer::Complete(handshake) => {
                black_box(handshake.is_by_cookie());
                let (tx, rx) = free.iter_mut().find_map(Option::take)?;
                half_open.remove(&handshake);
                Connection::complete(now(), self.config, &handshake, SendRing::new(tx), rx)
            }
            Answer::Open(request) => {
                let (tx, rx) = free.iter_mut().find_map(Option::take)?;
                let iss = self.isn.isn(now(), &request.local, &request.remote);
                let mut made =
                    Connection::accept(now(), self.config, request, iss, SendRing::new(tx), rx);
                made.take_syn_data(seg);
                made
            }
        };
        let index = self.slots.iter().position(Option::is_none)?;
        *self.slots.get_mut(index)? = Some(made);
        Some(index)
    }

    fn half_open(&mut self) {
        let terms = Terms {
            config: self.config,
            isn: &self.isn,
            fast_open: any(true),
            window: any(1848),
        };
        let half_open = &mut *self.half_open;
        black_box(half_open.poll_at());
        black_box(half_open.on_timeout(now(), self.config));
        let again = half_open.poll_segment(now(), &terms, |addr, local| {
            black_box((addr, local));
            any(true).then(|| Addr(any([1; 16])))
        });
        if let Some(again) = again {
            black_box((again.src, again.dst));
            answer(Some(again.header));
        }
        half_open.forget(any(80));
        black_box(half_open.is_empty());
    }
}

fn answer(header: Option<redpoll_tcp::Header>) {
    if let Some(header) = &header {
        black_box(header.as_bytes());
    }
}

/// Events that may end a Fast Open attempt: a segment, a timer, ICMP.
#[inline(never)]
fn happen(
    servers: &mut FastOpenServers<[FastOpenServer; 4]>,
    connection: &mut Connection<Buffer>,
    arrived: Option<(&IpMeta, &Segment<'_>)>,
) {
    let seg = arrived.map(|(_, seg)| seg);
    servers.watch(now(), connection, seg, |connection| match arrived {
        Some((meta, seg)) => connection.input(now(), meta, seg),
        None if any(true) => connection.on_timeout(now()),
        None if any(true) => {
            let kinds = [
                IcmpKind::NoRoute,
                IcmpKind::Prohibited,
                IcmpKind::AddressUnreachable,
                IcmpKind::PortUnreachable,
                IcmpKind::TimeExceeded,
                IcmpKind::ParameterProblem,
            ];
            if let Some(kind) = kinds.get(any(0usize)) {
                connection.on_icmp(now(), *kind, SeqNum(any(1)));
            }
        }
        None => connection.on_packet_too_big(now(), any(1280), SeqNum(any(1))),
    });
}

/// Makes one of the calls of the application and of the link.
#[inline(never)]
fn use_one(connection: &mut Connection<Buffer>) {
    let mut bytes = any([0u8; 64]);
    let token = Token::from_bits(any(0));
    match any(0u8) {
        0 => {
            // By reference, because the value is too large to move.
            if let Some(desc) = &connection.poll_segment(now(), any(1280)) {
                black_box((desc.header.as_bytes(), desc.payload_len, desc.ecn));
                black_box(desc.token.to_bits());
            }
        }
        1 => {
            black_box(connection.read(token, any(0), &mut bytes)).ok();
        }
        2 => connection.on_segment_sent(token, now()),
        3 => connection.on_segment_lost(token, now()),
        4 => {
            black_box(connection.send(now(), &bytes)).ok();
        }
        5 => {
            black_box(connection.recv(now(), &mut bytes)).ok();
        }
        6 => connection.close(now()),
        7 => connection.abort(now()),
        8 => connection.orphan(now(), span()),
        9 => connection.set_nagle(now(), any(true)),
        10 => connection.set_keepalive(now(), keepalive()),
        11 => connection.set_user_timeout(now(), any(true).then(span)),
        _ => query(connection),
    }
}

fn query(connection: &mut Connection<Buffer>) {
    black_box((connection.poll_at(), connection.poll_event()));
    black_box((connection.expects(), connection.state(), connection.error()));
    black_box((connection.local(), connection.remote()));
    black_box((connection.is_closed(), connection.is_finished()));
    black_box(connection.info());
    black_box((connection.send_room(), connection.recv_queue()));
    black_box(connection.unacked());
    black_box((connection.peek(), connection.user_timeout()));
    black_box(connection.consume(now(), any(1)));
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
