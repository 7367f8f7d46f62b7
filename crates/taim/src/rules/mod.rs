//! The firewall rules that send forwarded TCP packets to the queue: `redpoll taim install`,
//! `uninstall` and `check`.
//!
//! - `model`: chains and rules, whichever program shows them;
//! - `ip6tables`, `nft`: the texts of these programs;
//! - `system`: the programs of this system;
//! - `change`: installs and removes rules;
//! - `check`: finds rules that endanger the firewall, and missing rules.
//!
//! A packet that leaves an NFQUEUE skips the rest of its table, so our rules are in the table
//! `mangle` behind its other rules, and the firewall in `filter` still decides. With nft they are
//! in a separate table with the priority of `mangle`.

mod change;
mod check;
mod ip6tables;
mod model;
mod nft;
mod system;

use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use nix::net::if_::{if_nameindex, if_nametoindex};

use super::args::ConfigArgs;
use super::config::ConfigFile;
use super::settings::INTERFACE;
use model::Firewall;
use redpoll_program::Failure;
use redpoll_program::output::{fail, print};
use redpoll_program::{FAILED, USAGE};

const COMMENT: &str = "redpoll-taim";

/// The commands below `redpoll taim`.
#[derive(Debug, Subcommand)]
pub enum RulesCommand {
    Install(InstallArgs),
    Uninstall(UninstallArgs),
    Check(CheckArgs),
}

/// Add the firewall rules that send the TCP packets of an interface to the queue.
///
/// Adds one rule for each direction, with the program that this system uses (nft or ip6tables). The
/// rules are in the table mangle (with nft: in a separate table with the priority of mangle), so
/// that the firewall still decides about every packet. The rules let all packets pass while no
/// program reads the queue. Either all rules are added or none. If such a rule exists already, the
/// command does not add it again. The rules last until the computer restarts; a service can run
/// this command before the daemon.
///
/// Exit code: 0 when the rules are there, 1 when the firewall refuses them, 2 when an option
/// cannot be used, the interface does not exist, or the user may not change the firewall.
#[derive(Debug, Args)]
pub struct InstallArgs {
    #[command(flatten)]
    place: PlaceArgs,

    /// Write the commands to standard output and change nothing
    #[arg(long)]
    print: bool,
}

/// Remove the firewall rules that `install` added.
///
/// Removes the rules of every interface, or those of --interface. With --interface, also removes
/// rules for that interface and queue in the table mangle of ip6tables that were added by hand.
///
/// Exit code: 0 when no such rule is left, 1 when the firewall refuses the change, 2 when an option
/// cannot be used or the user may not change the firewall.
#[derive(Debug, Args)]
pub struct UninstallArgs {
    #[command(flatten)]
    place: PlaceArgs,

    /// Write the commands to standard output and change nothing
    #[arg(long)]
    print: bool,
}

/// Check that the firewall rules send packets to the queue, and let no packet bypass the firewall.
///
/// Finds rules for the queue, such as an NFQUEUE rule in the table filter, whose packets skip later
/// rules that drop packets. Also finds rules that block all packets while no program reads the
/// queue, directions of the interface without a rule, and a queue that no program reads.
///
/// Exit code: 0 when nothing is dangerous or missing, 1 when something is, 2 when an option cannot
/// be used or the user may not read the rules.
#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    place: PlaceArgs,

    /// Write the result as a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct PlaceArgs {
    /// Interface of the mesh [default: wpan0; for `uninstall`, every interface]
    #[arg(long, value_name = "NAME", value_parser = interface)]
    interface: Option<String>,

    /// Number of the NFQUEUE queue [default: 0]
    #[arg(long, value_name = "N")]
    queue: Option<u16>,

    #[command(flatten)]
    config: ConfigArgs,

    /// Program that changes the rules; without this option, the one that this system uses
    #[arg(long, value_enum)]
    firewall: Option<FirewallArg>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FirewallArg {
    Nft,
    Ip6tables,
    Ip6tablesLegacy,
    Ip6tablesNft,
}

