/*
 * TCP of Redpoll's over OpenThread's own IPv6 (openthread/ip6.h): OpenThread has radio, mesh and
 * IPv6, in a build with OPENTHREAD_CONFIG_TCP_ENABLE=0. Include it in one file, behind
 * OpenThread's headers ip6.h and message.h; sockets are rp_socket and its kin, or those of
 * openthread_tcp.h.
 *
 *   rp_ot_ip6_begin   once, when the node is there: takes OpenThread's packets
 *   rp_ot_ip6_serve   in the main loop beside otTaskletsProcess: after packets, after calls of
 *                     sockets, and when rp_poll_at's time has come
 *
 *   otIp6SetReceiveCallback                      rp_ip_input
 *   otIp6NewMessage, otMessageAppend, otIp6Send  rp_ip_output
 *
 * The node is made by rp_ip_init with an address that OpenThread has: otThreadGetMeshLocalEid,
 * or one that a border router has it make. OpenThread answers echo requests itself
 * (otIcmp6SetEchoMode), and keeps its control traffic (otIp6SetReceiveFilterEnabled).
 */
#ifndef RP_OPENTHREAD_IP6_H
#define RP_OPENTHREAD_IP6_H

#include <string.h>

#include "redpoll.h"

struct rp_ot_ip6 {
    otInstance *instance;
    rp_node *node;
    void *context;
    uint64_t (*now)(void *context);
    uint8_t packet[1280];
};

/* OpenThread's callback: the message is ours. */
static void rp_ot_ip6_receive(otMessage *message, void *context)
{
    struct rp_ot_ip6 *ip6 = context;
    uint16_t len = otMessageGetLength(message);
    if (len <= sizeof ip6->packet && otMessageRead(message, 0, ip6->packet, len) == len) {
        /* What is not for this node's address is refused; for want of room it is lost, and
         * sent again. */
        (void)rp_ip_input(ip6->node, ip6->now(ip6->context), ip6->packet, len);
    }
    otMessageFree(message);
}

static void rp_ot_ip6_begin(struct rp_ot_ip6 *ip6)
{
    otIp6SetReceiveCallback(ip6->instance, rp_ot_ip6_receive, ip6);
}

/* Everything that the node has to send, as far as OpenThread has buffers. */
static void rp_ot_ip6_serve(struct rp_ot_ip6 *ip6)
{
    (void)rp_on_timeout(ip6->node, ip6->now(ip6->context));
    for (;;) {
        /* First, so that no segment is made for which there is no place. */
        otMessage *message = otIp6NewMessage(ip6->instance, NULL);
        if (message == NULL) {
            return;
        }
        int len = rp_ip_output(ip6->node, ip6->now(ip6->context), ip6->packet,
                               sizeof ip6->packet);
        if (len <= 0) {
            otMessageFree(message);
            return;
        }
        if (otMessageAppend(message, ip6->packet, (uint16_t)len) != OT_ERROR_NONE) {
            otMessageFree(message); /* lost, and TCP sends it again */
            return;
        }
        (void)otIp6Send(ip6->instance, message);
    }
}

#endif
