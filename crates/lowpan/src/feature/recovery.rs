//! The feature `recovery`.

/// The node has the feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recovers;

pub(crate) const RECOVERS: Option<Recovers> = Some(Recovers);

/// RecoveryRoom for the state of the feature.
pub(crate) type RecoveryRoom<T> = Option<T>;

/// The room with this state, if there is any.
pub(crate) const fn room<T>(state: Option<T>) -> RecoveryRoom<T> {
    state
}
