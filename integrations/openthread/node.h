/* The parts of a simulated node: the platform layer (platform.c), the application (bulk.c), and the
 * transports under it (over_redpoll.c, over_tcplp.c, over_coap.c). */
#ifndef REDPOLL_OPENTHREAD_NODE_H
#define REDPOLL_OPENTHREAD_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openthread/instance.h>
#include <openthread/ip6.h>

#include "redpoll_module.h"

/* Incoming connections of a node at the same time. */
#define INCOMING 4
/* Outgoing connections of a node at the same time. */
#define OUTGOING 8
/* Largest buffer of a connection, for each direction. */
#define BUFFER_MAX 16384

extern const struct redpoll_host *host;
extern otInstance *instance;

/* Prints a line to the log of the run. */
void print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- TCP under the application ---- */

struct settings {
    otIp6Address own; /* Address of the node's interface. */
    uint16_t mss; /* Payload of a full segment; TCPlp ignores this value. */
    uint16_t send_buffer;
    uint16_t receive_buffer; /* Largest window. */
    uint8_t ack_delay; /* Longest delay of acknowledgements in units of 10 ms; TCPlp ignores it. */
};

struct tcp {
    const char *name;
    /* Called once, before the other functions. An int is 0, or negative on failure. */
    int (*begin)(const struct settings *settings);
    int (*serve)(uint16_t port);
    /* Opens the outgoing connection `slot`, which is less than OUTGOING. */
    int (*connect)(int slot, const otIp6Address *peer, uint16_t port);
    /* Returns the number of accepted bytes, 0 if the send buffer is full. */
    size_t (*send)(int slot, const uint8_t *bytes, size_t len);
    /* Closes an outgoing connection after the accepted bytes. */
    void (*close)(int slot);
};

extern const struct tcp redpoll_tcp, tcplp_tcp;
/* A transport with the same functions: OpenThread's block-wise CoAP. */
extern const struct tcp coap;

/* Sends and receives what is due over Redpoll's TCP. Returns whether anything happened. */
bool redpoll_serve(void);
/* Returns the time at which redpoll_serve is due next, or REDPOLL_NEVER. */
uint64_t redpoll_due(void);

/* ---- Application ---- */

void bulk_init(void);
/* Handles that an outgoing connection has opened or has room again. */
void bulk_on_room(int slot);
/* Returns the number of bytes of an outgoing transfer. */
uint64_t bulk_total(int slot);
/* Handles the failure of an outgoing connection. */
void bulk_on_lost(int slot, const char *reason);
/* Handles that the peer has closed an outgoing connection. */
void bulk_on_closed(int slot);
/* Handles bytes that have arrived from a peer on an incoming connection. */
void bulk_on_bytes(const otIp6Address *peer, const uint8_t *bytes, size_t len);
/* Handles the end of a peer's stream. */
void bulk_on_end(const otIp6Address *peer);
/* Opens again the failed outgoing connections whose retry time has come. */
void bulk_serve(void);
uint64_t bulk_due(void);

#endif
