/* Redpoll's TCP over RIOT's IPv6 (GNRC), under sock_tcp. */
#ifndef REDPOLL_RIOT_H
#define REDPOLL_RIOT_H

#include "net/ipv6/addr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Starts the node and its thread. The address must be one of an interface of GNRC. Returns 0 or a
 * negative errno. Call it before sock_tcp_*. */
int redpoll_riot_init(const ipv6_addr_t *address);

#ifdef __cplusplus
}
#endif

#endif
