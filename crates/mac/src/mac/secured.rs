//! Link-layer security of a frame: it is protected before its first attempt, and opened when it is
//! received.
//!
//! An Imm-ACK is due before a frame can be decrypted, so the MAC acknowledges a frame whether or
//! not it is authentic (IEEE 802.15.4-2015 §6.7.2: the filter comes before security).

use redpoll_base::{Instant, Memory};
use redpoll_wire::ieee802154::FrameHeader;

use super::{Mac, Progress};
use crate::access::Access;
use crate::counters::count;
use crate::filter::{self, FilterResult, Useless};
use crate::security::{Refusal, Security};
use crate::{FrameBuf, Indication, RxInfo, TxStatus};

impl<A: Access> Mac<A> {
    /// Sets [`MacConfig::security_bytes`](crate::MacConfig) to the number of bytes, 9 to 22, that
    /// `security` adds to each frame with its present key.
    pub fn make_room<M: Memory>(&mut self, security: &Security<M>) {
        self.config.security_bytes = u8::try_from(security.overhead()).unwrap_or(u8::MAX);
    }

    /// Protects the submitted frame or data request; to be called before the next
    /// [`Mac::poll_radio`]. Retransmissions have the same bytes. Returns `false` if there is no
    /// frame to protect, or if the frame could not be protected: the frame's service has then ended
    /// in [`TxStatus::Unsealed`].
    pub fn seal<M: Memory>(&mut self, now: Instant, security: &mut Security<M>) -> bool {
        if !matches!(self.progress, Progress::Spacing { .. } | Progress::Load) {
            return false;
        }
        let is_sealed = security.seal(&mut self.frame).is_ok();
        if !is_sealed {
            self.finish(now, TxStatus::Unsealed);
        }
        is_sealed
    }

    /// Handles a received frame as [`Mac::input_frame`] does, for a node whose neighbours all
    /// protect their frames. `security` counts rejected frames by their [`Refusal`]. The frame
    /// without its protection is written to `clear`.
    pub fn input_secured<'f, M: Memory>(
        &mut self,
        now: Instant,
        frame: &[u8],
        info: &RxInfo,
        security: &mut Security<M>,
        clear: &'f mut FrameBuf,
    ) -> Option<Indication<'f>> {
        let parsed = FrameHeader::parse(frame).ok();
        let addressed = parsed.and_then(|(header, payload)| {
            let acknowledge = self.owes_answer(&header)?;
            Some((header, payload, acknowledge))
        });
        let Some((header, payload, acknowledge)) = addressed else {
            // The frame is malformed, is for another node, or has no part that security protects.
            // `input_frame` counts the frame, and none of its data reaches the upper layer.
            self.input_frame(now, frame, info);
            return None;
        };
        match security.open(&header, payload, frame, clear) {
            Ok(()) => {}
            // The Imm-ACK of this frame was lost, and the neighbour repeats the frame. The MAC
            // drops it as a duplicate.
            Err(Refusal::Replayed) if self.was_here(now, clear) => {}
            Err(why) => {
                security.counters.refuse(why);
                count(&mut self.counters.rx_refused);
                self.acknowledge(now, header.dsn, acknowledge, false);
                return None;
            }
        }
        self.input_frame(now, clear, info)
    }

    /// Returns whether this node must acknowledge a frame; `None` if it is not for this node, or
    /// has no part that security protects.
    fn owes_answer(&self, header: &FrameHeader) -> Option<bool> {
        match filter::judge(&self.config, header) {
            FilterResult::Accept { acknowledge }
            | FilterResult::Command { acknowledge }
            | FilterResult::Useless {
                why: Useless::Secured,
                acknowledge,
            } => Some(acknowledge),
            _ => None,
        }
    }

    fn was_here(&self, now: Instant, frame: &[u8]) -> bool {
        let timeout = self.config.duplicate_timeout;
        FrameHeader::parse(frame)
            .is_ok_and(|(header, payload)| self.duplicates.has(now, timeout, &header, payload))
    }
}
