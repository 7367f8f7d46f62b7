//! One connection with any peer: every sequence of segments from a small alphabet, with events of
//! the application, of the link and of the timers in between.
//!
//! In every state, the application has read the first bytes of the peer's stream, unchanged and
//! without a gap. The connection acknowledges only what the peer sent, and sends only what the
//! application wrote, at most one byte beyond the window. From every state, with a silent peer, the
//! timers stop, and an abort ends the connection.

use redpoll_base::{Duration, Instant};
use redpoll_tcp::{Config, Connection, EcnUse, Fields, Header, Segment, SendRing, SeqNum, State};
use redpoll_wire::tcp::{Flags, SeqRange};

use super::{Conn, ENDPOINTS, MSS, key_of, meta, pattern};
use crate::{Model, hash_of};

const ISS: SeqNum = SeqNum(u32::MAX - 1);
/// Initial sequence number of the peer.
const IRS: SeqNum = SeqNum(0xffff_fff0);
/// Receive buffer in bytes.
const WINDOW: u32 = 128;
/// Bytes that the peer sends in a segment with text.
const TEXT: u32 = 40;

/// The state of the connection at the start of the exploration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Situation {
    /// The SYN has been sent.
    Opening,
    /// The connection is established, and its application has written 100 bytes.
    Open,
    /// Like `Open`, but the application has closed the connection.
    Closed,
}

/// A segment of the peer, with numbers relative to those that the connection expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forgery {
    flags: Flags,
    /// Distance of the sequence number from RCV.NXT.
    seq: i32,
    /// Distance of the acknowledgment number from the connection's first data byte.
    ack: i32,
    window: u16,
    text: bool,
    /// Whether a SACK block reports all data of the connection except its first segment.
    sack: bool,
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// A segment arrives.
    Segment(Forgery),
    /// The link accepts the next segment. It reports the segment as sent (true) or lost.
    Poll(bool),
    /// The next timer expires.
    Timer,
    /// The application reads all received bytes.
    Read,
    /// The application closes.
    Close,
}

/// The model.
pub struct PeerModel {
    /// The state at the start.
    pub situation: Situation,
    /// Defect: the last byte of each read is changed.
    pub damages: bool,
    /// Defect: the final check does not abort the connection.
    pub keeps: bool,
}

/// The connection, and what the peer and the link know about it.
pub struct World {
    now: Instant,
    conn: Conn,
    /// Initial sequence number of the peer.
    irs: SeqNum,
    /// Sequence number after the last one that the peer has sent; `ours`: after the last one that
    /// the connection has sent.
    theirs: SeqNum,
    ours: SeqNum,
    /// The highest right edge of a window that the peer advertised.
    edge: SeqNum,
    read: u32,
}

impl World {
    /// Returns RCV.NXT, without counting a FIN.
    fn nxt(&self) -> SeqNum {
        self.irs + 1 + self.read + self.conn.recv_queue() as u32
    }

    fn segment(&mut self, forgery: &Forgery) {
        let seq = SeqNum(self.nxt().0.wrapping_add_signed(forgery.seq));
        let ack = SeqNum((ISS + 1).0.wrapping_add_signed(forgery.ack));
        let from = seq.0.wrapping_sub((self.irs + 1).0);
        let text: Vec<u8> = match forgery.text {
            true => (0..TEXT)
                .map(|at| pattern(1, from.wrapping_add(at) as usize))
                .collect(),
            false => Vec::new(),
        };
        let mut fields = Fields {
            seq,
            ack,
            flags: forgery.flags,
            window: forgery.window,
            ..Fields::default()
        };
        if forgery.flags.syn() {
            fields.options.mss = Some(MSS);
            fields.options.sack_permitted = true;
        }
        if forgery.sack {
            let first = ISS + 1 + u32::from(MSS);
            fields
                .options
                .add_sack_block(SeqRange::new(first, first + 36));
        }
        let header = Header::encode(&fields, &ENDPOINTS[1], &ENDPOINTS[0], [&text, &[]]);
        let bytes = [header.as_bytes(), &text].concat();
        let Ok(segment) = Segment::parse(&meta(1), &bytes) else {
            return;
        };
        self.theirs = self.theirs.max(segment.end());
        self.edge = self.edge.max(ack + u32::from(forgery.window));
        let is_opening = self.conn.state() == State::SynSent;
        self.conn.input(self.now, &meta(1), &segment);
        if is_opening && segment.flags.syn() && self.conn.state() != State::SynSent {
            self.irs = segment.seq;
        }
    }

    fn poll(&mut self, is_sent: bool) -> Result<(), String> {
        let Some(desc) = self.conn.poll_segment(self.now, 1240) else {
            return Ok(());
        };
        let mut payload = vec![0; desc.payload_len.into()];
        let read = self.conn.read(desc.token, 0, &mut payload);
        if read != Ok(payload.len()) {
            return Err(format!("a new segment cannot be read: {read:?}"));
        }
        let bytes = [desc.header.as_bytes(), &payload].concat();
        let segment = Segment::parse(&meta(0), &bytes).map_err(|e| format!("{e:?}"))?;
        for (byte, at) in segment.payload.iter().zip(0u32..) {
            let at = (segment.seq + at).since(ISS + 1);
            if *byte != pattern(0, at as usize) {
                return Err(format!("byte {at} is sent with a wrong value"));
            }
        }
        if !segment.flags.rst() {
            let open = self.conn.state() != State::SynSent && !segment.flags.syn();
            if open && segment.flags.ack() && segment.ack > self.theirs {
                return Err(format!(
                    "the segment acknowledges {}, which the peer never sent",
                    segment.ack
                ));
            }
            self.ours = self.ours.max(segment.end());
            let probe = 1;
            if open && !segment.payload.is_empty() && segment.end() > self.edge + probe {
                return Err(format!(
                    "the segment ends at {:?}, beyond the peer's window",
                    segment.end()
                ));
            }
        }
        match is_sent {
            true => self.conn.on_segment_sent(desc.token, self.now),
            false => self.conn.on_segment_lost(desc.token, self.now),
        }
        Ok(())
    }

