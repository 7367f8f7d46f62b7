//! Functions for the firmware. Each records an order to the simulator, or reads the process state.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};

use redpoll_base::{Instant, Rng};
use redpoll_sim::guest::{GuestOrder, StreamEvent};

use super::interface::{FRAME_MAX, Host, NEVER, NO_CCA, VERSION};
use super::message::{FAILED, MORE, write_order};

/// Length in bytes at which a part of an answer is sent, and longest text of one order. A part may
/// be longer by one order; the socket allows this.
const PART: usize = 32_768;
/// Energy of a busy and of a free channel in dBm, as in the simulator.
const BUSY_DBM: i8 = -75;
const FREE_DBM: i8 = -100;
/// Longest reason of a failure in bytes.
const REASON_MAX: usize = 200;

/// State of the process of a node. The firmware gets its address as `self`.
pub(super) struct State {
    pub(super) now_us: u64,
    pub(super) busy: bool,
    /// Whether a transmission or a measurement is in progress.
    pub(super) works: bool,
    /// The next part of the answer to the simulator: its kind (one byte), then [`GuestOrder`]s.
    pub(super) answer: Vec<u8>,
    pub(super) socket: c_int,
    rng: Rng,
    settings: BTreeMap<u16, Vec<Vec<u8>>>,
}

impl State {
    pub(super) fn new(socket: c_int, seed: u64) -> State {
        State {
            now_us: 0,
            busy: false,
            works: false,
            answer: vec![MORE],
            socket,
            rng: Rng::new(seed),
            settings: BTreeMap::new(),
        }
    }

    fn order(&mut self, order: &GuestOrder) {
        write_order(order, &mut self.answer);
        if self.answer.len() >= PART {
            self.send(MORE);
        }
    }

    /// Sends the orders as a part of the given kind. Ends the process if the simulator has ended.
    pub(super) fn send(&mut self, kind: u8) {
        self.answer[0] = kind;
        let flags = libc::MSG_NOSIGNAL;
        // SAFETY: the bytes are valid for the length during the call.
        let sent = unsafe {
            libc::send(
                self.socket,
                self.answer.as_ptr().cast(),
                self.answer.len(),
                flags,
            )
        };
        if sent < 0 {
            exit();
        }
        self.answer.truncate(1);
    }

    /// Reports a failure of the node, and ends the process.
    pub(super) fn fail(&mut self, reason: &str) -> ! {
        self.answer.truncate(1);
        let shown = reason
            .chars()
            .map(|it| if it.is_control() { ' ' } else { it });
        let shown: String = shown.take(REASON_MAX).collect();
        self.answer.extend_from_slice(shown.as_bytes());
        self.send(FAILED);
        exit()
    }
}

/// Ends the process without its exit handlers, which it inherited from the simulator by the fork.
pub(super) fn exit() -> ! {
    // SAFETY: has no preconditions.
    unsafe { libc::_exit(0) }
}

pub(super) fn table(state: *mut State) -> Host {
    Host {
        version: VERSION,
        this: state.cast(),
        now_us,
        set_alarm,
        random,
        set_address,
        set_channel,
        listen,
        transmit,
        measure_energy,
        rssi_dbm,
        source_match,
        source_match_all,
        setting_get,
        setting_add,
        setting_remove,
        print,
        fail,
        stream,
    }
}

fn state<'a>(this: *mut c_void) -> &'a mut State {
    // SAFETY: the header requires the firmware to pass the pointer of its table, whose state lives
    // as long as the process. The process has one thread, and no function here calls the firmware.
    unsafe { &mut *this.cast::<State>() }
}

fn bytes<'a>(start: *const u8, len: usize) -> &'a [u8] {
    match start.is_null() {
        true => &[],
        // SAFETY: the header requires `len` readable bytes, which do not change during the call.
        false => unsafe { std::slice::from_raw_parts(start, len) },
    }
}

extern "C" fn now_us(this: *mut c_void) -> u64 {
    state(this).now_us
}

extern "C" fn set_alarm(this: *mut c_void, at_us: u64) {
    let at = (at_us != NEVER).then(|| Instant::from_micros(at_us));
    state(this).order(&GuestOrder::WakeAt(at));
}

extern "C" fn random(this: *mut c_void, to: *mut u8, len: usize) {
    let state = state(this);
    for index in 0..len {
        let byte = state.rng.next_u32() as u8;
        // SAFETY: the header requires `len` writable bytes.
        unsafe { to.add(index).write(byte) };
    }
}

