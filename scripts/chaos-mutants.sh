#!/bin/sh
# Plants the defects of crates/chaos/mutants in a copy of the repository, one at a time, and checks that
# random scenarios find each defect: chaos-mutants.sh [SEEDS [PATTERN]]
set -eu

seeds=${1:-200}
pattern=${2:-*}
root=$(CDPATH='' cd "$(dirname "$0")/.." && pwd)
work=$root/target/chaos-mutants
rm -rf "$work/tree"
mkdir -p "$work/tree"
# Files get the present time (-m): cargo would otherwise keep the defect of an earlier run.
git -C "$root" archive HEAD | tar -x -m -C "$work/tree"
cd "$work/tree"
export CARGO_TARGET_DIR="$work/build" CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0

missed=0
count=0
for patch in "$root"/crates/chaos/mutants/$pattern.patch; do
    name=$(basename "$patch" .patch)
    patch -s -p1 <"$patch"
    cargo build --quiet --package redpoll-chaos --example seeds
    count=$((count + 1))
    code=0
    found=$("$CARGO_TARGET_DIR/debug/examples/seeds" 1 "$seeds" | head -1) || code=$?
    case $found in
    seed*) echo "$name: found, $found" ;;
    *)
        echo "$name: NOT FOUND in $seeds seeds"
        missed=$((missed + 1))
        ;;
    esac
    patch -s -R -p1 <"$patch"
done
echo "$((count - missed)) of $count planted defects were found"
[ "$missed" -eq 0 ]
