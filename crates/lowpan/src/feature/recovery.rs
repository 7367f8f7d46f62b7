//! Types of a build with the feature `recovery`.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recovers;

pub(crate) const RECOVERS: Option<Recovers> = Some(Recovers);

/// The state of fragment recovery; `None` if the caller gave no memory for it.
pub(crate) type RecoveryRoom<T> = Option<T>;

pub(crate) const fn room<T>(state: Option<T>) -> RecoveryRoom<T> {
    state
}
