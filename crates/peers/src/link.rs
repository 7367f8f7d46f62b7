//! One direction of a point-to-point link, with a queue, a rate, a delay, and losses.

use std::collections::VecDeque;

use redpoll_base::{Duration, Instant, Rng};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Rate in bits per second, counting IPv6 headers.
    pub rate_bps: u64,
    /// Time from the end of a packet's transmission to its arrival.
    pub delay: Duration,
    /// Maximum number of packets that wait or are in transmission; further packets are dropped.
    pub queue_packets: usize,
    /// Share of randomly lost packets in millionths. A lost packet also occupies the link.
    pub loss_ppm: u32,
}

/// The state of one direction of a link. `P` is a packet.
#[derive(Debug)]
pub struct Pipe<P = Vec<u8>> {
    link: Link,
    rng: Rng,
    is_lossy: bool,
    /// Time at which the transmission of the last queued packet ends.
    busy_until: Instant,
    /// Time at which the transmission of each queued packet ends.
    departures: VecDeque<Instant>,
    arrivals: VecDeque<(Instant, P)>,
}

impl<P: AsRef<[u8]>> Pipe<P> {
    /// Returns an idle direction, without losses before the call of [`lose`](Self::lose). The same
    /// seed and name give the same losses.
    pub fn new(link: Link, seed: u64, name: &str) -> Self {
        Pipe {
            link,
            rng: Rng::named(seed, name),
            is_lossy: false,
            busy_until: Instant::default(),
            departures: VecDeque::new(),
            arrivals: VecDeque::new(),
        }
    }

    pub fn lose(&mut self) {
        self.is_lossy = true;
    }

    pub fn send(&mut self, now: Instant, packet: P) -> bool {
        while self.departures.front().is_some_and(|at| *at <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() >= self.link.queue_packets {
            return false;
        }
        let bits = packet.as_ref().len() as u64 * 8;
        let time = Duration::from_micros((bits * 1_000_000).div_ceil(self.link.rate_bps));
        self.busy_until = self.busy_until.max(now) + time;
        self.departures.push_back(self.busy_until);
        // Draw a number for each packet: the n-th packet has the same fate for all subjects.
        let is_lost = self.is_lossy && self.rng.below(1_000_000) < self.link.loss_ppm;
        if !is_lost {
            self.arrivals
                .push_back((self.busy_until + self.link.delay, packet));
        }
        !is_lost
    }

    pub fn next_arrival(&self) -> Option<Instant> {
        self.arrivals.front().map(|(at, _)| *at)
    }

    pub fn receive(&mut self, now: Instant) -> Option<P> {
        if self.next_arrival()? > now {
            return None;
        }
        self.arrivals.pop_front().map(|(_, packet)| packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link {
        rate_bps: 75_000,
        delay: Duration::from_millis(50),
        queue_packets: 2,
        loss_ppm: 500_000,
    };

    #[test]
    fn a_packet_takes_its_length_and_the_delay() {
        let mut pipe = Pipe::new(LINK, 1, "test");
        let now = Instant::from_millis(1);
        assert!(pipe.send(now, vec![0; 75]));
        assert!(pipe.send(now, vec![0; 75]));
        assert_eq!(pipe.next_arrival(), Some(Instant::from_millis(1 + 8 + 50)));
        assert_eq!(pipe.receive(Instant::from_millis(58)), None);
        assert!(pipe.receive(Instant::from_millis(59)).is_some());
        assert_eq!(pipe.next_arrival(), Some(Instant::from_millis(1 + 16 + 50)));
    }

    #[test]
    fn a_full_queue_drops_arriving_packets() {
        let mut pipe = Pipe::new(LINK, 1, "test");
        let now = Instant::from_millis(1);
        let sent = [(); 3].map(|()| pipe.send(now, vec![0; 75]));
        assert_eq!(sent, [true, true, false]);
        // The transmission of the first packet ends after 8 ms.
        assert!(pipe.send(Instant::from_millis(9), vec![0; 75]));
    }

    #[test]
    fn losses_begin_on_request_and_follow_the_seed() {
        let fates = |seed| {
            let mut pipe = Pipe::new(LINK, seed, "test");
            let mut now = Instant::from_millis(1);
            let mut fates = Vec::new();
            for number in 0..2_000 {
                if number == 1_000 {
                    pipe.lose();
                }
                fates.push(pipe.send(now, vec![0; 75]));
                now += Duration::from_secs(1);
            }
            fates
        };
        let some = fates(1);
        assert!(some[..1_000].iter().all(|arrives| *arrives));
        let lost = some[1_000..].iter().filter(|arrives| !**arrives).count();
        assert!((400..600).contains(&lost), "{lost} of 1000");
        assert_eq!(some, fates(1));
        assert_ne!(some, fates(2));
    }
}
