//! One end of a connection: RFC 9293's socket.

use redpoll_base::Addr;

/// An address and a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Endpoint {
    /// The host.
    pub addr: Addr,
    /// The TCP port.
    pub port: u16,
}

impl Endpoint {
    /// The endpoint at `port` of `addr`.
    pub const fn new(addr: Addr, port: u16) -> Self {
        Endpoint { addr, port }
    }
}
