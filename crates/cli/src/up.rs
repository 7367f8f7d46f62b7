//! `redpoll up`: a mesh in real time, joined to this computer.
//!
//! - `config`: the settings of `--config`;
//! - `join`: the connection by TUN, namespace or forwards only, and its report;
//! - `mesh`: the simulated mesh for the gateway;
//! - `connections`: the lines about each connection;
//! - `frames`: the lines about each frame, with `-v`;
//! - `status`: the status line;
//! - `tui`: the mesh in the terminal, if the user requests it;
//! - `radio`: a mesh behind a real radio, in place of a simulated one;
//! - `environment`: the environment variables of a program that runs with the mesh;
//! - `demo`: the demonstration, which is such a program.

mod args;
pub mod config;
mod connections;
mod demo;
mod environment;
mod frames;
mod greeting;
mod join;
mod mesh;
mod radio;
mod status;
mod tui;

use std::fmt::Write as _;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Command, ExitCode};

use redpoll_base::{Duration, Instant};
use redpoll_border::Splice;
use redpoll_linux::advertiser::{Advertiser, AdvertiserError};
use redpoll_linux::child::Companion;
use redpoll_linux::entropy;
use redpoll_linux::forward::{ForwardSpec, Forwarder};
use redpoll_linux::gateway::Gateway;
use redpoll_linux::line::LineWatch;
use redpoll_linux::privilege::Keep;
use redpoll_linux::privilege::sandbox::Sandbox;
use redpoll_linux::reach::{Attempt, Reach, Service};
use redpoll_linux::signals::{Notice, Signals};
use redpoll_sim::{CONNECTIONS_MAX, NodeSpec, Scenario, TargetHost, When};
use redpoll_web::Desk;
use redpoll_web::message::Mode;

use crate::failure::{Failure, cannot_write, fail_all};
use crate::lines::Sockets;
use crate::output::{self, fail};
use crate::places::Places;
use crate::run::outputs::Outputs;
use crate::run::table;
use crate::{FAILED, USAGE, web};
pub use args::UpArgs;
use environment::Environment;
use frames::FrameLines;
use mesh::SimulatedMesh;
use redpoll_program::notify::Supervisor;
use redpoll_program::rights::Rights;
use status::{Facts, StatusLine};
use tui::{Tui, Wish};

/// Returns a failure with exit code 1: neither the scenario nor an argument is the cause.
fn failed(error: impl std::fmt::Display) -> Failure {
    (FAILED, error.to_string())
}

/// Returns a failure because of unusable arguments.
fn unusable(error: impl std::fmt::Display) -> Failure {
    (USAGE, error.to_string())
}

pub fn run(args: &UpArgs) -> ExitCode {
    let result = if args.demo_steps {
        load(args).and_then(|scenario| {
            let environment = Environment::of_this_process();
            let environment = environment.ok_or_else(|| {
                unusable(
                    "--demo-steps works only inside `redpoll up \
                    --demo`",
                )
            })?;
            Ok(demo::walk(&scenario, &environment))
        })
    } else {
        up(args).map(ExitCode::from)
    };
    result.unwrap_or_else(|(code, line)| fail(code, line))
}

