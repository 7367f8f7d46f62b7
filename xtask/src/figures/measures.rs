//! The values that are read from the result of a run.

use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(super) fn first_goodput(result: &Value) -> f64 {
    number(&result["flows"][0]["goodput_kbps"])
}

pub(super) fn leaves_duty_cycle(result: &Value) -> f64 {
    let nodes = list(&result["nodes"]).iter();
    let leaves = nodes.filter(|node| {
        node["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("leaf"))
    });
    let cycles: Vec<f64> = leaves
        .map(|leaf| number(&leaf["radio_duty_cycle"]))
        .collect();
    cycles.iter().sum::<f64>() / cycles.len() as f64
}

/// Returns the lowest share of delivered readings of a flow, in %.
pub(super) fn readings_delivered(result: &Value) -> f64 {
    let flows = list(&result["flows"]).iter();
    let shares = flows.map(|flow| 100.0 * number(&flow["readings"]["reliability"]));
    shares.fold(f64::NAN, f64::min)
}

pub(super) fn fairness(result: &Value) -> f64 {
    let all = list(&result["flows"]).iter();
    let all: Vec<f64> = all.map(|flow| number(&flow["goodput_kbps"])).collect();
    let sum: f64 = all.iter().sum();
    let squares: f64 = all.iter().map(|share| share * share).sum();
    sum * sum / (all.len() as f64 * squares)
}

pub(super) fn first_loss(result: &Value) -> f64 {
    100.0 * number(&result["flows"][0]["segment_loss"])
}

pub(super) fn simulated_per_wall(result: &Value) -> f64 {
    number(&result["simulated_s"]) / number(&result["wall_s"])
}

pub(super) fn delivered_share(result: &Value) -> f64 {
    let sum = |key: &str| -> f64 { list(&result["flows"]).iter().map(|f| number(&f[key])).sum() };
    sum("delivered_bytes") / (50.0 * sum("segments_sent"))
}

pub(super) fn largest_node_kib(result: &Value) -> f64 {
    let nodes = list(&result["nodes"]).iter();
    nodes
        .map(|n| number(&n["memory_bytes"]))
        .fold(f64::NAN, f64::max)
        / 1024.0
}

pub(super) fn memory_a_node_kib(result: &Value) -> f64 {
    number(&result["peak_memory_bytes"]) / 1024.0 / list(&result["nodes"]).len() as f64
}

/// Returns the number of the oracle's violations; a run that does not end gives no result.
pub(super) fn violations(result: &Value) -> f64 {
    list(&result["oracle"]["violations"]).len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn measures_read_the_result_object() {
        let result = json!({
            "simulated_s": 60.0, "wall_s": 0.5, "peak_memory_bytes": 4096,
            "oracle": {"ok": false, "violations": ["a byte twice"]},
            "flows": [
                {"goodput_kbps": 3.5, "segment_loss": 0.25, "delivered_bytes": 50, "segments_sent": 2},
                {"goodput_kbps": 0.0, "delivered_bytes": 100, "segments_sent": 2},
            ],
            "nodes": [{"memory_bytes": 1024}, {"memory_bytes": 3072}],
        });
        assert_eq!(first_goodput(&result), 3.5);
        assert_eq!(first_loss(&result), 25.0);
        assert_eq!(simulated_per_wall(&result), 120.0);
        assert_eq!(delivered_share(&result), 0.75);
        assert_eq!(largest_node_kib(&result), 3.0);
        assert_eq!(memory_a_node_kib(&result), 2.0);
        assert_eq!(violations(&result), 1.0);
        assert!((fairness(&result) - 0.5).abs() < 1e-9, "one has all");
        assert!(first_goodput(&json!({})).is_nan());
    }
}
