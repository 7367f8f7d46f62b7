/* Calls each function wrongly: with null, with other objects, and at the wrong time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redpoll.h"

static int failures;

#define EXPECT(code, call)                                                                 \
    do {                                                                                   \
        int got = (call);                                                                  \
        if (got != (code)) {                                                               \
            fprintf(stderr, "line %d: %s = %d, not %d\n", __LINE__, #call, got, (code));   \
            failures++;                                                                    \
        }                                                                                  \
    } while (0)

static struct rp_config good(void)
{
    struct rp_config config;
    EXPECT(0, rp_config_init(&config, RP_LEAF));
    config.short_address = 1;
    config.parent = 2;
    config.entropy[3] = 7;
    return config;
}

static void configurations(void)
{
    struct rp_config config = good();
    size_t len = 0;
    EXPECT(RP_EFAULT, rp_config_init(NULL, RP_LEAF));
    EXPECT(RP_EINVAL, rp_config_init(&config, 3));
    config = good();
    EXPECT(0, rp_sizeof_node(&config, &len));
    EXPECT(RP_EFAULT, rp_sizeof_node(NULL, &len));
    EXPECT(RP_EFAULT, rp_sizeof_node(&config, NULL));
    EXPECT(RP_EFAULT, rp_sizeof_node((struct rp_config *)((char *)&config + 1), &len));
#define REFUSES(change)                                                                    \
    do {                                                                                   \
        config = good();                                                                   \
        change;                                                                            \
        EXPECT(RP_EINVAL, rp_sizeof_node(&config, &len));                                  \
    } while (0)
    REFUSES(memset(config.entropy, 0, sizeof config.entropy));
    REFUSES(config.short_address = 0xfffe);
    REFUSES(config.role = 9);
    REFUSES(config.radio = 0x80);
    REFUSES(config.send_buffer = 63);
    REFUSES(config.receive_buffer = 0);
    REFUSES(config.udp_buffer = 0);
    REFUSES(config.packets = 0);
    REFUSES(config.packet_bytes = 100);
    REFUSES(config.routes = 0);
    REFUSES(config.mss = 0);
    REFUSES(config.sleepy = 1; config.parent = RP_NO_SHORT);
    REFUSES(config.sleepy = 1; config.role = RP_ROUTER);
    REFUSES(config.sleepy = 1);
    REFUSES(config.children = 1; config.eui64[7] = 1);
    REFUSES(config.children = 1; config.role = RP_ROUTER);
    REFUSES(config.rpl_neighbours = 1);
    REFUSES(config.rpl_neighbours = 1; config.sleepy = 1; config.eui64[7] = 1);
    EXPECT(RP_EINVAL, rp_abi_check(0, 0, 0, 0, 0, 0, 0));
    EXPECT(0, RP_ABI_CHECK());
}

static rp_node *made(void **memory)
{
    struct rp_config config = good();
    rp_node *node = NULL;
    size_t len = 0;
    EXPECT(0, rp_sizeof_node(&config, &len));
    uint8_t *bytes = malloc(len + 8);
    EXPECT(RP_ENOMEM, rp_node_init(bytes, len - 1, &config, &node));
    EXPECT(RP_EFAULT, rp_node_init(bytes + 1, len, &config, &node));
    EXPECT(RP_EFAULT, rp_node_init(NULL, len, &config, &node));
    EXPECT(RP_EFAULT, rp_node_init(bytes, len, NULL, &node));
    EXPECT(RP_EFAULT, rp_node_init(bytes, len, &config, NULL));
    EXPECT(0, rp_node_init(bytes, len, &config, &node));
    /* A copy of a node is not a node. */
    uint8_t *copy = malloc(len);
    memcpy(copy, bytes, len);
    EXPECT(RP_EINVAL, rp_poll_event((rp_node *)copy));
    free(copy);
    *memory = bytes;
    return node;
}