fn up(args: &UpArgs) -> Result<u8, Failure> {
    args.check().map_err(unusable)?;
    if args.check_config {
        return check_config(args).map(|()| 0);
    }
    if args.tui {
        tui::refuse_without_terminal().map_err(unusable)?;
    }
    // Watch signals first: an unwatched one would end the process without removing an interface.
    let signals = Signals::watch().map_err(failed)?;
    let rights = Rights::of(&args.rights)?;
    if let Some(url) = &args.radio {
        return radio::up(args, url, signals, &rights);
    }
    let captures_to_stdout = args.pcap.as_deref().is_some_and(output::is_standard);
    if captures_to_stdout && !args.is_alone() {
        let line = "--pcap - writes to standard output, which the program that `up` starts uses; \
            allowed: --pcap FILE";
        return Err(unusable(line));
    }
    let mut scenario = load(args)?;
    crate::need::check(&scenario)?;
    reserve_forwards(args, &mut scenario);
    Places::default()
        .with("--pcap", args.pcap.as_deref())
        .with("--json", args.json.as_deref())
        .with("--series", args.series.as_deref())
        .with("--record", args.record.as_deref())
        .with("--hosts", args.hosts.as_deref())
        .check_beside(&scenario)
        .map_err(unusable)?;
    let lines = Sockets::beside(&scenario).map_err(failed)?;
    let lines = lines.of(rights.account());
    let mut outputs = Outputs::plan(&args.files())?;
    let mut mesh = simulated(&scenario, &lines)?;
    if !rights.files(|| mesh.write_to(&mut outputs).map_err(first_of))? {
        return Ok(0);
    }
    let chatty = !outputs.takes_standard();
    if args.verbose {
        if !chatty {
            let line = "--verbose writes to standard output, and so does another option; allowed: \
                a FILE for the other option";
            return Err(unusable(line));
        }
        mesh.trace(Box::new(FrameLines::of(&scenario)));
    }

    // Open the sockets in the user's network namespace, before join may enter another one.
    let (forwarder, forwards) = listen(args, &scenario)?;
    let server = web::listen(&args.web)?;
    let joined = join::join(args, &scenario, !forwards.is_empty());
    let joined = joined.map_err(|error| {
        if error.is_usage() {
            unusable(error)
        } else {
            failed(error)
        }
    })?;
    let advertiser = advertiser(args, &scenario, joined.way)?;
    rights.files(|| tell_hosts(args, &scenario))?;
    let environment = Environment {
        way: joined.way,
        host: scenario.border.host.into(),
        forwards,
    };
    let reach = Reach::new(exposed(args, &scenario));
    let mut greeting = greeting::text(&scenario, &joined, &environment, &reach);
    greeting.extend(server.as_ref().map(web::greeting));
    if chatty {
        output::print(&greeting).map_err(failed)?;
    } else {
        eprint!("{greeting}");
    }

    let mut session = Session {
        desk: None,
        gateway: Gateway::new(joined.tun, forwarder).with_reach(reach),
        mesh,
        outputs,
        look_at: Instant::ZERO,
        companion: None,
        stays: args.demo && args.web.web.is_some(),
        advertiser,
        lines: lines.watch(),
        signals,
        supervisor: Supervisor::of_environment(),
        tells: chatty && args.is_alone(),
        status: StatusLine::new(args.is_alone() && !args.verbose && !args.tui),
        tui: None,
        lateness: Duration::ZERO,
    };
    session.companion = spawned(args, &environment, &rights)?;
    let has_companion = session.companion.is_some();
    give_up(&rights, has_companion, lines.sandbox())?;
    // Start the server's thread after the rights were given up, so that it has no more rights.
    let desk = server.map(|server| server.start(session.mesh.world(), Mode::Up));
    session.desk = desk.transpose().map_err(failed)?;
    if args.tui {
        session.tui = Some(Tui::start(session.mesh.world()).map_err(failed)?);
    }
    end(session, args, &scenario, chatty)
}

/// Checks the settings without starting anything.
fn check_config(args: &UpArgs) -> Result<(), Failure> {
    let scenario = load(args)?;
    if args.radio.is_some() {
        radio::check(args, &scenario)?;
    }
    let file = args.config.as_deref().unwrap_or(Path::new(""));
    output::print(&format!("{}: no errors\n", file.display())).map_err(failed)
}

fn simulated(scenario: &Scenario, lines: &Sockets) -> Result<SimulatedMesh, Failure> {
    let secrets = mesh::secrets().map_err(failed)?;
    SimulatedMesh::new(scenario, secrets, lines).map_err(unusable)
}

/// Reports all failures except the last, which it returns.
fn first_of(mut failures: Vec<Failure>) -> Failure {
    let last = failures.pop();
    fail_all(&failures);
    last.unwrap_or_else(|| failed("cannot create an output file"))
}

