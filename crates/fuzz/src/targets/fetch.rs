//! A leaf that downloads an image and receives an arbitrary response in pieces of any size.

use redpoll_ota::{ETag, Fetch, Have, Pages};

pub fn run(bytes: &[u8]) {
    let Some((piece, bytes)) = bytes.split_first() else {
        return;
    };
    let have = Have {
        bytes: 512,
        size: Some(1_000),
        etag: ETag::new("\"v1\""),
    };
    let mut fetch = Fetch::new(have);
    let mut pages = None;
    for chunk in bytes.chunks(usize::from(*piece).max(1)) {
        let mut rest = chunk;
        if pages.is_none() {
            match fetch.head(chunk) {
                Ok(Some(taken)) => {
                    rest = &chunk[taken..];
                    pages = Some(Pages::new([0; 16], fetch.offset()));
                }
                Ok(None) => continue,
                Err(_) => return,
            }
        }
        let Some(pages) = &mut pages else { return };
        let body = fetch.body(rest);
        assert!(body.len() <= rest.len());
        let begin = pages.durable();
        let mut written = 0;
        let _ = pages.push(body, |at, page| {
            assert_eq!(at, begin + written);
            written += page.len() as u64;
            Ok::<_, ()>(())
        });
        if fetch.is_whole() {
            let _ = pages.finish(|_, _| Ok::<_, ()>(()));
            assert!(fetch.have(pages.durable()).is_whole());
        }
    }
}
