/* Fetches 200,000 bytes from port 8 of Linux, then echoes what arrives at port 7. */
#include <stdio.h>

#include "contiki.h"
#include "contiki-net.h"

#include "redpoll_contiki.h"

PROCESS(test_process, "Test of Redpoll");
AUTOSTART_PROCESSES(&test_process);

static const char peer[] = "fd00:7270::2";

static int in = -1;        /* descriptor of the connection, or negative */
static int listener;
static unsigned received, wrong;
static uint8_t bytes[500];
static int len, sent;      /* part of bytes that waits to be sent */

static int fetch_begin(void)
{
    rp_node *node = redpoll_contiki_node();
    struct rp_endpoint to = {.port = 8};
    uip_ipaddr_t address;
    uiplib_ipaddrconv(peer, &address);
    memcpy(to.address, &address, sizeof to.address);
    in = rp_socket(node, redpoll_contiki_now(), RP_SOCK_STREAM);
    return in < 0 ? in : rp_connect(node, redpoll_contiki_now(), in, &to);
}

/* Reads what has arrived. Returns RP_EAGAIN until the connection has ended, then 0 or an RP_E*. */
static int fetch(void)
{
    int got;
    while ((got = rp_recv(redpoll_contiki_node(), redpoll_contiki_now(), in, bytes, sizeof bytes,
                          0)) > 0) {
        for (int i = 0; i < got; i++, received++) {
            wrong += bytes[i] != received * 7 % 251;
        }
    }
    return got;
}

static int echo_begin(void)
{
    rp_node *node = redpoll_contiki_node();
    int code;
    listener = rp_socket(node, redpoll_contiki_now(), RP_SOCK_STREAM);
    if (listener < 0) {
        return listener;
    }
    code = rp_bind(node, redpoll_contiki_now(), listener, 7);
    return code < 0 ? code : rp_listen(node, redpoll_contiki_now(), listener, 1);
}

/* Serves connections, one after the other, as far as possible. */
static void echo(void)
{
    rp_node *node = redpoll_contiki_node();
    for (;;) {
        int code;
        if (in < 0) {
            in = code = rp_accept(node, redpoll_contiki_now(), listener, NULL);
            len = sent = 0;
            if (code < 0) {
                return;
            }
        }
        if (sent == len) {
            code = rp_recv(node, redpoll_contiki_now(), in, bytes, sizeof bytes, 0);
            len = code < 0 ? 0 : code;
            sent = 0;
        } else {
            code = rp_send(node, redpoll_contiki_now(), in, bytes + sent, (size_t)(len - sent));
            sent += code < 0 ? 0 : code;
        }
        if (code == RP_EAGAIN) {
            return;
        }
        if (code <= 0) {
            printf("echoed, end: %d\n", code);
            (void)rp_close(node, redpoll_contiki_now(), in);
            in = -1;
        }
    }
}

PROCESS_THREAD(test_process, ev, data)
{
    static int code;

    PROCESS_BEGIN();
    printf("redpoll: %d\n", redpoll_contiki_init(NULL));
    code = fetch_begin();
    printf("connect: %s\n", rp_strerror(code));
    while (code == RP_EINPROGRESS || code == RP_EAGAIN) {
        redpoll_contiki_poll();
        PROCESS_WAIT_EVENT_UNTIL(ev == redpoll_contiki_event);
        code = fetch();
    }
    printf("fetched %u bytes, %u wrong, end: %d\n", received, wrong, code);
    (void)rp_close(redpoll_contiki_node(), redpoll_contiki_now(), in);
    in = -1;
    printf("listening: %d\n", echo_begin());
    for (;;) {
        echo();
        redpoll_contiki_poll();
        PROCESS_WAIT_EVENT_UNTIL(ev == redpoll_contiki_event);
    }
    PROCESS_END();
}
