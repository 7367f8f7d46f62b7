#!/usr/bin/env python3
"""Saturated senders, one receiver: unslotted CSMA-CA of IEEE 802.15.4.

An independent simulation, with which the simulator's radio and MAC are compared.
It shares no code with them and follows the standard alone (IEEE 802.15.4-2015,
clause numbers below). All nodes hear one another, two simultaneous frames destroy
each other, and every sender always has a frame for the receiver. Senders start at
random moments, because with synchronous clocks they would collide more often.

    contention.py [--ifs off|minimum|sequential] [--assessment whole|end]
                  [--begin random|together] [--touching] [--acknowledgments ordinary|safe]
                  [--bytes N] [--retries N] [--seconds S] [--seed N] SENDERS...

prints a line for each number of senders: senders, acknowledged frames per
second, and the share of the sent frames that were not acknowledged.

Times are in microseconds. An interval contains its start and not its end.
"""

import argparse
import heapq
import random

OCTET = 32  # 250 kb/s (12.1)
HEADER = 6 * OCTET  # preamble, start of frame, length (12.1.2)
PERIOD = 320  # aUnitBackoffPeriod, 20 symbols (table 8-93)
CCA = 128  # phyCcaDuration, 8 symbols (10.2.7)
TURNAROUND = 192  # aTurnaroundTime, 12 symbols (table 11-1)
ACK = HEADER + 5 * OCTET
ACK_WAIT = 864  # macAckWaitDuration, 54 symbols (6.4.3)
LIFS, SIFS, SIFS_MAX_BYTES = 640, 192, 18  # 40 and 12 symbols, aMaxSIFSFrameSize
MIN_BE, MAX_BE, MAX_BACKOFFS = 3, 5, 4  # macMinBE, macMaxBE, macMaxCSMABackoffs


class Channel:
    """The last few frames on the air, as [start, end, sender, destroyed, safe].
    A safe frame is received even if another frame overlaps it."""

    def __init__(self, touching):
        self.frames = []
        self.touching = touching  # whether an assessment detects a frame that starts when it ends

    def busy(self, begin, end):
        last = end + 1 if self.touching else end
        return any(b < last and e > begin for b, e, *_ in self.frames)

    def send(self, begin, end, who, safe=False):
        self.frames = [f for f in self.frames if f[1] > begin - 10_000]
        frame = [begin, end, who, False, safe]
        for other in self.frames:
            if other[0] < end and other[1] > begin:
                other[3] = not other[4]
                frame[3] = not safe
        self.frames.append(frame)
        return frame

    def sends(self, who, begin, end):
        return any(w == who and b < end and e > begin for b, e, w, *_ in self.frames)


class Sender:
    def __init__(self, number):
        self.number = number
        self.retries = self.backoffs = 0
        self.exponent = MIN_BE
        self.earliest = 0  # end of the interframe space


def simulate(senders, args):
    octets, retries, ifs, assessment = args.bytes, args.retries, args.ifs, args.assessment
    rng, channel, events, count = random.Random(args.seed), Channel(args.touching), [], 0
    air = HEADER + octets * OCTET
    space = LIFS if octets > SIFS_MAX_BYTES else SIFS
    sent = acknowledged = 0

    def at(time, step, *facts):
        nonlocal count
        count += 1
        heapq.heappush(events, (time, count, step, facts))

    def back_off(now, node):
        periods = rng.randrange(1 << node.exponent)
        # The next frame must not start within the interframe space.
        at(max(now + periods * PERIOD, node.earliest - CCA - TURNAROUND), assess, node)

    def start(now, node):  # 6.2.5.1: NB = 0, BE = macMinBE
        node.backoffs, node.exponent = 0, MIN_BE
        back_off(now, node)

    def new_frame(now, node):
        node.retries = 0
        start(now, node)

    def assess(now, node):
        at(now + CCA, assessed, node, now)

    def assessed(now, node, since):
        since = since if assessment == "whole" else now - 1
        if not channel.busy(since, now):
            at(now + TURNAROUND, transmit, node)
        elif node.backoffs == MAX_BACKOFFS:  # channel access failure
            new_frame(now, node)
        else:
            node.backoffs += 1
            node.exponent = min(node.exponent + 1, MAX_BE)
            back_off(now, node)

    def transmit(now, node):
        at(now + air, transmitted, node, channel.send(now, now + air, node.number))

    def transmitted(now, node, frame):
        begin, end, _, ruined, _ = frame
        # A receiver that turns around for an acknowledgement, or sends one, is deaf.
        deaf = channel.sends("receiver", begin, end + TURNAROUND)
        if ruined or deaf:
            at(now + ACK_WAIT, missed, node)
        else:
            at(now + TURNAROUND, acknowledge, node)

    def acknowledge(now, node):
        safe = args.acknowledgments == "safe"
        at(now + ACK, arrived, node, channel.send(now, now + ACK, "receiver", safe))

    def arrived(now, node, ack):
        nonlocal sent, acknowledged
        if ack[3]:
            at(ack[0] - TURNAROUND + ACK_WAIT, missed, node)
            return
        sent += 1
        acknowledged += 1
        node.earliest = now + (0 if ifs == "off" else space)
        new_frame(node.earliest if ifs == "sequential" else now, node)

    def missed(now, node):
        nonlocal sent
        sent += 1
        node.retries += 1
        (new_frame if node.retries > retries else start)(now, node)

    for number in range(senders):
        begin = 0 if args.begin == "together" else rng.randrange(100_000)
        at(begin, new_frame, Sender(number))
    while events and events[0][0] < args.seconds * 1_000_000:
        now, _, step, facts = heapq.heappop(events)
        step(now, *facts)
    return acknowledged / args.seconds, 1 - acknowledged / sent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ifs", choices=["off", "minimum", "sequential"], default="minimum")
    parser.add_argument(
        "--assessment",
        choices=["whole", "end"],
        default="whole",
        help="an assessment detects frames during its whole time, or only at its end, as in ns-3",
    )
    parser.add_argument(
        "--begin",
        choices=["random", "together"],
        default="random",
        help="senders start at random moments, or with synchronous clocks",
    )
    parser.add_argument(
        "--touching",
        action="store_true",
        help="an assessment also detects a frame that starts at the moment when it ends",
    )
    parser.add_argument(
        "--acknowledgments",
        choices=["ordinary", "safe"],
        default="ordinary",
        help="safe: acknowledgments arrive even if other frames overlap them",
    )
    parser.add_argument("--bytes", type=int, default=100, help="length of a frame, FCS included")
    parser.add_argument("--retries", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("senders", type=int, nargs="+")
    args = parser.parse_args()
    for senders in args.senders:
        rate, collisions = simulate(senders, args)
        print(f"{senders} {rate:.2f} {collisions:.4f}")


if __name__ == "__main__":
    main()
