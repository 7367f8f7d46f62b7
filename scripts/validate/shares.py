#!/usr/bin/env python3
"""Bound of the goodput that bulk TCP flows through one mesh can share.

    shares.py RUN.json [--activity exchange|air] [--delayed-ack 2] [--flows]
    shares.py --check | --frames

RUN.json is the result of `redpoll run SCENARIO --json RUN.json`, in the unit-disk
medium without losses. The bound is for the flows of that run, on the routes that the
run has at its end. The program prints for each kind of share, and with --flows for
each flow, the goodput in kb/s next to the goodput of the run:

- equal: all flows have the same goodput, as great as possible;
- air-time: all flows have the same time on the channel, summed over their hops, as long as
  possible. A flow over h hops then has about 1/h of the goodput of a flow over one hop.

How the bound works. A full segment has 487 bytes in five frames, and each hop sends
all five; the receiver answers every second segment with one frame, which takes the
same hops back. Each flow therefore needs a certain time on each directed link of its
path. Links that can be active at the same time form an independent set of the conflict
graph, and the mesh divides its time among such sets. The least time in which all flows
get the time that they need is a linear program with one variable for each set, a
fractional colouring of the conflict graph. The inverse of this time is the bound. The
program generates the sets that it needs: the next set is an independent set of maximum
weight under the duals. At the end, the lower and the upper bound of the least time must
agree.

The two activities, and their conflicts:

- exchange: a frame with its mean backoff (macMinBE), assessment, turnarounds and link
  acknowledgment occupies the link. Two links conflict if an end of one is an end of the
  other or disturbs it. This assumes that backoffs do not overlap and that nothing
  collides. It is the bound by which `crates/sim/tests/bound.rs` judges lines. It is an upper
  bound for a sender alone; where contenders count down their backoffs at the same time,
  the channel could carry more, up to the bound of `air`.
- air: only the time of frames on the air counts, and a frame and its acknowledgment are
  separate. Two transmissions conflict if they share a node, or if the sender of one
  disturbs the receiver of the other. No schedule of any MAC exceeds this bound with these
  segments and routes.

--activity may be repeated; the default is exchange. --check compares the program with an
exhaustive search over all bases on small meshes, in exact arithmetic, and with closed
forms. --frames prints the lengths of frames that the program assumes.
"""

import argparse
import itertools
import json
import math
import random
import sys
from fractions import Fraction

OCTET_US = 32
PHY_BYTES, ACK_BYTES = 6, 5
PERIOD_US, ASSESSMENT_US, TURNAROUND_US, LIFS_US = 320, 128, 192, 640
MIN_BE = 3

PAYLOAD_BYTES = 487
# Bytes of the frames of a full segment and of an acknowledgment, FCS included, by
# whether the hop's sender is the packet's origin and whether its receiver is the
# destination. crates/sim/tests/validate/shares.rs checks them against a run.
SEGMENT = {
    (True, True): (123, 120, 120, 120, 119),
    (True, False): (125, 120, 120, 120, 119),
    (False, True): (126, 120, 120, 120, 119),
    (False, False): (120, 120, 120, 120, 127),
}
ACKNOWLEDGMENT = {
    (True, True): (46,),
    (True, False): (48,),
    (False, True): (49,),
    (False, False): (51,),
}


def frame_us(octets):
    return (PHY_BYTES + octets) * OCTET_US


def gap_us():
    """Mean time from the previous frame to the first bit: backoff, assessment, turnaround.

    The interframe space runs in parallel, and exceeds a backoff of zero.
    """
    gaps = [max(n * PERIOD_US + ASSESSMENT_US + TURNAROUND_US, LIFS_US) for n in range(1 << MIN_BE)]
    return Fraction(sum(gaps), len(gaps))


def exchange_us(octets):
    return gap_us() + frame_us(octets) + TURNAROUND_US + frame_us(ACK_BYTES)


class Mesh:
    """Nodes by index, and which nodes disturb which."""

    def __init__(self, hears):
        self.hears = hears  # hears[a]: nodes at which a transmission of a arrives

    @classmethod
    def of_positions(cls, positions, reach):
        nodes = range(len(positions))
        near = lambda a, b: a != b and math.dist(positions[a], positions[b]) <= reach
        return cls([{b for b in nodes if near(a, b)} for a in nodes])

    def disturbs(self, sender, receiver):
        return sender == receiver or receiver in self.hears[sender]

    def conflict(self, a, b):
        """Whether two activities (kind, from, to) exclude each other."""
        (kind, i, j), (_, k, l) = a, b
        if {i, j} & {k, l}:
            return True
        if kind == "exchange":
            return any(self.disturbs(x, y) or self.disturbs(y, x) for x in (i, j) for y in (k, l))
        return self.disturbs(i, l) or self.disturbs(k, j)


