//! Meshes of Redpoll's nodes and nodes of another stack over one medium.
//!
//! `REDPOLL_MODULES` names a folder with modules; `docs/modules.md` lists them and their firmware.
//! A test without its modules is listed as ignored. More variables: `REDPOLL_SEED`, `REDPOLL_SET`
//! with scenario keys, `REDPOLL_PRINT` to see the output of modules, and `REDPOLL_PCAP` with a
//! folder for captures.

#[path = "support/client.rs"]
mod client;

use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use redpoll_base::Instant;
use redpoll_modules::Modules;
use redpoll_sim::{Scenario, World, WorldOptions};

use client::Client;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Ours,
    Theirs,
}
use Place::{Ours, Theirs};

struct Case {
    name: &'static str,
    storing: bool,
    places: &'static [Place],
}

const CASES: [Case; 12] = [
    Case {
        name: "our_root_their_leaf_non_storing",
        storing: false,
        places: &[Ours, Theirs],
    },
    Case {
        name: "their_root_our_leaf_non_storing",
        storing: false,
        places: &[Theirs, Ours],
    },
    Case {
        name: "our_root_their_routers_non_storing",
        storing: false,
        places: &[Ours, Theirs, Theirs, Theirs],
    },
    Case {
        name: "their_root_our_routers_non_storing",
        storing: false,
        places: &[Theirs, Ours, Ours, Ours],
    },
    Case {
        name: "our_root_mixed_non_storing",
        storing: false,
        places: &[Ours, Theirs, Ours, Theirs],
    },
    Case {
        name: "their_root_mixed_non_storing",
        storing: false,
        places: &[Theirs, Ours, Theirs, Ours],
    },
    Case {
        name: "our_root_their_leaf_storing",
        storing: true,
        places: &[Ours, Theirs],
    },
    Case {
        name: "their_root_our_leaf_storing",
        storing: true,
        places: &[Theirs, Ours],
    },
    Case {
        name: "our_root_their_routers_storing",
        storing: true,
        places: &[Ours, Theirs, Theirs, Theirs],
    },
    Case {
        name: "their_root_our_routers_storing",
        storing: true,
        places: &[Theirs, Ours, Ours, Ours],
    },
    Case {
        name: "our_root_mixed_storing",
        storing: true,
        places: &[Ours, Theirs, Ours, Theirs],
    },
    Case {
        name: "their_root_mixed_storing",
        storing: true,
        places: &[Theirs, Ours, Theirs, Ours],
    },
];

/// Keys that Redpoll's nodes need to interoperate with Contiki-NG. Without any one of the keys, a
/// case fails (docs/modules.md).
const KEYS: &str = "packet_option = \"rfc6553\"\nsender_rank = \"rank\"\ndao_targets = 1\n";

/// Time at which Redpoll's nodes begin to send requests, and the duration of a run, in seconds.
const BEGINS_S: u64 = 90;
const RUN_S: u64 = 600;

