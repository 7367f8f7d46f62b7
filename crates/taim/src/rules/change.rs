//! Installs and removes the rules. Each change happens completely or not at all.

use super::model::{Effect, Firewall, Rule, Ruleset};
use super::system::{Change, System};
use super::{Place, exists, ip6tables, may, missing, nft};
use crate::called;
use redpoll_program::{FAILED, Failure};

/// Adds the rules, or with `is_print` only returns the commands for this.
pub(super) fn install(place: &Place, is_print: bool) -> Result<String, Failure> {
    let Place {
        interface, queue, ..
    } = place;
    if !is_print {
        may("change")?;
        if !exists(interface) {
            return Err(missing(interface));
        }
    }
    let system = System::read()?;
    let stale = has_stale(&system, place);
    if system.covers(interface, *queue) == [true; 2] && !stale {
        let said =
            format!("TCP of {interface} is sent to queue {queue} already; nothing was changed\n");
        return Ok(if is_print { format!("# {said}") } else { said });
    }
    let mut firewall = system.choose(place.firewall)?;
    let mut change = addition(&system, firewall, place);
    // A kernel may have nftables without support for queues. The rules are then added with
    // ip6tables.
    let is_free = place.firewall.is_none() && system.has_ip6tables();
    if firewall == Firewall::Nft && is_free && !change.is_possible() {
        firewall = Firewall::Ip6tables;
        change = addition(&system, firewall, place);
    }
    if is_print {
        return Ok(change.shown());
    }
    change.apply()?;
    if System::read()?.covers(interface, *queue) != [true; 2] {
        let undone = uninstall(place, false);
        let line = format!(
            "{} accepted the rules but does not show them, so they were removed again{}; see docs/taim-linux.md for rules to add by hand",
            firewall.name(),
            undone.map_or_else(
                |(_, why)| format!(" (this failed: {why})"),
                |_| String::new()
            )
        );
        return Err((FAILED, line));
    }
    Ok(format!(
        "TCP of {interface} is now sent to queue {queue} ({}); all packets pass while no program reads the queue\n",
        firewall.name()
    ))
}

/// Returns whether one of our rules for the interface names another queue.
fn has_stale(system: &System, place: &Place) -> bool {
    let mut rules = system
        .rulesets
        .iter()
        .flat_map(|set| set.chains.iter().flat_map(|chain| &chain.rules));
    rules.any(|rule| rule.is_ours && is_of(rule, &place.interface) && !is_to(rule, place.queue))
}

fn is_of(rule: &Rule, interface: &str) -> bool {
    let names = [&rule.from, &rule.to];
    names.iter().any(|name| name.as_deref() == Some(interface))
}

fn is_to(rule: &Rule, queue: u16) -> bool {
    matches!(&rule.effect, Effect::Queue(it) if it.first == queue && it.last == queue)
}

fn addition(system: &System, firewall: Firewall, place: &Place) -> Change {
    let set = system.rulesets.iter().find(|it| it.firewall == firewall);
    let (interface, queue) = (&place.interface, place.queue);
    if firewall == Firewall::Nft {
        let mut all = set.map(nft::installed).unwrap_or_default();
        all.retain(|(name, _)| name != interface);
        all.push((interface.clone(), queue));
        return Change::nft(nft::script(&all));
    }
    let is_ours = |rule: &Rule| rule.is_ours && is_of(rule, interface);
    let old = set.map(|set| of_mangle(set, |rule| is_ours(rule) && !is_to(rule, queue)));
    let mut lines: Vec<String> = old.unwrap_or_default();
    let kept = set.map(|set| of_mangle(set, |rule| is_ours(rule) && is_to(rule, queue)));
    let kept = kept.unwrap_or_default();
    let [arriving, leaving] = ip6tables::rules(interface, queue);
    for (way, line) in [(" -i ", arriving), (" -o ", leaving)] {
        if !kept.iter().any(|rule| rule.contains(way)) {
            lines.push(line);
        }
    }
    Change::ip6tables(firewall, &lines)
}

/// Returns the lines that remove the rules of the table `mangle` that `wanted` selects.
fn of_mangle(set: &Ruleset, wanted: impl Fn(&Rule) -> bool) -> Vec<String> {
    let chains = set
        .chains
        .iter()
        .filter(|chain| chain.table == "mangle" && chain.is_forward);
    chains
        .flat_map(|chain| &chain.rules)
        .filter(|rule| wanted(rule))
        .map(ip6tables::removal)
        .collect()
}

/// Removes the rules, or with `is_print` only returns the commands for this.
pub(super) fn uninstall(place: &Place, is_print: bool) -> Result<String, Failure> {
    if !is_print {
        may("change")?;
    }
    let system = System::read()?;
    let mut changes = Vec::new();
    let asked = place.firewall.map(|asked| system.same(asked));
    for set in &system.rulesets {
        if asked.is_some_and(|asked| asked != set.firewall) {
            continue;
        }
        if set.firewall == Firewall::Nft {
            let installed = nft::installed(set);
            let mut rest = installed.clone();
            rest.retain(|(name, _)| place.is_named && *name != place.interface);
            if rest.len() < installed.len() {
                changes.push(Change::nft(nft::script(&rest)));
            }
            continue;
        }
        let is_by_hand = |rule: &Rule| {
            place.is_named && is_to(rule, place.queue) && rule.protocol.as_deref() == Some("tcp")
        };
        let lines = of_mangle(set, |rule| {
            (rule.is_ours || is_by_hand(rule)) && (!place.is_named || is_of(rule, &place.interface))
        });
        if !lines.is_empty() {
            changes.push(Change::ip6tables(set.firewall, &lines));
        }
    }
    if is_print {
        return Ok(changes.iter().map(Change::shown).collect());
    }
    for change in &changes {
        change.apply()?;
    }
    let said = if changes.is_empty() {
        let us = called();
        format!("there were no rules of `{us} install`; nothing was changed\n")
    } else {
        "the rules were removed; packets pass the firewall as before the installation\n".to_owned()
    };
    Ok(said)
}
