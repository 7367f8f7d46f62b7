//! Lines to a radio co-processor: a serial port, or a process on a pseudo-terminal.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::openpty;
use nix::sys::termios::{self, BaudRate, ControlFlags, SetArg};

use crate::child;
use crate::privilege::Account;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LineSpec {
    /// A serial port, or another terminal.
    Uart { path: PathBuf, baud: u32 },
    /// A program on a separate pseudo-terminal.
    Process {
        program: PathBuf,
        arguments: Vec<String>,
        /// The user as which the program runs; `None` for the user of this process.
        account: Option<Account>,
    },
}

const RATES: [(u32, BaudRate); 7] = [
    (9_600, BaudRate::B9600),
    (57_600, BaudRate::B57600),
    (115_200, BaudRate::B115200),
    (230_400, BaudRate::B230400),
    (460_800, BaudRate::B460800),
    (921_600, BaudRate::B921600),
    (1_000_000, BaudRate::B1000000),
];

impl LineSpec {
    pub fn has_rate(baud: u32) -> bool {
        RATES.iter().any(|(rate, _)| *rate == baud)
    }
}

/// An open line, which never blocks.
#[derive(Debug)]
pub struct Line {
    file: File,
    child: Option<Child>,
}

impl Line {
    pub fn open(spec: &LineSpec) -> io::Result<Line> {
        match spec {
            LineSpec::Uart { path, baud } => {
                let flags = OFlag::O_NOCTTY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
                let file = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .custom_flags(flags.bits())
                    .open(path)?;
                make_raw(file.as_fd(), Some(*baud))?;
                Ok(Line { file, child: None })
            }
            LineSpec::Process {
                program,
                arguments,
                account,
            } => {
                let pty = openpty(None, None)?;
                make_raw(pty.slave.as_fd(), None)?;
                let flags = OFlag::from_bits_truncate(fcntl(&pty.master, FcntlArg::F_GETFL)?);
                fcntl(&pty.master, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
                let mut command = Command::new(program);
                command
                    .args(arguments)
                    .stdin(Stdio::from(pty.slave.try_clone()?))
                    .stdout(Stdio::from(pty.slave))
                    .stderr(Stdio::null());
                if let Some(account) = account {
                    account.start_as(&mut command);
                }
                child::kill_with_us(&mut command);
                let child = command.spawn()?;
                Ok(Line {
                    file: File::from(pty.master),
                    child: Some(child),
                })
            }
        }
    }

    /// Reads the received bytes; returns 0 if there are none. Fails if the line no longer exists.
    pub fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.file.read(out) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) if is_for_later(&error) => Ok(0),
            other => other,
        }
    }

    /// Writes the bytes that the line accepts now; returns 0 if it accepts none. Fails if the line
    /// no longer exists.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.file.write(bytes) {
            Err(error) if is_for_later(&error) => Ok(0),
            other => other,
        }
    }
}

impl AsFd for Line {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // Ignore an error, because the program may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Sets the line to pass bytes unchanged, and a serial port to the rate `baud`.
fn make_raw(line: BorrowedFd<'_>, baud: Option<u32>) -> io::Result<()> {
    let mut settings = termios::tcgetattr(line)?;
    termios::cfmakeraw(&mut settings);
    settings.control_flags |= ControlFlags::CREAD | ControlFlags::CLOCAL;
    let rate = RATES.iter().find(|(rate, _)| Some(*rate) == baud);
    if let Some((_, rate)) = rate {
        termios::cfsetspeed(&mut settings, *rate)?;
    }
    termios::tcsetattr(line, SetArg::TCSANOW, &settings)?;
    Ok(())
}
