//! A connection, which calls the mechanisms of the other modules. Its parts:
//!
//! - `handshake`: SYN-SENT, SYN-RECEIVED and the transition to ESTABLISHED;
//! - `input`: processing of a segment, in the order of RFC 9293 §3.10.7.4;
//! - `acknowledge`: the fifth step of `input`, processing of an acknowledgment;
//! - `recover`: losses and the congestion window;
//! - `reasons`: the ordered list of reasons to send;
//! - `output`: construction of a segment;
//! - `link`: the interface to the link;
//! - `timeouts`: expired timers;
//! - `teardown`: the transitions to CLOSED;
//! - `fast_open`: data on a SYN;
//! - `freeze`: storage in bytes, and restoration;
//! - `marks`: boolean state;
//! - `icmp`: ICMP errors and the path MTU;
//! - `app`: calls of the application;
//! - `info`: diagnosis;
//! - `tune`: parameters that the application may change.

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

pub(crate) use fast_open::Opening;
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

/// A TCP connection in any state except LISTEN. `B` is the type of the receive buffer; at most
/// 65,535 of its bytes are used, because windows are not scaled. `S` stores the data to send: a
/// ring in a second buffer, or a [`Chain`](crate::Chain) of the application's own buffers, which
/// avoids a copy. `A` is the choice of [`Algorithms`].
#[derive(Debug)]
// The order matters: a Cortex-M0 reaches bytes in the first 32 of a struct, and words in the first
// 128, with one instruction. So the fields that every segment needs come first, small ones before
// large ones. The order of the other fields gave the smallest code of a hundred orders tried.
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
    reset: Option<Reset>,
    rcv: RecvWindow,
    ts: Timestamps,
    /// Time of the last sent segment that occupies sequence numbers, in milliseconds, wrapping.
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

    /// Continues a handshake after a [`SynCache`](crate::SynCache) has sent the SYN with ACK. The
    /// first segment for [`input`](Self::input) must be the one that completes the handshake. If
    /// the state is still SYN-RECEIVED afterwards, the segment did not complete it.
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

    /// Performs the first half of [`accept`](Self::accept) and [`complete`](Self::complete).
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

    /// Continues the handshake for which the connection was [prepared](Connection::prepare).
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

    /// Adopts the request for which the connection was [prepared](Connection::prepare).
    #[inline(never)] // size
    pub fn on_request(&mut self, request: &Request) {
        self.on_peer_syn(&request.syn);
        self.ecn.on_peer_syn(request.flags(), false);
        self.snd.set(request.syn.irs, request.syn.window);
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "active and passive open share this function, and differ in its arguments"
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

    /// Returns when to call [`on_timeout`](Self::on_timeout) next.
    pub fn poll_at(&self) -> Option<Wake> {
        self.timers.next(|| self.keepalive_slack_ms())
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        let error = self.error();
        self.events.take(error)
    }

    /// Returns the kind of traffic that the connection waits for.
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

    /// Returns whether a segment belongs to this connection.
    pub fn matches(&self, meta: &IpMeta, seg: &Segment<'_>) -> bool {
        self.remote.port == seg.src_port
            && self.local.port == seg.dst_port
            && self.remote.addr == meta.src
            && self.local.addr == meta.dst
    }

    /// Returns whether a SYN may open a new connection in place of this one (RFC 9293 §3.6.1,
    /// MAY-2): the state is TIME-WAIT, and the SYN is not an old duplicate. Ask before
    /// [`input`](Self::input).
    #[inline(never)] // size
    pub fn yields_to(&self, seg: &Segment<'_>) -> bool {
        let is_request = seg.flags.syn() && !seg.flags.ack() && !seg.flags.rst();
        let is_newer = match seg.options.timestamps {
            Some(theirs) if self.ts.is_enabled() => self.ts.is_newer(theirs),
            _ => seg.seq > self.rcv.nxt,
        };
        self.state() == State::TimeWait && is_request && is_newer
    }

    /// Returns the state (RFC 9293 §3.3.2).
    pub fn state(&self) -> State {
        self.phase.state()
    }

    /// Returns our end.
    pub fn local(&self) -> Endpoint {
        self.local
    }

    /// Returns the peer's end.
    pub fn remote(&self) -> Endpoint {
        self.remote
    }

    /// Returns whether the state is CLOSED. A reset may still have to be sent.
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed(_))
    }

    /// Returns whether the state is CLOSED and no reset is due, so that the memory can be reused.
    pub fn is_finished(&self) -> bool {
        self.is_closed() && self.reset.is_none()
    }

    /// Returns SND.NXT and RCV.NXT (RFC 9293 §3.3.1).
    pub(crate) fn next_numbers(&self) -> [SeqNum; 2] {
        [self.snd.max(), self.rcv.nxt]
    }

    /// Returns the error that ended the connection, if an error did.
    pub fn error(&self) -> Option<Error> {
        match &self.phase {
            Phase::Closed(closed) => closed.error,
            _ => None,
        }
    }

    /// Returns the counters, which begin at 0 when the connection is made or restored.
    #[cfg(feature = "stats")]
    pub fn stats(&self) -> &crate::Stats {
        self.stats.stats()
    }

    /// Returns the [counters](Self::stats), or `None` without the feature `stats`.
    pub fn counted(&self) -> Option<&crate::Stats> {
        #[cfg(feature = "stats")]
        return Some(self.stats());
        #[cfg(not(feature = "stats"))]
        None
    }

    /// Returns a snapshot of the connection's variables, for diagnosis.
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

    #[inline(always)]
    fn flow(&self) -> FlowState {
        FlowState {
            now_ms: self.timers.now(),
            srtt_ms: self.rtt.srtt(),
            flight: self.snd.flight(),
            mss: self.eff_snd_mss(),
        }
    }

    fn tick(&self) -> Tick {
        Tick::of_ms(self.timers.now())
    }

    /// Returns Eff.snd.MSS: the payload of a full-sized segment, in bytes (RFC 9293 §3.7.1).
    fn eff_snd_mss(&self) -> u32 {
        self.size.eff_snd_mss()
    }

    /// Returns the send store and the receive buffer. The connection must be closed or abandoned,
    /// and the link must hold none of its segments.
    pub fn into_parts(self) -> (S, B) {
        (self.outbox, self.inbox.into_buffer())
    }

    /// Returns whether losses are detected by time (RFC 8985).
    fn has_rack(&self) -> bool {
        rack::ON && self.algorithms.detects_by_time()
    }

    /// Returns whether tail loss probes are sent (RFC 8985 §7).
    fn has_tail_probes(&self) -> bool {
        rack::ON && self.algorithms.probes_tails()
    }

    /// Returns whether RFC 9937 paces recovery.
    fn has_prr(&self) -> bool {
        prr::ON && self.algorithms.paces_recovery()
    }

    fn has_sack(&self) -> bool {
        self.marks.has(Marks::SACK)
    }

    /// Returns the length in bytes of the options in every segment after the handshake.
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
