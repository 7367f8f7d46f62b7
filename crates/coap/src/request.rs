//! Requests and responses as applications see them: whole bodies.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use coap_lite::{CoapOption, MessageClass, Packet, RequestType, ResponseType};

use crate::block::{Part, read_uint, uint};
use crate::options::joined;

/// A request to send.
#[derive(Clone, PartialEq, Debug)]
pub struct Request {
    /// The method.
    pub method: RequestType,
    /// The path's segments, with `/` between them.
    pub path: String,
    /// The query's parts, with `&` between them; empty for none.
    pub query: String,
    /// Body of the request, which is sent in blocks if it is longer than a block.
    pub payload: Vec<u8>,
    /// Content-Format of the payload (RFC 7252 §12.3).
    pub content_format: Option<u16>,
    /// Whether the request is retransmitted until it is acknowledged.
    pub confirmable: bool,
    /// Whether the application wants a response. If not, a non-confirmable message is complete once
    /// it is sent, and its option No-Response (RFC 7967) permits the server not to answer.
    pub wants_response: bool,
    /// The payload is this block of a body that the application sends in parts.
    pub part: Option<Part>,
}

impl Request {
    /// Returns a confirmable request without a body.
    pub fn new(method: RequestType, path: &str) -> Request {
        Request {
            method,
            path: path.to_owned(),
            query: String::new(),
            payload: Vec::new(),
            content_format: None,
            confirmable: true,
            wants_response: true,
            part: None,
        }
    }

    /// Returns the request with a body.
    pub fn with_payload(self, payload: impl Into<Vec<u8>>) -> Request {
        Request {
            payload: payload.into(),
            ..self
        }
    }

    /// Returns the request with `payload` as one block of a body. The endpoint sends this block in
    /// one message, with the number and size in `part`.
    pub fn with_part(self, part: Part, payload: impl Into<Vec<u8>>) -> Request {
        Request {
            part: Some(part),
            ..self.with_payload(payload)
        }
    }

    /// Makes the request non-confirmable and asks the server not to respond.
    pub fn unreliable(self) -> Request {
        Request {
            confirmable: false,
            wants_response: false,
            ..self
        }
    }

    /// Returns the message without its type, IDs, body and blocks.
    pub(crate) fn packet(&self) -> Packet {
        let mut packet = Packet::new();
        packet.header.code = MessageClass::Request(self.method);
        for (which, text, separator) in [
            (CoapOption::UriPath, &self.path, '/'),
            (CoapOption::UriQuery, &self.query, '&'),
        ] {
            for part in text.split(separator).filter(|part| !part.is_empty()) {
                packet.add_option(which, part.as_bytes().to_vec());
            }
        }
        if let Some(format) = self.content_format {
            packet.add_option(CoapOption::ContentFormat, uint(format.into()));
        }
        if !self.wants_response {
            packet.add_option(CoapOption::NoResponse, vec![NO_RESPONSE_AT_ALL]);
        }
        packet
    }
}

/// RFC 7967 §2.1: the sum of 2 (no successes), 8 (no client errors) and 16 (no server errors).
const NO_RESPONSE_AT_ALL: u8 = 26;

/// A received request with its reassembled body.
#[derive(Clone, PartialEq, Debug)]
pub struct Incoming {
    /// The method.
    pub method: RequestType,
    /// The path's segments, with `/` between them.
    pub path: String,
    /// The query's parts, with `&` between them.
    pub query: String,
    /// The body.
    pub payload: Vec<u8>,
    /// Content-Format of the payload.
    pub content_format: Option<u16>,
    /// Whether the sender repeats the request until it is acknowledged.
    pub confirmable: bool,
    /// The Content-Format that the response should have.
    pub accept: Option<u16>,
    /// Position of the payload if it is one block, with
    /// [`Config::takes_parts`](crate::Config::takes_parts).
    pub part: Option<Part>,
}

impl Incoming {
    /// Returns the request in `packet` without its body; `None` if its strings are not UTF-8.
    pub(crate) fn read(packet: &Packet, confirmable: bool) -> Option<Incoming> {
        let MessageClass::Request(method) = packet.header.code else {
            return None;
        };
        let short = |which| read_uint(packet, which).map(|value| value as u16);
        Some(Incoming {
            method,
            path: joined(packet, CoapOption::UriPath, "/")?,
            query: joined(packet, CoapOption::UriQuery, "&")?,
            payload: Vec::new(),
            content_format: short(CoapOption::ContentFormat),
            confirmable,
            accept: short(CoapOption::Accept),
            part: None,
        })
    }
}

/// A response: one to send, or a received one with its reassembled body.
#[derive(Clone, PartialEq, Debug)]
pub struct Response {
    /// The code. Errors without a name in this enumeration have the general error of their class
    /// (RFC 7252 §5.2).
    pub status: ResponseType,
    /// The body.
    pub payload: Vec<u8>,
    /// The Content-Format of the body.
    pub content_format: Option<u16>,
}

impl Response {
    /// Returns a response without a body.
    pub fn new(status: ResponseType) -> Response {
        Response {
            status,
            payload: Vec::new(),
            content_format: None,
        }
    }

    /// Returns the response with a body.
    pub fn with_payload(self, payload: impl Into<Vec<u8>>) -> Response {
        Response {
            payload: payload.into(),
            ..self
        }
    }

    /// Returns whether the code is of class 2.
    pub fn is_success(&self) -> bool {
        !self.status.is_error()
    }

    /// Returns the message without its type, IDs, body and blocks.
    pub(crate) fn packet(&self) -> Packet {
        let mut packet = Packet::new();
        packet.header.code = MessageClass::Response(self.status);
        if let Some(format) = self.content_format {
            packet.add_option(CoapOption::ContentFormat, uint(format.into()));
        }
        packet
    }

    /// Returns the response in `packet`, with only that packet's part of the body.
    pub(crate) fn read(packet: &Packet) -> Response {
        Response {
            status: status(packet),
            payload: packet.payload.clone(),
            content_format: read_uint(packet, CoapOption::ContentFormat).map(|value| value as u16),
        }
    }
}

/// Returns the code; an unknown one counts as the general code of its class (RFC 7252 §5.2).
fn status(packet: &Packet) -> ResponseType {
    match packet.header.code {
        MessageClass::Response(status) => status,
        other => match u8::from(other) >> 5 {
            2 => ResponseType::Changed,
            4 => ResponseType::BadRequest,
            _ => ResponseType::InternalServerError,
        },
    }
}
