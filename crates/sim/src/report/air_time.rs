//! Air time of a run by type of message.

use std::collections::BTreeMap;

use redpoll_base::Duration;
use serde::Serialize;

use crate::air::{AirTimes, MessageType};

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AirTimeFigures {
    /// Time in which nodes transmitted, in seconds, summed over all nodes.
    pub total_s: f64,
    /// Share of `total_s` for messages of the control plane, 0 to 1: RPL (`dio_multicast` to
    /// `dao_ack`) and neighbour discovery (`nd`).
    pub control_share: f64,
    /// One object for each type of message, under the name of the type. Types without frames are
    /// included.
    pub by_message: BTreeMap<&'static str, MessageAirTime>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct MessageAirTime {
    #[serde(skip)]
    pub title: &'static str,
    /// Number of transmitted frames, including retries and frames on the air at the end of the run.
    pub frames: u64,
    /// Air time of the frames in `frames` until the end of the run, in seconds.
    pub air_s: f64,
    /// Share of `total_s` for this type of message, 0 to 1.
    pub share: f64,
}

impl AirTimeFigures {
    pub(crate) fn of(times: &AirTimes) -> AirTimeFigures {
        let spent = |message: &MessageType| times.of(*message).1;
        let sum = |all: &mut dyn Iterator<Item = Duration>| -> u64 {
            all.map(|time| time.as_micros()).sum()
        };
        let all = MessageType::ALL.iter();
        let total_us = sum(&mut all.clone().map(spent));
        let control = all.clone().filter(|it| it.is_control());
        let control_us = sum(&mut control.map(spent));
        let share = |us: u64| us as f64 / total_us.max(1) as f64;
        let entry = |message: &MessageType| {
            let (frames, time) = times.of(*message);
            let figures = MessageAirTime {
                title: message.title(),
                frames,
                air_s: time.as_micros() as f64 / 1e6,
                share: share(time.as_micros()),
            };
            (message.name(), figures)
        };
        AirTimeFigures {
            total_s: total_us as f64 / 1e6,
            control_share: share(control_us),
            by_message: all.map(entry).collect(),
        }
    }
}
