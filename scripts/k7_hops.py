#!/usr/bin/env python3
"""TCP over the measured links of a K7 file, by hops.

The nodes send to the border router one at a time, once for each seed. For each
number of hops, the program prints the number of nodes, the median, the quartiles
and the least of their goodput in kb/s, and the mean share of lost segments: rows
of the table in docs/model/links.md.

    scripts/k7_hops.py --border node-47 --channel 26 --channel 12 grenoble.k7.gz
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(options, settings):
    """Runs the scenario with these settings, and returns the report."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        command = [options.program, "run", "k7-corridor", "--json", str(report)]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(result.stderr.strip() or f"{command} failed")
        return json.loads(report.read_text())


def quartile(values, quarters):
    """Returns the quartile of the sorted `values` with this number."""
    return values[min(len(values) * quarters // 4, len(values) - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help="the K7 file")
    parser.add_argument("--channel", type=int, action="append", required=True)
    parser.add_argument("--border", help="the border router (default: the best connected node)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--duration", default="120 s", help="virtual time of each run")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--program", default=str(ROOT / "target/release/redpoll"))
    options = parser.parse_args()
    print(
        "| channel | hops to the border router | number of nodes | median goodput, kb/s "
        "| quartiles of goodput, kb/s | worst goodput, kb/s | segments lost |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for channel in options.channel:
        settings = {
            "topology.file": options.file,
            "topology.channel": channel,
            "duration": "1 ms",
        } | dict(setting.split("=", 1) for setting in options.set)
        if options.border:
            settings[f"nodes.{options.border}.role"] = "border"
        nodes = run(options, settings)["nodes"]
        settings["duration"] = options.duration
        for hops in range(1, 6):
            senders = [node["name"] for node in nodes if node["hops"] == hops]
            flows = []
            for sender in senders:
                for seed in range(1, options.seeds + 1):
                    chosen = {"apps.bulk.on": sender, "seed": seed}
                    flows.append(run(options, settings | chosen)["flows"][0])
            if not flows:
                continue
            goodput = sorted(flow["goodput_kbps"] for flow in flows)
            loss = statistics.mean(flow["segment_loss"] for flow in flows)
            print(
                f"| {channel} | {hops} | {len(senders)} | {statistics.median(goodput):.1f} "
                f"| {quartile(goodput, 1):.1f} to {quartile(goodput, 3):.1f} "
                f"| {goodput[0]:.1f} | {100 * loss:.1f} % |",
                flush=True,
            )


main()
