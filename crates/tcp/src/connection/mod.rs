//! A connection: the conductor of the mechanisms.
//!
//! Nothing is decided here that a mechanism could decide. The parts:
//!
//! - `handshake`: SYN-SENT, SYN-RECEIVED and the way to ESTABLISHED;
//! - `input`: a segment arrives, in the order of RFC 9293 §3.10.7.4;
//! - `acknowledge`: the fifth step of that, by far the largest;
//! - `recover`: what follows for losses and the congestion window;
//! - `reasons`: the ordered list of reasons to send;
//! - `output`: making a segment;
//! - `link`: what the link reads and reports;
//! - `timeouts`: a timer ran out;
//! - `teardown`: the ways to CLOSED;
//! - `fast_open`: data on a SYN;
//! - `marks`: what is true of a connection, in a bit each;
//! - `icmp`: what the network says about the path;
//! - `app`: the application's calls;
//! - `tune`: parameters that it may change.

mod acknowledge;
mod app;
mod fast_open;
mod freeze;
mod handshake;
mod icmp;
mod info;
mod input;
mod link;
mod marks;
mod output;
mod reasons;
mod recover;
mod teardown;
mod timeouts;
mod tune;

use redpoll_base::{Bytes, Duration, Instant, Wake};

use self::marks::Marks;
use crate::ahead::Ahead;
use crate::challenge::ChallengeLimit;
use crate::config::{Config, Params};
use crate::congestion::{Congestion, Pipe};
use crate::ecn::EcnState;
use crate::event::EventSet;
use crate::keepalive::KeepaliveProbes;
use crate::options::TIMESTAMPS_SPACE;
use crate::pmtu::SegmentSize;
use crate::recovery::{Episode, LinkHealth, Loss, Prr, Rack, Rto, Tlp, Undo, prr, rack};
use crate::recv::{AckPolicy, Inbox, RecvWindow};
use crate::reset::Reset;
use crate::rtt::RttEstimator;
use crate::send::{Nagle, Persist, Pins, Scoreboard, SendRing, SendStore, SendWindow, Tick};
use crate::state::{OurSyn, Phase, SynReceived, SynSent, Synchronized};
use crate::stats::Tally;
use crate::timers::TimerTable;
use crate::timestamps::Timestamps;
use crate::user_timeout::Negotiation;
use crate::{
    Algorithms, Endpoint, Error, Event, Expect, FlowState, Handshake, IpMeta, Request, Segment,
    SeqNum, Standard, State,
};

pub use icmp::IcmpKind;
pub use info::Info;
pub use output::SegmentDesc;

/// A TCP connection in any state but LISTEN.
///
/// `B` is the kind of buffer the caller gives for what arrives. More than
/// 65,535 bytes of it are of no use: windows are not scaled. `S` holds what is
/// to be sent: a ring in another such buffer, or, for sending without a copy, a
/// [`Chain`](crate::Chain) of the application's own buffers. `A` is the choice of
/// [`Algorithms`], which on a device is the default.
#[derive(Debug)]
// In this order on purpose: a Cortex-M0 reaches bytes among the first 32 of a
// struct and words among its first 128 with one instruction. So what is looked
// at with every segment is in front, small things first. Beyond that, the order
// is the one of some hundred with which the code is smallest.
#[repr(C)]
pub struct Connection<B: Bytes, S: SendStore = SendRing<B>, A: Algorithms = Standard> {
    phase: Phase,
    link: LinkHealth,
    marks: Marks,
    nagle: Nagle,
    persist: Persist,
    rto: Rto,
    size: SegmentSize,
    keepalive: KeepaliveProbes,
    events: EventSet,
    acks: AckPolicy,
    challenge: ChallengeLimit,
    cc: A::Congestion,
    pipe: Pipe,
    snd: SendWindow,
    outbox: S,
    timers: TimerTable,
    /// A reset waiting to be sent.
    reset: Option<Reset>,
    rcv: RecvWindow,
    ts: Timestamps,
    /// When something that occupies sequence numbers was last sent.
    /// In milliseconds, wrapping.
    last_sent: u32,
    tlp: Tlp,
    ecn: EcnState,
    inbox: Inbox<B>,
    pins: Pins,
    local: Endpoint,
    remote: Endpoint,
    rack: Rack,
    episode: Episode,
    undo: Undo,
    rtt: RttEstimator,
    params: Params,
    uto: Negotiation,
    board: Scoreboard,
    prr: Prr,
    stats: Tally,
    algorithms: A,
}

