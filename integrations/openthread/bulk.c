/* Bulk transfers for the measurements: a sender and a sink over one of two TCPs or CoAP. The simulator gets
 * each byte that the application writes and reads, and compares them.
 *
 *     stack redpoll|tcplp|coap OWN_ADDRESS MSS SEND_BUFFER RECEIVE_BUFFER ACK_DELAY_MS
 *     bulk serve PORT
 *     bulk send ADDRESS PORT BYTES RETRY_MS
 *     bulk hold          leaves the connections of this node open after their bytes
 *     bulk more BYTES    sends more bytes over the held connection; with CoAP, in another request
 *     bulk log           prints the number of bytes that have arrived after each arrival */
#include <stdlib.h>
#include <string.h>

#include <openthread/cli.h>

#include "node.h"

#define CHUNK 512

static const struct tcp *tcp;
static uint16_t served_port;
static bool is_held, is_logged;
/* Bytes that have arrived on all incoming connections. */
static uint64_t arrived;

/* The outgoing transfers, one for each slot of the transport. */
static struct outgoing {
    otIp6Address peer;
    uint16_t port;
    uint64_t total, offset;
    uint64_t next; /* bytes of the next request */
    uint64_t retry_us, retry_at; /* retry_at only in the state WAITING */
    enum { IDLE, OPEN, CLOSING, WAITING } state;
} transfers[OUTGOING];

static void report(enum redpoll_stream event, const otIp6Address *peer, uint16_t port,
                   const uint8_t *bytes, size_t len)
{
    host->stream(host->self, event, peer->mFields.m8, port, bytes, len);
}

static uint8_t byte_at(uint64_t offset)
{
    return 0x40 | (uint8_t)((offset * 0x9e3779b97f4a7c15u) >> 58);
}

static void fail(struct outgoing *out, const char *reason)
{
    report(REDPOLL_STREAM_FAILED, &out->peer, out->port, NULL, 0);
    char address[OT_IP6_ADDRESS_STRING_SIZE];
    otIp6AddressToString(&out->peer, address, sizeof address);
    print_line("bulk: %s: %s", address, reason);
    out->state = WAITING;
    out->retry_at = host->now_us(host->self) + out->retry_us;
}

static void open(struct outgoing *out)
{
    out->offset = 0;
    out->state = OPEN;
    report(REDPOLL_STREAM_OPENED, &out->peer, out->port, NULL, 0);
    if (tcp->connect((int)(out - transfers), &out->peer, out->port) < 0)
        fail(out, "the connection could not be opened");
}

void bulk_on_room(int slot)
{
    struct outgoing *out = &transfers[slot];
    while (out->state == OPEN && out->offset < out->total) {
        uint8_t chunk[CHUNK];
        uint64_t left = out->total - out->offset;
        size_t len = left < CHUNK ? (size_t)left : CHUNK;
        for (size_t i = 0; i < len; i++)
            chunk[i] = byte_at(out->offset + i);
        size_t sent = tcp->send(slot, chunk, len);
        if (sent == 0)
            return;
        report(REDPOLL_STREAM_SENT, &out->peer, out->port, chunk, sent);
        out->offset += sent;
    }
    if (out->state == OPEN && !is_held) {
        out->state = CLOSING;
        tcp->close(slot);
    }
}

uint64_t bulk_total(int slot)
{
    return transfers[slot].total;
}

void bulk_on_lost(int slot, const char *reason)
{
    struct outgoing *out = &transfers[slot];
    if (out->state == OPEN || out->state == CLOSING)
        fail(out, reason);
}

static void open_next(struct outgoing *out)
{
    out->total = out->next;
    out->next = 0;
    open(out);
}

void bulk_on_closed(int slot)
{
    struct outgoing *out = &transfers[slot];
    if (out->state == OPEN)
        fail(out, "the peer closed the connection early");
    else if (out->state == CLOSING)
        out->state = IDLE;
    if (out->state == IDLE && out->next > 0)
        open_next(out);
}

void bulk_on_bytes(const otIp6Address *peer, const uint8_t *bytes, size_t len)
{
    arrived += len;
    if (is_logged)
        print_line("arrived: %llu", (unsigned long long)arrived);
    report(REDPOLL_STREAM_RECEIVED, peer, served_port, bytes, len);
}

void bulk_on_end(const otIp6Address *peer)
{
    report(REDPOLL_STREAM_ENDED, peer, served_port, NULL, 0);
}

