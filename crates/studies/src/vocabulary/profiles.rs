//! What nodes and links are like: changes that turn Redpoll's own into somebody
//! else's.

use crate::engine::case::Case;

/// TCPlp's message buffers of 128 bytes in OpenThread: ten datagrams of five frames,
/// a buffer a frame.
const MESSAGE_BUFFERS: u32 = 50;

/// TCPlp's link between nodes that do not sleep, as in its published code (branch
/// `tcp-ot-paper`): ten attempts a frame with at most 40 ms in between, software
/// CSMA that hears meanwhile, each fragment with a backoff of its own.
const TCPLP_LINK: &[(&str, &str)] = &[
    ("mac.max_frame_retries", "9"),
    ("lowpan.fragment_burst", "false"),
    // FreeBSD's.
    ("tcp.delayed_ack", "100 ms"),
    // Their nodes have to compute.
    ("energy.takes_time", "true"),
];

/// TCPlp's link to sleepy nodes: five attempts of a frame a poll, at most 20 ms apart,
/// each fragment with a poll of its own.
const TCPLP_SLEEP: &[(&str, &str)] = &[
    ("poll.policy", "fixed"),
    ("poll.interval", "100 ms"),
    ("indirect.retries", "4"),
    ("indirect.retry_delay", "20 ms"),
    ("indirect.burst", "false"),
];

/// The node of TCPlp on OpenThread instead of Redpoll's own. How many frames a
/// segment has is to be set before.
pub fn tcplp(case: Case) -> Case {
    let slots = MESSAGE_BUFFERS / frames(&case);
    case.with(TCPLP_LINK)
        .with(TCPLP_SLEEP)
        .set("lowpan.slots", slots)
}

/// Frames of a segment.
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
    use crate::engine::case::{Case, Scene};

    #[test]
    fn message_buffers_are_shared_by_frames() {
        let slots = |mss: Option<&str>| {
            let mut case = Case::new(Scene {
                name: "any",
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