/* Expects `code` from all calls with this pointer as their node. */
static void all(int code, rp_node *node)
{
    uint8_t bytes[16] = {0};
    struct rp_work work;
    struct rp_endpoint peer = {.port = 1};
    struct rp_pollfd one = {.fd = 0};
    struct rp_tcp_info info;
    uint16_t rank;
    uint64_t at;
    int value;
    EXPECT(code, rp_address(node, bytes));
    EXPECT(code, rp_add_route(node, bytes, 0, RP_VIA_HOST, RP_NO_SHORT));
    EXPECT(code, rp_poll_radio(node, 0, &work));
    EXPECT(code, rp_radio_done(node, 0, RP_RESULT_LOADED));
    EXPECT(code, rp_input_frame(node, 0, bytes, 9, 0, 0, 0));
    EXPECT(code, rp_input_packet(node, 0, bytes, 9));
    EXPECT(code, rp_poll_packet(node, 0, bytes, 9));
    EXPECT(code, rp_ip_input(node, 0, bytes, 9));
    EXPECT(code, rp_ip_output(node, 0, bytes, 9));
    EXPECT(code, rp_poll_at(node, &at));
    EXPECT(code, rp_on_timeout(node, 0));
    EXPECT(code, rp_poll_event(node));
    EXPECT(code, rp_ping(node, 0, bytes, 1, 1));
    EXPECT(code, rp_socket(node, 0, RP_SOCK_STREAM));
    EXPECT(code, rp_bind(node, 0, 0, 1));
    EXPECT(code, rp_listen(node, 0, 0, 1));
    EXPECT(code, rp_accept(node, 0, 0, &peer));
    EXPECT(code, rp_connect(node, 0, 0, &peer));
    EXPECT(code, rp_send(node, 0, 0, bytes, 1));
    EXPECT(code, rp_recv(node, 0, 0, bytes, 1, 0));
    EXPECT(code, rp_sendto(node, 0, 0, bytes, 1, &peer));
    EXPECT(code, rp_recvfrom(node, 0, 0, bytes, 1, &peer));
    EXPECT(code, rp_freeze(node, 0, 0, bytes, 1));
    EXPECT(code, rp_thaw(node, 0, 0, bytes, 1));
    EXPECT(code, rp_shutdown(node, 0, 0, RP_SHUT_RD));
    EXPECT(code, rp_close(node, 0, 0));
    EXPECT(code, rp_poll(node, 0, &one, 1));
    EXPECT(code, rp_setsockopt(node, 0, 0, RP_IPPROTO_TCP, RP_TCP_NODELAY, 1));
    EXPECT(code, rp_getsockopt(node, 0, 0, RP_IPPROTO_TCP, RP_TCP_NODELAY, &value));
    EXPECT(code, rp_getsockname(node, 0, 0, &peer));
    EXPECT(code, rp_getpeername(node, 0, 0, &peer));
    EXPECT(code, rp_tcp_info(node, 0, 0, &info));
    EXPECT(code, rp_rpl_start(node, 0));
    EXPECT(code, rp_rpl_place(node, &rank, &rank));
    EXPECT(code, rp_node_end(node));
}

static uint64_t no_time(void *context)
{
    (void)context;
    return 0;
}

static int enough(void *context, uint64_t until_us)
{
    (void)context, (void)until_us;
    return RP_ETIMEDOUT;
}

static void held(void *context)
{
    (void)context;
}

/* Expects `code` from all waiting calls with this waiter and descriptor. */
static void waits(int code, const struct rp_waiter *waiter, int fd)
{
    uint8_t bytes[16] = {0};
    struct rp_endpoint peer = {.port = 1};
    EXPECT(code, rp_wait_connect(waiter, fd, &peer));
    EXPECT(code, rp_wait_accept(waiter, fd, &peer));
    EXPECT(code, rp_wait_send(waiter, fd, bytes, sizeof bytes));
    EXPECT(code, rp_wait_recv(waiter, fd, bytes, sizeof bytes));
    EXPECT(code, rp_wait_recvfrom(waiter, fd, bytes, sizeof bytes, &peer));
    EXPECT(code, rp_wait_sendto(waiter, fd, bytes, sizeof bytes, &peer));
}

