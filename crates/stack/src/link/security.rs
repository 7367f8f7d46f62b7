//! Link-layer security of the link: none until a program secures the link, then that of
//! `redpoll_mac::security`. `security/absent.rs` replaces this file in builds without it.

use redpoll_base::{Instant, Memory};
use redpoll_mac::security::{Security, SecurityConfig, SecurityMemory};
use redpoll_mac::{Access, FrameBuf, Indication, Mac, RxInfo};

use super::Link;

pub(crate) const SEALS: bool = true;

/// A buffer for a frame without its protection.
pub(super) type Clear = FrameBuf;

/// The security of a link; `None` while its frames are not protected.
pub(super) struct Guard<M: Memory + 'static>(Option<Security<M>>);

impl<M: Memory + 'static> Guard<M> {
    pub(super) const fn new() -> Self {
        Guard(None)
    }

    /// Passes a received frame to the MAC, after removal of its protection if the link is secured.
    pub(super) fn input<'f, A: Access>(
        &mut self,
        now: Instant,
        mac: &mut Mac<A>,
        frame: &'f [u8],
        info: &RxInfo,
        clear: &'f mut Clear,
    ) -> Option<Indication<'f>> {
        match &mut self.0 {
            Some(security) => mac.input_secured(now, frame, info, security, clear),
            None => mac.input_frame(now, frame, info),
        }
    }
}

impl<M: Memory + 'static, A: Access> Link<M, A> {
    /// Protects every frame from now on, and refuses unprotected ones.
    pub(crate) fn secure(&mut self, config: SecurityConfig, memory: SecurityMemory<M>) {
        let security = Security::new(config, memory);
        self.mac.make_room(&security);
        self.guard.0 = Some(security);
    }

    pub(crate) fn security(&self) -> Option<&Security<M>> {
        self.guard.0.as_ref()
    }

    pub(crate) fn security_mut(&mut self) -> Option<&mut Security<M>> {
        self.guard.0.as_mut()
    }

    pub(super) fn awaits_counter(&self) -> bool {
        self.security().is_some_and(Security::waits)
    }

    pub(super) fn may_send(&self) -> bool {
        let security = self.security();
        security.is_none_or(|security| !security.waits() && !security.is_exhausted())
    }

    /// Protects the frame in the MAC. A failure is reported as an event.
    pub(super) fn seal(&mut self, now: Instant) {
        if let Some(security) = &mut self.guard.0 {
            self.mac.seal(now, security);
            // Adapt the room for the header: a new key may have an identifier of another length.
            self.mac.make_room(security);
        }
    }
}
