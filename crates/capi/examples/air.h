/*
 * The air between two nodes, in memory and in virtual time: the tasks of a radio driver, without
 * a radio. Each radio sends acknowledgements (RP_RADIO_AUTO_ACK). A frame takes 32 us per byte.
 * One frame in LOSS is lost.
 */
#ifndef AIR_H
#define AIR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redpoll.h"

#define NODES 2
#define LOSS 20

struct radio {
    rp_node *node;
    void *memory;
    uint8_t loaded[125];
    size_t loaded_len;
    uint64_t done_at; /* end of the present work; UINT64_MAX: none */
    uint8_t result;
};

struct air {
    struct radio radio[NODES];
    uint64_t now;
    uint32_t dice;
    unsigned frames;
};

static void must(int code, const char *what)
{
    if (code < 0) {
        fprintf(stderr, "%s: %s\n", what, rp_strerror(code));
        exit(1);
    }
}

/* Adds node `index`, with short address index + 1 and a default route to the other node. */
static void air_add(struct air *air, int index, uint8_t role)
{
    struct radio *radio = &air->radio[index];
    struct rp_config config;
    size_t len = 0;
    must(rp_config_init(&config, role), "rp_config_init");
    static const uint8_t prefix[8] = {0xfd, 0x72, 0x65, 0x64, 0x70, 0x6f, 0x6c, 0x6c};
    memcpy(config.prefix, prefix, sizeof prefix);
    config.short_address = (uint16_t)(index + 1);
    config.parent = (uint16_t)(2 - index);
    /* A device takes these bytes from its random number generator. */
    memset(config.entropy, 0x5a + index, sizeof config.entropy);
    must(rp_sizeof_node(&config, &len), "rp_sizeof_node");
    radio->memory = malloc(len);
    must(rp_node_init(radio->memory, len, &config, &radio->node), "rp_node_init");
    radio->done_at = UINT64_MAX;
    printf("node %d: %lu bytes\n", index + 1, (unsigned long)len);
}

static int air_loses(struct air *air)
{
    air->dice = air->dice * 1664525u + 1013904223u;
    return (air->dice >> 8) % LOSS == 0;
}

/* Sends the loaded frame, which may be lost. */
static uint8_t air_carry(struct air *air, int from)
{
    struct radio *radio = &air->radio[from];
    rp_node *other = air->radio[1 - from].node;
    int wants_ack = (radio->loaded[0] & 0x20) != 0;
    air->frames++;
    if (air_loses(air)) {
        return wants_ack ? RP_RESULT_NO_ACK : RP_RESULT_SENT;
    }
    must(rp_input_frame(other, air->now, radio->loaded, radio->loaded_len, -60, 255, 0),
         "rp_input_frame");
    return wants_ack ? RP_RESULT_ACKED : RP_RESULT_SENT;
}

/* Starts the operations of the radios. */
static void air_serve(struct air *air)
{
    for (int index = 0; index < NODES; index++) {
        struct radio *radio = &air->radio[index];
        struct rp_work work;
        while (rp_poll_event(radio->node) > 0) {
        }
        while (radio->done_at == UINT64_MAX &&
               rp_poll_radio(radio->node, air->now, &work) == 1) {
            switch (work.kind) {
            case RP_WORK_LOAD:
                memcpy(radio->loaded, work.frame, work.frame_len);
                radio->loaded_len = work.frame_len;
                radio->done_at = air->now;
                radio->result = RP_RESULT_LOADED;
                break;
            case RP_WORK_TRANSMIT:
                /* Includes preamble, length, FCS, turnaround and acknowledgement. */
                radio->done_at = air->now + 32 * (radio->loaded_len + 8) + 544;
                radio->result = 0;
                break;
            default:
                break; /* this radio is always on */
            }
        }
    }
}

/* Advances the time to the next event, at most to `until`. */
static int air_step(struct air *air, uint64_t until)
{
    uint64_t next = until;
    air_serve(air);
    for (int index = 0; index < NODES; index++) {
        struct radio *radio = &air->radio[index];
        uint64_t at;
        if (rp_poll_at(radio->node, &at) == 1 && at < next) {
            next = at;
        }
        if (radio->done_at < next) {
            next = radio->done_at;
        }
    }
    if (next == UINT64_MAX) {
        return RP_ETIMEDOUT; /* no event will follow */
    }
    if (next > air->now) {
        air->now = next;
    }
    for (int index = 0; index < NODES; index++) {
        struct radio *radio = &air->radio[index];
        if (radio->done_at <= air->now) {
            uint8_t result = radio->result ? radio->result : air_carry(air, index);
            radio->done_at = UINT64_MAX;
            must(rp_radio_done(radio->node, air->now, result), "rp_radio_done");
        }
        must(rp_on_timeout(radio->node, air->now), "rp_on_timeout");
    }
    air_serve(air);
    return 0;
}

static void air_end(struct air *air)
{
    for (int index = 0; index < NODES; index++) {
        must(rp_node_end(air->radio[index].node), "rp_node_end");
        free(air->radio[index].memory);
    }
}

#endif
