//! Checks the header, the examples and the tests in C against the library.
//!
//! Needs a C compiler (`CC`, by default `cc`). The programs run with the compiler's address and
//! undefined-behaviour sanitizers if it has them, and under Valgrind if it is installed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const LIBRARIES: [&str; 3] = ["-lm", "-lpthread", "-ldl"];
const SANITIZE: &str = "-fsanitize=address,undefined";

/// Cargo of the Rust release in whose code Valgrind looks for uninitialised values. The code of
/// later releases may read both sides of an `&&` before it decides by the first, which Valgrind
/// reports although the result is the same.
const JUDGED_WITH: &str = "cargo 1.95.";

pub(crate) fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub(crate) fn compiler() -> Command {
    Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
}

pub(crate) fn skipped(what: &str) {
    redpoll_testkit::skipped(&format!("check {what}"));
}

pub(crate) fn runs(mut command: Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

/// Returns whether cargo builds the library with the instrumentation that measures coverage
/// (`scripts/coverage.sh`).
pub(crate) fn measures_coverage() -> bool {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    flags.contains("instrument-coverage")
}

/// Returns whether the instrumentation that measures coverage adds this symbol.
fn is_of_coverage(name: &str) -> bool {
    name.starts_with("__covrec_") || name == "__llvm_profile_filename"
}

/// Returns the compiler's options for its sanitizers, if it has them.
pub(crate) fn sanitized() -> &'static [&'static str] {
    let mut sanitizers = compiler();
    sanitizers.args([SANITIZE, "-xc", "-", "-o", "/dev/null"]);
    sanitizers.stdin(std::process::Stdio::null());
    // The program is empty, so the only error must be that `main` is missing.
    let can_sanitize = sanitizers
        .output()
        .is_ok_and(|output| !text(&output).contains("asan") && !text(&output).contains("unrecog"));
    if can_sanitize { &[SANITIZE] } else { &[] }
}

pub(crate) fn has_valgrind() -> bool {
    let mut valgrind = Command::new("valgrind");
    valgrind.arg("--version");
    runs(valgrind)
}

/// Returns the command that runs a program under Valgrind.
pub(crate) fn valgrind() -> Vec<&'static str> {
    let mut valgrind = vec!["valgrind", "--quiet", "--error-exitcode=9"];
    let mut cargo = Command::new(env!("CARGO"));
    let version = text(&cargo.arg("--version").output().unwrap());
    if !version.starts_with(JUDGED_WITH) {
        valgrind.push("--undef-value-errors=no");
    }
    valgrind
}

/// Builds the static library as the README describes.
pub(crate) fn library() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["rustc", "--quiet", "-p", "redpoll-capi", "--lib"]);
    cargo.args(["--crate-type", "staticlib"]);
    let output = cargo.current_dir(here(".")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let tests = std::env::current_exe().unwrap();
    // target/PROFILE/deps/this
    let profile = tests.parent().and_then(Path::parent).unwrap();
    profile.join("libredpoll_capi.a")
}

/// Builds the static library with these features only, in the folder `name`. Optimising it takes
/// longer than the few programs that use it.
fn library_with(name: &str, features: &str) -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["rustc", "--quiet", "-p", "redpoll-capi", "--lib"]);
    cargo.args(["--crate-type", "staticlib", "--no-default-features"]);
    cargo.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
    cargo
        .args(["--features", features, "--target-dir"])
        .arg(&target);
    let output = cargo.current_dir(here(".")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    target.join("debug/libredpoll_capi.a")
}

pub(crate) fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(out).into_owned() + &String::from_utf8_lossy(err)
}

pub(crate) fn built(library: &Path, source: &str, options: &[&str]) -> PathBuf {
    let name = Path::new(source).file_stem().unwrap().to_str().unwrap();
    let place = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = place.join(format!(
        "{name}{}",
        options.concat().replace(['-', ','], "_")
    ));
    let mut build = compiler();
    build.args([
        "-std=c11",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-g",
    ]);
    build.args(options).arg("-I").arg(here("include"));
    build.arg("-I").arg(here("tests/stubs"));
    build.arg("-o").arg(&program).arg(here(source));
    if measures_coverage() {
        // Links the part that writes the counters at the end of the program.
        build.arg("-Wl,-u,__llvm_profile_runtime");
    }
    let built = build.arg(library).args(LIBRARIES).output().unwrap();
    assert!(built.status.success(), "{source}: {}", text(&built));
    program
}

