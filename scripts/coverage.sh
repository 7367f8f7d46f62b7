#!/bin/sh
# Measures the lines of the device crates that their own tests run: coverage.sh [CRATE...]
# Prints a line for each crate, and writes the lines that no test runs to target/coverage/CRATE.txt.
set -eu

root=$(CDPATH='' cd "$(dirname "$0")/.." && pwd)
cd "$root"
[ "$#" -gt 0 ] || set -- base wire tcp mac lowpan stack socket assist border uart transceiver leaf ota
tools=$(dirname "$(find "$(rustc --print sysroot)" -name llvm-profdata | head -1)")
[ -x "$tools/llvm-cov" ] || { echo "coverage: llvm-cov is missing: rustup component add llvm-tools" >&2; exit 1; }
out=$root/target/coverage
mkdir -p "$out"
export CARGO_TARGET_DIR="$out/build" CARGO_INCREMENTAL=0
export RUSTFLAGS="-C instrument-coverage"

for crate; do
    rm -rf "$out/raw"
    mkdir -p "$out/raw"
    export LLVM_PROFILE_FILE="$out/raw/%p-%m.profraw"
    cargo test --quiet --package "redpoll-$crate" --all-features --lib --tests --no-run --message-format json 2>/dev/null \
        | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' >"$out/programs"
    cargo test --quiet --package "redpoll-$crate" --all-features --lib --tests >"$out/$crate.log" 2>&1 || {
        tail -20 "$out/$crate.log" >&2
        exit 1
    }
    "$tools/llvm-profdata" merge -sparse "$out"/raw/*.profraw -o "$out/$crate.profdata"
    objects=$(sed 's/^/--object /' "$out/programs" | tr '\n' ' ')
    # shellcheck disable=SC2086
    "$tools/llvm-cov" export --format lcov --instr-profile "$out/$crate.profdata" $objects \
        --ignore-filename-regex '(tests?\.rs|/tests/|/\.cargo/|/rustc/)' >"$out/$crate.lcov"
    awk -v crate="$crate" -v list="$out/$crate.txt" '
        BEGIN { printf "" >list }
        /^SF:/ { file = substr($0, 4); at = index(file, "/crates/" crate "/src/"); ours = at > 0; file = substr(file, at + 1) }
        ours && /^DA:/ {
            split(substr($0, 4), part, ",")
            total++
            if (part[2] > 0) hit++
            else print file ":" part[1] >list
        }
        END { printf "%-12s %6.2f %% of %d lines\n", crate, total ? 100 * hit / total : 100, total }
    ' "$out/$crate.lcov"
done