/// Writes the requested lines for /etc/hosts.
fn tell_hosts(args: &UpArgs, scenario: &Scenario) -> Result<(), Failure> {
    let Some(path) = &args.hosts else {
        return Ok(());
    };
    let text = hosts(scenario);
    let written = if output::is_standard(path) {
        output::print(&text)
    } else {
        std::fs::write(path, text)
    };
    written.map_err(|error| cannot_write(&path.display().to_string(), &error))
}

fn give_up(rights: &Rights, has_companion: bool, mut sandbox: Sandbox) -> Result<(), Failure> {
    // Without --user, the program may become another user; to end it then requires CAP_KILL.
    let mut keeps = &[][..];
    if has_companion {
        if rights.account().is_none() {
            keeps = &[Keep::Kill];
        }
        // The descendants of the program, which are ended with it, are found in /proc.
        sandbox = sandbox.with_signals().with_reading("/proc");
    }
    for line in rights.give_up(keeps, &sandbox)? {
        eprintln!("redpoll: {line}");
    }
    Ok(())
}

/// Starts the program that runs with the mesh, if requested.
fn spawned(
    args: &UpArgs,
    environment: &Environment,
    rights: &Rights,
) -> Result<Option<Companion>, Failure> {
    let Some(mut command) = companion(args) else {
        return Ok(None);
    };
    environment.tell(&mut command);
    rights.start(&mut command);
    let spawned = Companion::spawn(&mut command).map_err(|e| {
        let program = command.get_program().to_string_lossy();
        failed(format!("cannot start {program}: {e}"))
    })?;
    Ok(Some(spawned))
}

/// Runs the mesh until its end, and writes the requested files.
fn end(
    mut session: Session,
    args: &UpArgs,
    scenario: &Scenario,
    chatty: bool,
) -> Result<u8, Failure> {
    let lived = session.live();
    // Restore the terminal before the program prints a message.
    session.tui = None;
    session.status.clear();
    let code = lived?;
    session.companion = None;
    let mut failures: Vec<Failure> = Vec::new();
    failures.extend(session.mesh.flush().map_err(failed).err());
    let report = session.mesh.report();
    if chatty && args.is_alone() {
        let text = session.farewell() + "\n" + &table::render(&report, scenario, &[], false);
        failures.extend(output::print(&text).map_err(failed).err());
    }
    failures.extend(session.outputs.end(session.mesh.world(), &report));
    if !failures.is_empty() {
        return Err(first_of(failures));
    }
    for violation in &report.oracle.violations {
        eprintln!("redpoll: {violation}");
    }
    Ok(if report.oracle.ok {
        code
    } else {
        code.max(FAILED)
    })
}

/// Loads the scenario with the user's changes, without the apps that only run in virtual time.
fn load(args: &UpArgs) -> Result<Scenario, Failure> {
    let mut scenario = Scenario::load(&args.scenario.file, &args.overrides()).map_err(unusable)?;
    // No simulated host, because this computer is the host.
    scenario.host = None;
    let is_demo = args.demo || args.demo_steps;
    scenario.retain_apps_of(if is_demo { When::Demo } else { When::Up });
    if scenario.border_router().is_none() {
        let line = format!(
            "{}: no node has role = \"border\", so there is nothing to join to this computer; simulate it with `redpoll run`",
            args.scenario.file
        );
        return Err(unusable(line));
    }
    Ok(scenario)
}

/// Reserves connections of the border router for `--forward`, in addition to those of its apps:
/// twice as many as can be forwarded at a time, because some are being closed.
fn reserve_forwards(args: &UpArgs, scenario: &mut Scenario) {
    if args.forward.is_empty() && !args.demo {
        return;
    }
    let border = scenario.border_router();
    if let Some(node) = border.and_then(|index| scenario.nodes.get_mut(index)) {
        let wanted = 2 * Forwarder::<Splice>::MAX_PAIRS as u16;
        node.forwards = wanted.min(CONNECTIONS_MAX - node.connections.min(CONNECTIONS_MAX));
    }
}