/// Compiles and runs a program; returns its output.
fn program(library: &Path, source: &str, options: &[&str], under: &[&str]) -> String {
    let program = built(library, source, options);
    let mut run = match under {
        [] => Command::new(&program),
        [tool, options @ ..] => {
            let mut run = Command::new(tool);
            run.args(options).arg(&program);
            run
        }
    };
    let output = run.output().unwrap();
    assert!(output.status.success(), "{source}: {}", text(&output));
    text(&output)
}

#[test]
fn programs_in_c_run_and_misuse_is_answered() {
    let mut version = compiler();
    version.arg("--version");
    if !runs(version) {
        skipped("of the examples in C: there is no C compiler");
        return;
    }
    let library = library();
    let options = sanitized();
    let loops = program(&library, "examples/bare_loop.c", options, &[]);
    assert!(
        loops.contains("20000 bytes") && loops.contains("all right"),
        "{loops}"
    );
    let waits = program(&library, "examples/waiting.c", options, &[]);
    assert!(waits.contains("50 echoes"), "{waits}");
    let packets = program(&library, "examples/ip_loop.c", options, &[]);
    assert!(packets.contains("all right"), "{packets}");
    program(&library, "tests/misuse.c", options, &[]);
    let tcp = program(&library, "tests/tcp.c", options, &[]);
    assert!(
        tcp.matches("100000 bytes each way").count() == 3 && tcp.contains("all right"),
        "{tcp}"
    );
    program(&library, "tests/tcp_misuse.c", options, &[]);
    let echo = program(&library, "tests/tcp_openthread.c", options, &[]);
    assert!(echo.contains("all right"), "{echo}");
    let adapts = program(&library, "tests/adapters.c", options, &[]);
    assert!(adapts.contains("all right"), "{adapts}");
    let below = program(&library, "tests/below.c", options, &[]);
    assert!(below.contains("all right"), "{below}");
    let contiki = program(&library, "tests/contiki.c", options, &[]);
    assert!(contiki.contains("all right"), "{contiki}");
    let sockets = program(&library, "tests/sockets.c", options, &[]);
    assert!(sockets.contains("all right"), "{sockets}");
    let radio = program(&library, "tests/radio.c", options, &[]);
    assert!(radio.contains("all right"), "{radio}");
    let rpl = program(&library, "tests/rpl.c", options, &[]);
    assert!(rpl.contains("all right"), "{rpl}");
    let groups = program(&library, "tests/groups.c", options, &[]);
    assert!(groups.contains("all right"), "{groups}");
    if !has_valgrind() {
        skipped("of the examples in C under Valgrind: there is none");
        return;
    }
    let valgrind = valgrind();
    for source in [
        "examples/bare_loop.c",
        "examples/waiting.c",
        "examples/ip_loop.c",
        "tests/misuse.c",
        "tests/tcp.c",
        "tests/tcp_misuse.c",
        "tests/tcp_openthread.c",
        "tests/adapters.c",
        "tests/sockets.c",
        "tests/radio.c",
        "tests/rpl.c",
        "tests/groups.c",
    ] {
        program(&library, source, &[], &valgrind);
    }
    // Simulate minutes of lost packets and buffers, so Valgrind gets fewer rounds.
    for source in ["tests/below.c", "tests/contiki.c"] {
        program(&library, source, &["-DROUNDS=10"], &valgrind);
    }
}

#[test]
fn programs_over_ip_run_with_the_library_without_a_radio() {
    let library = library_with("over-ip", "std,node");
    let options = &["-DOVER_IP"];
    let packets = program(&library, "examples/ip_loop.c", options, &[]);
    assert!(packets.contains("all right"), "{packets}");
    program(&library, "tests/below.c", options, &[]);
    let names = Command::new("nm").arg(&library).output().unwrap();
    let names = text(&names);
    assert!(
        names.contains(" T rp_ip_init")
            && !names.contains("rp_node_init")
            && !names.contains("rp_tcp_init")
    );
}

