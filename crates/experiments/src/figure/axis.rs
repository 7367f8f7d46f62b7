//! The place of a row in its figure, and the quantity that it states.

use std::fmt;

use serde::Serialize;

/// A position on the x axis.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum X {
    Number(f64),
    Name(&'static str),
    /// No position: the row concerns the whole figure.
    None,
}

/// The place of a row in its figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct At<S, P> {
    pub series: S,
    /// Position on the x axis.
    pub x: P,
}

impl<S, P> At<S, P> {
    pub fn new(series: S, x: P) -> At<S, P> {
        At { series, x }
    }
}

impl fmt::Display for X {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            X::Number(x) => f.pad(&x.to_string()),
            X::Name(x) => f.pad(x),
            X::None => f.pad(""),
        }
    }
}

impl From<f64> for X {
    fn from(x: f64) -> X {
        X::Number(x)
    }
}

impl From<u32> for X {
    fn from(x: u32) -> X {
        X::Number(x.into())
    }
}

impl From<&'static str> for X {
    fn from(x: &'static str) -> X {
        X::Name(x)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Metric {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
}

impl Metric {
    /// Returns a quantity with its unit, which is empty for pure numbers. Panics if the name is
    /// empty, or begins or ends with a blank. In a constant, the panic is a compiler error.
    pub const fn new(name: &'static str, unit: &'static str) -> Metric {
        let bytes = name.as_bytes();
        assert!(!bytes.is_empty(), "the name of a metric must not be empty");
        assert!(
            bytes[0] != b' ' && bytes[bytes.len() - 1] != b' ',
            "the name of a metric must not begin or end with a blank"
        );
        Metric { name, unit }
    }
}
