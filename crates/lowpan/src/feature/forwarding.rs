//! The feature `forwarding`.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Forwards;

pub(crate) const FORWARDS: Option<Forwards> = Some(Forwards);

/// The state of the feature, if the node has memory for it.
pub(crate) type ForwardingRoom<T> = Option<T>;

pub(crate) const fn room<T>(state: Option<T>) -> ForwardingRoom<T> {
    state
}
