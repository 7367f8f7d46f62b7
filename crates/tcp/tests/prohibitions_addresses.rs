//! A peer sends SYNs and other segments at random to all addresses of a host. The engine uses only
//! the local address of each OPEN, passive or active (RFC 9293 §3.9.1.1, MUST-43).

use redpoll_base::{Addr, Ecn, Instant, Rng};
use redpoll_tcp::{
    Action, Config, Connection, Endpoint, Fields, Header, IpMeta, Listener, Segment, SendRing,
    SeqNum, State,
};
use redpoll_testkit::{RST, SYN, SYN_ACK};
use redpoll_wire::tcp::Flags;

/// Addresses of the host; `PEERS` are those of the peers. Each pair gives a different checksum.
const OWN: [Addr; 3] = [Addr([0x0a; 16]), Addr([0x1a; 16]), Addr([0x2a; 16])];
const PEERS: [Addr; 2] = [Addr([0x0b; 16]), Addr([0x4b; 16])];
const PORTS: [u16; 2] = [80, 81];
/// The unspecified address, which represents every address.
const ANY: Addr = Addr([0; 16]);

struct World {
    rng: Rng,
    now: Instant,
    /// Passive opens, at most one for each address and port.
    listeners: Vec<Listener>,
    conns: Vec<Connection<Vec<u8>>>,
    /// Numbers of SYNs accepted by listeners at one address, and by listeners at `ANY`.
    accepted: [u32; 2],
    established: u32,
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = Rng::named(seed, "addresses");
        let mut listeners = Vec::new();
        for port in PORTS {
            for addr in [OWN[0], OWN[1], OWN[2], ANY] {
                if rng.below(2) == 0 {
                    listeners.push(Listener::new(Endpoint::new(addr, port)));
                }
            }
        }
        World {
            rng,
            now: Instant::from_millis(1_000),
            listeners,
            conns: Vec::new(),
            accepted: [0; 2],
            established: 0,
        }
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.rng.below(all.len() as u32) as usize]
    }

    fn has(&self, local: Endpoint, remote: Endpoint) -> bool {
        let is_it = |conn: &&Connection<Vec<u8>>| (conn.local(), conn.remote()) == (local, remote);
        self.conns.iter().any(|conn| is_it(&conn))
    }

    /// Opens a connection from an address that the application chooses.
    fn open(&mut self) {
        let local = Endpoint::new(self.one_of(&OWN), self.one_of(&PORTS));
        let remote = Endpoint::new(self.one_of(&PEERS), self.one_of(&PORTS));
        if !self.has(local, remote) {
            let iss = SeqNum(self.rng.next_u32());
            let config = Config::default();
            let (tx, rx) = (vec![0; 200], vec![0; 200]);
            let conn =
                Connection::connect(self.now, &config, local, remote, iss, SendRing::new(tx), rx);
            self.conns.push(conn);
        }
    }

    fn look(&mut self) -> Vec<(Endpoint, Endpoint, SeqNum)> {
        let mut sent = Vec::new();
        for conn in &mut self.conns {
            let (local, remote) = (conn.local(), conn.remote());
            while let Some(desc) = conn.poll_segment(self.now, 500) {
                assert_eq!(desc.payload_len, 0);
                for (src, dst) in OWN.iter().flat_map(|src| PEERS.map(|dst| (*src, dst))) {
                    // The checksum covers the addresses.
                    let meta = meta(src, dst);
                    let seg = Segment::parse(&meta, desc.header.as_bytes());
                    assert_eq!(
                        seg.is_ok(),
                        (src, dst) == (local.addr, remote.addr),
                        "from {local:?} to {remote:?}: reads as from {src:?} to {dst:?}"
                    );
                    if let Ok(seg) = seg {
                        assert_eq!((seg.src_port, seg.dst_port), (local.port, remote.port));
                        sent.push((local, remote, seg.seq));
                    }
                }
                conn.on_segment_sent(desc.token, self.now);
            }
        }
        sent
    }

    /// Delivers a segment from `remote` to `local`. A listener or connection that accepts it must
    /// be bound to that address.
    fn arrive(&mut self, local: Endpoint, remote: Endpoint, fields: &Fields) {
        let meta = meta(remote.addr, local.addr);
        let header = Header::encode(fields, &remote, &local, [&[], &[]]);
        let seg = Segment::parse(&meta, header.as_bytes()).unwrap();
        let mut claims = 0;
        for conn in &mut self.conns {
            let is_its = (conn.local(), conn.remote()) == (local, remote);
            assert_eq!(conn.matches(&meta, &seg), is_its, "{local:?} {remote:?}");
            if is_its {
                claims += 1;
                let was = conn.state();
                conn.input(self.now, &meta, &seg);
                let is_new = was != State::Established && conn.state() == State::Established;
                self.established += u32::from(is_new);
            }
        }
        assert!(claims <= 1);
        for at in 0..self.listeners.len() {
            let listener = &self.listeners[at];
            let bound = listener.local();
            let is_its = bound == local || bound == Endpoint::new(ANY, local.port);
            assert_eq!(listener.matches(&meta, &seg), is_its, "{bound:?} {local:?}");
            if !is_its || claims > 0 {
                continue;
            }
            if let Action::Accept(request) = listener.input(&meta, &seg) {
                // RFC 9293 §3.9.1.1: "bind the local IP address [...] to the particular address".
                assert_eq!((request.local, request.remote), (local, remote));
                self.accepted[usize::from(bound.addr == ANY)] += 1;
                let iss = SeqNum(self.rng.next_u32());
                let config = Config::default();
                let (tx, rx) = (vec![0; 200], vec![0; 200]);
                let conn =
                    Connection::accept(self.now, &config, request, iss, SendRing::new(tx), rx);
                assert_eq!((conn.local(), conn.remote()), (local, remote));
                self.conns.push(conn);
                claims += 1;
            }
        }
        self.conns.retain(|conn| !conn.is_closed());
    }

    fn step(&mut self) {
        if self.rng.below(4) == 0 {
            self.open();
        }
        let sent = self.look();
        let local = Endpoint::new(self.one_of(&OWN), self.one_of(&PORTS));
        let remote = Endpoint::new(self.one_of(&PEERS), self.one_of(&PORTS));
        let flags = self.one_of(&[SYN, SYN, RST, Flags::ACK, SYN_ACK]);
        let fields = Fields {
            flags,
            seq: SeqNum(self.rng.next_u32()),
            ack: SeqNum(self.rng.next_u32()),
            window: 500,
            ..Fields::default()
        };
        self.arrive(local, remote, &fields);
        // The peer answers each segment, to a random address of the host.
        for (local, remote, seq) in sent {
            let fields = Fields {
                flags: SYN_ACK,
                ack: seq + 1,
                ..fields
            };
            let addr = self.one_of(&OWN);
            self.arrive(Endpoint { addr, ..local }, remote, &fields);
        }
    }
}

fn meta(src: Addr, dst: Addr) -> IpMeta {
    IpMeta {
        src,
        dst,
        ecn: Ecn::NotEct,
        hop_limit: 64,
    }
}

#[test]
fn an_open_keeps_to_its_local_address() {
    let (mut accepted, mut established) = ([0; 2], 0);
    for seed in 0..300 {
        let result = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            for _ in 0..100 {
                world.step();
            }
            (world.accepted, world.established)
        });
        match result {
            Ok(counts) => {
                accepted = std::array::from_fn(|kind| accepted[kind] + counts.0[kind]);
                established += counts.1;
            }
            Err(panic) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(panic);
            }
        }
    }
    assert!(accepted.iter().all(|count| *count > 500), "{accepted:?}");
    assert!(established > 500, "{established}");
}
