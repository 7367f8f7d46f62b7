#!/bin/sh
# Measures the lines of the device crates that their own tests run: coverage.sh [CRATE...]
# Prints a line for each crate, and writes the lines that no test runs to target/coverage/CRATE.txt.
# Lines of tests do not count: neither files of tests, nor modules below `#[cfg(test)]`.
set -eu

root=$(CDPATH='' cd "$(dirname "$0")/.." && pwd)
cd "$root"
[ "$#" -gt 0 ] || set -- base wire tcp lowpan mac stack socket capi assist leaf coap uart border transceiver ota
tools=$(dirname "$(find "$(rustc --print sysroot)" -name llvm-profdata | head -1)")
[ -x "$tools/llvm-cov" ] || { echo "coverage: llvm-cov is missing: rustup component add llvm-tools" >&2; exit 1; }
out=$root/target/coverage
mkdir -p "$out"
export CARGO_TARGET_DIR="$out/build" CARGO_INCREMENTAL=0
export RUSTFLAGS="-C instrument-coverage"

for crate; do
    rm -rf "$out/raw" "$CARGO_TARGET_DIR/tmp"
    mkdir -p "$out/raw" "$CARGO_TARGET_DIR/tmp"
    export LLVM_PROFILE_FILE="$out/raw/%p-%m.profraw"
    cargo test --quiet --package "redpoll-$crate" --all-features --lib --tests --no-run --message-format json 2>/dev/null \
        | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' >"$out/programs"
    cargo test --quiet --package "redpoll-$crate" --all-features --lib --tests >"$out/$crate.log" 2>&1 || {
        tail -20 "$out/$crate.log" >&2
        exit 1
    }
    "$tools/llvm-profdata" merge -sparse "$out"/raw/*.profraw -o "$out/$crate.profdata"
    lines() {
        # shellcheck disable=SC2086
        "$tools/llvm-cov" export --format lcov --instr-profile "$out/$crate.profdata" $1 \
            --ignore-filename-regex '(tests?\.rs|/tests/|/\.cargo/|/rustc/)' 2>>"$out/$crate.log"
    }
    lines "$(sed 's/^/--object /' "$out/programs" | tr '\n' ' ')" >"$out/$crate.lcov"
    # The tests of the C interface compile programs in C, most of them with the library, whose features
    # differ. In one common list, only one variant of each function would count.
    find "$CARGO_TARGET_DIR/tmp" -maxdepth 1 -type f -perm -u+x | sort | while read -r program; do
        lines "--object $program" >>"$out/$crate.lcov" || true
    done
    # Files of modules that exist only in tests, by the declarations below `#[cfg(test)]`.
    find "$root/crates/$crate/src" -name '*.rs' -exec awk '
        /^mod [a-z0-9_]+;$/ && attribute {
            folder = FILENAME
            sub(/\/(mod|lib)\.rs$/, "", folder)
            sub(/\.rs$/, "", folder)
            name = substr($2, 1, length($2) - 1)
            print folder "/" name ".rs"
            print folder "/" name "/"
        }
        { attribute = $0 == "#[cfg(test)]" }
    ' {} + >"$out/tests"
    awk -v crate="$crate" -v list="$out/$crate.txt" -v tests="$out/tests" '
        BEGIN {
            printf "" >list
            while ((getline line <tests) > 0) only_tests[line]
        }
        function is_test(path,    one) {
            for (one in only_tests) if (index(path, one) == 1) return 1
            return 0
        }
        # Marks the lines of modules below `#[cfg(test)]` in this file.
        function mark_tests(path,    line, number, attribute, inside) {
            split("", test)
            for (number = 1; (getline line <path) > 0; number++) {
                if (attribute && line ~ /^mod [a-z0-9_]+ [{]$/) inside = 1
                attribute = line == "#[cfg(test)]"
                if (inside) test[number]
                if (line == "}") inside = 0
            }
            close(path)
        }
        /^SF:/ {
            file = substr($0, 4)
            at = index(file, "/crates/" crate "/src/")
            ours = at > 0 && !is_test(file)
            if (ours) mark_tests(file)
            file = substr(file, at + 1)
        }
        ours && /^DA:/ {
            split(substr($0, 4), part, ",")
            if (part[1] in test) next
            place = file ":" part[1]
            if (!(place in runs)) places[++total] = place
            runs[place] += part[2] > 0
        }
        END {
            for (number = 1; number <= total; number++) {
                if (runs[places[number]]) hit++
                else print places[number] >list
            }
            printf "%-12s %6.2f %% of %d lines\n", crate, total ? 100 * hit / total : 100, total
        }
    ' "$out/$crate.lcov"
done
