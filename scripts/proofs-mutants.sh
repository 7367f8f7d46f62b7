#!/bin/sh
# Plants the defects of crates/proofs/mutants in a copy of the repository, one at a time, and checks
# that a small model finds each defect: proofs-mutants.sh [PATTERN]
set -eu

pattern=${1:-*}
root=$(CDPATH='' cd "$(dirname "$0")/.." && pwd)
work=$root/target/proofs-mutants
rm -rf "$work/tree"
mkdir -p "$work/tree"
# Files get the present time (-m): cargo would otherwise keep the defect of an earlier run.
git -C "$root" archive HEAD | tar -x -m -C "$work/tree"
cd "$work/tree"
export CARGO_TARGET_DIR="$work/build" CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 RUST_BACKTRACE=0

missed=0
count=0
for patch in "$root"/crates/proofs/mutants/$pattern.patch; do
    name=$(basename "$patch" .patch)
    patch -s -p1 <"$patch"
    count=$((count + 1))
    cargo test --quiet --package redpoll-proofs --no-run 2>"$work/$name.log" || { cat "$work/$name.log" >&2; exit 1; }
    if cargo test --quiet --package redpoll-proofs >"$work/$name.log" 2>&1; then
        echo "$name: NOT FOUND"
        missed=$((missed + 1))
    else
        echo "$name: found by $(sed -n 's/^    \([a-z_:]*\)$/\1/p' "$work/$name.log" | sort -u | tr '\n' ' ')"
    fi
    patch -s -R -p1 <"$patch"
done
echo "$((count - missed)) of $count planted defects were found"
[ "$missed" -eq 0 ]
