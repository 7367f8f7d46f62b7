/* Calls each function of redpoll_tcp.h wrongly: with null, with other objects, at the wrong time, and
 * in a random order with random segments. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redpoll_tcp.h"

static int failures;

#define EXPECT(code, call)                                                                 \
    do {                                                                                   \
        int got = (call);                                                                  \
        if (got != (code)) {                                                               \
            fprintf(stderr, "line %d: %s = %d, not %d\n", __LINE__, #call, got, (code));   \
            failures++;                                                                    \
        }                                                                                  \
    } while (0)

static struct rp_tcp tcp;
static struct rp_tcp_listener listener;
static struct rp_tcp_half_open half_open[2];
static struct rp_tcp_connection connection;
static uint8_t send[200], receive[200], bytes[1300];
static const struct rp_tcp_buffers buffers = {send, sizeof send, receive, sizeof receive};
static const struct rp_endpoint local = {.address = {0xfd, [15] = 1}};
static const struct rp_endpoint remote = {.address = {0xfd, [15] = 2}, .port = 80};
static const struct rp_endpoint at = {.address = {0xfd, [15] = 1}, .port = 7};
static struct rp_tcp_ip ip;

static struct rp_tcp_config good(void)
{
    struct rp_tcp_config config;
    EXPECT(0, rp_tcp_config_init(&config));
    config.secret[3] = 7;
    return config;
}

static void configurations(void)
{
    struct rp_tcp_config config = good();
    EXPECT(RP_EFAULT, rp_tcp_config_init(NULL));
    EXPECT(RP_EFAULT, rp_tcp_init(NULL, RP_TCP_SIZES, &config));
    EXPECT(RP_EFAULT, rp_tcp_init(&tcp, RP_TCP_SIZES, NULL));
    EXPECT(RP_EFAULT, rp_tcp_init((struct rp_tcp *)((char *)&tcp + 4), RP_TCP_SIZES, &config));
    EXPECT(RP_ENOMEM, rp_tcp_init(&tcp, sizeof tcp - 1, sizeof connection, sizeof listener,
                                  &config));
    EXPECT(RP_ENOMEM, rp_tcp_init(&tcp, sizeof tcp, sizeof connection - 1, sizeof listener,
                                  &config));
    EXPECT(RP_ENOMEM, rp_tcp_init(&tcp, sizeof tcp, sizeof connection, sizeof listener - 1,
                                  &config));
#define REFUSES(change)                                                                    \
    do {                                                                                   \
        config = good();                                                                   \
        change;                                                                            \
        EXPECT(RP_EINVAL, rp_tcp_init(&tcp, RP_TCP_SIZES, &config));                       \
    } while (0)
    REFUSES(config.secret[3] = 0);
    REFUSES(config.mss = 63);
    REFUSES(config.hop_limit = 0);
    REFUSES(config.min_rto_ms = 0);
    REFUSES(config.time_wait_ms = 0);
    REFUSES(config.ack_delay = 0);
    REFUSES(config.ack_delay = 48);
    REFUSES(config.ecn = 3);
    REFUSES(config.nagle = 2);
    REFUSES(config.sack = 2);
    REFUSES(config.timestamps = 2);
    REFUSES(config.keepalive_idle_ms = 1; config.keepalive_interval_ms = 0);
    REFUSES(config.keepalive_idle_ms = 1; config.keepalive_count = 1);
    REFUSES(config.keepalive_idle_ms = 1; config.keepalive_count = 128);
}

/* Only a SYN of a host that asks for ECN has the flags ECE and CWR (RFC 3168 §6.1.1). */
static void requests_of_ecn(void)
{
    for (uint8_t use = 0; use <= 2; use++) {
        struct rp_tcp_config config = good();
        config.ecn = use;
        EXPECT(0, rp_tcp_init(&tcp, RP_TCP_SIZES, &config));
        EXPECT(0, rp_tcp_connect(&tcp, 0, &connection, &buffers, &local, &remote));
        EXPECT(1, rp_tcp_output(&tcp, 0, bytes, sizeof bytes, &ip) > 20);
        EXPECT(use == 2 ? 0xc2 : 0x02, bytes[13]);
        EXPECT(0, rp_tcp_abort(&connection, 0));
        EXPECT(0, rp_tcp_release(&tcp, &connection));
    }
}

