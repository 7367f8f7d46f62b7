/*
 * Two nodes without radios exchange IPv6 packets in memory, and some packets are lost. One node
 * sends 200,000 bytes to the other, which counts them and answers with their sum. There is one
 * loop, as on a device with its own IPv6 stack and without an operating system.
 *
 *   cc -Iinclude examples/ip_loop.c libredpoll_capi.a -lm -o ip_loop && ./ip_loop
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redpoll.h"

#define TOTAL 200000
#define PORT 7000
#define LOSS 29        /* one packet in LOSS is lost */
#define DELAY_US 15000 /* delay of each packet */
#define WAY 16         /* most packets in flight in one direction */

/* A node, and the packets in flight to it. */
struct end {
    _Alignas(8) uint8_t memory[24 * 1024];
    rp_node *node;
    struct {
        uint8_t bytes[1280];
        int len;
        uint64_t at;
    } way[WAY];
    int first, count;
};

static struct end ends[2];
static uint64_t now;
static unsigned packets, lost;

static void must(int code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", what, rp_strerror(code));
        exit(1);
    }
}

static void begin(struct end *end, uint8_t number)
{
    struct rp_ip_config config;
    size_t len;
    must(rp_ip_config_init(&config), "rp_ip_config_init");
    memcpy(config.address, "\xfd\x72", 2);
    config.address[15] = number;
    /* In a product, entropy comes from a source of randomness. */
    memset(config.entropy, number, sizeof config.entropy);
    must(rp_sizeof_ip(&config, &len), "rp_sizeof_ip");
    printf("node %d: %lu bytes\n", number, (unsigned long)len);
    must(rp_ip_init(end->memory, sizeof end->memory, &config, &end->node), "rp_ip_init");
}

/* Sends the packets of a node to the other node. */
static void send_all(struct end *from, struct end *to)
{
    static unsigned dice = 1;
    while (to->count < WAY) {
        int place = (to->first + to->count) % WAY;
        int len = rp_ip_output(from->node, now, to->way[place].bytes, sizeof to->way[0].bytes);
        must(len, "rp_ip_output");
        if (len == 0) {
            return;
        }
        packets++;
        dice = dice * 1664525u + 1013904223u;
        if ((dice >> 8) % LOSS == 0) {
            lost++;
            continue;
        }
        to->way[place].len = len;
        to->way[place].at = now + DELAY_US;
        to->count++;
    }
}

/* Passes the arrived packets to a node. */
static void receive_all(struct end *end)
{
    while (end->count > 0 && end->way[end->first].at <= now) {
        int first = end->first;
        int code = rp_ip_input(end->node, now, end->way[first].bytes,
                               (size_t)end->way[first].len);
        if (code == RP_EAGAIN) {
            return; /* the node has no room: the packet waits until the node has sent another */
        }
        must(code, "rp_ip_input");
        end->first = (first + 1) % WAY;
        end->count--;
    }
}

/* Advances the time to the next event. */
static void step(void)
{
    uint64_t next = UINT64_MAX;
    for (int index = 0; index < 2; index++) {
        struct end *end = &ends[index];
        uint64_t at;
        while (rp_poll_event(end->node) > 0) {
        }
        send_all(end, &ends[1 - index]);
        if (rp_poll_at(end->node, &at) == 1 && at < next) {
            next = at;
        }
    }
    for (int index = 0; index < 2; index++) {
        if (ends[index].count > 0 && ends[index].way[ends[index].first].at < next) {
            next = ends[index].way[ends[index].first].at;
        }
    }
    must(next == UINT64_MAX ? RP_ETIMEDOUT : 0, "no event is pending");
    now = next > now ? next : now;
    for (int index = 0; index < 2; index++) {
        must(rp_on_timeout(ends[index].node, now), "rp_on_timeout");
        receive_all(&ends[index]);
    }
}

static uint8_t content(unsigned place)
{
    return (uint8_t)(place * 31 + (place >> 8));
}

int main(void)
{
    must(RP_ABI_CHECK(), "the header is not that of the library");
    begin(&ends[0], 1);
    begin(&ends[1], 2);
    rp_node *server = ends[0].node, *client = ends[1].node;
    int listener = rp_socket(server, now, RP_SOCK_STREAM);
    must(listener, "rp_socket");
    must(rp_bind(server, now, listener, PORT), "rp_bind");
    must(rp_listen(server, now, listener, 1), "rp_listen");
    struct rp_endpoint to = {.port = PORT};
    must(rp_address(server, to.address), "rp_address");
    int out = rp_socket(client, now, RP_SOCK_STREAM);
    must(out, "rp_socket");
    int begun = rp_connect(client, now, out, &to);
    must(begun == RP_EINPROGRESS ? 0 : -1, "rp_connect");

    int in = -1, has_ended = 0, has_answer = 0;
    unsigned sent = 0, received = 0;
    uint32_t sum = 0, expected = 0, answer = 0;
    while (!has_answer && now < 600000000) {
        /* The client. */
        while (sent < TOTAL) {
            uint8_t data[200];
            unsigned len = 0;
            while (len < sizeof data && sent + len < TOTAL) {
                data[len] = content(sent + len);
                len++;
            }
            int taken = rp_send(client, now, out, data, len);
            if (taken == RP_EAGAIN || taken == RP_ENOTCONN) {
                break;
            }
            must(taken, "rp_send");
            for (int at = 0; at < taken; at++) {
                expected += content(sent++);
            }
        }
        if (sent == TOTAL && !has_ended) {
            must(rp_shutdown(client, now, out, RP_SHUT_WR), "rp_shutdown");
            has_ended = 1;
        }
        if (has_ended) {
            has_answer = rp_recv(client, now, out, (uint8_t *)&answer, 4, 0) == 4;
        }
        /* The server. */
        if (in < 0) {
            in = rp_accept(server, now, listener, NULL);
        }
        while (in >= 0 && received < TOTAL) {
            uint8_t data[300];
            int len = rp_recv(server, now, in, data, sizeof data, 0);
            if (len == RP_EAGAIN) {
                break;
            }
            must(len, "rp_recv");
            for (int at = 0; at < len; at++) {
                sum += data[at];
            }
            received += (unsigned)len;
            if (received == TOTAL) {
                must(rp_send(server, now, in, (uint8_t *)&sum, 4), "rp_send");
            }
        }
        step();
    }
    int right = has_answer && answer == expected && received == TOTAL;
    printf("%u bytes in %.2f s, %u packets, %u lost, %s\n", received, (double)now / 1e6, packets,
           lost, right ? "all right" : "WRONG");
    must(rp_node_end(server), "rp_node_end");
    must(rp_node_end(client), "rp_node_end");
    return !right;
}
