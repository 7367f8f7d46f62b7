//! The keys of a network: the key with which this node sends, and other keys that it accepts from
//! neighbours while the network changes its key.

use core::fmt;

use redpoll_wire::ieee802154::KeyIdentifier;

/// Maximum number of keys of a node at the same time: the previous, the current and the next key.
const KEYS_MAX: usize = 3;

/// A key and its identification in frames.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The index; 0 for the key that frames do not identify.
    pub index: u8,
    bytes: [u8; 16],
}

impl Key {
    /// Returns a key with an index, 1 to 255 (key identifier mode 1). Index 0 is the single key
    /// that frames do not identify (mode 0).
    pub const fn new(index: u8, bytes: [u8; 16]) -> Key {
        Key { index, bytes }
    }

    pub(super) const fn bytes(&self) -> &[u8; 16] {
        &self.bytes
    }

    pub(super) const fn identifier(&self) -> KeyIdentifier {
        match self.index {
            0 => KeyIdentifier::Implicit,
            index => KeyIdentifier::Index(index),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", self.index)
    }
}

/// The reason why a key was not added or removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum KeyError {
    /// There are already three keys: the previous, the current and the next one.
    Full,
    /// No key has this index.
    Unknown,
    /// The key is in use.
    InUse,
    /// Another key has this index, and frames name only the index: remove that key first, or use
    /// another index.
    Taken,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyError::Full => "the table of keys is full",
            KeyError::Unknown => "no key has this index",
            KeyError::InUse => "the key is in use and cannot be removed",
            KeyError::Taken => {
                "another key has this index; remove that key first, or use another \
                index"
            }
        })
    }
}

impl core::error::Error for KeyError {}

#[derive(Clone, Debug)]
pub(super) struct Keys {
    /// The accepted keys, including the key in use.
    keys: [Option<Key>; KEYS_MAX],
    in_use: Key,
}

impl Keys {
    pub(super) fn new(key: Key) -> Keys {
        let mut keys = [None; KEYS_MAX];
        if let Some(first) = keys.first_mut() {
            *first = Some(key);
        }
        Keys { keys, in_use: key }
    }

    pub(super) const fn in_use(&self) -> &Key {
        &self.in_use
    }

    pub(super) fn find(&self, identifier: KeyIdentifier) -> Option<&Key> {
        let mut keys = self.keys.iter().flatten();
        keys.find(|key| key.identifier() == identifier)
    }

    fn by_index(&self, index: u8) -> Option<&Key> {
        self.keys.iter().flatten().find(|key| key.index == index)
    }

    pub(super) fn add(&mut self, key: Key) -> Result<(), KeyError> {
        match self.by_index(key.index) {
            Some(old) if *old == key => return Ok(()),
            Some(_) => return Err(KeyError::Taken),
            None => {}
        }
        let free = self.keys.iter_mut().find(|place| place.is_none());
        *free.ok_or(KeyError::Full)? = Some(key);
        Ok(())
    }

    pub(super) fn switch_to(&mut self, index: u8) -> Result<(), KeyError> {
        self.in_use = *self.by_index(index).ok_or(KeyError::Unknown)?;
        Ok(())
    }

    pub(super) fn remove(&mut self, index: u8) -> Result<(), KeyError> {
        if self.in_use.index == index {
            return Err(KeyError::InUse);
        }
        let mut places = self.keys.iter_mut();
        let place = places.find(|place| place.is_some_and(|key| key.index == index));
        *place.ok_or(KeyError::Unknown)? = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_added_and_removed_beside_the_one_in_use() {
        let mut keys = Keys::new(Key::new(1, [1; 16]));
        assert_eq!(keys.add(Key::new(1, [1; 16])), Ok(()));
        assert_eq!(keys.add(Key::new(1, [9; 16])), Err(KeyError::Taken));
        assert_eq!(keys.add(Key::new(2, [2; 16])), Ok(()));
        assert_eq!(keys.add(Key::new(0, [3; 16])), Ok(()));
        assert_eq!(keys.add(Key::new(4, [4; 16])), Err(KeyError::Full));
        assert_eq!(keys.in_use().identifier(), KeyIdentifier::Index(1));
        assert_eq!(keys.switch_to(4), Err(KeyError::Unknown));
        assert_eq!(keys.switch_to(0), Ok(()));
        assert_eq!(keys.in_use().identifier(), KeyIdentifier::Implicit);
        assert_eq!(keys.remove(0), Err(KeyError::InUse));
        assert_eq!(keys.remove(1), Ok(()));
        assert_eq!(keys.find(KeyIdentifier::Index(1)), None);
        assert_eq!(keys.find(KeyIdentifier::Source4([0; 4], 2)), None);
        assert!(keys.find(KeyIdentifier::Index(2)).is_some());
    }

    #[test]
    fn the_debug_output_of_keys_omits_the_key() {
        let text = std::format!("{:?}", Keys::new(Key::new(7, [0xab; 16])));
        assert!(text.contains("Key(7)"), "{text}");
        assert!(!text.contains("171") && !text.contains("ab"), "{text}");
    }
}
