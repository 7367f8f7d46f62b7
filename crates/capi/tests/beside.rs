//! The C library in one image with lwIP and TCPlp: no name of one library is defined in another.
//!
//! `scripts/setup.sh bench` fetches the sources of lwIP and TCPlp, or REDPOLL_PEERS names their
//! folder; without them the test is skipped and its name printed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::c::{compiler, here, library, runs, skipped, text};

/// lwIP's timer file, which is not compiled: `crates/peers/glue/lwip/glue.c` replaces it.
const REPLACED: &str = "timeouts.c";

fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = files.map(|it| it.path());
    files
        .filter(|it| it.extension() == Some(OsStr::new("c")) && !it.ends_with(REPLACED))
        .collect()
}

/// Compiles each of these files into an object, in a separate folder.
fn compiled(name: &str, files: Vec<PathBuf>, includes: &[PathBuf]) -> Vec<PathBuf> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&place).unwrap();
    let mut build = compiler();
    build.current_dir(&place).args(["-w", "-c"]).args(&files);
    for include in includes {
        build.arg("-I").arg(include);
    }
    let output = build.output().unwrap();
    assert!(output.status.success(), "{name}: {}", text(&output));
    let object = |file: PathBuf| {
        let file = file.with_extension("o");
        place.join(file.file_name().expect("the file has a name"))
    };
    files.into_iter().map(object).collect()
}

#[test]
fn it_links_beside_lwip_and_tcplp() {
    let mut version = compiler();
    version.arg("--version");
    let peers =
        std::env::var_os("REDPOLL_PEERS").map_or_else(|| here("../../target/peers"), PathBuf::from);
    let (lwip, tcplp) = (peers.join("lwip"), peers.join("tcplp"));
    if !runs(version) || !lwip.is_dir() || !tcplp.is_dir() {
        skipped("of the C library beside lwIP and TCPlp: no sources (scripts/setup.sh bench)");
        return;
    }
    let glue = here("../peers/glue");
    let mut files = in_folder(&lwip.join("src/core"));
    files.extend(in_folder(&lwip.join("src/core/ipv6")));
    files.push(glue.join("lwip/glue.c"));
    let includes = [glue.join("lwip"), lwip.join("src/include")];
    let mut objects = compiled("lwip", files, &includes);
    let mut files = in_folder(&tcplp.join("bsdtcp"));
    files.extend(in_folder(&tcplp.join("bsdtcp/cc")));
    files.extend(in_folder(&tcplp.join("lib")));
    files.push(glue.join("tcplp/glue.c"));
    let folders = ["", "include", "bsdtcp", "lib"].map(|it| tcplp.join(it));
    objects.extend(compiled("tcplp", files, &folders));
    let image = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beside");
    let mut link = compiler();
    link.arg("-o").arg(&image).arg(here("tests/beside.c"));
    link.arg("-I").arg(here("include")).args(&objects);
    // All of the library, whether it is called or not.
    link.arg("-Wl,--whole-archive").arg(library());
    link.args(["-Wl,--no-whole-archive", "-lm", "-lpthread", "-ldl"]);
    let output = link.output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let output = Command::new(&image).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(text(&output).contains("Redpoll 0"), "{}", text(&output));
}
