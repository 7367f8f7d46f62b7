/*
 * TCP over existing IPv6: a node without a radio behind a TUN interface, which serves a page by
 * HTTP/1.0, or fetches one from Linux's TCP. As root, on Linux:
 *
 *   cc -Iinclude examples/ip_tun.c libredpoll_capi.a -lm -lpthread -ldl -o ip_tun
 *   ip tuntap add dev rp0 mode tun
 *   ip address add fd72::1/64 dev rp0 nodad && ip link set rp0 up
 *   ./ip_tun rp0 serve 80 &                            then: curl 'http://[fd72::2]/'
 *   python3 -m http.server --bind fd72::1 &            then: ./ip_tun rp0 fetch fd72::1 8000 /
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <signal.h>

#include "tun.h"

#define PAGE 100000 /* bytes */
#define PATIENCE_US 60000000u

/* All memory of the node, which allocates nothing. */
static _Alignas(8) uint8_t memory[24 * 1024];
static uint8_t packet[1280];
static volatile sig_atomic_t is_over;

static void on_end(int signal)
{
    (void)signal;
    is_over = 1;
}

static rp_node *make_node(const char *address)
{
    struct rp_ip_config config;
    rp_node *node;
    must(RP_ABI_CHECK(), "the header is not that of the library");
    must(rp_ip_config_init(&config), "rp_ip_config_init");
    if (inet_pton(AF_INET6, address, config.address) != 1) {
        must(-1, address);
    }
    entropy(config.entropy, sizeof config.entropy);
    must(rp_ip_init(memory, sizeof memory, &config, &node), "rp_ip_init");
    return node;
}

/* Writes the node's packets, and waits for a packet or for the node's next timer. */
static void carry(int tun, rp_node *node)
{
    int len;
    must(rp_on_timeout(node, now()), "rp_on_timeout");
    while (rp_poll_event(node) > 0) {
    }
    while ((len = rp_ip_output(node, now(), packet, sizeof packet)) > 0) {
        /* A packet that the interface refuses is lost, and TCP retransmits it. */
        if (write(tun, packet, (size_t)len) < 0) {
            break;
        }
    }
    size_t got = tun_wait(tun, node, packet, sizeof packet);
    if (got > 0) {
        int code = rp_ip_input(node, now(), packet, got);
        if (code < 0 && code != RP_EAGAIN) {
            fprintf(stderr, "a packet was refused: %s\n", rp_strerror(code));
        }
    }
}

/* Byte `at` of the page. */
static uint8_t content(unsigned at)
{
    return (uint8_t)(at % 251);
}

struct visit {
    int fd;
    char head[512];
    int head_len;
    unsigned sent; /* bytes of the answer: its head and the page */
};

/* Serves a connection as far as possible. Returns 0 when it has ended. */
static int answer(rp_node *node, struct visit *visit)
{
    char head[64];
    int head_len = snprintf(head, sizeof head, "HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n",
                            PAGE);
    while (!memmem(visit->head, (size_t)visit->head_len, "\r\n\r\n", 4)) {
        size_t room = sizeof visit->head - (size_t)visit->head_len;
        if (room == 0) {
            return 0; /* the request is too long */
        }
        int got = rp_recv(node, now(), visit->fd, (uint8_t *)visit->head + visit->head_len, room,
                          0);
        if (got == RP_EAGAIN) {
            return 1;
        }
        if (got <= 0) {
            return 0;
        }
        visit->head_len += got;
    }
    while (visit->sent < (unsigned)head_len + PAGE) {
        uint8_t bytes[512];
        size_t len = 0;
        for (unsigned at = visit->sent; len < sizeof bytes && at < (unsigned)head_len + PAGE;
             at++) {
            int in_head = at < (unsigned)head_len;
            bytes[len++] = in_head ? (uint8_t)head[at] : content(at - (unsigned)head_len);
        }
        int taken = rp_send(node, now(), visit->fd, bytes, len);
        if (taken == RP_EAGAIN) {
            return 1;
        }
        if (taken < 0) {
            return 0;
        }
        visit->sent += (unsigned)taken;
    }
    return 0; /* rp_close sends the rest */
}