/// Returns the services outside the mesh that its nodes may reach: the targets of the scenario's
/// applications, and those of `--expose`.
fn exposed(args: &UpArgs, scenario: &Scenario) -> Vec<Service> {
    let apps = scenario.nodes.iter().flat_map(|node| &node.apps);
    let targets = apps.filter_map(|app| app.kind.target());
    let outside = targets.filter(|target| target.host == TargetHost::Outside);
    let mut services: Vec<Service> = outside
        .map(|target| Service {
            addr: Some(target.addr.into()),
            protocol: None,
            port: Some(target.port),
        })
        .collect();
    services.extend(&args.expose);
    services.dedup();
    services
}

/// Returns a line about a service that a node was not allowed to reach, and how to allow it.
fn withheld(attempt: &Attempt) -> String {
    let Attempt { node, service } = attempt;
    format!(
        "packets from {node} to {service} are dropped, because nodes are not allowed to reach \
         that service; to allow it: --expose {service}"
    )
}

/// Returns lines for /etc/hosts: every node as NAME.redpoll.
fn hosts(scenario: &Scenario) -> String {
    let line = |(index, node): (usize, &NodeSpec)| {
        let address = std::net::Ipv6Addr::from(scenario.address(index)?);
        Some(format!("{address} {}.redpoll\n", node.name))
    };
    let lines = scenario.nodes.iter().enumerate().filter_map(line);
    lines.collect()
}

fn listen(
    args: &UpArgs,
    scenario: &Scenario,
) -> Result<(Forwarder<Splice>, Vec<ForwardSpec>), Failure> {
    let mut forwarder = Forwarder::new();
    let mut forwards = Vec::new();
    let mut specs = Vec::new();
    for text in &args.forward {
        let spec = text.parse::<ForwardSpec>();
        specs.push(spec.map_err(|e| unusable(format!("--forward: {e}")))?);
    }
    if args.demo {
        specs.extend(demo::forward(scenario));
    }
    for spec in specs {
        let address = scenario
            .node(&spec.node)
            .and_then(|index| scenario.address(index));
        let Some(address) = address else {
            let names: Vec<&str> = scenario
                .nodes
                .iter()
                .map(|node| node.name.as_str())
                .collect();
            let line = format!(
                "--forward: there is no node {}; allowed: {}",
                spec.node,
                names.join(", ")
            );
            return Err(unusable(line));
        };
        let target = std::net::SocketAddrV6::new(address.into(), spec.node_port, 0, 0);
        let host_port = forwarder.listen(spec.host_port, target).map_err(failed)?;
        forwards.push(ForwardSpec { host_port, ..spec });
    }
    Ok((forwarder, forwards))
}

fn advertiser(
    args: &UpArgs,
    scenario: &Scenario,
    way: join::Way,
) -> Result<Option<Advertiser>, Failure> {
    let Some(interface) = &args.advertise else {
        return Ok(None);
    };
    if way != join::Way::Tun {
        let line = "--advertise: the interface is in another network namespace than the mesh; run \
            the program as root";
        return Err(failed(line));
    }
    let mut seed = [0; 8];
    entropy::fill(&mut seed).map_err(failed)?;
    let prefix = scenario.border.prefix.into();
    let advertiser = Advertiser::new(interface, prefix, u64::from_le_bytes(seed));
    let advertiser = advertiser.map_err(|error| {
        let line = format!("--advertise: {error}");
        match error {
            AdvertiserError::NoInterface(_) => unusable(line),
            _ => failed(line),
        }
    })?;
    let forwards = std::fs::read_to_string(FORWARDING);
    if forwards.is_ok_and(|value| value.trim() == "0") {
        eprintln!(
            "warning: this computer does not forward packets, so computers that learn the route \
             to the mesh cannot reach it; to forward: sysctl -w net.ipv6.conf.all.forwarding=1"
        );
    }
    Ok(Some(advertiser))
}

