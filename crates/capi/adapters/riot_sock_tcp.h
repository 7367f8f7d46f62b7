/*
 * RIOT's sock_tcp (net/sock/tcp.h) on Redpoll. Include this header in one file, after RIOT's
 * header. It contains the types that each stack of RIOT defines in sock_types.h.
 *
 * Functions of RIOT, and the functions of Redpoll that they call:
 *
 *   sock_tcp_connect        rp_socket, rp_bind, rp_wait_connect
 *   sock_tcp_listen         rp_socket, rp_bind, rp_listen
 *   sock_tcp_accept         rp_wait_poll, rp_accept
 *   sock_tcp_read, _write   rp_wait_poll, rp_recv; rp_wait_send
 *   sock_tcp_disconnect     rp_close, after which unsent bytes are still sent
 *   sock_tcp_get_local, _get_remote   rp_getsockname, rp_getpeername
 *
 * Set rp_riot_waiter once, before the first call. In RIOT its hooks are
 *   now      ztimer_now(ZTIMER_USEC), extended to 64 bits
 *   wait     cond_wait or thread_flags_wait_any with a timeout, until the thread that drives the
 *            node (riot_netdev.h) reports an event
 *   lock     mutex_lock
 *   unlock   mutex_unlock
 */
#ifndef RP_RIOT_SOCK_TCP_H
#define RP_RIOT_SOCK_TCP_H

#include <stddef.h>
#include <string.h>
#include <sys/types.h>

#include "rp_errno.h"

/* An application of several files includes sock_types.h of integrations/riot/redpoll/include. */
#ifndef SOCK_TYPES_H
struct sock_tcp {
    int fd;
};

struct sock_tcp_queue {
    int fd;
    sock_tcp_t *socks; /* places for accepted connections */
    unsigned len;
};
#endif

static const struct rp_waiter *rp_riot_waiter;

static uint64_t rp_riot_now(void)
{
    return rp_riot_waiter->now(rp_riot_waiter->context);
}

/* Makes a call that does not wait, under the lock. */
#define RP_RIOT(result, call)                                                              \
    do {                                                                                   \
        if (rp_riot_waiter->lock) {                                                        \
            rp_riot_waiter->lock(rp_riot_waiter->context);                                 \
        }                                                                                  \
        (result) = (call);                                                                 \
        if (rp_riot_waiter->unlock) {                                                      \
            rp_riot_waiter->unlock(rp_riot_waiter->context);                               \
        }                                                                                  \
    } while (0)

static int rp_riot_endpoint(const sock_tcp_ep_t *from, struct rp_endpoint *to)
{
    if (from->family != AF_INET6) {
        return -EAFNOSUPPORT;
    }
    memcpy(to->address, from->addr.ipv6, sizeof to->address);
    to->port = from->port;
    return 0;
}

/* Waits for one of events, for at most timeout microseconds. */
static int rp_riot_wait(int fd, int16_t events, uint32_t timeout)
{
    struct rp_pollfd one = {.fd = fd, .events = events};
    int ms = timeout == SOCK_NO_TIMEOUT ? -1 : (int)((timeout + 999) / 1000);
    int ready = rp_wait_poll(rp_riot_waiter, &one, 1, ms);
    if (ready != 0) {
        return rp_errno(ready);
    }
    return timeout == 0 ? -EAGAIN : -ETIMEDOUT;
}

int sock_tcp_connect(sock_tcp_t *sock, const sock_tcp_ep_t *remote, uint16_t local_port,
                     uint16_t flags)
{
    struct rp_endpoint to;
    int code = rp_riot_endpoint(remote, &to);
    (void)flags; /* a port can always be used again at once */
    if (code < 0) {
        return code;
    }
    RP_RIOT(sock->fd, rp_socket(rp_riot_waiter->node, rp_riot_now(), RP_SOCK_STREAM));
    if (sock->fd < 0) {
        return rp_errno(sock->fd);
    }
    if (local_port != 0) {
        RP_RIOT(code, rp_bind(rp_riot_waiter->node, rp_riot_now(), sock->fd, local_port));
    }
    if (code == 0) {
        code = rp_wait_connect(rp_riot_waiter, sock->fd, &to);
    }
    if (code < 0) {
        int ignored;
        RP_RIOT(ignored, rp_close(rp_riot_waiter->node, rp_riot_now(), sock->fd));
        (void)ignored;
        sock->fd = -1;
    }
    return rp_errno(code);
}

