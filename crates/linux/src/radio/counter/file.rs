//! A file with a frame counter, safe against power failures, full disks and a second process.
//!
//! The file has two records in separate blocks. They are written alternately: while one is written,
//! the other one is intact. The blocks are allocated when the file is opened, so on most file
//! systems a disk that fills up later has no effect. The file is never replaced, so its descriptor
//! and its lock stay valid after this process has given up its rights.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileExt, MetadataExt as _};
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// Bytes between the starts of the two records: a page, so that a write never changes both.
const BLOCK: u64 = 4_096;
/// Length of a record in bytes, padded with blanks to a sector.
const RECORD: usize = 512;
/// First words of a record.
const TITLE: &str = "frame counter";

/// Why a file cannot hold a frame counter.
#[derive(Debug, thiserror::Error)]
pub enum CounterFileError {
    #[error(
        "another process uses it, and two processes that use the same counter expose the data that they encrypt; allowed: one process and one file for each security key"
    )]
    InUse,
    /// The content is neither records nor a single number.
    #[error(
        "it contains no frame counter; allowed: a file that this program wrote, a file with one \
         number, or a new file; a new file starts at 0 and is only for a key that was never used"
    )]
    Unreadable,
    /// The path names a folder, a device or a pipe.
    #[error("it is not a regular file")]
    NotAFile,
    #[error(transparent)]
    System(#[from] io::Error),
}

/// An open file. Tests implement this trait to make each call fail.
pub trait Storage {
    /// Returns the number of names (hard links) that the file has.
    fn names(&self) -> io::Result<u64>;
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Waits until the content is on the disk.
    fn sync(&self) -> io::Result<()>;
}

impl Storage for Flock<File> {
    fn names(&self) -> io::Result<u64> {
        Ok(self.metadata()?.nlink())
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(&**self, bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }
}

#[derive(Debug)]
pub struct CounterFile<F: Storage = Flock<File>> {
    file: F,
    /// Index of the record that is written next, 0 or 1: the one that was not written last.
    next: u64,
}

impl CounterFile {
    /// Opens or creates the file and locks it. Returns it with the counter that was stored last, 0
    /// in a new file. Writes the counter, so that a write error occurs here and not later.
    pub fn open(path: &Path) -> Result<(CounterFile, u32), CounterFileError> {
        let (file, is_new) = open_or_create(path)?;
        if !file.metadata()?.is_file() {
            return Err(CounterFileError::NotAFile);
        }
        let file =
            Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(
                |(_, errno)| match errno {
                    Errno::EWOULDBLOCK => CounterFileError::InUse,
                    other => CounterFileError::System(other.into()),
                },
            )?;
        let (stored, last) = if is_new {
            (0, 0)
        } else {
            read(&file)?.ok_or(CounterFileError::Unreadable)?
        };
        let mut this = CounterFile {
            file,
            next: 1 - last,
        };
        // Both records are written, so that both blocks exist from now on.
        this.write(stored)?;
        this.write(stored)?;
        // The folder contains the name of a new file, so the folder is synchronised, too.
        let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok((this, stored))
    }
}

impl<F: Storage> CounterFile<F> {
    /// Writes the counter and waits until it is on the disk. After an error the previous counter is
    /// intact. Returns the operating system's error, or [`ErrorKind::NotFound`] if the file was
    /// deleted or replaced.
    pub fn write(&mut self, counter: u32) -> io::Result<()> {
        if self.file.names()? == 0 {
            let text = "the file was deleted or replaced while it was in use";
            return Err(io::Error::new(ErrorKind::NotFound, text));
        }
        self.file
            .write_all_at(&record(counter), self.next * BLOCK)?;
        self.file.sync()?;
        self.next = 1 - self.next;
        Ok(())
    }
}

fn open_or_create(path: &Path) -> io::Result<(File, bool)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Ok((options.create_new(true).open(path)?, true))
        }
        other => Ok((other?, false)),
    }
}

