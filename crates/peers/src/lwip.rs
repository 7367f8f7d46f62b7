//! lwIP with its defaults, from Debian's source package.

#[cfg(not(has_lwip))]
pub(crate) use absent::{MISSING, open};
#[cfg(has_lwip)]
pub(crate) use present::{MISSING, open};

#[cfg(not(has_lwip))]
mod absent {
    use redpoll_base::Instant;

    use crate::peer::{Limits, Peer};

    pub(crate) const MISSING: Option<&str> = Some(
        "its C source or a C compiler was missing when this program was built; \
         install both with `scripts/setup.sh bench` (the source is Debian's source package lwip), \
         and build again with `make bench`",
    );

    pub(crate) fn open(_now: Instant, _limits: &Limits) -> [Box<dyn Peer>; 2] {
        panic!("lwIP is missing")
    }
}

#[cfg(has_lwip)]
mod present {
    use std::cell::Cell;
    use std::ffi::{c_int, c_uint};
    use std::rc::Rc;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use redpoll_base::{Duration, Instant};

    use crate::peer::{Limits, Peer};

    pub(crate) const MISSING: Option<&str> = None;

    // `glue/lwip/lwipopts.h` has the same values of these constants.
    const PAYLOAD_BYTES: u16 = 462;
    const BUFFER_BYTES: usize = 1_848;
    const LONGEST_PACKET: usize = 1_280;

    // SAFETY: these are the functions of `glue/lwip/glue.c` with their types. They keep no pointer
    // beyond a call. They share state, which `Lwip` protects.
    unsafe extern "C" {
        fn peers_lwip_open() -> c_int;
        fn peers_lwip_close();
        fn peers_lwip_input(side: c_int, bytes: *const u8, len: usize);
        fn peers_lwip_output(side: c_int, out: *mut u8, capacity: usize) -> usize;
        fn peers_lwip_tick();
        fn peers_lwip_tick_ms() -> c_uint;
        fn peers_lwip_send(side: c_int, bytes: *const u8, len: usize) -> usize;
        fn peers_lwip_recv(side: c_int, out: *mut u8, capacity: usize) -> usize;
        fn peers_lwip_established(side: c_int) -> c_int;
        fn peers_lwip_failed(side: c_int) -> c_int;
        fn peers_lwip_timeouts(side: c_int) -> c_uint;
    }

    /// The lock of the process's only lwIP: the holder has exclusive access.
    static LWIP: Mutex<()> = Mutex::new(());

    /// The process's only lwIP, with one connection, whose two ends share this value.
    struct Lwip {
        /// Time of lwIP's last tick, which serves both ends.
        last_tick: Cell<Instant>,
        _alone: MutexGuard<'static, ()>,
    }

    struct End {
        side: c_int,
        lwip: Rc<Lwip>,
        next_tick: Instant,
        tick: Duration,
    }

    pub(crate) fn open(now: Instant, limits: &Limits) -> [Box<dyn Peer>; 2] {
        assert_eq!(
            (limits.payload_bytes, limits.buffer_bytes),
            (PAYLOAD_BYTES, BUFFER_BYTES),
            "lwIP is compiled for one segment size and one buffer size"
        );
        let alone = LWIP.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the lock is held. No connection is open, because it is closed before the lock is
        // released.
        let (is_open, tick_ms) = unsafe { (peers_lwip_open() != 0, peers_lwip_tick_ms()) };
        assert!(is_open, "lwIP opens a connection");
        let lwip = Rc::new(Lwip {
            last_tick: Cell::new(now),
            _alone: alone,
        });
        let tick = Duration::from_millis(u64::from(tick_ms));
        [0, 1].map(|side| {
            Box::new(End {
                side,
                lwip: Rc::clone(&lwip),
                next_tick: now + tick,
                tick,
            }) as Box<dyn Peer>
        })
    }

    impl Drop for Lwip {
        fn drop(&mut self) {
            // SAFETY: the lock is still held, and a connection is open.
            unsafe { peers_lwip_close() }
        }
    }

    impl Peer for End {
        fn input(&mut self, _now: Instant, packet: &[u8]) {
            // SAFETY: the lock in `self.lwip` excludes other users of lwIP; lwIP copies the bytes.
            unsafe { peers_lwip_input(self.side, packet.as_ptr(), packet.len()) }
        }

        fn output(&mut self, _now: Instant) -> Option<Vec<u8>> {
            let mut packet = vec![0; LONGEST_PACKET];
            // SAFETY: the lock excludes other users; lwIP writes at most `packet.len()` bytes.
            let len = unsafe { peers_lwip_output(self.side, packet.as_mut_ptr(), packet.len()) };
            packet.truncate(len);
            (len > 0).then_some(packet)
        }

        fn poll_at(&mut self, _now: Instant) -> Option<Instant> {
            Some(self.next_tick)
        }

        fn on_timeout(&mut self, now: Instant) {
            self.next_tick += self.tick;
            if self.lwip.last_tick.replace(now) != now {
                // SAFETY: the lock in `self.lwip` excludes other users of lwIP.
                unsafe { peers_lwip_tick() }
            }
        }

        fn send(&mut self, _now: Instant, bytes: &[u8]) -> usize {
            // SAFETY: `self.lwip` has exclusive access; the bytes are copied.
            unsafe { peers_lwip_send(self.side, bytes.as_ptr(), bytes.len()) }
        }

        fn recv(&mut self, _now: Instant, out: &mut [u8]) -> usize {
            // SAFETY: `self.lwip` has exclusive access; lwIP writes at most `out.len()` bytes.
            unsafe { peers_lwip_recv(self.side, out.as_mut_ptr(), out.len()) }
        }

        fn is_established(&self) -> bool {
            // SAFETY: `self.lwip` has exclusive access.
            unsafe { peers_lwip_established(self.side) != 0 }
        }

        fn has_failed(&self) -> bool {
            // SAFETY: `self.lwip` has exclusive access.
            unsafe { peers_lwip_failed(self.side) != 0 }
        }

        fn timeouts(&self) -> u32 {
            // SAFETY: `self.lwip` has exclusive access.
            unsafe { peers_lwip_timeouts(self.side) }
        }
    }
}
