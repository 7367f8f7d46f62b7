//! Every key that a scenario may hold: the one list behind the parser, its
//! messages and the reference in `docs/scenario.md`.

use super::model::CONNECTIONS_MAX;
use super::schema::Kind::{self, *};
use super::schema::Presence::{self, *};
use super::schema::{Key, Value};
use super::units::Measure;

const US_PER_S: f64 = 1e6;
const DAY_US: f64 = 86_400.0 * US_PER_S;

const fn time(min_us: f64, max_us: f64) -> Kind {
    Quantity {
        measure: Measure::Time,
        min: min_us,
        max: max_us,
    }
}

const fn length(min_m: f64, max_m: f64) -> Kind {
    Quantity {
        measure: Measure::Length,
        min: min_m,
        max: max_m,
    }
}

const fn size(min: f64, max: f64) -> Kind {
    Quantity {
        measure: Measure::Size,
        min,
        max,
    }
}

const fn dbm(min: f64, max: f64) -> Kind {
    Quantity {
        measure: Measure::Power,
        min,
        max,
    }
}

const fn db(min: f64, max: f64) -> Kind {
    Quantity {
        measure: Measure::Gain,
        min,
        max,
    }
}

const fn current(max_ma: f64) -> Kind {
    Quantity {
        measure: Measure::Current,
        min: 0.0,
        max: max_ma,
    }
}

const SHARE: Kind = Quantity {
    measure: Measure::Share,
    min: 0.0,
    max: 1.0,
};
const PORT: Kind = Count {
    min: 1,
    max: 65_535,
};

/// The TCPs that a node may have.
const TRANSPORT: Kind = Choice(&[
    "redpoll",
    "uip-2.5",
    "uip-2.7",
    "uip-3.0",
    "uip-lim",
    "blip",
    "one-segment",
    "linux",
]);

/// The sizes of blocks (RFC 7959 §2.2).
const BLOCKS: &[&str] = &["16 B", "32 B", "64 B", "128 B", "256 B", "512 B", "1024 B"];

