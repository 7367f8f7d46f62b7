#!/usr/bin/env python3
"""Saturated senders, one receiver: a Markov renewal model of unslotted CSMA-CA.

Computes the results of contention.py without a simulation: all nodes hear one another,
two simultaneous frames destroy each other, and every sender always has a frame for
the receiver (IEEE 802.15.4-2015, clause numbers below).

    saturation.py [--ifs off|minimum|sequential] [--bytes N] SENDERS...

prints a line for each number of senders: senders, acknowledged frames per second,
and the share of the sent frames that were not acknowledged.

The channel becomes free at an epoch, and a cycle lasts from one epoch to the next.
Senders affect one another only through the channel. Given the channel's past and the
sender of each frame, the backoffs of the senders are independent; so the probability of
a cycle is a product over senders. There are three kinds of cycle:

- success: one sender assesses the channel first, no other sender does before the frame
  starts, and the acknowledgment arrives;
- collision: other senders also assess the channel before the frame starts;
- spoiled: no other sender does, but assessments in the gap before the acknowledgment
  find the channel idle, and the frames after them destroy the acknowledgment.

The state at an epoch is the kind of the cycle that ends there, the backoffs of the
one or two senders that determine the kind, and one distribution for all other
senders: NB and time to the next assessment. A cycle maps the distributions at its
start to those at its end; the program repeats this until the fixed point. The
assumption is that all other senders have this same distribution, independent of
earlier cycles. With two contending senders, there is at most one such other
sender.

The number of retries has no effect, because a retry starts like a new frame.

Times are in slots of 32 µs; all times of the standard are multiples of a slot. Senders
have random phases within a slot: if a frame starts or ends in a slot, half of the
assessments in this slot are before that moment.
"""

import argparse
from itertools import accumulate
from operator import mul

SLOTS_PER_SECOND = 31_250  # 32 µs, an octet at 250 kb/s (12.1)
HEADER = 6  # preamble, start of frame, length (12.1.2)
PERIOD = 10  # aUnitBackoffPeriod, 20 symbols (table 8-93)
CCA = 4  # phyCcaDuration, 8 symbols (10.2.7)
TURNAROUND = 6  # aTurnaroundTime, 12 symbols (table 11-1)
ACK = HEADER + 5
ACK_WAIT = 27  # macAckWaitDuration, 54 symbols (6.4.3)
LIFS, SIFS, SIFS_MAX_BYTES = 20, 6, 18  # 40 and 12 symbols, aMaxSIFSFrameSize
MIN_BE, MAX_BE, MAX_BACKOFFS = 3, 5, 4  # macMinBE, macMaxBE, macMaxCSMABackoffs

# Number of backoff periods to draw from, by NB. Each new frame starts with the first number.
WINDOWS = [1 << min(MIN_BE + nb, MAX_BE) for nb in range(MAX_BACKOFFS + 1)]
LENGTH = ACK_WAIT + (1 << MAX_BE) * PERIOD
# Probability that a second assessment also finds the channel idle, by its delay in slots after a
# first assessment: the second assessment ends before the frame that follows the first one starts.
VULNERABLE = [0.5] + (TURNAROUND - 1) * [1.0] + [0.5]
# Probability that an assessment between a frame and its acknowledgment finds the channel idle, by
# its delay in slots after the end of the frame.
GAP = [0.5] + (TURNAROUND - CCA - 1) * [1.0] + [0.5]

# A distribution of senders: a row for each NB, with the mass by slots until the next assessment.


def nobody():
    return [[0.0] * LENGTH for _ in WINDOWS]


def back_off(senders, since, mass=1.0, nb=0, least=0):
    """Adds senders that start a backoff with this NB at slot `since`."""
    for periods in range(WINDOWS[nb]):
        senders[nb][since + max(periods * PERIOD, least)] += mass / WINDOWS[nb]
    return senders


def add(senders, more, weight=1.0, earlier=0):
    """Adds another distribution with a weight, shifted by `earlier` slots."""
    for row, other in zip(senders, more):
        for slot, mass in enumerate(other[earlier:]):
            row[slot] += weight * mass


def busy(senders, share):
    """Lets this share of the senders that assess the channel in this slot find it busy."""
    assess = [share * row[0] for row in senders]
    for nb, mass in enumerate(assess):
        senders[nb][0] -= mass
        if mass:
            back_off(senders, CCA, mass, (nb + 1) % len(WINDOWS))


