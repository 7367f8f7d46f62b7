//! Settings: `--so_flags`, and the socket options that apply to the whole node before its start.

use std::net::IpAddr;
use std::num::NonZero;

use redpoll_base::Duration;
use redpoll_tcp::{Config, EcnUse};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The host's address. By default, the address of the first `bind`, or the destination of the
    /// first packet.
    pub local: Option<IpAddr>,
    /// Bytes of a connection's receive buffer, which is the advertised window. Default 16384.
    pub rcvbuf: usize,
    /// Bytes of a connection's send buffer. Default 32768.
    pub sndbuf: usize,
    /// MTU of the direct link: 1,280 to 1,500 bytes. Default 1,280.
    pub mtu: u16,
    /// Initial window in segments. Default: as in RFC 5681.
    pub initial_window: Option<NonZero<u8>>,
    pub tcp: Config,
}

/// Length of the IPv6 and TCP headers without options in bytes (RFC 6691 §2).
pub(crate) const HEADERS: u16 = 40 + 20;
/// The minimum MTU of IPv6 (RFC 8200 §5). A smaller `mtu` only limits the segment size.
const LEAST_MTU: u16 = 1280;
const MOST_MTU: u16 = 1500;

impl Default for Settings {
    fn default() -> Self {
        Settings {
            local: None,
            rcvbuf: 16_384,
            sndbuf: 32_768,
            mtu: LEAST_MTU,
            initial_window: None,
            // The values that public packetdrill scripts expect.
            tcp: Config {
                ecn: EcnUse::Off,
                min_rto: Duration::from_secs(1),
                ..Config::default()
            },
        }
    }
}

impl Settings {
    /// Parses comma-separated `key=value`. Later keys override earlier ones; unknown keys and
    /// invalid values are ignored.
    ///
    /// The keys that packetdrill's shims share are `local`, `mtu` (at most 1,500), `rcvbuf`,
    /// `sndbuf`, `ts`, `iw` (segments, 1 to 255) and `ecn` (0: off, 1: requested, 2: accepted if
    /// the peer requests it). Further keys are `nodelay=1` for every connection, and two that
    /// change the acknowledgment rules: `ack_every` (segments, 1 to 255) and `delack`
    /// (milliseconds). `remote` has no effect.
    pub fn parse(flags: &str) -> Settings {
        let mut settings = Settings::default();
        settings.apply(flags);
        settings
    }

    /// Applies the flags to the current settings, like [`parse`](Self::parse).
    pub fn apply(&mut self, flags: &str) {
        for flag in flags.split(',') {
            if let Some((key, value)) = flag.split_once('=') {
                // An unknown key or an invalid value has no effect, as `parse` documents.
                let _ = self.set(key.trim(), value.trim());
            }
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        let on = || match value {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        };
        match key {
            "local" => self.local = Some(value.parse().ok()?),
            "mtu" => {
                let mtu = value.parse::<u16>().ok()?.min(MOST_MTU);
                self.mtu = mtu.max(LEAST_MTU);
                self.tcp.mss = mtu.saturating_sub(HEADERS);
            }
            "iw" => self.initial_window = Some(value.parse().ok()?),
            "rcvbuf" => self.rcvbuf = value.parse().ok().filter(|&n| n > 0)?,
            "sndbuf" => self.sndbuf = value.parse().ok().filter(|&n| n > 0)?,
            "ts" => self.tcp.timestamps = on()?,
            "ecn" => {
                self.tcp.ecn = match value {
                    "0" => EcnUse::Off,
                    "1" => EcnUse::Asked,
                    "2" => EcnUse::Agreed,
                    _ => return None,
                }
            }
            "delack" => self.tcp.delayed_ack = Duration::from_millis(value.parse().ok()?),
            "ack_every" => self.tcp.ack_every = value.parse().ok().filter(|&n| n > 0)?,
            "nodelay" => self.tcp.nagle = !on()?,
            _ => return None,
        }
        Some(())
    }

    pub(crate) fn most_mss(&self) -> u16 {
        self.mtu.saturating_sub(HEADERS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_keys_override_and_unknown_keys_are_ignored() {
        let settings = Settings::parse("rcvbuf=1000,what=1,,local=::1,ts=0,rcvbuf=2000,sndbuf=x");
        assert_eq!((settings.rcvbuf, settings.sndbuf), (2000, 32_768));
        assert_eq!(settings.local, Some("::1".parse().unwrap()));
        assert!(!settings.tcp.timestamps);
        assert_eq!(Settings::parse(""), Settings::default());
    }

    #[test]
    fn acknowledgments_are_as_another_host_delays_them() {
        let tcp = Settings::parse("ack_every=1,delack=40,ack_every=0").tcp;
        assert_eq!(
            (tcp.ack_every, tcp.delayed_ack),
            (1, Duration::from_millis(40))
        );
    }

    #[test]
    fn an_initial_window_has_a_segment_at_least() {
        assert_eq!(Settings::parse("iw=10").initial_window, NonZero::new(10));
        for impossible in ["iw=0", "iw=-1", "iw=256", "iw=ten"] {
            assert_eq!(Settings::parse(impossible), Settings::default());
        }
    }

    #[test]
    fn ecn_has_three_values() {
        for (value, ecn) in [
            ("0", EcnUse::Off),
            ("1", EcnUse::Asked),
            ("2", EcnUse::Agreed),
            ("3", EcnUse::Off),
        ] {
            assert_eq!(Settings::parse(&format!("ecn={value}")).tcp.ecn, ecn);
        }
    }

    #[test]
    fn the_mtu_is_at_most_that_of_ethernet() {
        for (flags, mtu, mss) in [
            ("mtu=9000", 1500, 1440),
            ("mtu=1500", 1500, 1440),
            ("mtu=1280", 1280, 1220),
            // The segments are smaller, but the MTU stays valid for IPv6.
            ("mtu=600", 1280, 540),
        ] {
            let settings = Settings::parse(flags);
            assert_eq!((settings.mtu, settings.tcp.mss), (mtu, mss), "{flags}");
        }
    }
}
