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
/// Images that need the large board.
const LARGE: [&str; 4] = ["mesh", "leaf-mps2", "smoltcp", "tls"];

/// Images that are measured and replace the functions of [`TWICE`]; `bare` does not call them.
const MEASURED: [&str; 5] = ["tcp", "subset", "pair", "node", "leaf-microbit"];
/// Functions that the compiler's library has twice, and their replacements: aligned copying and
/// aligned clearing are hardly faster than the general functions.
const TWICE: [(&str, &str); 4] = [
    ("__aeabi_memcpy8", "__aeabi_memcpy"),
    ("__aeabi_memcpy4", "__aeabi_memcpy"),
    ("__aeabi_memclr8", "__aeabi_memclr"),
    ("__aeabi_memclr4", "__aeabi_memclr"),
];

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    println!("cargo:rustc-link-search={folder}");
    for image in SMALL {
        println!("cargo:rustc-link-arg-bin={image}=-T{folder}/link.x");
    }
    for image in LARGE {
        println!("cargo:rustc-link-arg-bin={image}=-T{folder}/mps2.x");
    }
    for image in MEASURED {
        for (name, same) in TWICE {
            println!("cargo:rustc-link-arg-bin={image}=--undefined={same}");
            println!("cargo:rustc-link-arg-bin={image}=--defsym={name}={same}");
        }
    }
    for file in ["link.x", "mps2.x", "sections.x"] {
        println!("cargo:rerun-if-changed={file}");
    }
}