def advance(senders):
    for row in senders:
        del row[0]
        row.append(0.0)


def after_busy(senders, slots):
    """Returns the distribution when the channel becomes free, after `slots` busy slots."""
    senders = [row[:] for row in senders]
    for _ in range(slots):
        busy(senders, 1.0)
        advance(senders)
    busy(senders, 0.5)
    return senders


class Group:
    """A number of independent senders with the same distribution."""

    def __init__(self, count, senders):
        mass = sum(map(sum, senders)) if count else 1.0
        self.count = count
        self.senders = [[value / mass for value in row] for row in senders]
        self.assess = [sum(column) for column in zip(*self.senders)] + [0.0] * len(VULNERABLE)
        self.later = list(accumulate(reversed(self.assess)))[::-1]

    def around(self, slot):
        """Returns the mass of the senders that join an assessment in this slot, for each of the
        vulnerable slots, and the mass of the senders that assess the channel later."""
        last = slot + len(VULNERABLE) - 1
        joins = [s * self.assess[slot + i] for i, s in enumerate(VULNERABLE)]
        return joins, self.later[last] - self.assess[last] / 2

    def seen_from(self, weights):
        """Returns the senders that assess the channel too late to join an assessment; `weights` are
        the weights of that assessment's slots."""
        seen = nobody()
        until = max((slot + 1 for slot, weight in enumerate(weights) if weight > 1e-9), default=0)
        weights = weights[:until]
        last = len(VULNERABLE) - 1
        for row, out in zip(self.senders, seen):
            for slot in range(last, LENGTH if weights and any(row) else 0):
                out[slot] = sum(map(mul, weights, row[slot:]))
            out[last] /= 2
        return seen


def product(chances, counts):
    result = 1.0
    for chance, count in zip(chances, counts):
        result *= chance**count
    return result


def without(counts, one):
    return [count - (index == one) for index, count in enumerate(counts)]


class Idle:
    """Sums over all idle times after the epochs."""

    def __init__(self, epochs):
        self.alone = 0.0  # probability that no sender joins a first assessment
        self.joined = [0.0] * len(VULNERABLE)  # probability that the last sender joins, by slots
        self.late_alone, self.late_joined = nobody(), nobody()  # too late to join
        self.between = [0.0] * len(VULNERABLE)  # by slots before the last sender
        self.collided = 0.0  # frames that collide
        self.time = 0.0
        for weight, groups in epochs:
            self.follow(weight, [group for group in groups if group.count])

    def follow(self, weight, groups):
        counts = [group.count for group in groups]
        alone = [[0.0] * LENGTH for _ in groups]
        joined = [[0.0] * LENGTH for _ in groups]
        for slot in range(LENGTH):
            joins, late = zip(*(group.around(slot) for group in groups))
            for index, group in enumerate(groups):
                chance = weight * group.count * group.assess[slot]
                others = without(counts, index)
                if chance * product([sum(j) + l for j, l in zip(joins, late)], others) < 1e-10:
                    continue
                none = chance * product(late, others)
                self.alone += none
                self.time += none * slot
                for j, count in enumerate(others):
                    if none * count > 0:
                        alone[j][slot] += none * count / late[j]
                self.collide(slot, chance, others, joins, late, joined)
        for group, a, j in zip(groups, alone, joined):
            add(self.late_alone, group.seen_from(a))
            add(self.late_joined, group.seen_from(j))

    def collide(self, slot, chance, others, joins, late, joined):
        for last in range(len(VULNERABLE)):
            # `last` is the slot of the last sender that joins: others join earlier or are too late.
            early = [j[:last] + [j[last] / 2] for j in joins]
            free = [l + sum(e) for l, e in zip(late, early)]
            for index, count in enumerate(others):
                rest = without(others, index)
                one = chance * count * joins[index][last]
                if one == 0.0:
                    continue
                one *= product(free, rest)
                self.joined[last] += one
                self.time += one * (slot + last)
                self.collided += 2 * one
                for j, number in enumerate(rest):
                    if one * number > 0:
                        each = one * number / free[j]
                        joined[j][slot] += each
                        for offset, mass in enumerate(early[j]):
                            self.collided += each * mass
                            self.between[last - offset] += each * mass


