//! The boards. Each has `run`, which starts a node on the board's radio and runs a program on it.

#[cfg(board = "host")]
#[path = "host.rs"]
mod chosen;
#[cfg(board = "nrf52840")]
#[path = "nrf52840.rs"]
mod chosen;
#[cfg(board = "rp2040")]
#[path = "rp2040.rs"]
mod chosen;

pub use chosen::run;
#[cfg(target_os = "none")]
use panic_halt as _;

#[cfg(target_os = "none")]
mod clock {
    use core::pin::pin;
    use core::task::{Context, Poll};

    use embassy_time::{Duration, Timer};
    use redpoll_socket::stack::base::Instant;
    use redpoll_transceiver::Ticker;

    /// The clock of `embassy-time`.
    pub struct Clock;

    pub fn now() -> Instant {
        Instant::from_micros(embassy_time::Instant::now().as_micros())
    }

    impl Ticker for Clock {
        fn now(&self) -> Instant {
            now()
        }

        fn poll_until(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()> {
            let at = embassy_time::Instant::from_micros(at.as_micros());
            // Rounded down to a tick, the alarm could be early.
            pin!(Timer::at(at + Duration::from_ticks(1))).poll(cx)
        }
    }
}
