//! The beginning of a result's page: the headline, the verdict about the capture, and the command
//! that repeats the run.

use std::fmt::Write as _;

use redpoll_experiments::page::{escape, number, today};
use redpoll_sim::BUILT_IN;
use serde_json::Value;

use super::{counted, name};
use crate::report::Report;

/// The causes that slow the TCP connections of a capture, as `redpoll why` finds them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Diagnosis {
    /// Connections with their causes.
    pub connections: Vec<Connection>,
}

/// A connection of a capture.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Connection {
    /// Endpoints of the connection and number of bytes that it carried, as text.
    pub what: String,
    /// The causes, the most costly one first.
    pub causes: Vec<Cause>,
}

/// A cause that slows a connection.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Cause {
    pub title: String,
    /// Time that the cause cost, as a share of the time with data in flight, 0 to 1.
    pub share: f64,
    /// Symptom in the capture.
    pub seen: String,
    pub remedy: String,
}

/// Maximum number of slowed connections that the page lists with their causes.
const CONNECTIONS: usize = 8;

pub(super) fn write(
    page: &mut String,
    report: &Report,
    diagnosis: Option<&Diagnosis>,
    version: &str,
) {
    let _ = writeln!(
        page,
        "<p class=\"big\"><strong>{}</strong></p>",
        escape(&headline(report))
    );
    verdict(page, report, diagnosis);
    let command = escape(&command(report));
    let _ = writeln!(
        page,
        "<p>This command repeats the run:</p>\n<pre tabindex=\"0\">{command}</pre>"
    );
    about(page, report, version);
}

/// Returns one sentence about what the flows delivered.
fn headline(report: &Report) -> String {
    let flows = report.flows();
    let delivered = |flow: &Value| flow["delivered_bytes"].as_f64().unwrap_or(0.0);
    let rate = |flow: &Value| flow["goodput_kbps"].as_f64().unwrap_or(0.0);
    let all: f64 = flows.iter().map(delivered).sum();
    let by_rate = |a: &&Value, b: &&Value| rate(a).total_cmp(&rate(b));
    let slowest = flows.iter().min_by(by_rate);
    let fastest = flows.iter().max_by(by_rate);
    match (flows, slowest.zip(fastest)) {
        ([flow], _) => {
            let from_to = format!("{} to {}", name(flow, "from"), name(flow, "to"));
            let lost = flow["segment_loss"].as_f64().unwrap_or(0.0);
            format!(
                "{} delivered {} bytes from {from_to} at {} kb/s, and lost {} % of its segments.",
                name(flow, "name"),
                number(delivered(flow)),
                number(rate(flow)),
                number(100.0 * lost)
            )
        }
        (_, Some((slowest, fastest))) => format!(
            "{} delivered {} bytes: {} at {} kb/s was the fastest, {} at {} kb/s the slowest.",
            counted(flows.len(), "flow"),
            number(all),
            name(fastest, "name"),
            number(rate(fastest)),
            name(slowest, "name"),
            number(rate(slowest))
        ),
        (_, None) => "The scenario has no flows.".to_owned(),
    }
}

/// Writes whether the oracle found violations, and the causes that slow the flows.
fn verdict(page: &mut String, report: &Report, diagnosis: Option<&Diagnosis>) {
    let violations = report.value()["oracle"]["violations"].as_array();
    match violations.filter(|it| !it.is_empty()) {
        None => page.push_str("<p class=\"yes\">The oracle found no violation.</p>\n"),
        Some(violations) => {
            page.push_str("<p class=\"no\">The oracle found:</p><ul>");
            for violation in violations {
                let text = violation.as_str().unwrap_or_default();
                let _ = write!(page, "<li class=\"no\">{}</li>", escape(text));
            }
            page.push_str("</ul>\n");
        }
    }
    let Some(diagnosis) = diagnosis else {
        return;
    };
    let slowed = || {
        diagnosis
            .connections
            .iter()
            .filter(|it| !it.causes.is_empty())
    };
    if slowed().next().is_none() {
        let text = match diagnosis.connections.len() {
            0 => "The capture has no TCP connection.".to_owned(),
            count => format!(
                "No known cause slows {} in the capture (<code>redpoll why</code>).",
                counted(count, "TCP connection")
            ),
        };
        let _ = writeln!(page, "<p>{text}</p>");
        return;
    }
    page.push_str("<p>Causes that slow the flows (<code>redpoll why</code>):</p>\n");
    for connection in slowed().take(CONNECTIONS) {
        let _ = write!(
            page,
            "<div class=\"miss\"><p>{}</p>",
            escape(&connection.what)
        );
        for cause in &connection.causes {
            let _ = write!(
                page,
                "<p><strong>{}</strong>, {} % of the time with data in flight. <small>{}.</small>\
                 <br>Remedy: {}.</p>",
                escape(&cause.title),
                number((100.0 * cause.share).round()),
                escape(&cause.seen),
                escape(&cause.remedy)
            );
        }
        page.push_str("</div>\n");
    }
    let more = slowed().count().saturating_sub(CONNECTIONS);
    if more > 0 {
        let _ = writeln!(
            page,
            "<p>{} more: <code>redpoll why</code> prints them.</p>",
            counted(more, "slowed connection")
        );
    }
}

