//! Passes the memory maps to the linker.

/// Images that the small board has room for.
const SMALL: [&str; 8] = [
    "bare",
    "tcp",
    "subset",
    "pair",
    "rivals",
    "node",
    "seal",
    "leaf-microbit",
];
/// Images that it has not.
const LARGE: [&str; 2] = ["mesh", "leaf-mps2"];

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo:rustc-link-search={folder}");
    for image in SMALL {
        println!("cargo:rustc-link-arg-bin={image}=-T{folder}/link.x");
    }
    for image in LARGE {
        println!("cargo:rustc-link-arg-bin={image}=-T{folder}/mps2.x");
    }
    for file in ["link.x", "mps2.x", "sections.x"] {
        println!("cargo:rerun-if-changed={file}");
    }
}
