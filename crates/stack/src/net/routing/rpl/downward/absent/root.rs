//! Replaces the folder `root` in a build without the feature `rpl-root`: no node is a root.

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_ref_mut,
    reason = "the methods have the same signatures as the methods of a root"
)]

use core::iter;

use redpoll_base::{Addr, Instant};
use redpoll_wire::ieee802154::Address;

use super::targets::AdvertisedTarget;
use super::{Downward, Upward};
use crate::net::identity::Identity;
use crate::net::routing::protocol::{EchoId, RouterError};
use crate::net::routing::routes::DownwardRoute;
use crate::net::routing::rpl::loops::Loops;
use crate::net::routing::rpl::shared::Context;
use crate::net::routing::rpl::upward::DodagOf;
use crate::net::routing::{Peer, Table};
use crate::profile::Profile;

/// Bytes of the longest source routing header: there is none.
pub(in crate::net::routing::rpl) const ROUTE_MAX: usize = 0;

#[derive(Debug, Default)]
pub(super) struct Inquiries {}

impl Inquiries {
    pub(super) const fn earlier(&self, at: Instant) -> Instant {
        at
    }

    pub(super) const fn is_due(&self) -> bool {
        false
    }

    pub(super) const fn is_confirmed(&self, _to: &Addr, _link: Peer) -> bool {
        false
    }

    pub(super) const fn schedule(&mut self, _now: Instant) {}

    pub(super) const fn offer(&mut self, _now: Instant, _: &AdvertisedTarget) {}
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::net::routing::rpl) enum Path {}

impl Path {
    pub(in crate::net::routing::rpl) const fn first(&self) -> Option<Address> {
        match *self {}
    }

    pub(in crate::net::routing::rpl) const fn is_external(&self) -> bool {
        match *self {}
    }

    pub(in crate::net::routing::rpl) const fn stops(&self) -> usize {
        match *self {}
    }

    pub(in crate::net::routing::rpl) const fn first_stop(&self) -> Addr {
        match *self {}
    }

    pub(in crate::net::routing::rpl) const fn addresses(&self) -> iter::Empty<Addr> {
        match *self {}
    }

    pub(in crate::net::routing::rpl) const fn common(&self) -> usize {
        match *self {}
    }
}

impl<P: Profile> Downward<P> {
    pub(in crate::net::routing::rpl) const fn run_inquiries(
        &mut self,
        _: &mut Context<'_, P>,
        _: &Upward<P>,
    ) {
    }

    pub(in crate::net::routing::rpl) const fn path(
        &self,
        _now: Instant,
        _: &Table<P::Memory>,
        _: &Upward<P>,
        _: &DodagOf<P>,
        _dst: &Addr,
    ) -> Option<Path> {
        None
    }

    pub(in crate::net::routing::rpl) const fn on_lost_stop(
        &mut self,
        _: &mut Context<'_, P>,
        _: &Upward<P>,
        _: &mut Loops,
        _: &Identity,
        _error: RouterError<'_>,
    ) {
    }

    pub(in crate::net::routing::rpl) const fn poll_inquiry(&mut self) -> Option<(Addr, EchoId)> {
        None
    }

    pub(in crate::net::routing::rpl) const fn on_inquiry(&mut self, _has_left: bool) {}

    pub(in crate::net::routing::rpl) const fn on_answer(
        &mut self,
        _: &mut Context<'_, P>,
        _: &Upward<P>,
        _src: &Addr,
        _echo: EchoId,
    ) -> bool {
        false
    }

    pub(super) const fn limit(
        &self,
        _: &Context<'_, P>,
        _: &Upward<P>,
        _: &DodagOf<P>,
        _to: &Addr,
        _known: Option<DownwardRoute>,
        _: &mut DownwardRoute,
    ) {
    }

    pub(super) const fn doubts(&mut self, _now: Instant, _: &mut DownwardRoute) -> bool {
        false
    }
}
