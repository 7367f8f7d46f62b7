/*
 * Zephyr's sockets (zephyr/net/socket.h) on Redpoll: zsock_socket, _connect, _bind, _listen,
 * _accept, _send, _recv, _shutdown, _close, _fcntl, _poll. Include this header in one file of an
 * application that is built without CONFIG_NET_SOCKETS. With CONFIG_NET_SOCKETS, the functions
 * become an offloaded interface (NET_SOCKET_OFFLOAD_REGISTER, with the functions in its
 * socket_op_vtable).
 *
 *   zsock_connect, _accept, _send, _recv   rp_wait_*, which wait unless the descriptor has
 *                                          ZVFS_O_NONBLOCK or the call has ZSOCK_MSG_DONTWAIT or
 *                                          ZSOCK_MSG_PEEK
 *   zsock_poll                             rp_wait_poll, which waits for at most the timeout
 *   all others                             do not wait; all but zsock_fcntl lock the waiter's lock
 *
 * Set rp_zephyr_waiter once. In Zephyr its hooks are
 *   now      k_ticks_to_us_floor64(k_uptime_ticks())
 *   wait     k_sem_take with K_TIMEOUT_ABS_US(until_us); the thread that drives the node gives
 *            the semaphore
 *   lock     k_mutex_lock
 *   unlock   k_mutex_unlock
 */
#ifndef RP_ZEPHYR_SOCKETS_H
#define RP_ZEPHYR_SOCKETS_H

#include <string.h>

#include "rp_errno.h"

/* Descriptors below this number may have ZVFS_O_NONBLOCK; zsock_poll accepts this many entries. */
#define RP_ZEPHYR_FDS 32

static const struct rp_waiter *rp_zephyr_waiter;
static uint32_t rp_zephyr_nonblocking;

static uint64_t rp_zephyr_begin(void)
{
    if (rp_zephyr_waiter->lock) {
        rp_zephyr_waiter->lock(rp_zephyr_waiter->context);
    }
    return rp_zephyr_waiter->now(rp_zephyr_waiter->context);
}

/* Ends a call, and returns its result, or -1 with errno. */
static int rp_zephyr_end(int code)
{
    if (rp_zephyr_waiter->unlock) {
        rp_zephyr_waiter->unlock(rp_zephyr_waiter->context);
    }
    if (code < 0) {
        errno = -rp_errno(code);
        return -1;
    }
    return code;
}

/* Returns the result of a call, or -1 with errno, for a call without the lock. */
static int rp_zephyr_result(int code)
{
    if (code < 0) {
        errno = -rp_errno(code);
        return -1;
    }
    return code;
}

static int rp_zephyr_waits(int fd, int flags)
{
    int known = fd >= 0 && fd < RP_ZEPHYR_FDS;
    return !(flags & ZSOCK_MSG_DONTWAIT) &&
           !(known && (rp_zephyr_nonblocking >> fd & 1));
}

static int rp_zephyr_endpoint(const struct sockaddr *addr, socklen_t len,
                              struct rp_endpoint *to)
{
    const struct sockaddr_in6 *from = (const void *)addr;
    if (len < sizeof *from || addr->sa_family != AF_INET6) {
        return -EAFNOSUPPORT;
    }
    memcpy(to->address, &from->sin6_addr, sizeof to->address);
    to->port = ntohs(from->sin6_port);
    return 0;
}

int zsock_socket(int family, int type, int proto)
{
    (void)proto;
    if (family != AF_INET6 || (type != SOCK_STREAM && type != SOCK_DGRAM)) {
        errno = EAFNOSUPPORT;
        return -1;
    }
    uint64_t now = rp_zephyr_begin();
    int kind = type == SOCK_STREAM ? RP_SOCK_STREAM : RP_SOCK_DGRAM;
    return rp_zephyr_end(rp_socket(rp_zephyr_waiter->node, now, kind));
}

int zsock_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
    struct rp_endpoint local;
    int code = rp_zephyr_endpoint(addr, len, &local);
    if (code < 0) {
        return errno = -code, -1;
    }
    uint64_t now = rp_zephyr_begin();
    return rp_zephyr_end(rp_bind(rp_zephyr_waiter->node, now, fd, local.port));
}

