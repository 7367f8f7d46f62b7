//! `redpoll up --radio`: this computer is the border router of a real mesh.

use std::io::{ErrorKind, IsTerminal as _};
use std::path::Path;

use nix::sys::signal::Signal;
use redpoll_base::{Duration, Instant};
use redpoll_border::Gate;
use redpoll_linux::gateway::{Clock, Gateway};
use redpoll_linux::privilege::sandbox::Sandbox;
use redpoll_linux::radio::Radio;
use redpoll_linux::radio::counter::{CounterFile, Store};
use redpoll_linux::radio::line::LineSpec;
use redpoll_linux::radio::mesh::{Notice as RadioNotice, RadioMesh};
use redpoll_linux::radio::rcp::{Event, Identity};
use redpoll_linux::radio::spec::RadioSpec;
use redpoll_linux::reach::Reach;
use redpoll_linux::signals::{Notice, Signals};
use redpoll_sim::{NodeSpec, Scenario, node_on_radio};
use redpoll_stack::mac::RadioCaps;
use tracing::{error, info, warn};

use super::args::UpArgs;
use super::config::Reload;
use super::environment::Environment;
use super::losses::{Losses, log_forward};
use super::services::{exposed, listen, reserve_forwards, withheld};
use super::{failed, greeting, join, load, mesh, tell_hosts, unusable};
use crate::failure::Failure;
use crate::output;
use redpoll_program::log::{self, LogLevel};
use redpoll_program::notify::Supervisor;
use redpoll_program::output::explained;
use redpoll_program::rights::Rights;

/// Longest time for the set-up of a radio.
const PATIENCE: Duration = Duration::from_secs(15);

/// Runs until a signal. Returns the exit code.
pub(super) fn up(
    args: &UpArgs,
    url: &str,
    mut signals: Signals,
    rights: &Rights,
) -> Result<u8, Failure> {
    // Connects to the service manager before the sandbox restricts the access to files.
    let supervisor = Supervisor::of_environment();
    log::begin(level(args));
    // SIGHUP reloads the settings only without a terminal: a closing terminal also sends SIGHUP.
    let reload = Reload::of(args).filter(|_| !std::io::stderr().is_terminal());
    let mut spec: RadioSpec = url
        .parse()
        .map_err(|error| unusable(format!("--radio: {error}")))?;
    if let Some(account) = rights.account() {
        spec.set_account(account);
    }
    let mut scenario = load(args)?;
    reserve_forwards(args, &mut scenario);
    let Some(border) = scenario.border_router() else {
        return Err(unusable(
            "--radio needs a border router: add role = \"border\" to the [nodes.NAME] table of one node",
        ));
    };
    check(args, &scenario)?;
    let (counter, store) = rights.files(|| state(args))?;

    let clock = Clock::start();
    let identity = identity(args, &scenario, &scenario.nodes[border]);
    let radio = Radio::open(&spec, identity, clock.now());
    let mut radio = radio.map_err(|error| failed(cannot_open(url, &spec, &error)))?;
    let Some((version, caps)) = set_up(&mut radio, clock, &mut signals)? else {
        return Ok(0);
    };

    let mut secrets = mesh::secrets().map_err(failed)?;
    let node = node_on_radio(&scenario, border, caps, counter, &mut secrets);
    let node = node.ok_or_else(|| {
        unusable(
            "--radio needs RPL to find routes: add --set \
        routing=rpl",
        )
    })?;
    let gate = Gate::new(scenario.border.prefix, 64).with_host(scenario.border.host);
    let mut mesh = RadioMesh::new(node, gate, (radio, caps), store);

    let (forwarder, forwards) = listen(args, &scenario)?;
    let joined = join::join(args, &scenario, !forwards.is_empty());
    let joined = joined.map_err(|error| {
        if error.is_usage() {
            unusable(error)
        } else {
            failed(error)
        }
    })?;
    rights.files(|| tell_hosts(args, &scenario))?;
    let environment = Environment {
        way: joined.way,
        host: scenario.border.host.into(),
        forwards,
    };
    let reach = Reach::new(exposed(args, &scenario));
    let text = greeting::text(&scenario, &joined, &environment, &reach);
    output::print(&format!(
        "{text}Of these nodes, only {} runs here; the other nodes are in the real mesh.\nThe \
         radio is \
         {version}, channel {}.\n",
        scenario.nodes[border].name, args.channel
    ))
    .map_err(failed)?;
    let sandbox = sandbox(&spec, rights);
    for line in rights.give_up(&[], &with_settings(sandbox, args))? {
        warn!("{}", line.trim_start_matches("warning: "));
    }
    let gateway = Gateway::on_clock(clock, joined.tun, forwarder).with_reach(reach);
    live(&mut mesh, gateway, &mut signals, reload, supervisor)
}