static void serve(int tun, rp_node *node, uint16_t port)
{
    static struct visit visit = {.fd = -1};
    int listener = rp_socket(node, now(), RP_SOCK_STREAM);
    must(listener, "rp_socket");
    must(rp_bind(node, now(), listener, port), "rp_bind");
    must(rp_listen(node, now(), listener, 1), "rp_listen");
    while (!is_over) {
        if (visit.fd < 0) {
            visit = (struct visit){.fd = rp_accept(node, now(), listener, NULL)};
        }
        if (visit.fd >= 0 && !answer(node, &visit)) {
            must(rp_close(node, now(), visit.fd), "rp_close");
            visit.fd = -1;
        }
        carry(tun, node);
    }
}

/* Waits until a socket is ready. */
static void await(int tun, rp_node *node, int fd, int16_t events)
{
    uint64_t until = now() + PATIENCE_US;
    for (;;) {
        struct rp_pollfd one = {.fd = fd, .events = events};
        must(rp_poll(node, now(), &one, 1), "rp_poll");
        if (one.revents) {
            return;
        }
        must(now() < until ? 0 : RP_ETIMEDOUT, "nothing comes");
        carry(tun, node);
    }
}

static void fetch(int tun, rp_node *node, const char *address, uint16_t port, const char *path)
{
    struct rp_endpoint to = {.port = port};
    char request[256];
    uint8_t bytes[512];
    int len, error, in_body = 0;
    char last[4] = {0};
    if (inet_pton(AF_INET6, address, to.address) != 1) {
        must(-1, address);
    }
    int fd = rp_socket(node, now(), RP_SOCK_STREAM);
    must(fd, "rp_socket");
    int begun = rp_connect(node, now(), fd, &to);
    must(begun == RP_EINPROGRESS ? 0 : begun, "rp_connect");
    await(tun, node, fd, RP_POLLOUT);
    must(rp_getsockopt(node, now(), fd, RP_SOL_SOCKET, RP_SO_ERROR, &error), "rp_getsockopt");
    must(-error, "the connection");
    len = snprintf(request, sizeof request, "GET %s HTTP/1.0\r\n\r\n", path);
    must(len < (int)sizeof request ? 0 : -1, "the path is too long");
    /* An empty send buffer has room for the whole request. */
    must(rp_send(node, now(), fd, (uint8_t *)request, (size_t)len) == len ? 0 : -1, "rp_send");
    for (;;) {
        await(tun, node, fd, RP_POLLIN);
        len = rp_recv(node, now(), fd, bytes, sizeof bytes, 0);
        if (len == RP_EAGAIN) {
            continue;
        }
        must(len, "rp_recv");
        if (len == 0) {
            break;
        }
        int at = 0;
        while (!in_body && at < len) {
            memmove(last, last + 1, 3);
            last[3] = (char)bytes[at++];
            in_body = memcmp(last, "\r\n\r\n", 4) == 0;
        }
        fwrite(bytes + at, 1, (size_t)(len - at), stdout);
    }
    must(rp_close(node, now(), fd), "rp_close");
    /* Sends the FIN, and waits for its acknowledgement. */
    for (int round = 0; round < 2; round++) {
        carry(tun, node);
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int serves = argc == 4 && strcmp(argv[2], "serve") == 0;
    int fetches = argc == 6 && strcmp(argv[2], "fetch") == 0;
    if (!serves && !fetches) {
        fprintf(stderr, "ip_tun INTERFACE serve PORT | fetch ADDRESS PORT PATH\n");
        return 2;
    }
    struct sigaction end = {.sa_handler = on_end};
    sigaction(SIGTERM, &end, NULL);
    int tun = tun_open(argv[1]);
    rp_node *node = make_node("fd72::2");
    if (serves) {
        serve(tun, node, (uint16_t)atoi(argv[3]));
    } else {
        fetch(tun, node, argv[3], (uint16_t)atoi(argv[4]), argv[5]);
    }
    must(rp_node_end(node), "rp_node_end");
    return 0;
}
