/*
 * The host side of a border router on this computer: a node whose packets use a TUN interface,
 * with the echo service, in one loop. (A node without a radio is in ip_tun.c.) As root, on
 * Linux:
 *
 *   cc -Iinclude examples/tun_echo.c libredpoll_capi.a -lm -lpthread -ldl -o tun_echo
 *   ./tun_echo rp0 &
 *   ip address add fd72::1/64 dev rp0 nodad && ip link set rp0 up
 *   nc fd72::ff:fe00:2 7
 */
#define _GNU_SOURCE
#include "echo.h"
#include "tun.h"

#define MTU 1280

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
    entropy(config.entropy, sizeof config.entropy);
    must(rp_sizeof_node(&config, &len), "rp_sizeof_node");
    must(rp_node_init(malloc(len), len, &config, &node), "rp_node_init");
    must(rp_add_route(node, everything, 0, RP_VIA_HOST, RP_NO_SHORT), "rp_add_route");
    return node;
}

int main(int argc, char **argv)
{
    static struct echo echo;
    uint8_t packet[MTU];
    int tun = tun_open(argc > 1 ? argv[1] : "rp0");
    rp_node *node = make_node();
    must(echo_begin(&echo, node, now(), 7), "echo_begin");
    for (;;) {
        int len;
        must(rp_on_timeout(node, now()), "rp_on_timeout");
        while (rp_poll_event(node) > 0) {
        }
        echo_serve(&echo, node, now());
        while ((len = rp_poll_packet(node, now(), packet, sizeof packet)) > 0) {
            /* A packet that the interface refuses is lost, and TCP retransmits it. */
            if (write(tun, packet, (size_t)len) < 0) {
                break;
            }
        }
        size_t got = tun_wait(tun, node, packet, sizeof packet);
        if (got > 0) {
            /* The node refuses and counts packets that are not for it. */
            (void)rp_input_packet(node, now(), packet, got);
        }
    }
}
