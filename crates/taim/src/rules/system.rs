//! The firewall programs of this system, and the rules that they show.

use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

use super::ip6tables;
use super::model::{Effect, Firewall, Rule, Ruleset};
use super::nft;
use redpoll_program::{FAILED, Failure, USAGE};

pub(super) struct System {
    pub(super) rulesets: Vec<Ruleset>,
    /// Whether the tables of iptables exist in nftables.
    has_iptables: bool,
    /// Whether `ip6tables` has the older back end.
    is_legacy: bool,
}

impl System {
    pub(super) fn read() -> Result<System, Failure> {
        let mut system = System {
            rulesets: Vec::new(),
            has_iptables: false,
            is_legacy: false,
        };
        if let Some(text) = shown("nft", &["--json", "list", "ruleset"])? {
            let listed = nft::parse(&text).map_err(|error| {
                let line = format!(
                    "cannot read the JSON of `nft --json list ruleset`: {error}; install an nft with JSON support"
                );
                (FAILED, line)
            })?;
            system.has_iptables = listed.has_iptables;
            system.rulesets.push(listed.ruleset);
        }
        if let Some(version) = shown("ip6tables", &["--version"])? {
            system.is_legacy = !version.contains("nf_tables");
            system.save(Firewall::Ip6tables)?;
        }
        // Read the kernel's list of the older back end's tables, because running its program would
        // create the tables.
        let tables = std::fs::read_to_string("/proc/net/ip6_tables_names");
        let has_tables = tables.is_ok_and(|text| !text.trim().is_empty());
        if system.is_legacy {
            system.save(Firewall::Ip6tablesNft)?;
        } else if has_tables {
            system.save(Firewall::Ip6tablesLegacy)?;
        }
        Ok(system)
    }

    fn save(&mut self, firewall: Firewall) -> Result<(), Failure> {
        if let Some(text) = shown(&format!("{}-save", firewall.name()), &[])? {
            self.rulesets.push(ip6tables::parse(firewall, &text));
        }
        Ok(())
    }

    fn ruleset(&self, firewall: Firewall) -> Option<&Ruleset> {
        self.rulesets.iter().find(|it| it.firewall == firewall)
    }

    /// Returns the firewall under which [`System::read`] stored the rules of `asked`: the back end
    /// that the command `ip6tables` uses is stored as [`Firewall::Ip6tables`].
    pub(super) fn same(&self, asked: Firewall) -> Firewall {
        match asked {
            Firewall::Ip6tablesNft if !self.is_legacy => Firewall::Ip6tables,
            Firewall::Ip6tablesLegacy if self.is_legacy => Firewall::Ip6tables,
            asked => asked,
        }
    }

    /// Returns the program for new rules: the one that `asked` names, otherwise the one that has
    /// our rules, otherwise the one with which the system's other rules were made.
    pub(super) fn choose(&self, asked: Option<Firewall>) -> Result<Firewall, Failure> {
        if let Some(asked) = asked {
            return Ok(self.same(asked));
        }
        let has = |firewall, wanted: fn(&Rule) -> bool| {
            let set = self.ruleset(firewall);
            set.is_some_and(|set| set.chains.iter().any(|it| it.rules.iter().any(wanted)))
        };
        let all = self.rulesets.iter().map(|set| set.firewall);
        if let Some(ours) = all.into_iter().find(|it| has(*it, |rule| rule.is_ours)) {
            return Ok(ours);
        }
        let legacy = self.same(Firewall::Ip6tablesLegacy);
        if has(legacy, |_| true) {
            return Ok(legacy);
        }
        let has_nft = self.ruleset(Firewall::Nft);
        let is_native = has_nft.is_some_and(|set| !set.chains.is_empty());
        let is_compatible = self.has_iptables || has(Firewall::Ip6tables, |_| true);
        if is_native || has_nft.is_some() && !is_compatible {
            return Ok(Firewall::Nft);
        }
        if self.ruleset(Firewall::Ip6tables).is_some() {
            return Ok(Firewall::Ip6tables);
        }
        if has_nft.is_some() {
            return Ok(Firewall::Nft);
        }
        let line =
            "this system has neither nft nor ip6tables; install the package nftables or iptables";
        Err((FAILED, line.to_owned()))
    }

