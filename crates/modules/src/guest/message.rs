//! The simulator's events and the firmware's orders, as bytes between the simulator and the process
//! of a node. Both processes run the same program, so the format needs no version.

use redpoll_base::Instant;
use redpoll_mac::RxInfo;
use redpoll_sim::guest::{GuestEvent, GuestOrder, GuestSent, StreamEvent};

/// First byte of each part of an answer except the last, which begins with [`LAST`].
pub(super) const MORE: u8 = 0;
pub(super) const LAST: u8 = 1;
/// The node failed; the reason follows as text.
pub(super) const FAILED: u8 = 2;

/// Event, as parsed by the process of the node.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Event {
    Start([u8; 8]),
    Alarm,
    Frame(RxInfo, Vec<u8>),
    Sent(u8),
    Energy(i8),
    Line(Vec<u8>),
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Request {
    pub(super) now_us: u64,
    pub(super) busy: bool,
    pub(super) event: Event,
}

pub(super) fn write_event(now: Instant, busy: bool, event: GuestEvent<'_>, to: &mut Vec<u8>) {
    to.clear();
    to.extend(now.as_micros().to_le_bytes());
    to.push(busy.into());
    match event {
        GuestEvent::Start { eui64 } => {
            to.push(0);
            to.extend(eui64);
        }
        GuestEvent::Alarm => to.push(1),
        GuestEvent::Frame { info, frame } => {
            let pending = u8::from(info.ack_sent_pending);
            to.extend([2, info.rssi_dbm as u8, info.lqi, pending]);
            to.extend_from_slice(frame);
        }
        GuestEvent::Sent(sent) => to.extend([3, number(sent)]),
        GuestEvent::Energy { dbm } => to.extend([4, dbm as u8]),
        GuestEvent::Line(line) => {
            to.push(5);
            to.extend_from_slice(line.as_bytes());
        }
    }
}

/// Returns the number of an outcome in `enum redpoll_sent`.
fn number(sent: GuestSent) -> u8 {
    match sent {
        GuestSent::Sent => 0,
        GuestSent::Acked {
            frame_pending: false,
        } => 1,
        GuestSent::Acked {
            frame_pending: true,
        } => 2,
        GuestSent::NoAck => 3,
        GuestSent::ChannelBusy => 4,
    }
}

pub(super) fn read_event(bytes: &[u8]) -> Option<Request> {
    let (now, rest) = bytes.split_first_chunk::<8>()?;
    let ([busy, kind], rest) = rest.split_first_chunk::<2>()?;
    let event = match (kind, rest) {
        (0, _) => Event::Start(rest.try_into().ok()?),
        (1, []) => Event::Alarm,
        (2, [rssi, lqi, pending, frame @ ..]) => {
            let info = RxInfo {
                rssi_dbm: *rssi as i8,
                lqi: *lqi,
                ack_sent_pending: flag(*pending)?,
            };
            Event::Frame(info, frame.to_vec())
        }
        (3, [sent]) => Event::Sent(*sent),
        (4, [dbm]) => Event::Energy(*dbm as i8),
        (5, line) => Event::Line(line.to_vec()),
        _ => return None,
    };
    Some(Request {
        now_us: u64::from_le_bytes(*now),
        busy: flag(*busy)?,
        event,
    })
}

/// Appends an order: its kind, its length, and its content.
pub(super) fn write_order(order: &GuestOrder, to: &mut Vec<u8>) {
    let mut put = |kind: u8, parts: &[&[u8]]| {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        to.push(kind);
        to.extend((len as u32).to_le_bytes());
        parts.iter().for_each(|part| to.extend_from_slice(part));
    };
    match order {
        GuestOrder::WakeAt(None) => put(0, &[]),
        GuestOrder::WakeAt(Some(at)) => put(0, &[&at.as_micros().to_le_bytes()]),
        GuestOrder::Transmit { frame, backoffs } => match backoffs {
            Some(backoffs) => put(1, &[&[*backoffs], frame]),
            None => put(2, &[frame]),
        },
        GuestOrder::Listen(on) => put(3, &[&[u8::from(*on)]]),
        GuestOrder::Address {
            pan_id,
            short,
            extended,
        } => put(4, &[&pan_id.to_le_bytes(), &short.to_le_bytes(), extended]),
        GuestOrder::Channel(channel) => put(5, &[&[*channel]]),
        GuestOrder::SourceMatch { neighbour, pending } => {
            put(6, &[&[u8::from(*pending)], neighbour]);
        }
        GuestOrder::SourceMatchAll(all) => put(7, &[&[u8::from(*all)]]),
        GuestOrder::MeasureEnergy(us) => put(8, &[&us.to_le_bytes()]),
        GuestOrder::Print(text) => put(9, &[text]),
        GuestOrder::Stream {
            event,
            peer,
            port,
            bytes,
        } => put(10, &[&[*event as u8], peer, &port.to_le_bytes(), bytes]),
    }
}

