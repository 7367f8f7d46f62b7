//! The command line's keys for secured frames.

use std::ffi::OsStr;
use std::fs;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args as ClapArgs, Command};
use redpoll_dissect::Keys;
use redpoll_sim::EUI64_PREFIX;

/// The key of secured frames, and the EUI-64s of short addresses.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct KeyArgs {
    /// Decrypt secured frames with this key: 32 hexadecimal digits, or @FILE for a file with
    /// these digits. @FILE hides the key from other users of this computer
    #[arg(long, value_name = "KEY", value_parser = KeyParser("--key"))]
    key: Option<Key>,

    /// EUI-64 of a short address, such as 0x0002=0272700000000002. For other short addresses, the
    /// EUI-64 of a scenario's node is assumed: 02:72:70:00:00:00 and the short address. May be
    /// repeated
    #[arg(long = "eui64", value_name = "SHORT=EUI64", value_parser = name, requires = "key")]
    names: Vec<(u16, [u8; 8])>,

    /// Decrypt the frames and MLE messages of a Thread network with this network key: 32
    /// hexadecimal digits, or @FILE. The keys of each key sequence are derived from it; short
    /// addresses and 6LoWPAN contexts are learned from MLE messages
    #[arg(long, value_name = "KEY", value_parser = KeyParser("--thread-key"))]
    thread_key: Option<Key>,
}

/// A key whose `Debug` output hides its digits.
#[derive(Clone)]
struct Key([u8; 16]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl KeyArgs {
    /// Returns the keys. A short address that no `--eui64` names gets the EUI-64 of a scenario's
    /// node.
    pub fn keys(&self) -> Keys {
        let key = self.key.as_ref().map(|Key(key)| *key);
        let keys = Keys::new(key, self.names.clone(), EUI64_PREFIX);
        match &self.thread_key {
            Some(Key(network_key)) => keys.with_thread(*network_key),
            None => keys,
        }
    }
}

fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// Parses a key. Unlike clap's own messages, the parser's error does not repeat the argument, which
/// may be a key with one wrong digit.
#[derive(Clone)]
struct KeyParser(&'static str);

impl TypedValueParser for KeyParser {
    type Value = Key;

    fn parse_ref(
        &self,
        command: &Command,
        _: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Key, clap::Error> {
        key(value.to_str().unwrap_or_default()).map_err(|problem| {
            let problem = format!("invalid value for '{} <KEY>': {problem}\n", self.0);
            clap::Error::raw(ErrorKind::ValueValidation, problem).with_cmd(command)
        })
    }
}

fn key(text: &str) -> Result<Key, String> {
    let read = text.strip_prefix('@').map(fs::read_to_string).transpose();
    let read = read.map_err(|error| format!("cannot read the file: {error}"))?;
    let key = digits(read.as_deref().unwrap_or(text).trim()).map(Key);
    key.ok_or_else(|| {
        "allowed: 32 hexadecimal digits, or @FILE for a file with these digits".to_owned()
    })
}

fn name(text: &str) -> Result<(u16, [u8; 8]), String> {
    let parsed = text.split_once('=').and_then(|(short, eui64)| {
        let short = short.trim().trim_start_matches("0x");
        let eui64 = eui64.trim().replace(':', "");
        Some((u16::from_str_radix(short, 16).ok()?, digits(&eui64)?))
    });
    parsed.ok_or_else(|| "allowed: SHORT=EUI64, such as 0x0002=0272700000000002".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_names_are_read_and_others_refused() {
        assert!(key("000102030405060708090a0b0c0d0e0f").is_ok());
        for wrong in [
            "",
            "0001",
            "000102030405060708090a0b0c0d0e0g",
            "@/no/such/file",
        ] {
            let refused = key(wrong).unwrap_err();
            assert!(wrong.is_empty() || !refused.contains(wrong), "{refused}");
        }
        let two = [2, 0x72, 0x70, 0, 0, 0, 0, 2];
        assert_eq!(name("0x0002=0272700000000002"), Ok((2, two)));
        assert_eq!(name("2=02:72:70:00:00:00:00:02"), Ok((2, two)));
        for wrong in [
            "2",
            "2=",
            "x=0272700000000002",
            "2=02727000000002",
            "2=é272700000000002",
        ] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }
}