impl<B: Bytes, A: Algorithms> Connection<B, SendRing<B>, A> {
    /// Returns the send buffer and the receive buffer. The connection must be closed or
    /// abandoned, and the link must hold none of its segments.
    pub fn into_buffers(self) -> (B, B) {
        let (store, rx) = self.into_parts();
        (store.into_buffer(), rx)
    }
}

impl<B: Bytes, S: SendStore, A: Algorithms> Connection<B, S, A> {
    /// Opens a connection actively (RFC 9293 §3.10.1). [`poll_segment`](Self::poll_segment)
    /// returns the SYN. `iss` comes from an [`IsnGenerator`](crate::IsnGenerator), `store` is a
    /// [`SendRing`] or a [`Chain`](crate::Chain), and `rx` is the receive buffer.
    pub fn connect(
        now: Instant,
        config: &Config<A>,
        local: Endpoint,
        remote: Endpoint,
        iss: SeqNum,
        store: S,
        rx: B,
    ) -> Self {
        let phase = Phase::SynSent(SynSent {
            syn: OurSyn::FIRST,
            fast_open: None,
        });
        Self::new(now, config, local, remote, iss, phase, store, rx)
    }

    /// Accepts a connection request: the state is SYN-RECEIVED, and
    /// [`poll_segment`](Self::poll_segment) returns the SYN with ACK.
    pub fn accept(
        now: Instant,
        config: &Config<A>,
        request: Request,
        iss: SeqNum,
        store: S,
        rx: B,
    ) -> Self {
        let mut connection = Self::prepare(now, config, &request, iss, store, rx);
        connection.on_request(&request);
        connection
    }

    /// Continues a handshake after a [`SynCache`](crate::SynCache) has sent the SYN with ACK.
    ///
    /// Pass the segment that the cache found to complete the handshake to
    /// [`input`](Self::input) first. If the state is still SYN-RECEIVED then, the segment did
    /// not complete the handshake.
    pub fn complete(
        now: Instant,
        config: &Config<A>,
        handshake: &Handshake,
        store: S,
        rx: B,
    ) -> Self {
        let (request, iss) = (&handshake.request, handshake.how.iss);
        let mut connection = Self::prepare(now, config, request, iss, store, rx);
        connection.resume(handshake);
        connection
    }

    /// Makes the first half of [`accept`](Self::accept) and [`complete`](Self::complete).
    ///
    /// Move the connection to its final place, then call [`on_request`](Self::on_request) or
    /// [`resume`](Self::resume). This avoids a second copy of the connection on the stack.
    pub fn prepare(
        now: Instant,
        config: &Config<A>,
        request: &Request,
        iss: SeqNum,
        store: S,
        rx: B,
    ) -> Self {
        let phase = Phase::SynReceived(SynReceived {
            syn: OurSyn::FIRST,
            passive: true,
            close_queued: false,
            text: 0,
        });
        let (local, remote) = (request.local, request.remote);
        Self::new(now, config, local, remote, iss, phase, store, rx)
    }

    /// Continues the handshake that the connection was [prepared](Connection::prepare) for.
    #[inline(never)] // size
    pub fn resume(&mut self, handshake: &Handshake) {
        let how = &handshake.how;
        if let Phase::SynReceived(state) = &mut self.phase {
            state.syn = OurSyn {
                due: false,
                lost: how.again.then_some(Loss::Timeout),
            };
        }
        self.on_request(&handshake.request);
        self.set_timestamp_offset(handshake.timestamp_offset);
        self.snd.on_sent(how.iss + 1);
        self.ts.on_ack_sent(self.rcv.nxt);
        let age = how.age.millis_saturating();
        let sent = self.timers.now().wrapping_sub(age);
        if handshake.is_timed() {
            self.rtt.on_sent(Ahead::NEXT, sent);
        } else {
            self.rtt.on_retransmission(Ahead::NEXT, sent);
        }
    }

