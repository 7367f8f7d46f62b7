//! A node on a radio: its creation, its radio and host side.

use redpoll_base::{Addr, Instant, Rng};
use redpoll_socket::Errno;
use redpoll_stack::mac::{RadioResult, RadioWork, RxInfo};
use redpoll_stack::wire::ieee802154::Address;
use redpoll_stack::{Route, Via};

use crate::config::{NO_SHORT, RpConfig};
use crate::error::{Code, bytes, bytes_mut, code, reference, value};
use crate::groups;
use crate::handle::{Below, RpNode};
use crate::role::BORDER;

/// The longest packet for the host side.
const MTU: usize = 1_280;
/// # Safety
/// Each pointer may be null. Otherwise `config` points to a `struct rp_config`, and `len` to a
/// `size_t`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_sizeof_node(config: *const RpConfig, len: *mut usize) -> Code {
    // SAFETY: by this function's conditions.
    let plan = unsafe { value(config) }.and_then(|config| {
        config.check()?;
        RpNode::plan(&config.room())
    });
    // SAFETY: by this function's conditions.
    code(
        plan.and_then(|plan| unsafe { reference(len) }.map(|len| *len = plan.len()))
            .map(|()| 0),
    )
}

/// # Safety
/// Each pointer may be null. Otherwise `config` points to a `struct rp_config`, `made` to a
/// pointer, and `memory` to `len` bytes that no other code uses during the node's life.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_node_init(
    memory: *mut u8,
    len: usize,
    config: *const RpConfig,
    made: *mut *mut RpNode,
) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { init(memory, len, config, made) }.map(|()| 0))
}

/// # Safety
/// As [`rp_node_init`].
unsafe fn init(
    memory: *mut u8,
    len: usize,
    config: *const RpConfig,
    made: *mut *mut RpNode,
) -> Result<(), Errno> {
    // SAFETY: by this function's conditions.
    let config = unsafe { value(config)? };
    config.check()?;
    let birth = |tables, groups| {
        let random = Rng::new(config.seed());
        let mut node = groups::node(config.node_config(), tables, random, groups);
        let mut add = |via| {
            let (prefix, len) = (Addr::UNSPECIFIED, 0);
            let _ = node.add_route(Route { prefix, len, via });
        };
        if config.role == BORDER {
            add(Via::Host);
        }
        if config.parent < 0xfffe {
            add(Via::Neighbour(Address::Short(config.parent)));
        }
        node
    };
    // SAFETY: by this function's conditions.
    unsafe { RpNode::make((memory, len), &config.room(), Below::Radio, made, birth) }
}

/// Values of `via` in [`rp_add_route`].
const VIA_NEIGHBOUR: u8 = 0;
const VIA_ON_LINK: u8 = 1;
const VIA_HOST: u8 = 2;
const VIA_UNREACHABLE: u8 = 3;

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `prefix` to 16 bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_add_route(
    node: *mut RpNode,
    prefix: *const u8,
    bits: u8,
    via: u8,
    neighbour: u16,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, prefix) = unsafe { (RpNode::on_radio(node), bytes(prefix, 16)) };
    code(found.and_then(|node| {
        let mut address = [0; 16];
        address.copy_from_slice(prefix?);
        let via = match via {
            VIA_NEIGHBOUR if neighbour < 0xfffe => Via::Neighbour(Address::Short(neighbour)),
            VIA_ON_LINK if neighbour == NO_SHORT => Via::OnLink,
            VIA_HOST if neighbour == NO_SHORT => Via::Host,
            VIA_UNREACHABLE if neighbour == NO_SHORT => Via::Unreachable,
            _ => return Err(Errno::EINVAL),
        };
        if bits > 128 {
            return Err(Errno::EINVAL);
        }
        let route = Route {
            prefix: Addr(address),
            len: bits,
            via,
        };
        node.node().add_route(route).or(Err(Errno::ENOMEM))?;
        Ok(0)
    }))
}

// --- the radio ---

/// `struct rp_work`
#[repr(C)]
#[derive(Debug)]
#[allow(missing_docs)]
pub struct RpWork {
    pub frame: *const u8,
    pub frame_len: usize,
    pub kind: u8,
    pub cca: u8,
    pub pending: u8,
    pub reserved: u8,
    pub neighbour: u16,
}

