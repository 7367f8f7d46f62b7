//! Link-layer security as the link has it: none, or that of `redpoll_mac::security`.

use redpoll_base::{Instant, Memory};
use redpoll_mac::Access;
#[cfg(feature = "security")]
use redpoll_mac::security::{Security, SecurityConfig, SecurityMemory};

use super::Link;

#[cfg(feature = "security")]
impl<M: Memory + 'static, A: Access> Link<M, A> {
    /// From now on every frame is protected, and others are refused.
    pub(crate) fn secure(&mut self, config: SecurityConfig, memory: SecurityMemory<M>) {
        let security = Security::new(config, memory);
        self.mac.set_security_bytes(security.overhead());
        self.security = Some(security);
    }

    pub(crate) fn security(&self) -> Option<&Security<M>> {
        self.security.as_ref()
    }

    pub(crate) fn security_mut(&mut self) -> Option<&mut Security<M>> {
        self.security.as_mut()
    }

    /// Whether frames wait for a counter to be stored.
    pub(super) fn awaits_counter(&self) -> bool {
        self.security.as_ref().is_some_and(Security::waits)
    }

    /// Whether a frame of the MAC's own could be protected now.
    pub(super) fn may_send(&self) -> bool {
        let security = self.security.as_ref();
        security.is_none_or(|security| !security.waits() && !security.is_exhausted())
    }

    /// Protects the frame that the MAC has been given. If that fails an event says so.
    pub(super) fn seal(&mut self, now: Instant) {
        if let Some(security) = &mut self.security {
            self.mac.seal(now, security);
            // The key may have changed, and with it how it is named.
            self.mac.set_security_bytes(security.overhead());
        }
    }
}

#[cfg(not(feature = "security"))]
impl<M: Memory + 'static, A: Access> Link<M, A> {
    pub(super) fn awaits_counter(&self) -> bool {
        false
    }

    pub(super) fn may_send(&self) -> bool {
        true
    }

    pub(super) fn seal(&mut self, _now: Instant) {}
}