    /// Takes the request that the connection was [prepared](Connection::prepare) for.
    #[inline(never)] // size
    pub fn on_request(&mut self, request: &Request) {
        self.on_peer_syn(&request.syn);
        self.ecn.on_peer_syn(request.flags(), false);
        self.snd.set(request.syn.irs, request.syn.window);
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "both kinds of open are in one place"
    )]
    fn new(
        now: Instant,
        config: &Config<A>,
        local: Endpoint,
        remote: Endpoint,
        iss: SeqNum,
        phase: Phase,
        mut store: S,
        rx: B,
    ) -> Self {
        store.begin(iss + 1);
        let params = Params::from(config);
        let size = SegmentSize::new(params.mss);
        let timers = TimerTable::new(now);
        let mut marks = Marks::default();
        marks.put(Marks::SACK, config.sack);
        marks.put(Marks::NAGLE, config.nagle);
        marks.put(Marks::TIMESTAMPS, config.timestamps);
        Connection {
            local,
            remote,
            phase,
            snd: SendWindow::new(iss),
            outbox: store,
            pins: Pins::default(),
            nagle: Nagle::default(),
            persist: Persist::default(),
            cc: config.algorithms.congestion(size.eff_snd_mss()),
            pipe: Pipe::default(),
            last_sent: timers.now(),
            rtt: RttEstimator::default(),
            rto: Rto::default(),
            board: Scoreboard::new(),
            episode: Episode::default(),
            rack: Rack::new(),
            tlp: Tlp::default(),
            prr: Prr::default(),
            undo: Undo::default(),
            link: LinkHealth::default(),
            rcv: RecvWindow::unknown(),
            inbox: Inbox::new(rx),
            acks: AckPolicy::default(),
            marks,
            ts: Timestamps::new(),
            ecn: EcnState::new(config.ecn.wants(matches!(phase, Phase::SynReceived(_)))),
            keepalive: KeepaliveProbes::default(),
            uto: Negotiation::new(config),
            challenge: ChallengeLimit::new(),
            timers,
            reset: None,
            events: EventSet::default(),
            stats: Tally::default(),
            size,
            params,
            algorithms: config.algorithms.clone(),
        }
    }

    /// When to call [`on_timeout`](Self::on_timeout) next.
    pub fn poll_at(&self) -> Option<Wake> {
        self.timers.next(|| self.keepalive_slack_ms())
    }

    /// The next event, if any.
    pub fn poll_event(&mut self) -> Option<Event> {
        let error = self.error();
        self.events.take(error)
    }

    /// What kind of traffic the connection waits for.
    pub fn expects(&self) -> Expect {
        let syn_under_way = matches!(self.phase, Phase::SynSent(_) | Phase::SynReceived(_));
        if syn_under_way || self.snd.una < self.snd.max() {
            Expect::Ack
        } else if self.acks.is_waiting() || self.inbox.has_gap() || self.state() == State::FinWait2
        {
            Expect::Data
        } else {
            Expect::Nothing
        }
    }

    /// Whether a segment belongs to this connection.
    pub fn matches(&self, meta: &IpMeta, seg: &Segment<'_>) -> bool {
        self.remote.port == seg.src_port
            && self.local.port == seg.dst_port
            && self.remote.addr == meta.src
            && self.local.addr == meta.dst
    }

    /// Whether a SYN may open a new connection in place of this one, which is
    /// in TIME-WAIT and knows the SYN to be no old duplicate (RFC 9293
    /// §3.6.1, MAY-2). Ask before [`input`](Self::input).
    #[inline(never)] // size
    pub fn yields_to(&self, seg: &Segment<'_>) -> bool {
        let is_request = seg.flags.syn() && !seg.flags.ack() && !seg.flags.rst();
        let is_newer = match seg.options.timestamps {
            Some(theirs) if self.ts.is_enabled() => self.ts.is_newer(theirs),
            _ => seg.seq > self.rcv.nxt,
        };
        self.state() == State::TimeWait && is_request && is_newer
    }

    /// The state, by RFC 9293 §3.3.2.
    pub fn state(&self) -> State {
        self.phase.state()
    }

    /// Our end.
    pub fn local(&self) -> Endpoint {
        self.local
    }

    /// The peer's end.
    pub fn remote(&self) -> Endpoint {
        self.remote
    }

    /// Whether the state is CLOSED. A reset may still wait to be sent.
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed(_))
    }

    /// Whether the state is CLOSED and no reset waits to be sent: the memory
    /// may serve another connection.
    pub fn is_finished(&self) -> bool {
        self.is_closed() && self.reset.is_none()
    }

    /// Returns SND.NXT and RCV.NXT (RFC 9293 §3.3.1).
    pub(crate) fn next_numbers(&self) -> [SeqNum; 2] {
        [self.snd.max(), self.rcv.nxt]
    }

    /// Why the connection ended, unless it closed normally or is alive.
    pub fn error(&self) -> Option<Error> {
        match &self.phase {
            Phase::Closed(closed) => closed.error,
            _ => None,
        }
    }

    /// Counters. Only with the feature `stats`.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> &crate::Stats {
        self.stats.stats()
    }

    /// [Counters](Self::stats), where there are any: with the feature `stats`.
    pub fn counted(&self) -> Option<&crate::Stats> {
        #[cfg(feature = "stats")]
        return Some(self.stats());
        #[cfg(not(feature = "stats"))]
        None
    }

    /// Returns a snapshot of the sender's state, for diagnosis.
    pub fn info(&self) -> Info {
        Info {
            snd_nxt: self.snd.max(),
            rcv_nxt: self.rcv.nxt,
            cwnd: self.cc.cwnd(),
            ssthresh: self.cc.ssthresh(),
            in_flight: self.in_flight(),
            eff_snd_mss: self.eff_snd_mss(),
            pinned: self.pins.bytes(),
            rto: Duration::from_millis_u32(self.rto_ms()),
            srtt: self
                .rtt
                .srtt()
                .map(|ms| Duration::from_millis_u32(ms.into())),
            owes_acknowledgment: self.acks.is_due(),
        }
    }

    fn rto_ms(&self) -> u32 {
        let margin = self.algorithms.rto_margin_ms();
        let estimated = self.rtt.rto().map(|rto| rto.saturating_add(margin));
        self.rto.value(estimated, &self.params)
    }

    fn initial_window(&self) -> u32 {
        self.algorithms.initial_window(self.eff_snd_mss())
    }

    /// What congestion control may go by.
    #[inline(always)]
    fn flow(&self) -> FlowState {
        FlowState {
            now_ms: self.timers.now(),
            srtt_ms: self.rtt.srtt(),
            flight: self.snd.flight(),
            mss: self.eff_snd_mss(),
        }
    }

    /// The present moment.
    fn tick(&self) -> Tick {
        Tick::of_ms(self.timers.now())
    }

    /// Eff.snd.MSS: the payload of a full-sized segment (RFC 9293 §3.7.1).
    fn eff_snd_mss(&self) -> u32 {
        self.size.eff_snd_mss()
    }

    /// Gives the memory back: what holds the bytes to send, and the receive
    /// buffer. The connection must be closed or abandoned, and the link must
    /// hold none of its segments.
    pub fn into_parts(self) -> (S, B) {
        (self.outbox, self.inbox.into_buffer())
    }

    /// Whether losses are detected by time (RFC 8985).
    fn has_rack(&self) -> bool {
        rack::ON && self.algorithms.detects_by_time()
    }

    /// Whether tails are probed (RFC 8985 §7).
    fn has_tail_probes(&self) -> bool {
        rack::ON && self.algorithms.probes_tails()
    }

    /// Whether recovery is paced by RFC 9937.
    fn has_prr(&self) -> bool {
        prr::ON && self.algorithms.paces_recovery()
    }

    fn has_sack(&self) -> bool {
        self.marks.has(Marks::SACK)
    }

    /// Bytes of options in every segment after the handshake.
    fn option_space(&self) -> u16 {
        if self.ts.is_enabled() {
            TIMESTAMPS_SPACE
        } else {
            0
        }
    }

    fn synchronized(&self) -> Option<Synchronized> {
        self.phase.synchronized()
    }
}
