//! Finds rules that endanger the firewall or the traffic, and missing rules.

use std::fmt::Write as _;

use serde_json::json;

use super::model::{Chain, Effect, Firewall, Queue, Rule};
use super::system::System;
use super::{Place, exists, may, missing};
use crate::called;
use redpoll_program::{Failure, USAGE};

/// The kernel's list of queues with the program that reads each.
const QUEUES: &str = "/proc/net/netfilter/nfnetlink_queue";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Severity {
    Note,
    Missing,
    Dangerous,
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Missing => "missing",
            Severity::Dangerous => "dangerous",
        }
    }
}

struct Finding {
    severity: Severity,
    kind: &'static str,
    text: String,
    remedy: String,
}

/// Checks the firewall's rules. Returns the exit code and the report of the findings.
pub(super) fn check(place: &Place, is_json: bool) -> Result<(u8, String), Failure> {
    may("read")?;
    let system = System::read()?;
    let queues = std::fs::read_to_string(QUEUES).or_else(|error| match error.kind() {
        // The module of the queues is not loaded.
        std::io::ErrorKind::NotFound => Ok(String::new()),
        _ => Err((
            USAGE,
            format!("cannot read {QUEUES}: {error}; run the command as root"),
        )),
    })?;
    let findings = find(place, &system, &queues)?;
    let worst = findings.iter().map(|finding| finding.severity).max();
    let verdict = match worst {
        Some(severity) if severity > Severity::Note => severity.name(),
        _ => "safe",
    };
    let code = u8::from(verdict != "safe");
    if is_json {
        return Ok((code, shown_json(place, verdict, &findings)));
    }
    let mut text = String::new();
    for finding in &findings {
        let _ = writeln!(text, "{}: {}", finding.severity.name(), finding.text);
        let _ = writeln!(text, "  remedy: {}", finding.remedy);
    }
    if code == 0 {
        let Place {
            interface, queue, ..
        } = place;
        let _ = writeln!(
            text,
            "safe: TCP of {interface} is sent to queue {queue}, a program reads the queue, and packets from the queue skip no rule of the firewall"
        );
    }
    Ok((code, text))
}

fn shown_json(place: &Place, verdict: &str, findings: &[Finding]) -> String {
    let findings: Vec<_> = findings
        .iter()
        .map(|it| {
            json!({
                "severity": it.severity.name(),
                "kind": it.kind,
                "text": it.text,
                "remedy": it.remedy,
            })
        })
        .collect();
    let object = json!({
        "version": 1,
        "interface": place.interface,
        "queue": place.queue,
        "verdict": verdict,
        "findings": findings,
    });
    format!("{object}\n")
}

fn find(place: &Place, system: &System, queues: &str) -> Result<Vec<Finding>, Failure> {
    let Place {
        interface, queue, ..
    } = place;
    let mut findings = Vec::new();
    for set in &system.rulesets {
        set.for_each_reached(|chain, at, later| {
            let Some(rule) = chain.rules.get(at - 1) else {
                return;
            };
            if let Effect::Queue(of) = &rule.effect
                && of.contains(*queue)
            {
                findings.extend(dangers(set.firewall, chain, (at, rule, of), later));
            }
        });
    }
    let covered = system.covers(interface, *queue);
    if covered == [false; 2] && !exists(interface) {
        return Err(missing(interface));
    }
    let ways = ["that arrive at", "that leave through"];
    for (way, _) in ways.iter().zip(covered).filter(|(_, is_so)| !is_so) {
        findings.push(Finding {
            severity: Severity::Missing,
            kind: "no_rule",
            text: format!("no rule sends TCP packets {way} {interface} to queue {queue}"),
            remedy: format!(
                "{} install --interface {interface} --queue {queue}",
                called()
            ),
        });
    }
    if !has_reader(queues, *queue) {
        findings.push(Finding {
            severity: Severity::Missing,
            kind: "no_program",
            text: format!("no program reads queue {queue}, so packets are not scheduled"),
            remedy: format!(
                "systemctl start redpoll-taim, or {} --queue {queue}",
                called()
            ),
        });
    }
    if !exists(interface) {
        findings.push(Finding {
            severity: Severity::Note,
            kind: "no_interface",
            text: format!("the interface {interface} does not exist at present"),
            remedy: "start the mesh; the rules apply as soon as the interface exists".to_owned(),
        });
    }
    Ok(findings)
}

fn dangers(
    firewall: Firewall,
    chain: &Chain,
    (at, rule, queue): (usize, &Rule, &Queue),
    later: Option<String>,
) -> Vec<Finding> {
    let Chain { table, name, .. } = chain;
    let program = firewall.name();
    let place = format!("rule {at} of the chain {name} in the table {table} ({program})");
    let remove = match firewall {
        Firewall::Nft => {
            format!("remove the rule (`nft -a list chain {table} {name}` shows its handle)")
        }
        _ => format!("{program} -t {table} -D {name} {at}"),
    };
    let us = called();
    let move_it = if rule.is_ours {
        format!("{us} uninstall, then {us} install")
    } else {
        format!("{us} uninstall, then {remove}, then {us} install")
    };
    let mut findings = Vec::new();
    match later {
        Some(later) => findings.push(Finding {
            severity: Severity::Dangerous,
            kind: "skips_firewall",
            text: format!(
                "{place} sends packets to queue {}; a packet that leaves the queue skips the later rules of this table, and so is not dropped by {later}",
                queue.first
            ),
            remedy: move_it.clone(),
        }),
        None if table == "filter" => findings.push(Finding {
            severity: Severity::Note,
            kind: "before_firewall",
            text: format!(
                "{place} sends packets to queue {}; rules that you append to this table later do not apply to them",
                queue.first
            ),
            remedy: move_it.clone(),
        }),
        None => {}
    }
    if !queue.has_bypass {
        findings.push(Finding {
            severity: Severity::Dangerous,
            kind: "no_bypass",
            text: format!(
                "{place} has no bypass, so all its packets are dropped while no program reads queue {}",
                queue.first
            ),
            remedy: move_it,
        });
    }
    findings
}

fn has_reader(queues: &str, queue: u16) -> bool {
    let numbers = queues.lines().filter_map(|line| {
        let first = line.split_whitespace().next()?;
        first.parse::<u16>().ok()
    });
    numbers.into_iter().any(|number| number == queue)
}
