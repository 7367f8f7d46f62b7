//! Reception: drops duplicates, and acknowledges frames that request it.

use redpoll_base::Instant;
use redpoll_wire::ieee802154::FrameHeader;

use super::{Mac, Progress};
use crate::access::Access;
use crate::counters::count;
use crate::filter::asks_for_ack;
use crate::imm_ack::ImmAck;
use crate::{Indication, RxInfo};

impl<A: Access> Mac<A> {
    pub(super) fn accept<'f>(
        &mut self,
        now: Instant,
        header: &FrameHeader,
        payload: &'f [u8],
        info: &RxInfo,
    ) -> Option<Indication<'f>> {
        let payload = self.unwrap_cycled(now, header, payload)?;
        // Only frames that request an acknowledgment are retransmitted, unless the access method
        // repeats all frames until their receiver wakes up.
        if (header.ack_request && asks_for_ack(header.dst)) || self.repeats_broadcasts() {
            let timeout = self.config.duplicate_timeout;
            let (src, dsn) = (header.src, header.dsn);
            if self.duplicates.on_frame(now, timeout, src, dsn, payload) {
                count(&mut self.counters.rx_duplicates);
                return None;
            }
        }
        count(&mut self.counters.rx_frames);
        self.burst.on_frame(now, header.src, header.frame_pending);
        Some(Indication {
            src: header.src,
            dst: header.dst,
            payload,
            rssi_dbm: info.rssi_dbm,
            frame_pending: header.frame_pending,
        })
    }

    pub(super) fn acknowledge(&mut self, now: Instant, dsn: u8, acknowledge: bool, pending: bool) {
        if !acknowledge || self.config.caps.auto_ack {
            return;
        }
        let owed = ImmAck::owed(now, dsn, pending);
        if self.imm_ack.replace(owed).is_some() {
            count(&mut self.counters.acks_late);
        }
    }

    pub(super) fn on_ack_frame(&mut self, now: Instant, dsn: u8, frame_pending: bool) {
        match self.progress {
            Progress::AckWait { .. } if dsn == self.frame_dsn => self.on_ack(now, frame_pending),
            _ => count(&mut self.counters.rx_stray_acks),
        }
    }
}