const LOAD: u8 = 1;
const TRANSMIT: u8 = 2;
const LISTEN: u8 = 3;
const DOZE: u8 = 4;
const SLEEP: u8 = 5;
const MATCH: u8 = 6;

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `work` to a `struct rp_work`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_poll_radio(node: *mut RpNode, now_us: u64, work: *mut RpWork) -> Code {
    // SAFETY: by this function's conditions.
    let (found, out) = unsafe { (RpNode::on_radio(node), reference(work)) };
    code(found.and_then(|node| {
        let out = out?;
        let Some(work) = node.node().poll_radio(Instant::from_micros(now_us)) else {
            return Ok(0);
        };
        *out = RpWork {
            frame: core::ptr::null(),
            frame_len: 0,
            kind: 0,
            cca: 0,
            pending: 0,
            reserved: 0,
            neighbour: NO_SHORT,
        };
        match work {
            RadioWork::Load => {
                out.kind = LOAD;
                let frame = node.node().frame();
                (out.frame, out.frame_len) = (frame.as_ptr(), frame.len());
                node.work = LOAD;
            }
            RadioWork::Transmit { cca } => {
                (out.kind, out.cca) = (TRANSMIT, cca.into());
                node.work = TRANSMIT;
            }
            RadioWork::Listen => out.kind = LISTEN,
            RadioWork::Doze => out.kind = DOZE,
            RadioWork::Sleep => out.kind = SLEEP,
            RadioWork::SourceMatch { neighbour, pending } => {
                out.kind = MATCH;
                (out.neighbour, out.pending) = (neighbour, pending.into());
            }
        }
        Ok(1)
    }))
}

/// Returns the result of a radio operation from its number, one of `RP_RESULT_*`.
fn result(number: u8) -> Option<RadioResult> {
    Some(match number {
        1 => RadioResult::Loaded,
        2 => RadioResult::ChannelBusy,
        3 => RadioResult::Sent,
        4 => RadioResult::Acked {
            frame_pending: false,
        },
        5 => RadioResult::Acked {
            frame_pending: true,
        },
        6 => RadioResult::NoAck,
        _ => return None,
    })
}

/// # Safety
/// `node` is null or points to a node.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_radio_done(node: *mut RpNode, now_us: u64, number: u8) -> Code {
    // SAFETY: by this function's conditions.
    code(unsafe { RpNode::on_radio(node) }.and_then(|node| {
        let result = result(number).ok_or(Errno::EINVAL)?;
        let ends = match result {
            RadioResult::Loaded => LOAD,
            _ => TRANSMIT,
        };
        if node.work != ends {
            return Err(Errno::EINVAL);
        }
        node.work = 0;
        node.node()
            .on_radio_done(Instant::from_micros(now_us), result);
        Ok(0)
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `frame` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_input_frame(
    node: *mut RpNode,
    now_us: u64,
    frame: *const u8,
    len: usize,
    rssi_dbm: i8,
    lqi: u8,
    ack_sent_pending: u8,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, frame) = unsafe { (RpNode::on_radio(node), bytes(frame, len)) };
    code(found.and_then(|node| {
        let info = RxInfo {
            rssi_dbm,
            lqi,
            ack_sent_pending: ack_sent_pending != 0,
        };
        node.node()
            .input_frame(Instant::from_micros(now_us), frame?, info);
        Ok(0)
    }))
}

// --- the host side ---

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `packet` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_input_packet(
    node: *mut RpNode,
    now_us: u64,
    packet: *const u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, packet) = unsafe { (RpNode::on_radio(node), bytes(packet, len)) };
    code(found.and_then(|node| {
        let packet = packet?;
        if !node.node().has_room() {
            return Err(Errno::EAGAIN);
        }
        match node
            .node()
            .input_packet(Instant::from_micros(now_us), packet)
        {
            Ok(()) => Ok(0),
            Err(_) => Err(Errno::EINVAL),
        }
    }))
}

/// # Safety
/// Each pointer may be null. Otherwise `node` points to a node, and `out` to `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_poll_packet(
    node: *mut RpNode,
    now_us: u64,
    out: *mut u8,
    len: usize,
) -> Code {
    // SAFETY: by this function's conditions.
    let (found, out) = unsafe { (RpNode::on_radio(node), bytes_mut(out, len)) };
    code(found.and_then(|node| {
        let out = out?;
        // A short `out` is refused, because a packet that does not fit would be lost.
        if out.len() < MTU {
            return Err(Errno::EINVAL);
        }
        let packet = node.node().poll_packet(Instant::from_micros(now_us), out);
        Ok(packet.unwrap_or(0))
    }))
}
