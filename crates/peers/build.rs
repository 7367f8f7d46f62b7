//! Builds the stacks in C whose sources are present.
//!
//! The sources are in the folder REDPOLL_PEERS, or by default in `target/peers`, where
//! `scripts/setup.sh bench` stores them.

use std::path::{Path, PathBuf};

/// Files of lwIP that TCP over IPv6 needs, in `src/core`.
const LWIP: [&str; 15] = [
    "def.c",
    "inet_chksum.c",
    "init.c",
    "ip.c",
    "ipv6/icmp6.c",
    "ipv6/ip6.c",
    "ipv6/ip6_addr.c",
    "ipv6/nd6.c",
    "mem.c",
    "memp.c",
    "netif.c",
    "pbuf.c",
    "tcp.c",
    "tcp_in.c",
    "tcp_out.c",
];

const TCPLP: [&str; 12] = [
    "bsdtcp/cc/cc_newreno.c",
    "bsdtcp/tcp_fastopen.c",
    "bsdtcp/tcp_input.c",
    "bsdtcp/tcp_output.c",
    "bsdtcp/tcp_sack.c",
    "bsdtcp/tcp_subr.c",
    "bsdtcp/tcp_timer.c",
    "bsdtcp/tcp_timewait.c",
    "bsdtcp/tcp_usrreq.c",
    "lib/bitmap.c",
    "lib/cbuf.c",
    "lib/lbuf.c",
];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_lwip, has_tcplp)");
    println!("cargo::rerun-if-env-changed=REDPOLL_PEERS");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=glue");
    let sources = std::env::var_os("REDPOLL_PEERS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/peers"),
        PathBuf::from,
    );
    lwip(&sources.join("lwip"));
    tcplp(&sources.join("tcplp"));
}

/// Returns a compiler configuration without warnings, because the code belongs to another project.
fn build() -> cc::Build {
    let mut build = cc::Build::new();
    build.warnings(false).extra_warnings(false);
    build
}

/// Sets the cfg `has_NAME` if the library was built.
fn conclude(name: &str, result: Result<(), cc::Error>) {
    match result {
        Ok(()) => println!("cargo::rustc-cfg=has_{name}"),
        Err(error) => println!("cargo::warning={name} is left out of the benches: {error}"),
    }
}

/// Returns whether the sources are present. Makes Cargo check again when the file changes.
fn is_there(folder: &Path, file: &str) -> bool {
    println!("cargo::rerun-if-changed={}", folder.join(file).display());
    folder.join(file).is_file()
}

fn lwip(folder: &Path) {
    let core = folder.join("src/core");
    if !is_there(folder, "src/core/tcp_in.c") {
        return;
    }
    let files = LWIP.iter().map(|file| core.join(file));
    let result = build()
        .files(files)
        .file("glue/lwip/glue.c")
        .include("glue/lwip")
        .include(folder.join("src/include"))
        .try_compile("peers_lwip");
    conclude("lwip", result);
}

fn tcplp(folder: &Path) {
    if !is_there(folder, "bsdtcp/tcp_reass.c") {
        return;
    }
    let build = || {
        let mut build = build();
        build
            .include(folder)
            .include(folder.join("include"))
            .include(folder.join("bsdtcp"))
            .include(folder.join("lib"));
        build
    };
    // `tcp_reass.c` calls this project's function instead of the faulty one.
    let patched = build()
        .file(folder.join("bsdtcp/tcp_reass.c"))
        .define("cbuf_reass_count_set", "peers_reass_count_set")
        .try_compile_intermediates();
    let result = patched.and_then(|objects| {
        build()
            .files(TCPLP.iter().map(|file| folder.join(file)))
            .file("glue/tcplp/glue.c")
            .objects(objects)
            .try_compile("peers_tcplp")
    });
    conclude("tcplp", result);
}
