//! The segment size: the peer's MSS and the path MTU (RFC 9293 §3.7.1 and §3.7.2, RFC 6691).

use crate::config::LEAST_MSS;
use redpoll_wire::tcp::HeaderView;

/// RFC 9293 §3.7.1, MUST-15: the MSS of a peer that does not announce one.
const DEFAULT_SEND_MSS: u16 = 1220;

/// Length of an IPv6 header (RFC 8200 §3).
const IP_HEADER: u16 = 40;

/// Length of the IPv6 and TCP headers without options.
pub(crate) const HEADERS: u16 = IP_HEADER + HeaderView::MIN_LEN as u16;

/// Whether path MTU discovery is compiled in: feature `large-windows`. A device with an MSS of at
/// most 1,220 bytes does not need it, because every path carries such segments.
pub const ON: bool = cfg!(feature = "large-windows");

/// Limits of the size of our segments.
#[derive(Clone, Debug)]
pub(crate) struct SegmentSize {
    /// Minimum of SendMSS, the link's limit and the path's limit, minus the options in every
    /// segment, in bytes.
    eff_snd_mss: u16,
}

impl SegmentSize {
    /// Creates the limits from the configured MSS `own`, which reflects the limit of our link.
    pub(crate) fn new(own: u16) -> Self {
        SegmentSize { eff_snd_mss: own }
    }

    /// Applies the MSS option of the peer's SYN, or the default without one.
    pub(crate) fn on_peer_mss(&mut self, mss: Option<u16>) {
        let send_mss = mss.unwrap_or(DEFAULT_SEND_MSS).max(LEAST_MSS);
        self.eff_snd_mss = self.eff_snd_mss.min(send_mss);
    }

    /// Subtracts `space` bytes of options in each segment. Call it after
    /// [`on_peer_mss`](Self::on_peer_mss): the peer's MSS excludes options (RFC 6691 §2).
    pub(crate) fn on_options(&mut self, space: u16) {
        self.eff_snd_mss = self.eff_snd_mss.wrapping_sub(space);
    }

    /// Applies a path MTU of `mtu` bytes, for packets with `space` bytes of options. Returns
    /// whether the segment size decreased. It never increases again; RFC 8201 §4 would allow that
    /// after ten minutes.
    pub(crate) fn on_path_mtu(&mut self, mtu: u16, space: u16) -> bool {
        let mss = mtu.saturating_sub(HEADERS).max(LEAST_MSS);
        let eff_snd_mss = mss.wrapping_sub(space);
        let shrinks = eff_snd_mss < self.eff_snd_mss;
        if shrinks {
            self.eff_snd_mss = eff_snd_mss;
        }
        shrinks
    }

    /// Returns Eff.snd.MSS: the payload of a full-sized segment (RFC 6691 §2).
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
