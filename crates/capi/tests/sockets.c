/* Tests datagrams, socket options, the state of a connection, and the error texts: two nodes over IPv6
 * exchange packets in memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redpoll.h"

#define EXPECT(code, call)                                                                 \
    do {                                                                                   \
        int got = (call);                                                                  \
        if (got != (int)(code)) {                                                          \
            fprintf(stderr, "line %d: %s = %d, not %d\n", __LINE__, #call, got,          \
                    (int)(code));                                                          \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

static _Alignas(8) uint8_t memory[2][32 * 1024];
static rp_node *nodes[2];
static uint64_t now;

static void begin(int index)
{
    struct rp_ip_config config;
    EXPECT(0, rp_ip_config_init(&config));
    config.address[0] = 0xfd;
    config.address[15] = config.entropy[0] = (uint8_t)(index + 1);
    config.connections = config.udp_sockets = 2;
    config.send_buffer = 3000;
    config.receive_buffer = 2000;
    config.udp_buffer = 400;
    EXPECT(0, rp_ip_init(memory[index], sizeof memory[index], &config, &nodes[index]));
}

/* Passes all packets in both directions, and returns their number. */
static int exchange(void)
{
    static uint8_t packet[1280];
    int count = 0, passed, len;
    do {
        passed = 0;
        now += 1000;
        for (int from = 0; from < 2; from++) {
            EXPECT(0, rp_on_timeout(nodes[from], now));
            while ((len = rp_ip_output(nodes[from], now, packet, sizeof packet)) > 0) {
                EXPECT(0, rp_ip_input(nodes[1 - from], now, packet, (size_t)len));
                passed++;
            }
            EXPECT(0, len);
        }
        count += passed;
    } while (passed > 0);
    return count;
}

static uint64_t time_of_waiter(void *context)
{
    (void)context;
    return now;
}

static int carry(void *context, uint64_t until_us)
{
    (void)context, (void)until_us;
    return exchange() > 0 ? 0 : RP_ETIMEDOUT;
}

/* Expects this value of an option of node 0. */
static void has(int value, int fd, int level, int name)
{
    int found = -1;
    EXPECT(0, rp_getsockopt(nodes[0], now, fd, level, name, &found));
    if (found != value) {
        fprintf(stderr, "option %d of level %d is %d, not %d\n", name, level, found, value);
        exit(1);
    }
}