    pub(super) fn has_ip6tables(&self) -> bool {
        self.ruleset(Firewall::Ip6tables).is_some()
    }

    /// Returns, for each direction, whether a rule sends the TCP packets of `interface` to `queue`.
    pub(super) fn covers(&self, interface: &str, queue: u16) -> [bool; 2] {
        let mut covered = [false; 2];
        let is_it = |name: &Option<String>| name.as_deref().is_none_or(|it| it == interface);
        for set in &self.rulesets {
            set.for_each_reached(|chain, at, _| {
                let Some(rule) = chain.rules.get(at - 1) else {
                    return;
                };
                let is_queue = matches!(&rule.effect, Effect::Queue(it) if it.contains(queue));
                let is_tcp = rule.protocol.as_deref().is_none_or(|it| it == "tcp");
                if is_queue && is_tcp {
                    covered[0] |= is_it(&rule.from) && rule.to.is_none();
                    covered[1] |= is_it(&rule.to) && rule.from.is_none();
                }
            });
        }
        covered
    }
}

fn command(program: &str) -> Command {
    // Users often have no folder for system programs in their path.
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    command.env("LC_ALL", "C");
    command
}

/// Returns the output of a program; `None` if there is no such program.
fn shown(program: &str, args: &[&str]) -> Result<Option<String>, Failure> {
    let output = match command(program).args(args).stdin(Stdio::null()).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let line = format!("cannot run {program}: {error}; check that it is executable");
            return Err((FAILED, line));
        }
        Ok(output) => output,
    };
    if !output.status.success() {
        let args = args.join(" ");
        let line = format!(
            "`{program} {args}` failed: {}; run the command as root",
            first_error(&output)
        );
        return Err((USAGE, line.replace(" ` failed", "` failed")));
    }
    Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
}

/// Returns the line of standard error that states the problem.
fn first_error(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let chosen = lines.clone().find(|line| !line.contains("Warning"));
    let line = chosen.or(lines.next()).unwrap_or("no message");
    line.trim_end_matches('.').to_owned()
}

/// A program with its input that changes the rules completely or not at all.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) program: String,
    pub(super) args: Vec<&'static str>,
    pub(super) input: String,
}

impl Change {
    /// Returns the change as lines for a shell.
    pub(super) fn shown(&self) -> String {
        let words = [&[self.program.as_str()], &self.args[..]]
            .concat()
            .join(" ");
        format!("{words} <<'END'\n{}END\n", self.input)
    }

    pub(super) fn nft(input: String) -> Change {
        Change {
            program: Firewall::Nft.name().to_owned(),
            args: vec!["-f", "-"],
            input,
        }
    }

    pub(super) fn ip6tables(firewall: Firewall, lines: &[String]) -> Change {
        Change {
            program: format!("{}-restore", firewall.name()),
            args: vec!["--noflush", "--wait", "5"],
            input: ip6tables::script(lines),
        }
    }

    /// Returns whether the kernel would accept the change, which only nft can try.
    pub(super) fn is_possible(&self) -> bool {
        let mut trial = self.clone();
        trial.args.insert(0, "-c");
        trial.run().is_ok_and(|output| output.status.success())
    }

