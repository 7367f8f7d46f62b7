//! Record of a flow's readings, whether each arrived or was lost, and the latency from the sensor
//! to the receiving application.
//!
//! The first four bytes of a reading are its number. The others are the flow's test data
//! ([`Oracle::pattern`](super::Oracle::pattern)) from an offset that follows from the number.

use std::collections::VecDeque;
use std::ops::Range;

use redpoll_base::{Duration, Instant};
use serde::Serialize;

use super::percentiles::Percentiles;

/// Interval of goodput measurements: that of figure 12 of Kumar et al. 2020.
const INTERVAL: Duration = Duration::from_secs(40);

/// Number of readings that are remembered individually. It exceeds every sensor's queue, so an
/// older reading that has not arrived is lost.
const REMEMBERED: usize = 1 << 16;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadingFormat {
    /// Bytes of a reading, at least four.
    pub bytes: usize,
    pub layout: Layout,
    /// Whether the sender reports the readings that it drops. If false, a reading counts as lost
    /// when it is older than the longest latency of the flow so far.
    pub tells_losses: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    Whole {
        header: usize,
    },
    /// A part of the stream of all readings: its offset in the stream modulo 2^32 ([`PLACE`]),
    /// followed by its bytes.
    Part,
}

/// Length of the offset at the beginning of a part, in bytes.
pub const PLACE: usize = 4;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ReadingFigures {
    /// Readings that the sensor made.
    pub made: u64,
    /// Readings that the remote application received, each counted once.
    pub delivered: u64,
    /// Readings that will never arrive: the queue was full, the connection failed, the sensor's
    /// node restarted, or, without acknowledgements, their age exceeds the longest time that an
    /// arrived reading took. A reading also counts as lost if it has not arrived when the sensor
    /// has made 65,536 further readings.
    pub lost: u64,
    /// Readings in a queue or in transit: all readings in `made` that are neither `delivered` nor
    /// `lost`.
    pub under_way: u64,
    /// Number of arrivals of readings that had arrived before. The application counts each reading
    /// once.
    pub repeated: u64,
    /// Share of delivered readings, 0 to 1: `delivered` / (`delivered` + `lost`); 1 if both are 0.
    pub reliability: f64,
    /// Time from making a reading to its arrival, in milliseconds, including the wait for a batch.
    pub latency_ms: LatencyMs,
    /// Readings delivered in each whole interval of 40 s since the start of the run, in 1000 bit/s.
    pub goodput_per_40s_kbps: Vec<f64>,
}

/// Percentiles of latencies in milliseconds; `null` without a sample.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct LatencyMs {
    /// Minimum, with a precision of one percent; `null` without an arrival.
    pub min: Option<f64>,
    /// 25th percentile, with a precision of one percent; `null` without an arrival.
    pub p25: Option<f64>,
    /// Median, with a precision of one percent; `null` without an arrival.
    pub p50: Option<f64>,
    /// 75th percentile, with a precision of one percent; `null` without an arrival.
    pub p75: Option<f64>,
    /// 95th percentile, with a precision of one percent; `null` without an arrival.
    pub p95: Option<f64>,
    /// Maximum, exact; `null` without an arrival.
    pub max: Option<f64>,
}