/* Expects `code` from all calls with this pointer as their host. */
static void all_of_host(int code, struct rp_tcp *host)
{
    struct rp_tcp_connection *which;
    uint64_t time;
    EXPECT(code, rp_tcp_input(host, 0, &ip, bytes, 20));
    EXPECT(code, rp_tcp_input_icmp(host, 0, bytes, 60));
    EXPECT(code, rp_tcp_output(host, 0, bytes, sizeof bytes, &ip));
    EXPECT(code, rp_tcp_poll_at(host, &time));
    EXPECT(code, rp_tcp_on_timeout(host, 0));
    EXPECT(code, rp_tcp_poll_event(host, &which));
    EXPECT(code, rp_tcp_connect(host, 0, &connection, &buffers, &local, &remote));
    EXPECT(code, rp_tcp_listen(host, &listener, &at, half_open, 2, 200));
    EXPECT(code, rp_tcp_accept(host, &listener, &connection, &buffers));
    EXPECT(code, rp_tcp_unlisten(host, &listener));
    EXPECT(code, rp_tcp_release(host, &connection));
}

/* Expects `code` from all calls with this pointer as their connection. */
static void all_of_connection(int code, struct rp_tcp_connection *one)
{
    struct rp_endpoint a, b;
    struct rp_tcp_info info;
    EXPECT(code, rp_tcp_send(one, 0, bytes, 1));
    EXPECT(code, rp_tcp_recv(one, 0, bytes, 1));
    EXPECT(code, rp_tcp_close(one, 0));
    EXPECT(code, rp_tcp_abort(one, 0));
    EXPECT(code, rp_tcp_state(one));
    EXPECT(code, rp_tcp_error(one));
    EXPECT(code, rp_tcp_ends(one, &a, &b));
    EXPECT(code, rp_tcp_measure(one, &info));
    EXPECT(code, rp_tcp_set_nagle(one, 0, 1));
    EXPECT(code, rp_tcp_set_keepalive(one, 0, 1000, 1000, 2));
    EXPECT(code, rp_tcp_set_user_timeout(one, 0, 1000));
    EXPECT(code, rp_tcp_release(&tcp, one));
}