static void datagrams(void)
{
    const uint8_t data[] = "a datagram";
    uint8_t out[64];
    struct rp_endpoint to = {.port = 5683}, from;
    int client = rp_socket(nodes[0], now, RP_SOCK_DGRAM);
    int server = rp_socket(nodes[1], now, RP_SOCK_DGRAM);
    EXPECT(0, client);
    EXPECT(0, rp_address(nodes[1], to.address));
    EXPECT(0, rp_bind(nodes[1], now, server, to.port));
    EXPECT(RP_EDESTADDRREQ, rp_send(nodes[0], now, client, data, sizeof data));
    EXPECT(sizeof data, rp_sendto(nodes[0], now, client, data, sizeof data, &to));
    EXPECT(1, exchange());
    /* The rest of a datagram that does not fit is lost, as in POSIX. */
    EXPECT(4, rp_recvfrom(nodes[1], now, server, out, 4, &from));
    EXPECT(RP_EAGAIN, rp_recvfrom(nodes[1], now, server, out, sizeof out, &from));
    EXPECT(0, memcmp(out, data, 4));
    EXPECT(1, from.address[15]);
    /* A connected socket receives the answer, but no datagram from another port of the host. */
    EXPECT(0, rp_connect(nodes[0], now, client, &to));
    EXPECT(sizeof data, rp_sendto(nodes[1], now, server, data, sizeof data, &from));
    exchange();
    int stranger = rp_socket(nodes[1], now, RP_SOCK_DGRAM);
    EXPECT(1, rp_sendto(nodes[1], now, stranger, data, 1, &from));
    exchange();
    EXPECT(sizeof data, rp_recv(nodes[0], now, client, out, sizeof out, 0));
    EXPECT(RP_EAGAIN, rp_recv(nodes[0], now, client, out, sizeof out, 0));
    EXPECT(sizeof data, rp_send(nodes[0], now, client, data, sizeof data));
    exchange();
    EXPECT(sizeof data, rp_recv(nodes[1], now, server, out, sizeof out, 0));
    /* More datagrams than the node has slots for: the call that waits sends them all. */
    struct rp_waiter waiter = {.node = nodes[0], .now = time_of_waiter, .wait = carry};
    int sent = 0;
    while (rp_sendto(nodes[0], now, client, data, 1, &to) == 1) {
        sent++;
    }
    EXPECT(RP_EAGAIN, rp_sendto(nodes[0], now, client, data, 1, &to));
    EXPECT(1, rp_wait_sendto(&waiter, client, data, 1, &to));
    exchange();
    for (int count = 0; count < sent + 1; count++) {
        EXPECT(1, rp_recv(nodes[1], now, server, out, sizeof out, 0));
    }
    /* 400 bytes have room for 19 datagrams of one byte, each with 20 bytes of bookkeeping. */
    for (int count = 0; count < 30; count++) {
        EXPECT(1, rp_wait_sendto(&waiter, client, data, 1, &to));
    }
    exchange();
    for (int count = 0; count < 19; count++) {
        EXPECT(1, rp_recv(nodes[1], now, server, out, sizeof out, 0));
    }
    EXPECT(RP_EAGAIN, rp_recv(nodes[1], now, server, out, sizeof out, 0));
    EXPECT(RP_EMSGSIZE, rp_sendto(nodes[0], now, client, memory[1], 65530, &to));
    has(RP_SOCK_DGRAM, client, RP_SOL_SOCKET, RP_SO_TYPE);
    has(RP_IPPROTO_UDP, client, RP_SOL_SOCKET, RP_SO_PROTOCOL);
    has(400, client, RP_SOL_SOCKET, RP_SO_RCVBUF);
    has(0, client, RP_SOL_SOCKET, RP_SO_SNDBUF);
    struct rp_tcp_info info;
    EXPECT(RP_ENOTCONN, rp_tcp_info(nodes[0], now, client, &info));
    EXPECT(0, rp_close(nodes[0], now, client));
    EXPECT(0, rp_close(nodes[1], now, server));
    EXPECT(0, rp_close(nodes[1], now, stranger));
}

static void options(int fd)
{
    static const int names[][2] = {
        {RP_SOL_SOCKET, RP_SO_TYPE},   {RP_SOL_SOCKET, RP_SO_ERROR},
        {RP_SOL_SOCKET, RP_SO_SNDBUF}, {RP_SOL_SOCKET, RP_SO_RCVBUF},
        {RP_SOL_SOCKET, RP_SO_DOMAIN}, {RP_SOL_SOCKET, RP_SO_PROTOCOL},
        {RP_SOL_SOCKET, RP_SO_ACCEPTCONN}, {RP_IPPROTO_TCP, RP_TCP_MAXSEG},
    };
    rp_node *node = nodes[0];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        EXPECT(RP_ENOPROTOOPT, rp_setsockopt(node, now, fd, names[i][0], names[i][1], 1));
    }
    has(RP_SOCK_STREAM, fd, RP_SOL_SOCKET, RP_SO_TYPE);
    has(RP_IPPROTO_TCP, fd, RP_SOL_SOCKET, RP_SO_PROTOCOL);
    has(RP_AF_INET6, fd, RP_SOL_SOCKET, RP_SO_DOMAIN);
    has(3000, fd, RP_SOL_SOCKET, RP_SO_SNDBUF);
    has(2000, fd, RP_SOL_SOCKET, RP_SO_RCVBUF);
    has(1, fd, RP_SOL_SOCKET, RP_SO_REUSEADDR);
    has(1, fd, RP_IPPROTO_IPV6, RP_IPV6_V6ONLY);
    EXPECT(0, rp_setsockopt(node, now, fd, RP_SOL_SOCKET, RP_SO_REUSEADDR, 1));
    EXPECT(RP_EINVAL, rp_setsockopt(node, now, fd, RP_SOL_SOCKET, RP_SO_REUSEADDR, 0));
    EXPECT(0, rp_setsockopt(node, now, fd, RP_IPPROTO_IPV6, RP_IPV6_V6ONLY, 1));
    EXPECT(RP_EINVAL, rp_setsockopt(node, now, fd, RP_IPPROTO_IPV6, RP_IPV6_V6ONLY, 0));
    EXPECT(RP_ENOPROTOOPT, rp_setsockopt(node, now, fd, RP_IPPROTO_IPV6, 16, 1));
    EXPECT(0, rp_setsockopt(node, now, fd, RP_IPPROTO_TCP, RP_TCP_USER_TIMEOUT, 9000));
    has(9000, fd, RP_IPPROTO_TCP, RP_TCP_USER_TIMEOUT);
}

