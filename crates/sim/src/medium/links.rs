//! Links between nodes, computed at the beginning of a run and when a viewer moves a node.

use redpoll_base::Rng;

use super::fading::margin_db;
use super::grid::for_each_pair_within;
use super::measured;
use super::oqpsk::from_db;
use super::radios::Radios;
use super::{Config, Interferer, LinkSource, ListedLink, Sinr, Site, UnitDisk};
use crate::kernel::Seed;

/// Effect of one node's transmissions at one other node.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Link {
    pub to: u32,
    /// Probability of reception without interference, in units of 2^-32; the maximum is certainty.
    /// In the SINR medium, noise adds losses.
    pub success: u32,
    /// Power at the antenna in milliwatts; SINR medium only.
    pub power_mw: f64,
    /// Power at the antenna in whole dBm, as the radio reports it.
    pub rssi_dbm: i8,
    /// Cost in a path: from the SNR or the ETX; 1 on a unit disk and for listed links.
    pub cost: u16,
    pub receives: bool,
    /// Whether an assessment at `to` finds the channel busy because of the transmission.
    pub senses: bool,
    /// Whether the transmission can destroy a frame from another node at `to`.
    pub disturbs: bool,
}

impl Link {
    /// Draws whether the link loses a frame without interference. A lossless link draws nothing.
    pub(super) fn loses(&self, rng: &mut Rng) -> bool {
        self.success != u32::MAX && rng.next_u32() >= self.success
    }
}

/// All links of a network, grouped by sender.
#[derive(Clone, Debug)]
pub struct Links {
    links: Vec<Link>,
    /// Index of the first link of each node, and the number of links at the end.
    first: Vec<u32>,
}

/// A signal weaker than the noise floor by more than this is ignored, in dB.
const NEGLIGIBLE_DB: f64 = 10.0;
/// Limit of shadowing, in standard deviations.
const SHADOWING_LIMIT: f64 = 4.0;

