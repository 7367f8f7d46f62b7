/* The process that owns Redpoll's node: packets from and to uIP, the node's timer, and the event for
 * the processes that use sockets. */
#include "contiki.h"
#include "contiki-net.h"
#include "lib/csprng.h"

#include "redpoll_contiki.h"
#include "contiki_uip.h"

#ifndef REDPOLL_CONNECTIONS
#define REDPOLL_CONNECTIONS 2
#endif
#ifndef REDPOLL_HALF_OPEN
#define REDPOLL_HALF_OPEN REDPOLL_CONNECTIONS
#endif
#ifndef REDPOLL_LISTENERS
#define REDPOLL_LISTENERS 2
#endif
#ifndef REDPOLL_BUFFER
#define REDPOLL_BUFFER 4880
#endif
#ifndef REDPOLL_MEMORY
#define REDPOLL_MEMORY (12 * 1024 + REDPOLL_CONNECTIONS * (2 * REDPOLL_BUFFER + 768))
#endif
#ifndef REDPOLL_MSS
#if UIP_CONF_IPV6_RPL
#define REDPOLL_MSS 1140
#else
#define REDPOLL_MSS 1220
#endif
#endif
#if CONTIKI_TARGET_NATIVE && !defined SELECT_CONF_TIMEOUT
#error "timers of the native platform may be 1 s late: set SELECT_CONF_TIMEOUT to 10 (ms) or less"
#endif

PROCESS(redpoll_process, "Redpoll");

process_event_t redpoll_contiki_event;

static _Alignas(8) uint8_t memory[REDPOLL_MEMORY];
static rp_node *node;

PROCESS_THREAD(redpoll_process, ev, data)
{
    static struct etimer timer;
    static uint8_t has_changed;

    PROCESS_BEGIN();
    (void)rp_uip_begin(node);
    for (;;) {
        etimer_set(&timer, rp_uip_serve());
        while (rp_poll_event(node) > 0) {
            has_changed = 1;
        }
        if (has_changed) {
            has_changed = process_post(PROCESS_BROADCAST, redpoll_contiki_event, NULL) !=
                          PROCESS_ERR_OK;
            if (has_changed) {
                process_poll(&redpoll_process); /* the queue of events is full */
            }
        }
        PROCESS_WAIT_EVENT_UNTIL(ev == PROCESS_EVENT_POLL ||
                                 (ev == PROCESS_EVENT_TIMER && data == &timer));
    }
    PROCESS_END();
}

int redpoll_contiki_init(const uip_ipaddr_t *address)
{
    struct rp_ip_config config;
    if (RP_ABI_CHECK() != 0) {
        return RP_EINVAL;
    }
    if (node != NULL) {
        return RP_EALREADY;
    }
    if (address == NULL) {
        uip_ds6_addr_t *entry = uip_ds6_get_global(ADDR_PREFERRED);
        if (entry == NULL) {
            return RP_EADDRNOTAVAIL;
        }
        address = &entry->ipaddr;
    }
    (void)rp_ip_config_init(&config);
    memcpy(config.address, address, sizeof config.address);
    if (!csprng_rand(config.entropy, sizeof config.entropy)) {
        return RP_EAGAIN;
    }
    config.mss = REDPOLL_MSS;
    config.send_buffer = REDPOLL_BUFFER;
    config.receive_buffer = REDPOLL_BUFFER;
    config.connections = REDPOLL_CONNECTIONS;
    config.listeners = REDPOLL_LISTENERS;
    config.sockets = REDPOLL_CONNECTIONS + REDPOLL_LISTENERS + 1;
    config.packets = 4;
    config.half_open = REDPOLL_HALF_OPEN;
    config.hop_limit = uip_ds6_if.cur_hop_limit;
    int code = rp_ip_init(memory, sizeof memory, &config, &node);
    if (code < 0) {
        return code;
    }
    redpoll_contiki_event = process_alloc_event();
    process_start(&redpoll_process, NULL);
    return 0;
}

rp_node *redpoll_contiki_node(void)
{
    return node;
}

uint64_t redpoll_contiki_now(void)
{
    return rp_uip_now();
}

void redpoll_contiki_poll(void)
{
    process_poll(&redpoll_process);
}
