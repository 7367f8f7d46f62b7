#!/bin/sh
# Plants defects in one crate, one at a time, and counts those that the crate's own tests find:
# mutants.sh CRATE [PART [FILES]]
#   CRATE   such as tcp
#   PART    K/N: of all defects, each N-th one from the K-th on (default: 0/1, all defects)
#   FILES   only defects in files that match this glob, such as 'crates/stack/src/net/routing/rpl/**'
# Lists of the defects are below target/mutants/CRATE. Ends with 0, whatever the share is.
set -eu

crate=${1:?usage: mutants.sh CRATE [PART [FILES]]}
part=${2:-0/1}
root=$(CDPATH='' cd "$(dirname "$0")/.." && pwd)
cd "$root"
case $crate in
*[!a-z0-9-]*) echo "mutants: $crate is not the name of a crate; allowed: a name such as tcp" >&2; exit 2 ;;
esac
[ -d "crates/$crate" ] || { echo "mutants: there is no crate crates/$crate" >&2; exit 2; }
out=$root/target/mutants/$crate
rm -rf "$out"
mkdir -p "$out"
set -- --package "redpoll-$crate" --all-features --no-shuffle --sharding round-robin --shard "$part" \
    --minimum-test-timeout 60 --output "$out" ${3:+--file "$3"}
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 PATH="$root/target/tools/bin:$PATH"
# 2 means that the tests did not find a defect, and 3 that they ran too long with one.
code=0
cargo mutants "$@" || code=$?
case $code in
0 | 2 | 3) ;;
*) exit "$code" ;;
esac

count() { wc -l <"$out/mutants.out/$1.txt"; }
# A defect with which the tests do not end counts as found. One that does not compile does not count.
awk -v crate="$crate" -v part="$part" -v found="$(($(count caught) + $(count timeout)))" \
    -v missed="$(count missed)" -v unusable="$(count unviable)" 'BEGIN {
    all = found + missed
    if (!all) { print crate ": no defect compiles"; exit 1 }
    # The interval of Wilson, for 95 %.
    share = found / all; z = 1.96; scale = 1 + z * z / all
    middle = (share + z * z / (2 * all)) / scale
    half = z * sqrt(share * (1 - share) / all + z * z / (4 * all * all)) / scale
    printf "%s, part %s: the tests found %d of %d defects, %.1f %% (95 %% interval: %.1f to %.1f %%); %d more did not compile\n",
        crate, part, found, all, 100 * share, 100 * (middle - half), 100 * (middle + half), unusable
}'
[ ! -s "$out/mutants.out/missed.txt" ] || { echo "Not found:"; cat "$out/mutants.out/missed.txt"; }
