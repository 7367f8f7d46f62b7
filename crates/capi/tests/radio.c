/* A host reaches a sleepy leaf through a border router: routes, the host side, and every operation and
 * result of a radio. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redpoll.h"

#define EXPECT(code, call)                                                                 \
    do {                                                                                   \
        int got = (call);                                                                  \
        if (got != (int)(code)) {                                                          \
            fprintf(stderr, "line %d: %s = %d, not %d\n", __LINE__, #call, got,          \
                    (int)(code));                                                          \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

enum { BORDER, LEAF, NODES };

static _Alignas(8) uint8_t memory[NODES][32 * 1024];
static rp_node *nodes[NODES];
static uint64_t now;
static unsigned seen[NODES];  /* a bit for each kind of operation */
static int promised, pending; /* whether frames wait for the leaf; frame-pending acknowledgments */
static int busy;              /* number of the next transmissions that find the channel busy */
static int attempts;          /* transmissions, also those that found the channel busy */
static uint8_t loaded[NODES][125];
static size_t lens[NODES];

static void begin(int index)
{
    struct rp_config config;
    EXPECT(0, rp_config_init(&config, index == BORDER ? RP_BORDER : RP_LEAF));
    config.prefix[0] = 0xfd;
    config.short_address = (uint16_t)(index + 1);
    config.eui64[0] = 2;
    config.eui64[7] = config.entropy[0] = (uint8_t)(index + 1);
    if (index == BORDER) {
        config.children = 1;
        config.max_frame_retries = 0;
        config.radio = RP_RADIO_AUTO_ACK | RP_RADIO_SOURCE_MATCH;
    } else {
        config.parent = BORDER + 1;
        config.sleepy = 1;
        config.poll_interval_ms = 500;
    }
    EXPECT(0, rp_node_init(memory[index], sizeof memory[index], &config, &nodes[index]));
}

/* Ends the transmission of the loaded frame. */
static uint8_t transmitted(int index)
{
    const uint8_t *frame = loaded[index];
    int is_command = (frame[0] & 7) == 3, wants_ack = (frame[0] & 0x20) != 0;
    attempts++;
    if (busy > 0) {
        busy--;
        return RP_RESULT_CHANNEL_BUSY;
    }
    int to = frame[5] + 256 * frame[6]; /* short address of the destination */
    if (wants_ack && to != 2 - index) {
        return RP_RESULT_NO_ACK;
    }
    int says_so = index == LEAF && is_command && promised;
    EXPECT(0, rp_input_frame(nodes[1 - index], now, frame, lens[index], -60, 255, (uint8_t)says_so));
    pending += says_so;
    return !wants_ack ? RP_RESULT_SENT : says_so ? RP_RESULT_ACKED_PENDING : RP_RESULT_ACKED;
}

static void serve(int index)
{
    struct rp_work work;
    while (rp_poll_radio(nodes[index], now, &work) == 1) {
        seen[index] |= 1u << work.kind;
        if (work.kind == RP_WORK_LOAD) {
            memcpy(loaded[index], work.frame, lens[index] = work.frame_len);
            EXPECT(0, rp_radio_done(nodes[index], now, RP_RESULT_LOADED));
        } else if (work.kind == RP_WORK_TRANSMIT) {
            now += 4000;
            EXPECT(0, rp_radio_done(nodes[index], now, transmitted(index)));
        } else if (work.kind == RP_WORK_SOURCE_MATCH) {
            EXPECT(LEAF + 1, work.neighbour);
            promised = work.pending;
        }
    }
    while (rp_poll_event(nodes[index]) > 0) {
    }
}

static void run_until(uint64_t end)
{
    for (;;) {
        uint64_t next = end, at;
        for (int round = 0; round < 2; round++) {
            serve(BORDER);
            serve(LEAF);
        }
        for (int index = 0; index < NODES; index++) {
            if (rp_poll_at(nodes[index], &at) == 1 && at < next) {
                next = at;
            }
        }
        now = next > now ? next : now;
        for (int index = 0; index < NODES; index++) {
            EXPECT(0, rp_on_timeout(nodes[index], now));
        }
        if (now >= end) {
            return;
        }
    }
}