#[test]
fn tcp_runs_with_the_library_without_nodes() {
    let library = library_with("tcp-alone", "std,tcp");
    let tcp = program(&library, "tests/tcp.c", &["-DALONE"], &[]);
    assert!(tcp.contains("all right"), "{tcp}");
    program(&library, "tests/tcp_misuse.c", &["-DALONE"], &[]);
    let names = Command::new("nm").arg(&library).output().unwrap();
    let names = text(&names);
    assert!(names.contains(" T rp_tcp_init") && !names.contains("rp_ip_init"));
}

/// Every name that the library adds to a program begins with `rp_`.
#[test]
fn names_do_not_clash() {
    let output = Command::new("nm")
        .args(["--defined-only", "--extern-only"])
        .arg(library())
        .output();
    let Ok(output) = output else {
        skipped("of the C library's names: there is no nm");
        return;
    };
    let mut ours = false;
    let mut count = 0;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        // A line has the name of an object file, or address, kind and name of a symbol.
        if let Some(object) = line.strip_suffix(':') {
            ours = object.starts_with("redpoll");
            continue;
        }
        let Some(name) = line.split_whitespace().nth(2).filter(|_| ours) else {
            continue;
        };
        if measures_coverage() && is_of_coverage(name) {
            continue;
        }
        // No name in C contains a point.
        let mangled = name.starts_with("_ZN") || name.starts_with("_R") || name.contains('.');
        assert!(name.starts_with("rp_") || mangled, "{name}");
        count += usize::from(name.starts_with("rp_"));
    }
    assert!(count >= 45, "{count}");
}

/// The header defines every error of the socket layer except those that no call returns,
/// and no others.
#[test]
fn errors_have_the_numbers_of_the_library() {
    let text = std::fs::read_to_string(here("include/redpoll.h")).unwrap();
    let defined = text.lines().filter_map(|line| {
        let (name, rest) = line.strip_prefix("#define RP_E")?.split_once(" (-")?;
        let (number, _) = rest.split_once(')')?;
        Some((format!("E{name}"), number.parse().unwrap()))
    });
    let defined: BTreeMap<String, i32> = defined.collect();
    let never = ["ENOSYS", "EAFNOSUPPORT"];
    let known = redpoll_socket::Errno::all().filter(|(name, _)| !never.contains(name));
    let known: BTreeMap<String, i32> = known
        .map(|(name, it)| (name.to_owned(), it.into()))
        .collect();
    assert_eq!(defined, known);
}

/// The header's comments on errors are the texts of `rp_strerror`, and the header has the version
/// of the library.
#[test]
fn texts_of_errors_and_version_are_those_of_the_header() {
    let text = std::fs::read_to_string(here("include/redpoll.h")).unwrap();
    let library = std::fs::read_to_string(here("src/error.rs")).unwrap();
    let mut count = 0;
    let is_error = |line: &&str| line.starts_with("#define RP_E") && line.contains(" (-");
    for line in text.lines().filter(is_error) {
        let (define, comment) = line.split_once("/* ").unwrap();
        let name = define.split(' ').nth(1).unwrap();
        let meaning = comment.strip_suffix(" */").unwrap();
        let arm = format!("Errno::{} => c\"{name}: {meaning}\"", &name["RP_".len()..]);
        assert!(library.contains(&arm), "{arm}");
        count += 1;
    }
    assert_eq!(count, library.matches("=> c\"RP_E").count());
    let defined = |name: &str| {
        let define = format!("#define {name} ");
        let value = text.lines().find_map(|line| line.strip_prefix(&define));
        value.unwrap().trim_matches('"').to_owned()
    };
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(defined("RP_VERSION"), version);
}