static void waiting(rp_node *node)
{
    static uint64_t zeroes[512];
    uint8_t bytes[16] = {0};
    struct rp_endpoint peer = {.port = 1};
    struct rp_pollfd one = {.fd = 0, .events = RP_POLLIN};
    const struct rp_waiter good = {.node = node, .now = no_time, .wait = enough};
    struct rp_waiter bad[7];
    for (int i = 0; i < 7; i++) {
        bad[i] = good;
    }
    bad[0].now = NULL;
    bad[1].wait = NULL;
    bad[2].lock = held; /* without unlock */
    bad[3].unlock = held;
    bad[4].node = NULL;
    bad[5].node = (rp_node *)((char *)zeroes + 1);
    for (int i = 0; i < 6; i++) {
        waits(RP_EFAULT, &bad[i], 1);
        EXPECT(RP_EFAULT, rp_wait_poll(&bad[i], &one, 1, 0));
    }
    waits(RP_EFAULT, NULL, 1);
    waits(RP_EFAULT, (const struct rp_waiter *)((const char *)zeroes + 1), 1);
    EXPECT(RP_EFAULT, rp_wait_poll(NULL, &one, 1, 0));
    bad[6].node = (rp_node *)zeroes;
    waits(RP_EINVAL, &bad[6], 1);
    EXPECT(RP_EINVAL, rp_wait_poll(&bad[6], &one, 1, 0));
    waits(RP_EBADF, &good, -1);
    waits(RP_EBADF, &good, 256);
    waits(RP_EBADF, &good, 0);
    EXPECT(RP_EFAULT, rp_wait_send(&good, 1, NULL, 1));
    EXPECT(RP_EINVAL, rp_wait_send(&good, 1, bytes, (size_t)-1));
    EXPECT(RP_EFAULT, rp_wait_recv(&good, 1, NULL, 1));
    EXPECT(RP_EINVAL, rp_wait_recv(&good, 1, bytes, (size_t)-1));
    EXPECT(RP_EFAULT, rp_wait_recvfrom(&good, 1, NULL, 1, &peer));
    EXPECT(RP_EFAULT, rp_wait_recvfrom(&good, 1, bytes, 1, (struct rp_endpoint *)(bytes + 1)));
    EXPECT(RP_EFAULT, rp_wait_sendto(&good, 1, NULL, 1, &peer));
    EXPECT(RP_EFAULT, rp_wait_sendto(&good, 1, bytes, 1, NULL));
    EXPECT(RP_EOPNOTSUPP, rp_wait_sendto(&good, 1, bytes, 1, &peer));
    EXPECT(RP_EFAULT, rp_wait_poll(&good, NULL, 1, 0));
    EXPECT(RP_EINVAL, rp_wait_poll(&good, &one, 256, 0));
    EXPECT(RP_EFAULT, rp_wait_poll(&good, (struct rp_pollfd *)(bytes + 1), 1, 0));
    /* An invalid descriptor has revents; without entries the call ends at its timeout. */
    EXPECT(1, rp_wait_poll(&good, &one, 1, -1));
    EXPECT(RP_POLLNVAL, one.revents);
    EXPECT(0, rp_wait_poll(&good, NULL, 0, 0));
    /* A listening socket neither sends nor receives. */
    EXPECT(RP_EPIPE, rp_wait_send(&good, 1, bytes, 1));
    EXPECT(RP_ENOTCONN, rp_wait_recv(&good, 1, bytes, 1));
}

