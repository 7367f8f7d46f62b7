//! The settings in force: from the command line, otherwise from the configuration file, otherwise
//! defaults.

use std::net::SocketAddr;
use std::path::PathBuf;

use redpoll_assist::taim::{Contention, Lead, Params, Policy};
use redpoll_base::Duration;

use redpoll_program::log::LogLevel;

use super::args::{Options, PolicyArg};
use super::config::ConfigFile;
use redpoll_program::{Failure, USAGE};

pub(super) const INTERFACE: &str = "wpan0";

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) queue: u16,
    pub(super) interface: String,
    pub(super) is_interface_named: bool,
    policy: PolicyArg,
    always: bool,
    delay_ms: f64,
    min_delay_ms: f64,
    max_wait_ms: f64,
    period_s: u64,
    pub(super) flows: u32,
    pub(super) packets: u32,
    pub(super) margin: u32,
    pub(super) metrics: Option<SocketAddr>,
    pub(super) json: Option<PathBuf>,
    every_s: u64,
    pub(super) log_level: LogLevel,
}

impl Settings {
    /// Reads the file and combines it with the options of the command line.
    pub(super) fn read(options: &Options, file: &ConfigFile) -> Result<Settings, Failure> {
        let of_file = file.read()?.unwrap_or_default();
        Settings::of(options, &of_file)
    }

    fn of(options: &Options, file: &Options) -> Result<Settings, Failure> {
        macro_rules! either {
            ($name:ident) => {
                options.$name.clone().or(file.$name.clone())
            };
            ($name:ident, $default:expr) => {
                either!($name).unwrap_or($default)
            };
        }
        let settings = Settings {
            queue: either!(queue, 0),
            interface: either!(interface, INTERFACE.to_owned()),
            is_interface_named: either!(interface).is_some(),
            policy: either!(policy, PolicyArg::Taim),
            always: either!(always, false),
            delay_ms: either!(delay, 50.0),
            min_delay_ms: either!(min_delay, 1.0),
            max_wait_ms: either!(max_wait, 1_000.0),
            period_s: either!(period, 60),
            flows: either!(flows, 4_096),
            packets: either!(packets, 16_384),
            margin: either!(margin, 128),
            metrics: either!(metrics),
            json: either!(json),
            every_s: either!(every, 60),
            log_level: either!(log_level, LogLevel::Info),
        };
        if settings.min_delay_ms > settings.delay_ms {
            let line = format!(
                "min_delay ({} ms) is longer than delay ({} ms); allowed: at most delay",
                settings.min_delay_ms, settings.delay_ms
            );
            return Err((USAGE, line));
        }
        Ok(settings)
    }

    pub(super) fn params(&self) -> Params {
        Params {
            policy: match self.policy {
                PolicyArg::Taim => Policy::Taim,
                PolicyArg::Lead => Policy::Lead(Lead::default()),
            },
            initial_delay: duration(self.delay_ms),
            min_delay: duration(self.min_delay_ms),
            period: Duration::from_secs(self.period_s),
            max_wait: Some(duration(self.max_wait_ms)).filter(|wait| !wait.is_zero()),
            contention: (!self.always).then(Contention::default),
            ..Params::default()
        }
    }

    pub(super) fn every(&self) -> Duration {
        Duration::from_secs(self.every_s)
    }

    /// Returns the names of settings that differ from `other` and that apply only after a restart.
    pub(super) fn fixed_differences(&self, other: &Settings) -> Vec<&'static str> {
        let all = [
            ("queue", self.queue == other.queue),
            ("interface", self.interface == other.interface),
            ("flows", self.flows == other.flows),
            ("packets", self.packets == other.packets),
            ("metrics", self.metrics == other.metrics),
            ("json", self.json == other.json),
        ];
        let differ = all.into_iter().filter(|(_, is_same)| !is_same);
        differ.map(|(name, _)| name).collect()
    }

    /// Returns these settings, with those of `old` that apply only after a restart.
    pub(super) fn with_fixed_of(self, old: &Settings) -> Settings {
        Settings {
            queue: old.queue,
            interface: old.interface.clone(),
            is_interface_named: old.is_interface_named,
            flows: old.flows,
            packets: old.packets,
            metrics: old.metrics,
            json: old.json.clone(),
            ..self
        }
    }
}

fn duration(ms: f64) -> Duration {
    Duration::from_micros((ms * 1e3).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_overrides_the_file_and_the_file_the_defaults() {
        let options = Options {
            delay: Some(20.0),
            ..Options::default()
        };
        let file = Options {
            delay: Some(30.0),
            queue: Some(4),
            ..Options::default()
        };
        let settings = Settings::of(&options, &file).unwrap();
        assert_eq!((settings.delay_ms, settings.queue), (20.0, 4));
        assert_eq!(
            (settings.margin, settings.interface.as_str()),
            (128, "wpan0")
        );
        let crossed = Options {
            min_delay: Some(21.0),
            ..Options::default()
        };
        let (code, line) = Settings::of(&options, &crossed).unwrap_err();
        assert_eq!(code, USAGE);
        assert!(line.contains("min_delay (21 ms) is longer"), "{line}");
        let other = Settings::of(&options, &Options::default()).unwrap();
        assert_eq!(settings.fixed_differences(&other), ["queue"]);
    }
}
