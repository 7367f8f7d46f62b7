//! Replaces `forwarding.rs` in a build without the feature `forwarding`.

use core::marker::PhantomData;

/// A type without values, because this build lacks the feature `forwarding`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Forwards {}

pub(crate) const FORWARDS: Option<Forwards> = None;

/// Contains no state. An `Option<T>` would always be `None` here, but takes as much memory as `T`.
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