static void sockets(rp_node *node)
{
    uint8_t bytes[300] = {0};
    struct rp_work work;
    struct rp_endpoint peer = {.port = 1};
    struct rp_pollfd many[300];
    int value;
    uint16_t rank = 0;
    EXPECT(RP_EOPNOTSUPP, rp_rpl_start(node, 0));
    EXPECT(RP_EOPNOTSUPP, rp_rpl_place(node, &rank, &rank));
    EXPECT(RP_EFAULT, rp_rpl_place(node, NULL, &rank));
    EXPECT(RP_EFAULT, rp_rpl_place(node, &rank, NULL));
    EXPECT(RP_EFAULT, rp_poll_radio(node, 0, NULL));
    EXPECT(RP_EINVAL, rp_radio_done(node, 0, RP_RESULT_SENT));
    EXPECT(RP_EINVAL, rp_radio_done(node, 0, 99));
    EXPECT(RP_EFAULT, rp_poll_at(node, NULL));
    EXPECT(RP_EINVAL, rp_poll_packet(node, 0, bytes, 100));
    EXPECT(RP_EFAULT, rp_input_frame(node, 0, NULL, 9, 0, 0, 0));
    EXPECT(RP_EINVAL, rp_input_frame(node, 0, bytes, (size_t)-1, 0, 0, 0));
    EXPECT(0, rp_input_frame(node, 0, NULL, 0, 0, 0, 0));
    EXPECT(0, rp_input_frame(node, 0, bytes, sizeof bytes, 0, 0, 0));
    EXPECT(RP_EINVAL, rp_input_packet(node, 0, bytes, 40));
    EXPECT(RP_EFAULT, rp_address(node, NULL));
    EXPECT(RP_EINVAL, rp_add_route(node, bytes, 129, RP_VIA_HOST, RP_NO_SHORT));
    EXPECT(RP_EINVAL, rp_add_route(node, bytes, 0, 9, RP_NO_SHORT));
    EXPECT(RP_EINVAL, rp_add_route(node, bytes, 0, RP_VIA_HOST, 5));
    EXPECT(RP_EPROTONOSUPPORT, rp_socket(node, 0, 3));
    for (int fd = 0; fd < 4; fd++) {
        EXPECT(fd, rp_socket(node, 0, RP_SOCK_STREAM));
    }
    EXPECT(RP_EMFILE, rp_socket(node, 0, RP_SOCK_STREAM));
    EXPECT(RP_EBADF, rp_send(node, 0, 4, bytes, 1));
    EXPECT(RP_EBADF, rp_send(node, 0, -1, bytes, 1));
    EXPECT(RP_EBADF, rp_send(node, 0, 256, bytes, 1));
    EXPECT(RP_EFAULT, rp_connect(node, 0, 0, NULL));
    EXPECT(RP_EINVAL, rp_shutdown(node, 0, 0, 3));
    EXPECT(RP_ENOPROTOOPT, rp_setsockopt(node, 0, 0, 77, 1, 1));
    EXPECT(RP_EFAULT, rp_getsockopt(node, 0, 0, RP_IPPROTO_TCP, RP_TCP_NODELAY, NULL));
    EXPECT(0, rp_getsockopt(node, 0, 0, RP_SOL_SOCKET, RP_SO_TYPE, &value));
    EXPECT(RP_EFAULT, rp_getsockname(node, 0, 0, NULL));
    EXPECT(RP_EFAULT, rp_getpeername(node, 0, 0, NULL));
    EXPECT(RP_EFAULT, rp_tcp_info(node, 0, 0, (struct rp_tcp_info *)(bytes + 1)));
    EXPECT(RP_EBADF, rp_setsockopt(node, 0, 99, RP_SOL_SOCKET, RP_SO_REUSEADDR, 1));
    EXPECT(RP_EBADF, rp_getsockopt(node, 0, 99, RP_SOL_SOCKET, RP_SO_RCVBUF, &value));
    EXPECT(RP_EFAULT, rp_accept(node, 0, 0, (struct rp_endpoint *)(bytes + 1)));
    EXPECT(RP_EFAULT, rp_poll(node, 0, NULL, 1));
    EXPECT(RP_EINVAL, rp_poll(node, 0, many, 300));
    EXPECT(0, rp_poll(node, 0, NULL, 0));
    EXPECT(RP_EOPNOTSUPP, rp_sendto(node, 0, 0, bytes, 1, &peer));
    EXPECT(RP_EOPNOTSUPP, rp_freeze(node, 0, 0, bytes, sizeof bytes));
    EXPECT(RP_EMFILE, rp_thaw(node, 0, 0, bytes, sizeof bytes));
    EXPECT(0, rp_close(node, 0, 0));
    EXPECT(RP_EBADF, rp_close(node, 0, 0));
    EXPECT(RP_EINVAL, rp_thaw(node, 0, 0, bytes, sizeof bytes));
    EXPECT(RP_EFAULT, rp_thaw(node, 0, 0, NULL, sizeof bytes));

    struct rp_waiter waiter = {.node = node, .now = no_time, .wait = enough};
    EXPECT(RP_EFAULT, rp_wait_accept(NULL, 1, NULL));
    EXPECT(RP_EFAULT, rp_wait_connect(&waiter, 1, NULL));
    EXPECT(RP_EBADF, rp_wait_recv(&waiter, 0, bytes, 1));
    EXPECT(0, rp_bind(node, 0, 1, 80));
    EXPECT(0, rp_listen(node, 0, 1, 1));
    EXPECT(RP_ETIMEDOUT, rp_wait_accept(&waiter, 1, NULL));
    waiter.wait = NULL;
    EXPECT(RP_EFAULT, rp_wait_accept(&waiter, 1, NULL));
    waiting(node);
    /* A busy radio gets no operation before the current one has ended. */
    EXPECT(RP_EINPROGRESS, rp_connect(node, 0, 2, &(struct rp_endpoint){
        .address = {0xfd, [11] = 0xff, [12] = 0xfe, [15] = 2}, .port = 9}));
    int found = 0;
    for (uint64_t now = 0; now < 100000 && !found; now += 1000) {
        EXPECT(0, rp_on_timeout(node, now));
        while (rp_poll_radio(node, now, &work) == 1 && !found) {
            found = work.kind == RP_WORK_LOAD;
        }
        EXPECT(0, found ? rp_poll_radio(node, now, &work) : 0);
    }
    EXPECT(1, found);
    EXPECT(RP_EINVAL, rp_radio_done(node, 100000, RP_RESULT_NO_ACK));
    EXPECT(0, rp_radio_done(node, 100000, RP_RESULT_LOADED));
    EXPECT(RP_EINVAL, rp_radio_done(node, 100000, RP_RESULT_LOADED));
}

