//! Layers of a decoded frame, and their fields. Fields have Wireshark's names, so that Wireshark's
//! display filters and documentation apply. Names of other fields begin with `redpoll.`.

use std::fmt::Write as _;

use redpoll_base::Addr;
use redpoll_wire::ieee802154::Address;
use serde_json::{Map, Value as Json};

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Flag(bool),
    Number(u64),
    /// An integer that may be negative.
    Signed(i64),
    /// An integer in hexadecimal, and its minimum number of digits.
    Hex(u64, usize),
    Addr(Addr),
    Link(Address),
    Bytes(Vec<u8>),
    Text(String),
}

impl Value {
    /// Returns the value as text: numbers in decimal, bits as 0 and 1, bytes in hexadecimal.
    pub fn text(&self) -> String {
        match self {
            Value::Flag(is_set) => u8::from(*is_set).to_string(),
            Value::Number(number) => number.to_string(),
            Value::Signed(number) => number.to_string(),
            Value::Hex(number, digits) => format!("0x{number:0digits$x}"),
            Value::Addr(addr) => addr.to_string(),
            Value::Link(address) => address.to_string(),
            Value::Bytes(bytes) => hex(bytes),
            Value::Text(text) => text.clone(),
        }
    }

    fn json(&self) -> Json {
        match self {
            Value::Flag(is_set) => Json::from(*is_set),
            Value::Number(number) => Json::from(*number),
            Value::Signed(number) => Json::from(*number),
            other => Json::from(other.text()),
        }
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: &'static str,
    pub value: Value,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    pub name: &'static str,
    pub title: String,
    pub fields: Vec<Field>,
}

impl Layer {
    pub fn new(name: &'static str) -> Layer {
        Layer {
            name,
            ..Layer::default()
        }
    }

    pub fn add(&mut self, name: &'static str, value: Value) {
        self.fields.push(Field { name, value });
    }

    pub fn flag(&mut self, name: &'static str, is_set: bool) {
        self.add(name, Value::Flag(is_set));
    }

    pub fn number(&mut self, name: &'static str, number: impl Into<u64>) {
        self.add(name, Value::Number(number.into()));
    }

    pub fn hex(&mut self, name: &'static str, number: impl Into<u64>, digits: usize) {
        self.add(name, Value::Hex(number.into(), digits));
    }

    pub fn addr(&mut self, name: &'static str, addr: Addr) {
        self.add(name, Value::Addr(addr));
    }

    pub fn bytes(&mut self, name: &'static str, bytes: &[u8]) {
        self.add(name, Value::Bytes(bytes.to_vec()));
    }

    pub fn text(&mut self, name: &'static str, text: impl Into<String>) {
        self.add(name, Value::Text(text.into()));
    }

    pub fn say(&mut self, words: impl AsRef<str>) {
        let words = words.as_ref();
        if !self.title.is_empty() && !words.is_empty() {
            self.title.push(' ');
        }
        self.title.push_str(words);
    }

    pub fn get(&self, name: &str) -> Option<&Value> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        Some(&field.value)
    }

    /// Returns the layer as a JSON object; a field that occurs several times is an array.
    pub fn json(&self) -> Json {
        let mut object = Map::new();
        object.insert("protocol".to_owned(), Json::from(self.name));
        for field in &self.fields {
            let value = field.value.json();
            match object.get_mut(field.name) {
                None => {
                    object.insert(field.name.to_owned(), value);
                }
                Some(Json::Array(values)) => values.push(value),
                Some(one) => *one = Json::Array(vec![one.take(), value]),
            }
        }
        Json::Object(object)
    }
}

/// Reads fields from the front of a byte slice. Integers are big-endian, except in `u16_le`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.first_chunk().copied()
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u16_le(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn addr(&mut self) -> Option<Addr> {
        self.array().map(Addr)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}
