//! One end of a connection or a datagram.

use redpoll_base::Addr;
use redpoll_tcp::Endpoint;

/// `struct rp_endpoint`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct RpEndpoint {
    pub address: [u8; 16],
    pub port: u16,
}

impl RpEndpoint {
    pub(crate) fn endpoint(self) -> Endpoint {
        Endpoint::new(Addr(self.address), self.port)
    }

    pub(crate) fn of(endpoint: Endpoint) -> RpEndpoint {
        RpEndpoint {
            address: endpoint.addr.0,
            port: endpoint.port,
        }
    }
}
