//! The conditions of a run: the medium, the radio and the sizes of TCP segments.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use redpoll_sim::{MediumConfig, MediumFigures, RadioModel, Scenario, Sinr, UnitDisk};

pub(super) fn radio(scenario: &Scenario) -> String {
    let name = match scenario.radio.model {
        RadioModel::At86rf233 => "AT86RF233",
        RadioModel::Cc2420 => "CC2420",
        RadioModel::Ideal => "ideal",
    };
    match scenario.radio.spi_us_per_byte {
        Some(us) => format!("{name}, {us} us of SPI per byte"),
        None => name.to_owned(),
    }
}

/// Returns the payload of full TCP segments, for each TCP stack of the nodes.
pub(super) fn segments(scenario: &Scenario) -> String {
    let own = scenario
        .nodes
        .iter()
        .filter(|it| it.module.is_none() && it.line.is_none());
    let sizes: BTreeSet<u16> = own
        .map(|node| scenario.full_segment(&node.transport))
        .collect();
    if sizes.is_empty() {
        return "TCP segments: -".to_owned();
    }
    let sizes: Vec<String> = sizes.iter().map(|size| format!("{size} B")).collect();
    format!("TCP segments of {}", sizes.join(" and "))
}

pub(super) fn medium(medium: &MediumFigures) -> String {
    if medium.listed_links {
        return "listed links: nodes hear, sense and disturb each other only over these links"
            .to_owned();
    }
    if medium.measured_links {
        return "measured links".to_owned()
            + match medium.config {
                MediumConfig::UnitDisk(_) => {
                    ": nodes hear, sense and disturb each other only over these links"
                }
                MediumConfig::Sinr(_) => ": the mean RSSI of a link is the power at its receiver",
            };
    }
    match medium.config {
        MediumConfig::UnitDisk(UnitDisk {
            transmission_range_m,
            interference_range_m,
            carrier_sense_range_m,
            success_ratio_tx,
            success_ratio_rx,
        }) => {
            let mut text = format!(
                "unit disk: transmission {transmission_range_m} m, interference \
                 {interference_range_m} m, carrier sense (CCA) {carrier_sense_range_m} m"
            );
            if (success_ratio_tx, success_ratio_rx) != (1.0, 1.0) {
                let _ = write!(
                    text,
                    ", success ratios: senders {success_ratio_tx}, receivers {success_ratio_rx}"
                );
            }
            text
        }
        MediumConfig::Sinr(Sinr {
            tx_power_dbm,
            path_loss_exponent,
            shadowing_sigma_db,
            noise_floor_dbm,
            sensitivity_dbm,
            capture_db,
            cca_threshold_dbm,
            ..
        }) => format!(
            "SINR: {tx_power_dbm} dBm, path loss exponent {path_loss_exponent}, shadowing \
             {shadowing_sigma_db} dB, noise {noise_floor_dbm} dBm, sensitivity {sensitivity_dbm} \
             dBm, capture {capture_db} dB, CCA threshold {cca_threshold_dbm} dBm"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_segments_is_that_of_the_nodes_tcp() {
        let shown = |settings: &[(&str, &str)]| {
            let own = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            let settings: Vec<_> = settings.iter().map(own).collect();
            segments(&Scenario::load("pair", &settings).unwrap())
        };
        assert_eq!(shown(&[]), "TCP segments of 471 B");
        assert_eq!(
            shown(&[("tcp.transport", "uip-3.0")]),
            "TCP segments of 48 B"
        );
        let mixed = [("nodes.node-2.transport", "blip")];
        assert_eq!(shown(&mixed), "TCP segments of 200 B and 471 B");
        let too_large = [
            ("tcp.transport", "one-segment"),
            ("rivals.segment_mss", "1220 B"),
            ("routing", "rpl"),
        ];
        assert_eq!(shown(&too_large), "TCP segments of 1212 B");
    }
}
