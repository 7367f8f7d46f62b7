//! The symbols of a module: plain globals that the node and its host share, and two entry points.
//! The node reads and writes the globals only while it runs.

use std::ffi::{CStr, c_char, c_int};
use std::ptr::NonNull;

use crate::library::Library;
use crate::random;

/// Maximum length of a frame in bytes, without check sequence (IEEE 802.15.4-2015 §7.2).
pub(crate) const FRAME_MAX: usize = 125;
/// Maximum length of the text that a node prints during one tick, in bytes.
const TEXT_MAX: usize = 8_192;

#[derive(Clone, Copy)]
struct Global<T>(NonNull<T>);

impl<T: Copy> Global<T> {
    fn find(library: &Library, name: &CStr) -> Result<Global<T>, String> {
        let missing = || format!("has no symbol {}", name.to_string_lossy());
        let address = library.symbol(name).ok_or_else(missing)?;
        Ok(Global(address.cast()))
    }

    fn get(self) -> T {
        // SAFETY: the symbol is a global of this type in an object that stays loaded as long as
        // the interface. There is no concurrent write: the node runs only within
        // `Interface::tick`, which borrows the interface mutably.
        unsafe { self.0.as_ptr().read_volatile() }
    }

    fn set(self, value: T) {
        // SAFETY: as with `get`.
        unsafe { self.0.as_ptr().write_volatile(value) }
    }
}

#[derive(Clone, Copy)]
struct Buffer {
    start: Global<u8>,
    len: usize,
}

impl Buffer {
    fn find(library: &Library, name: &CStr, len: usize) -> Result<Buffer, String> {
        let start = Global::find(library, name)?;
        Ok(Buffer { start, len })
    }

    fn read(self, len: usize, to: &mut Vec<u8>) {
        let len = len.min(self.len);
        to.reserve(len);
        // SAFETY: the buffer has `len` bytes, and the node does not run now, see `Global::get`.
        // The vector has room for `len` more bytes.
        unsafe {
            let end = to.as_mut_ptr().add(to.len());
            std::ptr::copy_nonoverlapping(self.start.0.as_ptr(), end, len);
            to.set_len(to.len() + len);
        }
    }

    fn write(self, bytes: &[u8]) -> usize {
        let len = bytes.len().min(self.len);
        // SAFETY: the buffer has `len` bytes, and the node does not run now, see `Global::get`.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.0.as_ptr(), len) };
        len
    }
}

type Entry = unsafe extern "C" fn();

pub(crate) struct Interface {
    init: Entry,
    tick: Entry,
    number: Global<c_int>,
    number_changed: Global<c_char>,
    random_seed: Global<c_int>,
    time_ms: Global<u64>,
    time_us: Global<u64>,
    runs_on: Global<c_int>,
    timer_pending: Global<c_int>,
    timer_ms: Global<u64>,
    rtimer_pending: Global<c_int>,
    rtimer_us: Global<u64>,
    out_size: Global<c_int>,
    out: Buffer,
    receiving: Global<c_char>,
    in_size: Global<c_int>,
    input: Buffer,
    signal_dbm: Global<c_int>,
    lqi: Global<c_int>,
    radio_on: Global<c_char>,
    frame_began_us: Global<u64>,
    text_flag: Global<c_char>,
    text_len: Global<c_int>,
    text: Buffer,
    /// State of the node's random generator while the node does not run.
    random: u64,
    /// Declared after all fields that point into the library, so that it is dropped last.
    _library: Library,
}

// SAFETY: a module's node has no thread and no thread-local storage. The node runs in the thread
// that calls `tick`, and the pointers refer to globals of the process, which any thread may use.
unsafe impl Send for Interface {}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// Whether the module has more work, or waits in a loop for its radio or for a time.
    pub(crate) runs_on: bool,
    pub(crate) timer_ms: Option<u64>,
    /// Time of the real-time timer in µs; it expires when the clock shows exactly this time.
    pub(crate) rtimer_us: Option<u64>,
}

