#!/usr/bin/env python3
"""kim2015's thirty nodes against this computer's own TCP, in real time.

The building, the routes and BLIP's TCP are those of the study. The server is this computer's
kernel, behind a TUN interface in a temporary network namespace (without privileges, if
the kernel allows user namespaces). The same traffic also runs in virtual time against
the simulator's rival `linux`, and the program prints both results side by side. Each
direction takes three minutes more than --minutes.

    scripts/kim2015_kernel.py --minutes 10
"""

import argparse
import collections
import json
import os
import pathlib
import random
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
NODES = range(2, 32)
PORT = 9000
PACKET = 39
QUEUE = 4
# Seconds for the mesh to form, and then seconds within which all nodes start.
FORM_S = 120
SPREAD_S = 60
# Pause in seconds after a failed connection.
AGAIN_S = 10
# Only sockets for all protocols see outgoing packets.
ETH_P_ALL = 3
TCP = 6


class Segments:
    """Counts the outgoing and incoming TCP segments with data of this computer."""

    def __init__(self):
        self.socket = socket.socket(
            socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)
        )
        self.socket.setblocking(False)
        self.out = collections.Counter()
        self.came = 0

    def read(self):
        while True:
            try:
                packet, (_, _, kind, _, _) = self.socket.recvfrom(2048)
            except BlockingIOError:
                return
            if len(packet) < 60 or packet[0] >> 4 != 6 or packet[6] != TCP:
                continue
            payload = len(packet) - 40 - 4 * (packet[52] >> 4)
            if payload <= 0:
                continue
            if kind == socket.PACKET_OUTGOING:
                self.out[payload] += 1
            else:
                self.came += 1


class Sender:
    """Has a connection to a node, and makes a packet for it at each interval; at most
    four packets wait."""

    def __init__(self, address, interval, begin):
        self.address, self.interval = address, interval
        self.next = begin
        self.connect_at = begin
        self.socket = None
        self.waiting = 0
        self.made = 0
        self.rest = b""
        self.acked = 0
        self.failures = 0

    def due(self):
        return self.next if self.socket else min(self.next, self.connect_at)

    def tick(self, now, end):
        while self.next <= now and self.next < end:
            self.next += self.interval
            self.made += 1
            self.waiting = min(self.waiting + 1, QUEUE)
        if self.socket is None and self.connect_at <= now:
            self.socket = socket.socket(socket.AF_INET6, socket.SOCK_STREAM)
            self.socket.setblocking(False)
            self.socket.connect_ex((self.address, PORT))
        self.write(now)

    def write(self, now):
        if self.socket is None:
            return
        try:
            while self.rest or self.waiting:
                if not self.rest:
                    self.rest = bytes(PACKET)
                    self.waiting -= 1
                self.rest = self.rest[self.socket.send(self.rest) :]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            if is_closed(self.socket):
                self.lose(now)

    def lose(self, now):
        self.acked += acked(self.socket)
        self.socket.close()
        self.socket, self.rest = None, b""
        self.connect_at = now + AGAIN_S
        self.failures += 1

    def delivered(self):
        return (self.acked + (acked(self.socket) if self.socket else 0)) / PACKET


def is_closed(sock):
    """Whether the connection is neither open nor being opened."""
    state = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
    return state not in (1, 2)


def acked(sock):
    """Bytes that the far end has acknowledged (tcpi_bytes_acked, which counts the SYN)."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
    (count,) = struct.unpack_from("Q", info, 120)
    return max(count - 1, 0)


def inside_down(options, addresses):
    """Sends to all nodes, and returns the results."""
    rng = random.Random(options.seed)
    start = time.monotonic()
    begin = start + FORM_S
    interval = 60.0 / options.load
    senders = [
        Sender(address, interval, begin + rng.uniform(0, SPREAD_S)) for address in addresses
    ]
    end = begin + SPREAD_S + 60 * options.minutes
    segments = Segments()
    while time.monotonic() < end:
        now = time.monotonic()
        for sender in senders:
            sender.tick(now, end)
        segments.read()
        pause = min(sender.due() for sender in senders) - time.monotonic()
        time.sleep(min(max(pause, 0.005), 0.05))
    return {
        "made": [sender.made for sender in senders],
        "delivered": [sender.delivered() for sender in senders],
        "failures": sum(sender.failures for sender in senders),
        "segments": dict(segments.out),
    }


def inside_up(options, _):
    """Receives the data of all nodes, and returns the results."""
    end = time.monotonic() + FORM_S + SPREAD_S + 60 * options.minutes
    taken = collections.Counter()
    selector = selectors.DefaultSelector()
    listener = socket.create_server(
        (os.environ["REDPOLL_HOST"], PORT), family=socket.AF_INET6, backlog=64
    )
    listener.setblocking(False)
    selector.register(listener, selectors.EVENT_READ, None)
    segments = Segments()
    while time.monotonic() < end:
        for key, _ in selector.select(0.05):
            if key.data is None:
                connection, (peer, *_) = listener.accept()
                connection.setblocking(False)
                selector.register(connection, selectors.EVENT_READ, peer)
                continue
            try:
                data = key.fileobj.recv(65536)
            except OSError:
                data = b""
            taken[key.data] += len(data)
            if not data:
                selector.unregister(key.fileobj)
                key.fileobj.close()
        segments.read()
    delivered = [count / PACKET for count in taken.values()]
    return {
        "delivered": delivered + [0.0] * (len(NODES) - len(delivered)),
        "segments": {"all that came": segments.came},
    }


def jain(values):
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 0.0


def settings(options, way):
    """Returns the changes of the study's scene, which are the same for both servers."""
    pairs = {
        "tcp.transport": "blip",
        "rivals.blip_corrections": "counter, syn, numbers",
        "rivals.blip_window": options.window,
        "medium.tx_power": "-17 dBm",
        "medium.path_loss_exponent": "3.2",
        "seed": options.seed,
    }
    apps = ["readings"] if way == "up" else [f"readings-{node}" for node in NODES]
    for app in apps:
        pairs[f"apps.{app}.interval"] = f"{60_000 // options.load} ms"
        pairs[f"apps.{app}.start"] = f"{FORM_S} s"
        pairs[f"apps.{app}.start_spread"] = f"{SPREAD_S} s"
    return pairs, apps