static void pointers(void)
{
    static struct rp_tcp copy;
    static struct rp_tcp_connection other;
    struct rp_tcp_config config = good();
    struct rp_tcp_info info;
    struct rp_endpoint end;
    struct rp_tcp_connection *odd = (struct rp_tcp_connection *)((char *)&other + 4);
    all_of_host(RP_EFAULT, NULL);
    all_of_host(RP_EFAULT, (struct rp_tcp *)((char *)&tcp + 1));
    memset(&tcp, 0, sizeof tcp);
    all_of_host(RP_EINVAL, &tcp);
    memset(&tcp, 0xa5, sizeof tcp);
    all_of_host(RP_EINVAL, &tcp);
    EXPECT(0, rp_tcp_init(&tcp, RP_TCP_SIZES, &config));
    /* A copy of a host is not a host, and neither is another object. */
    copy = tcp;
    all_of_host(RP_EINVAL, &copy);
    all_of_connection(RP_EFAULT, NULL);
    all_of_connection(RP_EFAULT, odd);
    all_of_connection(RP_EINVAL, &other);
    memcpy(&other, &tcp, sizeof tcp < sizeof other ? sizeof tcp : sizeof other);
    all_of_connection(RP_EINVAL, &other);
    EXPECT(0, rp_tcp_connect(&tcp, 0, &connection, &buffers, &local, &remote));
    all_of_host(RP_EINVAL, (struct rp_tcp *)&connection);
    other = connection;
    all_of_connection(RP_EINVAL, &other);
    /* Invalid arguments other than the host and the connection. */
    EXPECT(RP_EFAULT, rp_tcp_connect(&tcp, 0, NULL, &buffers, &local, &remote));
    EXPECT(RP_EFAULT, rp_tcp_connect(&tcp, 0, odd, &buffers, &local, &remote));
    EXPECT(RP_EFAULT, rp_tcp_connect(&tcp, 0, &other, NULL, &local, &remote));
    EXPECT(RP_EFAULT, rp_tcp_connect(&tcp, 0, &other, &buffers, NULL, &remote));
    EXPECT(RP_EFAULT, rp_tcp_connect(&tcp, 0, &other, &buffers, &local, NULL));
    EXPECT(RP_EISCONN, rp_tcp_connect(&tcp, 0, &connection, &buffers, &local, &remote));
    EXPECT(RP_EFAULT, rp_tcp_input(&tcp, 0, NULL, bytes, 20));
    EXPECT(RP_EFAULT, rp_tcp_input(&tcp, 0, &ip, NULL, 20));
    EXPECT(RP_EINVAL, rp_tcp_input(&tcp, 0, &ip, NULL, 0));
    EXPECT(RP_EINVAL, rp_tcp_input(&tcp, 0, &ip, bytes, SIZE_MAX));
    EXPECT(RP_EFAULT, rp_tcp_input_icmp(&tcp, 0, NULL, 60));
    EXPECT(RP_EINVAL, rp_tcp_input_icmp(&tcp, 0, bytes, 60));
    EXPECT(RP_EFAULT, rp_tcp_output(&tcp, 0, NULL, 1300, &ip));
    EXPECT(RP_EFAULT, rp_tcp_output(&tcp, 0, bytes, 1300, NULL));
    EXPECT(RP_EINVAL, rp_tcp_output(&tcp, 0, bytes, 127, &ip));
    EXPECT(RP_EFAULT, rp_tcp_poll_at(&tcp, NULL));
    EXPECT(RP_EFAULT, rp_tcp_poll_event(&tcp, NULL));
    EXPECT(RP_EFAULT, rp_tcp_send(&connection, 0, NULL, 1));
    EXPECT(0, rp_tcp_send(&connection, 0, NULL, 0));
    EXPECT(RP_EINVAL, rp_tcp_send(&connection, 0, bytes, SIZE_MAX));
    EXPECT(RP_EFAULT, rp_tcp_recv(&connection, 0, NULL, 1));
    EXPECT(RP_EFAULT, rp_tcp_measure(&connection, NULL));
    EXPECT(RP_EFAULT, rp_tcp_ends(&connection, NULL, &end));
    EXPECT(RP_EFAULT, rp_tcp_ends(&connection, &end, NULL));
    EXPECT(RP_EINVAL, rp_tcp_set_keepalive(&connection, 0, 1, 0, 2));
    EXPECT(RP_EAGAIN, rp_tcp_release(&tcp, &connection));
    EXPECT(0, rp_tcp_measure(&connection, &info));
    /* The application clears the memory of a live connection. */
    memset(&connection, 0, sizeof connection);
    all_of_connection(RP_EINVAL, &connection);
    EXPECT(0, rp_tcp_output(&tcp, 0, bytes, 1300, &ip));
    EXPECT(0, rp_tcp_connect(&tcp, 0, &connection, &buffers, &local, &remote));
    EXPECT(0, rp_tcp_close(&connection, 0));
    EXPECT(0, rp_tcp_release(&tcp, &connection));
}