def demands(paths, weights, activity, per_ack):
    """Time of each activity, in µs, while each flow sends `weights` segments over its path."""
    need = {}

    def add(path, frames, times):
        for at, (a, b) in enumerate(zip(path, path[1:])):
            for octets in frames[(at == 0, at == len(path) - 2)]:
                if activity == "exchange":
                    parts = [(("exchange", a, b), exchange_us(octets))]
                else:
                    parts = [(("air", a, b), frame_us(octets)), (("ack", b, a), frame_us(ACK_BYTES))]
                for key, time in parts:
                    need[key] = need.get(key, 0) + times * time

    for path, weight in zip(paths, weights):
        add(path, SEGMENT, weight)
        add(path[::-1], ACKNOWLEDGMENT, Fraction(weight) / per_ack)
    return need


class Conflicts:
    """The conflict graph as bit masks."""

    def __init__(self, count, conflict):
        self.against = [0] * count
        for a, b in itertools.combinations(range(count), 2):
            if conflict(a, b):
                self.against[a] |= 1 << b
                self.against[b] |= 1 << a

    def heaviest(self, weights, hurry=None):
        """An independent set of maximum weight, by branch and bound over a clique cover.

        With `hurry`, the search ends after that many steps if it has a set heavier than 1.
        Returns the weight and the set.
        """
        order = sorted((i for i, w in enumerate(weights) if w > 1e-13), key=lambda i: -weights[i])
        # Bit masks by rank, so that the lowest bit of a mask is its heaviest member.
        rank = {i: at for at, i in enumerate(order)}
        weight_of = [weights[i] for i in order]
        against = [sum(1 << rank[j] for j in order if self.against[i] >> j & 1) for i in order]
        best, steps = [0.0, 0], 0

        def bound(left):
            # Each clique contributes at most its heaviest member.
            total = 0.0
            while left:
                low = left & -left
                i = low.bit_length() - 1
                total += weight_of[i]
                left ^= low
                common = against[i] & left
                while common:
                    low = common & -common
                    left ^= low
                    common &= against[low.bit_length() - 1]
            return total

        stack = [((1 << len(order)) - 1, 0, 0.0)]
        while stack:
            left, chosen, weight = stack.pop()
            steps += 1
            if weight > best[0] + 1e-13:
                best = [weight, chosen]
            if hurry and steps > hurry and best[0] > 1 + 1e-9:
                break
            if not left or weight + bound(left) <= best[0] + 1e-12:
                continue
            low = left & -left
            i = low.bit_length() - 1
            stack.append((left ^ low, chosen, weight))
            stack.append((left & ~(against[i] | low), chosen | low, weight + weight_of[i]))
        members = [i for i in order if best[1] >> rank[i] & 1]
        return best[0], members


def least_time(need, conflicts):
    """Least total time of independent sets that covers `need`; returns it and its lower bound.

    Revised simplex with generated columns. The first basis has one set for each activity.
    """
    count = len(need)
    inverse = [[float(i == j) for j in range(count)] for i in range(count)]
    level = [float(x) for x in need]
    for _ in range(20_000):
        duals = [sum(row[j] for row in inverse) for j in range(count)]
        weight, inside = conflicts.heaviest(duals, hurry=200)
        if weight <= 1 + 1e-9:
            # The search was complete. Duals are feasible after division by the greatest weight.
            lower = sum(y * float(d) for y, d in zip(duals, need)) / max(weight, 1.0)
            return sum(level), lower
        column = [sum(row[j] for j in inside) for row in inverse]
        leave = min(
            (i for i in range(count) if column[i] > 1e-11),
            key=lambda i: (level[i] / column[i], i),
        )
        step = level[leave] / column[leave]
        pivot = [x / column[leave] for x in inverse[leave]]
        for i in range(count):
            if i != leave and column[i]:
                inverse[i] = [x - column[i] * p for x, p in zip(inverse[i], pivot)]
                level[i] = max(0.0, level[i] - column[i] * step)
        inverse[leave], level[leave] = pivot, step
    raise RuntimeError("the simplex method has found no solution in 20,000 steps")


