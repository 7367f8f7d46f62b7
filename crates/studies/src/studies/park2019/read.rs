//! Metrics of this study, and their readings from a run.

use serde_json::Value;

use super::probes::{Progress, STEP_S};
use super::scenes::{BEGIN_S, BYTES, FLOWS, IN_ROOM, LINE_BEGIN_S, LINE_NODES, NODES, READINGS};
use redpoll_experiments::{Gap, Metric, Reading, Run, mean, numbers};

pub const THROUGHPUT: Metric = Metric::new("throughput", "B/s");
pub const TOGETHER: Metric = Metric::new("throughput of all nodes together", "B/s");
pub const DURATION: Metric = Metric::new("time until the last node has finished", "s");
pub const RATE: Metric = Metric::new("all bytes / time until the last node has finished", "kb/s");
pub const MAX_MIN: Metric = Metric::new("max-min ratio", "");
pub const MAX_MIN_AS_DEFINED: Metric = Metric::new("max-min ratio as the paper defines it", "");
pub const ROOM: Metric = Metric::new(
    "mean throughput of nodes in the room / mean throughput of nodes in the corridor",
    "",
);

pub const READINGS_LOST: Metric = Metric::new("share of lost datagrams, nodes without TCP", "%");

/// Returns the number of a flow's node, counted from 1 as in the paper.
fn number(flow: &Value) -> Option<usize> {
    let name = flow.pointer("/from")?.as_str()?;
    let number: usize = name.strip_prefix("node-")?.parse().ok()?;
    number.checked_sub(1)
}

/// Returns when the flow's last byte arrived, in seconds after the start of all flows; `None` if
/// the flow is incomplete.
fn done(flow: &Value) -> Option<f64> {
    let bytes = flow.pointer("/delivered_bytes")?.as_f64()?;
    let at = flow.pointer("/last_arrival_s")?.as_f64()?;
    (bytes >= BYTES).then_some(at - BEGIN_S)
}

/// Returns each node's throughput: the bytes that arrived divided by the time they took. For an
/// incomplete flow that time is the rest of the run.
fn throughputs(run: &Run) -> Result<Vec<f64>, Gap> {
    let end = run.number("/simulated_s")? - BEGIN_S;
    let mut all = vec![0.0; NODES];
    for flow in run.flows(FLOWS)? {
        let place = number(flow).and_then(|number| all.get_mut(number.checked_sub(1)?));
        let bytes = flow.pointer("/delivered_bytes").and_then(Value::as_f64);
        if let Some((place, bytes)) = place.zip(bytes) {
            *place = bytes.min(BYTES) / done(flow).unwrap_or(end);
        }
    }
    Ok(all)
}

pub fn throughput_of(run: &Run, number: u32) -> Reading {
    let all = throughputs(run)?;
    let at = (number as usize).wrapping_sub(1);
    all.get(at).copied().ok_or(Gap::Nothing)
}

pub fn together(run: &Run) -> Reading {
    Ok(throughputs(run)?.iter().sum())
}

pub fn slowest(run: &Run) -> Reading {
    let all = throughputs(run)?;
    Ok(all.into_iter().fold(f64::INFINITY, f64::min))
}

pub fn duration(run: &Run) -> Reading {
    let times: Option<Vec<f64>> = run.flows(FLOWS)?.into_iter().map(done).collect();
    let times = times.filter(|times| times.len() == NODES);
    times.map(greatest).ok_or(Gap::Nothing)
}

pub fn rate(run: &Run) -> Reading {
    Ok(8.0 * BYTES * NODES as f64 / duration(run)? / 1_000.0)
}

pub fn jain(run: &Run) -> Reading {
    jain_of(&throughputs(run)?)
}

pub fn max_min(run: &Run) -> Reading {
    max_min_of(&throughputs(run)?)
}

pub fn max_min_as_defined(run: &Run) -> Reading {
    Ok(max_min(run)? - 1.0)
}

/// Reads [`ROOM`]: the mean throughput of the nodes in the room divided by that of the others.
pub fn room_over_corridor(run: &Run) -> Reading {
    let all = throughputs(run)?;
    let (room, corridor) = all.split_at(IN_ROOM);
    Ok(mean(room)? / mean(corridor)?)
}