/// Returns a message about a radio that cannot be opened, with the remedy if it is known.
fn cannot_open(url: &str, spec: &RadioSpec, error: &std::io::Error) -> String {
    let remedy = match (spec, error.kind()) {
        (RadioSpec::Spinel(LineSpec::Uart { .. }), ErrorKind::NotFound) => {
            "; plug the stick in, or name another device (`ls /dev/serial/by-id` shows sticks)"
        }
        (RadioSpec::Spinel(LineSpec::Uart { .. }), ErrorKind::PermissionDenied) => {
            "; add the user of the program to the group that owns the device (`ls -lL` shows it)"
        }
        (RadioSpec::Spinel(LineSpec::Process { .. }), ErrorKind::NotFound) => {
            "; correct the path of the program"
        }
        (RadioSpec::Zep { .. }, ErrorKind::AddrInUse) => {
            "; end the other program at this address, or choose another with listen="
        }
        _ => "",
    };
    format!("--radio {url}: {error}{remedy}")
}

/// Returns a sandbox that allows opening the radio's device or program again after a failure.
fn sandbox(spec: &RadioSpec, rights: &Rights) -> Sandbox {
    let sandbox = Sandbox::default();
    match spec {
        RadioSpec::Spinel(LineSpec::Uart { path, .. }) => {
            if let Some(line) = rights.doubt(path) {
                warn!("{}", line.trim_start_matches("warning: "));
            }
            sandbox.with_device(path)
        }
        RadioSpec::Spinel(LineSpec::Process { .. }) => sandbox.with_programs(),
        RadioSpec::Zep { .. } => sandbox,
    }
}

/// Allows the sandbox to read the settings and the scenario again. An editor replaces a file, so
/// the whole folder is allowed.
fn with_settings(mut sandbox: Sandbox, args: &UpArgs) -> Sandbox {
    let Some(config) = &args.config else {
        return sandbox;
    };
    for file in [config.as_path(), Path::new(&args.scenario.file)] {
        if let Ok(file) = std::path::absolute(file)
            && file.is_file()
            && let Some(folder) = file.parent()
        {
            sandbox = sandbox.with_reading(folder);
        }
    }
    sandbox
}

fn live<P>(
    mesh: &mut RadioMesh<P>,
    mut gateway: Gateway,
    signals: &mut Signals,
    reload: Option<Reload>,
    mut supervisor: Supervisor,
) -> Result<u8, Failure>
where
    P: redpoll_stack::Profile,
    RadioMesh<P>: redpoll_linux::gateway::Mesh<Border: redpoll_stack::Streams>,
{
    use std::os::fd::AsFd;
    supervisor.ready();
    let mut losses = Losses::default();
    loop {
        supervisor.lives();
        if let Err(error) = gateway.turn(mesh) {
            let gone = gateway.tun().filter(|tun| !tun.is_intact());
            return Err(gone.map_or_else(|| failed(error), |tun| failed(tun.gone())));
        }
        while let Some(event) = gateway.poll_forward() {
            log_forward(&event);
        }
        losses.report(gateway.clock().now(), mesh, &gateway);
        while let Some(notice) = mesh.notice() {
            match notice {
                RadioNotice::Trouble(text) => warn!("{}", explained(text)),
                RadioNotice::Recovery(text) => info!("{text}"),
            }
        }
        while let Some(attempt) = gateway.poll_attempt() {
            warn!("{}", withheld(&attempt));
        }
        while let Some(notice) = signals.next().map_err(failed)? {
            match (notice, &reload) {
                (Notice::End(Signal::SIGHUP), Some(reload)) => {
                    read_again(reload, &mut gateway);
                }
                (Notice::End(_), _) => {
                    losses.log(mesh, &gateway);
                    output::print(&farewell(mesh)).map_err(failed)?;
                    return Ok(0);
                }
                (Notice::Child | Notice::Stop, _) => {}
            }
        }
        let mut others = vec![signals.as_fd()];
        others.extend(mesh.radio().fd());
        gateway.wait(mesh, &others, None).map_err(failed)?;
    }
}

/// Reads the file of `--config` again, and applies what can change at runtime. If the file has an
/// error, all settings stay.
fn read_again(reload: &Reload, gateway: &mut Gateway) {
    let found = reload.again().and_then(|(args, fixed)| {
        let scenario = load(&args).map_err(|(_, line)| line)?;
        Ok((args, fixed, scenario))
    });
    let (args, fixed, scenario) = match found {
        Ok(found) => found,
        Err(line) => {
            error!("the settings were not reloaded: {line}");
            return;
        }
    };
    for key in fixed {
        warn!("a new value of {key} applies only after a restart");
    }
    gateway.expose(exposed(&args, &scenario));
    log::set_level(level(&args));
    info!("the settings were reloaded");
}

