/*
 * Polls of a sleepy device of OpenThread (otLinkSetPollPeriod) while its TCP communicates. The
 * parent keeps packets for the device until the device polls, so that with a long poll period each
 * window of a connection takes one period. After each packet of TCP, this adapter therefore
 * requests packets at short intervals, which grow to RP_OT_POLL_LONGEST_US, and then stops: idle
 * connections cost no additional polls. Include this header in one file, after openthread_ip6.h and
 * OpenThread's headers link.h and thread.h.
 *
 *   rp_ot_poll_serve   call it in the main loop after rp_ot_ip6_serve, and at the time that it
 *                      returned
 *
 * The adapter calls otLinkSendDataRequest and otThreadGetLinkMode.
 */
#ifndef RP_OPENTHREAD_POLL_H
#define RP_OPENTHREAD_POLL_H

#include <stdint.h>

/* Shortest and longest interval, and the number of polls after which the interval doubles. */
#define RP_OT_POLL_SHORTEST_US 20000u
#define RP_OT_POLL_LONGEST_US 640000u
#define RP_OT_POLL_REPEAT 4

/* All zero at the start. */
struct rp_ot_poll {
    uint32_t packets; /* ip6->packets at the last call */
    uint32_t interval_us;
    uint64_t at; /* time of the next poll if the interval is not 0 */
    uint8_t done; /* polls that were made at the current interval */
};

/* Requests packets from the parent if a poll is due. Returns the time of the next call, or
 * UINT64_MAX. */
static uint64_t rp_ot_poll_serve(struct rp_ot_poll *poll, const struct rp_ot_ip6 *ip6)
{
    uint64_t now = ip6->now(ip6->context);
    if (poll->packets != ip6->packets) {
        poll->packets = ip6->packets;
        if (otThreadGetLinkMode(ip6->instance).mRxOnWhenIdle) {
            return UINT64_MAX;
        }
        poll->interval_us = RP_OT_POLL_SHORTEST_US;
        poll->done = 0;
        poll->at = now + poll->interval_us;
    } else if (poll->interval_us != 0 && now >= poll->at) {
        (void)otLinkSendDataRequest(ip6->instance);
        if (++poll->done == RP_OT_POLL_REPEAT) {
            poll->interval_us =
                poll->interval_us < RP_OT_POLL_LONGEST_US ? poll->interval_us * 2 : 0;
            poll->done = 0;
        }
        poll->at = now + poll->interval_us;
    }
    return poll->interval_us != 0 ? poll->at : UINT64_MAX;
}

#endif
