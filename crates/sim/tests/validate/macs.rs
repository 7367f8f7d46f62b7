//! Nodes with a MAC and no other layer, on the simulator's radios and medium.

use redpoll_base::{Duration, Instant, Wake};
use redpoll_mac::{Mac, MacConfig, MacEvent, Service, Ticket, TxStatus};
use redpoll_replay::{Replay, ReplayConfig};
use redpoll_sim::testing::air::{Air, Event, Indication, Layout};
use redpoll_sim::testing::kernel::{Queue, Seed};
use redpoll_sim::testing::medium::Site;
use redpoll_sim::testing::radio::Identity;
use redpoll_sim::{MediumConfig, RadioConfig};
use redpoll_wire::ieee802154::Address;

/// Bytes of a frame between short addresses in addition to its payload: header and FCS.
pub const OVERHEAD: usize = 9 + 2;

/// Turnaround and acknowledgment.
const TO_ACKNOWLEDGE: Duration = Duration::from_micros(192 + 352);

#[derive(Clone, Copy)]
enum Next {
    Air(Event),
    Mac(usize),
    Start(usize),
    Again(usize),
}

impl From<Event> for Next {
    fn from(event: Event) -> Self {
        Next::Air(event)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MacReport {
    /// The time given to [`Macs::start_at`] was reached.
    Start,
    /// The service of a frame has ended.
    Done(TxStatus),
    /// A frame arrived, with these bytes at the beginning of its payload.
    Frame([u8; 3]),
}

#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// Addressee; `None`: a broadcast.
    pub to: Option<usize>,
    pub len: usize,
    /// Beginning of the payload.
    pub tag: [u8; 3],
}

/// Upper layer of the MACs. It gets all events of a node, and must provide a frame whenever the
/// node's MAC has none.
pub trait Above {
    fn on(&mut self, now: Instant, node: usize, said: MacReport);
    fn next(&mut self, now: Instant, node: usize) -> Option<Outgoing>;
    /// Returns a node to ask for a frame although the node had no event.
    fn also(&mut self) -> Option<usize> {
        None
    }
}

pub struct Macs {
    pub air: Air,
    pub macs: Vec<Mac<Replay>>,
    /// Whether a frame that arrives during a backoff restarts the backoff, as in ns-3.
    pub restarts: bool,
    held: Vec<Option<(Outgoing, Ticket)>>,
    served: Vec<Option<Outgoing>>,
    queue: Queue<Next>,
    now: Instant,
}

fn short(node: usize) -> u16 {
    node as u16 + 1
}

impl Macs {
    pub fn new(
        medium: &MediumConfig,
        positions_m: &[(f64, f64)],
        radio: &RadioConfig,
        config: &MacConfig,
        seed: u64,
    ) -> Macs {
        let identities: Vec<_> = (0..positions_m.len())
            .map(|node| Identity {
                pan_id: config.pan_id,
                short: short(node),
                extended: [2, 0, 0, 0, 0, 0, 0, node as u8],
            })
            .collect();
        let macs = identities.iter().enumerate().map(|(node, identity)| {
            let config = config.clone().with(|it| {
                it.short = identity.short;
                it.extended = identity.extended;
            });
            {
                let access = Replay::new(ReplayConfig::default());
                Mac::new(config, access, Seed(seed).node_stream("mac", node))
            }
        });
        let mut queue = Queue::default();
        let layout = Layout {
            site: Site::of(medium, positions_m),
            radio,
            identities: &identities,
            faults: &[],
        };
        Macs {
            air: Air::new(&layout, Seed(seed), &mut queue),
            macs: macs.collect(),
            restarts: false,
            held: vec![None; positions_m.len()],
            served: vec![None; positions_m.len()],
            queue,
            now: Instant::ZERO,
        }
    }

    pub fn start_at(&mut self, at: Instant, node: usize) {
        self.queue.schedule(at, Next::Start(node));
    }

    /// Handles all events up to `until`.
    pub fn run_until(&mut self, until: Instant, above: &mut impl Above) {
        while let Some(next) = self.queue.pop_until(until) {
            self.now = next.at;
            match next.event {
                Next::Air(event) => {
                    self.air.on_event(self.now, event, &mut self.queue);
                    self.drain(above);
                }
                Next::Mac(node) => {
                    self.macs[node].on_timeout(self.now);
                    self.serve(node, above);
                }
                Next::Start(node) => {
                    above.on(self.now, node, MacReport::Start);
                    self.serve(node, above);
                }
                Next::Again(node) => {
                    if let Some((frame, ticket)) = self.held[node].take() {
                        self.submit(node, frame, Some(ticket));
                        self.serve(node, above);
                    }
                }
            }
            while let Some(node) = above.also() {
                self.serve(node, above);
            }
        }
        self.now = until;
    }

    fn serve(&mut self, node: usize, above: &mut impl Above) {
        loop {
            while let Some(event) = self.macs[node].poll_event() {
                if let MacEvent::Done { status, .. } = event {
                    above.on(self.now, node, MacReport::Done(status));
                }
            }
            if self.macs[node].is_idle()
                && self.held[node].is_none()
                && let Some(frame) = above.next(self.now, node)
            {
                self.submit(node, frame, None);
            }
            let Some(work) = self.macs[node].poll_radio(self.now) else {
                break;
            };
            let frame = self.macs[node].frame();
            self.air
                .start_work(self.now, node, work, frame, &mut self.queue);
        }
        if let Some(Wake { at, .. }) = self.macs[node].poll_at() {
            self.queue.schedule(at, Next::Mac(node));
        }
        self.drain(above);
    }

    fn submit(&mut self, node: usize, frame: Outgoing, repeats: Option<Ticket>) {
        let to = frame
            .to
            .map_or(Address::BROADCAST, |to| Address::Short(short(to)));
        let payload = self.macs[node].frame_mut(to).expect("an idle MAC");
        let len = frame.len - OVERHEAD;
        payload[..len].fill(0);
        payload[..frame.tag.len()].copy_from_slice(&frame.tag);
        let how = Service {
            repeats,
            ..Service::default()
        };
        self.macs[node].submit(self.now, len, how);
        self.served[node] = Some(frame);
    }

    fn give_back(&mut self, node: usize) {
        if self.restarts
            && let Some(frame) = self.served[node]
            && let Some(ticket) = self.macs[node].preempt(self.now)
        {
            self.held[node] = Some((frame, ticket));
            self.queue
                .schedule(self.now + TO_ACKNOWLEDGE, Next::Again(node));
        }
    }

    fn drain(&mut self, above: &mut impl Above) {
        while let Some(indication) = self.air.poll_indication() {
            let node = match indication {
                Indication::Frame { node } => {
                    let node = node as usize;
                    let received = self.air.received(node);
                    let frame = &received.frame;
                    if let Some(up) = self.macs[node].input_frame(self.now, frame, &received.info) {
                        let tag = [0, 1, 2].map(|place| up.payload[place]);
                        above.on(self.now, node, MacReport::Frame(tag));
                        self.give_back(node);
                    }
                    node
                }
                // No radio here is a raw radio, and no node overhears frames.
                Indication::Follows { .. }
                | Indication::Heard { .. }
                | Indication::Overheard { .. } => continue,
                Indication::Done { node, result } => {
                    self.macs[node as usize].on_radio_done(self.now, result);
                    node as usize
                }
            };
            self.serve(node, above);
        }
    }
}
