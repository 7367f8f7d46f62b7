//! Requests of the page, and the present run.

use std::time::Duration;

use redpoll_sim::live::Command;
use redpoll_sim::{BUILT_IN, Scenario};
use redpoll_web::message::{Answer, ClockAsk, FromServer};
use serde::Deserialize;

use crate::run::Run;

/// Length of the longest scenario, in bytes.
const TEXT_MAX: usize = 1 << 20;

#[derive(Deserialize)]
struct Request {
    /// Number of the request, which the answer repeats.
    id: u32,
    ask: Ask,
}

/// A request of [`redpoll_web::message::Ask`], or one that only this engine knows.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ask {
    /// The built-in scenarios: pairs of a name and a text.
    BuiltIn,
    Open(Open),
    /// The digest of the run so far, as a number in text.
    Digest,
    /// The result of the run so far, as an object in text.
    Report,
    Layers(Vec<String>),
    Clock(ClockAsk),
    Mesh(Command),
}

/// A scenario to run.
#[derive(Deserialize)]
struct Open {
    /// Name of a built-in scenario, or the name of `text` in messages.
    name: String,
    text: Option<String>,
    /// Overrides of keys.
    #[serde(default)]
    set: Vec<(String, String)>,
    #[serde(default)]
    paused: bool,
}

/// Carries out the requests of a page, and contains the present run.
#[derive(Default)]
pub struct Engine {
    run: Option<Run>,
    lines: Vec<String>,
}

impl Engine {
    /// Carries out a request, and answers it in [`lines`](Self::lines).
    pub fn handle(&mut self, request: &str) {
        let (id, done) = match serde_json::from_str::<Request>(request) {
            Ok(Request { id, ask }) => (id, self.carry_out(ask)),
            Err(error) => (0, Err(format!("invalid message: {error}"))),
        };
        let ok = done.is_ok();
        let text = done.unwrap_or_else(|why| why);
        // The changes of a request precede its answer.
        self.collect();
        let answer = FromServer::Answer(Answer { id, ok, text });
        self.lines.push(answer.to_string());
    }

    /// Advances the run for a few milliseconds of `clock`. Returns the time after which another
    /// call is useful; `None` if only a request changes anything.
    pub fn turn(&mut self, clock: impl Fn() -> Duration) -> Option<Duration> {
        let wait = self.run.as_mut()?.turn(clock);
        self.collect();
        wait
    }

    /// Returns the messages for the page since the last call.
    pub fn lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    fn collect(&mut self) {
        if let Some(run) = &mut self.run {
            self.lines.append(&mut run.take_lines());
        }
    }

    fn carry_out(&mut self, ask: Ask) -> Result<String, String> {
        match ask {
            Ask::BuiltIn => {
                let all: Vec<_> = BUILT_IN.iter().map(|it| (it.name, it.text)).collect();
                serde_json::to_string(&all).map_err(|error| error.to_string())
            }
            Ask::Open(open) => {
                let run = Run::begin(scenario(&open)?, open.paused)?;
                self.run = Some(run);
                Ok(String::new())
            }
            Ask::Digest => Ok(self.run()?.digest().to_string()),
            Ask::Report => self.run()?.report(),
            Ask::Layers(frames) => {
                let layers = self.run()?.layers(&frames);
                layers.ok_or_else(|| {
                    "allowed: one or two radio frames in hexadecimal, of at most 127 bytes each"
                        .to_owned()
                })
            }
            Ask::Clock(ask) => self.run()?.set_clock(ask),
            Ask::Mesh(command) => self.run()?.command(&command),
        }
    }

    fn run(&mut self) -> Result<&mut Run, String> {
        let run = self.run.as_mut();
        run.ok_or_else(|| "no scenario is open; open one first".to_owned())
    }
}

fn scenario(open: &Open) -> Result<Scenario, String> {
    let scenario = match &open.text {
        Some(text) if text.len() > TEXT_MAX => {
            return Err(format!(
                "{}: {} bytes; allowed: at most {TEXT_MAX} bytes",
                open.name,
                text.len()
            ));
        }
        Some(text) => Scenario::parse(&open.name, text, &open.set),
        None => Scenario::load(&open.name, &open.set),
    };
    scenario.map_err(|error| error.to_string())
}