/* --- a node over IPv6 --- */

static const uint8_t own[16] = {0xfd, 0x72, [15] = 2};
static const uint8_t other[16] = {0xfd, 0x72, [15] = 1};

static struct rp_ip_config good_ip(void)
{
    struct rp_ip_config config;
    EXPECT(0, rp_ip_config_init(&config));
    memcpy(config.address, own, sizeof own);
    config.entropy[3] = 7;
    return config;
}

static void ip_configurations(void)
{
    struct rp_ip_config config = good_ip();
    size_t len = 0;
    EXPECT(RP_EFAULT, rp_ip_config_init(NULL));
    EXPECT(RP_EFAULT, rp_ip_config_init((struct rp_ip_config *)((char *)&config + 1)));
    config = good_ip();
    EXPECT(0, rp_sizeof_ip(&config, &len));
    EXPECT(RP_EFAULT, rp_sizeof_ip(NULL, &len));
    EXPECT(RP_EFAULT, rp_sizeof_ip(&config, NULL));
    EXPECT(RP_EFAULT, rp_sizeof_ip((struct rp_ip_config *)((char *)&config + 1), &len));
#define IP_REFUSES(change)                                                                 \
    do {                                                                                   \
        config = good_ip();                                                                \
        change;                                                                            \
        EXPECT(RP_EINVAL, rp_sizeof_ip(&config, &len));                                    \
    } while (0)
    IP_REFUSES(memset(config.entropy, 0, sizeof config.entropy));
    IP_REFUSES(memset(config.address, 0, sizeof config.address));
    IP_REFUSES(config.address[0] = 0xff);
    IP_REFUSES(config.address[0] = 0xfe; config.address[1] = 0x80);
    IP_REFUSES(config.mss = 63);
    IP_REFUSES(config.mss = 1221);
    IP_REFUSES(config.packet_bytes = 1279);
    IP_REFUSES(config.mss = 65535; config.packet_bytes = 65534);
    IP_REFUSES(config.send_buffer = 63);
    IP_REFUSES(config.receive_buffer = 0);
    IP_REFUSES(config.udp_buffer = 0);
    IP_REFUSES(config.packets = 0);
    IP_REFUSES(config.hop_limit = 0);
    IP_REFUSES(config.ack_delay = 0);
    IP_REFUSES(config.ack_delay = 48);
}

