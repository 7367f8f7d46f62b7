//! Recordings, read as in `redpoll view`: from the start, and from any time.

use std::io::Cursor;

use redpoll_web::story::Reader;

pub fn run(bytes: &[u8]) {
    let Ok(mut reader) = Reader::open(Cursor::new(bytes)) else {
        return;
    };
    let end = reader.end();
    for at in [0, end / 2, end, u64::MAX] {
        if reader.seek(at).is_err() {
            continue;
        }
        while let Ok(Some((t, line))) = reader.read() {
            assert!(t <= end);
            assert!(!line.is_empty());
        }
    }
}
