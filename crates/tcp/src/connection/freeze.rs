//! Freezing: a connection is stored in bytes before a deep sleep or a reboot and restored
//! afterwards; the peer does not notice this.

use redpoll_base::{Addr, Bytes, Duration, Instant};

use super::Connection;
use super::marks::Marks;
use crate::ahead::Span;
use crate::config::Config;
use crate::congestion::Congestion;
use crate::frozen::{FreezeError, Reader, ThawError, Writer, spend};
use crate::pmtu::SegmentSize;
use crate::send::{SendRing, SendStore};
use crate::state::{Phase, Synchronized};
use crate::{Algorithms, Endpoint, SeqNum, SeqRange};

/// States that can be frozen, in the order of their code.
const STATES: [Synchronized; 6] = [
    Synchronized::Established,
    Synchronized::FinWait1,
    Synchronized::FinWait2,
    Synchronized::CloseWait,
    Synchronized::Closing,
    Synchronized::LastAck,
];

/// Stored marks, in the order of the low bits of a byte.
const MARKS: [Marks; 4] = [Marks::CLOSING, Marks::SACK, Marks::NAGLE, Marks::TIMESTAMPS];
/// Numbers of the bits above those of `MARKS` in the same byte, in this order: both ends use ECN; a
/// mark must be echoed; an acknowledgment is owed; timestamps are in use.
const ECN: u8 = 4;
const ECHOES: u8 = 5;
const OWES: u8 = 6;
const STAMPED: u8 = 7;

/// Bytes of a frozen connection in addition to its data.
const OVERHEAD: usize = 100;

/// Smallest Eff.snd.MSS, in bytes, that [`Frozen::is_sound`] accepts.
const LEAST_MSS: u16 = 1;

impl<B: Bytes, A: Algorithms> Connection<B, SendRing<B>, A> {
    /// Returns the number of bytes that [`freeze`](Self::freeze) writes: 100, plus the data that
    /// are unsent, unacknowledged, or received and not read.
    pub fn frozen_len(&self) -> usize {
        let unsent = self.unacknowledged().len() as usize;
        OVERHEAD
            .saturating_add(unsent)
            .saturating_add(self.inbox.ready())
    }

    /// Returns the unacknowledged range. `outbox` may also hold earlier bytes for the link.
    fn unacknowledged(&self) -> SeqRange {
        let end = self.outbox.end();
        SeqRange::new(self.snd.una.min(end), end)
    }

    /// Writes the connection to `out`, and returns the number of bytes written. These bytes contain
    /// all state that the peer can observe, and the data in both directions.
    ///
    /// The bytes do not contain data received beyond a gap (RFC 2018 §8 allows the loss; the peer
    /// retransmits them), segments that the link holds, counters, and constants. Pass the same
    /// [`Config`] to [`thaw`](Self::thaw). Do not use this connection afterwards, because two
    /// copies would send to the peer.
    ///
    /// # Errors
    /// [`FreezeError`]; then the contents of `out` are unspecified.
    pub fn freeze(&mut self, now: Instant, out: &mut [u8]) -> Result<usize, FreezeError> {
        let ms = self.timers.enter(now);
        let state = match self.phase {
            Phase::Synchronized(state) if !self.marks.has(Marks::ORPHANED) => state,
            _ => return Err(FreezeError::State),
        };
        let place = STATES.iter().position(|known| *known == state);
        let place = place.ok_or(FreezeError::State)?;
        if out.len() < self.frozen_len() {
            return Err(FreezeError::NoRoom);
        }
        let mut writer = Writer::new(out);
        writer.u8(place as u8);
        let bits = MARKS.iter().zip(0u8..);
        let bits = bits.filter(|(mark, _)| self.marks.has(**mark));
        let (enabled, echoes) = self.ecn.frozen();
        let owes = self.acks.is_due() || self.acks.is_waiting() || self.inbox.has_gap();
        let flags = [
            (enabled, 4),
            (echoes, 5),
            (owes, 6),
            (self.ts.is_enabled(), 7),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set);
        let bits = bits.map(|(_, bit)| bit).chain(flags.map(|(_, bit)| *bit));
        writer.u8(bits.fold(0, |all, bit| all | 1 << bit));
        for end in [self.local, self.remote] {
            writer.bytes(&end.addr.0);
            writer.u16(end.port);
        }
        for number in [self.snd.una, self.snd.max(), self.rcv.nxt, self.rcv.edge()] {
            writer.u32(number.0);
        }
        writer.u16(self.snd.wnd() as u16);
        writer.u16(self.snd.max_wnd() as u16);
        writer.u16(self.eff_snd_mss() as u16);
        writer.u16(self.cc.ssthresh() as u16);
        for part in self.rtt.frozen() {
            writer.u16(part);
        }
        for part in self.ts.frozen(ms) {
            writer.u32(part);
        }
        let (times, count) = self.params.frozen();
        for time in times {
            writer.u32(time);
        }
        writer.u8(count);
        let unsent = self.unacknowledged();
        writer.u16(unsent.len() as u16);
        writer.u16(self.inbox.ready() as u16);
        self.outbox.show(unsent, |piece| writer.bytes(piece));
        let (first, second) = self.inbox.peek();
        writer.bytes(first);
        writer.bytes(second);
        writer.finish()
    }