const FORWARDING: &str = "/proc/sys/net/ipv6/conf/all/forwarding";

fn companion(args: &UpArgs) -> Option<Command> {
    if args.demo {
        let mut command = Command::new("/proc/self/exe");
        command.args(["up", &args.scenario.file, demo::STEPS_FLAG]);
        for (key, value) in args.overrides() {
            command.arg("--set").arg(format!("{key}={value}"));
        }
        Some(command)
    } else if args.shell {
        Some(environment::shell())
    } else {
        let (program, arguments) = args.command.split_first()?;
        let mut command = Command::new(program);
        command.args(arguments);
        Some(command)
    }
}

struct Session {
    desk: Option<Desk>,
    gateway: Gateway,
    mesh: SimulatedMesh,
    outputs: Outputs,
    look_at: Instant,
    companion: Option<Companion>,
    /// Whether the mesh continues for browsers after the companion has ended with exit code 0.
    stays: bool,
    advertiser: Option<Advertiser>,
    lines: LineWatch,
    signals: Signals,
    supervisor: Supervisor,
    /// Whether standard output has lines about connections.
    tells: bool,
    status: StatusLine,
    /// The mesh in the terminal, whose log replaces printed lines.
    tui: Option<Tui>,
    /// Last measured lateness of the mesh.
    lateness: Duration,
}

impl Session {
    /// Lateness of an event from which the user is warned.
    const TOLERANCE: Duration = Duration::from_millis(200);
    /// Shortest interval between warnings of lateness, and interval of flushing the capture.
    const REMINDER: Duration = Duration::from_secs(2);

    /// Runs until a signal or the end of the child process; returns the exit code.
    fn live(&mut self) -> Result<u8, Failure> {
        let mut look_again = Instant::ZERO + Self::REMINDER;
        self.supervisor.ready();
        loop {
            self.supervisor.lives();
            if let Err(error) = self.gateway.turn(&mut self.mesh) {
                let gone = self.gateway.tun().filter(|tun| !tun.is_intact());
                return Err(gone.map_or_else(|| failed(error), |tun| failed(tun.gone())));
            }
            if let Some(desk) = &mut self.desk {
                desk.turn(self.mesh.world_mut());
            }
            while let Some(event) = self.gateway.poll_forward() {
                self.mesh.forward(&event);
            }
            while let Some(line) = self.mesh.line() {
                match &mut self.tui {
                    Some(tui) => tui.log(&line),
                    None if self.tells => {
                        let printed = self.status.around(|| output::print(&line));
                        printed.map_err(failed)?;
                    }
                    None => {}
                }
            }
            for notice in self.mesh.notices() {
                self.warn(&notice);
            }
            while let Some(attempt) = self.gateway.poll_attempt() {
                self.warn(&withheld(&attempt));
            }
            if let Some(tui) = &mut self.tui {
                let now = self.gateway.clock().now();
                let wish = tui.turn(self.mesh.world_mut(), now).map_err(failed)?;
                if wish == Wish::End {
                    return Ok(0);
                }
            }
            if self.status.is_due(self.gateway.clock().now()) {
                let facts = self.facts();
                self.status.show(&facts);
            }
            self.write_down()?;
            if let Some(code) = self.ending().map_err(failed)? {
                return Ok(code);
            }
            if self.gateway.clock().now() >= look_again {
                self.warn_if_late();
                if let Some(tun) = self.gateway.tun().filter(|tun| !tun.is_intact()) {
                    return Err(failed(tun.gone()));
                }
                if let Some(why) = self.mesh.world().stall() {
                    return Err(failed(why));
                }
                match self.mesh.flush() {
                    Err(error) if output::is_closed_pipe(&error.source) => return Ok(0),
                    other => other.map_err(failed)?,
                }
                look_again = self.gateway.clock().now() + Self::REMINDER;
            }
            self.advertise();
            let mut others = vec![self.signals.as_fd(), self.lines.as_fd()];
            others.extend(self.advertiser.as_ref().map(AsFd::as_fd));
            others.extend(self.desk.as_ref().map(AsFd::as_fd));
            let next = self.advertiser.as_ref().map(Advertiser::next_at);
            others.extend(self.tui.as_ref().map(AsFd::as_fd));
            let tui_at = self.tui.as_ref().map(Tui::next_turn);
            let next = [next, self.desk_at(), tui_at, Some(self.look_at)];
            let next = next.into_iter().flatten();
            let until = next.fold(look_again, Instant::min);
            let wait = self.gateway.wait(&self.mesh, &others, Some(until));
            wait.map_err(failed)?;
        }
    }