impl LatencyMs {
    /// Returns the percentiles of times in microseconds; `longest` is the exact maximum.
    pub(super) fn of(times: &Percentiles, longest: Duration) -> LatencyMs {
        let ms = |us: u64| us as f64 / 1_000.0;
        let p50 = times.at(0.50).map(ms);
        LatencyMs {
            min: times.at(0.0).map(ms),
            p25: times.at(0.25).map(ms),
            p50,
            p75: times.at(0.75).map(ms),
            p95: times.at(0.95).map(ms),
            max: p50.map(|_| ms(longest.as_micros())),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ReadingState {
    Open,
    Arrived,
    Lost,
}

#[derive(Debug)]
pub(super) struct Readings {
    format: ReadingFormat,
    /// Creation time and state of the latest readings.
    made: VecDeque<(Instant, ReadingState)>,
    /// Number of readings removed from `made`. Readings are numbered from 0, so this is also the
    /// number of the first reading in `made`.
    old: u32,
    /// Number of readings removed from `made` that had not arrived.
    old_lost: u64,
    arrived: u64,
    repeated: u64,
    latency: Percentiles,
    longest: Duration,
    partial: Vec<u8>,
    /// Expected offset of the next part in the stream.
    place: u32,
    intervals: Vec<u64>,
}

impl Readings {
    pub(super) fn new(format: ReadingFormat) -> Readings {
        Readings {
            format,
            made: VecDeque::new(),
            old: 0,
            old_lost: 0,
            arrived: 0,
            repeated: 0,
            latency: Percentiles::default(),
            longest: Duration::ZERO,
            partial: Vec::new(),
            place: 0,
            intervals: Vec::new(),
        }
    }

    pub(super) fn made(&mut self, now: Instant) -> u32 {
        if self.made.len() >= REMEMBERED
            && let Some((_, fate)) = self.made.pop_front()
        {
            self.old += 1;
            self.old_lost += u64::from(fate != ReadingState::Arrived);
        }
        self.made.push_back((now, ReadingState::Open));
        self.old + self.made.len() as u32 - 1
    }

    fn remembered(&mut self, number: u32) -> Option<&mut (Instant, ReadingState)> {
        self.made.get_mut(number.checked_sub(self.old)? as usize)
    }

    /// Marks the readings `numbers` as lost, except those that have arrived.
    pub(super) fn lost(&mut self, numbers: Range<u32>) {
        for number in numbers {
            match self.remembered(number) {
                Some((_, fate)) if *fate == ReadingState::Open => *fate = ReadingState::Lost,
                _ => {}
            }
        }
    }

    /// Records that all readings that have not arrived are lost.
    pub(super) fn lose_open(&mut self) {
        let open = self
            .made
            .iter_mut()
            .filter(|(_, state)| *state == ReadingState::Open);
        open.for_each(|(_, state)| *state = ReadingState::Lost);
    }

    pub(super) fn has_arrived(&self, number: u32) -> bool {
        let Some(index) = number.checked_sub(self.old) else {
            return true;
        };
        let reading = self.made.get(index as usize);
        reading.is_some_and(|(_, fate)| *fate == ReadingState::Arrived)
    }

    pub(super) fn restart(&mut self) {
        self.partial.clear();
    }

    pub(super) fn message(
        &mut self,
        now: Instant,
        payload: &[u8],
        content: impl Fn(u64) -> u8,
    ) -> Result<usize, String> {
        let header = match self.format.layout {
            Layout::Whole { header } => header,
            Layout::Part => return self.part(now, payload, content),
        };
        let readings = payload.get(header..).unwrap_or_default();
        if readings.is_empty() || !readings.len().is_multiple_of(self.format.bytes) {
            let len = payload.len();
            return Err(format!(
                "a message of {len} bytes was received, which does not consist of whole readings"
            ));
        }
        let mut new = 0;
        for reading in readings.chunks(self.format.bytes) {
            if self.reading(now, reading, &content)? {
                new += reading.len();
            }
        }
        Ok(new)
    }

    /// Records the arrival of a part of the stream and returns the number of its new bytes.
    fn part(
        &mut self,
        now: Instant,
        payload: &[u8],
        content: impl Fn(u64) -> u8,
    ) -> Result<usize, String> {
        let Some((place, bytes)) = payload.split_first_chunk::<PLACE>() else {
            let len = payload.len();
            return Err(format!(
                "a message of {len} bytes was received, which is too short to contain its \
                 position in the stream"
            ));
        };
        let place = u32::from_be_bytes(*place);
        let Ok(known) = usize::try_from(self.place.wrapping_sub(place) as i32) else {
            return Err(format!(
                "a part of the stream that begins at byte {place} was received, but the bytes \
                 from {} on are missing",
                self.place
            ));
        };
        let (known, new) = bytes.split_at(known.min(bytes.len()));
        self.repeated += (known.len() / self.format.bytes) as u64;
        self.place = self.place.wrapping_add(new.len() as u32);
        self.stream(now, new, content)?;
        Ok(new.len())
    }

    pub(super) fn stream(
        &mut self,
        now: Instant,
        bytes: &[u8],
        content: impl Fn(u64) -> u8,
    ) -> Result<(), String> {
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let wanted = self.format.bytes - self.partial.len();
            let (head, rest) = bytes.split_at(wanted.min(bytes.len()));
            self.partial.extend_from_slice(head);
            bytes = rest;
            if self.partial.len() == self.format.bytes {
                let reading = std::mem::take(&mut self.partial);
                self.reading(now, &reading, &content)?;
            }
        }
        Ok(())
    }

    fn reading(
        &mut self,
        now: Instant,
        reading: &[u8],
        content: &impl Fn(u64) -> u8,
    ) -> Result<bool, String> {
        let number = reading.first_chunk().map_or(0, |n| u32::from_be_bytes(*n));
        let start = u64::from(number) * self.format.bytes as u64;
        let is_right = (start..)
            .zip(reading)
            .skip(4)
            .all(|(at, b)| *b == content(at));
        if !is_right {
            return Err(format!("reading {number} has a wrong byte"));
        }
        if number < self.old {
            self.repeated += 1;
            return Ok(false);
        }
        let Some((made, fate)) = self.remembered(number) else {
            return Err(format!("reading {number} was received, but never made"));
        };
        if *fate == ReadingState::Arrived {
            self.repeated += 1;
            return Ok(false);
        }
        *fate = ReadingState::Arrived;
        let made = *made;
        let latency = now.since(made);
        self.arrived += 1;
        self.latency.add(latency.as_micros());
        self.longest = self.longest.max(latency);
        let interval = (now.as_micros() / INTERVAL.as_micros()) as usize;
        if interval >= self.intervals.len() {
            self.intervals.resize(interval + 1, 0);
        }
        self.intervals[interval] += reading.len() as u64;
        Ok(true)
    }

    pub(super) fn figures(&self, now: Instant) -> ReadingFigures {
        let is_lost = |(made, fate): &&(Instant, ReadingState)| match fate {
            ReadingState::Lost => true,
            ReadingState::Arrived => false,
            ReadingState::Open => !self.format.tells_losses && *made + self.longest < now,
        };
        let made = u64::from(self.old) + self.made.len() as u64;
        let lost = self.old_lost + self.made.iter().filter(is_lost).count() as u64;
        let settled = self.arrived + lost;
        let whole = (now.as_micros() / INTERVAL.as_micros()) as usize;
        let of_interval = |bytes: u64| bytes as f64 * 8_000.0 / INTERVAL.as_micros() as f64;
        let mut intervals = self.intervals.clone();
        intervals.resize(whole, 0);
        ReadingFigures {
            made,
            delivered: self.arrived,
            lost,
            under_way: made - settled,
            repeated: self.repeated,
            reliability: match settled {
                0 => 1.0,
                _ => self.arrived as f64 / settled as f64,
            },
            latency_ms: LatencyMs::of(&self.latency, self.longest),
            goodput_per_40s_kbps: intervals.into_iter().map(of_interval).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::from_millis(s * 1_000)
    }

    fn reading(number: u32) -> Vec<u8> {
        let mut bytes = number.to_be_bytes().to_vec();
        bytes.extend([7; 4]);
        bytes
    }

    fn readings(tells_losses: bool) -> Readings {
        let format = ReadingFormat {
            bytes: 8,
            layout: Layout::Whole { header: 2 },
            tells_losses,
        };
        let mut readings = Readings::new(format);
        for number in 0..4 {
            assert_eq!(readings.made(at(number.into())), number);
        }
        readings
    }

    fn content(_: u64) -> u8 {
        7
    }

    #[test]
    fn messages_are_taken_apart_and_repetitions_counted_once() {
        let mut readings = readings(true);
        let message = [&[0, 0][..], &reading(0), &reading(2)].concat();
        assert_eq!(readings.message(at(5), &message, content), Ok(16));
        assert_eq!(readings.message(at(6), &message, content), Ok(0));
        readings.lost(1..3);
        let figures = readings.figures(at(100));
        let counts = (figures.made, figures.delivered, figures.lost);
        assert_eq!((counts, figures.under_way), ((4, 2, 1), 1));
        assert_eq!((figures.repeated, figures.reliability), (2, 2.0 / 3.0));
        assert_eq!(figures.latency_ms.max, Some(5_000.0));
        assert_eq!(figures.goodput_per_40s_kbps, [128.0 / 40_000.0, 0.0]);
    }

    #[test]
    fn a_reading_is_lost_once_older_than_any_delivered_one() {
        let mut readings = readings(false);
        let message = [&[0, 0][..], &reading(1)].concat();
        readings.message(at(3), &message, content).unwrap();
        // The longest latency is 2 s: at 5 s, readings 0 and 2 are older and count as lost.
        assert_eq!(readings.figures(at(5)).lost, 2);
        assert_eq!(readings.figures(at(6)).lost, 3);
    }

    #[test]
    fn streams_are_cut_anywhere() {
        let mut readings = readings(true);
        let stream = [reading(0), reading(1), reading(3)].concat();
        for part in stream.chunks(5) {
            readings.stream(at(4), part, content).unwrap();
        }
        assert_eq!(readings.figures(at(4)).delivered, 3);
        assert!(readings.has_arrived(3) && !readings.has_arrived(2));
        readings.stream(at(4), &[1, 2, 3], content).unwrap();
        readings.restart();
        assert_eq!(readings.stream(at(4), &reading(2), content), Ok(()));
        assert_eq!(readings.figures(at(4)).delivered, 4);
    }

    #[test]
    fn parts_of_a_stream_come_in_order_and_perhaps_twice() {
        let mut readings = readings(true);
        readings.format.layout = Layout::Part;
        let stream = [reading(0), reading(1), reading(3)].concat();
        let part = |range: Range<usize>| {
            let place = (range.start as u32).to_be_bytes();
            [&place[..], &stream[range]].concat()
        };
        assert_eq!(readings.message(at(4), &part(0..5), content), Ok(5));
        assert_eq!(readings.message(at(4), &part(5..21), content), Ok(16));
        assert_eq!(readings.message(at(4), &part(5..21), content), Ok(0));
        // After a dropped part, a longer part may start at the same offset.
        assert_eq!(readings.message(at(4), &part(5..24), content), Ok(3));
        assert_eq!(readings.message(at(4), &part(0..5), content), Ok(0));
        let figures = readings.figures(at(4));
        assert_eq!((figures.delivered, figures.repeated), (3, 4));
        let gap = [&25_u32.to_be_bytes()[..], &[7; 8]].concat();
        assert!(readings.message(at(5), &gap, content).is_err());
        assert!(readings.message(at(5), &[0; 3], content).is_err());
    }

    /// Checks that the record of a sensor's readings has a bounded size, however long the run is.
    #[test]
    fn old_readings_are_only_counted() {
        let mut readings = readings(true);
        for number in 4..200_000 {
            assert_eq!(readings.made(at(number.into())), number);
            if number % 10 > 0 {
                let message = [&[0, 0][..], &reading(number)].concat();
                let new = readings.message(at(u64::from(number) + 1), &message, content);
                assert_eq!(new, Ok(8));
            }
        }
        assert!(readings.made.len() <= REMEMBERED);
        let all = readings.figures(at(200_000));
        assert_eq!((all.made, all.delivered), (200_000, 179_997));
        assert_eq!(all.lost + all.under_way, 20_003);
        readings.lost(0..200_000);
        assert_eq!(readings.figures(at(200_000)).lost, 20_003);
        let old = [&[0, 0][..], &reading(5)].concat();
        assert_eq!(readings.message(at(200_001), &old, content), Ok(0));
        assert_eq!(readings.figures(at(200_001)).repeated, 1);
    }

    #[test]
    fn nonsense_is_a_violation() {
        let mut readings = readings(true);
        let mut wrong = [&[0, 0][..], &reading(0)].concat();
        wrong[9] = 8;
        assert!(readings.message(at(5), &wrong, content).is_err());
        assert!(readings.message(at(5), &[0; 9], content).is_err());
        assert!(readings.message(at(5), &[0, 0], content).is_err());
        let unknown = [&[0, 0][..], &reading(4)].concat();
        assert!(readings.message(at(5), &unknown, content).is_err());
    }
}