static rp_node *made_ip(void **memory)
{
    struct rp_ip_config config = good_ip(), bad = good_ip();
    rp_node *node = NULL;
    size_t len = 0;
    EXPECT(0, rp_sizeof_ip(&config, &len));
    uint8_t *bytes = malloc(len + 8);
    bad.mss = 0;
    EXPECT(RP_ENOMEM, rp_ip_init(bytes, len - 1, &config, &node));
    EXPECT(RP_ENOMEM, rp_ip_init(bytes, 0, &config, &node));
    EXPECT(RP_EFAULT, rp_ip_init(bytes + 1, len, &config, &node));
    EXPECT(RP_EFAULT, rp_ip_init(NULL, len, &config, &node));
    EXPECT(RP_EFAULT, rp_ip_init(bytes, len, NULL, &node));
    EXPECT(RP_EFAULT, rp_ip_init(bytes, len, &config, NULL));
    EXPECT(RP_EINVAL, rp_ip_init(bytes, len, &bad, &node));
    EXPECT(1, node == NULL);
    EXPECT(0, rp_ip_init(bytes, len, &config, &node));
    *memory = bytes;
    return node;
}

static uint16_t checksum(const uint8_t *packet, size_t len)
{
    /* RFC 8200 §8.1: addresses, length and next header, then the segment. */
    uint32_t sum = (uint32_t)(len - 40) + packet[6];
    for (size_t at = 8; at < len; at++) {
        sum += (uint32_t)packet[at] << (at % 2 ? 0 : 8);
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)~sum;
}

/* Makes a SYN to port 80 of the node, with this total length. */
static size_t syn(uint8_t *packet, size_t len)
{
    memset(packet, 0, len);
    packet[0] = 0x60;
    packet[4] = (uint8_t)((len - 40) >> 8);
    packet[5] = (uint8_t)(len - 40);
    packet[6] = 6;
    packet[7] = 64;
    memcpy(packet + 8, other, 16);
    memcpy(packet + 24, own, 16);
    packet[41] = 99; /* ports */
    packet[43] = 80;
    packet[52] = 5 << 4;
    packet[53] = 2; /* SYN */
    packet[54] = 4; /* window */
    uint16_t sum = checksum(packet, len);
    packet[56] = (uint8_t)(sum >> 8);
    packet[57] = (uint8_t)sum;
    return len;
}

/* Counts the packets of a node. */
static int taken(rp_node *node, uint64_t now)
{
    static uint8_t out[1280];
    int count = 0, len;
    while ((len = rp_ip_output(node, now, out, sizeof out)) > 0 && count < 100) {
        /* Each packet is IPv6 from the node's address, with a correct length and checksum. */
        EXPECT(6, out[0] >> 4);
        EXPECT(len, 40 + out[4] * 256 + out[5]);
        EXPECT(0, memcmp(out + 8, own, 16));
        EXPECT(0, out[6] == 6 || out[6] == 58 ? checksum(out, (size_t)len) : 0);
        count++;
    }
    EXPECT(0, len);
    return count;
}

/* Calls for nodes on a radio fail with a node over IPv6. */
static void no_radio(rp_node *node)
{
    uint8_t bytes[1280] = {0};
    struct rp_work work;
    EXPECT(RP_EOPNOTSUPP, rp_add_route(node, bytes, 0, RP_VIA_HOST, RP_NO_SHORT));
    uint16_t rank;
    EXPECT(RP_EOPNOTSUPP, rp_rpl_start(node, 0));
    EXPECT(RP_EOPNOTSUPP, rp_rpl_place(node, &rank, &rank));
    EXPECT(RP_EOPNOTSUPP, rp_poll_radio(node, 0, &work));
    EXPECT(RP_EOPNOTSUPP, rp_radio_done(node, 0, RP_RESULT_LOADED));
    EXPECT(RP_EOPNOTSUPP, rp_input_frame(node, 0, bytes, 9, 0, 0, 0));
    EXPECT(RP_EOPNOTSUPP, rp_input_packet(node, 0, bytes, sizeof bytes));
    EXPECT(RP_EOPNOTSUPP, rp_poll_packet(node, 0, bytes, sizeof bytes));
}