def bound_kbps(mesh, paths, weights, activity="exchange", per_ack=2):
    """Returns the goodput of each flow if the goodputs are proportional to `weights`."""
    need = demands(paths, weights, activity, per_ack)
    keys = list(need)
    conflicts = Conflicts(len(keys), lambda a, b: mesh.conflict(keys[a], keys[b]))
    total, lower = least_time([need[key] for key in keys], conflicts)
    if total - lower > 1e-7 * total:
        raise RuntimeError(f"the least time is not exact: it is between {lower} and {total}")
    return [8_000 * PAYLOAD_BYTES * float(weight) / total for weight in weights]


def air_time_weights(paths, activity, per_ack):
    """Returns the segments that each flow sends if all flows have the same time on the channel."""
    return [1 / Fraction(sum(demands([path], [1], activity, per_ack).values())) for path in paths]


def jain(values):
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 0.0


def read(name):
    """Returns the mesh of a run's result, and the names, paths and goodputs of its flows."""
    with open(name, encoding="utf-8") as file:
        run = json.load(file)
    medium = run["medium"]
    given = medium["listed_links"] or medium["measured_links"]
    lossy = [medium.get(key) for key in ("success_ratio_tx", "success_ratio_rx")] != [1.0, 1.0]
    if medium["model"] != "unit-disk" or given or lossy:
        sys.exit(f"{name}: the bound needs positions, the unit-disk medium and success ratios of 1")
    nodes = run["nodes"]
    index = {node["name"]: at for at, node in enumerate(nodes)}
    reach = max(medium["transmission_range_m"], medium["interference_range_m"])
    mesh = Mesh.of_positions([node["position_m"] for node in nodes], reach)
    names, paths, goodputs = [], [], []
    for flow in run["flows"]:
        path = [index[flow["from"]]]
        while path[-1] != index[flow["to"]]:
            parent = nodes[path[-1]]["parent"]
            if parent is None or len(path) > len(nodes):
                sys.exit(f"{name}: {flow['name']} has no path to {flow['to']} along the parents")
            path.append(index[parent])
        names.append(flow["name"])
        paths.append(path)
        goodputs.append(flow["goodput_kbps"])
    return mesh, names, paths, goodputs


def report(args):
    mesh, names, paths, goodputs = read(args.run)
    shares = {}
    for activity in args.activity or ["exchange"]:
        air_time = air_time_weights(paths, activity, args.delayed_ack)
        for kind, weights in (("equal", [Fraction(1)] * len(paths)), ("air-time", air_time)):
            shares[kind, activity] = bound_kbps(mesh, paths, weights, activity, args.delayed_ack)
    columns = [("run", goodputs), *((" ".join(key), values) for key, values in shares.items())]
    print(f"{'kb/s':<22}{'least':>8}{'greatest':>10}{'total':>10}{'Jain':>8}")
    for head, values in columns:
        line = (min(values), max(values), sum(values), jain(values))
        print(f"{head:<22}{line[0]:8.3f}{line[1]:10.3f}{line[2]:10.3f}{line[3]:8.3f}")
    if args.flows:
        print("flow hops " + " ".join(head.replace(" ", "/") for head, _ in columns))
        for at, name in enumerate(names):
            values = " ".join(f"{column[at]:.3f}" for _, column in columns)
            print(f"{name} {len(paths[at]) - 1} {values}")


def exhaustive(need, conflict):
    """Returns the least time of the linear program by trying each basis, in exact arithmetic."""
    count = len(need)
    sets = [
        chosen
        for size in range(1, count + 1)
        for chosen in itertools.combinations(range(count), size)
        if not any(conflict(a, b) for a, b in itertools.combinations(chosen, 2))
    ]
    best = None
    for basis in itertools.combinations(sets, count):
        rows = [
            [Fraction(int(i in chosen)) for chosen in basis] + [Fraction(need[i])]
            for i in range(count)
        ]
        levels = solve(rows)
        if levels is not None and min(levels) >= 0 and (best is None or sum(levels) < best):
            best = sum(levels)
    return best


