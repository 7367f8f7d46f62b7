//! Replaces the root in a build without the feature `rpl-root`: no node is one.

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_ref_mut,
    reason = "the interface is that of a root"
)]

use core::iter;

use redpoll_base::{Addr, Instant};
use redpoll_wire::ieee802154::Address;
use redpoll_wire::rpl::Transit;

use super::config::RplRole;
use super::{DodagOf, Peer, Rpl, Table};
use crate::net::identity::Identity;
use crate::net::routing::routes::DownwardRoute;
use crate::profile::Profile;

/// Whether a node may be the root.
pub(super) const IS_BUILT: bool = false;
/// The longest source routing header.
pub(super) const ROUTE_MAX: usize = 0;

/// The state of a root.
#[derive(Debug, Default)]
pub(super) struct RootState {}

impl RootState {
    pub(super) const fn earlier(&self, at: Instant) -> Instant {
        at
    }

    pub(super) const fn asks(&self) -> bool {
        false
    }

    pub(super) const fn is_confirmed(&self, _to: &Addr, _link: Peer) -> bool {
        false
    }

    pub(super) const fn schedule(&mut self, _now: Instant) {}

    pub(super) const fn offer(&mut self, _now: Instant, _: (Addr, Peer), _: &Transit) {}
}

/// A path, which does not exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Path {}

impl Path {
    pub(super) const fn first(&self) -> Option<Address> {
        match *self {}
    }

    pub(super) const fn is_external(&self) -> bool {
        match *self {}
    }

    pub(super) const fn stops(&self) -> usize {
        match *self {}
    }

    pub(super) const fn first_stop(&self) -> Addr {
        match *self {}
    }

    pub(super) const fn addresses(&self) -> iter::Empty<Addr> {
        match *self {}
    }

    pub(super) const fn common(&self) -> usize {
        match *self {}
    }
}

impl<P: Profile> Rpl<P> {
    pub(super) const fn is_root(&self) -> bool {
        false
    }

    pub(super) const fn begin_as_root(&mut self, _now: Instant, _: &RplRole, _: &Identity) {}

    pub(super) const fn begin_version(&mut self, _now: Instant) -> bool {
        false
    }

    pub(super) const fn run_root(&mut self, _now: Instant, _: &mut Table<P::Memory>) {}

    pub(super) const fn path(
        &self,
        _now: Instant,
        _: &Table<P::Memory>,
        _: &DodagOf<P>,
        _dst: &Addr,
    ) -> Option<Path> {
        None
    }

    pub(super) const fn on_lost_stop(
        &mut self,
        _now: Instant,
        _: &Identity,
        _: &mut Table<P::Memory>,
        _from: &Addr,
        _error: (u8, &[u8]),
    ) {
    }

    pub(super) const fn poll_inquiry(&mut self) -> Option<(Addr, u16, u16)> {
        None
    }

    pub(super) const fn on_inquiry(&mut self, _has_left: bool) {}

    pub(super) const fn on_answer(
        &mut self,
        _now: Instant,
        _: &mut Table<P::Memory>,
        _src: &Addr,
        _number: (u16, u16),
    ) -> bool {
        false
    }

    pub(super) const fn limit(
        &self,
        _now: Instant,
        _: &Table<P::Memory>,
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
