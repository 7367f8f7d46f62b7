//! Replaces RPL in a build without the feature `rpl`: this `Rpl` has no values.

use core::convert::Infallible;
use core::marker::PhantomData;

use super::protocol::Protocol;
use super::registered::Registered;
use crate::profile::Profile;

/// Bytes of the longest extension header of RPL: there is none.
pub(super) const EXTENSION_MAX: usize = 0;
pub(super) const MESSAGE_MAX: usize = 0;

pub(super) struct Rpl<P>(Infallible, PhantomData<P>);

impl<P: Profile> Protocol<P::Memory> for Rpl<P> {}

impl<P: Profile> Rpl<P> {
    pub(super) const fn registered(&self) -> Option<&Registered<P::Memory>> {
        match self.0 {}
    }

    pub(super) const fn registered_mut(&mut self) -> Option<&mut Registered<P::Memory>> {
        match self.0 {}
    }
}

pub(super) const fn is_option(_kind: u8) -> bool {
    false
}
