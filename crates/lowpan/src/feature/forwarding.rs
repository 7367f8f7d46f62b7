//! The feature `forwarding`.

/// The node has the feature.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Forwards;

pub(crate) const FORWARDS: Option<Forwards> = Some(Forwards);

/// ForwardingRoom for the state of the feature.
pub(crate) type ForwardingRoom<T> = Option<T>;

/// The room with this state, if there is any.
pub(crate) const fn room<T>(state: Option<T>) -> ForwardingRoom<T> {
    state
}