/// Formats a record. A record contains the counter twice: a record of which only a part was
/// written has two different numbers, or one number.
fn record(counter: u32) -> [u8; RECORD] {
    let mut record = [b' '; RECORD];
    record[RECORD - 1] = b'\n';
    let text = format!("{TITLE} {counter:010} {counter:010}");
    record[..text.len()].copy_from_slice(text.as_bytes());
    record
}

/// Reads the larger of the two counters and the index of its record; `None` if there is no record.
fn read(file: &File) -> io::Result<Option<(u32, u64)>> {
    let mut bytes = Vec::new();
    file.take(2 * BLOCK).read_to_end(&mut bytes)?;
    let (first, second) = bytes.split_at(bytes.len().min(BLOCK as usize));
    // Earlier versions wrote only a number.
    let first = parse(first).or_else(|| number(&text(first)?));
    let found = [(first, 0), (parse(second), 1)];
    let found = found
        .into_iter()
        .filter_map(|(counter, place)| Some((counter?, place)));
    Ok(found.max())
}

fn parse(block: &[u8]) -> Option<u32> {
    let record = block.get(..RECORD)?;
    let text = text(record)?;
    let (one, other) = text.strip_prefix(TITLE)?.trim_start().split_once(' ')?;
    let counter = number(one)?;
    (number(other) == Some(counter) && record.ends_with(b"\n")).then_some(counter)
}

fn text(block: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(block).ok()?;
    Some(text.trim_matches(['\0', ' ', '\n', '\r']).to_owned())
}

