/*
 * The echo service (RFC 862), one connection at a time, by calls that do not wait. waiting.c uses
 * it over a radio in memory, on this computer or a microcontroller, and tun_echo.c uses it over a
 * TUN interface.
 */
#ifndef ECHO_H
#define ECHO_H

#include "redpoll.h"

struct echo {
    int listener, in;
    uint8_t bytes[256]; /* received bytes that have not been sent back */
    int len, sent;
};

/* Starts the service. Returns 0, or a negative RP_E*. */
static int echo_begin(struct echo *echo, rp_node *node, uint64_t now_us, uint16_t port)
{
    int code;
    echo->in = -1;
    echo->len = echo->sent = 0;
    echo->listener = rp_socket(node, now_us, RP_SOCK_STREAM);
    if (echo->listener < 0) {
        return echo->listener;
    }
    code = rp_bind(node, now_us, echo->listener, port);
    return code < 0 ? code : rp_listen(node, now_us, echo->listener, 1);
}

static void echo_end(struct echo *echo, rp_node *node, uint64_t now_us)
{
    (void)rp_close(node, now_us, echo->in);
    echo->in = -1;
    echo->len = echo->sent = 0;
}

/* Serves the connection. Call it whenever bytes may have arrived, or there may be room again. */
static void echo_serve(struct echo *echo, rp_node *node, uint64_t now_us)
{
    if (echo->in < 0) {
        echo->in = rp_accept(node, now_us, echo->listener, NULL);
    }
    while (echo->in >= 0) {
        if (echo->sent == echo->len) {
            echo->sent = 0;
            echo->len = rp_recv(node, now_us, echo->in, echo->bytes, sizeof echo->bytes, 0);
            if (echo->len == RP_EAGAIN) {
                echo->len = 0;
                return;
            }
            if (echo->len <= 0) {
                echo_end(echo, node, now_us);
                return;
            }
        }
        int taken = rp_send(node, now_us, echo->in, echo->bytes + echo->sent,
                            (size_t)(echo->len - echo->sent));
        if (taken == RP_EAGAIN) {
            return;
        }
        if (taken < 0) {
            echo_end(echo, node, now_us);
            return;
        }
        echo->sent += taken;
    }
}

#endif
