//! smoltcp's TCP, with its own IP layer, as the transport of a node.
//!
//! Unlike the other rivals, this one is the original crate. Its interface has the medium IP and a
//! device with room for one incoming packet and a few outgoing ones. A packet for the node
//! enters with an IPv6 header. The node uses only the TCP segment of an outgoing packet, and
//! adds its own header. Options without a name in Redpoll (window scaling) are omitted.

mod device;
mod place;
mod transport;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use ::smoltcp::iface::{Config, Interface, SocketSet};
use ::smoltcp::socket::tcp::{CongestionControl, Socket, SocketBuffer, State as SmolState};
use ::smoltcp::time::Instant as SmolInstant;
use ::smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint, Ipv6Address};
use redpoll_base::{Addr, Ecn, Instant, Rng};
use redpoll_stack::{ConnId, ListenerId};
use redpoll_tcp::{Endpoint, Fields, Header, IpMeta, Segment, SegmentDesc};

use device::Device;
use place::Place;

const IPV6_LEN: usize = 40;
const TCP_LEN: usize = 20;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmolConfig {
    /// The longest payload of a segment in bytes.
    pub mss: u16,
    pub send_buffer: usize,
    pub receive_buffer: usize,
    /// Reno (RFC 5681), or no congestion control.
    pub reno: bool,
}

#[derive(Clone, Copy, Default)]
struct Port {
    port: Option<u16>,
    generation: u8,
}

pub struct Smol {
    config: SmolConfig,
    interface: Box<Interface>,
    sockets: SocketSet<'static>,
    device: Device,
    places: Box<[Place]>,
    ports: Box<[Port]>,
    /// Time at which the stack wants to be called.
    wake: Option<Instant>,
    /// Whether a timer caused the segments that the stack makes now.
    by_timer: bool,
    /// The payload of the segment that was pulled last; `pulls` is the number of pulled segments.
    pulled: Vec<u8>,
    pulls: u32,
}

impl core::fmt::Debug for Smol {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Smol").finish_non_exhaustive()
    }
}

impl Smol {
    /// Returns a stack with room for this number of connections and listening ports.
    pub fn new(config: SmolConfig, connections: usize, listeners: usize, mut rng: Rng) -> Smol {
        let mut device = Device {
            mtu: usize::from(config.mss) + IPV6_LEN + TCP_LEN,
            room: connections.max(1),
            incoming: None,
            outgoing: VecDeque::new(),
        };
        let mut of_interface = Config::new(HardwareAddress::Ip);
        of_interface.random_seed = rng.below_u64(u64::MAX);
        let interface = Interface::new(of_interface, &mut device, SmolInstant::ZERO);
        let mut sockets = SocketSet::new(Vec::new());
        let places = (0..connections.min(usize::from(u8::MAX)))
            .map(|_| Place::new(sockets.add(socket(&config))));
        Smol {
            places: places.collect(),
            ports: vec![Port::default(); listeners].into(),
            config,
            interface: Box::new(interface),
            sockets,
            device,
            wake: None,
            by_timer: false,
            pulled: Vec::new(),
            pulls: 0,
        }
    }

    pub fn bytes(&self) -> usize {
        let each = self.config.send_buffer + self.config.receive_buffer + size_of::<Socket<'_>>();
        self.places.len() * (each + size_of::<Place>())
    }

    /// Adds an address of the node to the interface, unless the interface has it.
    fn know(&mut self, addr: &Addr) {
        let addr = IpCidr::new(ip(addr), 128);
        self.interface.update_ip_addrs(|known| {
            if !known.contains(&addr) {
                if known.is_full() {
                    known.remove(0);
                }
                let _ = known.push(addr);
            }
        });
    }

    /// Runs the stack, and records what has changed.
    fn work(&mut self, now: Instant) {
        let at = time(now);
        self.interface.poll(at, &mut self.device, &mut self.sockets);
        for place in &mut self.places {
            place.look(self.sockets.get(place.handle));
        }
        self.listen_on();
        let at = self.interface.poll_at(at, &self.sockets);
        let at = at.and_then(|at| u64::try_from(at.total_micros()).ok());
        // Work that is already due waits until the next pull makes room in the device.
        self.wake = at.map(Instant::from_micros).filter(|at| *at > now);
    }

    /// Returns a place that has no connection, or whose connection only waits for late segments.
    fn free(&self) -> Option<usize> {
        let is_free = |place: &Place| {
            let socket = self.sockets.get::<Socket<'_>>(place.handle);
            let is_over = socket.state() == SmolState::Closed && socket.remote_endpoint().is_none();
            !place.is_open || place.released && is_over
        };
        let late = |place: &Place| {
            let socket = self.sockets.get::<Socket<'_>>(place.handle);
            place.released && socket.state() == SmolState::TimeWait
        };
        let places = &self.places;
        let free = places.iter().position(is_free);
        free.or_else(|| places.iter().position(late))
    }