static void values(void)
{
    struct rp_tcp_config config = good();
    struct rp_endpoint none = {.port = 80}, group = {.address = {0xff}, .port = 80};
    struct rp_endpoint no_port = local, own = local;
    struct rp_tcp_buffers bad = buffers;
    static struct rp_tcp_listener second;
    static struct rp_tcp_connection one;
    static struct rp_tcp other;
    EXPECT(0, rp_tcp_init(&tcp, RP_TCP_SIZES, &config));
    EXPECT(0, rp_tcp_init(&other, RP_TCP_SIZES, &config));
    EXPECT(RP_EINVAL, rp_tcp_connect(&tcp, 0, &one, &buffers, &none, &remote));
    EXPECT(RP_EINVAL, rp_tcp_connect(&tcp, 0, &one, &buffers, &group, &remote));
    EXPECT(RP_EINVAL, rp_tcp_connect(&tcp, 0, &one, &buffers, &local, &none));
    EXPECT(RP_EINVAL, rp_tcp_connect(&tcp, 0, &one, &buffers, &local, &group));
    EXPECT(RP_EINVAL, rp_tcp_connect(&tcp, 0, &one, &buffers, &local, &no_port));
#define REFUSES_BUFFERS(code, change)                                                      \
    do {                                                                                   \
        bad = buffers;                                                                     \
        change;                                                                            \
        EXPECT(code, rp_tcp_connect(&tcp, 0, &one, &bad, &local, &remote));                \
    } while (0)
    REFUSES_BUFFERS(RP_EINVAL, bad.send_len = 63);
    REFUSES_BUFFERS(RP_EINVAL, bad.receive_len = 0);
    REFUSES_BUFFERS(RP_EINVAL, bad.send_len = 65536);
    REFUSES_BUFFERS(RP_EINVAL, bad.receive_len = SIZE_MAX);
    REFUSES_BUFFERS(RP_EINVAL, bad.receive = send);
    REFUSES_BUFFERS(RP_EINVAL, bad.receive = send + 199);
    REFUSES_BUFFERS(RP_EINVAL, bad.send = (uint8_t *)&one);
    REFUSES_BUFFERS(RP_EFAULT, bad.send = NULL);
    REFUSES_BUFFERS(RP_EFAULT, bad.receive = NULL);
    EXPECT(RP_EFAULT, rp_tcp_listen(&tcp, NULL, &at, half_open, 2, 200));
    EXPECT(RP_EFAULT, rp_tcp_listen(&tcp, &listener, NULL, half_open, 2, 200));
    EXPECT(RP_EFAULT, rp_tcp_listen(&tcp, &listener, &at, NULL, 2, 200));
    EXPECT(RP_EINVAL, rp_tcp_listen(&tcp, &listener, &at, half_open, 0, 200));
    EXPECT(RP_EINVAL, rp_tcp_listen(&tcp, &listener, &at, half_open, 256, 200));
    EXPECT(RP_EINVAL, rp_tcp_listen(&tcp, &listener, &at, half_open, 2, 63));
    EXPECT(RP_EINVAL, rp_tcp_listen(&tcp, &listener, &at, half_open, 2, 65536));
    EXPECT(RP_EINVAL, rp_tcp_listen(&tcp, &listener, &group, half_open, 2, 200));
    EXPECT(RP_EINVAL, rp_tcp_listen(&tcp, &listener, &no_port, half_open, 2, 200));
    EXPECT(RP_EINVAL, rp_tcp_accept(&tcp, &listener, &one, &buffers));
    EXPECT(0, rp_tcp_listen(&tcp, &listener, &at, half_open, 2, 200));
    EXPECT(RP_EISCONN, rp_tcp_listen(&tcp, &listener, &at, half_open, 2, 200));
    EXPECT(RP_EADDRINUSE, rp_tcp_listen(&tcp, &second, &at, half_open, 2, 200));
    none.port = 7;
    EXPECT(RP_EADDRINUSE, rp_tcp_listen(&tcp, &second, &none, half_open, 2, 200));
    EXPECT(RP_EFAULT, rp_tcp_accept(&tcp, NULL, &one, &buffers));
    EXPECT(RP_EINVAL, rp_tcp_accept(&tcp, &second, &one, &buffers));
    EXPECT(RP_EINVAL, rp_tcp_accept(&other, &listener, &one, &buffers));
    EXPECT(RP_EINVAL, rp_tcp_unlisten(&other, &listener));
    EXPECT(RP_EINVAL, rp_tcp_unlisten(&tcp, &second));
    bad = buffers, bad.receive_len = 199;
    EXPECT(RP_EINVAL, rp_tcp_accept(&tcp, &listener, &one, &bad));
    EXPECT(0, rp_tcp_accept(&tcp, &listener, &one, &buffers));
    EXPECT(RP_EISCONN, rp_tcp_accept(&tcp, &listener, &one, &buffers));
    EXPECT(RP_EISCONN, rp_tcp_connect(&tcp, 0, &one, &buffers, &local, &remote));
    EXPECT(RP_ENOTCONN, rp_tcp_send(&one, 0, bytes, 1));
    EXPECT(RP_ENOTCONN, rp_tcp_recv(&one, 0, bytes, 1));
    EXPECT(RP_EINVAL, rp_tcp_release(&other, &one));
    EXPECT(0, rp_tcp_unlisten(&tcp, &listener));
    EXPECT(RP_EINVAL, rp_tcp_unlisten(&tcp, &listener));
    EXPECT(RP_TCP_CLOSED, rp_tcp_state(&one));
    EXPECT(0, rp_tcp_release(&tcp, &one));
    /* A second connection between the same ends is refused. */
    own.port = 9;
    EXPECT(0, rp_tcp_connect(&tcp, 0, &one, &buffers, &own, &remote));
    EXPECT(RP_EADDRINUSE, rp_tcp_connect(&tcp, 0, &connection, &buffers, &own, &remote));
}

