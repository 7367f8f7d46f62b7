/*
 * The module that docs/modules.md describes in "Results", with Redpoll's TCP: echo services over UDP
 * and TCP on port 7, and in a node that is not the root, requests to the echo services of the root.
 */
#include <stdio.h>
#include <string.h>

#include "contiki.h"
#include "contiki-net.h"
#include "random.h"

#include "redpoll_contiki.h"

#ifndef PEER_IS_ROOT
#define PEER_IS_ROOT 0
#endif
#define PORT 7
#define DATAGRAM 300
#define STREAM 2000

PROCESS(udp_process, "UDP");
PROCESS(tcp_process, "TCP");
AUTOSTART_PROCESSES(&udp_process, &tcp_process);

/* --- UDP --- */

static struct simple_udp_connection service, client;
static unsigned asked, good, bad;
static uint8_t datagram[DATAGRAM];

static void on_request(struct simple_udp_connection *connection, const uip_ipaddr_t *from,
                       uint16_t port, const uip_ipaddr_t *to, uint16_t to_port,
                       const uint8_t *data, uint16_t len)
{
    static uint8_t copy[UIP_BUFSIZE];
    memcpy(copy, data, len);
    simple_udp_sendto_port(connection, copy, len, from, port);
}

static void on_answer(struct simple_udp_connection *connection, const uip_ipaddr_t *from,
                      uint16_t port, const uip_ipaddr_t *to, uint16_t to_port,
                      const uint8_t *data, uint16_t len)
{
    if (len == DATAGRAM && memcmp(data, datagram, DATAGRAM) == 0) {
        good++;
    } else {
        bad++;
    }
    printf("udp sent %u ok %u bad %u\n", asked, good, bad);
}

PROCESS_THREAD(udp_process, ev, data)
{
    static struct etimer timer;
    uip_ipaddr_t root;

    PROCESS_BEGIN();
    for (unsigned i = 0; i < DATAGRAM; i++) {
        datagram[i] = (uint8_t)(i * 7);
    }
    simple_udp_register(&service, PORT, NULL, 0, on_request);
    simple_udp_register(&client, PORT + 1, NULL, PORT, on_answer);
    while (!PEER_IS_ROOT) {
        etimer_set(&timer, 9 * CLOCK_SECOND + random_rand() % (2 * CLOCK_SECOND));
        PROCESS_WAIT_EVENT_UNTIL(ev == PROCESS_EVENT_TIMER && data == &timer);
        if (NETSTACK_ROUTING.node_is_reachable() && NETSTACK_ROUTING.get_root_ipaddr(&root)) {
            asked++;
            simple_udp_sendto(&client, datagram, DATAGRAM, &root);
        }
    }
    PROCESS_END();
}

/* --- the client of TCP --- */

static int out = -1; /* descriptor, or negative */
static unsigned run, sent, echoed, wrong;

static uint8_t content(unsigned at)
{
    return (uint8_t)(at * 7 + run);
}

static void begin(void)
{
    rp_node *node = redpoll_contiki_node();
    struct rp_endpoint to = {.port = PORT};
    uip_ipaddr_t root;
    if (out >= 0 || !NETSTACK_ROUTING.get_root_ipaddr(&root)) {
        return;
    }
    memcpy(to.address, &root, sizeof to.address);
    printf("connect run %u\n", ++run);
    sent = echoed = wrong = 0;
    out = rp_socket(node, redpoll_contiki_now(), RP_SOCK_STREAM);
    (void)rp_connect(node, redpoll_contiki_now(), out, &to);
}

