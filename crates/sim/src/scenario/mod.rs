//! Scenarios: TOML files that describe a mesh, its conditions and its traffic.
//!
//! `keys` lists the keys once; the check, the messages, the defaults and the reference in
//! `docs/scenario.md` come from that list. Loading has three steps: `tree` reads TOML and applies
//! overrides, `check` compares every key and value with the list, and `build` resolves names and
//! builds the plain data of `model`.

mod build;
mod builtin;
mod check;
mod error;
mod files;
mod keys;
mod layout;
mod model;
mod reference;
mod routing;
mod schema;
mod tree;
mod units;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

pub use builtin::BUILT_IN;
pub use error::ScenarioError;
pub(crate) use model::OracleParams;
pub use model::{
    AppKind, AppSpec, CONNECTIONS_MAX, ClientProtocol, ClientSpec, CocoaReading, CongestionSpec,
    ConsoleLine, EUI64_PREFIX, ImageLeafSpec, ImageProtocol, ImageSourceSpec, Interface, Mss,
    NodeKey, NodeSpec, QuickSpec, Role, Scenario, SensorSpec, SensorTransport, SerialParams,
    SpareParams, TaimParams, Target, TargetHost, TcpParams, TransportSpec, When, global_address,
};
pub use reference::reference;
pub use units::time;

use crate::name::is_name;

/// Largest scenario file in bytes, so that a file given by mistake does not fill the memory.
const MAX_BYTES: u64 = 16 << 20;

impl Scenario {
    /// Loads the scenario at `path` with `overrides` of keys by dotted path. If the file does not
    /// exist, loads the built-in scenario of that name.
    pub fn load(path: &str, overrides: &[(String, String)]) -> Result<Scenario, ScenarioError> {
        let file = Path::new(path);
        let built_in = BUILT_IN.iter().find(|scenario| scenario.name == path);
        match (read(file), built_in) {
            (Ok(text), _) => Scenario::parse(path, &text, overrides),
            (Err(_), Some(built_in)) if !file.is_file() => {
                Scenario::read(path, true, built_in.text, overrides, &[])
            }
            (Err(error), _) => Err(ScenarioError::file(path, unreadable(path, &error))),
        }
    }

    /// Reads `text`, the content of `file`, with `overrides`.
    pub fn parse(
        file: &str,
        text: &str,
        overrides: &[(String, String)],
    ) -> Result<Scenario, ScenarioError> {
        Scenario::read(file, false, text, overrides, &[])
    }

    /// Reads a scenario like [`Scenario::parse`], and allows the names in `given` as congestion
    /// control. The caller passes their implementation to
    /// [`WorldOptions::controllers`](crate::WorldOptions::controllers).
    ///
    /// # Errors
    /// As for [`Scenario::load`].
    pub fn parse_with(
        file: &str,
        text: &str,
        overrides: &[(String, String)],
        given: &[String],
    ) -> Result<Scenario, ScenarioError> {
        let is_ours = |name: &&String| !is_name(name) || keys::CONGESTION.contains(&name.as_str());
        if let Some(name) = given.iter().find(is_ours) {
            let problem = format!(
                "got the congestion control \"{name}\"; allowed: a word of letters, digits, - and \
                 _, except {}",
                keys::CONGESTION.join(", ")
            );
            return Err(ScenarioError::file(file, problem));
        }
        Scenario::read(file, false, text, overrides, given)
    }

    fn read(
        file: &str,
        is_built_in: bool,
        text: &str,
        overrides: &[(String, String)],
        given: &[String],
    ) -> Result<Scenario, ScenarioError> {
        let mut root = tree::parse(file, text)?;
        for (key, value) in overrides {
            tree::set(&mut root, key, value)?;
        }
        let values = check::Values::check(file, is_built_in, &root, given)?;
        let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str());
        let mut scenario = build::build(&values, stem.unwrap_or("scenario"))?;
        let shown = overrides
            .iter()
            .filter(|(key, value)| !is_omitted(key.trim(), value.trim()));
        scenario.set = shown.cloned().collect();
        Ok(scenario)
    }

    /// Removes the apps that do not run under `command` ([`When::Run`], [`When::Up`] or
    /// [`When::Demo`]), and returns their names. [`When::Demo`] also runs the apps of [`When::Up`].
    /// [`When::Run`] also removes apps without a simulated destination that accepts their data.
    pub fn retain_apps_of(&mut self, command: When) -> Vec<String> {
        let whole = self.clone();
        let mut left_out = Vec::new();
        for node in self.places_mut() {
            node.apps.retain(|app| {
                let is_chosen = app.when == When::Always
                    || app.when == command
                    || app.when == When::Up && command == When::Demo;
                let kept = is_chosen && (command != When::Run || whole.is_served(app));
                if !kept {
                    left_out.push(app.name.clone());
                }
                kept
            });
        }
        left_out
    }
}

/// Returns the text of `file`, if its size is allowed.
/// Returns whether reports omit an override: a report has a field for the seed, and a key of
/// security is secret.
fn is_omitted(key: &str, value: &str) -> bool {
    key == "seed" || keys::is_secret(key) && value != "none"
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    let len = File::open(file)?
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)?;
    match len as u64 > MAX_BYTES {
        true => Err(io::Error::other(format!(
            "larger than {} MiB",
            MAX_BYTES >> 20
        ))),
        false => Ok(text),
    }
}

fn unreadable(path: &str, error: &std::io::Error) -> String {
    let names: Vec<&str> = BUILT_IN.iter().map(|scenario| scenario.name).collect();
    let plain = !path.contains(['/', '.']);
    if plain && error.kind() == std::io::ErrorKind::NotFound {
        return check::unknown("scenario", path, &names);
    }
    let hint = format!(
        "allowed: a TOML file, or a built-in scenario: {}",
        names.join(", ")
    );
    format!("cannot be read ({error}); {hint}")
}