/// Counts the nodes whose throughput is at least 20 % above that of their last parent.
pub fn faster_than_parents(run: &Run) -> Reading {
    let all = throughputs(run)?;
    let nodes = run.nodes("node-")?;
    let at = |name: Option<&Value>| -> Option<f64> {
        let number: usize = name?.as_str()?.strip_prefix("node-")?.parse().ok()?;
        all.get(number.checked_sub(2)?).copied()
    };
    let is_faster = |node: &&&Value| {
        let own = at(node.pointer("/name"));
        let parent = at(node.pointer("/rpl/parent"));
        own.zip(parent)
            .is_some_and(|(own, parent)| own >= 1.2 * parent)
    };
    Ok(nodes.iter().filter(is_faster).count() as f64)
}

/// Returns the mean of the readings `at` the minutes from the tenth until the first node finishes.
pub fn since_ten(progress: &Progress, at: fn(&Progress, u32) -> Reading) -> Reading {
    let minutes = 10..=all_active(progress)? as u32;
    let values: Vec<f64> = minutes
        .filter_map(|minute| at(progress, minute).ok())
        .collect();
    mean(&values)
}

/// Returns the number of nodes below the node with the smallest delivery ratio, divided by the mean
/// number below a node.
pub fn worst_has(run: &Run) -> Reading {
    let flows = run.flows(READINGS)?;
    let shares = delivery(run, READINGS)?;
    let worst = shares.iter().zip(flows).min_by(|a, b| a.0.total_cmp(b.0));
    let name = worst.and_then(|(_, flow)| flow.pointer("/from"));
    let targets = |node: &Value| node.pointer("/rpl/targets").and_then(Value::as_f64);
    // Excludes the border router, which has routes to all nodes.
    let nodes = run.nodes("node-")?;
    let nodes = nodes.iter().skip(1);
    let all: Vec<f64> = nodes.clone().filter_map(|node| targets(node)).collect();
    let own = nodes.clone().find(|node| node.pointer("/name") == name);
    let own = own.and_then(|node| targets(node)).ok_or(Gap::Nothing)?;
    match mean(&all)? {
        0.0 => Err(Gap::Nothing),
        mean => Ok(own / mean),
    }
}

/// Returns Jain's index of the first `minute` minutes' bytes; no value once a node has finished.
pub fn jain_at(progress: &Progress, minute: u32) -> Reading {
    jain_of(&until_minute(progress, minute)?)
}

/// Returns the max-min ratio of the first `minute` minutes' bytes; no value once a node finished.
pub fn max_min_at(progress: &Progress, minute: u32) -> Reading {
    max_min_of(&until_minute(progress, minute)?)
}

/// Returns Jain's index of the given minute's bytes alone; no value once a node has finished.
pub fn jain_of_minute(progress: &Progress, minute: u32) -> Reading {
    jain_of(&in_minute(progress, minute)?)
}

/// Returns the max-min ratio of the given minute's bytes alone; no value if a node received no
/// byte, or once one has finished.
pub fn max_min_of_minute(progress: &Progress, minute: u32) -> Reading {
    max_min_of(&in_minute(progress, minute)?)
}

/// Returns the minutes until the first node finished.
pub fn all_active(progress: &Progress) -> Reading {
    let begin = BEGIN_S as usize / 60;
    let until = progress.bytes.iter().skip(begin);
    Ok(until.take_while(|bytes| none_is_done(bytes)).count() as f64)
}

fn none_is_done(bytes: &[u64]) -> bool {
    bytes.iter().all(|bytes| (*bytes as f64) < BYTES)
}

/// Returns each node's bytes from the start of all flows to the end of that minute; no value once a
/// node has finished.
fn bytes_until(progress: &Progress, minute: u32) -> Result<&[u64], Gap> {
    let at = BEGIN_S as usize / 60 + minute as usize;
    // The first sample is at the end of the first minute.
    let bytes = at.checked_sub(1).and_then(|at| progress.bytes.get(at));
    let bytes = bytes.filter(|bytes| bytes.len() == NODES && none_is_done(bytes));
    bytes.map(Vec::as_slice).ok_or(Gap::Nothing)
}

