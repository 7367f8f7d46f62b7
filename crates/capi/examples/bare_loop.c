/*
 * A leaf sends 20,000 bytes to a router, which counts them and answers with their sum. All calls
 * return at once, in one loop, as on a device without an operating system.
 *
 *   cc -Iinclude examples/bare_loop.c libredpoll_capi.a -lm -o bare_loop && ./bare_loop
 */
#include "air.h"

#define TOTAL 20000
#define PORT 7000

static uint8_t content(unsigned place)
{
    return (uint8_t)(place * 31 + (place >> 8));
}

int main(void)
{
    static struct air air;
    must(RP_ABI_CHECK(), "the header is not that of the library");
    air_add(&air, 0, RP_ROUTER);
    air_add(&air, 1, RP_LEAF);
    rp_node *server = air.radio[0].node, *client = air.radio[1].node;

    int listener = rp_socket(server, air.now, RP_SOCK_STREAM);
    must(listener, "rp_socket");
    must(rp_bind(server, air.now, listener, PORT), "rp_bind");
    must(rp_listen(server, air.now, listener, 1), "rp_listen");

    struct rp_endpoint to = {.port = PORT};
    must(rp_address(server, to.address), "rp_address");
    int out = rp_socket(client, air.now, RP_SOCK_STREAM);
    must(out, "rp_socket");
    if (rp_connect(client, air.now, out, &to) != RP_EINPROGRESS) {
        return fprintf(stderr, "the connection cannot be started\n"), 1;
    }

    int in = -1, has_ended = 0, has_answer = 0;
    unsigned sent = 0, received = 0;
    uint32_t sum = 0, expected = 0, answer = 0;
    while (!has_answer && air.now < 600000000) {
        /* The leaf. */
        while (sent < TOTAL) {
            uint8_t data[200];
            unsigned len = 0;
            while (len < sizeof data && sent + len < TOTAL) {
                data[len] = content(sent + len);
                len++;
            }
            int taken = rp_send(client, air.now, out, data, len);
            if (taken == RP_EAGAIN || taken == RP_ENOTCONN) {
                break;
            }
            must(taken, "rp_send");
            for (int at = 0; at < taken; at++) {
                expected += content(sent++);
            }
        }
        if (sent == TOTAL && !has_ended) {
            must(rp_shutdown(client, air.now, out, RP_SHUT_WR), "rp_shutdown");
            has_ended = 1;
        }
        if (has_ended) {
            has_answer = rp_recv(client, air.now, out, (uint8_t *)&answer, 4, 0) == 4;
        }
        /* The router. */
        if (in < 0) {
            in = rp_accept(server, air.now, listener, NULL);
        }
        while (in >= 0 && !(received == TOTAL)) {
            uint8_t data[300];
            int len = rp_recv(server, air.now, in, data, sizeof data, 0);
            if (len == RP_EAGAIN) {
                break;
            }
            must(len, "rp_recv");
            for (int at = 0; at < len; at++) {
                sum += data[at];
            }
            received += (unsigned)len;
            if (received == TOTAL) {
                must(rp_send(server, air.now, in, (uint8_t *)&sum, 4), "rp_send");
                must(rp_shutdown(server, air.now, in, RP_SHUT_WR), "rp_shutdown");
            }
        }
        must(air_step(&air, UINT64_MAX), "air_step");
    }
    printf("%u bytes in %.2f s, %u frames, %s\n", received, (double)air.now / 1e6,
           air.frames, has_answer && answer == expected ? "all right" : "WRONG");
    air_end(&air);
    return !(has_answer && answer == expected && received == TOTAL);
}
