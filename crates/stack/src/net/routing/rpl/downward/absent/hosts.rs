//! Replaces `hosts.rs` in a build without the feature `rpl-hosts`: no host can register.

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    clippy::needless_pass_by_ref_mut,
    reason = "the methods have the same signatures as in a build with `rpl-hosts`"
)]

use core::marker::PhantomData;

use redpoll_base::{Addr, Instant};

use super::{Downward, Upward};
use crate::counters::DropReason;
use crate::net::identity::Identity;
use crate::net::outgoing::Outbox;
use crate::net::routing::registered::Registered;
use crate::net::routing::rpl::shared::Context;
use crate::net::routing::{Control, Via};
use crate::profile::Profile;

/// Whether this build lets hosts that do not know RPL register.
pub(in crate::net::routing::rpl) const IS_BUILT: bool = false;
pub(super) type Hosts<M> = PhantomData<M>;

impl<P: Profile> Downward<P> {
    pub(in crate::net::routing::rpl) fn take_hosts(
        &mut self,
        _: &Upward<P>,
        _hosts: Registered<P::Memory>,
    ) {
    }

    pub(in crate::net::routing::rpl) const fn registered(&self) -> Option<&Registered<P::Memory>> {
        None
    }

    pub(in crate::net::routing::rpl) const fn registered_mut(
        &mut self,
    ) -> Option<&mut Registered<P::Memory>> {
        None
    }

    pub(super) const fn host(&self, _now: Instant, _dst: &Addr) -> Option<Via> {
        None
    }

    pub(in crate::net::routing::rpl) const fn on_registration(
        &mut self,
        _: &mut Context<'_, P>,
        _: &Upward<P>,
        _: &Identity,
        _: &mut Outbox,
        _: Control,
    ) -> Result<(), DropReason> {
        Err(DropReason::IcmpIgnored)
    }

    pub(in crate::net::routing::rpl) const fn end_hosts(
        &mut self,
        _: &mut Context<'_, P>,
        _: &Upward<P>,
    ) {
    }

    pub(super) const fn forget_host(&mut self, _now: Instant, _address: &Addr) {}
}
