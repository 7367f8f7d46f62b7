//! The link of a build without link-layer security.

use core::marker::PhantomData;

use redpoll_base::{Instant, Memory};
use redpoll_mac::{Access, Indication, Mac, RxInfo};

use super::Link;

pub(crate) const SEALS: bool = false;

pub(super) struct Clear;

impl Clear {
    pub(super) const fn new() -> Self {
        Clear
    }
}

pub(super) struct Guard<M>(PhantomData<M>);

impl<M: Memory + 'static> Guard<M> {
    pub(super) const fn new() -> Self {
        Guard(PhantomData)
    }

    pub(super) fn input<'f, A: Access>(
        &mut self,
        now: Instant,
        mac: &mut Mac<A>,
        frame: &'f [u8],
        info: &RxInfo,
        _clear: &'f mut Clear,
    ) -> Option<Indication<'f>> {
        mac.input_frame(now, frame, info)
    }
}

impl<M: Memory + 'static, A: Access> Link<M, A> {
    pub(super) fn awaits_counter(&self) -> bool {
        false
    }

    pub(super) fn may_send(&self) -> bool {
        true
    }

    pub(super) fn seal(&mut self, _now: Instant) {}
}
