//! The firmware of another stack that a study's nodes run.

use std::path::{Path, PathBuf};

use redpoll_experiments::{Figure, Guests, Job, Study};
use redpoll_sim::foreign::ForeignSpec;
use redpoll_studies::FINGERPRINT;
use sha2::{Digest as _, Sha256};

use crate::USAGE;
use crate::failure::Failure;

/// A file with firmware.
pub struct Firmware {
    file: PathBuf,
    fingerprint: String,
}

impl Firmware {
    /// Returns the firmware if nodes of `figures` need one: the file `named` by the user, or else
    /// the file that the scenarios name.
    pub fn find(
        study: &Study,
        figures: &[Figure],
        named: Option<&Path>,
    ) -> Result<Option<Firmware>, Failure> {
        let scenarios = figures.iter().flat_map(Figure::cases);
        let needed = scenarios
            .filter_map(|case| {
                case.scenario()
                    .ok()?
                    .nodes
                    .into_iter()
                    .find_map(|it| it.module)
            })
            .next();
        let Some(needed) = needed else {
            return match named {
                None => Ok(None),
                Some(_) => {
                    let name = study.name;
                    let line = format!(
                        "--module: the study {name} runs no firmware; allowed: only with the \
                         study `thread`"
                    );
                    Err((USAGE, line))
                }
            };
        };
        let file = named.map_or(needed, Path::to_owned);
        let bytes = std::fs::read(&file).map_err(|error| {
            let (name, file) = (study.name, file.display());
            let line = format!(
                "the study {name} runs OpenThread as a module, and {file} cannot be read ({error}); \
                 run `make thread` in the repository, or name the module with --module FILE"
            );
            (USAGE, line)
        })?;
        let digest = Sha256::digest(bytes);
        let digest: String = digest
            .iter()
            .take(8)
            .map(|it| format!("{it:02x}"))
            .collect();
        Ok(Some(Firmware {
            file,
            fingerprint: format!("{FINGERPRINT} {digest}"),
        }))
    }

    /// Returns the fingerprint of the program and the firmware.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Makes the jobs load the firmware.
    pub fn load_in(&self, jobs: &mut [Job]) {
        let file = self.file.clone();
        let load = move |spec: &ForeignSpec<'_>| {
            let spec = ForeignSpec {
                module: &file,
                ..*spec
            };
            crate::modules::guest(&spec)
        };
        let guests = Guests::new(load);
        for job in jobs {
            job.case = job.case.clone().with_guests(guests.clone());
        }
    }
}
