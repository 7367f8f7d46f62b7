/*
 * Redpoll's TCP over OpenThread's own IPv6 (openthread/ip6.h): OpenThread provides radio, mesh and
 * IPv6, in a build with OPENTHREAD_CONFIG_TCP_ENABLE=0. Include this header in one file, after
 * OpenThread's headers ip6.h and message.h. The sockets are those of redpoll.h (rp_socket) or
 * those of openthread_tcp.h.
 *
 *   rp_ot_ip6_begin   call it once, after creating the node: receives OpenThread's packets
 *   rp_ot_ip6_serve   call it in the main loop next to otTaskletsProcess: after packets, after
 *                     calls of sockets, and at the time of rp_poll_at
 *
 * Functions of OpenThread, and the functions of Redpoll with which they exchange packets:
 *
 *   otIp6SetReceiveCallback                      rp_ip_input
 *   otIp6NewMessage, otMessageAppend, otIp6Send  rp_ip_output
 *
 * Create the node by rp_ip_init with an address of OpenThread: otThreadGetMeshLocalEid, or one
 * with a prefix of a border router. OpenThread answers echo requests (otIcmp6SetEchoMode), and
 * does not pass its control traffic to the node (otIp6SetReceiveFilterEnabled). A sleepy device also
 * needs openthread_poll.h.
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
    uint32_t packets; /* number of packets in both directions, for openthread_poll.h */
    uint8_t packet[1280];
};

/* Callback of OpenThread; frees the message. */
static void rp_ot_ip6_receive(otMessage *message, void *context)
{
    struct rp_ot_ip6 *ip6 = context;
    uint16_t len = otMessageGetLength(message);
    if (len <= sizeof ip6->packet && otMessageRead(message, 0, ip6->packet, len) == len) {
        /* The node refuses packets for other addresses. If the node has no room for a packet, the
         * packet is lost, and TCP retransmits it. */
        (void)rp_ip_input(ip6->node, ip6->now(ip6->context), ip6->packet, len);
        ip6->packets++;
    }
    otMessageFree(message);
}

static void rp_ot_ip6_begin(struct rp_ot_ip6 *ip6)
{
    otIp6SetReceiveCallback(ip6->instance, rp_ot_ip6_receive, ip6);
}

/* Sends the packets of the node, as long as OpenThread has buffers. */
static void rp_ot_ip6_serve(struct rp_ot_ip6 *ip6)
{
    (void)rp_on_timeout(ip6->node, ip6->now(ip6->context));
    for (;;) {
        /* Allocates the message first, so that the node makes a segment only if it can be sent. */
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
            otMessageFree(message); /* the packet is lost, and TCP retransmits it */
            return;
        }
        (void)otIp6Send(ip6->instance, message);
        ip6->packets++;
    }
}

#endif