fn level(args: &UpArgs) -> LogLevel {
    args.log_level.unwrap_or(LogLevel::Info)
}

fn farewell<P>(mesh: &RadioMesh<P>) -> String
where
    P: redpoll_stack::Profile,
{
    let mut text = format!("Radio: {}.\n", mesh.radio().summary());
    if mesh.turned_away() > 0 {
        let count = mesh.turned_away();
        text.push_str(&format!(
            "{count} packets from this computer were dropped, because the border router's queue \
             was full.\n"
        ));
    }
    if let Some(security) = mesh.node().security() {
        let refused: Vec<String> = security
            .counters()
            .refusals()
            .filter(|(_, count)| *count > 0)
            .map(|(why, count)| format!("{count} {why}"))
            .collect();
        let refused = if refused.is_empty() {
            "none".to_owned()
        } else {
            refused.join(", ")
        };
        text.push_str(&format!("Frames refused by link security: {refused}.\n"));
        let counters = mesh.keeper_counters();
        text.push_str(&format!(
            "Frame counter: stored {} times; {} attempts to store it failed.\n",
            counters.stored, counters.failed
        ));
    }
    text
}

/// Refuses options and scenarios that a border router on a radio cannot have.
pub(super) fn check(args: &UpArgs, scenario: &Scenario) -> Result<(), Failure> {
    if scenario.routing.rpl().is_none() {
        let line =
            "--radio needs RPL to find the routes of a real mesh; allowed: --set routing=rpl";
        return Err(unusable(line));
    }
    if scenario.mac.duty.is_some() {
        let line = "--radio: the radio does not support this mac.access; allowed: mac.access=csma";
        return Err(unusable(line));
    }
    if scenario.security.is_some() && args.state.is_none() {
        let line = "--radio with security.level needs --state FILE, which keeps the frame counter \
            for the next start: reusing a counter exposes the encrypted data";
        return Err(unusable(line));
    }
    Ok(())
}

fn identity(args: &UpArgs, scenario: &Scenario, node: &NodeSpec) -> Identity {
    Identity {
        channel: args.channel,
        pan_id: scenario.mac.pan_id,
        short: if scenario.mac.extended {
            0xfffe
        } else {
            node.short
        },
        extended: node.eui64,
        max_csma_backoffs: scenario.mac.max_csma_backoffs,
        max_frame_retries: scenario.mac.max_frame_retries,
    }
}

/// Waits until the radio is set up; returns its version and capabilities. `None` after a signal.
fn set_up(
    radio: &mut Radio,
    clock: Clock,
    signals: &mut Signals,
) -> Result<Option<(String, RadioCaps)>, Failure> {
    let until = Instant::ZERO + PATIENCE;
    let mut last = String::from("the radio does not answer");
    while clock.now() < until {
        radio.turn(clock.now());
        while let Some(event) = radio.poll_event() {
            match event {
                Event::Ready { version, caps } => return Ok(Some((version, caps))),
                Event::Trouble(text) => last = text,
                Event::Received { .. } | Event::Done(_) => {}
            }
        }
        if radio.is_useless() {
            break;
        }
        while let Some(notice) = signals.next().map_err(failed)? {
            if let Notice::End(_) = notice {
                return Ok(None);
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    Err(failed(format!(
        "the radio cannot be used: {last}; check that it runs OpenThread's RCP firmware and that \
         no other program uses it"
    )))
}

/// Returns the frame counter that was stored last, and the function that stores the next one.
fn state(args: &UpArgs) -> Result<(u32, Store), Failure> {
    let Some(path) = &args.state else {
        // Without security there is no frame counter to store.
        return Ok((0, Box::new(|_| Ok(()))));
    };
    let (mut file, stored) = CounterFile::open(path)
        .map_err(|error| unusable(format!("--state {}: {error}", path.display())))?;
    Ok((stored, Box::new(move |counter| file.write(counter))))
}

#[cfg(test)]
mod tests {
    use std::io;

    use nix::errno::Errno;

    use super::*;

    #[test]
    fn a_radio_that_cannot_be_opened_has_a_remedy() {
        let line = |url: &str, number| {
            let error = io::Error::from_raw_os_error(number);
            cannot_open(url, &url.parse().unwrap(), &error)
        };
        let uart = "spinel+hdlc+uart:///dev/ttyACM0";
        let absent = line(uart, Errno::ENOENT as i32);
        assert!(
            absent.contains("ttyACM0: No such file or directory"),
            "{absent}"
        );
        assert!(absent.contains("; plug the stick in"), "{absent}");
        assert!(line(uart, Errno::EACCES as i32).contains("the group that owns"));
        let taken = line("zep://127.0.0.1:1", Errno::EADDRINUSE as i32);
        assert!(taken.contains("choose another with listen="), "{taken}");
    }
}