/// Returns each node's mean rate from the start of all flows to the end of that minute, in bytes
/// per second. The paper's values by minute are the smoothed throughputs that TAiM itself measures.
/// This study uses the mean since the start, because a node sends only a few segments a minute.
fn until_minute(progress: &Progress, minute: u32) -> Result<Vec<f64>, Gap> {
    let seconds = f64::from(minute) * 60.0;
    let bytes = bytes_until(progress, minute)?.iter();
    Ok(bytes.map(|it| *it as f64 / seconds).collect())
}

/// Returns each node's mean rate in the given minute alone, in bytes per second.
fn in_minute(progress: &Progress, minute: u32) -> Result<Vec<f64>, Gap> {
    let until = bytes_until(progress, minute)?;
    let before: &[u64] = match minute {
        0 | 1 => &[0; NODES],
        _ => bytes_until(progress, minute - 1)?,
    };
    let bytes = until.iter().zip(before);
    Ok(bytes
        .map(|(until, before)| until.saturating_sub(*before) as f64 / 60.0)
        .collect())
}

/// Returns the share of made readings that arrived, by node; readings under way are left out.
pub fn delivery(run: &Run, flows: &str) -> Result<Vec<f64>, Gap> {
    let flows = run.flows(flows)?;
    let made = numbers(&flows, "/readings/made")?;
    let delivered = numbers(&flows, "/readings/delivered")?;
    let waiting = numbers(&flows, "/readings/under_way")?;
    let all = made.iter().zip(delivered).zip(waiting);
    Ok(all
        .map(|((made, delivered), waiting)| delivered / (made - waiting).max(1.0))
        .collect())
}

pub const AT_BORDER: Metric = Metric::new(
    "number of packets lost at the border router's mote",
    "packets",
);
pub const AT_NODES: Metric = Metric::new(
    "number of packets lost on links or in nodes with a full queue",
    "packets",
);

fn lost(node: &Value, causes: &[&str]) -> f64 {
    let of = |cause: &&str| node.pointer(&format!("/drops/{cause}"))?.as_f64();
    causes.iter().filter_map(of).sum()
}

/// Counts the packets that the border router's mote dropped because it had no slot or no route, or
/// because it was still busy with the previous packet of the serial line.
pub fn lost_at_border(run: &Run) -> Reading {
    let nodes = run.nodes("node-")?;
    let border = nodes.first().ok_or(Gap::Nothing)?;
    let causes = ["lowpan.no_slot", "host.serial_busy", "ip.no_route"];
    Ok(lost(border, &causes))
}

/// Counts the packets that nodes dropped because they had no slot or received no link
/// acknowledgment.
pub fn lost_at_nodes(run: &Run) -> Reading {
    let nodes = run.nodes("node-")?;
    let causes = ["lowpan.no_slot", "mac.no_ack"];
    Ok(nodes.iter().skip(1).map(|node| lost(node, &causes)).sum())
}

pub fn readings_lost(run: &Run) -> Reading {
    Ok(100.0 * (1.0 - mean(&delivery(run, READINGS)?)?))
}

pub fn offered(run: &Run) -> Reading {
    let seconds = run.number("/simulated_s")? - BEGIN_S;
    Ok(run.flow(READINGS, "/readings/made")? / seconds)
}

/// Returns Jain's index of the bytes that the line's flows delivered in their first `seconds`.
pub fn jain_of_line(progress: &Progress, seconds: u32) -> Reading {
    let at = (LINE_BEGIN_S + seconds) / STEP_S;
    let bytes = at
        .checked_sub(1)
        .and_then(|at| progress.bytes.get(at as usize));
    let bytes = bytes.filter(|bytes| bytes.len() == LINE_NODES);
    let bytes = bytes.ok_or(Gap::Nothing)?;
    jain_of(&bytes.iter().map(|it| *it as f64).collect::<Vec<_>>())
}

/// Returns the seconds until Jain's index stays at `index` or above; no value if it ends below.
pub fn fair_from(progress: &Progress, index: f64) -> Reading {
    let steps = progress.bytes.len() as u32;
    let last = (steps * STEP_S)
        .checked_sub(LINE_BEGIN_S)
        .ok_or(Gap::Nothing)?;
    let mut from = None;
    for seconds in (STEP_S..=last).step_by(STEP_S as usize) {
        match jain_of_line(progress, seconds) {
            Ok(now) if now >= index => from = from.or(Some(seconds)),
            _ => from = None,
        }
    }
    from.map(f64::from).ok_or(Gap::Nothing)
}