    fn read(&mut self, damages: bool) -> Result<(), String> {
        let mut out = [0; 512];
        let count = self.conn.recv(self.now, &mut out).unwrap_or(0);
        if damages && count > 0 {
            out[count - 1] ^= 1;
        }
        for byte in &out[..count] {
            if *byte != pattern(1, self.read as usize) {
                return Err(format!("byte {} is wrong", self.read));
            }
            self.read += 1;
        }
        Ok(())
    }

    fn wait(&mut self) {
        if let Some(wake) = self.conn.poll_at() {
            self.now = self.now.max(wake.at);
            self.conn.on_timeout(self.now);
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.conn.recv_queue() as u32 > WINDOW {
            return Err("more bytes wait for the application than the window allows".to_owned());
        }
        if self.conn.recv_queue() > 0 && self.nxt() > self.theirs {
            return Err("the application received more than the peer sent".to_owned());
        }
        Ok(())
    }
}

impl PeerModel {
    /// Returns the alphabet of segments.
    fn segments(&self) -> Vec<Forgery> {
        let ack = Flags::ACK;
        let kinds = [
            Flags::SYN,
            Flags::SYN.with(ack),
            ack,
            Flags::FIN.with(ack),
            Flags::RST,
            Flags::RST.with(ack),
        ];
        let mut segments = Vec::new();
        for flags in kinds {
            for seq in [-1, 0, 20, WINDOW as i32] {
                for number in [-1, 0, 64, 100, 101, 102] {
                    let base = Forgery {
                        flags,
                        seq,
                        ack: number,
                        window: 128,
                        text: false,
                        sack: false,
                    };
                    segments.push(base);
                    if flags.rst() || flags.syn() {
                        continue;
                    }
                    segments.push(Forgery { text: true, ..base });
                    if seq == 0 && flags == ack {
                        segments.push(Forgery { window: 0, ..base });
                        segments.push(Forgery { sack: true, ..base });
                    }
                }
            }
        }
        segments
    }
}

impl Model for PeerModel {
    type Action = Action;
    type World = World;

    fn start(&self) -> World {
        let config = Config {
            mss: MSS,
            timestamps: false,
            ecn: EcnUse::Off,
            ..Config::default()
        };
        let now = Instant::from_millis(1);
        let buffer = || vec![0; WINDOW as usize];
        let (store, rx) = (SendRing::new(buffer()), buffer());
        let conn = Connection::connect(now, &config, ENDPOINTS[0], ENDPOINTS[1], ISS, store, rx);
        let mut world = World {
            now,
            conn,
            irs: IRS,
            theirs: IRS,
            ours: ISS,
            edge: ISS + 1,
            read: 0,
        };
        world.poll(true).expect("a SYN");
        if self.situation != Situation::Opening {
            world.segment(&Forgery {
                flags: Flags::SYN.with(Flags::ACK),
                seq: -1,
                ack: 0,
                window: 128,
                text: false,
                sack: false,
            });
        }
        let bytes: Vec<u8> = (0..100).map(|at| pattern(0, at)).collect();
        let _ = world.conn.send(now, &bytes);
        if self.situation == Situation::Closed {
            world.conn.close(now);
        }
        world
    }

    fn actions(&self, world: &World) -> Vec<Action> {
        let mut actions: Vec<_> = self.segments().into_iter().map(Action::Segment).collect();
        if world.conn.has_segment() {
            actions.extend([Action::Poll(true), Action::Poll(false)]);
        }
        if world.conn.poll_at().is_some() {
            actions.push(Action::Timer);
        }
        if world.conn.recv_queue() > 0 {
            actions.push(Action::Read);
        }
        actions.push(Action::Close);
        actions
    }

    fn step(&self, world: &mut World, action: Action) -> Result<(), String> {
        match action {
            Action::Segment(forgery) => world.segment(&forgery),
            Action::Poll(is_sent) => world.poll(is_sent)?,
            Action::Timer => world.wait(),
            Action::Read => world.read(self.damages)?,
            Action::Close => world.conn.close(world.now),
        }
        while world.conn.poll_event().is_some() {}
        world.check()
    }

    fn key(&self, world: &World) -> u64 {
        let peer = (world.irs, world.theirs, world.ours, world.edge);
        hash_of(&(world.now, key_of(&world.conn), peer, world.read))
    }

    fn finish(&self, mut world: World) -> Result<(), String> {
        let limit = world.now + Duration::from_secs(3 * 3_600);
        for _ in 0..120 {
            let before = world.conn.poll_at();
            let Some(wake) = before.filter(|wake| wake.at < limit) else {
                break;
            };
            world.wait();
            world.poll(true)?;
            world.poll(true)?;
            let after = world.conn.poll_at();
            if after.is_some_and(|after| after.at <= wake.at && after.at < world.now) {
                return Err("a timer is still due after it fired".to_owned());
            }
        }
        world.read(false)?;
        if !self.keeps {
            world.conn.abort(world.now);
        }
        for _ in 0..4 {
            world.poll(true)?;
        }
        match world.conn.is_finished() {
            true => Ok(()),
            false => Err("the connection still exists after an abort".to_owned()),
        }
    }
}
