//! One end of a connection, which RFC 9293 calls a socket.

use redpoll_base::Addr;

/// An address and a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Endpoint {
    /// IPv6 address of the host.
    pub addr: Addr,
    /// TCP port.
    pub port: u16,
}

impl Endpoint {
    /// Creates the endpoint `port` of `addr`.
    pub const fn new(addr: Addr, port: u16) -> Self {
        Endpoint { addr, port }
    }
}