int zsock_listen(int fd, int backlog)
{
    uint64_t now = rp_zephyr_begin();
    return rp_zephyr_end(rp_listen(rp_zephyr_waiter->node, now, fd, backlog));
}

int zsock_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    struct rp_endpoint to;
    int code = rp_zephyr_endpoint(addr, len, &to);
    if (code < 0) {
        return errno = -code, -1;
    }
    if (rp_zephyr_waits(fd, 0)) {
        return rp_zephyr_result(rp_wait_connect(rp_zephyr_waiter, fd, &to));
    }
    uint64_t now = rp_zephyr_begin();
    return rp_zephyr_end(rp_connect(rp_zephyr_waiter->node, now, fd, &to));
}

int zsock_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
    struct rp_endpoint peer;
    int code;
    if (rp_zephyr_waits(fd, 0)) {
        code = rp_zephyr_result(rp_wait_accept(rp_zephyr_waiter, fd, &peer));
    } else {
        uint64_t now = rp_zephyr_begin();
        code = rp_zephyr_end(rp_accept(rp_zephyr_waiter->node, now, fd, &peer));
    }
    if (code >= 0 && addr != NULL && *len >= sizeof(struct sockaddr_in6)) {
        struct sockaddr_in6 *to = (void *)addr;
        memset(to, 0, sizeof *to);
        to->sin6_family = AF_INET6;
        to->sin6_port = htons(peer.port);
        memcpy(&to->sin6_addr, peer.address, sizeof peer.address);
        *len = sizeof *to;
    }
    return code;
}

ssize_t zsock_send(int fd, const void *data, size_t len, int flags)
{
    if (rp_zephyr_waits(fd, flags)) {
        return rp_zephyr_result(rp_wait_send(rp_zephyr_waiter, fd, data, len));
    }
    uint64_t now = rp_zephyr_begin();
    return rp_zephyr_end(rp_send(rp_zephyr_waiter->node, now, fd, data, len));
}

ssize_t zsock_recv(int fd, void *data, size_t len, int flags)
{
    int peeks = flags & ZSOCK_MSG_PEEK ? RP_MSG_PEEK : 0;
    if (rp_zephyr_waits(fd, flags) && !peeks) {
        return rp_zephyr_result(rp_wait_recv(rp_zephyr_waiter, fd, data, len));
    }
    uint64_t now = rp_zephyr_begin();
    return rp_zephyr_end(rp_recv(rp_zephyr_waiter->node, now, fd, data, len, peeks));
}

int zsock_shutdown(int fd, int how)
{
    uint64_t now = rp_zephyr_begin();
    return rp_zephyr_end(rp_shutdown(rp_zephyr_waiter->node, now, fd, how));
}

int zsock_close(int fd)
{
    uint64_t now = rp_zephyr_begin();
    if (fd >= 0 && fd < RP_ZEPHYR_FDS) {
        rp_zephyr_nonblocking &= ~(1u << fd);
    }
    return rp_zephyr_end(rp_close(rp_zephyr_waiter->node, now, fd));
}

/* Supports only ZVFS_F_SETFL with the flag ZVFS_O_NONBLOCK. */
int zsock_fcntl(int fd, int command, int flags)
{
    if (command != ZVFS_F_SETFL || fd < 0 || fd >= RP_ZEPHYR_FDS) {
        return errno = EINVAL, -1;
    }
    rp_zephyr_nonblocking &= ~(1u << fd);
    rp_zephyr_nonblocking |= (flags & ZVFS_O_NONBLOCK ? 1u : 0u) << fd;
    return 0;
}

/* Events have the same numbers as Redpoll's, but the structures differ in size. */
int zsock_poll(struct zsock_pollfd *fds, int nfds, int timeout)
{
    struct rp_pollfd all[RP_ZEPHYR_FDS];
    if (nfds < 0 || nfds > RP_ZEPHYR_FDS) {
        return errno = EINVAL, -1;
    }
    for (int index = 0; index < nfds; index++) {
        all[index] = (struct rp_pollfd){.fd = fds[index].fd, .events = fds[index].events};
    }
    int ready = rp_wait_poll(rp_zephyr_waiter, all, (size_t)nfds, timeout);
    for (int index = 0; index < nfds; index++) {
        fds[index].revents = all[index].revents;
    }
    return rp_zephyr_result(ready);
}

#endif
