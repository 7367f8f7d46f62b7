/*
 * A node on this computer whose packets go over a TUN interface, with the echo service: one
 * loop, as on a device that has IPv6 already. As root, on Linux:
 *
 *   cc -Iinclude examples/tun_echo.c libredpoll_capi.a -lm -lpthread -ldl -o tun_echo
 *   ./tun_echo rp0 &
 *   ip address add fd72::1/64 dev rp0 nodad && ip link set rp0 up
 *   nc fd72::ff:fe00:2 7
 */
#define _GNU_SOURCE
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

#include "echo.h"

#define MTU 1280

static void must(int code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "tun_echo: %s: %d\n", what, code);
        exit(1);
    }
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

static int open_tun(const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    must(fd, "/dev/net/tun");
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    must(ioctl(fd, TUNSETIFF, &request), "TUNSETIFF");
    return fd;
}

static rp_node *make_node(void)
{
    static const uint8_t everything[16];
    struct rp_config config;
    size_t len;
    rp_node *node;
    must(RP_ABI_CHECK(), "the header is not that of the library");
    must(rp_config_init(&config, RP_BORDER), "rp_config_init");
    memcpy(config.prefix, "\xfd\x72\0\0\0\0\0\0", sizeof config.prefix);
    config.short_address = 2; /* fd72::ff:fe00:2 */
    if (getrandom(config.entropy, sizeof config.entropy, 0) != sizeof config.entropy) {
        must(-1, "getrandom");
    }
    must(rp_sizeof_node(&config, &len), "rp_sizeof_node");
    must(rp_node_init(malloc(len), len, &config, &node), "rp_node_init");
    must(rp_add_route(node, everything, 0, RP_VIA_HOST, RP_NO_SHORT), "rp_add_route");
    return node;
}

int main(int argc, char **argv)
{
    static struct echo echo;
    uint8_t packet[MTU];
    int tun = open_tun(argc > 1 ? argv[1] : "rp0");
    rp_node *node = make_node();
    must(echo_begin(&echo, node, now(), 7), "echo_begin");
    for (;;) {
        int len;
        uint64_t at;
        must(rp_on_timeout(node, now()), "rp_on_timeout");
        while (rp_poll_event(node) > 0) {
        }
        echo_serve(&echo, node, now());
        while ((len = rp_poll_packet(node, now(), packet, sizeof packet)) > 0) {
            /* What the interface does not take is lost, and TCP sends it again. */
            if (write(tun, packet, (size_t)len) < 0) {
                break;
            }
        }
        int wait_ms = -1;
        if (rp_poll_at(node, &at) == 1) {
            uint64_t time = now();
            wait_ms = at > time ? (int)((at - time + 999) / 1000) : 0;
        }
        struct pollfd one = {.fd = tun, .events = POLLIN};
        if (poll(&one, 1, wait_ms) > 0) {
            ssize_t got = read(tun, packet, sizeof packet);
            if (got > 0) {
                /* What is no packet for this node is refused, and counted there. */
                (void)rp_input_packet(node, now(), packet, (size_t)got);
            }
        }
    }
}
