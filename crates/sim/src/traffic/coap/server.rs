//! A CoAP server with a page, a file whose content a user can reproduce, and a writable resource.
//! Sensors post their readings to it.

use redpoll_base::{Instant, Rng};
use redpoll_coap::{BlockSize, Config, Event, Incoming, Method, Peer, Response, Status};
use redpoll_stack::NodeEvent;
use redpoll_tcp::Endpoint;

use super::{Port, READINGS};
use crate::node::all_coap_nodes;
use crate::oracle::counting_lines;
use crate::traffic::peers::{Pair, Peers};
use crate::traffic::{App, Context};

/// Content-Formats (RFC 7252 §12.3).
const TEXT: u16 = 0;
const LINKS: u16 = 40;

pub(in crate::traffic) struct Server {
    name: String,
    port: u16,
    file_bytes: u64,
    coap: Port,
    peers: Peers,
    /// Content of `/store`, with its format.
    store: Option<(Vec<u8>, Option<u16>)>,
}

impl Server {
    pub(in crate::traffic) fn new(
        name: &str,
        port: u16,
        file_bytes: u64,
        block: u16,
        peers: Peers,
        rng: Rng,
    ) -> Server {
        let config = Config {
            block: BlockSize::at_most(block.into()),
            ..Config::default()
        };
        Server {
            name: name.to_owned(),
            port,
            file_bytes,
            coap: Port::new(config, rng),
            peers,
            store: None,
        }
    }

    fn serve(&mut self, cx: &mut Context<'_>) {
        while let Some(event) = self.coap.poll(cx) {
            if let Event::Request { id, from, request } = event {
                let is_post = request.method == Method::Post;
                let response = match request.path.as_str() {
                    READINGS if is_post => self.take_readings(cx, from, &request.payload),
                    _ => self.answer(request),
                };
                self.coap.endpoint.respond(cx.now, id, response);
            }
        }
    }

    fn take_readings(&self, cx: &mut Context<'_>, from: Peer, payload: &[u8]) -> Response {
        let here = Endpoint {
            addr: cx.node.address(),
            port: self.port,
        };
        let from = Endpoint {
            addr: from.addr,
            port: from.port,
        };
        let Some(flow) = self.peers.flow(&Pair::new(from, here), None) else {
            return Response::new(Status::Forbidden);
        };
        cx.oracle.readings_received(flow, cx.world_time, payload);
        Response::new(Status::Changed)
    }

    fn answer(&mut self, request: Incoming) -> Response {
        let content = |format, body: Vec<u8>| Response {
            content_format: Some(format),
            ..Response::new(Status::Content).with_payload(body)
        };
        match (request.method, request.path.as_str()) {
            (Method::Get, "") => content(TEXT, self.page().into_bytes()),
            (Method::Get, "file") => {
                let mut file = vec![0; self.file_bytes as usize];
                counting_lines(0, &mut file);
                content(TEXT, file)
            }
            // The well-known resource of RFC 6690 §4.
            (Method::Get, ".well-known/core") => content(LINKS, b"</>,</file>,</store>".to_vec()),
            (Method::Get, "store") => match &self.store {
                Some((body, format)) => Response {
                    content_format: *format,
                    ..Response::new(Status::Content).with_payload(body.clone())
                },
                None => Response::new(Status::NotFound),
            },
            (Method::Put | Method::Post, "store") => {
                let is_new = self.store.is_none();
                self.store = Some((request.payload, request.content_format));
                Response::new(if is_new {
                    Status::Created
                } else {
                    Status::Changed
                })
            }
            (Method::Delete, "store") => {
                self.store = None;
                Response::new(Status::Deleted)
            }
            (_, READINGS | "" | "file" | "store" | ".well-known/core") => {
                Response::new(Status::MethodNotAllowed)
            }
            _ => Response::new(Status::NotFound),
        }
    }

    fn page(&self) -> String {
        format!(
            "This is {}, a node of an IEEE 802.15.4 mesh.\nIts /file has {} bytes.\n",
            self.name, self.file_bytes
        )
    }
}

impl App for Server {
    fn start(&mut self, cx: &mut Context<'_>) {
        // The scenario ensures that no other app of the node uses the port.
        let _ = self.coap.open(cx, self.port);
        // The scopes of RFC 7252 §12.8, and the realm-local scope (RFC 7346). Joining fails if the
        // node has no multicast forwarding.
        for scope in [2, 3, 5] {
            let _ = cx.node.join_group(&all_coap_nodes(scope));
        }
    }

    fn on_event(&mut self, cx: &mut Context<'_>, event: &NodeEvent) {
        if self.coap.on_event(cx, event) {
            self.serve(cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<'_>) {
        self.coap.on_timer(cx);
        self.serve(cx);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.coap.next_timer()
    }

    fn losses(&self) -> Vec<(&'static str, u64)> {
        self.coap.losses()
    }
}
