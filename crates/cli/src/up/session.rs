//! The running mesh: the loop that serves it until a signal or the end of its companion, and the
//! files and the report that are written when the loop has ended.

use std::fmt::Write as _;
use std::os::fd::AsFd;

use redpoll_base::{Duration, Instant};
use redpoll_linux::advertiser::Advertiser;
use redpoll_linux::child::Companion;
use redpoll_linux::gateway::Gateway;
use redpoll_linux::line::LineWatch;
use redpoll_linux::signals::{Notice, Signals};
use redpoll_program::notify::Supervisor;
use redpoll_sim::Scenario;
use redpoll_web::Desk;

use super::mesh::SimulatedMesh;
use super::services::withheld;
use super::status::{Facts, StatusLine};
use super::tui::{Tui, Wish};
use super::{UpArgs, failed, first_of};
use crate::FAILED;
use crate::failure::Failure;
use crate::output;
use crate::run::outputs::Outputs;
use crate::run::table;

pub(super) struct Session {
    pub(super) desk: Option<Desk>,
    pub(super) gateway: Gateway,
    pub(super) mesh: SimulatedMesh,
    pub(super) outputs: Outputs,
    pub(super) look_at: Instant,
    pub(super) companion: Option<Companion>,
    /// Whether the mesh continues for browsers after the companion has ended with exit code 0.
    pub(super) stays: bool,
    pub(super) advertiser: Option<Advertiser>,
    pub(super) lines: LineWatch,
    pub(super) signals: Signals,
    pub(super) supervisor: Supervisor,
    /// Whether standard output has lines about connections.
    pub(super) tells: bool,
    pub(super) status: StatusLine,
    /// The terminal view, if it is shown; its log gets the lines that are otherwise printed.
    pub(super) tui: Option<Tui>,
    /// Last measured lateness of the mesh.
    pub(super) lateness: Duration,
}

impl Session {
    /// Smallest lateness of an event for which the user gets a warning.
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

    /// Advertises the route to the mesh on the user's link. After an error the advertisements end,
    /// and the mesh continues.
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

/// Runs the mesh until its end, and writes the requested files.
pub(super) fn end(
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