    /// Restores a connection that [`freeze`](Self::freeze) wrote `slept` ago. If the time is
    /// uncertain, pass a value that is too long, because timestamps must not decrease. The clock of
    /// `now` may have restarted.
    ///
    /// Outstanding data count as lost and are retransmitted, starting with the initial window. Only
    /// the round-trip time and the slow start threshold remain known about the path. If an
    /// acknowledgment is owed, it is sent at once. Data received earlier raise no event.
    ///
    /// The bytes can be used once, and `thaw` invalidates them. A second copy would send different
    /// data with sequence numbers that the peer has already received, and neither end would notice.
    /// If a copy exists elsewhere, for example in flash, erase it before the first segment is sent.
    /// If an old copy is restored and the peer's first acknowledgment covers bytes that were never
    /// sent, the connection fails at both ends with [`Error::Reset`](crate::Error::Reset). If the
    /// copy has sent as many bytes by then as the peer had received, this cannot be detected.
    ///
    /// # Errors
    /// [`ThawError`], with the buffers; the bytes are unchanged. If the peer has given up the
    /// connection, it answers with a reset.
    pub fn thaw(
        now: Instant,
        config: &Config<A>,
        slept: Duration,
        bytes: &mut [u8],
        tx: B,
        rx: B,
    ) -> Result<Self, (ThawError, B, B)> {
        let frozen = match Frozen::read(bytes, slept) {
            Ok(frozen) => frozen,
            Err(error) => return Err((error, tx, rx)),
        };
        let phase = Phase::Synchronized(frozen.state);
        let (local, remote, una) = (frozen.local, frozen.remote, frozen.una);
        let store = SendRing::new(tx);
        let mut it = Self::new(now, config, local, remote, una, phase, store, rx);
        if it.restore(slept, &frozen) {
            spend(bytes);
            return Ok(it);
        }
        let (tx, rx) = it.into_buffers();
        Err((ThawError::NoRoom, tx, rx))
    }

    /// Returns both ends, ours first, of a connection frozen `slept` ago that can be restored.
    ///
    /// # Errors
    /// [`ThawError`], except [`ThawError::NoRoom`].
    pub fn frozen_ends(slept: Duration, bytes: &[u8]) -> Result<[Endpoint; 2], ThawError> {
        Frozen::read(bytes, slept).map(|frozen| [frozen.local, frozen.remote])
    }