fn in_c(rust: &str) -> String {
    let rust = rust.trim();
    for (prefix, constness) in [("*const ", "const "), ("*mut ", "")] {
        if let Some(pointee) = rust.strip_prefix(prefix) {
            return match pointee {
                "*mut RpNode" => "rp_node **".to_owned(),
                "*mut RpTcpConnection" => "struct rp_tcp_connection **".to_owned(),
                pointee => format!("{constness}{} *", in_c(pointee)),
            };
        }
    }
    let names = BTreeMap::from([
        ("u8", "uint8_t"),
        ("i8", "int8_t"),
        ("u16", "uint16_t"),
        ("u32", "uint32_t"),
        ("u64", "uint64_t"),
        ("i32", "int"),
        ("usize", "size_t"),
        ("Code", "int"),
        ("RpNode", "rp_node"),
        ("RpConfig", "struct rp_config"),
        ("RpIpConfig", "struct rp_ip_config"),
        ("RpWork", "struct rp_work"),
        ("RpEndpoint", "struct rp_endpoint"),
        ("Poll", "struct rp_pollfd"),
        ("RpWaiter", "struct rp_waiter"),
        ("RpTcpInfo", "struct rp_tcp_info"),
        ("RpTcp", "struct rp_tcp"),
        ("RpTcpConfig", "struct rp_tcp_config"),
        ("RpTcpConnection", "struct rp_tcp_connection"),
        ("RpTcpBuffers", "struct rp_tcp_buffers"),
        ("RpTcpListener", "struct rp_tcp_listener"),
        ("RpTcpHalfOpen", "struct rp_tcp_half_open"),
        ("RpTcpIp", "struct rp_tcp_ip"),
        ("c_char", "char"),
    ]);
    (*names.get(rust).unwrap_or_else(|| panic!("{rust}"))).to_owned()
}

fn of_library() -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for file in [
        "abi",
        "config",
        "error",
        "every",
        "ip",
        "membership",
        "node",
        "options",
        "rpl",
        "socket",
        "tcp/connection",
        "tcp/mod",
        "tcp/passive",
        "tcp/segments",
        "version",
        "waiting",
    ] {
        let source = std::fs::read_to_string(here(&format!("src/{file}.rs"))).unwrap();
        for text in source.split("extern \"C\" fn ").skip(1) {
            let Some((head, _)) = text.split_once(" {\n") else {
                continue;
            };
            let Some((name, rest)) = head.split_once('(').filter(|(n, _)| n.starts_with("rp_"))
            else {
                continue;
            };
            let (arguments, result) = rest.rsplit_once(") -> ").unwrap();
            let types = arguments.split(',').filter_map(|one| one.split_once(':'));
            let types = types.map(|(_, rust)| in_c(rust));
            let types = std::iter::once(in_c(result)).chain(types).collect();
            all.insert(name.to_owned(), types);
        }
    }
    all
}

/// Returns the types of the functions of both headers in the form of [`of_library`].
fn of_headers() -> BTreeMap<String, Vec<String>> {
    let read = |name: &str| std::fs::read_to_string(here("include").join(name)).unwrap();
    let text = read("redpoll.h") + &read("redpoll_tcp.h");
    let mut all = BTreeMap::new();
    for statement in text.split(';') {
        let found = ["int ", "const char *"].into_iter().find_map(|result| {
            let at = statement.find(&format!("\n{result}rp_"))?;
            Some((result, at + 1 + result.len()))
        });
        let Some((result, at)) = found else {
            continue;
        };
        let words: Vec<_> = statement[at..].split_whitespace().collect();
        let line = words.join(" ");
        let (name, arguments) = line.split_once('(').unwrap();
        let arguments = arguments.trim_end_matches(')').split(',');
        let arguments = arguments.filter(|one| *one != "void").map(|one| {
            // The type is everything before the name, which follows the last space or star.
            let one = one.trim();
            let end = one.rfind([' ', '*']).unwrap() + 1;
            one[..end].trim().to_owned()
        });
        let types = std::iter::once(result.trim().to_owned()).chain(arguments);
        all.insert(name.to_owned(), types.collect());
    }
    all
}

#[test]
fn header_and_library_have_the_same_functions() {
    let (library, header) = (of_library(), of_headers());
    assert!(library.len() >= 45, "{}", library.len());
    assert_eq!(library, header);
}
