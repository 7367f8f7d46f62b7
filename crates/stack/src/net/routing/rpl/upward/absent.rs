//! Replaces `root.rs` in a build without the feature `rpl-root`: no node is a root.

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_ref_mut,
    reason = "the methods have the same signatures as the methods of a root"
)]

use redpoll_base::Instant;

use super::Upward;
use crate::net::identity::Identity;
use crate::net::routing::rpl::config::RplRole;
use crate::net::routing::rpl::shared::Context;
use crate::profile::Profile;

/// Whether this build contains the code of a root.
pub(in crate::net::routing::rpl) const IS_BUILT: bool = false;

#[derive(Debug, Default)]
pub(super) struct RootVersions {}

impl RootVersions {
    pub(super) const fn earlier(&self, at: Instant) -> Instant {
        at
    }
}

impl<P: Profile> Upward<P> {
    pub(in crate::net::routing::rpl) const fn is_root(&self) -> bool {
        false
    }

    pub(super) const fn begin_as_root(
        &mut self,
        _now: Instant,
        _: &RplRole,
        _: &Identity,
        _: &P::Rules,
    ) {
    }

    pub(in crate::net::routing::rpl) const fn begin_version(
        &mut self,
        _: &mut Context<'_, P>,
    ) -> bool {
        false
    }

    pub(in crate::net::routing::rpl) const fn run_versions(&mut self, _: &mut Context<'_, P>) {}
}