static void ip_packets(rp_node *node)
{
    static uint8_t packet[2000], cut[2000], out[1280];
    size_t len = syn(packet, 60);
    int fd = rp_socket(node, 0, RP_SOCK_STREAM);
    EXPECT(0, fd);
    EXPECT(RP_EFAULT, rp_ip_input(node, 0, NULL, 60));
    EXPECT(RP_EINVAL, rp_ip_input(node, 0, packet, (size_t)-1));
    EXPECT(RP_EINVAL, rp_ip_input(node, 0, NULL, 0));
    EXPECT(RP_EFAULT, rp_ip_output(node, 0, NULL, sizeof out));
    EXPECT(RP_EINVAL, rp_ip_output(node, 0, NULL, 0));
    EXPECT(RP_EINVAL, rp_ip_output(node, 0, out, sizeof out - 1));
    EXPECT(0, rp_ip_output(node, 0, out, sizeof out));
    /* Every truncated packet is malformed. Each copy has its own allocation, so that the sanitizer
     * or Valgrind detects a read beyond its end. */
    for (size_t less = 0; less < len; less++) {
        uint8_t *part = malloc(less);
        memcpy(part, packet, less);
        EXPECT(RP_EINVAL, rp_ip_input(node, 0, part, less));
        free(part);
    }
    EXPECT(0, taken(node, 0));
    memcpy(cut, packet, len);
    cut[0] = 0x45; /* IPv4 */
    EXPECT(RP_IGNORED_IPV4, rp_ip_input(node, 0, cut, len));
    EXPECT(RP_EINVAL, rp_ip_input(node, 0, cut, 19));
    cut[0] = 0x50;
    EXPECT(RP_EINVAL, rp_ip_input(node, 0, cut, len));
    memcpy(cut, packet, len);
    cut[39] = 3;
    EXPECT(RP_EADDRNOTAVAIL, rp_ip_input(node, 0, cut, len));
    memcpy(cut + 24, "\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
    EXPECT(RP_IGNORED_MULTICAST, rp_ip_input(node, 0, cut, len));
    EXPECT(RP_EMSGSIZE, rp_ip_input(node, 0, cut, syn(cut, 1281)));
    /* TCP discards a segment with a wrong checksum; a reset answers a SYN to a closed port. */
    memcpy(cut, packet, len);
    cut[56] ^= 1;
    EXPECT(0, rp_ip_input(node, 0, cut, len));
    EXPECT(0, taken(node, 0));
    EXPECT(0, rp_ip_input(node, 0, packet, len));
    EXPECT(1, taken(node, 0));
    /* A packet that waits for rp_ip_output occupies the room for a received packet. */
    EXPECT(0, rp_ip_input(node, 2000000, packet, len));
    EXPECT(RP_EAGAIN, rp_ip_input(node, 2000000, packet, len));
    EXPECT(RP_EINVAL, rp_ip_output(node, 2000000, out, 60));
    EXPECT(RP_EAGAIN, rp_ip_input(node, 2000000, packet, len));
    EXPECT(1, taken(node, 2000000));
    /* The node has no room for UDP sockets, so it does not process UDP. */
    int datagrams = rp_socket(node, 0, RP_SOCK_DGRAM);
    EXPECT(RP_EMFILE, rp_bind(node, 0, datagrams, 5));
    EXPECT(0, rp_close(node, 0, datagrams));
    EXPECT(0, rp_bind(node, 0, fd, 80));
    EXPECT(0, rp_listen(node, 0, fd, 1));
    EXPECT(0, rp_ip_input(node, 4000000, packet, len));
    EXPECT(1, taken(node, 4000000)); /* the SYN-ACK */
    EXPECT(RP_EAGAIN, rp_accept(node, 4000000, fd, NULL));
}

static uint32_t dice = 7;

static unsigned draw(unsigned below)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 8) % below;
}

