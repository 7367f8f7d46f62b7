//! The central state machine: takes a frame through its attempts, and classifies received frames.
//!
//! The submodules contain the mechanisms. The steps of a frame are loading, then for each attempt
//! backoff, assessment, transmission and acknowledgment, and after a failure a random delay.

mod burst;
mod cycled;
mod receive;
#[cfg(feature = "security")]
mod secured;
mod send;
mod sleepy;

use burst::Burst;
pub use burst::Promised;
pub use sleepy::Rest;

use redpoll_base::{Instant, Rng, Wake};
use redpoll_wire::Cursor;
use redpoll_wire::ieee802154::{self, Address, DATA_REQUEST, FrameHeader, FrameType};

use crate::access::{Access, Contention, CsmaCa};
use crate::counters::count;
use crate::duplicates::Duplicates;
use crate::filter::{self, FilterResult, Useless};
use crate::ifs::Spacing;
use crate::imm_ack::ImmAck;
use crate::pending::Pending;
use crate::retry::Retry;
use crate::{
    FrameBuf, Indication, MacConfig, MacCounters, MacEvent, RadioResult, RadioWork, RxInfo, Service,
};

/// Frame version of IEEE 802.15.4-2006. Every present stack supports it. Version 0 limits the
/// payload of data frames to 102 bytes.
const FRAME_VERSION: u8 = 1;

