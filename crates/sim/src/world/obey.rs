//! Carries out the commands of a viewer.

use std::sync::Arc;

use redpoll_base::Duration;
use redpoll_tcp::Endpoint;

use super::World;
use super::build::Positions;
use super::command::{Command, Refusal};
use crate::medium::{Config, Interferer, Lengths};
use crate::scenario::TransportSpec;

/// Maximum number of interferers, and of transfers that viewers started.
const MOST: usize = 1_000;
const LONGEST: u64 = 1 << 32;
/// Largest distance of a position from the origin, in metres.
const FAR_M: f64 = 1e6;
/// Mean duration of a burst of an added interferer: about one frame of Wi-Fi.
const BURST: Duration = Duration::from_micros(1_500);
/// Power of an added interferer above the noise at the edge of its range, in dB.
const EDGE_DB: f64 = 6.0;

impl World {
    /// Carries out a command and returns a sentence that describes the effect. An attack is not
    /// carried out: for an attack, returns the name of the node to attack.
    pub(crate) fn obey(&mut self, command: &Command) -> Result<String, Refusal> {
        let said = match *command {
            Command::Kill { node } => self.kill(node)?,
            Command::Revive { node } => self.revive(node)?,
            Command::Move { node, x_m, y_m } => self.relocate(node, (x_m, y_m))?,
            Command::Lose { from, to, share } => self.lose(from, to, share)?,
            Command::Interfere {
                x_m,
                y_m,
                range_m,
                busy,
            } => self.interfere((x_m, y_m), range_m, busy)?,
            Command::Silence { interferer } => match self.env.air.silence(interferer as usize) {
                true => "the interferer was switched off".to_owned(),
                false => return Err(Refusal::NoInterferer(interferer)),
            },
            Command::Transfer { from, to, bytes } => self.transfer(from, to, bytes)?,
            Command::Attack { node, .. } => self.victim(node)?,
        };
        self.drain();
        Ok(said)
    }

    fn victim(&self, node: u32) -> Result<String, Refusal> {
        let index = self.known(node)?;
        let name = self.name(index);
        match self.env.scenario.nodes.get(index) {
            Some(node) if node.attacker => Err(Refusal::IsAttacker(name)),
            _ => Ok(name),
        }
    }

    fn kill(&mut self, node: u32) -> Result<String, Refusal> {
        let index = self.known(node)?;
        if self.env.air.faults().is_off(self.env.now, index) {
            return Err(Refusal::IsOff(self.name(index)));
        }
        self.env.air.switch_off(self.env.now, index);
        Ok(format!("{} is switched off", self.name(index)))
    }

    fn revive(&mut self, node: u32) -> Result<String, Refusal> {
        let index = self.known(node)?;
        match self.env.air.switch_on(self.env.now, index) {
            true => Ok(format!("{} is switched on again", self.name(index))),
            false => Err(Refusal::IsOn(self.name(index))),
        }
    }

    fn relocate(&mut self, node: u32, to_m: (f64, f64)) -> Result<String, Refusal> {
        let index = self.known(node)?;
        let to_m = place(to_m)?;
        if self.env.scenario.links.is_given() {
            return Err(Refusal::LinksAreGiven);
        }
        let before_m = self.env.scenario.nodes[index].position_m;
        Arc::make_mut(&mut self.env.scenario).nodes[index].position_m = to_m;
        let places = Positions::of(&self.env.scenario);
        let site = places.site(&self.env.scenario);
        if !self
            .env
            .air
            .rearrange(self.env.now, &site, index, self.env.seed)
        {
            Arc::make_mut(&mut self.env.scenario).nodes[index].position_m = before_m;
            return Err(Refusal::TooManyMoves);
        }
        Ok(format!(
            "{} is now at {:.1} m, {:.1} m",
            self.name(index),
            to_m.0,
            to_m.1
        ))
    }

