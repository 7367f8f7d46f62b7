//! Link-layer security of a node (IEEE 802.15.4-2015 §9).

use redpoll_mac::security::{Security, SecurityConfig, SecurityMemory};

use super::Node;
use crate::profile::Profile;

impl<P: Profile> Node<P> {
    /// Protects every frame except Imm-ACKs from now on, and refuses unprotected frames. Call this
    /// before the node sends anything, because security shortens the payload of a frame.
    ///
    /// Nothing is sent until a frame counter has been stored. Call [`Security::poll_counter`] and
    /// [`Security::on_counter_stored`] after each call into the node, as for events. Security does
    /// not protect the strobes and probes of a duty-cycled MAC, so nodes with such a MAC cannot use
    /// it.
    pub fn secure(&mut self, config: SecurityConfig, memory: SecurityMemory<P::Memory>) {
        self.link.secure(config, memory);
    }

    /// Returns the node's link-layer security, if any.
    pub fn security(&self) -> Option<&Security<P::Memory>> {
        self.link.security()
    }

    /// Returns the node's link-layer security, to add keys, name neighbours and store counters.
    pub fn security_mut(&mut self) -> Option<&mut Security<P::Memory>> {
        self.link.security_mut()
    }
}