    /// Restores the frozen state in a new connection. Returns `false` if the buffers are too small.
    fn restore(&mut self, slept: Duration, frozen: &Frozen<'_>) -> bool {
        let Frozen {
            state, una, nxt, ..
        } = *frozen;
        // In FIN-WAIT-2 our FIN is acknowledged: the data end one sequence number before SND.UNA.
        let fin = u32::from(state == Synchronized::FinWait2);
        self.outbox.begin(una - fin);
        let sent = self.outbox.write(frozen.unsent);
        let fits = sent == frozen.unsent.len() && self.inbox.restore(frozen.unread);
        let [rcv_nxt, edge] = frozen.rcv;
        if !fits || edge.since(rcv_nxt) > self.inbox.room() {
            return false;
        }
        for (mark, bit) in MARKS.into_iter().zip(0u8..) {
            self.marks.put(mark, frozen.has(bit));
        }
        self.marks.set(Marks::THAWED);
        self.snd.restore([una, nxt], rcv_nxt, frozen.wnd);
        self.rcv.restore(rcv_nxt, edge);
        self.size = SegmentSize::new(frozen.mss);
        self.cc
            .on_thawed(self.initial_window(), frozen.ssthresh.into(), &self.flow());
        self.rtt.restore(frozen.rtt);
        self.ecn.restore(frozen.has(ECN), frozen.has(ECHOES));
        let (ms, is_enabled) = (self.timers.now(), frozen.has(STAMPED));
        self.ts.restore(is_enabled, frozen.stamps, slept, ms);
        self.params.restore(frozen.times, frozen.probes);
        self.ts.on_ack_sent(rcv_nxt);
        if una < nxt {
            let (all, tick) = (Span::from(una, SeqRange::new(una, nxt)), self.tick());
            self.board.on_made(all, tick);
            self.board.lose(all);
            self.episode.on_timeout(self.snd.flight(), tick, false);
        }
        if frozen.has(OWES) {
            self.acks.require();
        }
        self.on_heard();
        self.settle();
        true
    }
}

struct Frozen<'a> {
    state: Synchronized,
    bits: u8,
    local: Endpoint,
    remote: Endpoint,
    una: SeqNum,
    nxt: SeqNum,
    /// RCV.NXT, and the right edge of the announced window.
    rcv: [SeqNum; 2],
    /// SND.WND, MAX.SND.WND.
    wnd: [u16; 2],
    mss: u16,
    ssthresh: u16,
    rtt: [u16; 2],
    stamps: [u32; 3],
    /// [`Params::frozen`](crate::config::Params::frozen).
    times: [u32; 3],
    probes: u8,
    unsent: &'a [u8],
    unread: &'a [u8],
}

impl<'a> Frozen<'a> {
    fn has(&self, bit: u8) -> bool {
        self.bits & (1 << bit) != 0
    }

    fn read(bytes: &'a [u8], slept: Duration) -> Result<Self, ThawError> {
        let mut reader = Reader::new(bytes)?;
        let state = STATES.get(usize::from(reader.u8()?)).copied();
        let state = state.ok_or(ThawError::Damaged)?;
        let bits = reader.u8()?;
        let mut end = || -> Result<Endpoint, ThawError> {
            let addr = Addr(reader.address()?);
            Ok(Endpoint::new(addr, reader.u16()?))
        };
        let (local, remote) = (end()?, end()?);
        let (una, nxt) = (SeqNum(reader.u32()?), SeqNum(reader.u32()?));
        let rcv = [SeqNum(reader.u32()?), SeqNum(reader.u32()?)];
        let wnd = [reader.u16()?, reader.u16()?];
        let (mss, ssthresh) = (reader.u16()?, reader.u16()?);
        let rtt = [reader.u16()?, reader.u16()?];
        let stamps = [reader.u32()?, reader.u32()?, reader.u32()?];
        let times = [reader.u32()?, reader.u32()?, reader.u32()?];
        let probes = reader.u8()?;
        let (unsent, unread) = (reader.u16()?, reader.u16()?);
        let frozen = Frozen {
            state,
            bits,
            local,
            remote,
            una,
            nxt,
            rcv,
            wnd,
            mss,
            ssthresh,
            rtt,
            stamps,
            times,
            probes,
            unsent: reader.bytes(unsent.into())?,
            unread: reader.bytes(unread.into())?,
        };
        if !frozen.is_sound() {
            return Err(ThawError::Damaged);
        }
        let [patience_ms, ..] = times;
        let is_patient = una == nxt || patience_ms == 0;
        if !is_patient && slept.millis_saturating() > patience_ms {
            return Err(ThawError::TooOld);
        }
        Ok(frozen)
    }