/* Random bytes, and packets with some changed bytes, do no harm. */
static void ip_garbage(rp_node *node)
{
    static uint8_t packet[1280];
    uint64_t now = 5000000, at;
    for (int round = 0; round < 20000; round++) {
        size_t len = 0;
        len = 40 + draw(200);
        if (round % 2) {
            len = syn(packet, len < 60 ? 60 : len);
        } else {
            for (size_t i = 0; i < len; i++) {
                packet[i] = (uint8_t)draw(256);
            }
            packet[0] = 0x60;
            packet[4] = 0;
            packet[5] = (uint8_t)(len - 40);
            static const uint8_t uppers[] = {0, 6, 17, 41, 43, 44, 58, 59, 60, 135};
            packet[6] = uppers[draw(10)];
            memcpy(packet + 24, own, 16);
        }
        for (unsigned changes = draw(4); changes > 0; changes--) {
            unsigned place = draw((unsigned)len);
            packet[place] = (uint8_t)draw(256);
        }
        uint16_t sum = 0;
        if (packet[6] == 6 && len >= 60 && draw(2)) {
            packet[56] = packet[57] = 0;
            sum = checksum(packet, len);
            packet[56] = (uint8_t)(sum >> 8);
            packet[57] = (uint8_t)sum;
        }
        int code = rp_ip_input(node, now, packet, len - draw(2));
        EXPECT(1, code == 0 || code == RP_IGNORED_MULTICAST || code == RP_IGNORED_IPV4 ||
                      code == RP_EINVAL || code == RP_EADDRNOTAVAIL ||
                      code == RP_EMSGSIZE || code == RP_EAGAIN);
        static uint8_t out[1280];
        while (rp_ip_output(node, now, out, sizeof out) > 0) {
        }
        while (rp_poll_event(node) > 0) {
        }
        now += 1000;
        if (rp_poll_at(node, &at) == 1 && at <= now) {
            EXPECT(0, rp_on_timeout(node, now));
        }
        int fd = rp_accept(node, now, 0, NULL);
        if (fd >= 0) {
            EXPECT(0, rp_close(node, now, fd));
        }
    }
    /* The node still works. */
    now += 600000000;
    EXPECT(0, rp_on_timeout(node, now));
    taken(node, now);
    EXPECT(0, rp_ip_input(node, now, packet, syn(packet, 60)));
    EXPECT(1, taken(node, now));
}

static void over_ip(void)
{
    void *memory = NULL, *radio = NULL;
    uint8_t bytes[1280] = {0};
    ip_configurations();
    rp_node *node = made_ip(&memory);
    no_radio(node);
    ip_packets(node);
    ip_garbage(node);
    EXPECT(0, rp_node_end(node));
    all(RP_EINVAL, node);
    free(memory);
    node = made(&radio);
    EXPECT(RP_EOPNOTSUPP, rp_ip_input(node, 0, bytes, sizeof bytes));
    EXPECT(RP_EOPNOTSUPP, rp_ip_output(node, 0, bytes, sizeof bytes));
    EXPECT(0, rp_node_end(node));
    free(radio);
}

int main(void)
{
    static uint64_t zeroes[512];
    void *memory = NULL;
    over_ip();
    configurations();
    all(RP_EFAULT, NULL);
    all(RP_EFAULT, (rp_node *)((char *)zeroes + 1));
    all(RP_EINVAL, (rp_node *)zeroes);
    rp_node *node = made(&memory);
    sockets(node);
    EXPECT(0, rp_node_end(node));
    all(RP_EINVAL, node);
    const struct rp_waiter waiter = {.node = node, .now = no_time, .wait = enough};
    waits(RP_EINVAL, &waiter, 1);
    EXPECT(RP_EINVAL, rp_wait_poll(&waiter, NULL, 0, 0));
    free(memory);
    return failures != 0;
}
