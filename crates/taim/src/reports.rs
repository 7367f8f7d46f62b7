//! The file of `--json`, which stays open while its file system is full.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use redpoll_program::output::{explained, is_closed_pipe, is_standard};
use tracing::{info, warn};

/// A file of lines. A line that cannot be written is lost; the program continues without it.
pub(super) struct Reports {
    out: Box<dyn Write>,
    name: String,
    lost: u64,
}

impl Reports {
    /// Creates the file; - is standard output.
    pub(super) fn create(path: &Path) -> io::Result<Reports> {
        if is_standard(path) {
            return Ok(Reports::to(Box::new(io::stdout()), "standard output"));
        }
        let file = File::create(path)?;
        Ok(Reports::to(Box::new(file), &path.display().to_string()))
    }

    fn to(out: Box<dyn Write>, name: &str) -> Reports {
        Reports {
            out,
            name: name.to_owned(),
            lost: 0,
        }
    }

    /// Writes a line. Logs the first of consecutive failures, and the first success after them.
    /// Returns whether more lines can follow: a closed pipe takes none.
    pub(super) fn write(&mut self, line: &str) -> bool {
        // A failure may have left a part of a line, which a line feed ends.
        let end = if self.lost > 0 { "\n" } else { "" };
        let bytes = format!("{end}{line}\n");
        let written = self.out.write_all(bytes.as_bytes());
        match written.and_then(|()| self.out.flush()) {
            Ok(()) => {
                if self.lost > 0 {
                    let name = &self.name;
                    info!(lost = self.lost, "{name}: reports can be written again");
                }
                self.lost = 0;
                true
            }
            Err(error) if is_closed_pipe(&error) => false,
            Err(error) => {
                if self.lost == 0 {
                    let text = explained(format!("cannot write {}: {error}", self.name));
                    warn!("{text}; reports are lost while the file cannot be written");
                }
                self.lost += 1;
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    /// A file system with space for this number of bytes.
    struct Disk {
        free: Rc<RefCell<usize>>,
        content: Rc<RefCell<Vec<u8>>>,
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let free = &mut *self.free.borrow_mut();
            let len = bytes.len().min(*free);
            if len == 0 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            *free -= len;
            self.content.borrow_mut().extend(&bytes[..len]);
            Ok(len)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_loses_lines_and_tears_at_most_one() {
        let (free, content) = (Rc::new(RefCell::new(6)), Rc::default());
        let disk = Disk {
            free: Rc::clone(&free),
            content: Rc::clone(&content),
        };
        let mut reports = Reports::to(Box::new(disk), "the disk");
        for line in ["one", "two", "three"] {
            assert!(reports.write(line), "{line}");
        }
        *free.borrow_mut() = 100;
        assert!(reports.write("four") && reports.write("five"));
        let content = String::from_utf8(content.take()).unwrap();
        assert_eq!(content, "one\ntw\nfour\nfive\n");
    }

    /// A file whose write number `fails_at` reports `kind` after it has written `part` bytes.
    struct Failing {
        fails_at: usize,
        kind: io::ErrorKind,
        part: usize,
        calls: usize,
        content: Rc<RefCell<Vec<u8>>>,
        pending: Option<io::ErrorKind>,
    }

    impl Write for Failing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(kind) = self.pending.take() {
                return Err(kind.into());
            }
            let call = self.calls;
            self.calls += 1;
            let mut len = bytes.len();
            if call == self.fails_at {
                // The operating system first returns a short count, and then the error.
                len = len.min(self.part);
                if len == 0 {
                    return Err(self.kind.into());
                }
                self.pending = Some(self.kind);
            }
            self.content.borrow_mut().extend(&bytes[..len]);
            Ok(len)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Lets each write fail in turn: only the line of that write is lost or torn, an interruption
    /// loses none, and a closed pipe ends the reports.
    #[test]
    fn a_failing_write_costs_its_line_only() {
        use io::ErrorKind::{
            BrokenPipe, Interrupted, Other, QuotaExceeded, StorageFull, WouldBlock,
        };
        let lines = [
            "{\"one\":1}",
            "{\"two\":2}",
            "{\"three\":3}",
            "{\"four\":4}",
        ];
        for kind in [
            StorageFull,
            Other,
            QuotaExceeded,
            WouldBlock,
            Interrupted,
            BrokenPipe,
        ] {
            for (fails_at, part) in (0..4).flat_map(|at| [(at, 0), (at, 1), (at, 5)]) {
                let content: Rc<RefCell<Vec<u8>>> = Rc::default();
                let failing = Failing {
                    fails_at,
                    kind,
                    part,
                    calls: 0,
                    content: Rc::clone(&content),
                    pending: None,
                };
                let mut reports = Reports::to(Box::new(failing), "the disk");
                // The caller ends the reports if the pipe is closed.
                let went_on = lines.iter().take_while(|line| reports.write(line)).count();
                let text = String::from_utf8(content.take()).unwrap();
                let whole = text.lines().filter(|it| lines.contains(it)).count();
                let what = format!("{kind:?}, write {fails_at}, {part} bytes: {text:?}");
                let lost = usize::from(kind != Interrupted);
                let expected = match kind {
                    BrokenPipe => (fails_at, fails_at),
                    _ => (lines.len(), lines.len() - lost),
                };
                assert_eq!((went_on, whole), expected, "{what}");
                // At most one other line remains: the beginning of the lost one.
                let torn = text
                    .lines()
                    .filter(|it| !it.is_empty() && !lines.contains(it));
                assert!(torn.count() <= lost, "{what}");
            }
        }
    }
}