static unsigned dice = 1;

static unsigned roll(unsigned below)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 8) % below;
}

/* Sets the checksum of a segment. */
static void seal(uint8_t *segment, size_t len, const struct rp_tcp_ip *of)
{
    uint32_t sum = 6 + (uint32_t)len;
    segment[16] = segment[17] = 0;
    for (int i = 0; i < 16; i += 2) {
        sum += (uint32_t)(of->source[i] << 8 | of->source[i + 1]);
        sum += (uint32_t)(of->destination[i] << 8 | of->destination[i + 1]);
    }
    for (size_t i = 0; i < len; i++) {
        sum += (uint32_t)segment[i] << (i % 2 ? 0 : 8);
    }
    while (sum >> 16) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    segment[16] = (uint8_t)(~sum >> 8), segment[17] = (uint8_t)~sum;
}

#define MANY 3

/* Random calls, and segments between two hosts of which some are lost, changed or repeated. */
static void random_calls(unsigned steps)
{
    static struct rp_tcp hosts[2];
    static struct rp_tcp_connection all[2][MANY];
    static struct rp_tcp_listener listeners[2];
    static struct rp_tcp_half_open halves[2][2];
    static uint8_t space[2][MANY][2][300];
    uint64_t now = 0;
    unsigned accepted = 0, ended = 0;
    for (unsigned index = 0; index < 2; index++) {
        struct rp_tcp_config config = good();
        config.secret[0] = (uint8_t)index;
        config.mss = 100;
        config.max_retries = 3;
        config.time_wait_ms = 100;
        EXPECT(0, rp_tcp_init(&hosts[index], RP_TCP_SIZES, &config));
    }
    for (unsigned step = 0; step < steps; step++) {
        unsigned index = roll(2), which = roll(MANY);
        struct rp_tcp *host = &hosts[index];
        struct rp_tcp_connection *one = &all[index][which], *of;
        struct rp_tcp_buffers own = {space[index][which][0], 64 + roll(237),
                                     space[index][which][1], 300};
        struct rp_endpoint here = {.address = {0xfd, [15] = (uint8_t)(1 + index)}, .port = 0};
        struct rp_endpoint there = {.address = {0xfd, [15] = (uint8_t)(2 - index)}, .port = 80};
        struct rp_tcp_ip between;
        uint64_t next;
        int len;
        now += roll(20) == 0 ? 1000000 : roll(30000);
        switch (roll(16)) {
        case 0:
            here.port = (uint16_t)(roll(2) * 1000);
            rp_tcp_connect(host, now, one, &own, &here, &there);
            break;
        case 1:
            here.port = 80;
            rp_tcp_listen(host, &listeners[index], &here, halves[index], 1 + roll(2), 300);
            break;
        case 2:
            rp_tcp_accept(host, &listeners[index], one, &own);
            break;
        case 3:
            if (roll(20) == 0) {
                rp_tcp_unlisten(host, &listeners[index]);
            }
            break;
        case 4:
        case 5:
            rp_tcp_send(one, now, bytes, roll(200));
            break;
        case 6:
            rp_tcp_recv(one, now, bytes, roll(200));
            break;
        case 7:
            if (roll(8) == 0) {
                rp_tcp_close(one, now);
            }
            break;
        case 8:
            if (roll(30) == 0) {
                rp_tcp_abort(one, now);
            }
            break;
        case 9:
            ended += rp_tcp_release(host, one) == 0;
            break;
        case 10:
            rp_tcp_set_nagle(one, now, (uint8_t)roll(2));
            rp_tcp_set_keepalive(one, now, roll(3) * 500, 100, 2);
            rp_tcp_set_user_timeout(one, now, roll(2) * 3000);
            break;
        case 11:
            if (roll(200) == 0) {
                memset(one, (int)roll(256), sizeof *one);
            }
            break;
        default:
            rp_tcp_on_timeout(host, now);
            while (rp_tcp_poll_event(host, &of) > 0) {
                accepted += rp_tcp_state(of) == RP_TCP_ESTABLISHED;
            }
            while ((len = rp_tcp_output(host, now, bytes, 128 + roll(100), &between)) > 0) {
                for (unsigned copy = roll(10) == 0 ? 2 : roll(12) != 0; copy > 0; copy--) {
                    if (roll(6) == 0) {
                        bytes[roll((unsigned)len)] ^= (uint8_t)(1u << roll(8));
                        if (roll(2)) {
                            seal(bytes, (size_t)len, &between);
                        }
                    }
                    rp_tcp_input(&hosts[1 - index], now, &between, bytes, (size_t)len);
                }
                if (roll(20) == 0) {
                    uint8_t message[128] = {(uint8_t)(1 + roll(4)), (uint8_t)roll(5)};
                    message[8] = 0x60, message[14] = 6;
                    memcpy(message + 16, between.source, 16);
                    memcpy(message + 32, between.destination, 16);
                    memcpy(message + 48, bytes, len < 80 ? (size_t)len : 80);
                    rp_tcp_input_icmp(host, now, message, roll(129));
                }
            }
            if (rp_tcp_poll_at(host, &next) == 1 && roll(2) && next > now) {
                now = next;
            }
        }
    }
    /* The random calls accept and end enough connections for a meaningful test. */
    EXPECT(1, accepted > steps / 1000);
    EXPECT(1, ended > steps / 1000);
}