    fn is_sound(&self) -> bool {
        // After CLOSE, a FIN follows the bytes, unless the peer acknowledged it.
        let fin = u32::from(self.has(0) && self.state != Synchronized::FinWait2);
        let sendable = (self.unsent.len() as u32).wrapping_add(fin);
        let [rcv_nxt, edge] = self.rcv;
        self.una <= self.nxt
            && self.nxt <= self.una + sendable
            && rcv_nxt <= edge
            && self.mss >= LEAST_MSS
    }
}

#[cfg(test)]
mod tests {
    use redpoll_base::Rng;

    use super::*;

    fn anything(rng: &mut Rng, out: &mut [u8]) -> usize {
        let mut writer = Writer::new(out);
        writer.u8(rng.below(7) as u8);
        writer.u8(rng.next_u32() as u8);
        for _ in 0..2 {
            writer.bytes(&[1; 16]);
            writer.u16(rng.next_u32() as u16);
        }
        let near = |rng: &mut Rng| match rng.below(9) {
            0 => rng.next_u32(),
            1..4 => 1_000u32.wrapping_sub(rng.below(3)),
            _ => 1_000 + rng.below(400),
        };
        for _ in 0..4 {
            writer.u32(near(rng));
        }
        for _ in 0..6 {
            let value = [0, 1, 40, 500, u16::MAX][rng.below(5) as usize];
            writer.u16(value);
        }
        for _ in 0..6 {
            writer.u32(rng.next_u32() >> rng.below(32));
        }
        writer.u8(rng.next_u32() as u8);
        let (unsent, unread) = (rng.below(300) as u16, rng.below(300) as u16);
        writer.u16(unsent);
        writer.u16(unread);
        for _ in 0..unsent + unread {
            writer.u8(rng.next_u32() as u8);
        }
        writer.finish().unwrap()
    }

    /// Restores random bytes with a valid checksum: no panic, overflow, or endless output.
    #[test]
    fn arbitrary_frozen_bytes_cause_no_panic() {
        let mut rng = Rng::new(9);
        let mut thawed = 0;
        for _ in 0..20_000 {
            let mut bytes = [0; 1_000];
            let len = anything(&mut rng, &mut bytes);
            let (config, now) = (Config::default(), Instant::from_millis(rng.below(5).into()));
            let made = Connection::thaw(
                now,
                &config,
                Duration::from_secs(rng.below(1_000).into()),
                &mut bytes[..len],
                [0u8; 400],
                [0u8; 400],
            );
            let Ok(mut it) = made else {
                continue;
            };
            thawed += 1;
            let mut now = now;
            for _ in 0..20 {
                let mut sent = 0;
                while let Some(segment) = it.poll_segment(now, 1_240) {
                    let mut payload = [0; 400];
                    let _ = it.read(segment.token, 0, &mut payload);
                    it.on_segment_sent(segment.token, now);
                    sent += 1;
                    assert!(sent < 500, "{it:?}");
                }
                let Some(wake) = it.poll_at() else {
                    break;
                };
                now = now.max(wake.at);
                it.on_timeout(now);
            }
            let _ = it.send(now, &[1; 50]);
            let _ = it.recv(now, &mut [0; 50]);
            it.close(now);
        }
        assert!(thawed > 500, "{thawed}");
    }
}
