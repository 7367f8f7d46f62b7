//! Rules in the form of `nft --json list ruleset` (libnftables-json(5)), and our own table.

use std::collections::BTreeSet;

use serde_json::Value;

use super::COMMENT;
use super::model::{Chain, Effect, Firewall, Queue, Rule, Ruleset};

/// Our own table, in which no other program has rules.
pub(super) const TABLE: &str = "redpoll_taim";

/// Tables that belong to ip6tables or iptables, if a chain has an upper-case name.
const OF_IPTABLES: [&str; 5] = ["filter", "mangle", "nat", "raw", "security"];

/// The rules, and whether iptables manages some of the tables.
pub(super) struct Listed {
    pub(super) ruleset: Ruleset,
    pub(super) has_iptables: bool,
}

/// Reads the output of `nft --json list ruleset`. Leaves out tables of ip6tables, which
/// ip6tables-save shows.
pub(super) fn parse(text: &str) -> Result<Listed, serde_json::Error> {
    let root: Value = serde_json::from_str(text)?;
    let mut chains: Vec<Chain> = Vec::new();
    let text_of = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let objects = || root["nftables"].as_array().into_iter().flatten();
    let of_iptables: BTreeSet<String> = objects()
        .filter_map(|object| object.get("chain"))
        .filter(|chain| is_of_iptables(chain))
        .map(|chain| format!("{} {}", text_of(chain, "family"), text_of(chain, "table")))
        .collect();
    for object in objects() {
        if let Some(chain) = object.get("chain") {
            let family = text_of(chain, "family");
            let table = format!("{family} {}", text_of(chain, "table"));
            if of_iptables.contains(&table) {
                continue;
            }
            let is_ip6 = ["ip6", "inet"].contains(&family.as_str());
            chains.push(Chain {
                is_forward: is_ip6 && chain["hook"] == "forward",
                drops: chain["policy"] == "drop",
                table,
                name: text_of(chain, "name"),
                rules: Vec::new(),
            });
        } else if let Some(rule) = object.get("rule") {
            let table = format!("{} {}", text_of(rule, "family"), text_of(rule, "table"));
            let name = text_of(rule, "chain");
            let mut all = chains.iter_mut();
            if let Some(chain) = all.find(|it| it.table == table && it.name == name) {
                chain.rules.push(self::rule(rule));
            }
        }
    }
    let firewall = Firewall::Nft;
    Ok(Listed {
        ruleset: Ruleset { firewall, chains },
        has_iptables: !of_iptables.is_empty(),
    })
}

/// Returns whether the chain shows that iptables manages its table. Other chains of the same table
/// may have any name.
fn is_of_iptables(chain: &Value) -> bool {
    let text = |key: &str| chain[key].as_str().unwrap_or_default();
    let is_upper = |name: &str| name.chars().any(|c| c.is_ascii_uppercase());
    ["ip", "ip6"].contains(&text("family"))
        && OF_IPTABLES.contains(&text("table"))
        && is_upper(text("name"))
}

fn rule(value: &Value) -> Rule {
    let mut rule = Rule {
        is_ours: value["comment"] == COMMENT,
        ..Rule::default()
    };
    let mut shown = Vec::new();
    for step in value["expr"].as_array().into_iter().flatten() {
        if let Some(matched) = step.get("match") {
            shown.push(shown_match(matched));
            let key = &matched["left"]["meta"]["key"];
            let one = matched["right"].as_str().map(str::to_owned);
            if matched["op"] == "==" || matched["op"] == "in" {
                match key.as_str() {
                    Some("iifname" | "iif") => rule.from = one.filter(|it| !it.ends_with('*')),
                    Some("oifname" | "oif") => rule.to = one.filter(|it| !it.ends_with('*')),
                    Some("l4proto") => rule.protocol = one,
                    _ => {}
                }
            }
        } else if step.get("drop").is_some() || step.get("reject").is_some() {
            shown.push("drop".to_owned());
            rule.effect = Effect::Drop;
        } else if let Some(jump) = step.get("jump").or(step.get("goto")) {
            let target = jump["target"].as_str().unwrap_or_default().to_owned();
            shown.push(format!("jump {target}"));
            rule.effect = Effect::Jump(target);
        } else if let Some(queue) = step.get("queue") {
            let queue = self::queue(queue);
            shown.push(format!("queue num {}", queue.first));
            rule.effect = Effect::Queue(queue);
        } else if let Some(vmap) = step.get("vmap") {
            // A map of verdicts counts as a drop if one of its verdicts is a drop.
            shown.push("vmap".to_owned());
            if vmap.to_string().contains("\"drop\"") {
                rule.effect = Effect::Drop;
            }
        }
    }
    rule.text = shown.join(" ");
    rule
}

fn shown_match(matched: &Value) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let left = &matched["left"];
    let left = match (&left["meta"]["key"], &left["payload"]) {
        (Value::String(key), _) => key.clone(),
        (_, Value::Object(payload)) => {
            let part = |key| payload.get(key).map(plain).unwrap_or_default();
            format!("{} {}", part("protocol"), part("field"))
        }
        _ => plain(left),
    };
    format!("{left} {}", plain(&matched["right"]))
}

