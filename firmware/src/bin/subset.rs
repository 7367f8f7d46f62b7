//! The part of the TCP engine with the functions of TCPlp, for comparison: active and passive open
//! without a SYN cache, data in both directions, SACK, timestamps, ECN, delayed ACKs, window
//! probes, keep-alive, challenge ACKs.
//!
//! The image lacks Fast Open, the user timeout option, RACK-TLP, PRR and F-RTO, which are features
//! of the engine. It also lacks functions that an application need not call, which are then not
//! linked: SYN cache and cookies, ICMP, changes of the path's MTU.
//!
//! Otherwise this image is like the image `tcp`, and is never run either.
#![no_std]
#![no_main]

use core::hint::black_box;

use redpoll_base::{Addr, Ecn};
use redpoll_firmware as image;
use redpoll_firmware::unknown::{any, endpoint, keepalive, now, span};
use redpoll_tcp::{
    Action, Config, Connection, IpMeta, IsnGenerator, Listener, Segment, SendRing, Token,
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
        ..black_box(Config::default())
    }
}

struct Node<'a> {
    config: &'a Config,
    isn: IsnGenerator,
    slots: [Slot; 2],
    listener: Listener,
}

type Free = [Option<(Buffer, Buffer)>; 2];

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
    };
    let bytes = any([0u8; 64]);
    loop {
        let index = usize::from(any(0u8) & 1);
        match any(0u8) {
            0 => node.input(&bytes, &mut free),
            1 => node.open(&mut free),
            _ => {
                if let Some(slot) = node.slots.get_mut(index) {
                    if let Some(connection) = slot {
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
        *slot = Some(Connection::connect(
            now(),
            self.config,
            here,
            there,
            iss,
            SendRing::new(tx),
            rx,
        ));
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
        let mut slots = self.slots.iter_mut().flatten();
        if let Some(its) = slots.find(|it| it.matches(&meta, seg) && !it.yields_to(seg)) {
            return its.input(now(), &meta, seg);
        }
        if !self.listener.matches(&meta, seg) {
            return answer(redpoll_tcp::reset_reply(&meta, seg));
        }
        match self.listener.input(&meta, seg) {
            Action::Reply(header) => answer(Some(header)),
            Action::Accept(request) => {
                let (Some(slot), Some((tx, rx))) = (
                    self.slots.iter_mut().find(|slot| slot.is_none()),
                    free.iter_mut().find_map(Option::take),
                ) else {
                    return;
                };
                let iss = self.isn.isn(now(), &request.local, &request.remote);
                let made =
                    Connection::accept(now(), self.config, request, iss, SendRing::new(tx), rx);
                *slot = Some(made);
            }
            Action::Drop => {}
        }
    }
}

fn answer(header: Option<redpoll_tcp::Header>) {
    if let Some(header) = &header {
        black_box(header.as_bytes());
    }
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
        8 => connection.set_nagle(now(), any(true)),
        9 => connection.set_keepalive(now(), keepalive()),
        10 => connection.on_timeout(now()),
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
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
