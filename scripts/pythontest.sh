#!/bin/sh
# Installs Redpoll's Python package into a separate environment in the given folder, and runs
# its tests there and measures its figures. If Python is missing, the script reports this.
set -eu

folder=$1
root=$(cd "$(dirname "$0")/.." && pwd)
# The tests need pandas 3, which needs Python 3.11.
if ! python3 -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "skipped: the tests of the Python package: Python 3.11 or later with venv is missing (apt-get install python3-venv)"
    if [ -n "${REDPOLL_SKIPPED:-}" ]; then echo "pythontest: no Python 3.11 or later with venv" >>"$REDPOLL_SKIPPED"; fi
    exit 0
fi
python3 -m venv "$folder"
"$folder/bin/pip" install --quiet "$root[test]"
cd "$root"
"$folder/bin/mypy" --strict crates/python/python/redpoll
"$folder/bin/python" -m mypy.stubtest redpoll._native
"$folder/bin/pytest" -q crates/python/tests
cargo build --quiet --profile wheel --package redpoll-python --target-dir "$folder/alone" --example alone
REDPOLL_ALONE="$folder/alone/wheel/examples/alone" "$folder/bin/python" crates/python/tests/figures.py
