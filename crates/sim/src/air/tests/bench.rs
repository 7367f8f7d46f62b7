//! MACs on simulated radios and a medium, without the other layers.

use redpoll_base::{Instant, Wake};
use redpoll_mac::{Mac, MacConfig, MacEvent, Service, TxStatus};
use redpoll_replay::{Replay, ReplayConfig};
use redpoll_wire::ieee802154::Address;

use crate::air::*;
use crate::medium::{Config, Site, UnitDisk};
use crate::radio::Model;

#[derive(Clone, Copy)]
pub enum Next {
    Air(Event),
    Mac(usize),
}

impl From<Event> for Next {
    fn from(event: Event) -> Self {
        Next::Air(event)
    }
}

pub struct Bench {
    pub air: Air,
    pub macs: Vec<Mac<Replay>>,
    pub queue: Queue<Next>,
    pub now: Instant,
    pub received: Vec<(Instant, usize, Vec<u8>)>,
    pub done: Vec<(Instant, usize, TxStatus, u8)>,
    /// Receptions of raw radios: `None` when a frame begins, empty when a damaged frame ends.
    pub heard: Vec<(Instant, usize, Option<Vec<u8>>)>,
    pub is_raw: bool,
    pub overheard: Vec<u32>,
}

/// A medium in which nodes 40 m apart receive one another, and no others do.
pub const DISK: Config = Config::UnitDisk(UnitDisk {
    transmission_range_m: 50.0,
    interference_range_m: 50.0,
    carrier_sense_range_m: 50.0,
    success_ratio_tx: 1.0,
    success_ratio_rx: 1.0,
});

pub fn short(node: usize) -> u16 {
    node as u16 + 1
}

impl Bench {
    pub fn line(nodes: usize, model: Model, seed: u64, faults: &[Spec]) -> Bench {
        Bench::new(&DISK, nodes, model, seed, faults, |_| {})
    }

    pub fn new(
        medium: &Config,
        nodes: usize,
        model: Model,
        seed: u64,
        faults: &[Spec],
        adjust: impl Fn(&mut MacConfig),
    ) -> Bench {
        let access = Replay::new(ReplayConfig::default());
        Bench::with_access(medium, nodes, (model, seed), faults, adjust, access)
    }

    pub fn with_access(
        medium: &Config,
        nodes: usize,
        (model, seed): (Model, u64),
        faults: &[Spec],
        adjust: impl Fn(&mut MacConfig),
        access: Replay,
    ) -> Bench {
        let identities: Vec<_> = (0..nodes)
            .map(|node| Identity {
                pan_id: 0x7270,
                short: short(node),
                extended: [2, 0, 0, 0, 0, 0, 0, node as u8],
            })
            .collect();
        let positions: Vec<_> = (0..nodes).map(|node| (node as f64 * 40.0, 0.0)).collect();
        let macs = identities.iter().enumerate().map(|(node, identity)| {
            let mut config = MacConfig::default().with(|it| {
                it.pan_id = identity.pan_id;
                it.short = identity.short;
                it.extended = identity.extended;
            });
            adjust(&mut config);
            Mac::new(config, access.clone(), Seed(seed).node_stream("mac", node))
        });
        let mut queue = Queue::default();
        let layout = Layout {
            site: Site::of(medium, &positions),
            radio: &radio::Config::of(model),
            identities: &identities,
            faults,
        };
        Bench {
            air: Air::new(&layout, Seed(seed), &mut queue),
            macs: macs.collect(),
            queue,
            now: Instant::ZERO,
            received: Vec::new(),
            done: Vec::new(),
            heard: Vec::new(),
            is_raw: false,
            overheard: vec![0; nodes],
        }
    }

    pub fn send(&mut self, from: usize, to: Address, len: usize) {
        let payload = self.macs[from].frame_mut(to).expect("an idle MAC");
        let payload_len = len - 11;
        payload[..payload_len].fill(from as u8);
        self.macs[from].submit(self.now, payload_len, Service::default());
        self.serve(from);
    }

    pub fn serve(&mut self, node: usize) {
        let mac = &mut self.macs[node];
        while let Some(work) = mac.poll_radio(self.now) {
            self.air
                .start_work(self.now, node, work, mac.frame(), &mut self.queue);
        }
        while let Some(MacEvent::Done {
            status, attempts, ..
        }) = mac.poll_event()
        {
            self.done.push((self.now, node, status, attempts));
        }
        if let Some(Wake { at, .. }) = mac.poll_at() {
            self.queue.schedule(at, Next::Mac(node));
        }
        self.drain();
    }

    pub fn drain(&mut self) {
        while let Some(indication) = self.air.poll_indication() {
            let node = match indication {
                Indication::Frame { node } => {
                    let node = node as usize;
                    let received = self.air.received(node);
                    let frame = &received.frame;
                    if let Some(up) = self.macs[node].input_frame(self.now, frame, &received.info) {
                        self.received.push((self.now, node, up.payload.to_vec()));
                    }
                    node
                }
                Indication::Follows { node } => {
                    self.heard.push((self.now, node as usize, None));
                    continue;
                }
                Indication::Heard { node, intact } => {
                    let frame = intact.then(|| self.air.received(node as usize).frame.clone());
                    let frame = frame.map(|frame| frame.to_vec());
                    self.heard
                        .push((self.now, node as usize, Some(frame.unwrap_or_default())));
                    continue;
                }
                Indication::Overheard { node, .. } => {
                    self.overheard[node as usize] += 1;
                    continue;
                }
                Indication::Done { result, .. } if result == RadioResult::Sent && self.is_raw => {
                    continue;
                }
                Indication::Done { node, result } => {
                    self.macs[node as usize].on_radio_done(self.now, result);
                    node as usize
                }
            };
            self.serve(node);
        }
    }

    pub fn run_until(&mut self, until: Instant) {
        while let Some(next) = self.queue.pop_until(until) {
            self.now = next.at;
            match next.event {
                Next::Air(event) => {
                    self.air.on_event(self.now, event, &mut self.queue);
                    self.drain();
                }
                Next::Mac(node) => {
                    self.macs[node].on_timeout(self.now);
                    self.serve(node);
                }
            }
        }
        self.now = until;
    }

    pub fn settle(&mut self) {
        while let Some(at) = self.queue.next_at() {
            self.run_until(at);
        }
    }

    pub fn count(&self, kind: FrameClass, outcome: Outcome) -> u64 {
        self.air.ledger().count(kind, outcome)
    }

    pub fn check_ledger(&self) {
        let under_way = self.air.entries_under_way();
        for kind in FrameClass::ALL {
            let outstanding = self.air.ledger().outstanding(kind);
            assert_eq!(outstanding, under_way[kind as usize] as i64, "{kind:?}");
        }
    }
}