/// Returns the command that repeats the run. For a scenario that is not built in, the command names
/// a file `NAME.toml`.
fn command(report: &Report) -> String {
    let scenario = report.scenario();
    let is_built_in = BUILT_IN.iter().any(|it| it.name == scenario);
    let file = if is_built_in {
        scenario.to_owned()
    } else {
        format!("{scenario}.toml")
    };
    let mut command = format!("redpoll run {} --seed {}", quoted(&file), report.seed());
    for (key, value) in report.value()["set"].as_object().into_iter().flatten() {
        let set = format!("{key}={}", value.as_str().unwrap_or_default());
        let _ = write!(command, " --set {}", quoted(&set));
    }
    command
}

/// Quotes a word for a shell, if it needs quotes.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-=/:".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn about(page: &mut String, report: &Report, version: &str) {
    let value = report.value();
    let seconds = value["simulated_s"].as_f64().unwrap_or(0.0);
    let medium = value["medium"]["model"].as_str().unwrap_or("unknown");
    let _ = writeln!(
        page,
        "<p>{}, {}, {} s of virtual time; medium: {}.</p>",
        counted(report.nodes().len(), "node"),
        counted(report.flows().len(), "flow"),
        number(seconds),
        escape(medium)
    );
    if let Some(set) = value["set"].as_object() {
        let keys = set.iter().map(|(key, value)| {
            let value = value.as_str().unwrap_or_default();
            format!("<code>{} = {}</code>", escape(key), escape(value))
        });
        let keys: Vec<String> = keys.collect();
        let _ = writeln!(
            page,
            "<p>Overrides of the scenario's file: {}.</p>",
            keys.join(", ")
        );
    }
    let _ = writeln!(
        page,
        "<p class=\"soft\">Written by Redpoll {} on {}.</p>",
        escape(version),
        today()
    );
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(flows: &[(&str, f64)]) -> Report {
        let flows: Vec<Value> = flows
            .iter()
            .map(|(name, rate)| {
                json!({"name": name, "from": "a", "to": "b", "goodput_kbps": rate,
                       "delivered_bytes": 100, "segment_loss": 0.051})
            })
            .collect();
        let set = json!({"mac.min_be": "3", "tcp.mss": "5 frames", "apps.x.on": "it's"});
        let value = json!({"scenario": "line-3", "seed": 7, "set": set, "flows": flows,
                           "nodes": []});
        Report::of(value).unwrap()
    }

    #[test]
    fn the_headline_names_the_flow_or_the_extremes() {
        assert_eq!(
            headline(&report(&[("bulk", 32.41)])),
            "bulk delivered 100 bytes from a to b at 32.4 kb/s, and lost 5.10 % of its segments."
        );
        assert_eq!(
            headline(&report(&[("x", 3.0), ("y", 9.0), ("z", 5.0)])),
            "3 flows delivered 300 bytes: y at 9 kb/s was the fastest, x at 3 kb/s the slowest."
        );
        assert_eq!(headline(&report(&[])), "The scenario has no flows.");
    }

    #[test]
    fn the_command_can_be_pasted_into_a_shell() {
        assert_eq!(
            command(&report(&[])),
            "redpoll run line-3 --seed 7 --set 'apps.x.on=it'\\''s' --set mac.min_be=3 --set \
             'tcp.mss=5 frames'"
        );
    }

    #[test]
    fn texts_of_a_diagnosis_are_no_markup() {
        let cause = Cause {
            title: "<b>".to_owned(),
            share: 0.104,
            seen: "<i>".to_owned(),
            remedy: "<u>".to_owned(),
        };
        let diagnosis = Diagnosis {
            connections: vec![Connection {
                what: "<script>".to_owned(),
                causes: vec![cause],
            }],
        };
        let mut page = String::new();
        write(
            &mut page,
            &report(&[("<img src=x>", 1.0)]),
            Some(&diagnosis),
            "1",
        );
        for tag in ["<b>", "<i>", "<u>", "<script>", "<img"] {
            assert!(!page.contains(tag), "{page}");
        }
        assert!(page.contains("10 % of the time"), "{page}");
    }
}
