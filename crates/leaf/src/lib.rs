//! A leaf of a mesh, as in a product: a node with its memory, two services over TCP and one over
//! UDP. The radio is at the other end of a serial line ([`redpoll_uart`]).
//!
//! The images of `firmware/` run this crate on microcontrollers, and tests run it on the host, with
//! the same answers. [`Storage`], [`config`], [`node`] and [`Services::start`] contain what every
//! node needs: memory, a configuration, one route.
//!
//! - `session.rs`: the only connection, and the service that uses it;
//! - `web.rs`: a page and a file by HTTP.
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

mod held;
mod session;
mod web;

use redpoll_base::{Addr, Duration, Instant, LeafMemory, NeverForwards, Rng};
use redpoll_stack::mac::MacConfig;
use redpoll_stack::transport::{Config, Standard};
use redpoll_stack::wire::ieee802154::Address;
use redpoll_stack::{ListenerId, Node, NodeConfig, NodeEvent, NodeMemory, Route, UdpId, Via};
use redpoll_uart::Begin;

use session::{Service, Session};
pub use web::Status;

/// The port of the echo service, by TCP and UDP (RFC 862).
pub const ECHO_PORT: u16 = 7;
pub const WEB_PORT: u16 = 80;
/// The memory of a node and its services: [`LeafStorage`](redpoll_stack::LeafStorage), whose
/// [`memory`](redpoll_stack::NodeStorage::memory) is an argument of [`node`](node()).
pub type Storage = redpoll_stack::LeafStorage;
pub type Device = Node<LeafMemory>;

/// The services of the node, and the connection that they share.
pub struct Services {
    echo: Option<ListenerId>,
    web: Option<ListenerId>,
    datagrams: Option<UdpId>,
    session: Session,
    status: Status,
}

pub fn config(begin: &Begin) -> NodeConfig<Standard, NeverForwards> {
    let mac = MacConfig::default().with(|it| {
        it.pan_id = begin.pan_id;
        it.short = begin.short;
        it.extended = begin.extended;
        it.caps = begin.caps;
        it.max_frame_retries = 10;
    });
    NodeConfig {
        tcp: Config {
            mss: NodeConfig::MSS,
            min_rto: Duration::from_secs(1),
            syn_retries: 6,
            time_wait: Duration::from_secs(10),
            ..Config::default()
        },
        ..NodeConfig::leaf(mac, begin.prefix, begin.first_tag, begin.secret)
    }
}

/// Returns a node in `memory` with the settings of `begin`.
#[inline(never)] // stack: this function's stack frame is free before the node runs
pub fn node(begin: &Begin, memory: NodeMemory<LeafMemory>) -> Device {
    let random = Rng::resume(begin.random);
    Node::new(config(begin), memory, random)
}

impl Services {
    pub fn start(node: &mut Device, begin: &Begin) -> Services {
        if begin.parent != Begin::NO_PARENT {
            // The only route, to all other addresses; the table has room for it.
            let _ = node.add_route(Route {
                prefix: Addr::UNSPECIFIED,
                len: 0,
                via: Via::Neighbour(Address::Short(begin.parent)),
            });
        }
        Services {
            echo: node.tcp_listen(ECHO_PORT).ok(),
            web: node.tcp_listen(WEB_PORT).ok(),
            datagrams: node.udp_bind(ECHO_PORT).ok(),
            session: Session::default(),
            status: Status::default(),
        }
    }

    /// Delivers the node's events to the services. The page shows `status`.
    pub fn serve(&mut self, now: Instant, node: &mut Device, status: Status) {
        self.status = status;
        self.session.look(now, node);
        while let Some(event) = node.poll_event() {
            self.on_event(now, node, event);
        }
    }

    /// Returns the time at which the services must be called; `None` if they have no timer.
    pub fn wakes_at(&self) -> Option<Instant> {
        self.session.deadline()
    }

    /// Returns the content of the page, with the services' counters.
    pub fn status(&self) -> Status {
        self.status
    }

    fn on_event(&mut self, now: Instant, node: &mut Device, event: NodeEvent) {
        match event {
            NodeEvent::Accepted(listener) => {
                let service = match Some(listener) {
                    id if id == self.echo => Service::Echo,
                    id if id == self.web => Service::Web(Default::default()),
                    _ => return,
                };
                if let Some(conn) = node.tcp_accept(listener) {
                    self.session.begin(now, node, conn, service);
                    self.session.pump(now, node, &mut self.status);
                }
            }
            NodeEvent::Tcp(conn, _) if self.session.is_about(conn) => {
                self.session.pump(now, node, &mut self.status);
            }
            NodeEvent::UdpReadable(id) if Some(id) == self.datagrams => {
                self.session.echo_datagrams(now, node, id);
            }
            _ => {}
        }
    }
}