static struct rp_tcp_info state(int fd, uint32_t expected)
{
    struct rp_tcp_info info;
    EXPECT(0, rp_tcp_info(nodes[0], now, fd, &info));
    EXPECT((int)expected, (int)info.state);
    return info;
}

static void streams(void)
{
    uint8_t out[3000] = {0};
    struct rp_endpoint to = {.port = 80};
    int listener = rp_socket(nodes[1], now, RP_SOCK_STREAM);
    EXPECT(0, rp_bind(nodes[1], now, listener, 80));
    EXPECT(0, rp_listen(nodes[1], now, listener, 1));
    EXPECT(0, rp_address(nodes[1], to.address));
    int fd = rp_socket(nodes[0], now, RP_SOCK_STREAM);
    options(fd);
    struct rp_tcp_info info;
    EXPECT(RP_ENOTCONN, rp_tcp_info(nodes[0], now, fd, &info));
    EXPECT(RP_EINPROGRESS, rp_connect(nodes[0], now, fd, &to));
    state(fd, RP_TCP_SYN_SENT);
    exchange();
    info = state(fd, RP_TCP_ESTABLISHED);
    EXPECT(3000, (int)info.send_room);
    EXPECT(0, (int)info.in_flight);
    EXPECT(1, info.mss > 1100 && info.mss <= 1220);
    EXPECT(1, info.rto_us >= 100000 && info.srtt_us > 0 && info.srtt_us < 100000);
    int in = rp_accept(nodes[1], now, listener, NULL);
    EXPECT(1, in >= 0);
    EXPECT(100, rp_send(nodes[1], now, in, out, 100));
    exchange();
    EXPECT(100, (int)state(fd, RP_TCP_ESTABLISHED).receive_queue);
    EXPECT(1000, rp_send(nodes[0], now, fd, out, 1000));
    EXPECT(2000, (int)state(fd, RP_TCP_ESTABLISHED).send_room);
    EXPECT(0, rp_shutdown(nodes[0], now, fd, RP_SHUT_WR));
    EXPECT(1, rp_ip_output(nodes[0], now, out, sizeof out) > 1000);
    state(fd, RP_TCP_FIN_WAIT_1);
    now += 3000000;
    exchange();
    state(fd, RP_TCP_FIN_WAIT_2);
    EXPECT(0, rp_shutdown(nodes[1], now, in, RP_SHUT_WR));
    exchange();
    state(fd, RP_TCP_TIME_WAIT);
}

static int locks, unlocks;

static void lock(void *context)
{
    EXPECT(locks, unlocks);
    EXPECT(1, context == nodes);
    locks++;
}

static void unlock(void *context)
{
    (void)context;
    unlocks++;
    EXPECT(locks, unlocks);
}

/* The hook of a system whose wait returns without an event. */
static int without_event(void *context, uint64_t until_us)
{
    (void)context, (void)until_us;
    EXPECT(locks, unlocks);
    return RP_EAGAIN;
}

