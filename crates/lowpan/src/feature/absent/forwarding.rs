//! Replaces `forwarding.rs` in a build without the feature `forwarding`.

use core::marker::PhantomData;

/// A type without values, because no node has the feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Forwards {}

pub(crate) const FORWARDS: Option<Forwards> = None;

/// An empty type, because an `Option` would take as much room as the state.
pub(crate) struct ForwardingRoom<T>(PhantomData<T>);

pub(crate) fn room<T>(_state: Option<T>) -> ForwardingRoom<T> {
    ForwardingRoom(PhantomData)
}

impl<T> ForwardingRoom<T> {
    pub(crate) const fn as_ref(&self) -> Option<&T> {
        None
    }

    pub(crate) const fn as_mut(&mut self) -> Option<&mut T> {
        None
    }
}
