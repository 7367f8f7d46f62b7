//! The congestion window, in segments: slow start, then Reno or CUBIC (RFC 9438).

use redpoll_base::Instant;

/// Share of the window that remains after a loss, in 1,024ths, for CUBIC and for Reno.
const CUBIC_BETA: u32 = 717;
const RENO_BETA: u32 = 512;

#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    cubic: bool,
    pub(super) cwnd: u32,
    ssthresh: u32,
    /// Acknowledged segments since the window last grew.
    count: u32,
    /// State of CUBIC: the window before the last loss, the start of the epoch since this loss, K
    /// (the milliseconds from this start until the window has its previous size), and the window
    /// that Reno would have.
    last_max: u32,
    epoch: Option<Instant>,
    k: u64,
    reno: u32,
    reno_count: u32,
}

impl Window {
    pub(super) fn new(cubic: bool, initial: u16) -> Window {
        Window {
            cubic,
            cwnd: initial.into(),
            ssthresh: u32::MAX,
            count: 0,
            last_max: 0,
            epoch: None,
            k: 0,
            reno: 0,
            reno_count: 0,
        }
    }

    pub(super) fn on_acknowledged(&mut self, now: Instant, segments: u32, limited: bool) {
        if !limited {
            return;
        }
        let mut segments = segments;
        if self.cwnd < self.ssthresh {
            let grown = segments.min(self.ssthresh - self.cwnd);
            self.cwnd += grown;
            segments -= grown;
        }
        if segments == 0 {
            return;
        }
        let each = if self.cubic {
            self.interval(now, segments)
        } else {
            self.cwnd
        };
        self.count += segments;
        if self.count >= each.max(1) {
            self.count = 0;
            self.cwnd += 1;
        }
    }

    /// Returns the number of acknowledged segments after which CUBIC's window grows by one.
    fn interval(&mut self, now: Instant, segments: u32) -> u32 {
        let epoch = *self.epoch.get_or_insert_with(|| {
            let missing = self.last_max.saturating_sub(self.cwnd);
            // W(t) = 0.4 (t - K)^3 + W_max, t in seconds.
            self.k = cube_root(u64::from(missing) * 2_500_000_000);
            self.last_max = self.last_max.max(self.cwnd);
            (self.reno, self.reno_count) = (self.cwnd, 0);
            now
        });
        let t = now.since(epoch).as_millis();
        let away = t.abs_diff(self.k).min(1_000_000);
        let delta = (away * away * away / 2_500_000_000) as u32;
        let target = match t < self.k {
            true => self.last_max.saturating_sub(delta),
            false => self.last_max.saturating_add(delta),
        };
        let each = match target > self.cwnd {
            true => self.cwnd / (target - self.cwnd),
            false => 100 * self.cwnd,
        };
        // Lower bound of the window's growth: Reno with the factor 3 (1 - b) / (1 + b) per window.
        self.reno_count += segments;
        let a_window = self.reno * 15 / 8;
        if a_window > 0 && self.reno_count > a_window {
            self.reno_count -= a_window;
            self.reno += 1;
        }
        match self.reno > self.cwnd {
            true => each.min(self.cwnd / (self.reno - self.cwnd)),
            false => each,
        }
    }

    fn reduce(&mut self) {
        let beta = if self.cubic { CUBIC_BETA } else { RENO_BETA };
        // Fast convergence (RFC 9438 §4.7).
        self.last_max = match self.cwnd < self.last_max {
            true => self.cwnd * (1_024 + CUBIC_BETA) / 2_048,
            false => self.cwnd,
        };
        self.ssthresh = (self.cwnd * beta / 1_024).max(2);
        self.epoch = None;
        self.count = 0;
    }

    /// Handles a segment loss that acknowledgments indicate.
    pub(super) fn on_loss(&mut self) {
        self.reduce();
        self.cwnd = self.ssthresh;
    }

    /// Reduces the window after a timeout. A second timeout without an acknowledgment between does
    /// not reduce the threshold again.
    pub(super) fn on_timeout(&mut self, _in_flight: u32) {
        if self.cwnd > 1 {
            self.reduce();
        }
        self.cwnd = 1;
    }
}

/// Returns the largest number whose cube is at most `of`.
fn cube_root(of: u64) -> u64 {
    let (mut low, mut high) = (0u64, 2_000_000);
    while low < high {
        let middle = (low + high).div_ceil(2);
        match middle * middle * middle <= of {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots() {
        for (of, root) in [
            (0, 0),
            (7, 1),
            (8, 2),
            (26, 2),
            (27, 3),
            (1_000_000_000, 1_000),
        ] {
            assert_eq!(cube_root(of), root, "of {of}");
        }
    }

    /// RFC 9438 §4.2: the window is as large as before the loss after K seconds,
    /// K^3 = W_max (1 - b) / C.
    #[test]
    fn cubic_comes_back_to_where_the_loss_was() {
        let mut window = Window::new(true, 100);
        window.ssthresh = 100;
        window.on_loss();
        assert_eq!(window.cwnd, 70);
        let (mut now, mut ms) = (Instant::ZERO, 0);
        while window.cwnd < 100 {
            ms += 100;
            now = Instant::from_millis(ms);
            let flight = window.cwnd;
            window.on_acknowledged(now, flight, true);
        }
        let seconds = now.as_micros() / 1_000_000;
        assert!((3..=5).contains(&seconds), "{seconds} s, of 4.2");
    }

    #[test]
    fn reno_halves_and_grows_by_one_a_window() {
        let mut window = Window::new(false, 10);
        for _ in 0..5 {
            window.on_acknowledged(Instant::ZERO, 2, true);
        }
        assert_eq!(window.cwnd, 20, "slow start");
        window.on_loss();
        assert_eq!(window.cwnd, 10);
        for _ in 0..10 {
            window.on_acknowledged(Instant::ZERO, 1, true);
        }
        assert_eq!(window.cwnd, 11);
        window.on_timeout(10);
        assert_eq!((window.cwnd, window.ssthresh), (1, 5));
    }
}
