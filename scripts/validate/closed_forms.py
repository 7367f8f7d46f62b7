#!/usr/bin/env python3
"""Published closed forms with which the simulator is compared.

    closed_forms.py throughput ack|no-ack [--assessment]
        kb/s of payload in full frames without addresses (122 bytes of payload),
        after Latré et al., "Throughput and delay analysis of unslotted IEEE
        802.15.4", Journal of Networks 1(1), 2006. --assessment adds two times that
        this formula leaves out: the clear channel assessment and the turnaround
        before sending.
    closed_forms.py frame-errors BYTES DB...
        share of frames of BYTES bytes, FCS included, with an error at these
        signal-to-noise ratios: IEEE 802.15.4-2006, E.4.1.8. Errors in the preamble, the
        start of frame and the length field are included.
"""

import argparse
from fractions import Fraction
from math import comb, exp

OCTET_US = 32
PHY_BYTES, MAC_BYTES, FCS_BYTES, ACK_BYTES = 6, 3, 2, 5
BACKOFF_US = Fraction(7, 2) * 320  # mean of 0 to 7 periods
ASSESSMENT_US, TURNAROUND_US, LIFS_US = 128, 192, 640
PAYLOAD_BYTES = 127 - MAC_BYTES - FCS_BYTES


def throughput_kbps(acknowledged, assessment):
    frame = (PHY_BYTES + MAC_BYTES + PAYLOAD_BYTES + FCS_BYTES) * OCTET_US
    time = BACKOFF_US + frame + LIFS_US
    if acknowledged:
        time += TURNAROUND_US + (PHY_BYTES + ACK_BYTES) * OCTET_US
    if assessment:
        time += ASSESSMENT_US + TURNAROUND_US
    return float(8_000 * PAYLOAD_BYTES / time)


def bit_error_rate(ratio):
    terms = ((-1) ** k * comb(16, k) * exp(20 * ratio * (1 / k - 1)) for k in range(2, 17))
    return 8 / 15 / 16 * sum(terms)


def frame_error_rate(octets, decibels):
    bits = 8 * (PHY_BYTES + octets)
    return 1 - (1 - bit_error_rate(10 ** (decibels / 10))) ** bits


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    forms = parser.add_subparsers(dest="form", required=True)
    throughput = forms.add_parser("throughput")
    throughput.add_argument("mode", choices=["ack", "no-ack"])
    throughput.add_argument("--assessment", action="store_true")
    errors = forms.add_parser("frame-errors")
    errors.add_argument("bytes", type=int)
    errors.add_argument("db", type=float, nargs="+")
    args = parser.parse_args()
    if args.form == "throughput":
        print(f"{throughput_kbps(args.mode == 'ack', args.assessment):.3f}")
    else:
        for decibels in args.db:
            print(f"{frame_error_rate(args.bytes, decibels):.6f}")


if __name__ == "__main__":
    main()
