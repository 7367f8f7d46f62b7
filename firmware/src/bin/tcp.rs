//! Calls everything that the TCP engine has, with arguments of which the
//! compiler knows nothing: what is linked is what the whole engine needs.
//!
//! It is never run. Nothing in here panics; if the image holds code that
//! does, it is the engine's.
#![no_std]
#![no_main]

use core::hint::black_box;

use redpoll_base::{Addr, Duration, Ecn, Instant};
use redpoll_firmware as image;
use redpoll_tcp::{
    Answer, Config, Connection, Endpoint, FastOpenServer, FastOpenServers, HalfOpen, IcmpKind,
    IpMeta, IsnGenerator, Keepalive, Listener, Segment, SynCache, Terms, Token, reset_reply,
};

type Buffer = &'static mut [u8];

/// Some value.
fn any<T: Copy>(value: T) -> T {
    black_box(value)
}

fn now() -> Instant {
    Instant::from_micros(any(1))
}

fn span() -> Duration {
    Duration::from_micros(any(1))
}

fn endpoint() -> Endpoint {
    Endpoint::new(Addr(any([1; 16])), any(1))
}

#[allow(clippy::needless_update)]
fn config() -> Config {
    Config {
        mss: any(474),
        nagle: any(true),
        timestamps: any(true),
        delayed_ack: span(),
        ack_every: any(2),
        initial_rto: span(),
        min_rto: span(),
        max_rto: span(),
        max_retries: any(12),
        syn_retries: any(7),
        persist_max: span(),
        keepalive: any(true).then(|| Keepalive {
            idle: span(),
            interval: span(),
            count: any(8),
        }),
        time_wait: span(),
        fin_wait_2: any(true).then(span),
        user_timeout: any(true).then(span),
        // What the engine learns to do later is part of it as well.
        ..black_box(Config::default())
    }
}

#[unsafe(no_mangle)]
fn image_main() -> ! {
    let Some([a, b, c, d]) = image::memory::buffers() else {
        image::host::exit(false)
    };
    let isn = IsnGenerator::new(any([7; 16]));
    let meta = IpMeta {
        src: Addr(any([1; 16])),
        dst: Addr(any([2; 16])),
        ecn: any(Ecn::NotEct),
        hop_limit: any(64),
    };
    let iss = isn.isn(now(), &endpoint(), &endpoint());
    let mut connection = Connection::connect(now(), &config(), endpoint(), endpoint(), iss, a, b);
    let mut servers = FastOpenServers::new([FastOpenServer::default(); 4]);
    if let Some((cookie, mss)) = servers.find(now(), &endpoint()) {
        connection.fast_open(&cookie, mss);
    }
    use_all(&mut connection, &meta);
    servers.watch(now(), &mut connection, None, |c| c.on_timeout(now()));

    let listener = Listener::new(endpoint());
    black_box(listener.local());
    let mut cache = SynCache::new([HalfOpen::default(); 4]);
    let terms = Terms {
        config: &config(),
        isn: &isn,
        fast_open: any(true),
        window: any(1848),
    };
    let bytes = any([0u8; 64]);
    if let Ok(seg) = Segment::parse(&meta, &bytes) {
        black_box(listener.matches(&meta, &seg));
        match cache.input(now(), &terms, any(0), &meta, &seg) {
            Answer::Reply(header) | Answer::Cookie(header) => {
                black_box(header.as_bytes());
            }
            Answer::Complete(handshake) => {
                let mut accepted = Connection::complete(now(), terms.config, &handshake, c, d);
                cache.remove(&handshake);
                use_all(&mut accepted, &meta);
                black_box(accepted.into_buffers());
            }
            Answer::Open(request) => {
                let mut accepted = Connection::accept(now(), terms.config, request, iss, c, d);
                accepted.take_syn_data(&seg);
                use_all(&mut accepted, &meta);
                black_box(accepted.into_buffers());
            }
            Answer::Drop => {}
        }
        black_box(reset_reply(&meta, &seg));
    }
    black_box(cache.poll_at());
    black_box(cache.on_timeout(now(), terms.config));
    let answer = cache.poll_segment(now(), &terms, |addr, local| {
        black_box((addr, local));
        any(true).then(|| Addr(any([1; 16])))
    });
    black_box(answer.is_some());
    cache.forget(any(80));
    black_box(connection.into_buffers());
    loop {
        black_box(0);
    }
}

/// One of the calls, over and over.
#[inline(never)]
fn use_all(connection: &mut Connection<Buffer>, meta: &IpMeta) {
    let mut bytes = any([0u8; 64]);
    let token = Token::from_bits(any(0));
    while any(true) {
        match any(0u8) {
            0 => {
                if let Ok(seg) = Segment::parse(meta, &bytes) {
                    if connection.matches(meta, &seg) && !connection.yields_to(&seg) {
                        connection.input(now(), meta, &seg);
                    }
                }
            }
            1 => {
                let kinds = [
                    IcmpKind::NoRoute,
                    IcmpKind::Prohibited,
                    IcmpKind::AddressUnreachable,
                    IcmpKind::PortUnreachable,
                    IcmpKind::TimeExceeded,
                    IcmpKind::ParameterProblem,
                ];
                if let Some(kind) = kinds.get(any(0usize)) {
                    connection.on_icmp(now(), *kind, redpoll_tcp::SeqNum(any(1)));
                }
            }
            2 => connection.on_path_mtu(now(), any(1280)),
            3 => connection.on_timeout(now()),
            4 => {
                if let Some(desc) = connection.poll_segment(now(), any(1280)) {
                    black_box((desc.header.as_bytes(), desc.payload_len, desc.ecn));
                    black_box(desc.token.to_bits());
                }
            }
            5 => {
                black_box(connection.read(token, any(0), &mut bytes)).ok();
            }
            6 => connection.on_segment_sent(token, now()),
            7 => connection.on_segment_lost(token, now()),
            8 => {
                black_box(connection.send(now(), &bytes)).ok();
            }
            9 => {
                black_box(connection.recv(now(), &mut bytes)).ok();
            }
            10 => connection.close(now()),
            11 => connection.abort(now()),
            _ => query(connection),
        }
    }
}

/// The queries.
fn query(connection: &mut Connection<Buffer>) {
    black_box((connection.poll_at(), connection.poll_event()));
    black_box((connection.expects(), connection.state(), connection.error()));
    black_box((connection.local(), connection.remote()));
    black_box((connection.is_closed(), connection.is_finished()));
    black_box((connection.cwnd(), connection.ssthresh(), connection.rto()));
    black_box((connection.send_room(), connection.recv_queue()));
    black_box((connection.unacked(), connection.eff_snd_mss()));
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
