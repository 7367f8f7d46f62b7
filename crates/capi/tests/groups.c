/* Multicast groups from C: an application of a border router asks a group, whose members are a
 * router and a leaf in a line. The datagram crosses two hops by MPL, and each member answers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redpoll.h"

#define NODES 3

struct radio {
    _Alignas(8) uint8_t memory[24 * 1024];
    rp_node *node;
    uint8_t loaded[125];
    size_t len;
    uint64_t done_at;
    uint8_t result;
};

static struct radio radios[NODES];
static uint64_t now;
static const uint8_t group[16] = {0xff, 5, [15] = 0xfd};
static const uint8_t other[16] = {0xff, 5, [15] = 0xfe};

static int must(int code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", what, rp_strerror(code));
        exit(1);
    }
    return code;
}

static void is(int code, int expected, const char *what)
{
    if (code != expected) {
        fprintf(stderr, "%s: %d instead of %d\n", what, code, expected);
        exit(1);
    }
}

static void begin(int index)
{
    static const uint8_t roles[NODES] = {RP_BORDER, RP_ROUTER, RP_LEAF};
    struct radio *radio = &radios[index];
    struct rp_config config;
    must(rp_config_init(&config, roles[index]), "rp_config_init");
    config.prefix[0] = 0xfd;
    config.short_address = (uint16_t)(index + 1);
    config.entropy[0] = (uint8_t)(index + 1);
    config.parent = index > 0 ? (uint16_t)index : RP_NO_SHORT;
    config.groups = 1;
    must(rp_node_init(radio->memory, sizeof radio->memory, &config, &radio->node), "rp_node_init");
    radio->done_at = UINT64_MAX;
}

/* The loaded frame reaches the neighbours in the line. */
static uint8_t carry(int from)
{
    struct radio *radio = &radios[from];
    for (int index = from - 1; index <= from + 1; index += 2) {
        if (index >= 0 && index < NODES) {
            must(rp_input_frame(radios[index].node, now, radio->loaded, radio->len, -60, 255, 0),
                 "rp_input_frame");
        }
    }
    return (radio->loaded[0] & 0x20) != 0 ? RP_RESULT_ACKED : RP_RESULT_SENT;
}

static void step(void)
{
    uint64_t next = now + 100000, at;
    for (int index = 0; index < NODES; index++) {
        struct radio *radio = &radios[index];
        struct rp_work work;
        while (rp_poll_event(radio->node) > 0) {
        }
        while (radio->done_at == UINT64_MAX && rp_poll_radio(radio->node, now, &work) == 1) {
            if (work.kind == RP_WORK_LOAD) {
                memcpy(radio->loaded, work.frame, work.frame_len);
                radio->len = work.frame_len;
                radio->done_at = now;
                radio->result = RP_RESULT_LOADED;
            } else if (work.kind == RP_WORK_TRANSMIT) {
                radio->done_at = now + 32 * (radio->len + 8) + 544;
                radio->result = 0;
            }
        }
        if (rp_poll_at(radio->node, &at) == 1 && at < next) {
            next = at;
        }
        next = radio->done_at < next ? radio->done_at : next;
    }
    now = next > now ? next : now;
    for (int index = 0; index < NODES; index++) {
        struct radio *radio = &radios[index];
        if (radio->done_at <= now) {
            uint8_t result = radio->result ? radio->result : carry(index);
            radio->done_at = UINT64_MAX;
            must(rp_radio_done(radio->node, now, result), "rp_radio_done");
        }
        must(rp_on_timeout(radio->node, now), "rp_on_timeout");
    }
}

static void pass(uint64_t time_us)
{
    uint64_t until = now + time_us;
    while (now < until) {
        step();
    }
}

/* The border router's own application sends a byte to the group. */
static void ask(int fd, uint8_t byte)
{
    struct rp_endpoint to = {.port = 7};
    memcpy(to.address, group, sizeof group);
    must(rp_sendto(radios[0].node, now, fd, &byte, 1, &to), "rp_sendto");
    pass(1000000);
}

int main(void)
{
    uint8_t byte = 0;
    int fds[NODES];
    struct rp_endpoint peer = {.port = 7};
    for (int index = 0; index < NODES; index++) {
        begin(index);
        fds[index] = must(rp_socket(radios[index].node, now, RP_SOCK_DGRAM), "rp_socket");
        must(rp_bind(radios[index].node, now, fds[index], 7), "rp_bind");
    }
    for (int index = 1; index < NODES; index++) {
        rp_node *node = radios[index].node;
        is(rp_udp_leave(node, fds[index], group), RP_EADDRNOTAVAIL, "leaving before joining");
        is(rp_udp_join(node, fds[index], peer.address), RP_EINVAL, "joining a node");
        must(rp_udp_join(node, fds[index], group), "rp_udp_join");
        is(rp_udp_join(node, fds[index], other), RP_ENOMEM, "joining a second group");
    }
    ask(fds[0], 41);
    for (int index = 1; index < NODES; index++) {
        rp_node *node = radios[index].node;
        is(rp_udp_is_for_group(node, fds[index]), 1, "for a group");
        is(rp_recvfrom(node, now, fds[index], &byte, 1, &peer), 1, "rp_recvfrom");
        is(byte, 41, "the byte");
        is(rp_recvfrom(node, now, fds[index], &byte, 1, NULL), RP_EAGAIN, "a second copy");
        is(rp_udp_is_for_group(node, fds[index]), 0, "for no group");
        must(rp_sendto(node, now, fds[index], &byte, 1, &peer), "the answer");
        pass(100000);
        is(rp_udp_is_for_group(radios[0].node, fds[0]), 0, "the answer is unicast");
        is(rp_recvfrom(radios[0].node, now, fds[0], &byte, 1, &peer), 1, "the answer");
    }
    must(rp_udp_leave(radios[1].node, fds[1], group), "rp_udp_leave");
    ask(fds[0], 42);
    is(rp_recvfrom(radios[1].node, now, fds[1], &byte, 1, NULL), RP_EAGAIN, "after leaving");
    is(rp_recvfrom(radios[2].node, now, fds[2], &byte, 1, NULL), 1, "the other member");
    is(byte, 42, "the second byte");
    printf("two members within two hops: all right\n");
    return 0;
}