def solve(rows):
    """Solves linear equations by Gauss-Jordan elimination; None if the matrix is singular."""
    count = len(rows)
    for column in range(count):
        pivot = next((r for r in range(column, count) if rows[r][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        first = rows[column][column]
        rows[column] = [x / first for x in rows[column]]
        for r in range(count):
            if r != column and rows[r][column]:
                factor = rows[r][column]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[column])]
    return [row[count] for row in rows]


def check():
    """Prints the number of comparisons, and fails at the first that differs."""
    done = 0

    def same(found, wanted, what):
        nonlocal done
        assert abs(found - wanted) <= 1e-7 * abs(wanted), f"{what}: {found}, wanted {wanted}"
        done += 1

    # Random conflict graphs. A ring of five is the smallest whose bound exceeds that of every clique.
    rng = random.Random(1)
    ring = [(a, (a + 1) % 5) for a in range(5)]
    graphs = [(5, set(ring), [7] * 5)]
    while len(graphs) < 25:
        count = rng.randint(2, 5)
        pairs = list(itertools.combinations(range(count), 2))
        density = rng.uniform(0.45, 1.0)
        edges = {pair for pair in pairs if rng.random() < density}
        graphs.append((count, edges, [rng.randint(1, 9) for _ in range(count)]))
    for count, edges, need in graphs:
        conflict = lambda a, b: (a, b) in edges or (b, a) in edges
        found, lower = least_time(need, Conflicts(count, conflict))
        wanted = exhaustive(need, conflict)
        same(found, float(wanted), f"{count} activities, {sorted(edges)}, {need}")
        same(lower, found, "lower bound")
    same(least_time([7] * 5, Conflicts(5, lambda a, b: (a - b) % 5 in (1, 4)))[0], 17.5, "ring")

    # Small meshes whose nodes all send to node 0: random trees over random neighbours.
    meshes = 0
    while meshes < 12:
        count = rng.randint(2, 4)
        positions = [(rng.uniform(0, 100), rng.uniform(0, 100)) for _ in range(count)]
        mesh = Mesh.of_positions(positions, 50)
        parents = {0: None}
        for _ in range(count):
            for node in range(count):
                near = [p for p in sorted(mesh.hears[node]) if p in parents]
                if node not in parents and near:
                    parents[node] = rng.choice(near)
        if len(parents) < count:
            continue
        paths = [[node] for node in range(1, count)]
        for path in paths:
            while path[-1]:
                path.append(parents[path[-1]])
        need = demands(paths, [Fraction(1)] * len(paths), "exchange", 2)
        keys = list(need)
        if len(keys) > 5:
            # Keeps one direction only, so that the exhaustive search remains possible.
            keys = [key for key in keys if parents[key[1]] == key[2]]
        conflict = lambda a, b: mesh.conflict(keys[a], keys[b])
        found, _ = least_time([need[key] for key in keys], Conflicts(len(keys), conflict))
        same(found, float(exhaustive([need[key] for key in keys], conflict)), f"{positions}")
        meshes += 1

    # The sum of the standard's times, by hand: docs/model/throughput.md.
    line = lambda hops: Mesh.of_positions([(40 * n, 0) for n in range(hops + 1)], 50)
    one = bound_kbps(line(1), [[1, 0]], [Fraction(1)])[0]
    same(one, 3_896 / 32.188, "one hop")
    # Two and three hops are in one collision domain, so the time of a segment is the sum over the
    # hops. The fifth hop of a line is the first hop that may be active at the same time as another.
    for hops in (2, 3):
        path = list(range(hops, -1, -1))
        time = sum(demands([path], [1], "exchange", 2).values())
        same(bound_kbps(line(hops), [path], [1])[0], 3_896_000 / float(time), f"{hops} hops")
    # Two hidden senders of one receiver, and two pairs out of reach of each other.
    star = Mesh([{1, 2}, {0}, {0}])
    same(sum(bound_kbps(star, [[1, 0], [2, 0]], [1, 1])), one, "hidden senders")
    apart = Mesh([{1}, {0}, {3}, {2}])
    same(bound_kbps(apart, [[1, 0], [3, 2]], [1, 1])[1], one, "two pairs")
    # Time on the air only: five frames, half an acknowledgment, and their link acknowledgments.
    air = (602 + 5 * 6 + (46 + 6) / 2 + 5.5 * 11) * 0.032
    same(bound_kbps(line(1), [[1, 0]], [1], "air")[0], 3_896 / air, "air of one hop")
    print(f"{done} comparisons agree")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", nargs="?", help="result of redpoll run --json")
    parser.add_argument("--activity", action="append", choices=["exchange", "air"])
    parser.add_argument("--delayed-ack", type=int, default=2, help="segments per acknowledgment")
    parser.add_argument("--flows", action="store_true", help="print each flow")
    parser.add_argument("--check", action="store_true", help="compare with exhaustive search")
    parser.add_argument("--frames", action="store_true", help="print the assumed frames")
    args = parser.parse_args()
    if args.check:
        check()
    elif args.frames:
        for frames in (SEGMENT, ACKNOWLEDGMENT):
            for (first, last), lengths in frames.items():
                print(int(first), int(last), *lengths)
    elif args.run:
        report(args)
    else:
        parser.error("name the file of a result, or give --check or --frames")


if __name__ == "__main__":
    main()
