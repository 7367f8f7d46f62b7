//! Units of columns, by their names. Names of the report (`docs/report.md`) and of the series end
//! in their unit, as in `srtt_ms`. Counts and ratios have the unit `1`, as in UCUM.

/// Endings of names, and the unit of their numbers.
const UNITS: &[(&str, &str)] = &[
    ("s", "s"),
    ("ms", "ms"),
    ("us", "us"),
    ("days", "days"),
    ("bytes", "bytes"),
    ("kbps", "kbit/s"),
    ("mc", "mC"),
    ("ma", "mA"),
    ("m", "m"),
    ("db", "dB"),
    ("dbm", "dBm"),
    ("percent", "%"),
];

/// Endings of ratios, 0 to 1.
const RATIOS: &[&str] = &["share", "duty_cycle", "segment_loss", "reliability"];

/// Objects of the report whose fields are counts, except fields with a unit or ratio in the name.
const COUNTED: &[&str] = &[
    "cache",
    "drops",
    "duty",
    "readings",
    "recovery",
    "requests",
    "retransmissions",
    "rpl",
];

/// Counts and ordinal numbers outside of the objects in [`COUNTED`].
const COUNTS: &[&str] = &[
    "addresses_refused",
    "collisions",
    "data_requests",
    "ecn_marks",
    "frame_retries",
    "frames_sent",
    "hops",
    "instructions",
    "n",
    "parent_changes",
    "point",
    "queue_datagrams",
    "resumed",
    "retransmissions_fast",
    "retransmissions_link_lost",
    "retransmissions_path_mtu",
    "retransmissions_probe",
    "retransmissions_rto",
    "retransmissions_tail",
    "seed",
    "segments_sent",
    "wake_ups",
];

/// Returns the unit of a column of numbers; `None` for a name that is neither declared here nor
/// ends in a unit. The innermost part of a dotted name with a unit decides, as in `rtt_ms.p50`.
pub fn unit_of(name: &str) -> Option<&'static str> {
    let ends_in = |part: &str, end: &str| {
        let before = part.strip_suffix(end);
        before.is_some_and(|it| it.is_empty() || it.ends_with('_'))
    };
    for part in name.rsplit('.') {
        let has_unit = part.contains('_');
        let found = UNITS.iter().find(|(end, _)| has_unit && ends_in(part, end));
        if let Some((_, unit)) = found {
            return Some(unit);
        }
        if RATIOS.iter().any(|end| ends_in(part, end)) {
            return Some("1");
        }
    }
    let (first, last) = (name.split('.').next(), name.rsplit('.').next());
    let is_count = first.is_some_and(|it| COUNTED.contains(&it))
        || last.is_some_and(|it| COUNTS.contains(&it));
    is_count.then_some("1")
}

#[cfg(test)]
mod tests {
    use super::unit_of;

    #[test]
    fn a_name_gives_its_unit() {
        for (name, unit) in [
            ("srtt_ms", Some("ms")),
            ("rtt_ms.p50", Some("ms")),
            ("readings.latency_ms.p95", Some("ms")),
            ("goodput_interval_kbps", Some("kbit/s")),
            ("energy.battery_days", Some("days")),
            ("image.sent_twice_percent", Some("%")),
            ("energy.cpu_duty_cycle", Some("1")),
            ("readings.reliability", Some("1")),
            ("drops.radio.collision", Some("1")),
            ("energy.instructions", Some("1")),
            ("recovery.round_trip_ms", Some("ms")),
            // A name that neither ends in a unit nor is a declared count has no unit.
            ("latency", None),
            ("energy.ms", None),
        ] {
            assert_eq!(unit_of(name), unit, "{name}");
        }
    }
}
