//! Replaces `recovery.rs` in a build without the feature `recovery`.

use core::marker::PhantomData;

/// A type without values, because no node has the feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recovers {}

pub(crate) const RECOVERS: Option<Recovers> = None;

/// An empty type, because an `Option` would take as much room as the state.
pub(crate) struct RecoveryRoom<T>(PhantomData<T>);

pub(crate) fn room<T>(_state: Option<T>) -> RecoveryRoom<T> {
    RecoveryRoom(PhantomData)
}

impl<T> RecoveryRoom<T> {
    pub(crate) const fn as_ref(&self) -> Option<&T> {
        None
    }

    pub(crate) const fn as_mut(&mut self) -> Option<&mut T> {
        None
    }
}
