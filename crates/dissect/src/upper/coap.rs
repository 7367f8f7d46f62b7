//! CoAP messages (RFC 7252 §3).

use crate::layer::{Bytes, Layer, hex};

const OPTIONS_MAX: usize = 64;

/// Decodes the message in a UDP datagram, if it is CoAP version 1. If `is_part`, the datagram is
/// only the start of a message and may end within an option.
pub(super) fn layer(payload: &[u8], is_part: bool) -> Option<Layer> {
    message(payload, is_part).map(|(layer, _)| layer)
}

/// Decodes like [`layer`], and returns the path of the message, such as `/a/b`; empty without path.
pub(super) fn message(payload: &[u8], is_part: bool) -> Option<(Layer, String)> {
    let mut input = Bytes(payload);
    let first = input.u8()?;
    let token_len = first & 0x0f;
    if first >> 6 != 1 || token_len > 8 {
        return None;
    }
    let code = input.u8()?;
    let id = input.u16()?;
    let token = input.take(token_len.into())?;
    let mut layer = Layer::new("coap");
    let kind = first >> 4 & 0b11;
    let kinds = ["CON", "NON", "ACK", "RST"];
    let kind_name = kinds.get(usize::from(kind)).unwrap_or(&"");
    layer.title = format!("CoAP {kind_name} {} mid {id}", code_name(code));
    if !token.is_empty() {
        layer.say(format!("token {}", hex(token)));
    }
    layer.number("coap.version", 1_u8);
    layer.number("coap.type", kind);
    layer.number("coap.token_len", token_len);
    layer.number("coap.code", code);
    layer.number("coap.mid", id);
    if !token.is_empty() {
        layer.bytes("coap.token", token);
    }
    let mut path = String::new();
    let mut number = 0_u32;
    for _ in 0..OPTIONS_MAX {
        match input.0.first() {
            None => break,
            Some(0xff) => {
                input.u8();
                let len = input.rest().len();
                // RFC 7959 §2.1: with a block option, the payload is one block of the body.
                let name = match layer.get("coap.opt.block_number") {
                    Some(_) => "coap.block_length",
                    None => "coap.payload_length",
                };
                layer.number(name, len as u64);
                layer.say(format!("payload {len} B"));
                break;
            }
            Some(_) => {}
        }
        let Some((delta, content)) = option(&mut input) else {
            if !is_part {
                layer.say("malformed option");
            }
            break;
        };
        number = number.saturating_add(delta);
        add(number, content, &mut layer, &mut path);
    }
    if !path.is_empty() {
        layer.say(&path);
    }
    Some((layer, path))
}

/// Returns the name of the code (RFC 7252 §12.1).
fn code_name(code: u8) -> String {
    match code {
        0 => "empty".to_owned(),
        1 => "GET".to_owned(),
        2 => "POST".to_owned(),
        3 => "PUT".to_owned(),
        4 => "DELETE".to_owned(),
        5 => "FETCH".to_owned(),
        6 => "PATCH".to_owned(),
        7 => "iPATCH".to_owned(),
        other => format!("{}.{:02}", other >> 5, other & 0x1f),
    }
}

/// Reads an option: the difference to the previous option number, and the value (RFC 7252 §3.1).
fn option<'a>(input: &mut Bytes<'a>) -> Option<(u32, &'a [u8])> {
    let first = input.u8()?;
    let mut extended = |nibble: u8| {
        Some(match nibble {
            13 => 13 + u32::from(input.u8()?),
            14 => 269 + u32::from(input.u16()?),
            15 => return None,
            other => u32::from(other),
        })
    };
    let delta = extended(first >> 4)?;
    let len = extended(first & 0x0f)?;
    Some((delta, input.take(usize::try_from(len).ok()?)?))
}

/// Adds an option (RFC 7252 §5.10, RFC 7959 §2.1, RFC 7641 §2).
fn add(number: u32, content: &[u8], layer: &mut Layer, path: &mut String) {
    let text = || String::from_utf8_lossy(content).into_owned();
    let integer = || {
        content
            .iter()
            .take(8)
            .fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte))
    };
    match number {
        1 => layer.bytes("coap.opt.if_match", content),
        3 => layer.text("coap.opt.uri_host", text()),
        4 => layer.bytes("coap.opt.etag", content),
        6 => {
            layer.number("coap.opt.observe", integer());
            layer.say(format!("observe {}", integer()));
        }
        7 => layer.number("coap.opt.uri_port", integer()),
        8 => layer.text("coap.opt.location_path", text()),
        11 => {
            *path += &format!("/{}", printable(&text()));
            layer.text("coap.opt.uri_path", text());
        }
        12 => layer.number("redpoll.coap.content_format", integer()),
        14 => layer.number("coap.opt.max_age", integer()),
        15 => layer.text("coap.opt.uri_query", text()),
        17 => layer.number("redpoll.coap.accept", integer()),
        20 => layer.text("coap.opt.location_query", text()),
        23 | 27 => {
            let value = integer();
            layer.number("coap.opt.block_number", value >> 4);
            layer.number("coap.opt.block_mflag", value >> 3 & 1);
            layer.number("coap.opt.block_size", value & 0b111);
            let more = if value & 8 != 0 { " more" } else { "" };
            let name = if number == 27 { "block1" } else { "block2" };
            let size = 16_u32 << (value & 0b111);
            layer.say(format!("{name} {}/{size}{more}", value >> 4));
        }
        35 => layer.text("coap.opt.proxy_uri", text()),
        60 => layer.number("coap.opt.size1", integer()),
        other => layer.text("redpoll.coap.option", format!("{other}: {}", hex(content))),
    }
}

fn printable(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '.' } else { c })
        .collect()
}
