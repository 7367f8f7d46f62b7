//! Types of a build with the feature `forwarding`.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Forwards;

pub(crate) const FORWARDS: Option<Forwards> = Some(Forwards);

/// The state of fragment forwarding; `None` if the caller gave no memory for it.
pub(crate) type ForwardingRoom<T> = Option<T>;

pub(crate) const fn room<T>(state: Option<T>) -> ForwardingRoom<T> {
    state
}
