//! The parameters of an endpoint (RFC 7252 §4.8), and the times derived from them.

use redpoll_base::Duration;

use crate::block::BlockSize;

/// Method by which retransmission timeouts are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RtoPolicy {
    /// RFC 7252 §4.2: ACK_TIMEOUT for every message, doubled at each retransmission.
    #[default]
    Rfc7252,
    /// CoCoA according to draft-ietf-core-cocoa-03. Messages that are neither confirmable nor want
    /// a response are limited to one per RTO or to 1 B/s, whichever is faster; every eighth of them
    /// is made confirmable (§5).
    CocoaDraft,
    /// CoCoA as in Contiki's `cocoa.c`: a weak sample has a weight of 0.75 instead of 0.25, an RTO
    /// below 1 s is backed off by 2.5 instead of 3, the RTO is at most 60 s instead of 32 s, and
    /// aging differs. No rules for non-confirmable messages.
    CocoaContiki,
}

/// Transmission parameters (RFC 7252 §4.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmission {
    /// ACK_TIMEOUT. Default 2 s. Both CoCoA policies use this RTO before the first sample.
    pub ack_timeout: Duration,
    /// ACK_RANDOM_FACTOR in percent, at least 100. Default 150.
    pub ack_random_percent: u32,
    /// MAX_RETRANSMIT, at most 10. Default 4.
    pub max_retransmit: u8,
    /// NSTART: maximum number of outstanding interactions with one peer. Default 1.
    pub nstart: usize,
}

impl Default for Transmission {
    fn default() -> Self {
        Transmission {
            ack_timeout: Duration::from_secs(2),
            ack_random_percent: 150,
            max_retransmit: 4,
            nstart: 1,
        }
    }
}

/// MAX_LATENCY (RFC 7252 §4.8.2).
const MAX_LATENCY: Duration = Duration::from_secs(100);

impl Transmission {
    fn spread(&self, doublings: u8) -> Duration {
        let factor = (1_u64 << doublings.min(11)).saturating_sub(1);
        let percent = u64::from(self.ack_random_percent);
        self.ack_timeout
            .times(factor)
            .times(percent)
            .divided_by(100)
    }

    /// Returns MAX_TRANSMIT_SPAN (RFC 7252 §4.8.2): 45 s by default.
    pub fn max_transmit_span(&self) -> Duration {
        self.spread(self.max_retransmit)
    }

    /// Returns MAX_TRANSMIT_WAIT (RFC 7252 §4.8.2): 93 s by default.
    pub fn max_transmit_wait(&self) -> Duration {
        self.spread(self.max_retransmit.saturating_add(1))
    }

    /// Returns EXCHANGE_LIFETIME (RFC 7252 §4.8.2): 247 s by default.
    pub fn exchange_lifetime(&self) -> Duration {
        // The last term is PROCESSING_DELAY, which equals ACK_TIMEOUT.
        self.max_transmit_span()
            .plus(MAX_LATENCY.times(2))
            .plus(self.ack_timeout)
    }

    /// Returns NON_LIFETIME (RFC 7252 §4.8.2): 145 s by default.
    pub fn non_lifetime(&self) -> Duration {
        self.max_transmit_span().plus(MAX_LATENCY)
    }
}

/// Parameters and memory limits of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// Transmission parameters.
    pub transmission: Transmission,
    /// Method by which timeouts are chosen.
    pub rto: RtoPolicy,
    /// The largest block that the endpoint sends or requests; longer bodies go block-wise.
    pub block: BlockSize,
    /// Whether the first request already contains this block size (RFC 7959 §2.4: early
    /// negotiation). If false, the server chooses the size of the first block.
    pub negotiates_early: bool,
    /// The largest body that the endpoint accepts, in bytes.
    pub max_body: usize,
    /// Whether the application receives request bodies block by block, as blocks arrive and perhaps
    /// more than once, instead of as a whole: [`Incoming::part`](crate::Incoming::part) then has
    /// the number of the block. A body may then be longer than memory (RFC 7959 §2.3: each block is
    /// acted upon by itself).
    pub takes_parts: bool,
    /// Maximum number of the endpoint's own requests at a time, sent or waiting.
    pub max_requests: usize,
    /// Maximum number of requests of peers that the endpoint answers at a time.
    pub max_served: usize,
    /// Maximum number of bodies that are assembled or sent in blocks at a time.
    pub max_transfers: usize,
    /// The longest response in bytes to a peer with an unverified address. Before a longer
    /// response, the peer must repeat an Echo option (RFC 9175 §2.6). The default of 136 is the
    /// RFC's own example: with the headers below CoAP, three times the length of the shortest
    /// request.
    pub initial_response: usize,
    /// Number of messages stored to recognise duplicates.
    pub max_seen: usize,
    /// Time after which an unanswered request is acknowledged by an Empty message. The response
    /// then follows in a separate message (RFC 7252 §5.2.2).
    pub piggyback_within: Duration,
    /// DEFAULT_LEISURE (RFC 7252 §8.2): the answer to a multicast request is sent at a random time
    /// within this period. Default 5 s.
    pub leisure: Duration,
    /// Time for which a client waits for a response: since the acknowledgement of a confirmable
    /// request, or since a non-confirmable request was sent. Default MAX_TRANSMIT_WAIT.
    pub patience: Duration,
}

impl Default for Config {
    fn default() -> Self {
        let transmission = Transmission::default();
        Config {
            transmission,
            rto: RtoPolicy::default(),
            block: BlockSize::LARGEST,
            negotiates_early: false,
            max_body: 64 << 10,
            takes_parts: false,
            max_requests: 8,
            max_served: 8,
            max_transfers: 4,
            initial_response: 136,
            max_seen: 64,
            piggyback_within: Duration::from_secs(1),
            leisure: Duration::from_secs(5),
            patience: transmission.max_transmit_wait(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7252 §4.8.2, table 3.
    #[test]
    fn derived_times_are_the_rfcs() {
        let default = Transmission::default();
        let secs = Duration::from_secs;
        assert_eq!(default.max_transmit_span(), secs(45));
        assert_eq!(default.max_transmit_wait(), secs(93));
        assert_eq!(default.exchange_lifetime(), secs(247));
        assert_eq!(default.non_lifetime(), secs(145));
    }
}