/* Makes an echo request of the host to this address, and returns its length. */
static size_t request(uint8_t *packet, const uint8_t *to, uint8_t number)
{
    static const uint8_t host[16] = {0xfd, 9, [15] = 9};
    const size_t len = 60;
    uint32_t sum = (uint32_t)(len - 40) + 58;
    memset(packet, 0, len);
    packet[0] = 0x60, packet[5] = (uint8_t)(len - 40), packet[6] = 58, packet[7] = 64;
    memcpy(packet + 8, host, 16);
    memcpy(packet + 24, to, 16);
    packet[40] = 128, packet[47] = number;
    for (size_t at = 8; at < len; at++) {
        sum += (uint32_t)packet[at] << (at % 2 ? 0 : 8);
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[42] = (uint8_t)(~sum >> 8), packet[43] = (uint8_t)~sum;
    return len;
}

/* The host's request arrives at the leaf, and the answer comes back. */
static void reaches(const uint8_t *leaf, uint8_t number)
{
    uint8_t packet[1280];
    EXPECT(0, rp_input_packet(nodes[BORDER], now, packet, request(packet, leaf, number)));
    run_until(now + 2000000);
    EXPECT(60, rp_poll_packet(nodes[BORDER], now, packet, sizeof packet));
    EXPECT(129, packet[40]);
    EXPECT(number, packet[47]);
    EXPECT(0, memcmp(packet + 8, leaf, 16));
    EXPECT(0, rp_poll_packet(nodes[BORDER], now, packet, sizeof packet));
}

/* The routes decide where a packet of the host goes. */
static void routes(void)
{
    static const uint8_t mesh[16] = {0xfd, 7}, nowhere[16] = {0xfd, 8};
    uint8_t packet[1280], to[16] = {0xfd, 7, [15] = 5};
    int code, count = 0;
    EXPECT(0, rp_add_route(nodes[BORDER], mesh, 16, RP_VIA_NEIGHBOUR, 77));
    EXPECT(0, rp_add_route(nodes[BORDER], nowhere, 16, RP_VIA_UNREACHABLE, RP_NO_SHORT));
    EXPECT(RP_EINVAL, rp_add_route(nodes[BORDER], mesh, 16, RP_VIA_NEIGHBOUR, 0xfffe));
    EXPECT(0, rp_input_packet(nodes[BORDER], now, packet, request(packet, to, 1)));
    memset(loaded[BORDER], 0, sizeof loaded[BORDER]);
    /* With max_frame_retries 0, the node makes another attempt only after a busy channel, and not
     * after a missing acknowledgment. */
    attempts = 0;
    busy = 3;
    run_until(now + 100000);
    EXPECT(77, loaded[BORDER][5] + 256 * loaded[BORDER][6]);
    EXPECT(4, attempts);
    /* The node reports the unreachable destination to the host (RFC 4443, type 1, code 3). */
    run_until(now + 5000000);
    while (rp_poll_packet(nodes[BORDER], now, packet, sizeof packet) > 0) {
    }
    to[1] = 8;
    EXPECT(0, rp_input_packet(nodes[BORDER], now, packet, request(packet, to, 2)));
    EXPECT(108, rp_poll_packet(nodes[BORDER], now, packet, sizeof packet));
    EXPECT(1, packet[40]);
    EXPECT(3, packet[41]);
    /* Packets for the radio wait in the node's four slots. */
    to[1] = 7;
    while ((code = rp_input_packet(nodes[BORDER], now, packet, request(packet, to, 3))) == 0) {
        count++;
    }
    EXPECT(RP_EAGAIN, code);
    EXPECT(1, count >= 2 && count <= 4);
    while (rp_add_route(nodes[BORDER], to, (uint8_t)(17 + count), RP_VIA_HOST, RP_NO_SHORT) == 0) {
        EXPECT(1, count++ < 100);
    }
    EXPECT(RP_ENOMEM, rp_add_route(nodes[BORDER], to, 120, RP_VIA_HOST, RP_NO_SHORT));
}

int main(void)
{
    const uint8_t all = 1u << RP_WORK_LOAD | 1u << RP_WORK_TRANSMIT;
    uint8_t leaf[16], prefix[16] = {0xfd}, packet[1280];
    begin(BORDER);
    begin(LEAF);
    EXPECT(0, rp_add_route(nodes[BORDER], prefix, 64, RP_VIA_ON_LINK, RP_NO_SHORT));
    EXPECT(0, rp_address(nodes[LEAF], leaf));
    run_until(5000000);
    reaches(leaf, 1);
    busy = 3;
    reaches(leaf, 2);
    EXPECT(0, busy);
    EXPECT(1, pending > 1);
    EXPECT(all, seen[BORDER] & all);
    EXPECT(1, (seen[BORDER] & 1u << RP_WORK_SOURCE_MATCH) != 0);
    EXPECT(1, (seen[LEAF] & 1u << RP_WORK_LISTEN) != 0);
    EXPECT(1, (seen[LEAF] & (1u << RP_WORK_SLEEP | 1u << RP_WORK_DOZE)) != 0);
    /* The leaf's own request leaves at the host side. */
    const uint8_t outside[16] = {0xfd, 9, [15] = 9};
    EXPECT(0, rp_ping(nodes[LEAF], now, outside, 1, 1));
    run_until(now + 1000000);
    EXPECT(1, rp_poll_packet(nodes[BORDER], now, packet, sizeof packet) >= 48);
    EXPECT(0, memcmp(packet + 24, outside, 16));
    routes();
    EXPECT(0, rp_node_end(nodes[BORDER]));
    EXPECT(0, rp_node_end(nodes[LEAF]));
    printf("all right\n");
    return 0;
}
