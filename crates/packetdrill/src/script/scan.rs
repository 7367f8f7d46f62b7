//! A cursor over one line of a script.

/// The rest of a line. Every method skips blanks before its token.
#[derive(Clone)]
pub(super) struct Scan<'a> {
    rest: &'a str,
}

pub(super) type Unreadable = String;

impl<'a> Scan<'a> {
    pub(super) fn new(line: &'a str) -> Self {
        Scan { rest: line.trim() }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let mut ahead = self.clone();
        let found = ahead.word() == Some(word);
        if found {
            *self = ahead;
        }
        found
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<(), Unreadable> {
        if self.eat(text) {
            return Ok(());
        }
        Err(format!("`{text}` is missing before `{}`", self.rest))
    }

    pub(super) fn end(&self) -> Result<(), Unreadable> {
        if self.is_at_end() {
            return Ok(());
        }
        Err(format!("unexpected `{}`", self.rest))
    }

    /// Reads all leading characters that satisfy `fits`; `None` if the first one does not.
    pub(super) fn take(&mut self, fits: impl Fn(char) -> bool) -> Option<&'a str> {
        let len = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(len);
        self.rest = rest.trim_start();
        (!taken.is_empty()).then_some(taken)
    }

    pub(super) fn word(&mut self) -> Option<&'a str> {
        self.take(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    pub(super) fn number<T: TryFrom<i64>>(&mut self) -> Result<T, Unreadable> {
        let before = self.rest;
        let negative = self.eat("-");
        let value = self.word().and_then(|word| match word.strip_prefix("0x") {
            Some(hex) => i64::from_str_radix(hex, 16).ok(),
            None => word.parse().ok(),
        });
        value
            .map(|value| if negative { -value } else { value })
            .and_then(|value| T::try_from(value).ok())
            .ok_or_else(|| format!("a number is missing or out of range at `{before}`"))
    }

    pub(super) fn seconds(&mut self) -> Result<u64, Unreadable> {
        let bad = format!("a time is missing at `{}`", self.rest);
        let whole = self.digits().unwrap_or("");
        let mut fraction = "";
        // The first dot of `...` is not a decimal point.
        if !self.rest.starts_with("..") && self.rest.starts_with('.') {
            self.rest = &self.rest[1..];
            fraction = self.digits().unwrap_or("");
        }
        self.rest = self.rest.trim_start();
        if whole.is_empty() && fraction.is_empty() || fraction.len() > 6 {
            return Err(bad);
        }
        let padded = format!("{whole}{fraction:0<6}");
        padded.parse().map_err(|_| bad)
    }

    /// Reads digits without skipping blanks after them.
    fn digits(&mut self) -> Option<&'a str> {
        let len = self
            .rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(len);
        self.rest = rest;
        (!digits.is_empty()).then_some(digits)
    }

    pub(super) fn remainder(&mut self) -> &'a str {
        std::mem::take(&mut self.rest)
    }
}