int sock_tcp_listen(sock_tcp_queue_t *queue, const sock_tcp_ep_t *local,
                    sock_tcp_t *queue_array, unsigned queue_len, uint16_t flags)
{
    int code;
    (void)flags;
    RP_RIOT(queue->fd, rp_socket(rp_riot_waiter->node, rp_riot_now(), RP_SOCK_STREAM));
    if (queue->fd < 0) {
        return rp_errno(queue->fd);
    }
    queue->socks = queue_array;
    queue->len = queue_len;
    for (unsigned index = 0; index < queue_len; index++) {
        queue_array[index].fd = -1;
    }
    RP_RIOT(code, rp_bind(rp_riot_waiter->node, rp_riot_now(), queue->fd, local->port));
    if (code == 0) {
        RP_RIOT(code, rp_listen(rp_riot_waiter->node, rp_riot_now(), queue->fd, (int)queue_len));
    }
    if (code < 0) {
        int ignored;
        RP_RIOT(ignored, rp_close(rp_riot_waiter->node, rp_riot_now(), queue->fd));
        (void)ignored;
    }
    return rp_errno(code);
}

int sock_tcp_accept(sock_tcp_queue_t *queue, sock_tcp_t **sock, uint32_t timeout)
{
    for (unsigned index = 0; index < queue->len; index++) {
        if (queue->socks[index].fd < 0) {
            int code = rp_riot_wait(queue->fd, RP_POLLIN, timeout);
            if (code < 0) {
                return code;
            }
            RP_RIOT(code, rp_accept(rp_riot_waiter->node, rp_riot_now(), queue->fd, NULL));
            if (code < 0) {
                return rp_errno(code);
            }
            queue->socks[index].fd = code;
            *sock = &queue->socks[index];
            return 0;
        }
    }
    return -ENOMEM;
}

ssize_t sock_tcp_read(sock_tcp_t *sock, void *data, size_t max_len, uint32_t timeout)
{
    int code = rp_riot_wait(sock->fd, RP_POLLIN, timeout);
    if (code < 0) {
        return code;
    }
    RP_RIOT(code, rp_recv(rp_riot_waiter->node, rp_riot_now(), sock->fd, data, max_len, 0));
    return rp_errno(code);
}

ssize_t sock_tcp_write(sock_tcp_t *sock, const void *data, size_t len)
{
    return rp_errno(rp_wait_send(rp_riot_waiter, sock->fd, data, len));
}

void sock_tcp_disconnect(sock_tcp_t *sock)
{
    int ignored;
    RP_RIOT(ignored, rp_close(rp_riot_waiter->node, rp_riot_now(), sock->fd));
    (void)ignored;
    sock->fd = -1;
}

void sock_tcp_stop_listen(sock_tcp_queue_t *queue)
{
    int ignored;
    RP_RIOT(ignored, rp_close(rp_riot_waiter->node, rp_riot_now(), queue->fd));
    (void)ignored;
    queue->fd = -1;
}

int sock_tcp_get_remote(sock_tcp_t *sock, sock_tcp_ep_t *ep)
{
    struct rp_endpoint peer;
    int code;
    RP_RIOT(code, rp_getpeername(rp_riot_waiter->node, rp_riot_now(), sock->fd, &peer));
    if (code == 0) {
        memset(ep, 0, sizeof *ep);
        ep->family = AF_INET6;
        memcpy(ep->addr.ipv6, peer.address, sizeof peer.address);
        ep->port = peer.port;
    }
    return rp_errno(code);
}

#endif
