//! The URL by which a user names a radio, as in OpenThread's programs.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::str::FromStr;

use super::line::LineSpec;
use crate::privilege::Account;

/// Default bit rate of a serial port.
const BAUD: u32 = 115_200;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RadioSpec {
    /// `spinel+hdlc+uart:///dev/ttyACM0?uart-baudrate=460800` or
    /// `spinel+hdlc+forkpty:///path/to/ot-rcp?forkpty-arg=1`.
    Spinel(LineSpec),
    /// `zep://HOST:PORT?listen=ADDRESS:PORT`.
    Zep {
        remote: SocketAddr,
        listen: SocketAddr,
    },
}

impl RadioSpec {
    /// Makes the radio's program, if the radio is a program, start as this user.
    pub fn set_account(&mut self, user: &Account) {
        if let RadioSpec::Spinel(LineSpec::Process { account, .. }) = self {
            *account = Some(user.clone());
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoRadio(String);

impl fmt::Display for NoRadio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}; allowed: spinel+hdlc+uart:///dev/ttyACM0, spinel+hdlc+forkpty:///path/to/ot-rcp?forkpty-arg=1, zep://HOST:PORT",
            self.0
        )
    }
}

impl std::error::Error for NoRadio {}

impl FromStr for RadioSpec {
    type Err = NoRadio;

    fn from_str(text: &str) -> Result<Self, NoRadio> {
        let wrong = |what: String| Err(NoRadio(what));
        let Some((scheme, rest)) = text.split_once("://") else {
            return wrong(format!("got {text}"));
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let options = query.split('&').filter(|option| !option.is_empty());
        let is_path = place.len() > 1 && place.starts_with('/');
        match scheme {
            "spinel+hdlc+uart" if is_path => {
                let mut baud = BAUD;
                for option in options {
                    match option.split_once('=') {
                        Some(("uart-baudrate", rate)) => match rate.parse() {
                            Ok(rate) if LineSpec::has_rate(rate) => baud = rate,
                            _ => {
                                return wrong(format!(
                                    "got uart-baudrate={rate}, which is not supported; rates \
                                     such as 115200, 230400 and 460800 are supported"
                                ));
                            }
                        },
                        _ => {
                            return wrong(format!(
                                "got the unknown option {option}; the only option of this radio \
                                 is uart-baudrate=RATE"
                            ));
                        }
                    }
                }
                let path = PathBuf::from(place);
                Ok(RadioSpec::Spinel(LineSpec::Uart { path, baud }))
            }
            "spinel+hdlc+forkpty" if is_path => {
                let argument = |option: &str| {
                    let value = option.strip_prefix("forkpty-arg=");
                    value.unwrap_or(option).to_owned()
                };
                Ok(RadioSpec::Spinel(LineSpec::Process {
                    program: PathBuf::from(place),
                    arguments: options.map(argument).collect(),
                    account: None,
                }))
            }
            "zep" => {
                let address = |text: &str| {
                    let found = text.to_socket_addrs().ok();
                    let found = found.and_then(|mut all| all.next());
                    found.ok_or_else(|| NoRadio(format!("{text} is not an address with a port")))
                };
                let remote = address(place)?;
                let any = if remote.is_ipv6() {
                    "[::]:0"
                } else {
                    "0.0.0.0:0"
                };
                let mut listen = address(any)?;
                for option in options {
                    match option.split_once('=') {
                        Some(("listen", text)) => listen = address(text)?,
                        _ => {
                            return wrong(format!(
                                "got the unknown option {option}; the only option of this radio \
                                 is listen=ADDRESS:PORT"
                            ));
                        }
                    }
                }
                Ok(RadioSpec::Zep { remote, listen })
            }
            _ => wrong(format!("got {text}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radios_are_named_as_openthread_does() {
        let uart = |path: &str, baud| {
            let path = PathBuf::from(path);
            Ok(RadioSpec::Spinel(LineSpec::Uart { path, baud }))
        };
        let parse = |text: &str| text.parse::<RadioSpec>();
        assert_eq!(
            parse("spinel+hdlc+uart:///dev/ttyACM0"),
            uart("/dev/ttyACM0", 115_200)
        );
        assert_eq!(
            parse("spinel+hdlc+uart:///dev/ttyUSB0?uart-baudrate=460800"),
            uart("/dev/ttyUSB0", 460_800)
        );
        assert_eq!(
            parse("spinel+hdlc+forkpty:///opt/ot-rcp?forkpty-arg=1&2"),
            Ok(RadioSpec::Spinel(LineSpec::Process {
                program: PathBuf::from("/opt/ot-rcp"),
                arguments: vec!["1".to_owned(), "2".to_owned()],
                account: None,
            }))
        );
        assert_eq!(
            parse("zep://[::1]:17754?listen=[::1]:17755"),
            Ok(RadioSpec::Zep {
                remote: "[::1]:17754".parse().unwrap(),
                listen: "[::1]:17755".parse().unwrap(),
            })
        );
        for bad in [
            "",
            "/dev/ttyACM0",
            "spinel+spi:///dev/spidev0",
            "spinel+hdlc+uart://",
            "spinel+hdlc+uart:///dev/x?uart-baudrate=7",
            "spinel+hdlc+uart:///dev/x?parity=odd",
            "zep://nowhere",
        ] {
            let error = parse(bad).unwrap_err().to_string();
            assert!(error.contains("allowed: spinel+hdlc+uart"), "{error}");
        }
    }
}