/* Random bytes, and every truncation of a SYN. */
static void garbage(void)
{
    struct rp_tcp_config config = good();
    struct rp_tcp_ip of = {.source = {0xfd, [15] = 1}, .destination = {0xfd, [15] = 2}};
    EXPECT(0, rp_tcp_init(&tcp, RP_TCP_SIZES, &config));
    EXPECT(0, rp_tcp_listen(&tcp, &listener, &at, half_open, 2, 200));
    for (int i = 0; i < 20000; i++) {
        size_t len = roll(120);
        for (size_t place = 0; place < len; place++) {
            bytes[place] = (uint8_t)roll(256);
        }
        if (len >= 20 && roll(2)) {
            bytes[12] = 0x50, bytes[2] = 0, bytes[3] = 7;
            seal(bytes, len, &of);
        }
        rp_tcp_input(&tcp, (uint64_t)i * 1000, &of, bytes, len);
        rp_tcp_input_icmp(&tcp, (uint64_t)i * 1000, bytes, len);
        rp_tcp_output(&tcp, (uint64_t)i * 1000, bytes + 128, 128, &ip);
    }
    memset(bytes, 0, 60);
    bytes[1] = 9, bytes[3] = 7, bytes[12] = 0x60, bytes[13] = 2, bytes[20] = 2, bytes[21] = 4;
    bytes[22] = 4;
    seal(bytes, 24, &of);
    for (size_t len = 0; len < 24; len++) {
        EXPECT(RP_EINVAL, rp_tcp_input(&tcp, 0, &of, bytes, len));
    }
    EXPECT(0, rp_tcp_input(&tcp, 0, &of, bytes, 24));
}

int main(void)
{
    configurations();
    requests_of_ecn();
    pointers();
    values();
    garbage();
    random_calls(100000);
    printf("%s\n", failures ? "failures" : "all right");
    return failures != 0;
}