fn main() -> std::process::ExitCode {
    let folder = std::env::var_os("REDPOLL_MODULES").map(PathBuf::from);
    let trials = CASES.iter().map(|case| {
        let missing = case.files().find(|file| {
            let folder = folder.as_ref();
            !folder.is_some_and(|folder| folder.join(file).is_file())
        });
        if let Some(file) = &missing {
            eprintln!(
                "skipped {}: REDPOLL_MODULES names no folder with {file}",
                case.name
            );
        }
        let (is_missing, folder) = (missing.is_some(), folder.clone().unwrap_or_default());
        Trial::test(case.name, move || case.run(&folder)).with_ignored_flag(is_missing)
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// Returns the scenario keys in `REDPOLL_SET`, which has the form `key=value key=value`.
fn overrides() -> Vec<(String, String)> {
    let text = std::env::var("REDPOLL_SET").unwrap_or_default();
    let pairs = text.split_whitespace().filter_map(|it| it.split_once('='));
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

impl Case {
    fn module(&self, index: usize) -> String {
        let stack = if self.storing { "classic" } else { "lite" };
        let place = if index == 0 { "root" } else { "node" };
        format!("peer-{stack}-{place}.cooja")
    }

    fn files(&self) -> impl Iterator<Item = String> {
        let theirs = self.places.iter().enumerate();
        let theirs = theirs.filter(|(_, place)| **place == Theirs);
        theirs.map(|(index, _)| self.module(index))
    }

    fn scenario(&self, folder: &Path) -> Scenario {
        let mut text = "routing = \"rpl\"\n[mac]\naddresses = \"extended\"\npan_id = 0xabcd\n\
             [border]\nprefix = \"fd00::/64\"\n[medium]\ntransmission_range = \"50 m\"\n\
             [topology]\nkind = \"line\"\nspacing = \"40 m\"\n"
            .to_owned();
        let mode = if self.storing {
            "storing"
        } else {
            "non-storing"
        };
        text += &format!(
            "nodes = {}\n[rpl]\nmode = \"{mode}\"\ndao_ack = {}\n{KEYS}",
            self.places.len(),
            // In storing mode, Contiki's routers do not acknowledge DAOs.
            !self.storing
        );
        for (index, place) in self.places.iter().enumerate() {
            text += &format!("[nodes.node-{}]\n", index + 1);
            if index == 0 {
                text += "role = \"border\"\n";
            }
            if *place == Theirs {
                let module = folder.join(self.module(index));
                text += &format!("kind = \"module\"\nmodule = \"{}\"\n", module.display());
            }
        }
        if self.places[0] == Ours {
            text += "[apps.echo]\ntype = \"echo\"\non = \"node-1\"\nport = 7\n";
        }
        let folder = std::env::current_dir().unwrap_or_default();
        let file = folder.join("case.toml");
        Scenario::parse(&file.display().to_string(), &text, &overrides())
            .unwrap_or_else(|it| panic!("{it}"))
    }

    fn run(&self, folder: &Path) -> Result<(), Failed> {
        let folder = std::path::absolute(folder)?;
        let scenario = self.scenario(&folder);
        let seed = std::env::var("REDPOLL_SEED").map_or(1, |seed| seed.parse().unwrap_or(1));
        let modules = Modules::new(|line| panic!("{line}"));
        let options = WorldOptions {
            seed: Some(seed),
            loader: Some(&|node| modules.load(node)),
            ..WorldOptions::default()
        };
        let mut world = World::with(scenario.clone(), options)?;
        if let Some(path) = std::env::var_os("REDPOLL_PCAP") {
            let path = Path::new(&path).join(format!("{}.pcapng", self.name));
            let notes = redpoll_sim::trace::Notes::default();
            world.add_trace(Box::new(redpoll_sim::trace::PcapngFile::create(
                &path, &notes,
            )?));
        }
        let name = |index: usize| format!("node-{}", index + 1);
        let places = self.places.iter().enumerate();
        // Redpoll's nodes send requests to the root; a Redpoll root to the farthest module.
        let farthest = places.clone().rev().find(|(_, place)| **place == Theirs);
        let farthest = farthest.map_or(0, |(index, _)| index);
        let mut clients: Vec<Client> = Vec::new();
        for (index, _) in places.clone().filter(|(_, place)| **place == Ours) {
            let to = if index == 0 { farthest } else { 0 };
            let to = scenario.address(to).expect("an address");
            clients.push(Client::new(
                &mut world,
                &name(index),
                to,
                index == 0,
                BEGINS_S,
            ));
        }
        let mut printed = Vec::new();
        for turn in 0..RUN_S * 20 {
            world.run_until(Instant::from_millis(turn * 50));
            for client in &mut clients {
                client.turn(&mut world);
            }
            printed.extend(world.take_printed());
        }
        if std::env::var_os("REDPOLL_PRINT").is_some() {
            for line in &printed {
                eprintln!("{:?} {} {}", line.at, name(line.node), line.text);
            }
        }
        let mut problems = world.report().oracle.violations;
        for client in &clients {
            println!("{} {}", self.name, client.told());
            problems.extend(client.problem());
        }
        for (index, _) in places.filter(|(index, place)| **place == Theirs && *index > 0) {
            let own = printed.iter().filter(|line| line.node == index);
            let asked = Asked::of(own.map(|line| line.text.as_str()));
            println!("{} {}: {asked:?}", self.name, name(index));
            if !asked.is_well() {
                problems.push(format!("{}: {asked:?}", name(index)));
            }
        }
        match problems.is_empty() {
            true => Ok(()),
            false => Err(problems.join("; ").into()),
        }
    }
}

/// Results of a module's own requests, from its output.
#[derive(Debug, Default)]
struct Asked {
    datagrams: (usize, usize),
    streams: (usize, usize),
    wrong: usize,
}

impl Asked {
    fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Asked {
        let mut asked = Asked::default();
        for line in lines {
            let numbers = line.split(' ').filter_map(|word| word.parse().ok());
            match (line, &numbers.collect::<Vec<usize>>()[..]) {
                (line, &[sent, back, wrong]) if line.starts_with("udp sent") => {
                    asked.datagrams = (sent, back);
                    asked.wrong += wrong;
                }
                (line, _) if line.starts_with("connect run") => asked.streams.0 += 1,
                (line, &[_, wrong]) if line.starts_with("tcp echoed") => {
                    asked.streams.1 += 1;
                    asked.wrong += wrong;
                }
                _ => {}
            }
        }
        asked
    }

    fn is_well(&self) -> bool {
        let (sent, back) = self.datagrams;
        let (opened, echoed) = self.streams;
        sent >= 40
            && 10 * back >= 9 * sent
            && opened >= 6
            && echoed + 1 >= opened
            && self.wrong == 0
    }
}
