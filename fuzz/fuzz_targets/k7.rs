//! Files of measured links, plain or compressed with gzip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redpoll_sim::{K7, open_measured};

fuzz_target!(|bytes: &[u8]| {
    let Ok(reader) = open_measured(bytes) else {
        return;
    };
    let Ok(k7) = K7::read(reader, 26) else { return };
    assert!(!k7.links.is_empty());
    for link in &k7.links {
        assert!(link.from != link.to && link.from.max(link.to) < k7.nodes.len());
        assert!(link.records.windows(2).all(|pair| pair[0].at < pair[1].at));
        assert!(
            link.records
                .iter()
                .all(|record| (0.0..=1.0).contains(&record.pdr))
        );
    }
});