fn number(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Scratch {
            let folder =
                std::env::temp_dir().join(format!("redpoll-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Scratch(folder)
        }

        fn file(&self) -> PathBuf {
            self.0.join("state")
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn stored(path: &Path) -> u32 {
        CounterFile::open(path).unwrap().1
    }

    #[test]
    fn a_counter_is_there_after_the_process_has_ended() {
        let scratch = Scratch::new("counter");
        let path = scratch.file();
        assert_eq!(stored(&path), 0);
        for counter in [1_000, 2_000, u32::MAX] {
            let (mut file, _) = CounterFile::open(&path).unwrap();
            file.write(counter).unwrap();
            drop(file);
            assert_eq!(stored(&path), counter);
        }
    }

    #[test]
    fn a_second_user_is_refused_by_every_name() {
        let scratch = Scratch::new("counter-lock");
        let path = scratch.file();
        let (file, _) = CounterFile::open(&path).unwrap();
        let alias = scratch.0.join("alias");
        fs::hard_link(&path, &alias).unwrap();
        for name in [&path, &alias] {
            let error = CounterFile::open(name).unwrap_err();
            assert!(matches!(error, CounterFileError::InUse), "{error}");
            assert!(error.to_string().contains("another process uses it"));
        }
        drop(file);
        assert_eq!(stored(&alias), 0);
    }

    #[test]
    fn a_record_that_was_cut_short_costs_one_stretch_at_most() {
        let scratch = Scratch::new("counter-torn");
        let path = scratch.file();
        let (mut file, _) = CounterFile::open(&path).unwrap();
        file.write(1_000).unwrap();
        file.write(2_000).unwrap();
        drop(file);
        let whole = fs::read(&path).unwrap();
        let last = [0, BLOCK as usize]
            .into_iter()
            .find(|at| parse(&whole[*at..]) == Some(2_000))
            .unwrap();
        let new = record(3_000);
        for cut in 0..=RECORD {
            let mut torn = whole.clone();
            let other = BLOCK as usize - last;
            torn[other..other + cut].copy_from_slice(&new[..cut]);
            fs::write(&path, torn).unwrap();
            let counter = stored(&path);
            assert!(counter == 2_000 || counter == 3_000, "{cut}: {counter}");
        }
    }

    /// A failing call of the operating system.
    #[derive(Clone, Copy, Debug)]
    struct Fault {
        /// Number of the failing call, from 0.
        call: u32,
        errno: Errno,
        /// Bytes that a failing write nevertheless writes.
        written: usize,
    }

    /// A file on which one call fails.
    struct Failing {
        file: Flock<File>,
        fault: Fault,
        calls: Cell<u32>,
    }

    impl Failing {
        /// Counts a call, and returns an error if it is the failing one.
        fn call(&self) -> io::Result<()> {
            let call = self.calls.replace(self.calls.get() + 1);
            let fails = call == self.fault.call;
            if fails {
                Err(self.fault.errno.into())
            } else {
                Ok(())
            }
        }
    }

    impl Storage for Failing {
        fn names(&self) -> io::Result<u64> {
            self.call()?;
            self.file.names()
        }

        fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
            let outcome = self.call();
            let part = if outcome.is_ok() {
                bytes
            } else {
                &bytes[..self.fault.written]
            };
            self.file.write_all_at(part, offset)?;
            outcome
        }

        fn sync(&self) -> io::Result<()> {
            self.call()?;
            self.file.sync()
        }
    }

    /// Lets each call fail in turn. An acknowledged counter is never lost, and the next write
    /// succeeds.
    #[test]
    fn no_failing_call_loses_the_counter() {
        let scratch = Scratch::new("counter-faults");
        let path = scratch.file();
        let mut failures = 0;
        for errno in [
            Errno::ENOSPC,
            Errno::EIO,
            Errno::EDQUOT,
            Errno::EROFS,
            Errno::EAGAIN,
        ] {
            for (call, written) in (0..9).flat_map(|call| [(call, 0), (call, 25), (call, 400)]) {
                let _ = fs::remove_file(&path);
                let fault = Fault {
                    call,
                    errno,
                    written,
                };
                let (file, _) = CounterFile::open(&path).unwrap();
                let (file, calls) = (file.file, Cell::new(0));
                let mut file = CounterFile {
                    file: Failing { file, fault, calls },
                    next: 0,
                };
                let mut acknowledged = 0;
                for counter in [1_000, 2_000, 3_000] {
                    match file.write(counter) {
                        Ok(()) => acknowledged = counter,
                        Err(error) => {
                            failures += 1;
                            assert_eq!(error.raw_os_error(), Some(errno as i32), "{fault:?}");
                        }
                    }
                    // The process ends here, and another one opens the file.
                    let copy = scratch.0.join("copy");
                    fs::copy(&path, &copy).unwrap();
                    let stored = stored(&copy);
                    assert!(
                        stored >= acknowledged && stored <= counter,
                        "{fault:?}: {stored}"
                    );
                }
                file.write(4_000).unwrap();
                drop(file);
                assert_eq!(stored(&path), 4_000, "{fault:?}");
            }
        }
        assert_eq!(failures, 5 * 9 * 3, "each call fails once");
    }

    #[test]
    fn files_of_earlier_versions_go_on_and_other_files_are_refused() {
        let scratch = Scratch::new("counter-old");
        let path = scratch.file();
        fs::write(&path, "12345\n").unwrap();
        assert_eq!((stored(&path), stored(&path)), (12_345, 12_345));
        for content in [
            "",
            "\n",
            "twelve",
            "-1",
            "4294967296",
            "1 2",
            "frame counter 1 2",
        ] {
            fs::write(&path, content).unwrap();
            let error = CounterFile::open(&path).unwrap_err();
            assert!(matches!(error, CounterFileError::Unreadable), "{content}");
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        let error = CounterFile::open(Path::new("/dev/null")).unwrap_err();
        assert!(matches!(error, CounterFileError::NotAFile), "{error}");
        assert!(CounterFile::open(&scratch.0).is_err());
    }

    #[test]
    fn a_file_that_was_replaced_is_reported() {
        let scratch = Scratch::new("counter-gone");
        let path = scratch.file();
        let (mut file, _) = CounterFile::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let error = file.write(1_000).unwrap_err();
        assert!(error.to_string().contains("deleted or replaced"), "{error}");
    }
}