    fn lose(&mut self, from: Option<u32>, to: Option<u32>, share: f64) -> Result<String, Refusal> {
        if !(0.0..=1.0).contains(&share) {
            return Err(Refusal::Share(share));
        }
        let from = from.map(|node| self.known(node)).transpose()?;
        let to = to.map(|node| self.known(node)).transpose()?;
        self.env.air.set_loss(self.env.now, (from, to), share);
        let name = |node: Option<usize>| node.map_or("all nodes".to_owned(), |it| self.name(it));
        Ok(format!(
            "{:.0} % of the frames from {} to {} are lost from now on",
            share * 100.0,
            name(from),
            name(to)
        ))
    }

    fn interfere(&mut self, at_m: (f64, f64), range_m: f64, busy: f64) -> Result<String, Refusal> {
        let position_m = place(at_m)?;
        if !(0.01..=0.99).contains(&busy) {
            return Err(Refusal::Busy(busy));
        }
        if !(0.1..=FAR_M).contains(&range_m) {
            return Err(Refusal::Place);
        }
        let number = self.env.air.medium().interferers().count();
        if number >= MOST {
            return Err(Refusal::TooMany);
        }
        let power_dbm = match &self.env.scenario.medium {
            Config::UnitDisk(_) => 0.0,
            Config::Sinr(sinr) => {
                let loss_db = 10.0 * sinr.path_loss_exponent * libm::log10(range_m.max(1.0));
                sinr.noise_floor_dbm + EDGE_DB + sinr.reference_loss_db + loss_db
            }
        };
        let spec = Interferer {
            name: format!("interferer {}", number + 1),
            position_m,
            power_dbm,
            range_m,
            burst: BURST,
            busy,
            lengths: Lengths::Exponential,
            hours: (Duration::ZERO, Duration::from_secs(86_400)),
            session: None,
            session_share: 1.0,
        };
        let said = format!("{} is transmitting", spec.name);
        let places = Positions::of(&self.env.scenario);
        let site = places.site(&self.env.scenario);
        let (now, seed) = (self.env.now, self.env.seed);
        self.env
            .air
            .add_interferer(now, &site, spec, seed, &mut self.env.queue);
        Ok(said)
    }

    fn transfer(&mut self, from: u32, to: u32, bytes: u64) -> Result<String, Refusal> {
        let (from, to) = (self.known(from)?, self.known(to)?);
        if from == to || bytes == 0 || bytes > LONGEST {
            return Err(Refusal::Transfer);
        }
        if self.transfers.count() >= MOST {
            return Err(Refusal::TooMany);
        }
        for index in [from, to] {
            let spec = &self.env.scenario.nodes[index];
            let native = self.native(index);
            let open = native.map(|native| native.node.tcp_connections().count());
            let open = open.filter(|_| spec.transport == TransportSpec::Redpoll);
            if open.is_none_or(|open| open >= usize::from(spec.connections)) {
                return Err(Refusal::NoRoom(self.name(index)));
            }
        }
        let addr = self
            .env
            .scenario
            .address(to)
            .ok_or(Refusal::NoRoom(self.name(to)))?;
        let (port, sink) = self
            .transfers
            .sink(to, self.env.scenario.nodes[to].connections);
        if let Some(sink) = sink {
            self.add_app(to, sink);
        }
        let names = [self.name(from), self.name(to)];
        let said = format!(
            "the transfer of {bytes} bytes from {} to {} has begun",
            names[0], names[1]
        );
        let sender = self.transfers.sender(names, Endpoint { addr, port }, bytes);
        self.add_app(from, sender);
        Ok(said)
    }

    fn known(&self, node: u32) -> Result<usize, Refusal> {
        let index = node as usize;
        (index < self.env.scenario.nodes.len())
            .then_some(index)
            .ok_or(Refusal::NoNode(node))
    }

    fn name(&self, index: usize) -> String {
        self.env.scenario.nodes[index].name.clone()
    }
}

fn place((x, y): (f64, f64)) -> Result<(f64, f64), Refusal> {
    let is_near = |at: f64| at.is_finite() && at.abs() <= FAR_M;
    (is_near(x) && is_near(y))
        .then_some((x, y))
        .ok_or(Refusal::Place)
}
