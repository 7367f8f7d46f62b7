//! Rules in the form of ip6tables-save(8), and the change that installs or removes ours.

use super::COMMENT;
use super::model::{Chain, Effect, Firewall, Queue, Rule, Ruleset};

pub(super) fn parse(firewall: Firewall, text: &str) -> Ruleset {
    let mut chains: Vec<Chain> = Vec::new();
    let mut table = "";
    for line in text.lines() {
        if let Some(name) = line.strip_prefix('*') {
            table = name.trim();
        } else if let Some(declared) = line.strip_prefix(':') {
            let mut words = declared.split_whitespace();
            let name = words.next().unwrap_or_default();
            let policy = words.next().unwrap_or_default();
            chains.push(Chain {
                table: table.to_owned(),
                name: name.to_owned(),
                is_forward: name == "FORWARD",
                drops: policy == "DROP",
                rules: Vec::new(),
            });
        } else if line.starts_with("-A ") {
            let words = words(line);
            let named = words.get(1).cloned().unwrap_or_default();
            let rule = rule(line, &words);
            let mut of_table = chains.iter_mut().filter(|chain| chain.table == table);
            if let Some(chain) = of_table.find(|chain| chain.name == named) {
                chain.rules.push(rule);
            }
        }
    }
    // The target of a rule is a chain only if the table has one of this name.
    let names: Vec<(String, String)> = chains
        .iter()
        .map(|chain| (chain.table.clone(), chain.name.clone()))
        .collect();
    for chain in &mut chains {
        for rule in &mut chain.rules {
            if let Effect::Jump(target) = &rule.effect
                && !names.contains(&(chain.table.clone(), target.clone()))
            {
                rule.effect = Effect::Other;
            }
        }
    }
    Ruleset { firewall, chains }
}

/// Splits a line as a shell does, as far as ip6tables-save quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let (mut is_quoted, mut is_escaped) = (false, false);
    for c in line.chars() {
        match c {
            _ if is_escaped => {
                word.get_or_insert_default().push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !is_quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn rule(line: &str, words: &[String]) -> Rule {
    let after = |names: &[&str]| {
        let at = words
            .iter()
            .position(|word| names.contains(&word.as_str()))?;
        // If `!` precedes the option, the rule matches everything but the value.
        let is_negated = at > 0 && words.get(at - 1).is_some_and(|word| word == "!");
        words.get(at + 1).filter(|_| !is_negated).cloned()
    };
    let interface = |names: &[&str]| after(names).filter(|name| !name.ends_with('+'));
    let has = |name: &str| words.iter().any(|word| word == name);
    let effect = match after(&["-j", "-g", "--jump", "--goto"]).as_deref() {
        Some("DROP" | "REJECT") => Effect::Drop,
        Some("NFQUEUE") => {
            let number = |text: &str| text.parse::<u16>().ok();
            let balance = after(&["--queue-balance"]);
            let balance = balance.as_deref().and_then(|range| range.split_once(':'));
            let (first, last) = match balance {
                Some((first, last)) => (number(first), number(last)),
                None => {
                    let one = after(&["--queue-num"]).and_then(|text| number(&text));
                    (one, one)
                }
            };
            let first = first.unwrap_or(0);
            Effect::Queue(Queue {
                first,
                last: last.unwrap_or(first),
                has_bypass: has("--queue-bypass"),
            })
        }
        Some(target) => Effect::Jump(target.to_owned()),
        None => Effect::Other,
    };
    Rule {
        text: line.to_owned(),
        effect,
        from: interface(&["-i", "--in-interface"]),
        to: interface(&["-o", "--out-interface"]),
        protocol: after(&["-p", "--protocol"]),
        is_ours: after(&["--comment"]).as_deref() == Some(COMMENT),
    }
}

pub(super) fn rules(interface: &str, queue: u16) -> [String; 2] {
    ["-i", "-o"].map(|way| {
        format!(
            "-A FORWARD {way} {interface} -p tcp -m comment --comment {COMMENT} -j NFQUEUE --queue-num {queue} --queue-bypass"
        )
    })
}

/// Returns the input of `ip6tables-restore --noflush` for changes of the table `mangle`, which
/// the kernel makes in one transaction.
pub(super) fn script(lines: &[String]) -> String {
    format!("*mangle\n{}\nCOMMIT\n", lines.join("\n"))
}

pub(super) fn removal(rule: &Rule) -> String {
    rule.text.replacen("-A ", "-D ", 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAVED: &str = r#"# Generated by ip6tables-save
*mangle
:FORWARD ACCEPT [0:0]
-A FORWARD -i wpan0 -p tcp -m comment --comment redpoll-taim -j NFQUEUE --queue-num 3 --queue-bypass
-A FORWARD ! -o eth0 -j MARK --set-xmark 0x1/0xffffffff
COMMIT
*filter
:FORWARD DROP [0:0]
:mesh - [0:0]
-A FORWARD -m comment --comment "a \"quoted\" -j DROP" -j mesh
-A mesh -i wpan+ -j NFQUEUE --queue-balance 2:5
-A mesh -p tcp -m tcp --dport 23 -j REJECT --reject-with icmp6-port-unreachable
COMMIT
"#;

    #[test]
    fn saved_rules_are_read() {
        let all = parse(Firewall::Ip6tables, SAVED);
        let [mangle, forward, mesh] = &all.chains[..] else {
            panic!("{all:?}")
        };
        let queue = |first, last, has_bypass| {
            Effect::Queue(Queue {
                first,
                last,
                has_bypass,
            })
        };
        assert_eq!(mangle.rules[0].effect, queue(3, 3, true));
        assert_eq!(mangle.rules[0].from.as_deref(), Some("wpan0"));
        assert!(mangle.rules[0].is_ours && !mangle.rules[1].is_ours);
        assert_eq!(mangle.rules[1].effect, Effect::Other);
        assert_eq!(mangle.rules[1].to, None);
        assert!(forward.is_forward && forward.drops && !mesh.is_forward);
        assert_eq!(forward.rules[0].effect, Effect::Jump("mesh".to_owned()));
        assert_eq!(mesh.rules[0].effect, queue(2, 5, false));
        assert_eq!(mesh.rules[0].from, None);
        assert_eq!(mesh.rules[1].effect, Effect::Drop);
        let mut reached = Vec::new();
        all.for_each_reached(|chain, at, drop| reached.push((chain.name.clone(), at, drop)));
        assert_eq!(reached[0], ("FORWARD".to_owned(), 1, None));
        assert_eq!(reached[1].0, "mesh");
        assert!(
            reached[1]
                .2
                .as_ref()
                .is_some_and(|it| it.contains("REJECT"))
        );
    }

    #[test]
    fn a_later_rule_for_other_packets_is_no_danger() {
        let text = "*filter\n:FORWARD ACCEPT [0:0]\n\
            -A FORWARD -i wpan0 -p tcp -j NFQUEUE --queue-num 0 --queue-bypass\n\
            -A FORWARD -i eth1 -j DROP\n-A FORWARD -p udp -j DROP\nCOMMIT\n";
        let mut found = Vec::new();
        parse(Firewall::Ip6tables, text).for_each_reached(|_, _, drop| found.push(drop));
        assert_eq!(found, [None]);
        let closed = text.replace("FORWARD ACCEPT", "FORWARD DROP");
        let mut found = Vec::new();
        parse(Firewall::Ip6tables, &closed).for_each_reached(|_, _, drop| found.push(drop));
        assert!(found[0].as_ref().is_some_and(|it| it.contains("policy")));
    }
}
