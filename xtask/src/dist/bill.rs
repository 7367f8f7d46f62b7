//! The components of each program, of the C library and of the Python package, in CycloneDX, by
//! cargo-cyclonedx.

use std::path::PathBuf;

use super::{ARCHS, Release, SOURCES, cannot, shown, write};
use crate::report::{Failure, Outcome};
use crate::source;
use crate::workspace;

/// Name of the file that cargo-cyclonedx writes next to the manifest of each package.
const NAME: &str = "redpoll-bill";

/// A product of a release.
pub struct Product {
    name: &'static str,
    /// Folder of the product's manifest.
    folder: &'static str,
}

pub const PYTHON: Product = Product {
    name: "redpoll-python",
    folder: "crates/python",
};
const PRODUCTS: [Product; 4] = [
    Product {
        name: "redpoll",
        folder: "crates/cli",
    },
    Product {
        name: "redpoll-taim",
        folder: "crates/taim",
    },
    Product {
        name: "redpoll-capi",
        folder: "crates/capi",
    },
    PYTHON,
];

pub fn build(release: &Release<'_>) -> Outcome {
    for product in &PRODUCTS {
        make(release, product)?;
    }
    Ok(())
}

/// Writes the bill of materials of a product into the release, and returns its path.
pub fn make(release: &Release<'_>, product: &Product) -> Result<PathBuf, Failure> {
    let root = &release.workspace.root;
    let manifest = root.join(product.folder).join("Cargo.toml");
    let mut bill = release.command("cargo");
    bill.args(["cyclonedx", "--quiet", "--format", "json"]);
    bill.args(["--target", ARCHS[0].target]);
    bill.args(["--override-filename", NAME]);
    bill.args(["--manifest-path", &shown(&manifest)]);
    workspace::run(&mut bill)?;
    let file = format!("{NAME}.json");
    let text = source::read(&root.join(product.folder).join(&file))?;
    let name = format!("{}-{}.cdx.json", product.name, release.version);
    let path = release.out.join(name);
    write(&path, &published(&text, &shown(root)))?;
    // cargo-cyclonedx also writes a file for each other package of the workspace: remove it.
    let crates = release.workspace.crates()?;
    let folders = crates.into_iter().map(|it| format!("crates/{it}"));
    for folder in folders.chain(["xtask".to_owned()]) {
        let extra = root.join(folder).join(&file);
        if extra.is_file() {
            std::fs::remove_file(&extra).map_err(|error| cannot("remove", &extra, &error))?;
        }
    }
    Ok(path)
}

/// Replaces the path of the source folder, `root`, in a bill of materials by `SOURCES`, which is
/// the same in every release. The path occurs in the identifiers of the project's packages and,
/// with `%2F` for each slash, in download URLs.
fn published(bill: &str, root: &str) -> String {
    let encoded = |path: &str| path.replace('/', "%2F");
    bill.replace(root, SOURCES)
        .replace(&encoded(root), &encoded(SOURCES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_does_not_name_the_folder_of_this_computer() {
        let bill = "path+file:///home/me/redpoll/crates/cli#0.1.0 ?download_url=file:%2F%2F%2Fhome%2Fme%2Fredpoll%2Fa";
        let expected = "path+file:///usr/src/redpoll/crates/cli#0.1.0 ?download_url=file:%2F%2F%2Fusr%2Fsrc%2Fredpoll%2Fa";
        assert_eq!(published(bill, "/home/me/redpoll"), expected);
    }
}