    /// Opens a listening socket for each listening port, while there are places.
    fn listen_on(&mut self) {
        for index in 0..self.ports.len() {
            let Some(port) = self.ports[index].port else {
                continue;
            };
            let id = ListenerId::new(index as u8, self.ports[index].generation);
            let listens = |place: &Place| {
                let socket = self.sockets.get::<Socket<'_>>(place.handle);
                place.is_open && place.waits == Some(id) && socket.state() == SmolState::Listen
            };
            if self.places.iter().any(listens) {
                continue;
            }
            let Some(free) = self.free() else {
                return;
            };
            self.renew(free, Some(id));
            let socket: &mut Socket<'_> = self.sockets.get_mut(self.places[free].handle);
            let _ = socket.listen(port);
            self.places[free].was = SmolState::Listen;
        }
    }

    fn renew(&mut self, index: usize, waits: Option<ListenerId>) {
        let place = &mut self.places[index];
        *self.sockets.get_mut(place.handle) = socket(&self.config);
        let generation = place.generation.wrapping_add(1);
        *place = Place {
            generation,
            waits,
            is_open: true,
            ..Place::new(place.handle)
        };
    }

    fn between(&mut self, local: Endpoint, remote: Endpoint) -> Option<&mut Place> {
        let mut open = self.places.iter_mut().filter(|place| place.is_open);
        open.find(|place| (place.local, place.remote) == (local, remote))
    }

    fn index(&self, id: ConnId) -> Option<usize> {
        let (index, generation) = id.parts();
        let place = self.places.get(usize::from(index))?;
        let is_it = place.is_open && !place.released && place.generation == generation;
        is_it.then_some(usize::from(index))
    }

    /// Returns the place of a connection that the application holds, and its socket.
    fn held(&mut self, id: ConnId) -> Option<(&mut Place, &mut Socket<'static>)> {
        let index = self.index(id)?;
        let place = self.places.get_mut(index)?;
        let socket = self.sockets.get_mut(place.handle);
        Some((place, socket))
    }

    fn made(&mut self, packet: &[u8]) -> Option<(SegmentDesc, Addr, Addr)> {
        let (src, dst) = ends(packet)?;
        let meta = IpMeta {
            src,
            dst,
            ecn: Ecn::NotEct,
            hop_limit: 64,
        };
        let segment = Segment::parse(&meta, packet.get(IPV6_LEN..)?).ok()?;
        let local = Endpoint::new(src, segment.src_port);
        let remote = Endpoint::new(dst, segment.dst_port);
        let fields = Fields {
            flags: segment.flags,
            window: segment.window,
            seq: segment.seq,
            ack: segment.ack,
            options: segment.options,
        };
        let by_timer = self.by_timer;
        if let Some(place) = self.between(local, remote) {
            place.count(&segment, by_timer);
        }
        self.pulled.clear();
        self.pulled.extend_from_slice(segment.payload);
        let header = Header::encode(&fields, &local, &remote, [segment.payload, &[]]);
        let mut desc = SegmentDesc::from(header);
        desc.payload_len = segment.payload.len() as u16;
        desc.ecn = Ecn::NotEct;
        Some((desc, src, dst))
    }
}

fn socket(config: &SmolConfig) -> Socket<'static> {
    let buffer = |len: usize| SocketBuffer::new(vec![0; len]);
    let mut socket = Socket::new(buffer(config.receive_buffer), buffer(config.send_buffer));
    socket.set_congestion_control(match config.reno {
        true => CongestionControl::Reno,
        false => CongestionControl::None,
    });
    socket
}

fn time(now: Instant) -> SmolInstant {
    SmolInstant::from_micros(i64::try_from(now.as_micros()).unwrap_or(i64::MAX))
}

fn ip(addr: &Addr) -> IpAddress {
    IpAddress::Ipv6(Ipv6Address::from(addr.0))
}

fn endpoint(of: IpEndpoint) -> Endpoint {
    // smoltcp is built with IPv6 only, so other kinds of addresses do not exist.
    let IpAddress::Ipv6(addr) = of.addr;
    Endpoint::new(Addr(addr.octets()), of.port)
}

fn ends(packet: &[u8]) -> Option<(Addr, Addr)> {
    let addr = |at: usize| Some(Addr(packet.get(at..at + 16)?.try_into().ok()?));
    Some((addr(8)?, addr(24)?))
}
