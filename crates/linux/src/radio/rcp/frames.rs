//! Frames on the air: their transmission, its outcome, and received frames.

use redpoll_base::{Duration, Instant};
use redpoll_stack::mac::{RadioResult, RxInfo};
use redpoll_stack::wire::ieee802154::FrameHeader;

use super::{Event, Phase, Rcp};
use crate::radio::spinel::{
    ACKED_WITH_PENDING, BAD_FCS, Command, Fields, Received, property, status,
};

/// Longest time for a transmission, with all backoffs and retries that the radio makes.
const TRANSMISSION: Duration = Duration::from_millis(3_000);

#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub(super) tid: u8,
    pub(super) until: Instant,
    pub(super) wants_ack: bool,
}

impl Rcp {
    /// Sends a frame: an MPDU without its check sequence, of at most 125 bytes. [`Event::Done`]
    /// reports the end, before which no other frame may be sent.
    pub fn transmit(&mut self, now: Instant, mpdu: &[u8], cca: bool) {
        if self.phase != Phase::Ready || self.transmission.is_some() {
            // The radio cannot send now. `ChannelBusy` states that the frame was not transmitted.
            self.events.push_back(Event::Done(RadioResult::ChannelBusy));
            return;
        }
        let header = FrameHeader::parse(mpdu);
        let wants_ack = header.is_ok_and(|(header, _)| header.ack_request);
        let mut value = ((mpdu.len() + 2) as u16).to_le_bytes().to_vec();
        value.extend(mpdu);
        // The radio computes the check sequence itself.
        value.extend([0, 0]);
        value.extend([
            self.identity.channel,
            self.identity.max_csma_backoffs,
            self.identity.max_frame_retries,
            cca.into(),
            // Fields of STREAM_RAW: header updated, retransmission, security processed.
            true.into(),
            false.into(),
            true.into(),
        ]);
        let tid = self.say(Command::Set, property::STREAM_RAW, &value);
        self.counters.sent += 1;
        self.transmission = Some(Transmission {
            tid,
            until: now + TRANSMISSION,
            wants_ack,
        });
    }

    pub(super) fn on_received(&mut self, value: &[u8]) {
        let Some(frame) = Received::parse(value) else {
            self.counters.nonsense += 1;
            return;
        };
        if frame.flags & BAD_FCS != 0 {
            self.counters.bad_fcs += 1;
            return;
        }
        if self.phase != Phase::Ready {
            return;
        }
        self.counters.received += 1;
        self.events.push_back(Event::Received {
            mpdu: frame.mpdu.to_vec(),
            info: RxInfo {
                rssi_dbm: frame.rssi_dbm,
                lqi: frame.lqi,
                ack_sent_pending: frame.flags & ACKED_WITH_PENDING != 0,
            },
        });
    }

    pub(super) fn on_transmitted(&mut self, now: Instant, code: u32, value: &[u8]) {
        let Some(transmission) = self.transmission.take() else {
            return;
        };
        let mut fields = Fields(value);
        let _status = fields.packed();
        let frame_pending = fields.bool().unwrap_or(false);
        let result = match code {
            status::OK if transmission.wants_ack => RadioResult::Acked { frame_pending },
            status::OK => RadioResult::Sent,
            status::NO_ACK => RadioResult::NoAck,
            status::CCA_FAILURE => RadioResult::ChannelBusy,
            other => {
                self.trouble(
                    now,
                    format!("the radio did not send a frame: status {other}"),
                );
                RadioResult::ChannelBusy
            }
        };
        self.events.push_back(Event::Done(result));
    }

    pub(super) fn give_up(&mut self) {
        if let Some(transmission) = self.transmission.take() {
            self.events
                .push_back(Event::Done(if transmission.wants_ack {
                    RadioResult::NoAck
                } else {
                    RadioResult::Sent
                }));
        }
    }
}
