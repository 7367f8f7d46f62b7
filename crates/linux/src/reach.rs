//! The destinations outside a mesh that its nodes may reach: answers to packets from outside,
//! and services that the operator has exposed.
//!
//! A mesh without link-layer security admits any radio in range, and a TUN interface makes every
//! service of this computer that listens on `[::]` reachable. So nothing is reachable by default
//! except the services that are named. A [`Reach`] remembers the flows that the outside has begun,
//! as a stateful firewall does, with bounded memory: if there are too many flows, the one idle for
//! longest is forgotten, and its next packet from outside is remembered again.
//!
//! ICMPv6 echo messages and errors always pass: path MTU discovery and diagnosis need them
//! (RFC 4890 §4.3.1).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use redpoll_wire::ipv6::{Ipv6Header, next_header, skip_extension_headers};

const FLOWS_MAX: usize = 4_096;
/// Stands for the node in a flow to a group, which any member may answer.
const ANY_NODE: Ipv6Addr = Ipv6Addr::UNSPECIFIED;
/// Maximum number of refused destinations that wait to be reported, and maximum number that are
/// remembered so that they are not reported again.
const REPORTS_MAX: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    Tcp,
    Udp,
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::Tcp => "tcp",
            Protocol::Udp => "udp",
        })
    }
}

/// A service outside the mesh that its nodes may reach. A field that is `None` matches any value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Service {
    pub addr: Option<Ipv6Addr>,
    pub protocol: Option<Protocol>,
    pub port: Option<u16>,
}

impl Service {
    fn matches(&self, to: &Destination) -> bool {
        let protocol = match to.protocol {
            Some(protocol) => self.protocol.is_none_or(|it| it == protocol),
            // A protocol without ports matches only a service without protocol and port.
            None => self.protocol.is_none() && self.port.is_none(),
        };
        protocol
            && self.addr.is_none_or(|addr| addr == to.addr)
            && self.port.is_none_or(|port| port == to.port)
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(protocol) = self.protocol {
            write!(f, "{protocol}:")?;
        }
        match (self.addr, self.port) {
            (Some(addr), Some(port)) => write!(f, "[{addr}]:{port}"),
            (Some(addr), None) => write!(f, "{addr}"),
            (None, Some(port)) => write!(f, "{port}"),
            (None, None) => f.write_str("any"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "got {0:?}; allowed: any, PORT, ADDRESS or [ADDRESS]:PORT, the last three also after tcp: or udp:, such \
     as 1883, tcp:[2001:db8::5]:443 or 2001:db8::5"
)]
pub struct NoService(String);

impl FromStr for Service {
    type Err = NoService;

    fn from_str(text: &str) -> Result<Service, NoService> {
        let wrong = || NoService(text.to_owned());
        let (protocol, rest) = match text.split_once(':') {
            Some(("tcp", rest)) => (Some(Protocol::Tcp), rest),
            Some(("udp", rest)) => (Some(Protocol::Udp), rest),
            _ => (None, text),
        };
        let port = |text: &str| match text.parse() {
            Ok(0) | Err(_) => Err(wrong()),
            Ok(port) => Ok(Some(port)),
        };
        let addr = |text: &str| text.parse().map(Some).map_err(|_| wrong());
        let (addr, port) = match rest.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((inside, "")) => (addr(inside)?, None),
                Some((inside, behind)) => {
                    let number = behind.strip_prefix(':').ok_or_else(wrong)?;
                    (addr(inside)?, port(number)?)
                }
                None => return Err(wrong()),
            },
            None if rest == "any" => (None, None),
            None if rest.contains(':') => (addr(rest)?, None),
            None => (None, port(rest)?),
        };
        Ok(Service {
            addr,
            protocol,
            port,
        })
    }
}

/// Destination of a packet. The port is 0 for protocols without ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Destination {
    addr: Ipv6Addr,
    protocol: Option<Protocol>,
    port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Flow {
    protocol: Protocol,
    node: (Ipv6Addr, u16),
    outside: (Ipv6Addr, u16),
}

/// The type of a packet, as far as the rules of `Reach` distinguish types.
enum UpperLayer {
    /// A transport's packet: protocol, source and destination with ports.
    Ports(Protocol, (Ipv6Addr, u16), (Ipv6Addr, u16)),
    /// An ICMPv6 echo message or error.
    Icmp,
    /// Any other packet to this address.
    Other(Ipv6Addr),
    /// A packet that is not well-formed IPv6.
    Malformed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub node: Ipv6Addr,
    pub service: Service,
}

#[derive(Debug, Default)]
pub struct Reach {
    exposed: Vec<Service>,
    /// The flows, each with the number of its last packet from outside.
    flows: HashMap<Flow, u64>,
    /// Flows by the number of their last packet, so the first one was idle for longest.
    by_age: BTreeMap<u64, Flow>,
    packets: u64,
    withheld: u64,
    reported: VecDeque<(Ipv6Addr, Destination)>,
    attempts: VecDeque<Attempt>,
}