/* Calls that wait hold the lock only while they use the node, and report the peer. */
static void waits(void)
{
    struct rp_waiter waiter = {.node = nodes[0], .context = nodes, .now = time_of_waiter,
                               .wait = without_event, .lock = lock, .unlock = unlock};
    uint8_t out[16] = {0};
    struct rp_endpoint own, peer, to = {.port = 81};
    int listener = rp_socket(nodes[0], now, RP_SOCK_STREAM);
    EXPECT(0, rp_bind(nodes[0], now, listener, 81));
    EXPECT(0, rp_getsockname(nodes[0], now, listener, &own));
    EXPECT(81, own.port);
    EXPECT(0, own.address[15]);
    EXPECT(0, rp_listen(nodes[0], now, listener, 1));
    EXPECT(RP_ETIMEDOUT, rp_wait_accept(&waiter, listener, &peer));
    EXPECT(1, locks > 0 && locks == unlocks);
    waiter.wait = carry;
    int client = rp_socket(nodes[1], now, RP_SOCK_STREAM);
    EXPECT(0, rp_address(nodes[0], to.address));
    EXPECT(RP_EINPROGRESS, rp_connect(nodes[1], now, client, &to));
    EXPECT(0, rp_getsockname(nodes[1], now, client, &own));
    int before = locks, in = rp_wait_accept(&waiter, listener, &peer);
    EXPECT(1, in >= 0 && locks > before);
    EXPECT(own.port, peer.port);
    EXPECT(0, memcmp(own.address, peer.address, 16));
    /* Node 0 shuts down its receiving direction, then both directions. */
    EXPECT(0, rp_shutdown(nodes[0], now, in, RP_SHUT_RD));
    EXPECT(0, rp_recv(nodes[0], now, in, out, sizeof out, 0));
    EXPECT(1, rp_send(nodes[0], now, in, out, 1));
    EXPECT(0, rp_shutdown(nodes[0], now, in, RP_SHUT_RDWR));
    EXPECT(RP_EPIPE, rp_send(nodes[0], now, in, out, 1));
    exchange();
    EXPECT(1, rp_recv(nodes[1], now, client, out, sizeof out, 0));
    EXPECT(0, rp_recv(nodes[1], now, client, out, sizeof out, 0));
    EXPECT(0, rp_close(nodes[0], now, in));
    EXPECT(0, rp_close(nodes[0], now, listener));
    EXPECT(0, rp_close(nodes[1], now, client));
    int from = rp_socket(nodes[1], now, RP_SOCK_DGRAM);
    int server = rp_socket(nodes[0], now, RP_SOCK_DGRAM);
    EXPECT(0, rp_bind(nodes[1], now, from, 77));
    EXPECT(0, rp_bind(nodes[0], now, server, 81));
    EXPECT(5, rp_sendto(nodes[1], now, from, (const uint8_t *)"hello", 5, &to));
    EXPECT(5, rp_wait_recvfrom(&waiter, server, out, sizeof out, &peer));
    EXPECT(0, memcmp(out, "hello", 5));
    EXPECT(77, peer.port);
    EXPECT(2, peer.address[15]);
    EXPECT(0, rp_close(nodes[1], now, from));
    EXPECT(0, rp_close(nodes[0], now, server));
}

static void texts(void)
{
#define NAMED(code) {code, #code ": "}
    static const struct {
        int code;
        const char *begin;
    } all[] = {
        NAMED(RP_EBADF),        NAMED(RP_EAGAIN),       NAMED(RP_ENOMEM),
        NAMED(RP_EFAULT),       NAMED(RP_EINVAL),       NAMED(RP_EMFILE),
        NAMED(RP_EPIPE),        NAMED(RP_EDESTADDRREQ), NAMED(RP_EMSGSIZE),
        NAMED(RP_ENOPROTOOPT),  NAMED(RP_EPROTONOSUPPORT), NAMED(RP_EOPNOTSUPP),
        NAMED(RP_EADDRINUSE),   NAMED(RP_EADDRNOTAVAIL), NAMED(RP_ENETUNREACH),
        NAMED(RP_ECONNABORTED), NAMED(RP_ECONNRESET),   NAMED(RP_EISCONN),
        NAMED(RP_ENOTCONN),     NAMED(RP_ETIMEDOUT),    NAMED(RP_ECONNREFUSED),
        NAMED(RP_EHOSTUNREACH), NAMED(RP_EALREADY),     NAMED(RP_EINPROGRESS),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        EXPECT(0, strncmp(rp_strerror(all[i].code), all[i].begin, strlen(all[i].begin)));
    }
    EXPECT(0, strcmp(rp_version(), RP_VERSION));
    EXPECT(0, strcmp(rp_strerror(0), "no error"));
    EXPECT(0, strcmp(rp_strerror(RP_IGNORED_MULTICAST), "no error"));
    EXPECT(0, strcmp(rp_strerror(RP_EAGAIN), "RP_EAGAIN: the call would block; try again later"));
    EXPECT(0, strcmp(rp_strerror(-1), "unknown error"));
    EXPECT(0, strcmp(rp_strerror(INT32_MIN), "unknown error"));
    EXPECT(0, strcmp(rp_strerror(INT32_MAX), "no error"));
}

int main(void)
{
    begin(0);
    begin(1);
    datagrams();
    streams();
    waits();
    texts();
    printf("all right\n");
    return 0;
}
