//! Files of measured links in K7 format, plain or compressed with gzip, read by a scenario. The
//! reader checks its result with debug assertions.

use redpoll_sim::{LinkSource, Scenario};

pub fn run(bytes: &[u8]) {
    let name = format!("redpoll-fuzz-k7-{}", std::process::id());
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, bytes).expect("the temporary folder is writable");
    let set = [("topology.file".to_owned(), file.display().to_string())];
    let scenario = Scenario::parse("k7", "[topology]\nkind = \"k7\"\n", &set);
    let _ = std::fs::remove_file(&file);
    let Ok(scenario) = scenario else { return };
    let LinkSource::Measured(links) = &scenario.links else {
        panic!("the links are measured");
    };
    assert!(!links.is_empty());
    assert_eq!(links.names().len(), scenario.nodes.len());
}
