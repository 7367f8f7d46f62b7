#!/bin/sh
# Measures the figures that the project promises, with the release build of the
# program, and says which are met. Exit code 1 if one is not.
#
#   scripts/figures.sh [seeds of grid-30, 20 unless given]
set -u
cd "$(dirname "$0")/.." || exit 1
program=${CARGO_TARGET_DIR:-target}/release/redpoll
seeds=${1:-20}
result=$(mktemp)
trap 'rm -f "$result"' EXIT
missed=0

# run SCENARIO [OPTION…]: leaves the result's JSON in $result.
run() {
    "$program" run "$@" --json - >"$result" 2>/dev/null
}

# value AWK_PROGRAM: what the program prints for the JSON's lines, of which each
# holds one field.
value() {
    awk -F '[ :,]+' "$1" "$result"
}

# figure TEXT VALUE AT_LEAST
figure() {
    if awk "BEGIN { exit !(\"$2\" != \"\" && $2 + 0 >= $3) }"; then verdict=ok; else verdict=MISSED; missed=1; fi
    printf '%-58s %10s  (at least %s)  %s\n' "$1" "$2" "$3" "$verdict"
}

goodput() { # TEXT AT_LEAST SCENARIO [OPTION…]
    text=$1 least=$2
    shift 2
    run "$@"
    figure "$text" "$(value '/"goodput_kbps"/ { printf "%.1f", $3; exit }')" "$least"
}

speed() { # TEXT AT_LEAST SCENARIO [OPTION…]
    text=$1 least=$2
    shift 2
    run "$@"
    figure "$text" "$(value '/"simulated_s"/ { s = $3 } /"wall_s"/ { printf "%.0f", s / $3; exit }')" "$least"
}

goodput "line-1, AT86RF233, d = 40 ms: kb/s" 75 line-1
goodput "line-2, AT86RF233, d = 40 ms: kb/s" 28.3 line-2
goodput "line-3, AT86RF233, d = 40 ms: kb/s" 19.5 line-3
goodput "line-4, AT86RF233, d = 40 ms: kb/s" 17.5 line-4
goodput "line-1, ideal radio, d = 0: kb/s" 100 line-1 --set radio.model=ideal --set mac.link_retry_delay="0 ms"
goodput "line-1, ideal radio, d = 40 ms: kb/s" 95 line-1 --set radio.model=ideal
goodput "line-2, ideal radio, d = 40 ms: kb/s" 40 line-2 --set radio.model=ideal
goodput "line-3, ideal radio, d = 40 ms: kb/s" 28 line-3 --set radio.model=ideal
goodput "line-4, ideal radio, d = 40 ms: kb/s" 23 line-4 --set radio.model=ideal

speed "line-1: simulated seconds a second" 1000 line-1 --duration "2000 s"
speed "office with one bulk flow: simulated seconds a second" 300 office --duration "600 s"
speed "grid-1000: simulated seconds a second" 20 grid-1000
figure "grid-1000: share of the datagrams delivered" "$(value '
    /"simulated_s"/ { sent = 999 * 50 * $3 / 10 }
    /"delivered_bytes"/ { delivered += $3 }
    END { printf "%.3f", delivered / sent }')" 0.9
figure "grid-1000: KiB below the 64 that a node may have" "$(value '
    /"memory_bytes"/ && $2 != "\"peak_memory_bytes\"" { if ($3 > most) most = $3 }
    END { printf "%.1f", 64 - most / 1024 }')" 0

good=0
for seed in $(seq "$seeds"); do
    run grid-30 --seed "$seed" && grep -q '"ok": true' "$result" && good=$((good + 1))
done
figure "grid-30, 600 s: seeds that end with the oracle satisfied" "$good" "$seeds"
exit $missed
