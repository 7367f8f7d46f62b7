//! The radio of the nRF52840, by its manual: the signal values of a frame.

use redpoll_mac::RxInfo;

/// Offset in dB from an LQI value of the chip to the signal strength in dBm (§6.20.12.4:
/// ED_RSSIOFFS).
const RSSI_OFFSET: i16 = -93;
/// Factor from the chip's LQI to the standard's range (§6.20.12.4: ED_RSSISCALE).
const SCALE: u8 = 4;

/// Returns the properties of a frame that the chip received with this LQI.
pub fn rx_info(lqi: u8) -> RxInfo {
    let rssi = RSSI_OFFSET.saturating_add(lqi.into()).min(0);
    RxInfo {
        rssi_dbm: i8::try_from(rssi).unwrap_or(0),
        lqi: lqi.saturating_mul(SCALE),
        ack_sent_pending: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lqi_gives_the_received_power() {
        let of = |lqi| {
            let info = rx_info(lqi);
            (info.rssi_dbm, info.lqi)
        };
        assert_eq!(of(0), (-93, 0));
        assert_eq!(of(43), (-50, 172));
        assert_eq!(of(64), (-29, 255));
        assert_eq!(of(255), (0, 255));
    }
}