impl Links {
    /// Computes the links from positions, a list, or the measurements at the beginning of the run.
    pub fn new(site: &Site<'_>, seed: Seed) -> Links {
        let positions_m = site.positions_m;
        let pairs = match (site.links, site.config) {
            (LinkSource::Listed(listed), _) => of_list(listed, positions_m.len()),
            (LinkSource::Measured(measured), _) => measured::links(measured, site.config),
            (LinkSource::Positions, Config::UnitDisk(disk)) => of_disk(disk, positions_m),
            (LinkSource::Positions, Config::Sinr(sinr)) => of_sinr(sinr, site, seed),
        };
        let mut first = vec![0; positions_m.len() + 1];
        for (from, _) in &pairs {
            first[from + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        Links {
            links: pairs.into_iter().map(|(_, link)| link).collect(),
            first,
        }
    }

    pub fn range(&self, from: usize) -> std::ops::Range<usize> {
        self.first[from] as usize..self.first[from + 1] as usize
    }

    /// Returns the link at an index within [`range`](Self::range).
    pub fn at(&self, index: usize) -> Link {
        self.links[index]
    }

    pub fn find(&self, from: usize, to: usize) -> Option<&Link> {
        let links = self.of(from);
        let place = links.binary_search_by_key(&(to as u32), |link| link.to);
        place.ok().map(|place| &links[place])
    }

    /// Returns the links of node `from`, in order of the receiving node's index.
    pub fn of(&self, from: usize) -> &[Link] {
        &self.links[self.range(from)]
    }

    pub(super) fn all(&self) -> &[Link] {
        &self.links
    }

    pub(super) fn at_mut(&mut self, index: usize) -> &mut Link {
        &mut self.links[index]
    }
}

fn of_disk(disk: &UnitDisk, positions: &[(f64, f64)]) -> Vec<(usize, Link)> {
    let range = disk.transmission_range_m;
    let reach = range
        .max(disk.interference_range_m)
        .max(disk.carrier_sense_range_m);
    let mut links = Vec::new();
    for_each_pair_within(positions, reach, |from, to, distance| {
        let relative = if range > 0.0 { distance / range } else { 2.0 };
        let receives = relative <= 1.0;
        let chance = 1.0 - relative * relative * (1.0 - disk.success_ratio_rx);
        // As in Cooja: −10 dBm next to the sender, −95 dBm at the edge of the range and beyond.
        let rssi = (-10.0 - 85.0 * relative).max(-95.0);
        let link = Link {
            to: to as u32,
            success: if receives { probability(chance) } else { 0 },
            power_mw: 0.0,
            rssi_dbm: libm::round(rssi) as i8,
            cost: 1,
            receives,
            senses: distance <= disk.carrier_sense_range_m,
            disturbs: receives || distance <= disk.interference_range_m,
        };
        links.push((from, link));
    });
    links
}

fn of_list(listed: &[ListedLink], nodes: usize) -> Vec<(usize, Link)> {
    let mut links: Vec<(usize, Link)> = listed
        .iter()
        .filter(|link| link.a != link.b && link.a < nodes && link.b < nodes)
        .flat_map(|link| [(link.a, link.b, link), (link.b, link.a, link)])
        .map(|(from, to, link)| {
            let link = Link {
                to: to as u32,
                success: probability(link.success_ratio),
                power_mw: 0.0,
                rssi_dbm: -60,
                cost: 1,
                // A link with 0 % is sensed and disturbs, but delivers nothing.
                receives: link.success_ratio > 0.0,
                senses: true,
                disturbs: true,
            };
            (from, link)
        })
        .collect();
    links.sort_by_key(|(from, link)| (*from, link.to));
    links.dedup_by_key(|(from, link)| (*from, link.to));
    links
}

fn of_sinr(sinr: &Sinr, site: &Site<'_>, seed: Seed) -> Vec<(usize, Link)> {
    let shadowing = shadowing(seed);
    let asymmetry = seed.stream("asymmetry").next_u64();
    let radios = Radios::new(sinr, site.radios, site.positions_m.len(), seed);
    let floor_dbm = sinr.noise_floor_dbm - NEGLIGIBLE_DB - margin_db(&sinr.fading);
    let sigma = sinr.shadowing_sigma_db.max(0.0) + sinr.asymmetry_sigma_db.max(0.0);
    let margin = SHADOWING_LIMIT * sigma;
    let budget = radios.loudest_dbm() - sinr.reference_loss_db - floor_dbm + margin;
    let reach = libm::pow(10.0, budget / (10.0 * sinr.path_loss_exponent)).max(1.0);
    let mut links = Vec::new();
    for_each_pair_within(site.positions_m, reach, |from, to, distance| {
        let loss_db = loss_db(sinr, distance, shadowing, (from, to));
        let mut power_dbm = radios.of(from).tx_power_dbm - loss_db;
        if sinr.asymmetry_sigma_db > 0.0 {
            power_dbm += sinr.asymmetry_sigma_db * normal_of(asymmetry, from, to);
        }
        if power_dbm < floor_dbm {
            return;
        }
        let power_mw = from_db(power_dbm);
        let noise_dbm = radios.of(to).noise_floor_dbm;
        let link = Link {
            to: to as u32,
            success: u32::MAX,
            power_mw,
            rssi_dbm: whole_dbm(power_dbm),
            cost: cost(power_dbm - noise_dbm),
            receives: power_dbm >= sinr.sensitivity_dbm,
            senses: power_mw + from_db(noise_dbm) >= from_db(sinr.cca_threshold_dbm),
            disturbs: true,
        };
        links.push((from, link));
    });
    links
}

/// Rounds a power as the radio reports it.
pub(super) fn whole_dbm(power_dbm: f64) -> i8 {
    libm::round(power_dbm).clamp(-127.0, 20.0) as i8
}

pub(super) fn shadowing(seed: Seed) -> u64 {
    seed.stream("shadowing").next_u64()
}

/// Returns the loss between two places, including shadowing.
fn loss_db(sinr: &Sinr, distance: f64, seed: u64, (a, b): (usize, usize)) -> f64 {
    let shadowing = if sinr.shadowing_sigma_db > 0.0 {
        sinr.shadowing_sigma_db * normal_of_pair(seed, a, b)
    } else {
        0.0
    };
    // The model does not cover distances below the reference distance.
    let distance = distance.max(1.0);
    sinr.reference_loss_db + 10.0 * sinr.path_loss_exponent * libm::log10(distance) - shadowing
}

/// Returns the nodes that an interferer reaches, each with the power that arrives there, in
/// milliwatts. With listed or measured links, the nodes have no positions, so the interferer
/// reaches all of them. With measured links in the SINR medium, its full transmit power arrives at
/// each node. `number` is the interferer's index among the places with shadowing.
pub fn reached(
    site: &Site<'_>,
    interferer: &Interferer,
    (number, shadowing): (usize, u64),
) -> Vec<(u32, f64)> {
    let (x, y) = interferer.position_m;
    let is_everywhere = site.links.is_given();
    let places = site.positions_m.iter().enumerate();
    let power = |(node, at): (usize, &(f64, f64))| {
        let distance = libm::hypot(at.0 - x, at.1 - y);
        let power_mw = match site.config {
            Config::UnitDisk(_) if is_everywhere => 0.0,
            Config::Sinr(_) if matches!(site.links, LinkSource::Listed(_)) => 0.0,
            Config::Sinr(_) if is_everywhere => from_db(interferer.power_dbm),
            Config::UnitDisk(_) => (distance <= interferer.range_m).then_some(0.0)?,
            Config::Sinr(sinr) => {
                let loss = loss_db(sinr, distance, shadowing, (node, number));
                let power_dbm = interferer.power_dbm - loss;
                (power_dbm >= sinr.noise_floor_dbm - NEGLIGIBLE_DB).then(|| from_db(power_dbm))?
            }
        };
        Some((node as u32, power_mw))
    };
    places.filter_map(power).collect()
}

/// Returns the cost of Thread's link qualities 3, 2 and 1 by the margin over noise in dB
/// (OpenThread: 20, 10 and 2 dB). A link below 2 dB also has cost 4.
fn cost(margin_db: f64) -> u16 {
    match margin_db {
        margin if margin > 20.0 => 1,
        margin if margin > 10.0 => 2,
        _ => 4,
    }
}

/// Returns a standard normal value for a pair of nodes, in either order, within
/// ±[`SHADOWING_LIMIT`].
fn normal_of_pair(seed: u64, a: usize, b: usize) -> f64 {
    normal_of(seed, a.min(b), a.max(b))
}

/// Returns a standard normal value for one direction between two nodes, within
/// ±[`SHADOWING_LIMIT`].
fn normal_of(seed: u64, from: usize, to: usize) -> f64 {
    let mut rng = Rng::stream(seed, ((from as u64) << 32) | to as u64);
    normal(&mut rng).clamp(-SHADOWING_LIMIT, SHADOWING_LIMIT)
}

pub(super) fn normal(rng: &mut Rng) -> f64 {
    // The transform of Box and Muller; the first number must not be zero.
    let radius = (f64::from(rng.next_u32()) + 1.0) / 4_294_967_297.0;
    let angle = f64::from(rng.next_u32()) / 4_294_967_296.0;
    libm::sqrt(-2.0 * libm::log(radius)) * libm::cos(2.0 * std::f64::consts::PI * angle)
}

pub(super) fn probability(p: f64) -> u32 {
    libm::round(p.clamp(0.0, 1.0) * f64::from(u32::MAX)) as u32
}