class Saturation:
    def __init__(self, senders, octets, ifs):
        self.count = senders
        self.until_end = CCA + TURNAROUND + HEADER + octets  # end of a frame, since its assessment
        space = SIFS if octets <= SIFS_MAX_BYTES else LIFS
        since, least = {
            "off": (0, 0),
            "minimum": (0, space - CCA - TURNAROUND),
            "sequential": (space, 0),
        }[ifs]
        self.next_frame = back_off(nobody(), since, least=least)
        self.retry = back_off(nobody(), ACK_WAIT)

    def collision(self, idle):
        """Returns the epoch after a collision."""
        first, rest, chance = nobody(), nobody(), sum(idle.joined)
        for slots, weight in enumerate(idle.joined):
            back_off(first, ACK_WAIT - slots, weight)
            if chance:
                # The remaining senders are spread over hundreds of slots, so their distribution is
                # assumed to be independent of the slot in which the last sender joined.
                add(rest, idle.late_joined, weight / chance, earlier=slots)
        rest = after_busy(rest, self.until_end)
        for slots, mass in enumerate(idle.between):
            back_off(rest, ACK_WAIT - slots, mass)
        groups = [Group(1, self.retry), Group(1, first), Group(self.count - 2, rest)]
        return chance, groups

    def gap(self, late):
        """Returns the mass of the senders that assess the channel in each slot of the gap before an
        ACK, and the other senders."""
        for _ in range(self.until_end):
            busy(late, 1.0)
            advance(late)
        inside = []
        for share in GAP:
            busy(late, 1.0 - share)
            inside.append(sum(row[0] for row in late))
            for row in late:
                row[0] = 0.0
            advance(late)
        return inside, late

    def spoiled(self, alone, inside, late, outside):
        """Returns the epoch after a destroyed acknowledgment: probability, groups, time, frames."""
        sender, rest, chance, time, frames = nobody(), nobody(), 0.0, 0.0, 0.0
        for last, mass in enumerate(inside):
            early = inside[:last] + [mass / 2]
            free = outside + sum(early)
            one = alone * (self.count - 1) * mass * free ** (self.count - 2)
            chance += one
            slots = last + self.until_end
            time += one * slots
            frames += one * (2 + (self.count - 2) * sum(early) / free)
            add(sender, after_busy(self.retry, slots), one)
            add(rest, after_busy(late, slots - len(GAP)), one / free)
            for offset, spoils in enumerate(early):
                back_off(rest, ACK_WAIT + offset - last, one * spoils / free)
        groups = [Group(1, self.retry), Group(1, sender), Group(self.count - 2, rest)]
        return chance, groups, time, frames

    def cycle(self, epochs):
        """Returns the next epochs, acknowledged frames per second, and the lost share."""
        idle = Idle(epochs)
        late = Group(self.count - 1, idle.late_alone).senders
        inside, late = self.gap(late)
        outside = 1.0 - sum(inside)
        success = idle.alone * outside ** (self.count - 1)
        time = idle.time + sum(idle.joined) * self.until_end
        time += idle.alone * self.until_end + success * (TURNAROUND + ACK)
        frames = idle.collided + success
        rest = after_busy(late, TURNAROUND + ACK - len(GAP))
        following = [(success, [Group(1, self.next_frame), Group(self.count - 1, rest)])]
        if self.count > 1:
            *spoiled, more_time, more_frames = self.spoiled(idle.alone, inside, late, outside)
            following += [self.collision(idle), tuple(spoiled)]
            time += more_time
            frames += more_frames
        every = sum(chance for chance, _ in following)
        following = [(chance / every, groups) for chance, groups in following if chance]
        return following, success / time * SLOTS_PER_SECOND, 1.0 - success / frames

    def solve(self):
        start = back_off(nobody(), 0)
        epochs = [(1.0, [Group(1, self.next_frame), Group(self.count - 1, start)])]
        before = 0.0
        for _ in range(100):
            epochs, per_second, lost = self.cycle(epochs)
            if abs(per_second - before) < 1e-5 * per_second:
                return per_second, lost
            before = per_second
        raise SystemExit("saturation.py: the throughput still changes after 100 cycles")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ifs", choices=["off", "minimum", "sequential"], default="minimum")
    parser.add_argument("--bytes", type=int, default=100, help="length of a frame, FCS included")
    parser.add_argument("senders", type=int, nargs="+")
    args = parser.parse_args()
    for senders in args.senders:
        per_second, lost = Saturation(senders, args.bytes, args.ifs).solve()
        print(f"{senders} {per_second:.2f} {lost:.4f}")


if __name__ == "__main__":
    main()