def call(command, what):
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{what} failed with exit code {result.returncode}")
    return result.stdout


def scene_of(options, folder, way):
    name = f"five-hops-tcp-{way}"
    study = [options.program, "study", "kim2015", "--figure", "5b", "--scenes", folder]
    call(study, "writing the study's scenes")
    return str(pathlib.Path(folder, f"{name}.toml"))


def against_model(options, folder, way):
    """Runs the mesh in virtual time against the simulator's rival `linux`."""
    pairs, _ = settings(options, way)
    minutes = (FORM_S + SPREAD_S) / 60 + options.minutes
    pairs |= {"border.host_transport": "linux", "duration": f"{minutes} min"}
    report = pathlib.Path(folder, "model.json")
    command = [options.program, "run", scene_of(options, folder, way), "--json", str(report)]
    for key, value in pairs.items():
        command += ["--set", f"{key}={value}"]
    call(command, "the run in virtual time")
    flows = json.loads(report.read_text())["flows"]
    flows = [flow for flow in flows if flow["name"].startswith("readings")]
    return {
        "made": [flow["readings"]["made"] for flow in flows],
        "delivered": [flow["readings"]["delivered"] for flow in flows],
        "segments": {"all": sum(flow["segments_sent"] for flow in flows)},
    }


def against_kernel(options, folder, way):
    """Runs the mesh in real time against this computer's TCP."""
    pairs, apps = settings(options, way)
    if way == "down":
        # This computer sends the readings, so the simulated host's applications never run.
        pairs |= {f"apps.{app}.when": "never" for app in apps}
        for app in apps:
            del pairs[f"apps.{app}.start_spread"]
    hosts, found = pathlib.Path(folder, "hosts"), pathlib.Path(folder, "found.json")
    command = [options.program, "up", scene_of(options, folder, way)]
    command += ["--join", "namespace", "--hosts", str(hosts)]
    for key, value in pairs.items():
        command += ["--set", f"{key}={value}"]
    command += ["--", sys.executable, __file__, "--inside", way, "--found", str(found)]
    command += ["--hosts", str(hosts), "--minutes", str(options.minutes)]
    command += ["--load", str(options.load), "--seed", str(options.seed)]
    call(command, "the mesh in real time")
    return json.loads(found.read_text())


def inside(options):
    lines = [line.split() for line in pathlib.Path(options.hosts).read_text().splitlines()]
    of_name = {words[1].split(".")[0]: words[0] for words in lines if len(words) > 1}
    addresses = [of_name[f"node-{node}"] for node in NODES]
    way = {"down": inside_down, "up": inside_up}[options.inside]
    pathlib.Path(options.found).write_text(json.dumps(way(options, addresses)))


def arrived(found, model):
    """Returns the percentage of the packets that arrived. In an upstream run against the kernel the
    number of packets made is unknown, so the model's number is used."""
    return 100 * sum(found["delivered"]) / sum(found.get("made", model["made"]))


def tell(way, kernel, model):
    made = sum(model["made"])
    print(f"\n{way}stream, {made} packets in virtual time")
    print(f"  {'':38}{'kernel':>10}{'model':>10}")

    def row(name, of):
        print(f"  {name:38}{of(kernel):10.3f}{of(model):10.3f}")

    row("packets that arrived, %", lambda it: arrived(it, model))
    row("Jain's index", lambda it: jain(it["delivered"]))
    row(
        "segments with data per packet"
        + (" (kernel: received segments)" if way == "up" else ""),
        lambda it: sum(it["segments"].values()) / max(sum(it["delivered"]), 1),
    )
    if way == "down":
        sizes = collections.Counter({int(size): n for size, n in kernel["segments"].items()})
        print(f"  connections that failed: {kernel['failures']}")
        text = ", ".join(f"{size} B: {count}" for size, count in sizes.most_common(8))
        print(f"  the kernel's segments: {text}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--way", choices=["up", "down", "both"], default="both")
    parser.add_argument("--minutes", type=int, default=10, help="minutes of traffic (default: 10)")
    parser.add_argument(
        "--load", type=int, default=60, help="packets per minute of each node (default: 60)"
    )
    parser.add_argument("--window", default="40 B", help="window of BLIP's TCP (default: 40 B)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="write the results to this file")
    parser.add_argument("--program", default=str(ROOT / "target/release/redpoll"))
    for hidden in ["--inside", "--found", "--hosts"]:
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if options.inside:
        inside(options)
        return
    if not pathlib.Path(options.program).is_file():
        build = "cargo build --release -p redpoll"
        sys.exit(f"no program {options.program}: build it with `{build}`, or name it by --program")
    found = {}
    for way in ["down", "up"] if options.way == "both" else [options.way]:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{way}stream: in virtual time", file=sys.stderr)
            model = against_model(options, folder, way)
            minutes = options.minutes + (FORM_S + SPREAD_S) // 60
            print(f"{way}stream: in real time, {minutes} min", file=sys.stderr)
            kernel = against_kernel(options, folder, way)
        found[way] = {"kernel": kernel, "model": model}
        tell(way, kernel, model)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
