//! TCPlp as in OpenThread, from the source in the crate `openthread-sys`.
//!
//! One function is patched, see `glue/tcplp/glue.c`. Without the patch, TCPlp aborts the program
//! when a segment fills the last gap of a full receive buffer.

#[cfg(not(has_tcplp))]
pub(crate) use absent::{MISSING, open};
#[cfg(has_tcplp)]
pub(crate) use present::{MISSING, open};

#[cfg(not(has_tcplp))]
mod absent {
    use redpoll_base::Instant;

    use crate::peer::{Limits, Peer};

    pub(crate) const MISSING: Option<&str> = Some(
        "its C source or a C compiler was missing when this program was built; \
         install both with `scripts/setup.sh bench` (the source is in the crate openthread-sys \
         0.4.0), and build again with `make bench`",
    );

    pub(crate) fn open(_now: Instant, _limits: &Limits) -> [Box<dyn Peer>; 2] {
        panic!("TCPlp is missing")
    }
}

#[cfg(has_tcplp)]
mod present {
    use std::ffi::{c_int, c_uint, c_void};

    use redpoll_base::Instant;

    use crate::peer::{Limits, Peer};

    pub(crate) const MISSING: Option<&str> = None;

    /// TCPlp announces an MSS of 474 and uses timestamps, 12 bytes.
    const PAYLOAD_BYTES: u16 = 462;
    const LONGEST_PACKET: usize = 1_280;

    // SAFETY: these are the functions of `glue/tcplp/glue.c` with their types. They keep no pointer
    // from the caller beyond a call.
    unsafe extern "C" {
        fn peers_tcplp_open(now: u64, side: c_int, buffer: usize, piece: usize) -> *mut c_void;
        fn peers_tcplp_close(end: *mut c_void);
        fn peers_tcplp_input(end: *mut c_void, now: u64, bytes: *const u8, len: usize);
        fn peers_tcplp_output(end: *mut c_void, out: *mut u8, capacity: usize) -> usize;
        fn peers_tcplp_poll_at(end: *mut c_void) -> u64;
        fn peers_tcplp_on_timeout(end: *mut c_void, now: u64);
        fn peers_tcplp_send(end: *mut c_void, now: u64, bytes: *const u8, len: usize) -> usize;
        fn peers_tcplp_recv(end: *mut c_void, now: u64, out: *mut u8, capacity: usize) -> usize;
        fn peers_tcplp_established(end: *const c_void) -> c_int;
        fn peers_tcplp_failed(end: *const c_void) -> c_int;
        fn peers_tcplp_timeouts(end: *const c_void) -> c_uint;
    }

    /// An end of a connection. The pointer is never null, and this value owns the end. No other
    /// thread uses the end, because a raw pointer is neither `Send` nor `Sync`.
    struct End(*mut c_void);

    pub(crate) fn open(now: Instant, limits: &Limits) -> [Box<dyn Peer>; 2] {
        assert_eq!(limits.payload_bytes, PAYLOAD_BYTES, "TCPlp has one MSS");
        let piece = usize::from(limits.payload_bytes);
        [0, 1].map(|side| {
            // SAFETY: the function allocates the end, and aborts the program if it cannot.
            let end =
                unsafe { peers_tcplp_open(now.as_millis(), side, limits.buffer_bytes, piece) };
            Box::new(End(end)) as Box<dyn Peer>
        })
    }

    impl Drop for End {
        fn drop(&mut self) {
            // SAFETY: `self` owns the end, and does not use it afterwards.
            unsafe { peers_tcplp_close(self.0) }
        }
    }

    impl Peer for End {
        fn input(&mut self, now: Instant, packet: &[u8]) {
            // SAFETY: `self` owns the end; the bytes are copied.
            unsafe { peers_tcplp_input(self.0, now.as_millis(), packet.as_ptr(), packet.len()) }
        }

        fn output(&mut self, _now: Instant) -> Option<Vec<u8>> {
            let mut packet = vec![0; LONGEST_PACKET];
            // SAFETY: `self` owns the end; the function writes at most `packet.len()` bytes.
            let len = unsafe { peers_tcplp_output(self.0, packet.as_mut_ptr(), packet.len()) };
            packet.truncate(len);
            (len > 0).then_some(packet)
        }

        fn poll_at(&mut self, _now: Instant) -> Option<Instant> {
            // SAFETY: `self` owns the end.
            let at_ms = unsafe { peers_tcplp_poll_at(self.0) };
            (at_ms < u64::MAX).then(|| Instant::from_millis(at_ms))
        }

        fn on_timeout(&mut self, now: Instant) {
            // SAFETY: `self` owns the end.
            unsafe { peers_tcplp_on_timeout(self.0, now.as_millis()) }
        }

        fn send(&mut self, now: Instant, bytes: &[u8]) -> usize {
            // SAFETY: `self` owns the end; the bytes are copied.
            unsafe { peers_tcplp_send(self.0, now.as_millis(), bytes.as_ptr(), bytes.len()) }
        }

        fn recv(&mut self, now: Instant, out: &mut [u8]) -> usize {
            // SAFETY: `self` owns the end; the function writes at most `out.len()` bytes.
            unsafe { peers_tcplp_recv(self.0, now.as_millis(), out.as_mut_ptr(), out.len()) }
        }

        fn is_established(&self) -> bool {
            // SAFETY: `self` owns the end.
            unsafe { peers_tcplp_established(self.0) != 0 }
        }

        fn has_failed(&self) -> bool {
            // SAFETY: `self` owns the end.
            unsafe { peers_tcplp_failed(self.0) != 0 }
        }

        fn timeouts(&self) -> u32 {
            // SAFETY: `self` owns the end.
            unsafe { peers_tcplp_timeouts(self.0) }
        }
    }
}
