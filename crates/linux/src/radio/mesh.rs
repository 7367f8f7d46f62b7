//! A border router on a radio, for the [gateway](crate::gateway): a node of this program, and the
//! nodes in the range of its radio.

use std::collections::VecDeque;
use std::convert::Infallible;

use redpoll_base::Instant;
use redpoll_border::Gate;
use redpoll_stack::mac::{Access, FrameBuf, RadioCaps, RadioResult, RadioWork};
use redpoll_stack::{Node, Profile, Streams};

use super::Radio;
use super::counter::{Keeper, KeeperCounters, Store};
use super::rcp::Event;
use crate::gateway::Mesh;

/// Maximum number of packets from the host that wait while the node has no room.
const WAITING: usize = 64;

/// A line for the user about the radio or the frame counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A fault.
    Trouble(String),
    /// The end of a fault.
    Recovery(String),
}

pub struct RadioMesh<P: Profile> {
    node: Node<P>,
    gate: Gate,
    radio: Radio,
    /// Functions of the radio for which the node is configured. A radio that is set up again must
    /// have the same functions.
    caps: RadioCaps,
    keeper: Keeper,
    now: Instant,
    loaded: FrameBuf,
    from_host: VecDeque<Vec<u8>>,
    /// Packets from the host that were dropped because `from_host` was full.
    turned_away: u64,
    notices: VecDeque<Notice>,
}

impl<P: Profile> RadioMesh<P> {
    /// Returns a border router whose node is configured for the functions of this radio.
    pub fn new(node: Node<P>, gate: Gate, (radio, caps): (Radio, RadioCaps), store: Store) -> Self {
        RadioMesh {
            node,
            gate,
            radio,
            caps,
            keeper: Keeper::new(store),
            now: Instant::ZERO,
            loaded: FrameBuf::new(),
            from_host: VecDeque::new(),
            turned_away: 0,
            notices: VecDeque::new(),
        }
    }

    pub fn radio(&self) -> &Radio {
        &self.radio
    }

    pub fn node(&self) -> &Node<P> {
        &self.node
    }

    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    pub fn notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// Returns the number of packets from the host dropped because the queue was full.
    pub fn turned_away(&self) -> u64 {
        self.turned_away
    }

    /// Returns how often the frame counter was stored, and how often that failed.
    pub fn keeper_counters(&self) -> KeeperCounters {
        self.keeper.counters()
    }
}

impl<P: Profile> RadioMesh<P>
where
    P::Access: Access<Work = Infallible, Done = Infallible>,
{
    fn hear(&mut self) {
        while let Some(event) = self.radio.poll_event() {
            match event {
                Event::Received { mpdu, info } => self.node.input_frame(self.now, &mpdu, info),
                Event::Done(result) => self.node.on_radio_done(self.now, result),
                Event::Ready { version, caps } if caps == self.caps => {
                    let text = format!("the radio is ready again: {version}");
                    self.notices.push_back(Notice::Recovery(text));
                }
                Event::Ready { version, .. } => {
                    let text = format!(
                        "the radio was replaced by a different one: {version}; \
                        restart this program"
                    );
                    self.notices.push_back(Notice::Trouble(text));
                }
                Event::Trouble(text) => self.notices.push_back(Notice::Trouble(text)),
            }
        }
    }

    fn serve(&mut self) {
        loop {
            self.store_counter();
            while self.node.has_room()
                && let Some(packet) = self.from_host.pop_front()
            {
                // The gate counts the packets that it rejects.
                let _ = self.gate.input_packet(self.now, &mut self.node, &packet);
            }
            // The events are dropped, because connections are polled and no application runs here.
            while self.node.poll_event().is_some() {}
            let Some(work) = self.node.poll_radio(self.now) else {
                return;
            };
            self.work(work);
            self.hear();
        }
    }

    fn work(&mut self, work: RadioWork) {
        match work {
            RadioWork::Load => {
                // Ignores the result: every frame of the MAC fits into `loaded`.
                let _ = self.loaded.copy_from(self.node.frame());
                self.node.on_radio_done(self.now, RadioResult::Loaded);
            }
            RadioWork::Transmit { cca } => {
                self.radio.transmit(self.now, &self.loaded, cca);
            }
            RadioWork::SourceMatch { neighbour, pending } => {
                self.radio.set_pending(neighbour, pending);
            }
            // The receiver of a host's radio is always on.
            RadioWork::Listen | RadioWork::Doze | RadioWork::Sleep => {}
        }
    }

    fn store_counter(&mut self) {
        let Some(security) = self.node.security_mut() else {
            return;
        };
        let said = self.keeper.turn(self.now, security);
        let is_failing = self.keeper.retry_at().is_some();
        self.notices.extend(said.map(|text| {
            if is_failing {
                Notice::Trouble(text)
            } else {
                Notice::Recovery(text)
            }
        }));
    }
}

impl<P: Profile> Mesh for RadioMesh<P>
where
    P::Access: Access<Work = Infallible, Done = Infallible>,
    Node<P>: Streams,
{
    type Border = Node<P>;

    fn advance(&mut self, now: Instant) {
        self.now = now;
        self.radio.turn(now);
        self.hear();
        if self.node.poll_at().is_some_and(|wake| wake.at <= now) {
            self.node.on_timeout(now);
        }
        self.serve();
    }

    fn next_at(&self) -> Option<Instant> {
        let node = self.node.poll_at().map(|wake| wake.at);
        let wakes = [node, self.radio.poll_at(), self.keeper.retry_at()];
        wakes.into_iter().flatten().min()
    }

    fn input_packet(&mut self, packet: &[u8]) {
        if self.from_host.len() < WAITING {
            self.from_host.push_back(packet.to_vec());
        } else {
            self.turned_away += 1;
        }
        self.serve();
    }

    fn poll_packet(&mut self, out: &mut [u8]) -> Option<usize> {
        self.gate.poll_packet(self.now, &mut self.node, out)
    }

    fn border<R>(&mut self, act: impl FnOnce(Instant, &mut Self::Border) -> R) -> R {
        let result = act(self.now, &mut self.node);
        self.serve();
        result
    }
}
