/*
 * Redpoll's TCP over Contiki-NG's IPv6, with the sockets of redpoll.h. An application calls
 * redpoll_contiki_init, and then rp_socket, rp_connect and so on with redpoll_contiki_node and
 * redpoll_contiki_now. No call blocks. After its calls, a process calls redpoll_contiki_poll and
 * waits for redpoll_contiki_event.
 *
 * Settings for project-conf.h, with their defaults:
 *
 *   REDPOLL_CONNECTIONS  number of connections at the same time; 2
 *   REDPOLL_HALF_OPEN    number of handshakes at the same time; REDPOLL_CONNECTIONS
 *   REDPOLL_LISTENERS    number of listening ports; 2
 *   REDPOLL_BUFFER       length of each connection's send buffer, and of its receive buffer, in
 *                        bytes; 4880
 *   REDPOLL_MEMORY       memory of the node in bytes; 12 KB, and for each connection its two buffers
 *                        and 768 bytes
 *   REDPOLL_MSS          payload of a full segment in bytes; 1220, and with RPL 1140, which leaves
 *                        room for a source route of nine hops
 */
#ifndef REDPOLL_CONTIKI_H
#define REDPOLL_CONTIKI_H

#include "contiki.h"
#include "net/ipv6/uip.h"

#include "redpoll.h"

/* Posted to all processes when the state of a socket may have changed. */
extern process_event_t redpoll_contiki_event;

/* Starts the node with an address of Contiki-NG; NULL: the first address that is not link-local.
 * Returns 0 or an RP_E*. RP_EADDRNOTAVAIL: there is no such address yet; RP_EALREADY: the node has
 * started; RP_EAGAIN: csprng_rand has no seed; RP_ENOMEM: REDPOLL_MEMORY is too small; RP_EINVAL: a
 * setting is out of range, or the header does not match the library. */
int redpoll_contiki_init(const uip_ipaddr_t *address);

/* Returns the node, or NULL before redpoll_contiki_init. */
rp_node *redpoll_contiki_node(void);

/* Returns the time in microseconds. */
uint64_t redpoll_contiki_now(void);

/* Lets the process of Redpoll send the packets that calls of sockets have caused. */
void redpoll_contiki_poll(void);

#endif
