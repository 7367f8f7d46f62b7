/* Example firmware for redpoll_module.h. Each node broadcasts a counter every second and prints
 * the counters that it receives. Console lines: "energy", "ask", "set TEXT", "get". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redpoll_module.h"

#define PAN_ID 0xabcd
#define SECOND 1000000u
#define KEY_TEXT 1

struct node {
    const struct redpoll_host *host;
    uint8_t eui64[8];
    uint8_t number;
    uint8_t count;
    uint64_t next_us;
};

/* Frames that this node has sent: a global, to show that nodes share no state. */
static unsigned sent_by_this_node;

static void print(struct node *node, const char *word, unsigned value)
{
    char line[64];
    int len = snprintf(line, sizeof line, "%s %u\n", word, value);
    node->host->print(node->host->self, line, (size_t)len);
}

/* Sends a data frame to the short address `to`, with a request for an acknowledgement if it is not
 * broadcast. */
static void send(struct node *node, uint16_t to)
{
    uint8_t frame[12] = {0x41, 0x88, node->count, PAN_ID & 0xff, PAN_ID >> 8};
    if (to != 0xffff)
        frame[0] |= 0x20;
    frame[5] = to & 0xff;
    frame[6] = to >> 8;
    frame[7] = node->number;
    frame[9] = node->count++;
    if (node->host->transmit(node->host->self, frame, 10, 4) == 0)
        sent_by_this_node++;
}

static void *start(const struct redpoll_host *host, const uint8_t eui64[8])
{
    struct node *node = calloc(1, sizeof *node);
    uint8_t jitter;
    node->host = host;
    memcpy(node->eui64, eui64, 8);
    node->number = eui64[7];
    host->set_address(host->self, PAN_ID, node->number, eui64);
    host->listen(host->self, 1);
    host->random(host->self, &jitter, 1);
    print(node, "begins", jitter);
    node->next_us = host->now_us(host->self) + SECOND + jitter * 100u;
    host->set_alarm(host->self, node->next_us);
    return node;
}

static void on_alarm(void *context)
{
    struct node *node = context;
    send(node, 0xffff);
    node->next_us += SECOND;
    node->host->set_alarm(node->host->self, node->next_us);
}

static void on_frame(void *context, const struct redpoll_frame *frame)
{
    struct node *node = context;
    if (frame->len == 10)
        print(node, frame->bytes[0] & 0x20 ? "asked" : "heard", frame->bytes[7]);
}

static void on_sent(void *context, enum redpoll_sent sent)
{
    if (sent != REDPOLL_SENT)
        print(context, "outcome", sent);
}

static void on_energy(void *context, int8_t dbm)
{
    print(context, "energy", (unsigned)-dbm);
}

static void on_line(void *context, const char *line)
{
    struct node *node = context;
    const struct redpoll_host *host = node->host;
    uint8_t text[32] = {0};
    if (strcmp(line, "energy") == 0)
        host->measure_energy(host->self, 5000);
    else if (strncmp(line, "ask ", 4) == 0)
        send(node, (uint16_t)atoi(line + 4));
    else if (strncmp(line, "set ", 4) == 0)
        host->setting_add(host->self, KEY_TEXT, (const uint8_t *)line + 4, strlen(line + 4));
    else if (strcmp(line, "get") == 0)
        print(node, "stored", (unsigned)host->setting_get(host->self, KEY_TEXT, 0, text, 31));
    else if (strcmp(line, "sent") == 0)
        print(node, "sent", sent_by_this_node);
    else if (strcmp(line, "crash") == 0)
        abort();
    else if (strcmp(line, "hang") == 0)
        for (volatile int i = 0;; i++) {}
    else
        host->fail(host->self, "unknown console line");
}

const struct redpoll_module redpoll_module = {
    REDPOLL_MODULE_VERSION, "beacon", start, on_alarm, on_frame, on_sent, on_energy, on_line,
};
