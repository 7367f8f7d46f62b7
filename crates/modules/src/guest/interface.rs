//! The C types of `redpoll_module.h`.

use std::ffi::{c_char, c_int, c_void};

pub(super) const VERSION: u32 = 2;
pub(super) const FRAME_MAX: usize = 125;
pub(super) const NEVER: u64 = u64::MAX;
pub(super) const NO_CCA: u8 = 255;

#[repr(C)]
pub(super) struct Frame {
    pub(super) bytes: *const u8,
    pub(super) len: usize,
    pub(super) rssi_dbm: i8,
    pub(super) lqi: u8,
    pub(super) acked_pending: u8,
}

#[repr(C)]
pub(super) struct Host {
    pub(super) version: u32,
    pub(super) this: *mut c_void,
    pub(super) now_us: extern "C" fn(*mut c_void) -> u64,
    pub(super) set_alarm: extern "C" fn(*mut c_void, u64),
    pub(super) random: extern "C" fn(*mut c_void, *mut u8, usize),
    pub(super) set_address: extern "C" fn(*mut c_void, u16, u16, *const u8),
    pub(super) set_channel: extern "C" fn(*mut c_void, u8),
    pub(super) listen: extern "C" fn(*mut c_void, c_int),
    pub(super) transmit: extern "C" fn(*mut c_void, *const u8, usize, u8) -> c_int,
    pub(super) measure_energy: extern "C" fn(*mut c_void, u32) -> c_int,
    pub(super) rssi_dbm: extern "C" fn(*mut c_void) -> i8,
    pub(super) source_match: extern "C" fn(*mut c_void, *const u8, usize, c_int),
    pub(super) source_match_all: extern "C" fn(*mut c_void, c_int),
    pub(super) setting_get: extern "C" fn(*mut c_void, u16, c_int, *mut u8, usize) -> c_int,
    pub(super) setting_add: extern "C" fn(*mut c_void, u16, *const u8, usize) -> c_int,
    pub(super) setting_remove: extern "C" fn(*mut c_void, u16, c_int) -> c_int,
    pub(super) print: extern "C" fn(*mut c_void, *const c_char, usize),
    pub(super) fail: extern "C" fn(*mut c_void, *const c_char),
    pub(super) stream: extern "C" fn(*mut c_void, c_int, *const u8, u16, *const u8, usize),
}

type Start = unsafe extern "C" fn(*const Host, *const u8) -> *mut c_void;

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Module {
    pub(super) version: u32,
    pub(super) name: *const c_char,
    pub(super) start: Option<Start>,
    pub(super) on_alarm: Option<unsafe extern "C" fn(*mut c_void)>,
    pub(super) on_frame: Option<unsafe extern "C" fn(*mut c_void, *const Frame)>,
    pub(super) on_sent: Option<unsafe extern "C" fn(*mut c_void, c_int)>,
    pub(super) on_energy: Option<unsafe extern "C" fn(*mut c_void, i8)>,
    pub(super) on_line: Option<unsafe extern "C" fn(*mut c_void, *const c_char)>,
}
