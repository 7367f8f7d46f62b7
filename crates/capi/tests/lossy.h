/*
 * Packets between two systems in virtual time: each takes DELAY_US, and may be lost. For tests that
 * exchange ROUNDS echoes of SIZE bytes over them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ROUNDS
#define ROUNDS 30
#endif
#define SIZE 2000
#define DELAY_US 10000
#define LOSS 31 /* one packet in LOSS is lost */

static uint64_t now_us;
static unsigned dice = 1;

static void expect(int is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}

static int happens(unsigned once_in)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 8) % once_in == 0;
}

/* Packets in flight in one direction. */
struct way {
    struct {
        uint8_t bytes[1280];
        size_t len;
        uint64_t at;
    } all[64];
    int first, count;
};

static void put(struct way *way, const uint8_t *packet, size_t len)
{
    if (happens(LOSS) || way->count == 64) {
        return;
    }
    int place = (way->first + way->count++) % 64;
    memcpy(way->all[place].bytes, packet, len);
    way->all[place].len = len;
    way->all[place].at = now_us + DELAY_US;
}

/* Moves the next packet that has arrived to `packet`. Returns its length, or 0 if none has. */
static size_t take(struct way *way, uint8_t *packet)
{
    if (way->count == 0 || way->all[way->first].at > now_us) {
        return 0;
    }
    size_t len = way->all[way->first].len;
    memcpy(packet, way->all[way->first].bytes, len);
    way->first = (way->first + 1) % 64;
    way->count--;
    return len;
}
