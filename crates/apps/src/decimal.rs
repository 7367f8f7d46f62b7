//! Numbers as text, without a heap.

/// Maximum length of a 32-bit number in decimal, with its sign.
const LEN: usize = 11;

/// A number in decimal digits.
///
/// ```
/// use redpoll_apps::decimal::Decimal;
///
/// assert_eq!(Decimal::of(-273).as_str(), "-273");
/// assert_eq!(Decimal::of(0).as_str(), "0");
/// assert_eq!(Decimal::of(i32::MIN).as_str(), "-2147483648");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    /// The text, at the end of the array.
    bytes: [u8; LEN],
    begin: usize,
}

impl Decimal {
    /// Writes a number.
    pub fn of(number: i32) -> Decimal {
        let mut decimal = Decimal {
            bytes: [0; LEN],
            begin: LEN,
        };
        let mut rest = number.unsigned_abs();
        loop {
            decimal.push(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            decimal.push(b'-');
        }
        decimal
    }

    /// Writes a digit before the existing ones.
    fn push(&mut self, byte: u8) {
        self.begin -= 1;
        self.bytes[self.begin] = byte;
    }

    /// Returns the digits, with the sign of a negative number.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[self.begin..]).unwrap_or_default()
    }
}

impl AsRef<[u8]> for Decimal {
    fn as_ref(&self) -> &[u8] {
        self.as_str().as_bytes()
    }
}