impl From<FirewallArg> for Firewall {
    fn from(arg: FirewallArg) -> Firewall {
        match arg {
            FirewallArg::Nft => Firewall::Nft,
            FirewallArg::Ip6tables => Firewall::Ip6tables,
            FirewallArg::Ip6tablesLegacy => Firewall::Ip6tablesLegacy,
            FirewallArg::Ip6tablesNft => Firewall::Ip6tablesNft,
        }
    }
}

/// Interface and queue of the rules, and the program that changes them.
struct Place {
    interface: String,
    /// Whether the user named the interface.
    is_named: bool,
    queue: u16,
    firewall: Option<Firewall>,
}

impl PlaceArgs {
    fn place(&self) -> Result<Place, Failure> {
        let file = ConfigFile::of(&self.config).read()?.unwrap_or_default();
        let interface = self.interface.clone().or(file.interface);
        Ok(Place {
            interface: interface.unwrap_or(INTERFACE.to_owned()),
            is_named: self.interface.is_some(),
            queue: self.queue.or(file.queue).unwrap_or(0),
            firewall: self.firewall.map(Firewall::from),
        })
    }
}

/// Checks the name of an interface, as the kernel does (`dev_valid_name`), and that no firewall
/// reads it as a pattern.
pub(super) fn interface(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.', '@'].contains(&c);
    let is_name = (1..=15).contains(&text.len())
        && text.chars().all(is_plain)
        && text != "."
        && text != ".."
        && !text.starts_with('-');
    is_name
        .then(|| text.to_owned())
        .ok_or_else(|| "allowed: 1 to 15 letters, digits, or - _ . @, such as wpan0".to_owned())
}

fn exists(interface: &str) -> bool {
    if_nametoindex(interface).is_ok()
}

fn missing(interface: &str) -> Failure {
    let present = if_nameindex().map_or(String::new(), |all| {
        let names: Vec<String> = all
            .iter()
            .map(|it| it.name().to_string_lossy().into_owned())
            .collect();
        names.join(", ")
    });
    let line = format!(
        "the interface {interface} does not exist (present: {present}); start the mesh first, or choose another with --interface NAME"
    );
    (USAGE, line)
}

/// Refuses users who may not see or change the rules.
fn may(what: &str) -> Result<(), Failure> {
    if redpoll_linux::privilege::has_net_admin() {
        return Ok(());
    }
    let line = format!("no permission to {what} the firewall's rules; run the command as root");
    Err((USAGE, line))
}

pub fn run(command: &RulesCommand) -> ExitCode {
    let done = match command {
        RulesCommand::Install(args) => args
            .place
            .place()
            .and_then(|place| change::install(&place, args.print))
            .map(|text| (0, text)),
        RulesCommand::Uninstall(args) => args
            .place
            .place()
            .and_then(|place| change::uninstall(&place, args.print))
            .map(|text| (0, text)),
        RulesCommand::Check(args) => args
            .place
            .place()
            .and_then(|place| check::check(&place, args.json)),
    };
    match done {
        Ok((code, text)) => match print(&text) {
            Ok(()) => ExitCode::from(code),
            Err(error) => fail(FAILED, format!("cannot write to standard output: {error}")),
        },
        Err((code, line)) => fail(code, line),
    }
}

#[cfg(test)]
mod tests {
    use super::interface;

    #[test]
    fn names_of_interfaces_are_those_of_the_kernel() {
        for name in ["wpan0", "eth0.1", "br-lan", "a", "fifteen_letters"] {
            assert_eq!(interface(name).as_deref(), Ok(name));
        }
        for name in [
            "",
            "sixteen_letters_",
            "a b",
            "a/b",
            "wpan+",
            "wp*",
            "a\"b",
            "..",
            "-i",
        ] {
            assert!(interface(name).is_err(), "{name}");
        }
    }
}
