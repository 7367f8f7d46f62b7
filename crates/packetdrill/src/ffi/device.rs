//! packetdrill's end of the wire, and its clock. See *the contract* in the parent module.

use std::ffi::{c_int, c_longlong, c_uint, c_void};

use libc::{size_t, timeval};
use redpoll_base::Duration;

use super::pointers::{bytes, put};
use super::{SHIM, User, done};

pub(super) unsafe extern "C" fn netdev_send(_: User, packet: *const c_void, len: size_t) -> c_int {
    // SAFETY: the contract.
    let packet = unsafe { bytes(packet, len) };
    done(packet.and_then(|packet| SHIM.send(packet)))
}

pub(super) unsafe extern "C" fn netdev_receive(
    _: User,
    packet: *mut c_void,
    len: *mut size_t,
    time_us: *mut c_longlong,
) -> c_int {
    // packetdrill would repeat the call forever after -1. It treats a length of 0 as an error.
    let received = SHIM.receive().ok().flatten();
    // SAFETY: the contract: `len` and `time_us` are valid, `packet` for `*len`.
    unsafe {
        let room = *len;
        *len = 0;
        if let Some(received) = received
            && put(packet, room, &received.bytes).is_ok()
        {
            *len = received.bytes.len().min(room);
            *time_us = received.at.as_micros() as c_longlong;
        }
    }
    0
}

pub(super) extern "C" fn usleep(_: User, us: c_uint) -> c_int {
    done(SHIM.sleep(Duration::from_micros(us.into())))
}

pub(super) unsafe extern "C" fn gettimeofday(
    _: User,
    time: *mut timeval,
    _zone: *mut c_void,
) -> c_int {
    done(SHIM.time().map(|now| {
        let us = now.as_micros();
        // SAFETY: the contract: null or valid.
        if let Some(time) = unsafe { time.as_mut() } {
            time.tv_sec = (us / 1_000_000) as libc::time_t;
            time.tv_usec = (us % 1_000_000) as libc::suseconds_t;
        }
    }))
}
