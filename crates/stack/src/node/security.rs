//! A node whose frames are protected (IEEE 802.15.4-2015 §9).

use redpoll_mac::security::{Security, SecurityConfig, SecurityMemory};

use super::Node;
use crate::profile::Profile;

impl<P: Profile> Node<P> {
    /// From now on every frame but an Imm-ACK is protected, and what others send without
    /// protection is refused. To be called before the node has sent anything: it says how
    /// many bytes of a frame are left.
    ///
    /// Nothing is sent until a frame counter has been stored:
    /// [`Security::poll_counter`] and [`Security::on_counter_stored`], after each call into
    /// the node as events are polled. Not for nodes with duty-cycled MACs of their own
    /// strobes or probes, which cannot be protected.
    pub fn secure(&mut self, config: SecurityConfig, memory: SecurityMemory<P::Memory>) {
        self.link.secure(config, memory);
    }

    /// The security of its link; `None` if it has none.
    pub fn security(&self) -> Option<&Security<P::Memory>> {
        self.link.security()
    }

    /// The security of its link, to add keys, name neighbours and store counters.
    pub fn security_mut(&mut self) -> Option<&mut Security<P::Memory>> {
        self.link.security_mut()
    }
}