/// Reads all orders of an answer. Returns `None` if the answer is malformed, for example because
/// the firmware has overwritten memory.
pub(super) fn read_orders(mut bytes: &[u8]) -> Option<Vec<GuestOrder>> {
    let mut orders = Vec::new();
    while let Some((kind, rest)) = bytes.split_first() {
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let (content, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        bytes = rest;
        orders.push(read_order(*kind, content)?);
    }
    Some(orders)
}

/// Parses a flag: 0 or 1.
fn flag(byte: u8) -> Option<bool> {
    match byte {
        0 => Some(false),
        1 => Some(true),
        _ => None,
    }
}

fn read_order(kind: u8, content: &[u8]) -> Option<GuestOrder> {
    Some(match (kind, content) {
        (0, []) => GuestOrder::WakeAt(None),
        (0, at) => {
            let us = u64::from_le_bytes(at.try_into().ok()?);
            GuestOrder::WakeAt(Some(Instant::from_micros(us)))
        }
        (1, [backoffs, frame @ ..]) => GuestOrder::Transmit {
            frame: frame.to_vec(),
            backoffs: Some(*backoffs),
        },
        (2, frame) => GuestOrder::Transmit {
            frame: frame.to_vec(),
            backoffs: None,
        },
        (3, [on]) => GuestOrder::Listen(flag(*on)?),
        (4, [p0, p1, s0, s1, extended @ ..]) => GuestOrder::Address {
            pan_id: u16::from_le_bytes([*p0, *p1]),
            short: u16::from_le_bytes([*s0, *s1]),
            extended: extended.try_into().ok()?,
        },
        (5, [channel]) => GuestOrder::Channel(*channel),
        (6, [pending, neighbour @ ..]) => GuestOrder::SourceMatch {
            neighbour: neighbour.to_vec(),
            pending: flag(*pending)?,
        },
        (7, [all]) => GuestOrder::SourceMatchAll(flag(*all)?),
        (8, us) => GuestOrder::MeasureEnergy(u32::from_le_bytes(us.try_into().ok()?)),
        (9, text) => GuestOrder::Print(text.to_vec()),
        (10, [event, rest @ ..]) => {
            let (peer, rest) = rest.split_first_chunk()?;
            let (port, bytes) = rest.split_first_chunk()?;
            GuestOrder::Stream {
                event: StreamEvent::try_from(*event).ok()?,
                peer: *peer,
                port: u16::from_le_bytes(*port),
                bytes: bytes.to_vec(),
            }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_survive_the_way_as_bytes_and_damage_is_found() {
        let orders = vec![
            GuestOrder::WakeAt(None),
            GuestOrder::WakeAt(Some(Instant::from_micros(7))),
            GuestOrder::Transmit {
                frame: vec![1, 2],
                backoffs: Some(4),
            },
            GuestOrder::Transmit {
                frame: vec![3],
                backoffs: None,
            },
            GuestOrder::Listen(true),
            GuestOrder::Address {
                pan_id: 0xabcd,
                short: 0x1234,
                extended: [1, 2, 3, 4, 5, 6, 7, 8],
            },
            GuestOrder::Channel(26),
            GuestOrder::SourceMatch {
                neighbour: vec![1, 2],
                pending: true,
            },
            GuestOrder::SourceMatchAll(false),
            GuestOrder::MeasureEnergy(5_000),
            GuestOrder::Print(b"text\n".to_vec()),
            GuestOrder::Stream {
                event: StreamEvent::Received,
                peer: [7; 16],
                port: 80,
                bytes: vec![1, 2, 3],
            },
        ];
        let mut bytes = Vec::new();
        orders.iter().for_each(|it| write_order(it, &mut bytes));
        assert_eq!(read_orders(&bytes).as_ref(), Some(&orders));
        assert_eq!(read_orders(&bytes[..bytes.len() - 1]), None);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0xff;
            assert_ne!(read_orders(&damaged).as_ref(), Some(&orders), "{at}");
        }
    }

    #[test]
    fn events_survive_the_way_as_bytes() {
        let info = RxInfo {
            rssi_dbm: -70,
            lqi: 9,
            ack_sent_pending: true,
        };
        let cases = [
            (GuestEvent::Start { eui64: [9; 8] }, Event::Start([9; 8])),
            (GuestEvent::Alarm, Event::Alarm),
            (
                GuestEvent::Frame {
                    info,
                    frame: &[5, 6],
                },
                Event::Frame(info, vec![5, 6]),
            ),
            (GuestEvent::Sent(GuestSent::NoAck), Event::Sent(3)),
            (GuestEvent::Energy { dbm: -90 }, Event::Energy(-90)),
            (GuestEvent::Line("state"), Event::Line(b"state".to_vec())),
        ];
        for (given, event) in cases {
            let mut bytes = Vec::new();
            write_event(Instant::from_micros(1 << 40), true, given, &mut bytes);
            let request = Request {
                now_us: 1 << 40,
                busy: true,
                event,
            };
            assert_eq!(read_event(&bytes), Some(request));
        }
    }
}