impl Interface {
    /// Finds the symbols of the module in `library`. No other [`Interface`] uses this module.
    pub(crate) fn find(library: Library) -> Result<Interface, String> {
        let it = &library;
        let entry = |name: &CStr| -> Result<Entry, String> {
            let Global(address) = Global::<u8>::find(it, name)?;
            // SAFETY: the symbol is a function of a loaded object, which by the interface takes no
            // arguments. Some releases return a number, which the caller ignores.
            Ok(unsafe { std::mem::transmute::<*mut u8, Entry>(address.as_ptr()) })
        };
        let interface = Interface {
            init: entry(c"cooja_init")?,
            tick: entry(c"cooja_tick")?,
            number: Global::find(it, c"simMoteID")?,
            number_changed: Global::find(it, c"simMoteIDChanged")?,
            random_seed: Global::find(it, c"simRandomSeed")?,
            time_ms: Global::find(it, c"simCurrentTime")?,
            time_us: Global::find(it, c"simRtimerCurrentTicks")?,
            runs_on: Global::find(it, c"simProcessRunValue")?,
            timer_pending: Global::find(it, c"simEtimerPending")?,
            timer_ms: Global::find(it, c"simEtimerNextExpirationTime")?,
            rtimer_pending: Global::find(it, c"simRtimerPending")?,
            rtimer_us: Global::find(it, c"simRtimerNextExpirationTime")?,
            out_size: Global::find(it, c"simOutSize")?,
            out: Buffer::find(it, c"simOutDataBuffer", FRAME_MAX)?,
            receiving: Global::find(it, c"simReceiving")?,
            in_size: Global::find(it, c"simInSize")?,
            input: Buffer::find(it, c"simInDataBuffer", FRAME_MAX)?,
            signal_dbm: Global::find(it, c"simSignalStrength")?,
            lqi: Global::find(it, c"simLQI")?,
            radio_on: Global::find(it, c"simRadioHWOn")?,
            frame_began_us: Global::find(it, c"simLastPacketTimestamp")?,
            text_flag: Global::find(it, c"simLoggedFlag")?,
            text_len: Global::find(it, c"simLoggedLength")?,
            text: Buffer::find(it, c"simLoggedData", TEXT_MAX)?,
            random: 0,
            _library: library,
        };
        if interface.number.get() != 0 {
            return Err(
                "is still loaded from an earlier run, because it could not be unloaded".to_owned(),
            );
        }
        Ok(interface)
    }

    pub(crate) fn begin(&mut self, number: u16, seed: u64) {
        self.random = seed;
        self.number.set(number.into());
        self.number_changed.set(1);
        self.random_seed.set((seed >> 33) as c_int);
        let init = self.init;
        self.call(init);
    }

    /// Runs the module until it waits.
    pub(crate) fn tick(&mut self, now_us: u64) {
        self.time_us.set(now_us);
        self.time_ms.set(now_us / 1_000);
        let tick = self.tick;
        self.call(tick);
    }

    fn call(&mut self, entry: Entry) {
        random::enter(self.random);
        // SAFETY: an entry point of a loaded module, called by one thread at a time because the
        // interface is borrowed mutably. The behaviour of its code is the user's choice.
        unsafe { entry() };
        self.random = random::leave();
    }

    pub(crate) fn timers(&self) -> Timers {
        Timers {
            runs_on: self.runs_on.get() != 0,
            timer_ms: (self.timer_pending.get() != 0).then(|| self.timer_ms.get()),
            rtimer_us: (self.rtimer_pending.get() != 0).then(|| self.rtimer_us.get()),
        }
    }

    /// Sets the signal at the module's antenna: whether a frame arrives, and the signal strength.
    pub(crate) fn set_channel(&self, receiving: bool, signal_dbm: i8) {
        self.receiving.set(receiving.into());
        self.signal_dbm.set(signal_dbm.into());
    }

    pub(crate) fn frame_begins(&self, now_us: u64) {
        self.frame_began_us.set(now_us);
    }

    pub(crate) fn set_lqi(&self, lqi: u8) {
        self.lqi.set(lqi.into());
    }

    /// Stores a received frame. The frame replaces an unread one.
    pub(crate) fn receive(&self, frame: &[u8]) {
        let len = self.input.write(frame);
        self.in_size.set(len as c_int);
    }

    pub(crate) fn radio_is_on(&self) -> bool {
        self.radio_on.get() != 0
    }

    /// Copies the outgoing frame into `frame`; returns `false` if there is none.
    pub(crate) fn frame(&self, frame: &mut Vec<u8>) -> bool {
        frame.clear();
        let len = usize::try_from(self.out_size.get()).unwrap_or(0);
        self.out.read(len, frame);
        len > 0
    }

    pub(crate) fn sent(&self) {
        self.out_size.set(0);
    }

    pub(crate) fn take_text(&self, text: &mut Vec<u8>) {
        if self.text_flag.get() == 0 {
            return;
        }
        let len = usize::try_from(self.text_len.get()).unwrap_or(0);
        self.text.read(len, text);
        self.text_len.set(0);
        self.text_flag.set(0);
    }
}