type Only = Option<(&'static str, &'static [&'static str])>;

const fn key(
    path: &'static str,
    kind: Kind,
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

const GENERATED: Only = Some(("kind", &["grid", "line", "tree"]));
const GRID: Only = Some(("kind", &["grid"]));
const TREE: Only = Some(("kind", &["tree"]));
const FIXED_POLL: Only = Some(("policy", &["fixed"]));
const CYCLED: Only = Some((
    "access",
    &["nullrdc", "contikimac", "x-mac", "cx-mac", "lpp"],
));
const SLEEPING: Only = Some(("access", &["contikimac", "x-mac", "cx-mac", "lpp"]));
const PHASED: Only = Some(("access", &["contikimac", "x-mac", "cx-mac"]));
const CONTIKIMAC: Only = Some(("access", &["contikimac"]));
const NULLRDC: Only = Some(("access", &["nullrdc"]));
const UNIT_DISK: Only = Some(("model", &["unit-disk"]));
const SECURED: Only = Some((
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
const SINR: Only = Some(("model", &["sinr"]));
const RICIAN: Only = Some(("fading", &["rician"]));
const LOGNORMAL: Only = Some(("fading", &["lognormal"]));
const REPLAY: Only = Some(("noise_model", &["replay"]));
const K7: Only = Some(("kind", &["k7"]));
const SENDERS: Only = Some((
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
const IMAGES: Only = Some(("type", &["image-source", "image-leaf"]));
const IMAGE_LEAF: Only = Some(("type", &["image-leaf"]));
const CLIENTS: Only = Some(("type", &["http-client", "coap-client"]));
const PERIODIC: Only = Some((
    "type",
    &["sensor", "mqtt-sensor", "http-client", "coap-client"],
));
const RETRIES: Only = Some((
    "type",
    &["bulk-sender", "http-client", "coap-client", "image-leaf"],
));
const MODULE: Only = Some(("kind", &["module"]));
const EXTERNAL: Only = Some(("kind", &["external"]));
const SERVERS: Only = Some((
    "type",
    &[
        "http-server",
        "coap-server",
        "bulk-sink",
        "echo",
        "image-source",
    ],
));
const BULK: Only = Some(("type", &["bulk-sender"]));
const FILES: Only = Some(("type", &["http-server", "coap-server", "image-source"]));
const COAP: Only = Some((
    "type",
    &["coap-server", "coap-client", "image-source", "image-leaf"],
));
const SENSOR: Only = Some(("type", &["sensor"]));
const SENSORS: Only = Some(("type", &["sensor", "mqtt-sensor"]));
const MQTT: Only = Some(("type", &["mqtt-sensor"]));
const FRAMES: Only = Some(("type", &["drop-frames", "lose-frames", "duplicate-frames"]));
const LOSSES: Only = Some((
    "type",
    &[
        "drop-frames",
        "lose-frames",
        "duplicate-frames",
        "drop-packets",
        "duplicate-packets",
    ],
));

/// All keys, table by table.
#[rustfmt::skip]
pub(crate) const KEYS: &[Key] = &[
    key("name", Name, Optional("the file's name without `.toml`"), None,
        "Name of the scenario in results."),
    key("duration", time(1_000.0, 1000.0 * DAY_US), Default("60 s"), None,
        "Virtual time that `redpoll run` simulates; `redpoll up` runs until it is stopped."),
    key("seed", Count { min: 0, max: i64::MAX as u64 }, Default("1"), None,
        "Seed of every random number; the same seed gives the same run, byte for byte."),

    key("routing", Choice(&["fixed", "rpl"]), Default("fixed"), None,
        "Where routes come from: worked out before the run, over the links that the medium has; or found and mended by the nodes themselves, by RPL."),

    key("topology.kind", Choice(&["grid", "line", "tree", "positions", "links", "k7"]), Required, None,
        "How the nodes stand. `grid`, `line` and `tree` make nodes called `node-1`, `node-2`, …; with `positions` and `links` the nodes are the `[nodes.NAME]` tables, in their order; with `k7` nodes and links are those of a file of measurements, and if no node is a border router the best connected one is."),
    key("topology.nodes", Count { min: 1, max: 10_000 }, Required, Some(("kind", &["line"])),
        "Number of nodes in the line."),
    key("topology.columns", Count { min: 1, max: 1_000 }, Required, GRID,
        "Nodes along the first axis; numbering runs along it."),
    key("topology.rows", Count { min: 1, max: 1_000 }, Required, GRID,
        "Nodes along the second axis."),
    key("topology.depth", Count { min: 1, max: 12 }, Required, TREE,
        "Hops from the root, `node-1`, to the farthest nodes."),
    key("topology.children", Count { min: 1, max: 8 }, Required, TREE,
        "Children of every node that has any. The links of a tree are those between parents and children, whatever the medium's ranges."),
    key("topology.spacing", length(0.01, 1e5), Required, GENERATED,
        "Distance between neighbours; in a tree, between generations."),
    key("topology.links", Links, Required, Some(("kind", &["links"])),
        "The links, each in both directions: `\"a <-> b\"`, or `\"a <-> b, 90 %\"` with the share of undisturbed frames that arrive. Only nodes that share a link hear or disturb each other; over one of 0 % they do nothing else, and no route leads over it."),
    key("topology.file", Text, Required, K7,
        "Measured links in the K7 format, plain or compressed with gzip; beside the scenario's file, with `--set` from the current folder."),
    key("topology.channel", Count { min: 0, max: 255 }, Default("26"), K7,
        "The channel whose links count."),
    key("topology.from", time(0.0, 1000.0 * DAY_US), Default("0 s"), K7,
        "The run begins so long after the file's first row; then each link is as it was measured last."),

    key("medium.model", Choice(&["unit-disk", "sinr"]), Default("unit-disk"), None,
        "How radio waves travel: sharp ranges as in Cooja's UDGM, or log-distance path loss with signal to interference and noise ratio and capture."),
    key("medium.transmission_range", length(0.01, 1e5), Default("50 m"), UNIT_DISK,
        "How far a frame can be received."),
    key("medium.interference_range", length(0.01, 1e5), Default("100 m"), UNIT_DISK,
        "How far a transmission destroys other receptions; at least the transmission range."),
    key("medium.carrier_sense_range", length(0.01, 1e5), Default("100 m"), UNIT_DISK,
        "How far a transmission makes the channel busy for a clear channel assessment."),
    key("medium.success_ratio_tx", SHARE, Default("100 %"), UNIT_DISK,
        "Share of transmissions that leave the antenna at all."),
    key("medium.success_ratio_rx", SHARE, Default("100 %"), UNIT_DISK,
        "Share of undisturbed frames received at the edge of the transmission range; it rises to 100 % with the square of the distance."),
    key("medium.tx_power", dbm(-60.0, 30.0), Default("0 dBm"), SINR,
        "Power that leaves every antenna."),
    key("medium.reference_loss", db(0.0, 120.0), Default("40.2 dB"), SINR,
        "Path loss at 1 m; 40.2 dB is free space at 2.45 GHz."),
    key("medium.path_loss_exponent", Number { min: 1.0, max: 8.0 }, Default("3"), SINR,
        "2 in free space, 3 to 4 indoors; a pure number."),
    key("medium.shadowing_sigma", db(0.0, 30.0), Default("0 dB"), SINR,
        "Standard deviation of the shadowing: one value a pair of nodes, drawn from the seed."),
    key("medium.asymmetry_sigma", db(0.0, 30.0), Default("0 dB"), SINR,
        "Standard deviation of what each direction of a pair has beside that: one value a directed link."),
    key("medium.tx_power_sigma", db(0.0, 30.0), Default("0 dB"), SINR,
        "Standard deviation of the nodes' powers around `medium.tx_power`; TOSSIM's link layer model has 2.45 dB."),
    key("medium.noise_sigma", db(0.0, 30.0), Default("0 dB"), SINR,
        "Standard deviation of the nodes' noise around `medium.noise_floor`; TOSSIM's link layer model has 1.92 dB."),
    key("medium.power_noise_correlation", Number { min: -1.0, max: 1.0 }, Default("0"), SINR,
        "Correlation of a node's power with its noise; TOSSIM's link layer model has -0.70."),
    key("medium.fading", Choice(&["none", "rayleigh", "rician", "lognormal"]), Default("none"), SINR,
        "Distribution of a gain that each directed link has for `medium.coherence_time`, and then another one."),
    key("medium.rice_factor", db(-20.0, 40.0), Default("6 dB"), RICIAN,
        "By how much the strongest path outweighs all others."),
    key("medium.fading_sigma", db(0.0, 30.0), Default("3 dB"), LOGNORMAL,
        "Standard deviation of the gain."),
    key("medium.coherence_time", time(1_000.0, DAY_US), Default("50 ms"), SINR,
        "How long a link keeps its gain."),
    key("medium.noise_floor", dbm(-140.0, 0.0), Default("-100 dBm"), SINR,
        "Noise in the channel."),
    key("medium.noise_trace", Text, Optional("noise is constant"), SINR,
        "Noise as it was measured: text, plain or compressed with gzip, a sample in dBm on each line, one a millisecond. It counts where it is over the noise floor. Where the file is looked for: as `topology.file`."),
    key("medium.noise_model", Choice(&["replay", "cpm"]), Default("replay"), SINR,
        "What becomes of `medium.noise_trace`: each node has it from a place that is drawn, or as a model has learnt from it (closest-pattern matching)."),
    key("medium.noise_repeat", Bool, Default("false"), REPLAY,
        "A trace that is shorter than the run begins anew at its end."),
    key("medium.sensitivity", dbm(-140.0, 0.0), Default("-95 dBm"), SINR,
        "Below this power a frame is not noticed."),
    key("medium.capture", db(0.0, 60.0), Default("3 dB"), SINR,
        "By how much a later frame must exceed all else for a receiver to turn to it."),
    key("medium.co_channel", db(0.0, 20.0), Default("0 dB"), SINR,
        "By how much more than noise of the same power other frames disturb, for they are made of the same chips."),
    key("medium.cca_threshold", dbm(-140.0, 0.0), Default("-80 dBm"), SINR,
        "From this power on the channel counts as busy."),

    key("radio.model", Choice(&["at86rf233", "cc2420", "ideal"]), Default("at86rf233"), None,
        "The radio chip of every node: AT86RF233 has a single frame buffer behind an SPI bus, CC2420 a buffer for each direction, `ideal` knows only CSMA and air time."),
    key("radio.spi_time_per_byte", time(0.0, 1_000.0), Optional("the model's own figure, 7560 ns for both chips and 0 for `ideal`"), None,
        "Time to move one byte between processor and radio; finer than a microsecond as `\"7560 ns\"`."),

    key("clock.drift_ppm", Number { min: 0.0, max: 1_000.0 }, Default("0"), None,
        "Each node's clock is fast or slow by a share, in millionths, that is drawn evenly between minus and plus this. Its timers and timestamps go by it; radio waves and what is measured do not."),

    key("mac.pan_id", Count { min: 0, max: 0xfffe }, Default("29296"), None,
        "PAN identifier; the default is 0x7270."),
    key("mac.addresses", Choice(&["short", "extended"]), Default("short"), None,
        "The link-layer addresses of frames, from which IPv6 addresses are made: `short`, two bytes; `extended`, the EUI-64, eight. That costs 12 bytes of each frame, and more where addresses do not compress away."),
    key("mac.max_frame_retries", Count { min: 0, max: 100 }, Default("10"), None,
        "Link retries after the first transmission of a frame (macMaxFrameRetries; the standard's default is 3)."),
    key("mac.min_be", Count { min: 0, max: 8 }, Default("3"), None,
        "macMinBE: the first backoff is drawn from 2^BE - 1 periods of 320 us."),
    key("mac.max_be", Count { min: 0, max: 8 }, Default("5"), None,
        "macMaxBE; at least `mac.min_be`."),
    key("mac.max_csma_backoffs", Count { min: 0, max: 20 }, Default("4"), None,
        "macMaxCSMABackoffs: busy channels in a row before an attempt counts as failed."),
    key("mac.ifs", Choice(&["minimum", "sequential", "off"]), Default("minimum"), None,
        "Space between two frames of one sender, 640 us behind frames of more than 18 bytes and 192 us behind others (IEEE 802.15.4-2015, 6.2.4), from the end of the acknowledgment where there is one: `minimum`, the next frame begins no sooner, and loading, backoff and assessment count towards it; `sequential`, only then is the next frame loaded and CSMA begins, as in ns-3; `off`, against the standard, none."),
    key("mac.link_retry_delay", time(0.0, 10.0 * US_PER_S), Default("40 ms"), None,
        "d: after a failed attempt wait a random time from 0 to d, in addition to CSMA, before the next."),
    key("mac.link_retry_pause", time(0.0, 10.0 * US_PER_S), Default("0 ms"), None,
        "A constant part of that wait. TinyOS has 100.6 ms of it and no random one: two frames that have collided at a third node are likely to collide again."),

    key("mac.be_by_queue", Bool, Default("false"), None,
        "Frames that belong together: the first is sent with a macMinBE of one more, those that follow with one less. More goodput; others in range wait longer for their turn (scenario `bystander`)."),
    key("mac.deaf_backoff", Bool, Default("false"), None,
        "Deaf listening: the receiver is off during the backoffs of CSMA-CA, as it is while AT86RF2xx chips do them by themselves."),

    key("mac.security_bytes", Count { min: 0, max: 30 }, Default("0"), None,
        "Bytes of link security in every frame but an acknowledgment: auxiliary security header and MIC of IEEE 802.15.4; 10 in Thread, of which 4 are the MIC. They leave so much less for a frame's payload and take time on the air and on SPI; nothing is encrypted, and traces show frames without them."),

    key("security.level", Choice(&["none", "mic-32", "mic-64", "mic-128", "enc-mic-32", "enc-mic-64", "enc-mic-128"]), Default("none"), None,
        "Link-layer security (IEEE 802.15.4-2015, 9) of every frame but acknowledgments: authenticated with a code of so many bits, and encrypted; Thread and Zigbee have `enc-mic-32`. Captures have frames as they are on the air; see [security](security.md) for reading them."),
    key("security.key", KeyDigits { word: None }, Optional("none, and `security.level` wants one"), SECURED,
        "The network's key, 32 hexadecimal digits. It is in no report, log or capture."),
    key("security.key_index", Count { min: 0, max: 255 }, Default("1"), SECURED,
        "The key's index in frames (key identifier mode 1); 0: frames do not name their key (mode 0), and are a byte shorter."),
    key("security.counter_stretch", Count { min: 1, max: 1_000_000 }, Default("1000"), SECURED,
        "Frame counters that a node reserves at a time in memory that outlives a restart; what is left of them then is skipped."),
    key("security.neighbours", Count { min: 1, max: 255 }, Default("64"), SECURED,
        "Neighbours whose frame counters a node remembers; frames of further ones are refused."),

    key("mac.access", Choice(&["csma", "nullrdc", "contikimac", "x-mac", "cx-mac", "lpp"]), Default("csma"), None,
        "Access to the medium: `csma`, unslotted CSMA-CA of IEEE 802.15.4 with radios that are on whenever their nodes are awake; or as in Contiki, `nullrdc`, radios always on and one transmission after one assessment, and `contikimac`, receivers that look at the channel twice each cycle and senders that repeat a frame until it is acknowledged; `x-mac`, receivers that are on for 6.2 ms each cycle and senders that repeat a short frame first; `cx-mac`, the same in software, 7.8 ms, and frames behind it that nobody acknowledges; `lpp`, receivers that say each cycle that they listen, and senders that wait for that."),
    key("mac.release", Choice(&["contiki-2.5", "contiki-2.7", "contiki-3.0"]), Optional("contiki-3.0; contiki-2.7 with `x-mac` and `lpp`, which 3.0 has no more"), CYCLED,
        "The release whose constants and defects all nodes have."),
    key("mac.check_rate", Count { min: 1, max: 32 }, Default("8"), CYCLED,
        "Cycles a second, a power of two; also the unit of the CSMA layer's delays above `nullrdc`."),
    key("mac.phase_lock", Bool, Default("true"), PHASED,
        "Senders remember when each neighbour wakes up, and begin shortly before. With `x-mac` they wait as Contiki's do, which never stores that time: until a multiple of the cycle by their own clock."),
    key("mac.fast_sleep", Bool, Default("true"), CONTIKIMAC,
        "Receivers go back to sleep as soon as what they hear cannot be a frame that is repeated."),
    key("mac.strobe_bursts", Bool, Optional("false in `contiki-2.5`, true later"), CONTIKIMAC,
        "A frame that the one before it promised follows at once, to a receiver that stays awake for it."),
    key("mac.link_acks", Bool, Default("false"), NULLRDC,
        "Frames ask for acknowledgments and are repeated without them; Contiki's own setting is that they do not."),
    key("mac.contiki_csma", Bool, Default("true"), CYCLED,
        "Frames are sent again by Contiki's CSMA layer, whose unit is the cycle; else by this MAC's own backoffs and retries."),
    key("mac.transmissions", Count { min: 1, max: 255 }, Default("5"), CYCLED,
        "With Contiki's CSMA layer: transmissions without acknowledgment after which a frame is given up. Busy channels do not count, and are not limited."),
    key("mac.coarse_tick", Bool, Default("true"), CYCLED,
        "Contiki's CSMA layer has timers of 7.8 ms, with a phase of its own in each node; else they are exact."),
    key("mac.neighbour_queues", Count { min: 0, max: 255 }, Optional("2; in `contiki-2.5`, which has one queue for all, 0"), CYCLED,
        "With Contiki's CSMA layer: neighbours for which packets may wait at the same time; one for another is dropped. 0: no limit. A node's own segments are made when it is their turn, and never dropped."),
    key("mac.overhears", Bool, Default("false"), Some(("access", &["x-mac", "cx-mac"])),
        "Radios pass on frames for other nodes, and a node that hears a strobe for another one sends nothing of its own until it has woken up twice or received a frame."),
    key("mac.border_awake", Bool, Default("false"), SLEEPING,
        "The border router's receiver is always on. Its neighbours do not know, and repeat frames to it as to others."),

    key("poll.policy", Choice(&["learned", "fixed", "base"]), Default("learned"), None,
        "When a sleepy node asks its parent while it expects an answer: when answers have come so far, and the rarer the longer one is overdue; at `poll.interval`; or no sooner than otherwise."),
    key("poll.base_interval", time(10_000.0, DAY_US), Default("4 min"), None,
        "How long a sleepy node sleeps while it expects nothing."),
    key("poll.interval", time(16_000.0, DAY_US), Default("100 ms"), FIXED_POLL,
        "How long it sleeps while it expects an answer, also before it first asks."),
    key("poll.window", time(5_000.0, 10.0 * US_PER_S), Default("100 ms"), None,
        "Data request timeout: how long it listens after its parent has said that something is there, and after each frame that promises another."),
    key("poll.after_failure", time(10_000.0, DAY_US), Default("1 s"), None,
        "Pause after a data request that the parent did not acknowledge."),

    key("poll.parent_failures", Count { min: 1, max: 255 }, Default("4"), None,
        "Frames and data requests in a row that the parent does not acknowledge, each after all its retries, after which a sleepy node turns to another neighbour that forwards."),

    key("indirect.persistence", time(100_000.0, DAY_US), Default("7680 ms"), None,
        "How long a datagram waits for a sleepy node to ask for it (macTransactionPersistenceTime)."),
    key("indirect.limit", Count { min: 1, max: 64 }, Default("4"), None,
        "Datagrams that wait at most for one sleepy node; they lie in `lowpan.slots`."),
    key("indirect.retries", Count { min: 0, max: 100 }, Default("4"), None,
        "Link retries of a frame to a sleepy node, and of a data request."),
    key("indirect.retry_delay", time(0.0, US_PER_S), Default("5 ms"), None,
        "d for those frames."),
    key("indirect.polls", Count { min: 1, max: 100 }, Default("4"), None,
        "Data requests after which the same frame was not delivered that end its datagram."),
    key("indirect.burst", Bool, Default("true"), None,
        "All frames that wait for a sleepy node follow one another after one data request; else each takes one of its own."),
    key("indirect.preempt", Bool, Default("true"), None,
        "A frame makes way, between two attempts, for one to a sleepy node that listens."),

    key("lowpan.drop_rest", Bool, Default("true"), None,
        "The rest of a datagram is dropped once one of its frames is lost."),
    key("lowpan.frame_pending", Bool, Default("true"), None,
        "All fragments of a datagram but the last have the frame-pending bit, and of a node that sleeps the last one of a segment that another follows, too; who gets one holds its own frames back until the next has come, 8 ms at most."),
    key("lowpan.fragment_burst", Bool, Default("false"), None,
        "Frames that the frame-pending bit promised go out without a backoff, against the standard. Others in range wait longer and lose more (scenario `bystander`)."),
    key("lowpan.fragment_forwarding", Bool, Default("false"), None,
        "Routers pass fragments on as they come (RFC 8930) instead of reassembling what they forward."),
    key("lowpan.fragment_recovery", Bool, Default("false"), None,
        "Fragments that are lost on the way are sent again alone, by the node that made them (RFC 8931); routers pass them on as with `lowpan.fragment_forwarding`. Sleepy nodes take no part."),
    key("lowpan.fragment_window", Count { min: 1, max: 32 }, Default("32"), None,
        "With `lowpan.fragment_recovery`: fragments after which an acknowledgment is asked for (Window_Size); in any case after the last."),
    key("lowpan.arq_timeout", time(10_000.0, 10.0 * US_PER_S), Default("500 ms"), None,
        "With `lowpan.fragment_recovery`: how long an acknowledgment is waited for before a round trip has been measured (OptARQTimeOut); at most four times that (MaxARQTimeOut)."),
    key("lowpan.arq_timeout_min", time(1_000.0, 10.0 * US_PER_S), Optional("an eighth more than the longest round trip of late, at least 100 ms"), None,
        "With `lowpan.fragment_recovery`: how long at least (MinARQTimeOut)."),
    key("lowpan.fragment_retries", Count { min: 0, max: 32 }, Default("3"), None,
        "With `lowpan.fragment_recovery`: how often what is missing of a datagram is sent again (MaxFragRetries)."),
    key("lowpan.datagram_retries", Count { min: 0, max: 32 }, Default("1"), None,
        "With `lowpan.fragment_recovery`: how often a datagram is then begun anew (MaxDatagramRetries)."),
    key("lowpan.fragment_gap", time(0.0, US_PER_S), Default("0 ms"), None,
        "With `lowpan.fragment_forwarding`: how long a datagram's next fragment waits after one of them, so that the latter gets ahead."),
    key("lowpan.fragments", Count { min: 1, max: 254 }, Default("24"), None,
        "With `lowpan.fragment_forwarding`: fragments that wait at most in a router; it knows of half as many datagrams."),
    key("lowpan.join_fragments", Bool, Default("false"), None,
        "Whether a node puts packets together that IPv6 has cut on their way to it (RFC 8200, section 4.5), two at a time; 1,500 B, as section 5 asks for, need a `slot_size` of 1508 B. Without it the sender of a fragment hears of a problem."),
    key("lowpan.pause", time(0.0, US_PER_S), Default("0 ms"), None,
        "Collision avoidance: when a datagram has gone to a node that forwards it, how long its sender waits for each of its frames before it sends another. Nodes two hops apart do not hear each other."),
    key("lowpan.segment_burst", Bool, Default("false"), None,
        "With `lowpan.fragment_burst`: the segments of a node that sleeps are one burst, too."),
    key("lowpan.red", Bool, Default("false"), None,
        "Random early detection on a node's queue towards the radio, counted in datagrams: those that take ECN are marked before their first fragment leaves, others dropped."),
    key("lowpan.red_weight", Count { min: 0, max: 12 }, Default("4"), None,
        "The average queue moves by 1 / 2^`red_weight` of the difference."),
    key("lowpan.red_min", Number { min: 0.0, max: 15.0 }, Default("0.5"), None,
        "Average queue in datagrams from which some are marked."),
    key("lowpan.red_max", Number { min: 0.0, max: 15.0 }, Default("3"), None,
        "Average queue in datagrams from which all are marked that `red_fair` does not spare."),
    key("lowpan.red_probability", SHARE, Default("10 %"), None,
        "Share of datagrams marked just below `red_max`."),
    key("lowpan.red_fair", Bool, Default("true"), None,
        "What two nodes send each other is one conversation: with less than its share of what this node has sent of late it is not marked at all; with more, twice what exceeds the share is, from `red_min` on."),
    key("lowpan.red_pause", time(0.0, US_PER_S), Default("16 ms"), None,
        "From `red_min` on, and while several conversations are active: as `lowpan.pause`, if that is shorter."),
    key("lowpan.reassembly_timeout", time(100_000.0, 60.0 * US_PER_S), Default("3 s"), None,
        "How long a datagram may wait for its next fragment."),
    key("lowpan.slots", Count { min: 1, max: 64 }, Default("6"), None,
        "Datagrams that a node can hold: those it reassembles, forwards, or sends other than by TCP."),
    key("lowpan.slot_size", size(128.0, 2_047.0), Default("1280 B"), None,
        "Largest IPv6 packet that a slot takes, at least that of a full segment of `tcp.mss`; below 1280 B a node is no full IPv6 node."),

    key("tcp.mss", Mss, Default("5 frames"), None,
        "Payload of a full segment: as much as surely fits into so many frames, or so many bytes (options not counted)."),
    key("tcp.send_buffer", size(64.0, 65_535.0), Default("1848 B"), None,
        "Send buffer of a connection."),
    key("tcp.receive_buffer", size(64.0, 65_535.0), Default("1848 B"), None,
        "Receive buffer of a connection, which is its largest window."),
    key("tcp.connections", Count { min: 1, max: CONNECTIONS_MAX as u64 }, Optional("4, or more: one for each app that sends from there or to there, and 2"), None,
        "Connections that every node has memory for."),
    key("tcp.nagle", Bool, Default("true"), None,
        "Nagle's algorithm."),
    key("tcp.timestamps", Bool, Default("true"), None,
        "Offer the timestamps option (RFC 7323)."),
    key("tcp.delayed_ack", time(0.0, 0.5 * US_PER_S), Default("200 ms"), None,
        "How long an acknowledgment may wait; 0 ms sends each at once."),
    key("tcp.ack_every", Count { min: 1, max: 16 }, Default("2"), None,
        "Full segments after which an acknowledgment waits no longer."),
    key("tcp.initial_rto", time(10_000.0, 60.0 * US_PER_S), Default("1 s"), None,
        "Retransmission timeout before the first round-trip sample."),
    key("tcp.min_rto", time(10_000.0, 60.0 * US_PER_S), Default("1 s"), None,
        "Lower bound of the retransmission timeout."),
    key("tcp.max_rto", time(1.0 * US_PER_S, 3_600.0 * US_PER_S), Default("60 s"), None,
        "Upper bound of the retransmission timeout; at least `tcp.min_rto`."),
    key("tcp.max_retries", Count { min: 0, max: 100 }, Default("12"), None,
        "Retransmissions of one segment before the connection fails."),
    key("tcp.syn_retries", Count { min: 0, max: 100 }, Default("6"), None,
        "Retransmissions of a SYN before the attempt fails."),
    key("tcp.keepalive_idle", QuantityOr { measure: Measure::Time, min: US_PER_S, max: DAY_US, word: "off" }, Default("off"), None,
        "Silence before the first keepalive probe."),
    key("tcp.keepalive_interval", time(US_PER_S, DAY_US), Default("75 s"), None,
        "Time between keepalive probes."),
    key("tcp.keepalive_count", Count { min: 1, max: 100 }, Default("9"), None,
        "Unanswered keepalive probes before the connection fails."),
    key("tcp.time_wait", time(0.0, 240.0 * US_PER_S), Default("10 s"), None,
        "How long TIME-WAIT lasts (twice the maximum segment lifetime)."),

    key("tcp.recovery", Choice(&["rack", "duplicates"]), Default("rack"), None,
        "How losses are found: by time, with tail loss probes, proportional rate reduction and F-RTO (RFC 8985, 9937, 5682); or by three duplicate ACKs and the retransmission timer alone (RFC 6582, 6675), as in FreeBSD 10."),
    key("tcp.sack", Bool, Default("true"), None,
        "Offer selective acknowledgments (RFC 2018); without them losses are not found by time either."),
    key("tcp.rack", Bool, Optional("true, or false where `tcp.recovery` is duplicates"), None,
        "Losses are found by time (RFC 8985); without that by three duplicates, and tails are not probed."),
    key("tcp.tail_probes", Bool, Optional("as `tcp.rack`"), None,
        "Silence after the last segment brings a probe (RFC 8985 §7), where losses are found by time."),
    key("tcp.prr", Bool, Optional("true, or false where `tcp.recovery` is duplicates"), None,
        "Recovery is paced by what arrives (RFC 9937); without that cwnd is cut at once (RFC 6675)."),
    key("tcp.f_rto", Bool, Optional("true, or false where `tcp.recovery` is duplicates"), None,
        "A timeout is put in doubt by the first acknowledgments after it (RFC 5682), where there are no timestamps."),
    key("tcp.ecn", Choice(&["off", "agreed", "asked"]), Default("asked"), None,
        "Explicit congestion notification (RFC 3168): never; where the peer asks for it; or asked for. Routers mark where `lowpan.red` is set."),
    key("tcp.congestion", Choice(&["newreno", "cubic", "off"]), Default("newreno"), None,
        "Congestion control: RFC 5681 and 6582; RFC 9438; or none, so that the peer's window alone limits what is out. That one RFC 5681 forbids: other flows pay, by full queues and losses that are not answered."),
    key("tcp.rto_margin", time(0.0, 10.0 * US_PER_S), Default("0 ms"), None,
        "Added to every retransmission timeout that follows from round trips, before `tcp.min_rto` counts; FreeBSD adds 200 ms to at least 30 ms."),
    key("tcp.link_feedback", Bool, Default("true"), None,
        "TCP is told when the link has given a segment up, and sends it again at once; else it takes the segment for sent."),
    key("tcp.queue_window", Bool, Default("false"), None,
        "A segment is made as soon as TCP may send it and copied to a slot of `lowpan.slots`, where it waits for the radio; TCP takes it for sent at that moment, so there is no `tcp.link_feedback`. Else it is made when the link has room for it, and read from the send buffer frame by frame."),

    key("tcp.transport", TRANSPORT, Default("redpoll"), None,
        "Which TCP nodes have: Redpoll's, to which all other keys of `tcp` belong, or one of those in [rivals.md](rivals.md)."),

    key("rivals.uip_mss", size(16.0, 1_220.0), Default("48 B"), None,
        "Payload of a segment of `uip-*`; 48 bytes are a Sky's in Contiki 2.5 to 3.0."),
    key("rivals.uip_window", size(16.0, 1_220.0), Optional("`rivals.uip_mss`"), None,
        "Window that `uip-*` announces, as long as the application reads."),
    key("rivals.uip_polls", Bool, Default("true"), None,
        "An idle connection of `uip-*` sends what the application writes at once, not with the next half second."),
    key("rivals.uip_forwarding", Bool, Default("false"), None,
        "Packets of `uip-*` are numbered as those of IPv4 are, in the flow label, and routers drop a packet that they have passed on already, as uIP's forwarding of Contiki 2.5 does: one of the first 29, or the last one."),
    key("rivals.lim_strong_weight", SHARE, Default("50 %"), None,
        "`uip-lim`: how much a sample of a segment sent once moves the timeout; an assumption, CoCoA's."),
    key("rivals.lim_weak_weight", SHARE, Default("25 %"), None,
        "`uip-lim`: the same for a segment sent more than once; an assumption, CoCoA's."),
    key("rivals.lim_limits", Text, Default("4:4, 8:3, 16:2, 32:1"), None,
        "`uip-lim`: up to which timeout, in ticks of half a second, how often it is doubled at most; beyond the last one as often as that says. An assumption."),
    key("rivals.lim_dither_min", Number { min: 0.1, max: 4.0 }, Default("1"), None,
        "`uip-lim`: a timer is set to its value times something from here; an assumption, CoAP's."),
    key("rivals.lim_dither_max", Number { min: 0.1, max: 4.0 }, Default("1.5"), None,
        "`uip-lim`: to here; at least `rivals.lim_dither_min`."),
    key("rivals.blip_mss", size(16.0, 1_220.0), Default("200 B"), None,
        "Payload of a full segment of `blip`."),
    key("rivals.blip_window", size(16.0, 1_220.0), Default("200 B"), None,
        "Window that `blip` announces, whatever happens."),
    key("rivals.blip_buffer", size(16.0, 8_192.0), Default("150 B"), None,
        "Transmit buffer of a connection of `blip`; TinyOS's TCPEcho has 150 bytes."),
    key("rivals.blip_rto", Count { min: 1, max: 120 }, Default("6"), None,
        "Retransmission timeout of `blip` in ticks of half a second."),
    key("rivals.blip_give_up", Count { min: 2, max: 200 }, Default("7"), None,
        "So many sends by the timer in a row end a connection of `blip`; Kim et al. 2015 write 6."),
    key("rivals.blip_corrections", Text, Default("counter, syn"), None,
        "Defects of `blip` that are corrected, of those in [rivals.md](rivals.md), or `none`; by default those that Kim et al. 2015 corrected."),
    key("rivals.segment_mss", size(16.0, 1_220.0), Default("1024 B"), None,
        "Payload and window of `one-segment`."),
    key("rivals.linux_congestion", Choice(&["cubic", "reno"]), Default("cubic"), None,
        "Congestion control of `linux`."),
    key("rivals.linux_initial_window", Count { min: 1, max: 64 }, Default("10"), None,
        "Segments that `linux` sends at first."),
    key("rivals.linux_min_rto", time(1_000.0, 60.0 * US_PER_S), Default("200 ms"), None,
        "What the retransmission timeout of `linux` has over the mean round trip at least."),
    key("rivals.linux_delayed_ack", time(1_000.0, 0.2 * US_PER_S), Default("40 ms"), None,
        "How long an acknowledgment of `linux` waits, behind the first sixteen, while the application does not read."),
    key("rivals.linux_nagle", Bool, Default("true"), None,
        "Nagle's algorithm of `linux`; false with TCP_NODELAY."),
    key("rivals.linux_gso", Bool, Default("true"), None,
        "`linux` keeps what is written in pieces of several segments, as from Linux 4.17 on; false: of one, as before on an interface that does not segment, where the rest of a piece that is cut at the window's edge is a segment of its own if others are behind it."),
    key("rivals.linux_buffer", size(1_280.0, 65_535.0), Default("65535 B"), None,
        "Send buffer, and receive buffer, of a connection of `linux`."),

    key("energy.clock", Quantity { measure: Measure::Frequency, min: 0.001, max: 10_000.0 }, Default("48 MHz"), None,
        "Clock of the processor."),
    key("energy.cycles_per_instruction", Number { min: 0.1, max: 100.0 }, Default("1.5"), None,
        "Cycles that an instruction takes on average; an assumption for a Cortex-M0+."),
    key("energy.wake_up_instructions", Number { min: 0.0, max: 1e9 }, Default("0"), None,
        "Instructions each time the processor is woken, beside those of the engine, which `make size` counts: for an operating system."),
    key("energy.packet_instructions", Number { min: 0.0, max: 1e9 }, Default("0"), None,
        "Instructions for each packet that a node makes or takes, and twice for one that it relays, beside those of the engine: for an operating system that passes it from layer to layer. Of those for a relayed one half are spent when it has come in, half when it is handed on."),
    key("energy.takes_time", Bool, Default("false"), None,
        "Whether instructions take virtual time: a node's radio is told what to do so much later."),
    key("energy.cpu_active", current(1_000.0), Default("3.4 mA"), None,
        "Current of the running processor: SAM D21, 48 MHz, 25 degrees."),
    key("energy.cpu_sleep", current(1_000.0), Default("4 uA"), None,
        "Current of the sleeping processor, with its memory and clock: SAM D20."),
    key("energy.battery", Quantity { measure: Measure::Charge, min: 1.0, max: 1e6 }, Default("2400 mAh"), None,
        "Charge of a node's battery; two AA cells have about that much."),

    key("rpl.mode", Choice(&["storing", "non-storing"]), Default("storing"), None,
        "RPL's mode of operation (RFC 6550 §9): every router knows the ways down, or the root does and writes them into packets. This and what follows has a meaning with `routing = \"rpl\"` only."),
    key("rpl.objective", Choice(&["mrhof", "of0"]), Default("mrhof"), None,
        "How parents are chosen: least ETX with hysteresis (RFC 6719), or objective function zero (RFC 6552)."),
    key("rpl.dio_interval_min", Count { min: 3, max: 20 }, Default("10"), None,
        "DIOIntervalMin: Trickle's shortest interval is 2 to the power of this, in milliseconds. RFC 6550 has 3, 8 ms, which floods a mesh of 250 kb/s; Contiki-NG has 12, TinyRPL 8. Ours is an assumption."),
    key("rpl.dio_interval_doublings", Count { min: 0, max: 20 }, Default("8"), None,
        "DIOIntervalDoublings: how often it doubles. RFC 6550 has 20, Contiki-NG 8."),
    key("rpl.dio_redundancy", Count { min: 0, max: 255 }, Default("10"), None,
        "DIORedundancyConstant: so many DIOs heard make one's own superfluous; 0 is infinity. RFC 6550's default."),
    key("rpl.max_rank_increase", Count { min: 0, max: 65_535 }, Default("2048"), None,
        "MaxRankIncrease: how far a node's rank may rise in a version; 0 is no limit. RFC 6550 leaves it open; RPL-Lite has 1024. Ours is an assumption: 16 hops of ETX 1."),
    key("rpl.min_hop_rank_increase", Count { min: 1, max: 1_024 }, Default("128"), None,
        "MinHopRankIncrease. RFC 6550 has 256; with 128, as RPL-Lite, the ranks of MRHOF are ETX (RFC 6719 §6.1)."),
    key("rpl.lifetime", time(60.0 * US_PER_S, 254.0 * 60.0 * US_PER_S), Default("30 min"), None,
        "How long a way down lasts without another DAO, in whole minutes; nodes renew theirs twice in that time. RFC 6550 leaves it open; Contiki-NG's."),
    key("rpl.dao_delay", time(1_000.0, 60.0 * US_PER_S), Default("1 s"), None,
        "DelayDAO (RFC 6550 §9.5). RFC 6550's default."),
    key("rpl.dao_ack", Bool, Default("true"), None,
        "DAOs ask for acknowledgments and are repeated."),
    key("rpl.dao_targets", Count { min: 1, max: 4 }, Default("4"), None,
        "Targets that a router tells of in one DAO (RFC 6550, 9.4). Contiki's routers that store routes read only the last one: 1 beside those."),
    key("rpl.dtsn_each_dio", Bool, Default("false"), None,
        "The DTSN counts up with each multicast DIO, as in Contiki 2.7 and 3.0, so that everybody behind a router sends DAOs again, for which all routers on the way pay."),
    key("rpl.probe_interval", time(1.0 * US_PER_S, 3_600.0 * US_PER_S), Default("90 s"), None,
        "Mean time between two probes of the link to a neighbour that could be the parent. RPL-Lite's."),
    key("rpl.dis_interval", time(1.0 * US_PER_S, 3_600.0 * US_PER_S), Default("30 s"), None,
        "Mean time between two solicitations of a node without a DODAG. Contiki-NG's."),
    key("rpl.neighbours", Count { min: 1, max: 1_000 }, Default("20"), None,
        "Candidate neighbours that a node has room for; those nearest to the root stay."),
    key("rpl.routes", Count { min: 1, max: 65_535 }, Optional("as many as there are nodes, a thousand at most; the border router all"), None,
        "Targets that a router has room for in storing mode. What finds no room is refused, and its sender looks for another parent."),
    key("rpl.tunnels", Bool, Default("true"), None,
        "Packets from outside, or of nodes that do not know RPL, get packet information and source routes in an outer header (RFC 6553 §4, RFC 9008). `false` puts both into the packet itself, against the standard: 40 bytes less a packet."),
    key("rpl.packet_option", Choice(&["rfc9008", "rfc6553"]), Default("rfc9008"), None,
        "Type of the option with packet information that the root tells everybody to use: RFC 9008's 0x23, which nodes that do not know it pass over, or RFC 6553's 0x63, the only one that Contiki knows."),
    key("rpl.sender_rank", Choice(&["dag-rank", "rank"]), Default("dag-rank"), None,
        "What packet information says of a sender's rank: DAGRank, its whole hops (RFC 6550, 11.2), or against the standard the rank itself, as Contiki has it. Where both are mixed routers take packets for looping: they send more DIOs, and with ways down in every router they drop the packets of longer ways."),
    key("rpl.load_aware", Bool, Default("false"), None,
        "Routers that have dropped a packet for want of room say for a minute that they are overloaded (RFC 6551 §3.1), and to others they are two transmissions farther away. Changes of parents cost DAOs of everybody behind them."),

    key("cache.on", Nodes, Optional("no node"), None,
        "The routers that keep a copy of the last data of each TCP connection that passes, send it again if it is not acknowledged, and acknowledge what has been acknowledged already ([ADR 17](adr/0017-a-cache-of-segments.md)). Only with `routing = \"fixed\"`."),
    key("cache.initial_rtt", time(1_000.0, 60.0 * US_PER_S), Default("3 s"), None,
        "The round-trip time from such a router to a segment's target before it is measured."),
    key("cache.rtt_weight", Count { min: 0, max: 7 }, Default("3"), None,
        "A new sample counts 2^-n in the estimated round-trip time."),
    key("cache.timeout_factor", Count { min: 1, max: 100 }, Default("3"), None,
        "After so many estimated round-trip times a copy is sent."),
    key("cache.max_wait", time(1_000.0, 60.0 * US_PER_S), Default("1 min"), None,
        "No copy is kept for longer."),
    key("cache.segments", Count { min: 1, max: 64 }, Default("1"), None,
        "Copies of each direction of a connection."),
    key("cache.regenerate", Bool, Default("true"), None,
        "Data that have been acknowledged already are not passed on, but acknowledged."),
    key("cache.by_activity", Bool, Default("false"), None,
        "A copy is sent after two thirds of the time if the radio has heard nothing for an estimated round-trip time, not even a broken frame, or one for another node."),
    key("cache.flows", Count { min: 1, max: 255 }, Default("8"), None,
        "Connections that a router has room for; the one idle for longest goes for a new one."),
    key("cache.packets", Count { min: 1, max: 255 }, Default("16"), None,
        "Copies that it has room for, of all connections together."),
    key("cache.packet_size", size(60.0, 1_280.0), Default("1280 B"), None,
        "The longest IPv6 packet of which it keeps a copy."),

    key("modules.quantum", time(50.0, 10_000.0), Default("192 us"), None,
        "How long firmware of the kind `module` waits between two looks at what it waits for; also the unit of its turnarounds. Frames' acknowledgements come too late beyond 300 us or so."),
    key("modules.patience", time(0.1 * US_PER_S, 3_600.0 * US_PER_S), Default("10 s"), None,
        "How long such firmware may run, in real time, without waiting for anything. Then the program says that it hangs, and ends."),

    key("border.prefix", Prefix, Default("fd72:6564:706f:6c6c::/64"), None,
        "The mesh's prefix; it is compressed away inside the mesh."),
    key("border.host", Address, Default("fd72:6564:706f::1"), None,
        "Address of the host behind the border router under `redpoll up`; `host` in an app's `to`. Not within `border.prefix`. With another prefix and no `host` it is made of the prefix, so that each mesh has its own: `fd00:1:2:8003::1` for `fd00:1:2:3::/64`."),

    key("border.host_delay", time(0.0, 10.0 * US_PER_S), Default("6 ms"), None,
        "How long a packet takes between the border router and a simulated host, each way."),

    key("border.queue", Count { min: 0, max: 100_000 }, Default("500"), None,
        "Packets from the host that wait at most while half of the border router's slots are taken, as in the queue of Linux's interface; the other half is left to what comes over the radio. A queue for each pair of source and destination, served in turn; with one packet more the longest loses its newest. With 0 none waits, and what finds no slot is dropped."),

    key("border.serial_rate", Count { min: 1_200, max: 10_000_000 }, Optional("no serial line"), None,
        "The border router is a mote at a serial line of so many bits a second behind its host side, ten for each byte of a packet and of eight around it. The mote takes one packet at a time, as TinyOS's PppRouter: one whose first byte comes before the mote is done with the last is lost (`host.serial_busy`). Eight wait for the way up (`host.serial_full`)."),
    key("border.serial_turn", time(0.0, US_PER_S), Default("5 ms"), None,
        "How long the mote has to do with a packet from the serial line. An assumption."),
    key("border.host_transport", TRANSPORT, Default("redpoll"), None,
        "Which TCP a simulated host has."),

    key("border.taim", Bool, Default("false"), None,
        "TAiM at the border router, between mesh and host: TCP packets wait there in a queue for each flow, and leave one at a time, of the flow with the least throughput first ([taim.md](taim.md)). Made for flows that send as fast as they can; others wait for nothing."),

    key("taim.initial_delay", time(0.0, 60.0 * US_PER_S), Default("50 ms"), None,
        "D_init: the time between two packets that leave, in the beginning. An assumption: its authors give no number."),
    key("taim.min_delay", time(0.0, 60.0 * US_PER_S), Default("1 ms"), None,
        "The time between two packets that leave does not fall below this. An assumption."),
    key("taim.period", time(1.0 * US_PER_S, 3_600.0 * US_PER_S), Default("1 min"), None,
        "How often throughputs are measured and that time is decided upon."),
    key("taim.increase", Number { min: 0.0, max: 1.0 }, Default("0.02"), None,
        "By what part of itself that time grows after a period that was not fair: α."),
    key("taim.decrease", Number { min: 0.0, max: 1.0 }, Default("0.05"), None,
        "By what part of itself it falls after a fair one: β."),
    key("taim.ratio", Count { min: 1, max: 1_000 }, Default("2"), None,
        "A period is fair if the fastest flow has had less than so many times the slowest one's throughput."),
    key("taim.throughput_weight", Number { min: 0.0, max: 1.0 }, Default("0.25"), None,
        "Weight of the last period in a flow's throughput. An assumption."),
    key("taim.waiting_weight", Number { min: 0.0, max: 1.0 }, Default("0.25"), None,
        "Weight of the last period in the number of flows that wait, which limits the time between two packets. An assumption."),
    key("taim.active", time(1.0 * US_PER_S, DAY_US), Default("3 min"), None,
        "A flow counts among the slowest and fastest while its last new byte is no older. An assumption."),
    key("taim.min_rto", time(1_000.0, 60.0 * US_PER_S), Default("1 s"), None,
        "The least retransmission timeout that the ends are taken to have (RFC 6298 §2.4). An assumption."),
    key("taim.max_wait", time(1_000.0, 3_600.0 * US_PER_S), Optional("no limit"), None,
        "No packet waits longer. Not its authors'."),
    key("taim.flows", Count { min: 4, max: 65_535 }, Default("256"), None,
        "Flows that there is room for, a quarter of them for those of which only one end was heard. The one that has been idle for longest goes first."),
    key("taim.packets", Count { min: 1, max: 65_535 }, Default("1024"), None,
        "Packets that may wait. With one more, the one whose turn is next leaves at once."),
    key("taim.flow_packets", Count { min: 1, max: 65_535 }, Default("64"), None,
        "Packets of a flow that may wait. With one more, its first leaves at once."),

    key("external.patience", time(0.1 * US_PER_S, 3_600.0 * US_PER_S), Default("10 s"), None,
        "How long a node of the kind `external` may leave a request without an answer, in real time. Then it counts as silent, and its radio is off until it answers again; `redpoll run` waits so long for it to come."),

    key("nodes.*.kind", Choice(&["redpoll", "module", "external"]), Default("redpoll"), None,
        "What the node is: one of ours; `external`, one that runs elsewhere, in an emulator or on a board, with its radio here ([emulated](emulated.md)); or firmware of others that is loaded from a file ([modules](modules.md)), which needs a program built with the feature `modules`, and `mac.addresses = \"extended\"`."),
    key("nodes.*.module", Text, Required, MODULE,
        "The file of its firmware, a shared object with the interface of Contiki-NG's nodes for Cooja; beside the scenario's own file if it is no absolute path."),
    key("nodes.*.line", Text, Required, EXTERNAL,
        "Where its stream of bytes is: `unix-listen:FILE` or `tcp-listen:ADDRESS:PORT` waits for the node, `unix:FILE` or `tcp:ADDRESS:PORT` goes to it. A file is beside the scenario's own if it has no absolute path."),
    key("nodes.*.role", Choice(&["border", "router", "leaf"]), Default("router"), None,
        "`border` joins the mesh to the host (one node at most) and is the root of the routes, a `router` forwards, a `leaf` does not."),
    key("nodes.*.sleepy", Bool, Default("false"), None,
        "A leaf that sleeps, and asks its parent, its next hop, for what waits there; `poll` says when."),
    key("nodes.*.position", Position, Optional("required with `topology.kind = \"positions\"`, else as generated; with `links` it has no effect on the medium"), None,
        "Where the node stands."),
    key("nodes.*.short_address", Count { min: 1, max: 0xfffd }, Optional("the node's number in the order of the nodes"), None,
        "Its IEEE 802.15.4 short address, from which its IPv6 address is made."),
    key("nodes.*.tx_power", dbm(-60.0, 30.0), Optional("`medium.tx_power`, and what is drawn for the node"), None,
        "Power that leaves its antenna. Only the medium `sinr` heeds it, and not with `links` and `k7`."),
    key("nodes.*.noise_figure", db(0.0, 80.0), Optional("as `medium.noise_floor` says, and what is drawn for the node"), None,
        "Noise figure of its receiver: its noise floor is so much over -111 dBm, thermal noise in 2 MHz. Only the medium `sinr` heeds it, and not with `links`."),
    key("nodes.*.transport", TRANSPORT, Optional("`tcp.transport`"), None,
        "Which TCP the node has."),
    key("nodes.*.drift_ppm", Number { min: -1_000.0, max: 1_000.0 }, Optional("drawn within `clock.drift_ppm`"), None,
        "By how much its clock is fast (or slow, if negative), in millionths."),

    key("nodes.*.key", KeyDigits { word: Some("none") }, Optional("the network's, where `security.level` is not `none`"), None,
        "Another key, with the index of the network's: its frames are refused as unauthenticated; or `none`, no security: they are refused as unsecured."),

    key("apps.*.type", Choice(&["http-server", "coap-server", "bulk-sender", "bulk-sink", "echo", "sensor", "mqtt-sensor", "http-client", "coap-client", "image-source", "image-leaf"]), Required, None,
        "What the app does."),
    key("apps.*.on", Nodes, Required, None,
        "The node or nodes that it runs on; `border` is the border router, `host` is the host behind the border router, which `redpoll run` then simulates."),
    key("apps.*.when", Choice(&["always", "run", "up", "never"]), Default("always"), None,
        "Under which command it runs. An app that sends to the host or beyond has a peer under `redpoll up`; `redpoll run` leaves it out unless an app on `host` takes what it sends. Apps on `host` run in virtual time only."),
    key("apps.*.start", time(0.0, 1000.0 * DAY_US), Default("0 s"), None,
        "When it starts, from the beginning of the run."),
    key("apps.*.start_spread", time(0.0, 1000.0 * DAY_US), Default("0 s"), None,
        "It starts at a random moment of so long a span from `start` on, at each node another."),
    key("apps.*.port", PORT, Optional("80 for http-server, 5683 for coap-server, 7 for echo, that of its protocol for image-source; required for bulk-sink"), SERVERS,
        "Port that it listens on."),
    key("apps.*.to", Target, Required, SENDERS,
        "Where it sends to: a node's name, `border`, `host`, or an IPv6 address in brackets, and a port. A client asks for `/file` there."),
    key("apps.*.total", QuantityOr { measure: Measure::Size, min: 1.0, max: 1e12, word: "until the end" }, Default("until the end"), BULK,
        "How much it sends before it closes the connection."),
    key("apps.*.resume", Bool, Default("false"), BULK,
        "After a connection that was lost the next one carries only what was not acknowledged; else it begins anew."),
    key("apps.*.retry", time(100_000.0, DAY_US), Default("3 s"), RETRIES,
        "Pause before another attempt when a connection was refused or failed, or a request was; twice as long behind each further connection that does not open, up to half an hour."),
    key("apps.*.file", size(0.0, 1e9), Default("50 KiB"), FILES,
        "Size of the page `/file`, or of the image, whose content is what `seq -f %07.0f 0 N` prints."),
    key("apps.*.block", Choice(BLOCKS), Default("512 B"), COAP,
        "The largest block of a body (RFC 7959), or of an image; longer ones go in several messages."),
    key("apps.*.protocol", Choice(&["http", "block1", "q-block", "bdx"]), Default("http"), IMAGES,
        "How the image gets to the leaf: `http` with ranges, over TCP; by `block1` of CoAP (RFC 7959) or its `q-block` (RFC 9177), once the leaf has said that it is there and how much it has; by `bdx`, Matter's bulk data exchange over its reliable messages, in the clear."),
    key("apps.*.page", size(16.0, 4_096.0), Default("256 B"), IMAGE_LEAF,
        "What the leaf writes to its flash at a time; bytes that have no whole page yet do not survive a restart. At most `block` with `block1`, `q-block` and `bdx`."),
    key("apps.*.patience", time(1.0 * US_PER_S, DAY_US), Default("10 s"), IMAGE_LEAF,
        "The leaf asks anew, for what it has not, when nothing has come for so long."),
    key("apps.*.max_payloads", Count { min: 1, max: 64 }, Default("10"), IMAGES,
        "With `q-block`: MAX_PAYLOADS (RFC 9177, 7.2), the same at both ends."),
    key("apps.*.non_timeout", time(100_000.0, 60.0 * US_PER_S), Default("2 s"), IMAGES,
        "With `q-block`: NON_TIMEOUT (RFC 9177, 7.2), the same at both ends; NON_RECEIVE_TIMEOUT is twice that, and at least a second more than the longest NON_TIMEOUT_RANDOM."),
    key("apps.*.message_interval", time(10_000.0, 60.0 * US_PER_S), Default("300 ms"), IMAGES,
        "With `bdx`: how long the other end takes to answer while it is active (SESSION_ACTIVE_INTERVAL of Matter), the same at both ends. A message is repeated after 1.1 times that, and up to a quarter more; four times at most."),
    key("apps.*.transport", Choice(&["udp", "tcp", "coap", "cocoa", "unreliable", "ideal"]), Default("udp"), SENSOR,
        "What carries the readings: `udp` a datagram each, `tcp` one connection for all, `coap` confirmable messages to a coap-server, `cocoa` the same with CoCoA's timeouts, `unreliable` CoAP's messages that nobody acknowledges, `ideal` a protocol with TCP's headers that learns of losses without asking (Kumar et al. 2020, section 8.2.2)."),
    key("apps.*.cocoa", Choice(&["draft", "contiki"]), Default("draft"), SENSOR,
        "With `transport = \"cocoa\"`: as draft-ietf-core-cocoa-03 has it, or as Contiki's `cocoa.c`, which Kumar et al. used; there a timeout learns more from answers to retransmissions."),
    key("apps.*.message", size(16.0, 1_024.0), Default("512 B"), SENSOR,
        "How much of readings a message holds. `coap` and `cocoa`: as much of their stream as there is, behind four bytes that say where it is from; `unreliable` and `ideal`: whole readings only, at least one."),
    key("apps.*.blockwise", Bool, Default("false"), SENSOR,
        "CoAP: sends all readings that are due as one body, in blocks (RFC 7959) of at most `message`."),
    key("apps.*.spacing", time(0.0, 60.0 * US_PER_S), Default("500 ms"), SENSOR,
        "`unreliable` and `ideal`: time between two messages."),
    key("apps.*.reading", size(16.0, 1_024.0), Default("82 B"), SENSORS,
        "Size of a reading."),
    key("apps.*.interval", time(1_000.0, DAY_US), Default("1 s"), PERIODIC,
        "Time between readings, or between the beginnings of requests; the first comes at a random moment of the first interval, or of the first batch of a `sensor`. A request that takes longer puts the next one off."),
    key("apps.*.count", Count { min: 1, max: 1 << 30 }, Optional("until the end of the run"), CLIENTS,
        "How many requests it makes."),
    key("apps.*.topic", Text, Default("redpoll/{node}"), MQTT,
        "MQTT topic; `{node}` stands for the node's name."),
    key("apps.*.qos", Count { min: 0, max: 1 }, Default("1"), MQTT,
        "MQTT quality of service: 0 at most once, 1 at least once."),
    key("apps.*.batch", Count { min: 1, max: 1_024 }, Optional("1 for sensor, 8 for mqtt-sensor"), SENSORS,
        "Readings that are collected before any is sent; a sensor then sends until none is left."),
    key("apps.*.queue", Count { min: 1, max: 1_024 }, Optional("64, for a sensor over CoAP 104"), SENSORS,
        "Readings that wait at most, beside those of a message of CoAP that is under way; at least `batch`. Further ones are counted and dropped."),
    key("apps.*.keep_alive", time(0.0, 65_535.0 * US_PER_S), Default("60 s"), MQTT,
        "MQTT keep alive; 0 s is none."),
    key("apps.*.reconnect", time(100_000.0, DAY_US), Default("3 s"), SENSORS,
        "Pause before it connects again, or posts again what a server refused; twice as long behind each further connection that does not open, up to half an hour."),

    key("interferers.*.position", Position, Required, None,
        "Where it stands. With `links` and `k7`, where positions do not count, all nodes hear it; with `k7` in the medium `sinr` its power arrives whole."),
    key("interferers.*.power", dbm(-60.0, 40.0), Default("10 dBm"), None,
        "Power that leaves its antenna within the channel; Wi-Fi of 20 dBm has 10 dBm in 2 of its 20 MHz. Only the medium `sinr` heeds it."),
    key("interferers.*.range", length(0.01, 1e5), Default("20 m"), None,
        "How far it makes the channel busy and destroys receptions. Only the medium `unit-disk` heeds it."),
    key("interferers.*.burst", time(1.0, 3_600.0 * US_PER_S), Default("2 ms"), None,
        "Mean time for which it is on the air at a stretch."),
    key("interferers.*.busy", Quantity { measure: Measure::Share, min: 0.0, max: 0.99 }, Default("30 %"), None,
        "Share of the time for which it is on the air while active; 0 % is off."),
    key("interferers.*.lengths", Choice(&["exponential", "constant", "pareto"]), Default("exponential"), None,
        "How long bursts and gaps are: without memory, all the same, or with a heavy tail."),
    key("interferers.*.shape", Number { min: 1.05, max: 100.0 }, Default("1.5"), Some(("lengths", &["pareto"])),
        "Shape of the heavy tail; lengths over a thousand means are cut off."),
    key("interferers.*.from", time(0.0, DAY_US), Default("0 h"), None,
        "Hour of each day from which it may be active; a run begins at midnight."),
    key("interferers.*.until", time(0.0, DAY_US), Default("24 h"), None,
        "Hour of each day until which it may be active."),
    key("interferers.*.session", QuantityOr { measure: Measure::Time, min: 1_000.0, max: DAY_US, word: "always" }, Default("always"), None,
        "Mean length of a session of activity, without memory; or it is active all the time."),
    key("interferers.*.session_share", SHARE, Default("25 %"), None,
        "Share of its hours that sessions take."),

    key("faults.*.type", Choice(&["drop-frames", "lose-frames", "duplicate-frames", "drop-packets", "duplicate-packets", "node-off", "node-restart"]), Required, None,
        "What goes wrong. Frames are those on the air, packets those between border router and host; `lose-frames` loses data frames behind the radio that has acknowledged them, so that no retry of the link mends it; `node-off` switches a node's radio off; `node-restart` the whole node, which has forgotten all it knew when it begins anew but what is in flash, and finds its way by RPL, or as a leaf is told its fixed routes again."),
    key("faults.*.from", time(0.0, 1000.0 * DAY_US), Default("0 s"), None,
        "When it begins."),
    key("faults.*.until", QuantityOr { measure: Measure::Time, min: 0.0, max: 1000.0 * DAY_US, word: "the end" }, Default("the end"), None,
        "When it is over; after `from`."),
    key("faults.*.share", SHARE, Default("100 %"), LOSSES,
        "Share of the frames or packets that it meets."),
    key("faults.*.sender", Name, Optional("any node"), FRAMES,
        "Only frames from this node."),
    key("faults.*.receiver", Name, Optional("any node"), FRAMES,
        "Only frames at this node; others still hear them."),
    key("faults.*.frames", Choice(&["any", "data", "ack"]), Default("any"), Some(("type", &["drop-frames"])),
        "All frames, all but link acknowledgments, or only those."),
    key("faults.*.node", Name, Required, Some(("type", &["node-off", "node-restart"])),
        "The node that is switched off; for `node-restart` one on which no app runs but `image-leaf`."),
];

/// Whether what the key holds is shown to nobody.
pub(crate) fn is_secret(path: &str) -> bool {
    find(path).is_some_and(|key| matches!(key.kind, Kind::KeyDigits { .. }))
}

/// The key of `path`.
pub(crate) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.matches(path))
}

/// The keys that may stand directly in the table `path` (empty for the whole
/// document), by their last step; tables are among them.
pub(crate) fn children(path: &str) -> Vec<&'static str> {
    let depth = if path.is_empty() {
        0
    } else {
        path.split('.').count()
    };
    let mut names: Vec<&'static str> = Vec::new();
    for key in KEYS
        .iter()
        .filter(|key| path.is_empty() || key.is_below(path))
    {
        match key.path.split('.').nth(depth) {
            Some(step) if step != "*" && !names.contains(&step) => names.push(step),
            _ => {}
        }
    }
    names
}

/// The value of a key's default.
pub(crate) fn default_of(key: &Key) -> Option<Value> {
    match key.presence {
        Default(text) => key.kind.read_default(text).ok(),
        Required | Optional(_) => None,
    }
}
