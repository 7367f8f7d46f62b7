//! Profiles of nodes and links: values of keys that replace Redpoll's node by another project's.

use redpoll_experiments::Case;

/// Number of TCPlp's message buffers of 128 bytes in OpenThread: ten datagrams of five frames, one
/// buffer per frame.
const MESSAGE_BUFFERS: u32 = 50;

/// Bytes of link security in TCPlp's frames. Its paper gives headers of 11 to 23 bytes (table 5),
/// check sequence included, and segments of 462 bytes in five frames, which leave room for at most
/// 15. This constant assumes 15, which is 4 more than the addresses need.
pub const TCPLP_SECURITY_BYTES: u32 = 4;

/// Instructions of TCPlp's operating system per packet. No source states the number, so it is
/// calibrated by the goodput of its paper's §6.3 and by no other number. At 1.5 cycles per
/// instruction and 48 MHz they take 7.8 ms. A relay spends them twice, as its published code does:
/// once for an incoming packet in the receiving thread (frames, reassembly, IPv6, the queue), and
/// once for the forwarded packet in the sending thread (route, compression, copies).
pub const TCPLP_PACKET_INSTRUCTIONS: u32 = 250_000;

/// TCPlp's link between nodes that do not sleep, as in its published code (branch `tcp-ot-paper`):
/// ten attempts per frame with at most 40 ms between them, software CSMA with the receiver on
/// during backoffs, a backoff before each fragment. TCP passes a segment to the lower layers as
/// soon as it may send the segment, and copies it to message buffers.
const TCPLP_LINK: &[(&str, &str)] = &[
    ("mac.max_frame_retries", "9"),
    ("lowpan.frame_pending", "false"),
    ("lowpan.fragment_burst", "false"),
    ("tcp.queue_window", "true"),
    ("tcp.link_feedback", "false"),
    // Computation takes time on the paper's nodes, and their clocks drift.
    ("energy.takes_time", "true"),
    ("clock.drift_ppm", "20"),
];

/// The engine of FreeBSD 10.3 with TCPlp's constants: three duplicates; no RACK-TLP, PRR or F-RTO;
/// an RTO that is 200 ms longer than in RFC 6298, and 3 s until there is an RTT sample.
const TCPLP_ENGINE: &[(&str, &str)] = &[
    ("tcp.recovery", "duplicates"),
    ("tcp.delayed_ack", "100 ms"),
    ("tcp.initial_rto", "3 s"),
    ("tcp.min_rto", "30 ms"),
    ("tcp.rto_margin", "200 ms"),
    ("tcp.max_rto", "64 s"),
    ("tcp.max_retries", "12"),
];

/// TCPlp's link to sleepy nodes: five attempts of a frame per poll, at most 20 ms apart; each
/// fragment needs its own poll.
const TCPLP_SLEEP: &[(&str, &str)] = &[
    ("poll.policy", "fixed"),
    ("poll.interval", "100 ms"),
    ("indirect.retries", "4"),
    ("indirect.retry_delay", "20 ms"),
    ("indirect.burst", "false"),
];

/// Replaces Redpoll's node by TCPlp's on OpenThread. Set the frames of a segment before this call.
pub fn tcplp(case: Case) -> Case {
    let slots = MESSAGE_BUFFERS / frames(&case);
    case.with(TCPLP_LINK)
        .with(TCPLP_ENGINE)
        .with(TCPLP_SLEEP)
        .set("mac.security_bytes", TCPLP_SECURITY_BYTES)
        .set("energy.packet_instructions", TCPLP_PACKET_INSTRUCTIONS)
        .set("lowpan.slots", slots)
}

fn frames(case: &Case) -> u32 {
    let mss = |(key, value): &(String, String)| match key.as_str() {
        "tcp.mss" => value.strip_suffix(" frames")?.parse().ok(),
        _ => None,
    };
    let found: Option<u32> = case.changes().iter().rev().find_map(mss);
    found.unwrap_or(5)
}

#[cfg(test)]
mod tests {
    use super::tcplp;
    use redpoll_experiments::{Case, Scene};

    #[test]
    fn message_buffers_are_shared_by_frames() {
        let slots = |mss: Option<&str>| {
            let mut case = Case::new(Scene {
                name: "any".into(),
                text: String::new(),
            });
            if let Some(mss) = mss {
                case = case.set("tcp.mss", mss);
            }
            let case = tcplp(case);
            let slots = case.changes().iter().find(|(key, _)| key == "lowpan.slots");
            slots.unwrap().1.clone()
        };
        assert_eq!(slots(None), "10");
        assert_eq!(slots(Some("3 frames")), "16");
        assert_eq!(slots(Some("1 frames")), "50");
    }
}