    /// Writes new events to the requested files if `look_at` is reached.
    fn write_down(&mut self) -> Result<(), Failure> {
        let now = self.mesh.world().now();
        if now >= self.look_at {
            let step = self.outputs.look(self.mesh.world_mut())?;
            self.look_at = (now + step).min(self.outputs.next());
        }
        Ok(())
    }

    /// Returns the time on the mesh's clock at which the live view must be served next.
    fn desk_at(&self) -> Option<Instant> {
        let at = self.desk.as_ref()?.next_turn()?;
        let left = at.saturating_duration_since(std::time::Instant::now());
        let left_us = u64::try_from(left.as_micros()).unwrap_or(u64::MAX);
        Some(self.gateway.clock().now() + Duration::from_micros(left_us))
    }

    /// Returns the exit code if a signal or the end of the companion ends the mesh.
    fn ending(&mut self) -> std::io::Result<Option<u8>> {
        while let Some(notice) = self.signals.next()? {
            match (notice, &mut self.companion) {
                // Without a companion, a signal is the normal end.
                (Notice::End(_), None) => return Ok(Some(0)),
                (Notice::End(signal), Some(_)) => return Ok(Some(128 + signal as u8)),
                (Notice::Child, Some(companion)) => {
                    let Some(code) = companion.reap()? else {
                        continue;
                    };
                    if code != 0 || !self.stays {
                        return Ok(Some(code));
                    }
                    self.companion = None;
                    output::print(
                        "The mesh keeps running so that the page can show it. Press Ctrl-C to stop the mesh.\n",
                    )?;
                }
                (Notice::Child, None) | (Notice::Stop, _) => {}
            }
        }
        Ok(None)
    }

    /// Advertises the route to the mesh on the user's link; after an error, only this stops.
    fn advertise(&mut self) {
        let now = self.gateway.clock().now();
        let turn = self.advertiser.as_mut().map(|it| it.turn(now));
        if let Some(Err(error)) = turn {
            self.advertiser = None;
            self.warn(&format!(
                "warning: the program no longer sends router advertisements: {error}"
            ));
        }
    }

    /// Prints a warning on standard error, or adds it to the log of the terminal view.
    fn warn(&mut self, line: &str) {
        match &mut self.tui {
            Some(tui) => tui.log(line),
            None => self.status.around(|| eprintln!("{line}")),
        }
    }

    fn warn_if_late(&mut self) {
        let lateness = self.gateway.take_lateness();
        self.lateness = lateness;
        if lateness > Self::TOLERANCE {
            self.warn(&format!(
                "warning: this computer is too slow to run this mesh in real time: {} ms behind; \
                 times measured on the host are too long",
                lateness.as_millis()
            ));
        }
    }

    fn facts(&self) -> Facts {
        let packets = self.gateway.counters();
        Facts {
            now: self.gateway.clock().now(),
            connections: self.mesh.connections(),
            packets: [packets.packets_in, packets.packets_out],
            lateness: self.lateness,
        }
    }

    fn farewell(&self) -> String {
        let packets = self.gateway.counters();
        let forwards = self.gateway.forwarder().counters();
        let mut text = format!(
            "\n{} packets forwarded into the mesh, {} out of it",
            packets.packets_in, packets.packets_out
        );
        if !self.gateway.forwarder().is_empty() {
            let _ = write!(text, "; {} connections forwarded", forwards.accepted);
        }
        text.push('\n');
        text
    }
}
