/*
 * A TUN interface of Linux, for the examples with a node behind such an interface: opens it, and
 * waits for its packets and the node's timer.
 */
#ifndef TUN_H
#define TUN_H

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "redpoll.h"

static void must(int code, const char *what)
{
    if (code < 0) {
        /* The code of a system's error is -1. */
        fprintf(stderr, "%s: %s\n", what, code == -1 ? strerror(errno) : rp_strerror(code));
        exit(1);
    }
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

static void entropy(uint8_t *out, size_t len)
{
    if (getrandom(out, len, 0) != (ssize_t)len) {
        must(-1, "getrandom");
    }
}

/* Returns the descriptor of an interface, which is created if it does not exist. */
static int tun_open(const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    must(fd, "/dev/net/tun");
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    must(ioctl(fd, TUNSETIFF, &request), "TUNSETIFF");
    return fd;
}

/* Waits for a packet or the node's timer; returns the length of the packet, or 0. */
static size_t tun_wait(int tun, rp_node *node, uint8_t *packet, size_t len)
{
    struct pollfd one = {.fd = tun, .events = POLLIN};
    uint64_t at;
    int wait_ms = -1;
    if (rp_poll_at(node, &at) == 1) {
        uint64_t time = now();
        uint64_t left_ms = at > time ? (at - time + 999) / 1000 : 0;
        wait_ms = left_ms < 60000 ? (int)left_ms : 60000;
    }
    if (poll(&one, 1, wait_ms) <= 0) {
        return 0;
    }
    ssize_t got = read(tun, packet, len);
    return got > 0 ? (size_t)got : 0;
}

#endif
