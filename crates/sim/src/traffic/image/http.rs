//! Transfer by HTTP/1.1 with ranges: one connection, and another one for missing bytes.

use redpoll_base::Instant;
use redpoll_ota::{Fetch, Have, Pages, Refused};
use redpoll_stack::{NodeEvent, Streams};

use super::{Flash, ImageTransfer};
use crate::scenario::ImageLeafSpec;
use crate::traffic::outgoing::{ConnectionChange, Outgoing};
use crate::traffic::{Context, Route};

const REQUEST_MAX: usize = 256;

pub(super) struct Http {
    route: Route,
    spec: ImageLeafSpec,
    out: Outgoing,
    /// The request; `sent` is the number of its bytes that were sent.
    request: Vec<u8>,
    sent: usize,
    fetch: Fetch,
    /// Pages of the flash, once the header of the response is complete.
    pages: Option<Pages<Vec<u8>>>,
    refused: u64,
}

impl Http {
    pub(super) fn new(route: Route, spec: &ImageLeafSpec) -> Http {
        Http {
            out: Outgoing::new(route.clone(), spec.retry),
            route,
            spec: *spec,
            request: Vec::new(),
            sent: 0,
            fetch: Fetch::new(Have::default()),
            pages: None,
            refused: 0,
        }
    }

    /// Sends a request over the open connection.
    fn ask(&mut self, cx: &mut Context<'_>, flash: &mut Flash) {
        flash.heard = cx.now;
        self.fetch = Fetch::new(flash.have);
        self.pages = None;
        let mut request = [0; REQUEST_MAX];
        // The buffer has room for this host name and path.
        let len = self.fetch.request("host", "/file", &mut request);
        self.request = request[..len.unwrap_or(0)].to_vec();
        self.sent = 0;
        if let Some(conn) = self.out.conn() {
            cx.node.expect(conn, true);
        }
    }

    fn pump(&mut self, cx: &mut Context<'_>, flash: &mut Flash) {
        self.out.send_rest(cx, &self.request, &mut self.sent);
        let mut chunk = [0; 512];
        while let Some(len) = self.out.recv(cx, &mut chunk) {
            // The server has closed before the image is complete, so the leaf requests the rest.
            let ended = len == 0;
            if ended || self.take(cx, flash, &chunk[..len]).is_err() {
                self.refused += u64::from(!ended);
                self.out.abandon(cx);
                return;
            }
            if flash.have.is_whole() {
                if let Some(conn) = self.out.conn() {
                    cx.node.expect(conn, false);
                }
                self.out.close(cx);
                return;
            }
        }
    }

    fn take(
        &mut self,
        cx: &mut Context<'_>,
        flash: &mut Flash,
        bytes: &[u8],
    ) -> Result<(), Refused> {
        let mut begin = 0;
        if self.pages.is_none() {
            let head = self.fetch.head(bytes).inspect_err(|why| {
                if *why == Refused::OtherPart {
                    flash.have = Have::default();
                }
            })?;
            let Some(taken) = head else { return Ok(()) };
            begin = taken;
            let page = vec![0; self.spec.page.into()];
            self.pages = Some(Pages::new(page, self.fetch.offset()));
        }
        let Some(pages) = &mut self.pages else {
            return Ok(());
        };
        let body = self.fetch.body(&bytes[begin..]);
        let is_whole = self.fetch.is_whole();
        let mut write = |offset, page: &[u8]| {
            flash.write(cx, offset, page);
            Ok::<_, Refused>(())
        };
        pages.push(body, &mut write)?;
        if is_whole {
            pages.finish(&mut write)?;
        }
        flash.heard = cx.now;
        flash.keep(cx, self.fetch.have(pages.durable()));
        Ok(())
    }
}

impl ImageTransfer for Http {
    fn begin(&mut self, cx: &mut Context<'_>, _flash: &mut Flash) {
        match self.out.flow() {
            None => self.out.open(cx),
            Some(_) => self.out.abandon(cx),
        }
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent, flash: &mut Flash) {
        match self.out.on_event(cx, event) {
            Some(ConnectionChange::Opened) => {
                self.ask(cx, flash);
                self.pump(cx, flash);
            }
            Some(ConnectionChange::Progress) => self.pump(cx, flash),
            // The server has reset the connection after the last byte.
            Some(ConnectionChange::Lost) if flash.have.is_whole() => self.out.stop(),
            Some(ConnectionChange::Lost | ConnectionChange::Finished) | None => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, _flash: &mut Flash) {
        self.out.on_timer(cx);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.out.next_timer()
    }

    fn forget(&mut self) {
        self.out = Outgoing::new(self.route.clone(), self.spec.retry);
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        vec![("image_answer_refused", self.refused)]
    }
}
