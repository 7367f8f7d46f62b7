//! Transfer of a firmware image to the flash of a leaf, by one of several protocols
//! ([`ImageTransfer`]), and its source.
//!
//! The leaf expects packets until the image is complete. If nothing arrives within its patience, it
//! requests the missing bytes again. It also does so after a restart, which erases all state except
//! the flash.

mod bdx;
mod block1;
mod datagrams;
mod http;
mod pusher;
mod quick;
mod source;

use redpoll_base::{Instant, Rng};
use redpoll_ota::Have;
use redpoll_stack::NodeEvent;

use super::{App, Context, Route};
use crate::oracle::FlowId;
use crate::scenario::{ImageLeafSpec, ImageProtocol};

pub(super) use source::source;

/// Resource of a leaf to which the source sends the blocks of the image.
const IMAGE: &str = "image";
/// Resource of the source to which leaves send their announcements.
const UPDATE: &str = "update";

trait ImageTransfer {
    /// Begins or restarts the transfer of the bytes that `flash` lacks.
    fn begin(&mut self, cx: &mut Context<'_>, flash: &mut Flash);

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent, flash: &mut Flash);

    fn on_timer(&mut self, cx: &mut Context<'_>, flash: &mut Flash);

    fn next_timer(&self) -> Option<Instant>;

    /// Forgets the transfer's sockets after a restart of the node.
    fn forget(&mut self);

    /// Returns the numbers of datagrams dropped for lack of room and of refused answers, by reason.
    fn losses(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// State of a leaf that outlives a restart.
struct Flash {
    flow: FlowId,
    have: Have,
    /// Time of the latest useful arrival, or of the latest request if that is later.
    heard: Instant,
}

impl Flash {
    fn write(&mut self, cx: &mut Context<'_>, offset: u64, bytes: &[u8]) {
        cx.oracle
            .image_written(self.flow, cx.world_time, offset, bytes);
        self.heard = cx.now;
    }

    fn keep(&mut self, cx: &mut Context<'_>, have: Have) {
        let was_whole = self.have.is_whole();
        self.have = have;
        if let (false, true, Some(size)) = (was_whole, have.is_whole(), have.size) {
            cx.oracle.image_whole(self.flow, cx.world_time, size);
        }
    }

    /// Writes a block of a sequential transfer. Returns false if the block is neither next nor
    /// repeated.
    fn take_block(
        &mut self,
        cx: &mut Context<'_>,
        offset: u64,
        bytes: &[u8],
        is_last: bool,
    ) -> bool {
        if offset == self.have.bytes && !self.have.is_whole() {
            self.write(cx, offset, bytes);
            let end = offset + bytes.len() as u64;
            let have = Have {
                bytes: end,
                size: is_last.then_some(end),
                ..self.have
            };
            self.keep(cx, have);
        }
        offset < self.have.bytes
    }
}

pub(super) struct Leaf {
    route: Route,
    spec: ImageLeafSpec,
    way: Box<dyn ImageTransfer>,
    flash: Option<Flash>,
}

impl Leaf {
    pub(super) fn new(route: Route, spec: &ImageLeafSpec, rng: Rng) -> Leaf {
        let way: Box<dyn ImageTransfer> = match spec.protocol {
            ImageProtocol::Http => Box::new(http::Http::new(route.clone(), spec)),
            ImageProtocol::Block1 => Box::new(block1::Block1::new(route.clone(), spec, rng)),
            ImageProtocol::QBlock => Box::new(quick::Quick::new(route.clone(), spec, rng)),
            ImageProtocol::Bdx => Box::new(bdx::Bdx::new(route.clone(), spec, rng)),
        };
        Leaf {
            route,
            spec: *spec,
            way,
            flash: None,
        }
    }

    fn begin(&mut self, cx: &mut Context<'_>) {
        if let Some(flash) = &mut self.flash {
            flash.heard = cx.now;
            cx.oracle.image_begun(flash.flow, cx.world_time);
            self.way.begin(cx, flash);
        }
    }

    fn unfinished(&self) -> Option<&Flash> {
        self.flash.as_ref().filter(|flash| !flash.have.is_whole())
    }
}

impl App for Leaf {
    fn start(&mut self, cx: &mut Context<'_>) {
        let Route { flow, from, to, .. } = &self.route;
        self.flash = Some(Flash {
            flow: cx.oracle.flow(flow, from, to),
            have: Have::default(),
            heard: cx.now,
        });
        self.begin(cx);
    }

    fn restart(&mut self, cx: &mut Context<'_>) -> bool {
        self.way.forget();
        if self.unfinished().is_some() {
            self.begin(cx);
        }
        true
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        if let Some(flash) = &mut self.flash {
            self.way.on_event(cx, event, flash);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        let patience = self.spec.patience;
        let is_late = |flash: &Flash| flash.heard + patience <= cx.now;
        if self.unfinished().is_some_and(is_late) {
            self.begin(cx);
        }
        if let Some(flash) = &mut self.flash {
            self.way.on_timer(cx, flash);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        let late = self.unfinished().map(|it| it.heard + self.spec.patience);
        late.into_iter().chain(self.way.next_timer()).min()
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        self.way.losses()
    }
}
