//! Metrics of this study, and their readings from a run.

use serde_json::Value;

use redpoll_experiments::Metric;
use redpoll_experiments::{Gap, Reading, Run, mean, numbers};

/// Packets that arrived per minute and node.
pub const THROUGHPUT: Metric = Metric::new("throughput", "packets/min/node");
pub const TCP_ETX: Metric = Metric::new("TCP ETX", "");
pub const LINK_ETX: Metric = Metric::new("link ETX", "");
pub const QUEUE_LOSS: Metric = Metric::new("lost at queues", "%");
pub const LOSS: Metric = Metric::new("end-to-end loss", "%");
pub const SEGMENTS: Metric = Metric::new("segments per packet", "");

const MINUTES: f64 = 30.0;
pub const FLOWS: &str = "readings";

fn delivered(run: &Run) -> Reading {
    run.flow_sum(FLOWS, "/readings/delivered")
}

pub fn throughput(run: &Run) -> Reading {
    let flows = run.flows(FLOWS)?.len();
    Ok(delivered(run)? / MINUTES / flows as f64)
}

/// Reads [`LINK_ETX`]: transmissions of frames per new frame, over all nodes.
pub fn link_etx(run: &Run) -> Reading {
    let sum = |what: &str| run.node_sum("node", what);
    let (frames, again) = (sum("/frames_sent")?, sum("/frame_retries")?);
    if frames > again {
        Ok(frames / (frames - again))
    } else {
        Err(Gap::Nothing)
    }
}

/// Reads [`QUEUE_LOSS`]: packets that nodes other than the border router dropped because their
/// queues were full, in percent of all packets made.
pub fn queue_loss(run: &Run) -> Reading {
    let made = run.flow_sum(FLOWS, "/readings/made")?;
    let nodes = run.nodes("node")?;
    let lost: f64 = nodes.iter().skip(1).map(|node| dropped(node)).sum();
    Ok(100.0 * lost / made)
}

/// Returns how many packets a node dropped because its queue was full.
fn dropped(node: &Value) -> f64 {
    let drops = node.pointer("/drops/lowpan.no_slot");
    drops.and_then(Value::as_f64).unwrap_or(0.0)
}

fn name_of(node: &Value) -> Option<&str> {
    node.pointer("/name").and_then(Value::as_str)
}

fn parent_of(node: &Value) -> Option<&str> {
    node.pointer("/rpl/parent").and_then(Value::as_str)
}

/// Returns the node (not the border router) that dropped the most packets because of a full queue.
fn fullest(run: &Run) -> Result<&Value, Gap> {
    let nodes = run.nodes("node")?.into_iter().skip(1);
    let fullest = nodes.max_by(|a, b| dropped(a).total_cmp(&dropped(b)));
    fullest.filter(|it| dropped(it) > 0.0).ok_or(Gap::Nothing)
}

/// Returns the packets dropped by the node with the fullest queue, in percent of all packets made.
pub fn loss_at_the_fullest(run: &Run) -> Reading {
    let made = run.flow_sum(FLOWS, "/readings/made")?;
    match fullest(run) {
        Ok(node) => Ok(100.0 * dropped(node) / made),
        Err(Gap::Nothing) => Ok(0.0),
        Err(gap) => Err(gap),
    }
}

/// Returns the mean delivery of nodes behind the node with the fullest queue, divided by the mean
/// delivery of all other nodes.
pub fn behind_the_fullest(run: &Run) -> Reading {
    let router = name_of(fullest(run)?);
    let nodes = run.nodes("node")?;
    let find = |name: &str| nodes.iter().find(|node| name_of(node) == Some(name));
    let is_behind = |name: &str| {
        let up = std::iter::successors(find(name), |node| parent_of(node).and_then(find));
        // The bound stops the walk if the parents form a loop.
        up.skip(1).take(nodes.len()).any(|it| name_of(it) == router)
    };
    let (mut behind, mut others) = (Vec::new(), Vec::new());
    for flow in run.flows(FLOWS)? {
        let Some(name) = node_of(flow) else { continue };
        let arrived = flow.pointer("/readings/delivered").and_then(Value::as_f64);
        if is_behind(name) {
            behind.extend(arrived)
        } else {
            others.extend(arrived)
        }
    }
    Ok(mean(&behind)? / mean(&others)?)
}

/// Returns frame transmissions per new frame, over the children of the node with the fullest queue.
pub fn etx_to_the_fullest(run: &Run) -> Reading {
    let router = name_of(fullest(run)?);
    let nodes = run.nodes("node")?.into_iter();
    let children: Vec<&Value> = nodes.filter(|it| parent_of(it) == router).collect();
    let sum = |what: &str| Ok(numbers(&children, what)?.iter().sum::<f64>());
    let (frames, again) = (sum("/frames_sent")?, sum("/frame_retries")?);
    if frames > again {
        Ok(frames / (frames - again))
    } else {
        Err(Gap::Nothing)
    }
}

/// Reads [`LOSS`], averaged over the flows.
pub fn loss(run: &Run) -> Reading {
    mean(&losses(run)?)
}

/// Returns the percentage of each flow's packets that did not arrive.
pub fn losses(run: &Run) -> Result<Vec<f64>, Gap> {
    let flows = run.flows(FLOWS)?;
    let made = numbers(&flows, "/readings/made")?;
    let arrived = numbers(&flows, "/readings/delivered")?;
    let of = made.iter().zip(arrived);
    Ok(of
        .map(|(made, arrived)| 100.0 * (1.0 - arrived / made))
        .collect())
}

/// Reads [`SEGMENTS`]: segments sent, including retransmissions, per packet that arrived.
pub fn segments_a_packet(run: &Run) -> Reading {
    let sent = run.flow_sum(FLOWS, "/segments_sent")?;
    match delivered(run)? {
        0.0 => Err(Gap::Nothing),
        arrived => Ok(sent / arrived),
    }
}

/// Reads [`TCP_ETX`]: bytes that the senders sent, including retransmissions, per byte that
/// arrived. All bytes of a segment count, also if BLIP sends retransmitted and new data in it.
pub fn tcp_etx(run: &Run) -> Reading {
    let sent = run.flow_sum(FLOWS, "/sent_bytes")?;
    match run.flow_sum(FLOWS, "/delivered_bytes")? {
        0.0 => Err(Gap::Nothing),
        arrived => Ok(sent / arrived),
    }
}

fn node_of(flow: &Value) -> Option<&str> {
    ["/from", "/to"].into_iter().find_map(|end| {
        let name = flow.pointer(end)?.as_str()?;
        name.starts_with("node-").then_some(name)
    })
}

/// Returns Pearson's correlation, -1 to 1, between each flow's number at `pointer` and its hops.
pub fn by_hops(run: &Run, pointer: &str) -> Reading {
    let nodes = run.nodes("node")?;
    let hops = |name: &str| {
        let node = nodes.iter().find(|node| name_of(node) == Some(name))?;
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

/// Returns Pearson's correlation coefficient; `None` if one of the two numbers does not vary.
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
    fn proportional_values_have_a_correlation_of_one() {
        let up = correlation(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]).unwrap();
        let down = correlation(&[(1.0, 6.0), (2.0, 4.0), (3.0, 2.0)]).unwrap();
        assert!((up - 1.0).abs() < 1e-12 && (down + 1.0).abs() < 1e-12);
        assert_eq!(correlation(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }
}