/// Returns the mean waiting time of packets at the border router, in milliseconds.
pub fn wait(run: &Run) -> Reading {
    match run.number("/fair_queue/wait_ms") {
        Ok(ms) => Ok(ms),
        Err(_) => run.number("/taim/wait_ms").or(Ok(0.0)),
    }
}

/// Returns the rate in bytes per second of all flows of the line together, and of the slowest.
pub fn line_rates(run: &Run) -> Result<(f64, f64), Gap> {
    let seconds = run.number("/simulated_s")? - f64::from(LINE_BEGIN_S);
    let bytes = numbers(&run.flows(FLOWS)?, "/delivered_bytes")?;
    let slowest = bytes.iter().copied().fold(f64::INFINITY, f64::min);
    Ok((bytes.iter().sum::<f64>() / seconds, slowest / seconds))
}

fn greatest(values: Vec<f64>) -> f64 {
    values.into_iter().fold(f64::NEG_INFINITY, f64::max)
}

fn jain_of(values: &[f64]) -> Reading {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    if squares > 0.0 {
        Ok(sum * sum / (values.len() as f64 * squares))
    } else {
        Err(Gap::Nothing)
    }
}

/// Returns the greatest value divided by the least; no value if a node received no byte.
fn max_min_of(values: &[f64]) -> Reading {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    if least > 0.0 {
        Ok(greatest(values.to_vec()) / least)
    } else {
        Err(Gap::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_one_of_equals_and_less_of_others() {
        assert_eq!(jain_of(&[3.0; 5]), Ok(1.0));
        assert_eq!(jain_of(&[1.0, 3.0]), Ok(0.8));
        assert_eq!(max_min_of(&[2.0, 3.0, 1.0]), Ok(3.0));
        assert_eq!(max_min_of(&[2.0, 0.0]), Err(Gap::Nothing));
    }

    #[test]
    fn the_line_is_fair_from_when_it_stays_so() {
        let mut progress = Progress::default();
        let (even, odd) = (vec![5; LINE_NODES], vec![1, 1, 1, 9]);
        for bytes in [&odd, &odd, &even, &odd, &even, &even] {
            progress.bytes.push(bytes.clone());
        }
        assert_eq!(jain_of_line(&progress, 5), Ok(1.0));
        assert_eq!(fair_from(&progress, 0.95), Ok(15.0));
        progress.bytes.push(odd);
        assert_eq!(fair_from(&progress, 0.95), Err(Gap::Nothing));
    }

    #[test]
    fn minutes_are_counted_until_the_first_node_is_done() {
        let mut progress = Progress::default();
        // Ten minutes without data, then a third of the bytes each minute.
        for minute in 1..=14_u64 {
            let bytes = 6_400 * minute.saturating_sub(10);
            progress.bytes.push(vec![bytes; NODES]);
        }
        assert_eq!(all_active(&progress), Ok(2.0));
        // In the second minute one node gets half as much as the others.
        progress.bytes[11][0] -= 3_200;
        let expected = jain_of(&[[0.5].as_slice(), &[1.0; NODES - 1]].concat());
        let of_minute = jain_of_minute(&progress, 2).unwrap();
        assert!((of_minute - expected.unwrap()).abs() < 1e-12, "{of_minute}");
        let ratios = [max_min_of_minute, max_min_at].map(|of| of(&progress, 2).unwrap());
        assert!((ratios[0] - 2.0).abs() < 1e-9 && (ratios[1] - 4.0 / 3.0).abs() < 1e-9);
        progress.bytes[11][0] += 3_200;
        let index = jain_at(&progress, 2).unwrap();
        assert!((index - 1.0).abs() < 1e-12, "{index}");
        assert_eq!(jain_at(&progress, 3), Err(Gap::Nothing));
    }

    #[test]
    fn a_minute_in_which_a_node_has_no_bytes_has_no_ratio() {
        let mut progress = Progress::default();
        for minute in 1..=13 {
            let mut bytes = vec![100 * minute; NODES];
            bytes[0] = 5_000;
            progress.bytes.push(bytes);
        }
        assert_eq!(max_min_of_minute(&progress, 3), Err(Gap::Nothing));
        assert!(jain_of_minute(&progress, 3).is_ok());
    }
}
