//! Definitions for tables of keys: kinds of values, and conditions by the value of another key.

use crate::scenario::schema::Key;
use crate::scenario::schema::KeyKind::{self, *};
use crate::scenario::schema::Presence;
use crate::scenario::units::Measure;

pub(super) const US_PER_S: f64 = 1e6;
pub(super) const DAY_US: f64 = 86_400.0 * US_PER_S;

pub(super) const fn time(min_us: f64, max_us: f64) -> KeyKind {
    Quantity {
        measure: Measure::Time,
        min: min_us,
        max: max_us,
    }
}

pub(super) const fn length(min_m: f64, max_m: f64) -> KeyKind {
    Quantity {
        measure: Measure::Length,
        min: min_m,
        max: max_m,
    }
}

pub(super) const fn size(min: f64, max: f64) -> KeyKind {
    Quantity {
        measure: Measure::Size,
        min,
        max,
    }
}

pub(super) const fn dbm(min: f64, max: f64) -> KeyKind {
    Quantity {
        measure: Measure::Power,
        min,
        max,
    }
}

pub(super) const fn db(min: f64, max: f64) -> KeyKind {
    Quantity {
        measure: Measure::Gain,
        min,
        max,
    }
}

pub(super) const fn current(max_ma: f64) -> KeyKind {
    Quantity {
        measure: Measure::Current,
        min: 0.0,
        max: max_ma,
    }
}

pub(super) const SHARE: KeyKind = Quantity {
    measure: Measure::Share,
    min: 0.0,
    max: 1.0,
};
pub(super) const PORT: KeyKind = Count {
    min: 1,
    max: 65_535,
};

pub(in crate::scenario) const CONGESTION: &[&str] = &["newreno", "cubic", "off"];

pub(super) const TRANSPORT: KeyKind = Choice(&[
    "redpoll",
    "uip-2.5",
    "uip-2.7",
    "uip-3.0",
    "uip-lim",
    "blip",
    "one-segment",
    "linux",
    "smoltcp",
]);

/// The sizes of blocks (RFC 7959 §2.2).
pub(super) const BLOCKS: &[&str] = &["16 B", "32 B", "64 B", "128 B", "256 B", "512 B", "1024 B"];

pub(super) type Only = Option<(&'static str, &'static [&'static str])>;

pub(super) const fn key(
    path: &'static str,
    kind: KeyKind,
    presence: Presence,
    only: Only,
    doc: &'static str,
) -> Key {
    Key {
        path,
        kind,
        presence,
        only,
        doc,
    }
}

pub(super) const GENERATED: Only = Some(("kind", &["grid", "line", "tree"]));
pub(super) const GRID: Only = Some(("kind", &["grid"]));
pub(super) const TREE: Only = Some(("kind", &["tree"]));
pub(super) const FIXED_POLL: Only = Some(("policy", &["fixed"]));
pub(super) const CYCLED: Only = Some((
    "access",
    &["nullrdc", "contikimac", "x-mac", "cx-mac", "lpp"],
));
pub(super) const SLEEPING: Only = Some(("access", &["contikimac", "x-mac", "cx-mac", "lpp"]));
pub(super) const PHASED: Only = Some(("access", &["contikimac", "x-mac", "cx-mac"]));
pub(super) const CONTIKIMAC: Only = Some(("access", &["contikimac"]));
pub(super) const NULLRDC: Only = Some(("access", &["nullrdc"]));
pub(super) const UNIT_DISK: Only = Some(("model", &["unit-disk"]));
pub(super) const SECURED: Only = Some((
    "level",
    &[
        "mic-32",
        "mic-64",
        "mic-128",
        "enc-mic-32",
        "enc-mic-64",
        "enc-mic-128",
    ],
));
pub(super) const SINR: Only = Some(("model", &["sinr"]));
pub(super) const RICIAN: Only = Some(("fading", &["rician"]));
pub(super) const LOGNORMAL: Only = Some(("fading", &["lognormal"]));
pub(super) const REPLAY: Only = Some(("noise_model", &["replay"]));
pub(super) const K7: Only = Some(("kind", &["k7"]));
pub(super) const SENDERS: Only = Some((
    "type",
    &[
        "bulk-sender",
        "sensor",
        "mqtt-sensor",
        "http-client",
        "coap-client",
        "image-leaf",
    ],
));
pub(super) const SINK: Only = Some(("type", &["bulk-sink"]));
pub(super) const IMAGES: Only = Some(("type", &["image-source", "image-leaf"]));
pub(super) const IMAGE_LEAF: Only = Some(("type", &["image-leaf"]));
pub(super) const CLIENTS: Only = Some(("type", &["http-client", "coap-client"]));
pub(super) const PERIODIC: Only = Some((
    "type",
    &["sensor", "mqtt-sensor", "http-client", "coap-client"],
));
pub(super) const RETRIES: Only = Some((
    "type",
    &["bulk-sender", "http-client", "coap-client", "image-leaf"],
));
pub(super) const MODULE: Only = Some(("kind", &["module"]));
pub(super) const FIRMWARE: Only = Some(("kind", &["module", "openthread"]));
pub(super) const EXTERNAL: Only = Some(("kind", &["external"]));
pub(super) const SERVERS: Only = Some((
    "type",
    &[
        "http-server",
        "coap-server",
        "bulk-sink",
        "echo",
        "image-source",
    ],
));
pub(super) const BULK: Only = Some(("type", &["bulk-sender"]));
pub(super) const FILES: Only = Some(("type", &["http-server", "coap-server", "image-source"]));
pub(super) const COAP: Only = Some((
    "type",
    &["coap-server", "coap-client", "image-source", "image-leaf"],
));
pub(super) const SENSOR: Only = Some(("type", &["sensor"]));
pub(super) const SENSORS: Only = Some(("type", &["sensor", "mqtt-sensor"]));
pub(super) const MQTT: Only = Some(("type", &["mqtt-sensor"]));
pub(super) const FRAMES: Only = Some((
    "type",
    &[
        "drop-frames",
        "lose-frames",
        "duplicate-frames",
        "corrupt-frames",
    ],
));
pub(super) const LOSSES: Only = Some((
    "type",
    &[
        "drop-frames",
        "lose-frames",
        "duplicate-frames",
        "corrupt-frames",
        "drop-packets",
        "duplicate-packets",
        "reorder-packets",
    ],
));
pub(super) const LASTING: Only = Some((
    "type",
    &[
        "drop-frames",
        "lose-frames",
        "duplicate-frames",
        "corrupt-frames",
        "drop-packets",
        "duplicate-packets",
        "reorder-packets",
        "node-off",
        "node-restart",
    ],
));
