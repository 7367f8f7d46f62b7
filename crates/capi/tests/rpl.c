/* RPL from C: a root, two routers and a leaf in a line. Each node hears only its neighbours. TCP
 * connections go from the leaf up, and from the root down to the leaf. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redpoll.h"

#define NODES 4
#define BYTES 3000

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

static int must(int code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", what, rp_strerror(code));
        exit(1);
    }
    return code;
}

static void begin(int index)
{
    static const uint8_t roles[NODES] = {RP_BORDER, RP_ROUTER, RP_ROUTER, RP_LEAF};
    struct radio *radio = &radios[index];
    struct rp_config config;
    must(rp_config_init(&config, roles[index]), "rp_config_init");
    config.prefix[0] = 0xfd;
    config.short_address = (uint16_t)(index + 1);
    config.entropy[0] = (uint8_t)(index + 1);
    config.rpl_neighbours = 4;
    must(rp_node_init(radio->memory, sizeof radio->memory, &config, &radio->node), "rp_node_init");
    must(rp_rpl_start(radio->node, now), "rp_rpl_start");
    must(rp_rpl_start(radio->node, now) == RP_EALREADY ? 0 : -1, "the second rp_rpl_start");
    radio->done_at = UINT64_MAX;
}

/* The loaded frame reaches the neighbours in the line. One frame in 40 is lost. */
static uint8_t carry(int from)
{
    static uint32_t dice = 1;
    struct radio *radio = &radios[from];
    int wants_ack = (radio->loaded[0] & 0x20) != 0;
    int to = radio->loaded[5] + 256 * radio->loaded[6] - 1; /* short address of the destination */
    dice = dice * 1664525u + 1013904223u;
    int is_lost = (dice >> 8) % 40 == 0;
    for (int index = from - 1; index <= from + 1 && !is_lost; index += 2) {
        if (index >= 0 && index < NODES) {
            must(rp_input_frame(radios[index].node, now, radio->loaded, radio->len, -60, 255, 0),
                 "rp_input_frame");
        }
    }
    if (!wants_ack) {
        return RP_RESULT_SENT;
    }
    return !is_lost && (to == from - 1 || to == from + 1) ? RP_RESULT_ACKED : RP_RESULT_NO_ACK;
}

static void step(void)
{
    uint64_t next = now + 1000000, at;
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

/* Connects two nodes, and sends BYTES from one to the other. */
static void transfer(rp_node *from, rp_node *to)
{
    struct rp_endpoint peer = {.port = 7};
    uint8_t bytes[200] = {0};
    int sent = 0, received = 0, in = -1;
    uint64_t until = now + 120000000;
    int listener = must(rp_socket(to, now, RP_SOCK_STREAM), "rp_socket");
    must(rp_bind(to, now, listener, peer.port), "rp_bind");
    must(rp_listen(to, now, listener, 1), "rp_listen");
    must(rp_address(to, peer.address), "rp_address");
    int out = must(rp_socket(from, now, RP_SOCK_STREAM), "rp_socket");
    int code = rp_connect(from, now, out, &peer);
    must(code == RP_EINPROGRESS ? 0 : code, "rp_connect");
    while (received < BYTES) {
        must(now < until ? 0 : RP_ETIMEDOUT, "the transfer");
        if (sent < BYTES && (code = rp_send(from, now, out, bytes, sizeof bytes)) > 0) {
            sent += code;
        }
        in = in < 0 ? rp_accept(to, now, listener, NULL) : in;
        if (in >= 0 && (code = rp_recv(to, now, in, bytes, sizeof bytes, 0)) > 0) {
            received += code;
        }
        step();
    }
    must(rp_setsockopt(from, now, out, RP_SOL_SOCKET, RP_SO_LINGER, 0), "RP_SO_LINGER");
    must(rp_close(from, now, out), "rp_close");
    must(rp_close(to, now, in), "rp_close");
    must(rp_close(to, now, listener), "rp_close");
}

int main(void)
{
    uint16_t rank = 0, parent = 0;
    for (int index = 0; index < NODES; index++) {
        begin(index);
    }
    must(rp_rpl_place(radios[3].node, &rank, &parent) == 0 && rank == 0xffff ? 0 : -1, "the leaf's start");
    while (rp_rpl_place(radios[3].node, &rank, &parent) != 1) {
        must(now < 600000000 ? 0 : RP_ETIMEDOUT, "the leaf does not join");
        step();
    }
    uint64_t joined_at = now;
    must(parent == 3 ? 0 : -1, "the leaf's parent");
    must(rp_rpl_place(radios[0].node, &rank, &parent) == 1 && parent == RP_NO_SHORT ? 0 : -1, "the root");
    pass(20000000); /* the DAOs reach the root */
    transfer(radios[3].node, radios[0].node);
    pass(5000000); /* the connection ends */
    transfer(radios[0].node, radios[3].node);
    printf("joined after %.1f s; up and down: all right\n", (double)joined_at / 1e6);
    return 0;
}
