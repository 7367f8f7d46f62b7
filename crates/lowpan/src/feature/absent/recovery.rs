//! Replaces `recovery.rs` in a build without the feature `recovery`.

use core::marker::PhantomData;

/// A type without values, because this build lacks the feature `recovery`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recovers {}

pub(crate) const RECOVERS: Option<Recovers> = None;

/// Contains no state. An `Option<T>` would always be `None` here, but takes as much memory as `T`.
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
