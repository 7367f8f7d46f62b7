//! How large a segment may be: the peer's MSS and the path MTU
//! (RFC 9293 §3.7.1 and §3.7.2, RFC 6691).

use crate::config::LEAST_MSS;
use redpoll_wire::tcp::HeaderView;

/// RFC 9293 §3.7.1, MUST-15: the MSS of a peer that does not state one.
const DEFAULT_SEND_MSS: u16 = 1220;

/// Length of an IPv6 header (RFC 8200 §3), the only one in use.
const IP_HEADER: u16 = 40;

/// IPv6's and TCP's without options.
pub(crate) const HEADERS: u16 = IP_HEADER + HeaderView::MIN_LEN as u16;

/// Whether path MTU discovery is compiled in: with the feature `large-windows`. A
/// device with an MSS of 1,220 or less, which every path takes, does without.
pub const ON: bool = cfg!(feature = "large-windows");

/// The limits on the size of a segment that we send.
#[derive(Clone, Debug)]
pub(crate) struct SegmentSize {
    /// The least of SendMSS, what our link takes, and what the path takes, less
    /// what options take in every segment.
    eff_snd_mss: u16,
}

impl SegmentSize {
    /// `own` is the configured MSS, which says what our link takes.
    pub(crate) fn new(own: u16) -> Self {
        SegmentSize { eff_snd_mss: own }
    }

    /// The peer's SYN arrived, with or without an MSS option.
    pub(crate) fn on_peer_mss(&mut self, mss: Option<u16>) {
        let send_mss = mss.unwrap_or(DEFAULT_SEND_MSS).max(LEAST_MSS);
        self.eff_snd_mss = self.eff_snd_mss.min(send_mss);
    }

    /// From now on, each segment carries `space` bytes of options. After the
    /// peer's MSS, which is without them (RFC 6691 §2).
    pub(crate) fn on_options(&mut self, space: u16) {
        self.eff_snd_mss = self.eff_snd_mss.wrapping_sub(space);
    }

    /// The path takes packets of `mtu` bytes, and each carries `space` bytes of
    /// options. Returns whether that is less than before; the size never grows
    /// again (RFC 8201 §4 would allow it after ten minutes).
    pub(crate) fn on_path_mtu(&mut self, mtu: u16, space: u16) -> bool {
        let mss = mtu.saturating_sub(HEADERS).max(LEAST_MSS);
        let eff_snd_mss = mss.wrapping_sub(space);
        let shrinks = eff_snd_mss < self.eff_snd_mss;
        if shrinks {
            self.eff_snd_mss = eff_snd_mss;
        }
        shrinks
    }

    /// Eff.snd.MSS: the payload of a full-sized segment (RFC 6691 §2).
    pub(crate) fn eff_snd_mss(&self) -> u32 {
        self.eff_snd_mss.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_counts_and_options_come_off() {
        let mut size = SegmentSize::new(474);
        size.on_peer_mss(Some(1440));
        assert_eq!(size.eff_snd_mss(), 474);
        size.on_options(12);
        assert_eq!(size.eff_snd_mss(), 462);
        assert!(!size.on_path_mtu(1280, 12));
        assert!(size.on_path_mtu(300, 12));
        assert_eq!(size.eff_snd_mss(), 228);
        assert!(!size.on_path_mtu(1280, 12));
        assert_eq!(size.eff_snd_mss(), 228);
    }

    #[test]
    fn missing_and_absurd_mss_options() {
        let mut size = SegmentSize::new(9000);
        size.on_peer_mss(None);
        assert_eq!(size.eff_snd_mss(), 1220);
        size.on_peer_mss(Some(0));
        assert_eq!(size.eff_snd_mss(), u32::from(LEAST_MSS));
        size.on_path_mtu(0, 0);
        assert_eq!(size.eff_snd_mss(), u32::from(LEAST_MSS));
    }
}