    /// Applies the change. Fails if the program is missing or refuses the change; then no rule has
    /// changed.
    pub(super) fn apply(&self) -> Result<(), Failure> {
        let program = &self.program;
        let output = self.run().map_err(|error| {
            let remedy = match error.kind() {
                io::ErrorKind::NotFound => "; install it, or choose another with --firewall",
                _ => "",
            };
            (FAILED, format!("cannot run {program}: {error}{remedy}"))
        })?;
        if output.status.success() {
            return Ok(());
        }
        let is_nft = program == Firewall::Nft.name();
        let module = if is_nft { "nft_queue" } else { "xt_NFQUEUE" };
        let line = format!(
            "{program} refused the rules, and nothing has changed: {}; if the kernel lacks queues: modprobe {module}, or choose another program with --firewall",
            first_error(&output)
        );
        Err((FAILED, line))
    }

    fn run(&self) -> io::Result<Output> {
        let mut command = command(&self.program);
        command
            .args(&self.args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // Ignore an error: a program that ends early reports its reason in its output.
            let _ = input.write_all(self.input.as_bytes());
        }
        child.wait_with_output()
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::Chain;
    use super::*;

    /// A system with these firewall programs, each with a chain of these rules, or without a chain.
    fn system(rulesets: &[(Firewall, Option<&[Rule]>)]) -> System {
        let rulesets = rulesets.iter().map(|(firewall, rules)| Ruleset {
            firewall: *firewall,
            chains: rules.map_or_else(Vec::new, |rules| {
                vec![Chain {
                    rules: rules.to_vec(),
                    ..Chain::default()
                }]
            }),
        });
        System {
            rulesets: rulesets.collect(),
            has_iptables: false,
            is_legacy: false,
        }
    }

    #[test]
    fn new_rules_go_where_the_rules_of_the_system_are() {
        use Firewall::{Ip6tables, Ip6tablesLegacy, Ip6tablesNft, Nft};
        let (other, ours) = (
            [Rule::default()],
            [Rule {
                is_ours: true,
                ..Rule::default()
            }],
        );
        let chosen = |system: &System| system.choose(None).map_err(|(code, _)| code);
        // Both programs, without rules: nft, unless iptables has tables in it.
        let mut both = system(&[(Nft, None), (Ip6tables, None)]);
        assert_eq!(chosen(&both), Ok(Nft));
        both.has_iptables = true;
        assert_eq!(chosen(&both), Ok(Ip6tables));
        // The rules of the administrator decide, and our own rules before them.
        assert_eq!(
            chosen(&system(&[(Nft, None), (Ip6tables, Some(&other))])),
            Ok(Ip6tables)
        );
        assert_eq!(
            chosen(&system(&[(Nft, Some(&other)), (Ip6tables, None)])),
            Ok(Nft)
        );
        assert_eq!(
            chosen(&system(&[(Nft, Some(&other)), (Ip6tables, Some(&ours))])),
            Ok(Ip6tables)
        );
        assert_eq!(
            chosen(&system(&[(Nft, Some(&ours)), (Ip6tables, Some(&other))])),
            Ok(Nft)
        );
        // Rules of the older back end, whichever back end the command `ip6tables` has.
        let older = system(&[
            (Nft, None),
            (Ip6tables, None),
            (Ip6tablesLegacy, Some(&other)),
        ]);
        assert_eq!(chosen(&older), Ok(Ip6tablesLegacy));
        let mut legacy = system(&[(Nft, None), (Ip6tables, Some(&other))]);
        legacy.is_legacy = true;
        assert_eq!(chosen(&legacy), Ok(Ip6tables));
        // One program, or none.
        assert_eq!(chosen(&system(&[(Nft, None)])), Ok(Nft));
        assert_eq!(chosen(&system(&[(Ip6tables, None)])), Ok(Ip6tables));
        assert_eq!(chosen(&system(&[])), Err(FAILED));
        // The user's choice, under the name by which its rules are known.
        assert_eq!(
            older.choose(Some(Ip6tablesNft)).map_err(|it| it.0),
            Ok(Ip6tables)
        );
        assert_eq!(
            legacy.choose(Some(Ip6tablesLegacy)).map_err(|it| it.0),
            Ok(Ip6tables)
        );
    }
}
