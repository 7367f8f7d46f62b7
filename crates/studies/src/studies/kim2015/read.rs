//! What is read from a run.

use serde_json::Value;

use crate::engine::figure::Metric;
use crate::engine::run::{Gap, Reading, Run, mean, numbers};

/// Packets that arrived, a minute and node.
pub const THROUGHPUT: Metric = Metric::new("throughput", "packets/min/node");
/// See [`tcp_etx`].
pub const TCP_ETX: Metric = Metric::new("TCP ETX", "");
/// See [`link_etx`].
pub const LINK_ETX: Metric = Metric::new("link ETX", "");
/// See [`queue_loss`].
pub const QUEUE_LOSS: Metric = Metric::new("lost at queues", "%");
/// See [`loss`].
pub const LOSS: Metric = Metric::new("end-to-end loss", "%");
/// See [`segments_a_packet`].
pub const SEGMENTS: Metric = Metric::new("segments a packet", "");

/// Minutes with traffic.
const MINUTES: f64 = 30.0;
/// Flows of the traffic begin so.
pub const FLOWS: &str = "readings";

fn delivered(run: &Run) -> Reading {
    run.flow_sum(FLOWS, "/readings/delivered")
}

/// [`THROUGHPUT`], on average.
pub fn throughput(run: &Run) -> Reading {
    let flows = run.flows(FLOWS)?.len();
    Ok(delivered(run)? / MINUTES / flows as f64)
}

/// Transmissions of frames for each that was sent anew, over all nodes.
pub fn link_etx(run: &Run) -> Reading {
    let sum = |what: &str| run.node_sum("node", what);
    let (frames, again) = (sum("/frames_sent")?, sum("/frame_retries")?);
    match frames > again {
        true => Ok(frames / (frames - again)),
        false => Err(Gap::Nothing),
    }
}

/// Packets that nodes other than the border router dropped because their queues were
/// full, of those that were made.
pub fn queue_loss(run: &Run) -> Reading {
    let made = run.flow_sum(FLOWS, "/readings/made")?;
    let nodes = run.nodes("node")?;
    let full = |node: &&Value| {
        let drops = node.pointer("/drops/lowpan.no_slot");
        drops.and_then(Value::as_f64).unwrap_or(0.0)
    };
    let lost: f64 = nodes.iter().skip(1).map(full).sum();
    Ok(100.0 * lost / made)
}

/// Packets that did not arrive, of those that were made.
pub fn loss(run: &Run) -> Reading {
    mean(&losses(run)?)
}

/// Packets that did not arrive, of those that were made, by flow in percent.
pub fn losses(run: &Run) -> Result<Vec<f64>, Gap> {
    let flows = run.flows(FLOWS)?;
    let made = numbers(&flows, "/readings/made")?;
    let arrived = numbers(&flows, "/readings/delivered")?;
    let of = made.iter().zip(arrived);
    Ok(of
        .map(|(made, arrived)| 100.0 * (1.0 - arrived / made))
        .collect())
}

/// Segments sent, retransmissions included, for each packet that arrived.
pub fn segments_a_packet(run: &Run) -> Reading {
    let sent = run.flow_sum(FLOWS, "/segments_sent")?;
    match delivered(run)? {
        0.0 => Err(Gap::Nothing),
        arrived => Ok(sent / arrived),
    }
}

/// How often each byte that arrived was sent: a segment of BLIP's may carry what is sent
/// again with what is new, and counts for both.
pub fn tcp_etx(run: &Run) -> Reading {
    let sent = run.flow_sum(FLOWS, "/sent_bytes")?;
    match run.flow_sum(FLOWS, "/delivered_bytes")? {
        0.0 => Err(Gap::Nothing),
        arrived => Ok(sent / arrived),
    }
}

/// The number of the node, from 2, at the mesh's end of a flow.
fn node_of(flow: &Value) -> Option<&str> {
    ["/from", "/to"].into_iter().find_map(|end| {
        let name = flow.pointer(end)?.as_str()?;
        name.starts_with("node-").then_some(name)
    })
}

/// How a number of flows goes with the hop distance of their nodes: Pearson's
/// coefficient, -1 to 1.
pub fn by_hops(run: &Run, pointer: &str) -> Reading {
    let nodes = run.nodes("node")?;
    let hops = |name: &str| {
        let node = nodes
            .iter()
            .find(|node| node.pointer("/name").and_then(Value::as_str) == Some(name))?;
        node.pointer("/hops")?.as_f64()
    };
    let mut pairs = Vec::new();
    for flow in run.flows(FLOWS)? {
        let value = flow.pointer(pointer).and_then(Value::as_f64);
        let far = node_of(flow).and_then(hops);
        pairs.extend(far.zip(value));
    }
    correlation(&pairs).ok_or(Gap::Nothing)
}

/// Pearson's coefficient; `None` where one of the two does not vary.
fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let count = pairs.len() as f64;
    let mean_x = pairs.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = pairs.iter().map(|(_, y)| y).sum::<f64>() / count;
    let of = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        pairs.iter().map(|(x, y)| f(x - mean_x, y - mean_y)).sum()
    };
    let (xy, xx, yy) = (of(&|x, y| x * y), of(&|x, _| x * x), of(&|_, y| y * y));
    (xx > 0.0 && yy > 0.0).then(|| xy / (xx * yy).sqrt())
}

#[cfg(test)]
mod tests {
    use super::correlation;

    #[test]
    fn what_goes_together_correlates() {
        let up = correlation(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]).unwrap();
        let down = correlation(&[(1.0, 6.0), (2.0, 4.0), (3.0, 2.0)]).unwrap();
        assert!((up - 1.0).abs() < 1e-12 && (down + 1.0).abs() < 1e-12);
        assert_eq!(correlation(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }
}
