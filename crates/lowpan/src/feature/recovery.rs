//! The feature `recovery`.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recovers;

pub(crate) const RECOVERS: Option<Recovers> = Some(Recovers);

/// The state of the feature, if the node has memory for it.
pub(crate) type RecoveryRoom<T> = Option<T>;

pub(crate) const fn room<T>(state: Option<T>) -> RecoveryRoom<T> {
    state
}