void bulk_serve(void)
{
    for (struct outgoing *out = transfers; out < transfers + OUTGOING; out++)
        if (out->state == WAITING && out->retry_at <= host->now_us(host->self))
            open(out);
}

uint64_t bulk_due(void)
{
    uint64_t at = REDPOLL_NEVER;
    for (struct outgoing *out = transfers; out < transfers + OUTGOING; out++)
        if (out->state == WAITING && out->retry_at < at)
            at = out->retry_at;
    return at;
}

/* Reads a number up to `max`. */
static bool number(const char *text, uint64_t max, uint64_t *to)
{
    char *end;
    *to = strtoull(text, &end, 10);
    return end != text && *end == 0 && *to <= max;
}

static otError select_tcp(void *context, uint8_t count, char *args[])
{
    uint64_t mss, send, receive, ack_delay_ms;
    struct settings settings;
    (void)context;
    if (count != 6 || otIp6AddressFromString(args[1], &settings.own) != OT_ERROR_NONE ||
        !number(args[2], 1220, &mss) || !number(args[3], BUFFER_MAX, &send) ||
        !number(args[4], BUFFER_MAX, &receive) || !number(args[5], 500, &ack_delay_ms))
        return OT_ERROR_INVALID_ARGS;
    if (tcp != NULL)
        return OT_ERROR_ALREADY;
    settings.mss = (uint16_t)mss;
    settings.send_buffer = (uint16_t)send;
    settings.receive_buffer = (uint16_t)receive;
    settings.ack_delay = (uint8_t)(ack_delay_ms < 10    ? 1
                                   : ack_delay_ms > 470 ? 47
                                                        : ack_delay_ms / 10);
    const struct tcp *all[] = {&redpoll_tcp, &tcplp_tcp, &coap};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(args[0], all[i]->name) == 0) {
            if (all[i]->begin(&settings) < 0)
                return OT_ERROR_FAILED;
            tcp = all[i];
            return OT_ERROR_NONE;
        }
    return OT_ERROR_INVALID_ARGS;
}

/* Sends more bytes by the transfer of slot 0: over its open connection, or with another request
 * after the present one. */
static otError send_more(uint64_t bytes)
{
    struct outgoing *out = &transfers[0];
    if (out->port == 0)
        return OT_ERROR_INVALID_STATE;
    if (out->state == OPEN || out->state == WAITING) {
        out->total += bytes;
        bulk_on_room(0);
        return OT_ERROR_NONE;
    }
    out->next += bytes;
    if (out->state == IDLE)
        open_next(out);
    return OT_ERROR_NONE;
}

static otError bulk(void *context, uint8_t count, char *args[])
{
    struct outgoing *out = transfers;
    uint64_t port, bytes, retry_ms;
    (void)context;
    if (count == 1 && strcmp(args[0], "hold") == 0) {
        is_held = true;
        return OT_ERROR_NONE;
    }
    if (count == 1 && strcmp(args[0], "log") == 0) {
        is_logged = true;
        return OT_ERROR_NONE;
    }
    if (tcp == NULL)
        return OT_ERROR_INVALID_STATE;
    if (count == 2 && strcmp(args[0], "serve") == 0 && number(args[1], 65535, &port)) {
        served_port = (uint16_t)port;
        return tcp->serve(served_port) < 0 ? OT_ERROR_FAILED : OT_ERROR_NONE;
    }
    if (count == 2 && strcmp(args[0], "more") == 0 && number(args[1], UINT32_MAX, &bytes))
        return send_more(bytes);
    while (out < transfers + OUTGOING && out->state != IDLE)
        out++;
    if (out == transfers + OUTGOING)
        return OT_ERROR_BUSY;
    if (count != 5 || strcmp(args[0], "send") != 0 || !number(args[2], 65535, &port) ||
        !number(args[3], UINT64_MAX, &bytes) || !number(args[4], UINT32_MAX, &retry_ms) ||
        otIp6AddressFromString(args[1], &out->peer) != OT_ERROR_NONE)
        return OT_ERROR_INVALID_ARGS;
    out->port = (uint16_t)port;
    out->total = bytes;
    out->retry_us = retry_ms * 1000;
    open(out);
    return OT_ERROR_NONE;
}

void bulk_init(void)
{
    static const otCliCommand commands[] = {{"bulk", bulk}, {"stack", select_tcp}};
    otCliSetUserCommands(commands, 2, NULL);
}