extern "C" fn set_address(this: *mut c_void, pan_id: u16, short: u16, extended: *const u8) {
    let mut address = [0; 8];
    address.copy_from_slice(bytes(extended, 8));
    state(this).order(&GuestOrder::Address {
        pan_id,
        short,
        extended: address,
    });
}

extern "C" fn set_channel(this: *mut c_void, channel: u8) {
    state(this).order(&GuestOrder::Channel(channel));
}

extern "C" fn listen(this: *mut c_void, on: c_int) {
    state(this).order(&GuestOrder::Listen(on != 0));
}

extern "C" fn transmit(this: *mut c_void, frame: *const u8, len: usize, backoffs: u8) -> c_int {
    let state = state(this);
    if state.works || len == 0 || len > FRAME_MAX {
        return -1;
    }
    state.works = true;
    let frame = bytes(frame, len).to_vec();
    let backoffs = (backoffs != NO_CCA).then_some(backoffs);
    state.order(&GuestOrder::Transmit { frame, backoffs });
    0
}

extern "C" fn measure_energy(this: *mut c_void, duration_us: u32) -> c_int {
    let state = state(this);
    if state.works {
        return -1;
    }
    state.works = true;
    state.order(&GuestOrder::MeasureEnergy(duration_us));
    0
}

extern "C" fn rssi_dbm(this: *mut c_void) -> i8 {
    match state(this).busy {
        true => BUSY_DBM,
        false => FREE_DBM,
    }
}

extern "C" fn source_match(this: *mut c_void, address: *const u8, len: usize, pending: c_int) {
    state(this).order(&GuestOrder::SourceMatch {
        neighbour: bytes(address, len).to_vec(),
        pending: pending != 0,
    });
}

extern "C" fn source_match_all(this: *mut c_void, all: c_int) {
    state(this).order(&GuestOrder::SourceMatchAll(all != 0));
}

extern "C" fn setting_get(
    this: *mut c_void,
    key: u16,
    index: c_int,
    to: *mut u8,
    capacity: usize,
) -> c_int {
    let values = state(this).settings.get(&key);
    let index = usize::try_from(index).ok();
    let Some(value) = values.and_then(|values| values.get(index?)) else {
        return -1;
    };
    let len = value.len().min(capacity);
    if !to.is_null() {
        // SAFETY: the header requires `capacity` writable bytes, which the value does not overlap.
        unsafe { std::ptr::copy_nonoverlapping(value.as_ptr(), to, len) };
    }
    value.len() as c_int
}

extern "C" fn setting_add(this: *mut c_void, key: u16, value: *const u8, len: usize) -> c_int {
    let values = state(this).settings.entry(key).or_default();
    values.push(bytes(value, len).to_vec());
    0
}

extern "C" fn setting_remove(this: *mut c_void, key: u16, index: c_int) -> c_int {
    let settings = &mut state(this).settings;
    if index == -1 {
        return if settings.remove(&key).is_some() {
            0
        } else {
            -1
        };
    }
    let values = settings.entry(key).or_default();
    match usize::try_from(index).ok().filter(|it| *it < values.len()) {
        Some(index) => {
            values.remove(index);
            0
        }
        None => -1,
    }
}

extern "C" fn print(this: *mut c_void, text: *const c_char, len: usize) {
    for part in bytes(text.cast(), len).chunks(PART) {
        state(this).order(&GuestOrder::Print(part.to_vec()));
    }
}

extern "C" fn fail(this: *mut c_void, reason: *const c_char) {
    // SAFETY: the header requires a text that ends with a zero byte.
    let reason = unsafe { CStr::from_ptr(reason) }.to_string_lossy();
    state(this).fail(&reason)
}

extern "C" fn stream(
    this: *mut c_void,
    event: c_int,
    peer: *const u8,
    port: u16,
    content: *const u8,
    len: usize,
) {
    let mut address = [0; 16];
    address.copy_from_slice(bytes(peer, 16));
    let Some(event) = u8::try_from(event)
        .ok()
        .and_then(|it| StreamEvent::try_from(it).ok())
    else {
        state(this).fail("the firmware called `stream` with an unknown event");
    };
    state(this).order(&GuestOrder::Stream {
        event,
        peer: address,
        port,
        bytes: bytes(content, len).to_vec(),
    });
}