/* Sends and receives as far as possible. */
static void proceed(void)
{
    rp_node *node = redpoll_contiki_node();
    uint8_t bytes[200];
    int code = 0;
    while (sent < STREAM && code >= 0) {
        unsigned len = STREAM - sent < sizeof bytes ? STREAM - sent : sizeof bytes;
        for (unsigned i = 0; i < len; i++) {
            bytes[i] = content(sent + i);
        }
        code = rp_send(node, redpoll_contiki_now(), out, bytes, len);
        sent += code < 0 ? 0 : (unsigned)code;
        if (sent == STREAM) {
            (void)rp_shutdown(node, redpoll_contiki_now(), out, RP_SHUT_WR);
        }
    }
    while (out >= 0 && (code = rp_recv(node, redpoll_contiki_now(), out, bytes, sizeof bytes, 0)) !=
                           RP_EAGAIN) {
        if (code <= 0) {
            if (echoed == STREAM) {
                printf("tcp echoed %u bad %u\n", echoed, wrong);
            } else {
                printf("tcp failed after %u bytes: %s\n", echoed, rp_strerror(code));
            }
            (void)rp_close(node, redpoll_contiki_now(), out);
            out = -1;
        }
        for (int i = 0; i < code; i++, echoed++) {
            wrong += bytes[i] != content(echoed);
        }
    }
}

/* --- the echo service of TCP --- */

static int listener;
static struct {
    int fd; /* descriptor, or negative */
    int len, sent;
    uint8_t bytes[200];
} echoes[REDPOLL_CONNECTIONS - 1];

static void listen(void)
{
    rp_node *node = redpoll_contiki_node();
    listener = rp_socket(node, redpoll_contiki_now(), RP_SOCK_STREAM);
    (void)rp_bind(node, redpoll_contiki_now(), listener, PORT);
    printf("listening: %d\n", rp_listen(node, redpoll_contiki_now(), listener, 3));
    for (unsigned i = 0; i < sizeof echoes / sizeof echoes[0]; i++) {
        echoes[i].fd = -1;
    }
}

/* Serves a connection, or the next one, as far as possible. */
static void echo(unsigned index)
{
    rp_node *node = redpoll_contiki_node();
    int code = 0;
    while (code != RP_EAGAIN) {
        int *fd = &echoes[index].fd, *len = &echoes[index].len, *done = &echoes[index].sent;
        if (*fd < 0) {
            *fd = rp_accept(node, redpoll_contiki_now(), listener, NULL);
            *len = *done = 0;
            if (*fd < 0) {
                return;
            }
        }
        if (*done == *len) {
            code = rp_recv(node, redpoll_contiki_now(), *fd, echoes[index].bytes,
                           sizeof echoes[index].bytes, 0);
            *len = code < 0 ? 0 : code;
            *done = 0;
        } else {
            code = rp_send(node, redpoll_contiki_now(), *fd, echoes[index].bytes + *done,
                           (size_t)(*len - *done));
            *done += code < 0 ? 0 : code;
        }
        if (code <= 0 && code != RP_EAGAIN) {
            (void)rp_close(node, redpoll_contiki_now(), *fd);
            *fd = -1;
        }
    }
}

PROCESS_THREAD(tcp_process, ev, data)
{
    static struct etimer timer;

    PROCESS_BEGIN();
    if (PEER_IS_ROOT) {
        NETSTACK_ROUTING.root_start();
    }
    do {
        etimer_set(&timer, CLOCK_SECOND);
        PROCESS_WAIT_EVENT_UNTIL(ev == PROCESS_EVENT_TIMER && data == &timer);
    } while (!NETSTACK_ROUTING.node_is_reachable());
    printf("redpoll: %d\n", redpoll_contiki_init(NULL));
    listen();
    etimer_set(&timer, 50 * CLOCK_SECOND + random_rand() % (20 * CLOCK_SECOND));
    for (;;) {
        if (out >= 0) {
            proceed();
        }
        for (unsigned i = 0; i < sizeof echoes / sizeof echoes[0]; i++) {
            echo(i);
        }
        redpoll_contiki_poll();
        PROCESS_WAIT_EVENT_UNTIL(ev == redpoll_contiki_event ||
                                 (ev == PROCESS_EVENT_TIMER && data == &timer));
        if (ev == PROCESS_EVENT_TIMER && !PEER_IS_ROOT) {
            etimer_set(&timer, 60 * CLOCK_SECOND);
            begin();
        }
    }
    PROCESS_END();
}
