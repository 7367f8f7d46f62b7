//! The answer to a request: SYN with ACK, or a challenge ACK.

use redpoll_base::Instant;
use redpoll_base::checksum::Checksum;

use crate::TimestampOption;
use crate::config::LEAST_MSS;
use crate::listener::{Offer, Terms};
use crate::syn_cookie;
use crate::{Flags, Header, Request, SeqNum};

#[derive(Clone, Copy, Debug)]
pub(super) struct Reply {
    pub(super) iss: SeqNum,
    /// Whether the reply is an ACK that challenges a reset (RFC 5961 §3.2).
    pub(super) is_challenge: bool,
    pub(super) is_cookie: bool,
    pub(super) fast_open: bool,
}

impl Reply {
    /// Encodes `<SEQ=ISS><ACK=RCV.NXT><CTL=SYN,ACK>` with the agreed options, or the challenge
    /// `<SEQ=SND.NXT><ACK=RCV.NXT><CTL=ACK>`.
    #[inline(never)] // size
    pub(super) fn header<A>(
        &self,
        now: Instant,
        terms: &Terms<'_, A>,
        request: &Request,
    ) -> Header {
        let Terms {
            config,
            window,
            isn,
            ..
        } = *terms;
        let Request { local, remote, syn } = request;
        let (mut flags, mut seq) = (Flags::ACK, self.iss + 1);
        if !self.is_challenge {
            (flags, seq) = (Flags::SYN.with(Flags::ACK), self.iss);
            // RFC 3168 §6.1.1: an ECN-setup SYN-ACK has ECE, but not CWR.
            if config.ecn.wants(true) && syn.offer.has(Offer::ECN) {
                flags = flags.with(Flags::ECE);
            }
        }
        let mut timestamps = None;
        if config.timestamps && syn.offer.has(Offer::TIMESTAMPS) {
            let offset = isn.timestamp_offset(local, remote);
            let clock = now.millis_wrapping().wrapping_add(offset);
            timestamps = Some(TimestampOption {
                value: if self.is_cookie {
                    syn_cookie::stamp(clock, syn.offer)
                } else {
                    clock
                },
                echo: syn.ts_value,
            });
        }
        let mut header = Header::EMPTY;
        header.begin(flags, window, seq, syn.irs + 1);
        if !self.is_challenge {
            header.put_mss(config.mss.max(LEAST_MSS));
        }
        let sack_permitted = config.sack && syn.offer.has(Offer::SACK) && !self.is_challenge;
        header.put_timestamps(timestamps, sack_permitted);
        if self.fast_open {
            header.put_fast_open(&isn.fast_open_cookie(now, &remote.addr));
        }
        header.end(local, remote, 0, Checksum::new());
        header
    }
}
