//! Compares the fields that `redpoll dissect` and tshark find in the same file.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv6Addr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;

use crate::report::Failure;
use crate::workspace;

pub type Fields = BTreeMap<String, Vec<String>>;

pub struct Difference {
    pub frame: usize,
    pub field: String,
    pub ours: Vec<String>,
    pub theirs: Vec<String>,
    /// All fields of the frame: first those that Redpoll finds, then those that tshark finds.
    pub both: Arc<[Fields; 2]>,
}

pub struct Found {
    pub frames: usize,
    /// Number of values that are equal in Redpoll and tshark.
    pub values: usize,
    pub differences: Vec<Difference>,
}

/// Contexts of compressed addresses, which Redpoll and tshark get.
const CONTEXTS: [(u8, &str); 4] = [
    (0, "fd72:6564:706f:6c6c::"),
    (1, "fd00:1:2:3::"),
    (2, "2001:db8:a:b::"),
    (3, "2001:db8:ffff:1::"),
];
/// The key index and the PAN of the simulator's nodes.
const KEY_INDEX: u8 = 1;
const PAN: u16 = 0x7270;
/// The EUI-64 of a node is the sum of this number and its short address. Nonces contain the EUI-64.
const EUI64_BASE: u64 = 0x0272_7000_0000_0000;
/// Maximum number of nodes of a scenario with a key.
const NODES_MAX: u16 = 32;
/// Fields of tshark that only conditions in the table of docs/dissect-check.md use.
const MARKS: [&str; 2] = ["_ws.malformed", "_ws.expert.message"];

/// Decodes the capture at `path` with Redpoll and tshark, and compares the fields that tshark has.
/// `key`: the key of a scenario's secured frames.
pub fn file(
    program: &Path,
    path: &Path,
    known: &BTreeSet<String>,
    key: Option<&str>,
) -> Result<Found, Failure> {
    let ours = redpoll(program, path, key)?;
    let names: BTreeSet<String> = ours.iter().flat_map(Fields::keys).cloned().collect();
    let names: Vec<&str> = names.intersection(known).map(String::as_str).collect();
    let theirs = tshark(path, &names, key)?;
    if ours.len() != theirs.len() {
        return Err(Failure::new(format!(
            "{}: redpoll finds {} frames, tshark {}",
            path.display(),
            ours.len(),
            theirs.len()
        )));
    }
    let mut found = Found {
        frames: ours.len(),
        values: 0,
        differences: Vec::new(),
    };
    for (at, (ours, theirs)) in ours.into_iter().zip(theirs).enumerate() {
        let both = Arc::new([ours, theirs]);
        let [ours, theirs] = &*both;
        for name in &names {
            let of = |fields: &Fields| fields.get(*name).cloned().unwrap_or_default();
            let (a, b) = (of(ours), of(theirs));
            if a == b {
                found.values += a.len();
                continue;
            }
            found.differences.push(Difference {
                frame: at + 1,
                field: (*name).to_owned(),
                ours: a,
                theirs: b,
                both: Arc::clone(&both),
            });
        }
    }
    Ok(found)
}

fn redpoll(program: &Path, path: &Path, key: Option<&str>) -> Result<Vec<Fields>, Failure> {
    let mut command = Command::new(program);
    command
        .args(["dissect", "--json", "--fcs", "crc"])
        .arg(path);
    for (cid, prefix) in CONTEXTS {
        command.args(["--context", &format!("{cid}={prefix}/64")]);
    }
    if let Some(key) = key {
        command.args(["--key", key]);
    }
    let text = workspace::output(&mut command)?;
    let frames = text.lines().map(|line| {
        let frame: Value = serde_json::from_str(line)
            .map_err(|e| Failure::new(format!("redpoll dissect --json: {e}: {line}")))?;
        let mut fields = Fields::new();
        let layers = frame["layers"].as_array().cloned().unwrap_or_default();
        for layer in layers.iter().filter_map(Value::as_object) {
            for (name, value) in layer {
                let values = match value {
                    Value::Array(values) => values.clone(),
                    one => vec![one.clone()],
                };
                let values = values.iter().map(|value| match value {
                    Value::String(text) => plain(text),
                    Value::Bool(is_set) => u8::from(*is_set).to_string(),
                    other => other.to_string(),
                });
                fields.entry(name.clone()).or_default().extend(values);
            }
        }
        Ok(fields)
    });
    frames.collect()
}

fn tshark(path: &Path, names: &[&str], key: Option<&str>) -> Result<Vec<Fields>, Failure> {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(path);
    for (cid, prefix) in CONTEXTS {
        command.args(["-o", &format!("6lowpan.context{cid}:{prefix}/64")]);
    }
    for preference in [
        "wpan.fcs_format:ITU-T CRC-16",
        "tcp.check_checksum:TRUE",
        "udp.check_checksum:TRUE",
        "tcp.relative_sequence_numbers:FALSE",
        // Without this option, tshark reassembles payloads of other protocols across segments.
        "tcp.desegment_tcp_streams:FALSE",
    ] {
        command.args(["-o", preference]);
    }
    if let Some(key) = key {
        let key = format!("uat:ieee802154_keys:\"{key}\",\"{KEY_INDEX}\",\"No hash\"");
        command.args(["-o", &key]);
        for node in 1..=NODES_MAX {
            let eui64 = EUI64_BASE + u64::from(node);
            let address = format!("\"{node:04x}\",\"{PAN:04x}\",{eui64:016x}");
            command.args(["-o", &format!("uat:802154_addresses:{address}")]);
        }
    }
    command.args(["-T", "fields", "-E", "separator=/t", "-E", "aggregator=|"]);
    let all: Vec<&str> = names.iter().copied().chain(MARKS).collect();
    for name in &all {
        command.args(["-e", name]);
    }
    let text = workspace::output(&mut command)?;
    let frames = text.lines().map(|line| {
        let mut fields = Fields::new();
        for (name, values) in all.iter().zip(line.split('\t')) {
            if !values.is_empty() {
                let values = values.split('|').map(plain).collect();
                fields.insert((*name).to_owned(), values);
            }
        }
        fields
    });
    Ok(frames.collect())
}

/// Returns the names of all fields of tshark.
pub fn known_fields() -> Result<BTreeSet<String>, Failure> {
    let text = workspace::output(Command::new("tshark").args(["-G", "fields"]))?;
    let name = |line: &str| {
        let mut columns = line.split('\t');
        (columns.next() == Some("F")).then(|| columns.nth(1).map(str::to_owned))?
    };
    Ok(text.lines().filter_map(name).collect())
}

/// Returns a value of Redpoll or of tshark in a form in which equal values have equal text.
fn plain(value: &str) -> String {
    let value = value.trim();
    if value.matches(':').count() < 7
        && let Ok(address) = value.parse::<Ipv6Addr>()
    {
        return address.to_string();
    }
    if value.len() > 23
        && let Ok(address) = value.parse::<Ipv6Addr>()
    {
        return address.to_string();
    }
    let bytes = value.replace(':', "").to_lowercase();
    if let Some(digits) = bytes.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).map_or(bytes.clone(), |number| number.to_string());
    }
    match bytes.as_str() {
        "true" => "1".to_owned(),
        "false" => "0".to_owned(),
        _ => bytes
            .parse::<u64>()
            .map_or(bytes.clone(), |number| number.to_string()),
    }
}
