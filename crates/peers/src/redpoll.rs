//! Redpoll with its default parameters, except for the minimum retransmission timeout where stated.
//!
//! As for the other stacks, the link has a queue, which takes the engine's segments at once and
//! reports them as sent. A radio would take segments later, with a newer acknowledgment number; the
//! bench does not use this ability.

use redpoll_base::{Addr, Duration, Ecn, Instant};
use redpoll_tcp::{
    Action, Config, Connection, Endpoint, IpMeta, Listener, Segment, SendRing, SeqNum, State,
};

use crate::packet;
use crate::peer::{Limits, Peer};

const PORT: u16 = 4_000;
/// Maximum segment length for the engine, above the length of any segment in the benches.
const LINK_BYTES: usize = 1_240;
const TIMESTAMPS_BYTES: u16 = 12;

struct End {
    side: usize,
    config: Config,
    buffer_bytes: usize,
    conn: Option<Connection<Vec<u8>>>,
}

pub(crate) fn open(now: Instant, limits: &Limits, min_rto: Option<Duration>) -> [Box<dyn Peer>; 2] {
    let mut defaults = Config::default();
    defaults.min_rto = min_rto.unwrap_or(defaults.min_rto);
    let options = if defaults.timestamps {
        TIMESTAMPS_BYTES
    } else {
        0
    };
    let config = Config {
        mss: limits.payload_bytes + options,
        ..defaults
    };
    let buffer = vec![0; limits.buffer_bytes];
    let client = Connection::connect(
        now,
        &config,
        endpoint(0),
        endpoint(1),
        SeqNum(1_000),
        SendRing::new(buffer.clone()),
        buffer,
    );
    let end = |side, conn| {
        Box::new(End {
            side,
            config: config.clone(),
            buffer_bytes: limits.buffer_bytes,
            conn,
        })
    };
    [end(0, Some(client)), end(1, None)]
}

fn endpoint(side: usize) -> Endpoint {
    Endpoint::new(Addr(packet::address(side)), PORT)
}

impl Peer for End {
    fn input(&mut self, now: Instant, packet: &[u8]) {
        let (bytes, ecn) = packet::unwrap(packet);
        let meta = IpMeta {
            src: endpoint(1 - self.side).addr,
            dst: endpoint(self.side).addr,
            ecn: Ecn::from_bits(ecn),
            hop_limit: 64,
        };
        let Ok(segment) = Segment::parse(&meta, bytes) else {
            panic!("Redpoll cannot parse a segment that Redpoll sent");
        };
        if let Some(conn) = &mut self.conn {
            conn.input(now, &meta, &segment);
        } else if let Action::Accept(request) =
            Listener::new(endpoint(self.side)).input(&meta, &segment)
        {
            let buffer = vec![0; self.buffer_bytes];
            let conn = Connection::accept(
                now,
                &self.config,
                request,
                SeqNum(2_000),
                SendRing::new(buffer.clone()),
                buffer,
            );
            self.conn = Some(conn);
        }
    }

    fn output(&mut self, now: Instant) -> Option<Vec<u8>> {
        let conn = self.conn.as_mut()?;
        let desc = conn.poll_segment(now, LINK_BYTES)?;
        let mut payload = vec![0; usize::from(desc.payload_len)];
        let count = conn.read(desc.token, 0, &mut payload);
        assert_eq!(count, Ok(payload.len()), "a segment just made can be read");
        conn.on_segment_sent(desc.token, now);
        let ecn = desc.ecn.bits();
        Some(packet::wrap(
            self.side,
            ecn,
            &[desc.header.as_bytes(), &payload],
        ))
    }

    fn poll_at(&mut self, _now: Instant) -> Option<Instant> {
        self.conn.as_ref()?.poll_at().map(|wake| wake.at)
    }

    fn on_timeout(&mut self, now: Instant) {
        if let Some(conn) = &mut self.conn {
            conn.on_timeout(now);
        }
    }

    fn send(&mut self, now: Instant, bytes: &[u8]) -> usize {
        let conn = self.conn.as_mut();
        conn.and_then(|conn| conn.send(now, bytes).ok())
            .unwrap_or(0)
    }

    fn recv(&mut self, now: Instant, out: &mut [u8]) -> usize {
        let conn = self.conn.as_mut();
        conn.and_then(|conn| conn.recv(now, out).ok()).unwrap_or(0)
    }

    fn is_established(&self) -> bool {
        let state = self.conn.as_ref().map(Connection::state);
        state == Some(State::Established)
    }

    fn has_failed(&self) -> bool {
        self.conn.as_ref().is_some_and(Connection::is_closed)
    }

    fn timeouts(&self) -> u32 {
        self.conn.as_ref().map_or(0, |conn| conn.stats().rtos)
    }
}