const DSN_AT: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OutgoingFrame {
    Data,
    Request,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Progress {
    /// There is no submitted frame.
    Idle,
    /// The space after the previous frame has not passed yet.
    Spacing {
        until: Instant,
    },
    /// The frame must be loaded before the first attempt.
    Load,
    /// The frame waits for a backoff, an announced frame of a neighbour, or the cycle.
    Backoff {
        until: Instant,
    },
    /// The frame may be sent as soon as the radio is free.
    Ready,
    OnAir,
    AckWait {
        until: Instant,
    },
    /// In the delay before a retry. If `asleep`, the radio sleeps and has lost the frame.
    RetryDelay {
        until: Instant,
        asleep: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Work {
    Load(Content),
    Transmit(Content),
    /// An assessment for the submitted frame, or for the receiver's cycle.
    Assess {
        for_frame: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    Frame,
    ImmAck {
        dsn: u8,
        pending: bool,
    },
    /// A strobe or a probe.
    Short,
}

/// The MAC of one node. See the crate's documentation for its use. `A` is its access method;
/// devices have [`CsmaCa`].
#[derive(Clone, Debug)]
// Small fields come first: a Cortex-M0 loads low offsets with one instruction, others with three.
#[repr(C)]
pub struct Mac<A: Access = CsmaCa> {
    kind: OutgoingFrame,
    frame_dsn: u8,
    dsn: u8,
    rest: Rest,
    /// The state between jobs that the MAC last ordered from the radio.
    told: RadioWork<A::Work>,
    work: Option<Work>,
    loaded: Option<Content>,
    imm_ack: Option<ImmAck>,
    ack_frame: [u8; 3],
    retry: Retry,
    contention: Contention,
    dst: Address,
    header_len: usize,
    progress: Progress,
    spacing: Spacing,
    event: Option<MacEvent>,
    request: Option<MacEvent>,
    burst: Burst,
    config: MacConfig,
    rng: Rng,
    counters: MacCounters,
    /// The submitted frame or, when idle, the one being written.
    frame: FrameBuf,
    pending: Pending,
    duplicates: Duplicates,
    access: A,
}

/// Functions for the upper layer.
impl<A: Access> Mac<A> {
    /// Returns a MAC in [`Rest::Listen`], or in [`Rest::Cycle`] if its access method mostly sleeps.
    /// Devices have the access method [`CsmaCa`]. `rng` provides the backoffs, retry delays and
    /// first sequence number.
    pub fn new(config: MacConfig, mut access: A, mut rng: Rng) -> Self {
        // IEEE 802.15.4-2015 table 8-94: macDSN starts at a random value.
        let dsn = rng.next_u32() as u8;
        access.begin(&mut rng);
        Mac {
            dsn,
            spacing: Spacing::new(config.ifs),
            contention: Contention::start(&config, config.min_be),
            config,
            rng,
            counters: MacCounters::default(),
            duplicates: Duplicates::new(),
            frame: FrameBuf::new(),
            dst: Address::Absent,
            header_len: 0,
            kind: OutgoingFrame::Data,
            frame_dsn: 0,
            progress: Progress::Idle,
            retry: Retry::start(0, false),
            work: None,
            loaded: None,
            imm_ack: None,
            ack_frame: [0; 3],
            event: None,
            request: None,
            burst: Burst::default(),
            pending: Pending::new(),
            rest: match access.cycle().is_some_and(|it| it.properties.sleeps) {
                true => Rest::Cycle,
                false => Rest::Listen,
            },
            told: RadioWork::Listen,
            access,
        }
    }

    /// Returns whether a frame can be submitted: the MAC has none, and the event of the previous
    /// frame has been polled.
    #[inline(never)] // size
    pub fn is_idle(&self) -> bool {
        self.progress == Progress::Idle && self.event.is_none()
    }

    /// Returns the MAC's access method.
    pub fn access(&self) -> &A {
        &self.access
    }

    /// Returns the parameters given to [`Mac::new`].
    pub fn config(&self) -> &MacConfig {
        &self.config
    }

    /// Returns the payload bytes of a frame to `dst`: 116 between short addresses, less
    /// [`MacConfig::security_bytes`]. 0 for [`Address::Absent`], which cannot be a destination.
    pub fn payload_capacity(&self, dst: Address) -> usize {
        match dst {
            Address::Absent => 0,
            _ => FrameBuf::CAPACITY
                .saturating_sub(self.header(dst).len())
                .saturating_sub(usize::from(self.config.security_bytes))
                .saturating_sub(self.access_header_len()),
        }
    }

    /// Returns the buffer for the payload of a new frame to `dst`: [`Self::payload_capacity`]
    /// bytes, to fill before [`Self::submit`]. Its initial content is undefined. `None` while the
    /// MAC is not idle, or if `dst` is [`Address::Absent`].
    pub fn frame_mut(&mut self, dst: Address) -> Option<&mut [u8]> {
        self.header_len = 0;
        if !self.is_idle() || dst == Address::Absent {
            return None;
        }
        let header = self.header(dst);
        let mut cursor = Cursor::new(self.frame.room_mut());
        header.emit(&mut cursor).ok()?;
        self.header_len = cursor.position();
        self.header_len = self.header_len.saturating_add(self.access_header_len());
        self.dst = dst;
        self.frame.room_mut().get_mut(self.header_len..)
    }

    /// Starts the service of the frame last written by [`Self::frame_mut`], with `payload_len`
    /// bytes of payload, at most the capacity. The service ends in a [`MacEvent::Done`].
    ///
    /// Every frame except a broadcast requests an acknowledgment. Does nothing without an earlier
    /// [`Self::frame_mut`].
    pub fn submit(&mut self, now: Instant, payload_len: usize, how: Service) {
        if !self.is_idle() || self.header_len == 0 {
            return;
        }
        let len = self.header_len.saturating_add(payload_len);
        let len = self.write_access_header(len, payload_len);
        self.frame.set_len(len);
        self.header_len = 0;
        let frame = self.frame.room_mut();
        if how.frame_pending {
            ieee802154::set_frame_pending(frame);
        }
        match (how.repeats, frame.get_mut(DSN_AT)) {
            (Some(ticket), Some(dsn)) => {
                *dsn = ticket.dsn;
                self.frame_dsn = ticket.dsn;
            }
            _ => {
                self.frame_dsn = self.dsn;
                self.dsn = self.dsn.wrapping_add(1);
            }
        }
        self.loaded = None;
        self.start_retry(&how);
        self.burst.on_submit(self.dst, how.frame_pending);
        self.on_submit_cycled(now);
        let from = self.spacing.service_from();
        self.progress = match from > now {
            true => Progress::Spacing { until: from },
            false => Progress::Load,
        };
        count(&mut self.counters.submitted);
    }

    /// Returns the next event and removes it.
    pub fn poll_event(&mut self) -> Option<MacEvent> {
        self.event.take().or_else(|| self.request.take())
    }

    /// Returns the counters of frames, attempts and drops.
    pub fn counters(&self) -> &MacCounters {
        &self.counters
    }

    fn header(&self, dst: Address) -> FrameHeader {
        let frame_type = match self.kind {
            OutgoingFrame::Data => FrameType::Data,
            OutgoingFrame::Request => FrameType::Command,
        };
        FrameHeader {
            frame_type,
            security: false,
            frame_pending: false,
            ack_request: self.asks_for_ack(dst),
            version: FRAME_VERSION,
            dsn: self.dsn,
            dst_pan: Some(self.config.pan_id),
            dst,
            src_pan: Some(self.config.pan_id),
            src: self.config.address(),
        }
    }
}

/// Functions for the driver.
impl<A: Access> Mac<A> {
    /// Handles a received intact frame without its FCS, whose last bit arrived at `now`. Returns
    /// data for the upper layer; drops and counts everything else.
    pub fn input_frame<'f>(
        &mut self,
        now: Instant,
        frame: &'f [u8],
        info: &RxInfo,
    ) -> Option<Indication<'f>> {
        let Ok((header, payload)) = FrameHeader::parse(frame) else {
            count(&mut self.counters.rx_malformed);
            return None;
        };
        let counters = &mut self.counters;
        match filter::judge(&self.config, &header) {
            FilterResult::Accept { acknowledge } => {
                self.acknowledge(now, header.dsn, acknowledge, false);
                return self.accept(now, &header, payload, info);
            }
            FilterResult::Command { acknowledge } if payload.first() == Some(&DATA_REQUEST) => {
                self.on_data_request(now, &header, acknowledge, info);
            }
            FilterResult::Command { acknowledge } => {
                count(&mut counters.rx_unsupported_type);
                self.acknowledge(now, header.dsn, acknowledge, false);
            }
            FilterResult::Useless { why, acknowledge } => {
                count(match why {
                    Useless::Secured => &mut counters.rx_secured,
                    Useless::UnsupportedType => &mut counters.rx_unsupported_type,
                    Useless::NoSource => &mut counters.rx_no_source,
                    Useless::ForeignSource => &mut counters.rx_other_pan,
                });
                self.acknowledge(now, header.dsn, acknowledge, false);
            }
            FilterResult::Ack => self.on_ack_frame(now, header.dsn, header.frame_pending),
            FilterResult::OtherPan => count(&mut counters.rx_other_pan),
            FilterResult::NotForUs => count(&mut counters.rx_not_for_us),
            FilterResult::Version => count(&mut counters.rx_version),
        }
        None
    }

    /// Returns the next job for the radio; for [`RadioWork::Load`] the frame is [`Self::frame`].
    /// `None` if there is no job, or before [`Self::on_radio_done`] reports the previous job.
    /// Between jobs, the radio is in the state of the last [`RadioWork::Listen`],
    /// [`RadioWork::Doze`] or [`RadioWork::Sleep`]; before the first such job, it listens.
    pub fn poll_radio(&mut self, now: Instant) -> Option<RadioWork<A::Work>> {
        if self.work.is_some() {
            return None;
        }
        if self.imm_ack.is_some_and(|ack| ack.is_late(now)) {
            self.imm_ack = None;
            count(&mut self.counters.acks_late);
        }
        // An Imm-ACK is sent before the submitted frame, because it is due at once.
        if let Some(ImmAck { dsn, pending, .. }) = self.imm_ack {
            let content = Content::ImmAck { dsn, pending };
            let is_loaded = matches!(
                self.loaded,
                Some(Content::ImmAck { dsn: loaded, pending: set }) if loaded == dsn && set == pending
            );
            if !is_loaded {
                return Some(self.load(content));
            }
            self.imm_ack = None;
            self.work = Some(Work::Transmit(content));
            return Some(RadioWork::Transmit { cca: false });
        }
        if self.access.cycle().is_some() {
            return self.poll_with_cycle(now);
        }
        if self.progress == Progress::Ready {
            self.yield_channel(now);
        }
        match self.progress {
            Progress::Load if self.listens_in_vain() => self.poll_rest(),
            Progress::Load => Some(self.load(Content::Frame)),
            // An Imm-ACK of the MAC has replaced the frame in the radio.
            Progress::Ready if !matches!(self.loaded, Some(Content::Frame)) => {
                Some(self.load(Content::Frame))
            }
            Progress::Ready => {
                self.progress = Progress::OnAir;
                self.work = Some(Work::Transmit(Content::Frame));
                Some(RadioWork::Transmit { cca: true })
            }
            _ => self.poll_rest(),
        }
    }

    /// Returns the frame of a [`RadioWork::Load`], without its FCS, until that job ends.
    pub fn frame(&self) -> &[u8] {
        match self.work {
            Some(Work::Load(Content::ImmAck { .. })) => &self.ack_frame,
            Some(Work::Load(Content::Short)) => self.short_frame(),
            _ => &self.frame,
        }
    }

    /// Handles the end of the last job of [`Self::poll_radio`] at `now`. A result that does not fit
    /// the job counts as its failure and as a radio fault. A result without a job is only counted.
    pub fn on_radio_done(&mut self, now: Instant, result: RadioResult<A::Done>) {
        match self.work.take() {
            None => count(&mut self.counters.radio_faults),
            Some(Work::Load(content)) => self.on_loaded(now, content, result),
            Some(Work::Transmit(Content::ImmAck { .. })) => match result {
                RadioResult::Sent => count(&mut self.counters.acks_sent),
                _ => count(&mut self.counters.radio_faults),
            },
            Some(Work::Transmit(Content::Frame)) => self.on_transmitted(now, result),
            Some(Work::Transmit(Content::Short)) => self.on_short_sent(now, result),
            Some(Work::Assess { for_frame, .. }) => self.on_assessed(now, for_frame, result),
        }
    }

    /// Returns the time at which [`Self::on_timeout`] must be called; `None` if no timer runs.
    pub fn poll_at(&self) -> Option<Wake> {
        let frame = self.frame_at();
        match self.access.cycle() {
            None => frame,
            Some(_) => redpoll_base::earliest(frame, self.cycle_at()),
        }
    }

    fn frame_at(&self) -> Option<Wake> {
        match self.progress {
            Progress::Spacing { until }
            | Progress::Backoff { until }
            | Progress::AckWait { until }
            | Progress::RetryDelay { until, .. } => Some(Wake::exactly(until)),
            Progress::Idle | Progress::Load | Progress::Ready | Progress::OnAir => None,
        }
    }

    /// Handles the passing of time; a call that is too early has no effect.
    pub fn on_timeout(&mut self, now: Instant) {
        match self.progress {
            Progress::Spacing { until } if until <= now => self.progress = Progress::Load,
            Progress::Backoff { until } if until <= now => self.progress = Progress::Ready,
            Progress::AckWait { until } if until <= now => self.on_no_ack(now),
            Progress::RetryDelay { until, asleep } if until <= now => match asleep {
                true => self.progress = Progress::Load,
                false => self.start_attempt(now),
            },
            _ => {}
        }
    }
}
