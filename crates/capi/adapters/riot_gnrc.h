/*
 * Redpoll's TCP over RIOT's own IPv6 (net/gnrc.h), instead of gnrc_tcp, over any link of GNRC.
 * Include this header in one file. Applications call riot_sock_tcp.h.
 * In RIOT: USEMODULE += gnrc_ipv6_default gnrc_nettype_tcp, and not gnrc_tcp.
 *
 * The thread that owns the node registers for TCP packets, as the thread of gnrc_tcp does:
 *
 *   gnrc_netreg_entry_t entry = GNRC_NETREG_ENTRY_INIT_PID(GNRC_NETREG_DEMUX_CTX_ALL, getpid());
 *   gnrc_netreg_register(GNRC_NETTYPE_TCP, &entry);
 *
 * and calls the following functions, under the lock of struct rp_waiter if other threads use the
 * node:
 *
 *   rp_gnrc_receive   for GNRC_NETAPI_MSG_TYPE_RCV, with msg.content.ptr
 *   rp_gnrc_serve     after rp_gnrc_receive, after every call of a socket (the waiter's unlock
 *                     can send this thread a message), and at the time of rp_poll_at
 *
 * Packets of GNRC, and the functions of Redpoll that receive or make them:
 *
 *   GNRC_NETTYPE_TCP        rp_ip_input, with header and segment joined; GNRC has processed the
 *                           extension headers
 *   gnrc_netapi_dispatch_send(GNRC_NETTYPE_IPV6)   rp_ip_output
 *
 * Create the node by rp_ip_init with an address of the interface (gnrc_netif_ipv6_addrs_get).
 * GNRC does not pass ICMPv6 errors on, so a connection to an unreachable peer ends only by TCP's
 * own timeouts.
 */
#ifndef RP_RIOT_GNRC_H
#define RP_RIOT_GNRC_H

#include <string.h>

#include "redpoll.h"

#define RP_GNRC_HEADER 40 /* length of the IPv6 header in bytes */
#define RP_GNRC_TCP 6     /* next-header number of TCP */

struct rp_gnrc {
    rp_node *node;
    uint64_t (*now)(void);
    uint8_t packet[1280];
};

/* Passes the packets of the node to GNRC, which queues them. */
static void rp_gnrc_serve(struct rp_gnrc *gnrc)
{
    int len;
    (void)rp_on_timeout(gnrc->node, gnrc->now());
    while ((len = rp_ip_output(gnrc->node, gnrc->now(), gnrc->packet,
                               sizeof gnrc->packet)) > RP_GNRC_HEADER) {
        gnrc_nettype_t type = gnrc->packet[6] == RP_GNRC_TCP ? GNRC_NETTYPE_TCP
                                                             : GNRC_NETTYPE_UNDEF;
        gnrc_pktsnip_t *body = gnrc_pktbuf_add(NULL, gnrc->packet + RP_GNRC_HEADER,
                                               (size_t)len - RP_GNRC_HEADER, type);
        if (body == NULL) {
            return; /* the packet is lost, and TCP retransmits it */
        }
        gnrc_pktsnip_t *ip = gnrc_pktbuf_add(body, gnrc->packet, RP_GNRC_HEADER,
                                             GNRC_NETTYPE_IPV6);
        if (ip == NULL) {
            gnrc_pktbuf_release(body);
            return;
        }
        if (!gnrc_netapi_dispatch_send(GNRC_NETTYPE_IPV6, GNRC_NETREG_DEMUX_CTX_ALL, ip)) {
            gnrc_pktbuf_release(ip);
        }
    }
}

/* Passes a TCP packet to the node, and releases it. Returns 0 or an RP_E*. */
static int rp_gnrc_receive(struct rp_gnrc *gnrc, gnrc_pktsnip_t *pkt)
{
    gnrc_pktsnip_t *ip = gnrc_pktsnip_search_type(pkt, GNRC_NETTYPE_IPV6);
    size_t len = pkt->size;
    int code = RP_EINVAL;
    if (ip != NULL && ip->size >= RP_GNRC_HEADER && pkt != ip) {
        if (len > sizeof gnrc->packet - RP_GNRC_HEADER) {
            code = RP_EMSGSIZE;
        } else {
            memcpy(gnrc->packet, ip->data, RP_GNRC_HEADER);
            gnrc->packet[4] = (uint8_t)(len >> 8);
            gnrc->packet[5] = (uint8_t)len;
            gnrc->packet[6] = RP_GNRC_TCP;
            memcpy(gnrc->packet + RP_GNRC_HEADER, pkt->data, len);
            code = rp_ip_input(gnrc->node, gnrc->now(), gnrc->packet, len + RP_GNRC_HEADER);
        }
    }
    gnrc_pktbuf_release(pkt);
    return code;
}

#endif