impl Reach {
    /// Permits nodes to send to `exposed`, and to answer packets from outside.
    pub fn new(exposed: Vec<Service>) -> Reach {
        Reach {
            exposed,
            ..Reach::default()
        }
    }

    /// Permits nodes to send to any destination.
    pub fn anything() -> Reach {
        Reach::new(vec![Service::default()])
    }

    /// Replaces the services that nodes may reach. The known flows from outside stay.
    pub fn expose(&mut self, exposed: Vec<Service>) {
        self.exposed = exposed;
    }

    pub fn exposed(&self) -> &[Service] {
        &self.exposed
    }

    /// Returns the number of packets of nodes for which `may_leave` returned `false`.
    pub fn withheld(&self) -> u64 {
        self.withheld
    }

    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Returns the next refused destination of a node. Each of the last 64 refused destinations of
    /// nodes is returned only once.
    pub fn poll_attempt(&mut self) -> Option<Attempt> {
        self.attempts.pop_front()
    }

    /// Remembers the flow of a packet that goes from outside to a node, or to a group, whose
    /// members answer with their own addresses.
    pub fn on_packet_to_mesh(&mut self, packet: &[u8]) {
        let UpperLayer::Ports(protocol, outside, mut node) = seen(packet) else {
            return;
        };
        if node.0.is_multicast() && protocol == Protocol::Udp {
            node.0 = ANY_NODE;
        }
        let flow = Flow {
            protocol,
            node,
            outside,
        };
        self.packets += 1;
        if let Some(before) = self.flows.insert(flow, self.packets) {
            self.by_age.remove(&before);
        } else if self.flows.len() > FLOWS_MAX
            && let Some((_, oldest)) = self.by_age.pop_first()
        {
            self.flows.remove(&oldest);
        }
        self.by_age.insert(self.packets, flow);
    }

    /// Returns whether a packet of a node may leave the mesh; counts and reports it if not.
    pub fn may_leave(&mut self, packet: &[u8]) -> bool {
        let (to, is_answer) = match seen(packet) {
            UpperLayer::Icmp => return true,
            UpperLayer::Ports(protocol, node, outside) => {
                let flow = Flow {
                    protocol,
                    node,
                    outside,
                };
                let to = Destination {
                    addr: outside.0,
                    protocol: Some(protocol),
                    port: outside.1,
                };
                let of_group = Flow {
                    node: (ANY_NODE, node.1),
                    ..flow
                };
                let flows = &self.flows;
                let is_answer = flows.contains_key(&flow) || flows.contains_key(&of_group);
                (Some(to), is_answer)
            }
            UpperLayer::Other(addr) => {
                let to = Destination {
                    addr,
                    protocol: None,
                    port: 0,
                };
                (Some(to), false)
            }
            UpperLayer::Malformed => (None, false),
        };
        let is_exposed = self.exposed.iter().any(|service| match &to {
            Some(to) => service.matches(to),
            None => *service == Service::default(),
        });
        if is_answer || is_exposed {
            return true;
        }
        self.withheld += 1;
        if let (Some(to), Ok((header, _))) = (to, Ipv6Header::parse(packet)) {
            self.report(header.src.into(), to);
        }
        false
    }

    /// Records a refused destination of a node for [`Reach::poll_attempt`], unless it is one of the
    /// last 64 recorded ones, or 64 records wait.
    fn report(&mut self, node: Ipv6Addr, to: Destination) {
        if self.reported.contains(&(node, to)) || self.attempts.len() >= REPORTS_MAX {
            return;
        }
        if self.reported.len() >= REPORTS_MAX {
            self.reported.pop_front();
        }
        self.reported.push_back((node, to));
        self.attempts.push_back(Attempt {
            node,
            service: Service {
                addr: Some(to.addr),
                protocol: to.protocol,
                port: to.protocol.map(|_| to.port),
            },
        });
    }
}

fn seen(packet: &[u8]) -> UpperLayer {
    /// ICMPv6 error messages have types below 128; 128 and 129 are the echo messages (RFC 4443).
    const ECHO_REPLY: u8 = 129;
    let Ok((header, payload)) = Ipv6Header::parse(packet) else {
        return UpperLayer::Malformed;
    };
    let Ok((protocol, offset)) = skip_extension_headers(header.next_header, payload) else {
        return UpperLayer::Malformed;
    };
    let upper = payload.get(offset..).unwrap_or_default();
    let (src, dst) = (header.src.into(), header.dst.into());
    let protocol = match (protocol, upper) {
        (next_header::TCP, _) => Protocol::Tcp,
        (next_header::UDP, _) => Protocol::Udp,
        (next_header::ICMPV6, [kind, ..]) if *kind <= ECHO_REPLY => return UpperLayer::Icmp,
        _ => return UpperLayer::Other(dst),
    };
    match upper {
        [s1, s2, d1, d2, ..] => UpperLayer::Ports(
            protocol,
            (src, u16::from_be_bytes([*s1, *s2])),
            (dst, u16::from_be_bytes([*d1, *d2])),
        ),
        _ => UpperLayer::Malformed,
    }
}

#[cfg(test)]
mod tests;