fn queue(value: &Value) -> Queue {
    let number = |value: &Value| value.as_u64().and_then(|it| u16::try_from(it).ok());
    let range = &value["num"]["range"];
    let first = number(&value["num"]).or(number(&range[0])).unwrap_or(0);
    let last = number(&range[1]).unwrap_or(first);
    let flags = &value["flags"];
    let mut listed = flags.as_array().into_iter().flatten();
    Queue {
        first,
        last,
        has_bypass: flags == "bypass" || listed.any(|flag| flag == "bypass"),
    }
}

/// Returns the interfaces for which our table has rules, each with its queue.
pub(super) fn installed(ruleset: &Ruleset) -> Vec<(String, u16)> {
    let table = format!("ip6 {TABLE}");
    let ours = ruleset.chains.iter().filter(|chain| chain.table == table);
    let mut found = Vec::new();
    for rule in ours.flat_map(|chain| &chain.rules) {
        if let (Some(interface), Effect::Queue(queue)) = (&rule.from, &rule.effect) {
            found.push((interface.clone(), queue.first));
        }
    }
    found
}

/// Returns the input of `nft -f -` that replaces our table in one transaction.
pub(super) fn script(interfaces: &[(String, u16)]) -> String {
    // `add` creates the table if it is missing, so `delete` always succeeds.
    let mut text = format!("add table ip6 {TABLE}\ndelete table ip6 {TABLE}\n");
    if interfaces.is_empty() {
        return text;
    }
    text += &format!(
        "table ip6 {TABLE} {{\n\tchain forward {{\n\t\ttype filter hook forward priority mangle; policy accept;\n"
    );
    for (interface, queue) in interfaces {
        for way in ["iifname", "oifname"] {
            text += &format!(
                "\t\t{way} \"{interface}\" meta l4proto tcp queue num {queue} bypass comment \"{COMMENT}\"\n"
            );
        }
    }
    text + "\t}\n}\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTED: &str = r#"{"nftables": [
        {"metainfo": {"version": "1.0.6", "json_schema_version": 1}},
        {"table": {"family": "ip6", "name": "redpoll_taim", "handle": 1}},
        {"chain": {"family": "ip6", "table": "redpoll_taim", "name": "forward", "handle": 1,
            "type": "filter", "hook": "forward", "prio": -150, "policy": "accept"}},
        {"rule": {"family": "ip6", "table": "redpoll_taim", "chain": "forward", "handle": 2,
            "comment": "redpoll-taim", "expr": [
            {"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": "wpan0"}},
            {"match": {"op": "==", "left": {"meta": {"key": "l4proto"}}, "right": "tcp"}},
            {"queue": {"num": 4, "flags": "bypass"}}]}},
        {"chain": {"family": "inet", "table": "fw", "name": "fwd", "handle": 1,
            "type": "filter", "hook": "forward", "prio": 0, "policy": "accept"}},
        {"chain": {"family": "inet", "table": "fw", "name": "inner", "handle": 2}},
        {"rule": {"family": "inet", "table": "fw", "chain": "fwd", "handle": 3, "expr": [
            {"queue": {"num": {"range": [0, 3]}, "flags": ["bypass", "fanout"]}}]}},
        {"rule": {"family": "inet", "table": "fw", "chain": "fwd", "handle": 4, "expr": [
            {"jump": {"target": "inner"}}]}},
        {"rule": {"family": "inet", "table": "fw", "chain": "inner", "handle": 5, "expr": [
            {"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}},
                "right": 6001}}, {"drop": null}]}},
        {"chain": {"family": "ip6", "table": "mangle", "name": "FORWARD", "handle": 1,
            "type": "filter", "hook": "forward", "prio": -150, "policy": "accept"}},
        {"chain": {"family": "ip6", "table": "mangle", "name": "of-the-user", "handle": 2}}
    ]}"#;

    #[test]
    fn a_listed_ruleset_is_read() {
        let Listed {
            ruleset,
            has_iptables,
        } = parse(LISTED).unwrap();
        assert!(has_iptables);
        assert_eq!(ruleset.chains.len(), 3);
        assert_eq!(installed(&ruleset), [("wpan0".to_owned(), 4)]);
        assert!(ruleset.chains[0].rules[0].is_ours);
        let mut found = Vec::new();
        ruleset.for_each_reached(|chain, at, drop| {
            let Effect::Queue(queue) = &chain.rules[at - 1].effect else {
                panic!("{chain:?}")
            };
            found.push((chain.table.clone(), *queue, drop));
        });
        let queue = |first, last| Queue {
            first,
            last,
            has_bypass: true,
        };
        assert_eq!(found[0], ("ip6 redpoll_taim".to_owned(), queue(4, 4), None));
        let later = Some("the rule `jump inner`".to_owned());
        assert_eq!(found[1], ("inet fw".to_owned(), queue(0, 3), later));
    }

    #[test]
    fn the_table_is_replaced_at_once() {
        let text = script(&[("wpan0".to_owned(), 0)]);
        assert!(text.starts_with("add table ip6 redpoll_taim\ndelete table ip6 redpoll_taim\n"));
        assert_eq!(text.matches("queue num 0 bypass").count(), 2, "{text}");
        assert!(!script(&[]).contains("chain"));
    }
}
