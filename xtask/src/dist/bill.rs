//! The components of each program and of the Python package, in CycloneDX, by cargo-cyclonedx.

use super::{ARCHS, Release, cannot, shown};
use crate::report::Outcome;
use crate::workspace;

/// Name of the file that cargo-cyclonedx writes next to the manifest of each package.
const NAME: &str = "redpoll-bill";

/// Each product, and the folder of its manifest.
const PRODUCTS: [(&str, &str); 3] = [
    ("redpoll", "crates/cli"),
    ("redpoll-taim", "crates/taim"),
    ("redpoll-python", "crates/python"),
];

pub fn build(release: &Release<'_>) -> Outcome {
    let root = &release.workspace.root;
    for (product, folder) in PRODUCTS {
        let manifest = root.join(folder).join("Cargo.toml");
        let mut bill = release.command("cargo");
        bill.args(["cyclonedx", "--quiet", "--format", "json"]);
        bill.args(["--target", ARCHS[0].target]);
        bill.args(["--override-filename", NAME]);
        bill.args(["--manifest-path", &shown(&manifest)]);
        workspace::run(&mut bill)?;
        // cargo-cyclonedx also writes a file for each other package of the same workspace.
        for name in release
            .workspace
            .crates()?
            .into_iter()
            .map(|it| format!("crates/{it}"))
        {
            let file = root.join(&name).join(format!("{NAME}.json"));
            if !file.is_file() {
                continue;
            }
            let moved = if name == folder {
                let to = release
                    .out
                    .join(format!("{product}-{}.cdx.json", release.version));
                // The folders may be on different file systems.
                std::fs::copy(&file, to).and_then(|_| std::fs::remove_file(&file))
            } else {
                std::fs::remove_file(&file)
            };
            moved.map_err(|error| cannot("move", &file, &error))?;
        }
        let tool = root.join("xtask").join(format!("{NAME}.json"));
        if tool.is_file() {
            std::fs::remove_file(&tool).map_err(|error| cannot("remove", &tool, &error))?;
        }
    }
    Ok(())
}
