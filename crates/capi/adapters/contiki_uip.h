/*
 * Redpoll's TCP over Contiki-NG's own IPv6 (uIP), instead of uIP's TCP, which UIP_CONF_TCP 0 (the
 * default) switches off. Include this header in one file, after contiki.h and contiki-net.h. The
 * sockets are those of redpoll.h (rp_socket).
 *
 *   rp_uip_begin   call it once, after creating the node, from the process that owns the node
 *   rp_uip_serve   call it in this process: when the process is polled, which happens after
 *                  received packets and must happen after calls of sockets, and after the number
 *                  of clock ticks that it returned (etimer_set)
 *   rp_uip_now     the time for rp_* in microseconds, from clock_time
 *
 *   netstack_ip_packet_processor   rp_ip_input: TCP packets for the address of the node, which
 *                                  uIP then does not see, and copies of ICMPv6 errors
 *   tcpip_ipv6_output              rp_ip_output, in uip_buf
 *
 * Create the node by rp_ip_init with an address of uip_ds6_get_global, and with hop_limit set to
 * uip_ds6_if.cur_hop_limit: RPL-Lite inserts its option only into packets that have this hop limit.
 * With RPL, set mss to less than 1220, so that uip_buf has room for the headers of RPL.
 *
 * Packets of Contiki-NG have no context, so a program has at most one node over uIP: rp_uip.
 */
#ifndef RP_CONTIKI_UIP_H
#define RP_CONTIKI_UIP_H

#include <string.h>

#include "redpoll.h"

#if UIP_TCP
#error "uIP's own TCP is on: set UIP_CONF_TCP to 0"
#endif
#if UIP_BUFSIZE < 1280
#error "uip_buf is too short for the packets of the node: set UIP_CONF_BUFFER_SIZE to 1280"
#endif

#define RP_UIP_LONGEST_US 1000000000u /* longest time until the next call of rp_uip_serve */

static struct {
    rp_node *node;
    struct process *process; /* the process that calls rp_uip_serve */
    uint64_t ticks;          /* clock ticks since clock_time was 0 */
    clock_time_t last;       /* clock_time of the last call */
    uint8_t address[16];
} rp_uip;

/* Returns the time in microseconds. clock_time may have 32 bits and overflow, because
 * rp_uip_serve calls this function often enough. */
static uint64_t rp_uip_now(void)
{
    clock_time_t now = clock_time();
    rp_uip.ticks += (clock_time_t)(now - rp_uip.last);
    rp_uip.last = now;
    return rp_uip.ticks * 1000000u / CLOCK_SECOND;
}

/* Hook of Contiki-NG for each received packet, which is in uip_buf. */
static enum netstack_ip_action rp_uip_receive(void)
{
    uint8_t protocol = 0;
    const uint8_t *header, *routing;
    if (uip_len < UIP_IPH_LEN ||
        memcmp(&UIP_IP_BUF->destipaddr, rp_uip.address, sizeof rp_uip.address) != 0) {
        return NETSTACK_IP_PROCESS;
    }
    header = uipbuf_get_last_header(uip_buf, uip_len, &protocol);
    if (header == NULL) {
        return NETSTACK_IP_PROCESS;
    }
    if (protocol == UIP_PROTO_ICMP6 && *header < 128) {
        /* An error, which the node ignores if it concerns none of its connections. */
        (void)rp_ip_input(rp_uip.node, rp_uip_now(), uip_buf, uip_len);
        process_poll(rp_uip.process);
        return NETSTACK_IP_PROCESS;
    }
    /* A packet with segments left is for another host, to which uIP forwards it. */
    routing = uipbuf_search_header(uip_buf, uip_len, UIP_PROTO_ROUTING);
    if (protocol != UIP_PROTO_TCP || (routing != NULL && routing[3] > 0) ||
        uipbuf_search_header(uip_buf, uip_len, UIP_PROTO_FRAG) != NULL) {
        return NETSTACK_IP_PROCESS;
    }
#if UIP_ND6_SEND_NS
    uip_ds6_nbr_refresh_reachable_state(&UIP_IP_BUF->srcipaddr);
#endif
#if UIP_CONF_IPV6_RPL
    /* Removes the headers of RPL, which a small libredpoll_ip.a does not know. */
    uip_ext_len = (uint16_t)(header - uip_buf - UIP_IPH_LEN);
    if (!NETSTACK_ROUTING.ext_header_remove()) {
        return NETSTACK_IP_DROP;
    }
#endif
    /* A packet without room in the node is lost, and TCP retransmits it. */
    (void)rp_ip_input(rp_uip.node, rp_uip_now(), uip_buf, uip_len);
    process_poll(rp_uip.process);
    return NETSTACK_IP_DROP;
}

/* Begins to receive packets for this node. Returns 0 or an RP_E*. */
static int rp_uip_begin(rp_node *node)
{
    static struct netstack_ip_packet_processor processor = {.process_input = rp_uip_receive};
    int code = rp_address(node, rp_uip.address);
    if (code < 0) {
        return code;
    }
    if (rp_uip.node == NULL) {
        netstack_ip_packet_processor_add(&processor);
    }
    rp_uip.node = node;
    rp_uip.process = PROCESS_CURRENT();
    return 0;
}

/* Runs timers and sends the packets of the node. Returns the number of clock ticks until the next
 * call. */
static clock_time_t rp_uip_serve(void)
{
    uint64_t at, now = rp_uip_now();
    int len;
    (void)rp_on_timeout(rp_uip.node, now);
    while ((len = rp_ip_output(rp_uip.node, rp_uip_now(), uip_buf, UIP_BUFSIZE)) > 0) {
        uipbuf_clear(); /* the attributes of the packet, not its bytes */
        uip_len = (uint16_t)len;
        /* A packet that Contiki-NG cannot send is lost, and TCP retransmits it. */
        tcpip_ipv6_output();
    }
    now = rp_uip_now();
    if (rp_poll_at(rp_uip.node, &at) != 1 || at > now + RP_UIP_LONGEST_US) {
        at = now + RP_UIP_LONGEST_US;
    }
    at = at > now ? at - now : 0;
    /* Rounds up, so that the timer has expired at the next call. */
    return (clock_time_t)(at * CLOCK_SECOND / 1000000u + 1);
}

#endif
