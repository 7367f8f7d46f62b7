/* Redpoll's TCP alone: two hosts that exchange segments in memory, with losses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redpoll_tcp.h"

#define TOTAL 100000
#define WAY 64       /* most segments in flight in one direction */
#define DELAY 15000  /* delay of each segment in microseconds */

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "line %d, at %lu us: not %s\n", __LINE__, (unsigned long)now,  \
                    #condition);                                                           \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

/* A host, and the segments in flight to it. */
struct host {
    struct rp_tcp tcp;
    struct rp_endpoint at;
    struct {
        struct rp_tcp_ip ip;
        uint8_t bytes[1240];
        int len;
        uint64_t at;
    } way[WAY];
    int first, count;
};

/* A connection with its buffers, and the bytes that it has sent and received. */
struct stream {
    struct rp_tcp_connection connection;
    uint8_t send[2309], receive[2309];
    size_t sent, received;
    int is_connected, is_ended, failed;
};

static struct host hosts[2];
static struct stream client, server;
static uint64_t now;
static unsigned dice, loss, lost, marked, segments, with_ecn, resets;

static void begin(unsigned one_of)
{
    now = 1000000;
    dice = 1, loss = one_of, lost = marked = segments = with_ecn = resets = 0;
    memset(&client, 0, sizeof client);
    memset(&server, 0, sizeof server);
    for (int index = 0; index < 2; index++) {
        struct host *host = &hosts[index];
        struct rp_tcp_config config;
        memset(host, 0, sizeof *host);
        CHECK(rp_tcp_config_init(&config) == 0);
        memset(config.secret, 1 + index, sizeof config.secret);
        config.time_wait_ms = 2000;
        config.mss = 476;
        CHECK(rp_tcp_init(&host->tcp, RP_TCP_SIZES, &config) == 0);
        host->at.address[0] = 0xfd;
        host->at.address[15] = (uint8_t)(1 + index);
    }
}

static int random_below(unsigned below)
{
    dice = dice * 1664525u + 1013904223u;
    return (int)((dice >> 8) % below);
}

static void carry(struct host *from, struct host *to)
{
    while (to->count < WAY) {
        int place = (to->first + to->count) % WAY;
        struct rp_tcp_ip *ip = &to->way[place].ip;
        int len = rp_tcp_output(&from->tcp, now, to->way[place].bytes, 1240, ip);
        CHECK(len >= 0);
        if (len == 0) {
            return;
        }
        CHECK(len >= 20 && len <= 496 && ip->hop_limit == 64);
        CHECK(memcmp(ip->destination, to->at.address, 16) == 0);
        segments++;
        resets += (to->way[place].bytes[13] & 4) != 0;
        with_ecn += ip->ecn != 0;
        if (ip->ecn != 0 && random_below(40) == 0) {
            ip->ecn = 3;
            marked++;
        }
        if (loss != 0 && random_below(loss) == 0) {
            lost++;
            continue;
        }
        to->way[place].len = len;
        to->way[place].at = now + DELAY;
        to->count++;
    }
}

static void receive(struct host *host)
{
    while (host->count > 0 && host->way[host->first].at <= now) {
        int first = host->first;
        host->first = (first + 1) % WAY;
        host->count--;
        CHECK(rp_tcp_input(&host->tcp, now, &host->way[first].ip, host->way[first].bytes,
                           (size_t)host->way[first].len) == 0);
    }
}

static void note(struct rp_tcp_connection *connection, int event)
{
    struct stream *stream = (struct stream *)connection;
    CHECK(stream == &client || stream == &server);
    stream->is_connected |= event == RP_TCP_EVENT_CONNECTED;
    stream->failed |= event == RP_TCP_EVENT_FAILED;
}

static uint8_t byte_at(size_t at, int of_client)
{
    return (uint8_t)(at * 31 + at / 251 + (of_client ? 7 : 0));
}

/* Sends and receives as much as possible, and closes after the last byte. */
static void application(struct stream *stream, size_t total, int of_client)
{
    uint8_t bytes[300];
    int count;
    if (rp_tcp_state(&stream->connection) < 0 || !stream->is_connected) {
        return;
    }
    while (stream->sent < total) {
        size_t left = total - stream->sent;
        size_t len = left < sizeof bytes ? left : sizeof bytes;
        for (size_t i = 0; i < len; i++) {
            bytes[i] = byte_at(stream->sent + i, of_client);
        }
        count = rp_tcp_send(&stream->connection, now, bytes, len);
        if (count == RP_EAGAIN) {
            break;
        }
        CHECK(count > 0);
        stream->sent += (size_t)count;
        if (stream->sent == total) {
            CHECK(rp_tcp_close(&stream->connection, now) == 0);
        }
    }
    while ((count = rp_tcp_recv(&stream->connection, now, bytes, sizeof bytes)) > 0) {
        for (int i = 0; i < count; i++) {
            CHECK(bytes[i] == byte_at(stream->received + (size_t)i, !of_client));
        }
        stream->received += (size_t)count;
    }
    CHECK(count == 0 || count == RP_EAGAIN);
    stream->is_ended |= count == 0;
}

/* Advances the time to the next event; returns 0 if nothing happened and none is pending. */
static int step(void)
{
    uint64_t next = UINT64_MAX, at;
    int seen = 0;
    for (int index = 0; index < 2; index++) {
        struct rp_tcp_connection *connection;
        int event;
        while ((event = rp_tcp_poll_event(&hosts[index].tcp, &connection)) > 0) {
            note(connection, event);
            seen = 1;
        }
        CHECK(event == 0);
        carry(&hosts[index], &hosts[1 - index]);
        if (rp_tcp_poll_at(&hosts[index].tcp, &at) == 1 && at < next) {
            next = at;
        }
    }
    for (int index = 0; index < 2; index++) {
        if (hosts[index].count > 0 && hosts[index].way[hosts[index].first].at < next) {
            next = hosts[index].way[hosts[index].first].at;
        }
    }
    if (next == UINT64_MAX) {
        return seen;
    }
    now = next > now ? next : now;
    for (int index = 0; index < 2; index++) {
        CHECK(rp_tcp_on_timeout(&hosts[index].tcp, now) == 0);
        receive(&hosts[index]);
    }
    return 1;
}

static struct rp_tcp_buffers buffers(struct stream *stream)
{
    struct rp_tcp_buffers all = {stream->send, sizeof stream->send, stream->receive,
                                 sizeof stream->receive};
    return all;
}

static void connect_to(uint16_t port)
{
    struct rp_tcp_buffers all = buffers(&client);
    struct rp_endpoint local = hosts[0].at, remote = hosts[1].at, shown, peer;
    remote.port = port;
    CHECK(rp_tcp_connect(&hosts[0].tcp, now, &client.connection, &all, &local, &remote) == 0);
    CHECK(rp_tcp_state(&client.connection) == RP_TCP_SYN_SENT);
    CHECK(rp_tcp_connect(&hosts[0].tcp, now, &client.connection, &all, &local, &remote)
          == RP_EISCONN);
    CHECK(rp_tcp_ends(&client.connection, &shown, &peer) == 0);
    CHECK(shown.port >= 49152 && peer.port == port);
}

static struct rp_tcp_listener listener;
static struct rp_tcp_half_open half_open[2];

static void listen_at(uint16_t port, int any)
{
    struct rp_tcp_buffers all = buffers(&server);
    struct rp_endpoint at = hosts[1].at;
    if (any) {
        memset(at.address, 0, sizeof at.address);
    }
    at.port = port;
    CHECK(rp_tcp_listen(&hosts[1].tcp, &listener, &at, half_open, 2, 2309) == 0);
    CHECK(rp_tcp_accept(&hosts[1].tcp, &listener, &server.connection, &all) == 0);
    CHECK(rp_tcp_state(&server.connection) == RP_TCP_LISTEN);
    CHECK(rp_tcp_send(&server.connection, now, all.send, 1) == RP_ENOTCONN);
}

/* Both ends send TOTAL bytes with losses, close, and end normally. */
static void transfer(unsigned one_of, int any)
{
    struct rp_tcp_info info;
    begin(one_of);
    listen_at(80, any);
    connect_to(80);
    while (!client.is_ended || !server.is_ended) {
        application(&client, TOTAL, 1);
        application(&server, TOTAL, 0);
        CHECK(!client.failed && !server.failed);
        CHECK(step());
    }
    CHECK(client.received == TOTAL && server.received == TOTAL);
    CHECK(rp_tcp_measure(&client.connection, &info) == 0);
    CHECK(info.srtt_us >= 2 * DELAY && info.mss == 464);
    printf("loss 1 of %u: %d bytes each way in %lu ms, %u segments, %u lost, %u marked\n",
           one_of, TOTAL, (unsigned long)(now / 1000 - 1000), segments, lost, marked);
    CHECK(one_of == 0 || lost > 10);
    CHECK(with_ecn > 100 && marked > 2);
    while (rp_tcp_state(&client.connection) != RP_TCP_CLOSED
           || rp_tcp_state(&server.connection) != RP_TCP_CLOSED) {
        CHECK(step());
    }
    CHECK(rp_tcp_error(&client.connection) == 0 && rp_tcp_error(&server.connection) == 0);
    CHECK(resets == 0);
    CHECK(rp_tcp_release(&hosts[0].tcp, &client.connection) == 0);
    CHECK(rp_tcp_release(&hosts[1].tcp, &server.connection) == 0);
    CHECK(rp_tcp_release(&hosts[1].tcp, &server.connection) == RP_EINVAL);
    CHECK(rp_tcp_unlisten(&hosts[1].tcp, &listener) == 0);
    CHECK(!step());
}

/* The client closes its direction first, and still receives all bytes of the server. */
static void half_close(void)
{
    begin(0);
    listen_at(80, 0);
    connect_to(80);
    while (!client.is_connected || !server.is_connected) {
        CHECK(step());
    }
    CHECK(rp_tcp_close(&client.connection, now) == 0);
    CHECK(rp_tcp_send(&client.connection, now, client.send, 1) == RP_EPIPE);
    while (rp_tcp_state(&client.connection) != RP_TCP_FIN_WAIT_2) {
        CHECK(step());
    }
    CHECK(rp_tcp_state(&server.connection) == RP_TCP_CLOSE_WAIT);
    CHECK(rp_tcp_release(&hosts[0].tcp, &client.connection) == RP_EAGAIN);
    application(&server, TOTAL, 0);
    while (rp_tcp_state(&client.connection) != RP_TCP_TIME_WAIT) {
        CHECK(step());
        application(&client, 0, 1);
        application(&server, TOTAL, 0);
    }
    CHECK(client.is_ended && client.received == TOTAL && server.is_ended);
    /* The client's last acknowledgement is lost, and its connection is released in TIME-WAIT: the
     * server repeats its FIN, and the client's host acknowledges the FIN again. */
    CHECK(rp_tcp_release(&hosts[0].tcp, &client.connection) == RP_EAGAIN);
    struct rp_tcp_ip ip;
    uint8_t last[1240];
    CHECK(rp_tcp_output(&hosts[0].tcp, now, last, sizeof last, &ip) > 0);
    CHECK(rp_tcp_release(&hosts[0].tcp, &client.connection) == 0);
    while (rp_tcp_state(&server.connection) != RP_TCP_CLOSED) {
        CHECK(step());
    }
    CHECK(rp_tcp_error(&server.connection) == 0 && resets == 0);
    CHECK(rp_tcp_release(&hosts[1].tcp, &server.connection) == 0);
}

/* No listener: the peer refuses. */
static void refusal(void)
{
    begin(0);
    connect_to(81);
    while (!client.failed) {
        CHECK(step());
    }
    CHECK(rp_tcp_error(&client.connection) == RP_ECONNREFUSED && resets == 1);
    CHECK(rp_tcp_send(&client.connection, now, client.send, 1) == RP_ECONNREFUSED);
    CHECK(rp_tcp_release(&hosts[0].tcp, &client.connection) == 0);
}

/* No answer: the attempt ends after all retransmissions. */
static void timeout(void)
{
    begin(1);
    connect_to(80);
    while (!client.failed) {
        CHECK(step());
    }
    CHECK(rp_tcp_error(&client.connection) == RP_ETIMEDOUT && segments == 8 && lost == 8);
    CHECK(now > 180000000);
    CHECK(rp_tcp_release(&hosts[0].tcp, &client.connection) == 0);
}

/* An abort resets the peer. A handshake without a waiting connection waits for rp_tcp_accept. */
static void abort_and_late_accept(void)
{
    struct rp_tcp_buffers all = buffers(&server);
    begin(0);
    listen_at(80, 0);
    CHECK(rp_tcp_release(&hosts[1].tcp, &server.connection) == 0);
    connect_to(80);
    while (!client.is_connected) {
        CHECK(step());
    }
    for (int i = 0; i < 4; i++) {
        CHECK(step());
    }
    CHECK(rp_tcp_accept(&hosts[1].tcp, &listener, &server.connection, &all) == 0);
    while (!server.is_connected) {
        CHECK(step());
    }
    CHECK(rp_tcp_abort(&client.connection, now) == 0);
    CHECK(rp_tcp_error(&client.connection) == RP_ECONNABORTED);
    CHECK(rp_tcp_release(&hosts[0].tcp, &client.connection) == RP_EAGAIN);
    while (!server.failed) {
        CHECK(step());
    }
    CHECK(rp_tcp_error(&server.connection) == RP_ECONNRESET);
    CHECK(rp_tcp_release(&hosts[0].tcp, &client.connection) == 0);
    CHECK(rp_tcp_release(&hosts[1].tcp, &server.connection) == 0);
}

/* Passes the client an ICMPv6 error that quotes its next segment, with `off` added to the sequence
 * number. */
static void report(uint8_t type, uint8_t code, int off)
{
    uint8_t message[8 + 40 + 60] = {type, code}, *quoted = message + 8;
    static uint8_t segment[256];
    struct rp_tcp_ip ip;
    int len;
    quoted[0] = 0x60, quoted[6] = 6, quoted[7] = 64;
    len = rp_tcp_output(&hosts[0].tcp, now, segment, sizeof segment, &ip);
    CHECK(len > 0 && len <= 60);
    memcpy(quoted + 8, ip.source, 16);
    memcpy(quoted + 24, ip.destination, 16);
    memcpy(quoted + 40, segment, (size_t)len);
    quoted[40 + 7] = (uint8_t)(quoted[40 + 7] + off);
    CHECK(rp_tcp_input_icmp(&hosts[0].tcp, now, message, sizeof message) == 0);
}

/* An ICMPv6 error ends an attempt to connect if it quotes an outstanding segment (RFC 5927). */
static void icmp(void)
{
    struct rp_tcp_connection *which;
    struct rp_tcp_buffers all = {client.send, 1000, client.receive, 1000};
    struct rp_endpoint remote;
    begin(1);
    remote = hosts[1].at;
    remote.port = 80;
    CHECK(rp_tcp_connect(&hosts[0].tcp, now, &client.connection, &all, &hosts[0].at, &remote)
          == 0);
    report(1, 4, 5);
    CHECK(rp_tcp_poll_event(&hosts[0].tcp, &which) == 0);
    while (segments == 0) {
        CHECK(step());
    }
    begin(1);
    CHECK(rp_tcp_connect(&hosts[0].tcp, now, &client.connection, &all, &hosts[0].at, &remote)
          == 0);
    report(1, 0, 0);
    CHECK(rp_tcp_poll_event(&hosts[0].tcp, &which) == RP_TCP_EVENT_ICMP);
    CHECK(rp_tcp_state(&client.connection) == RP_TCP_SYN_SENT);
    CHECK(rp_tcp_abort(&client.connection, now) == 0);
    CHECK(rp_tcp_release(&hosts[0].tcp, &client.connection) == 0);
    CHECK(rp_tcp_connect(&hosts[0].tcp, now, &client.connection, &all, &hosts[0].at, &remote)
          == 0);
    report(1, 4, 0);
    CHECK(rp_tcp_poll_event(&hosts[0].tcp, &which) == RP_TCP_EVENT_FAILED);
    CHECK(which == &client.connection);
    CHECK(rp_tcp_error(&client.connection) == RP_ECONNREFUSED);
}

/* TIME-WAIT of the server yields to a new connection between the same ends (RFC 9293 §3.6.1). */
static void same_ends_again(void)
{
    struct rp_tcp_buffers all = buffers(&client), more = buffers(&server);
    struct rp_endpoint local = hosts[0].at, remote = hosts[1].at;
    static struct stream second;
    begin(0);
    listen_at(80, 0);
    local.port = 7000, remote.port = 80;
    CHECK(rp_tcp_connect(&hosts[0].tcp, now, &client.connection, &all, &local, &remote) == 0);
    while (!client.is_connected || !server.is_connected) {
        CHECK(step());
    }
    CHECK(rp_tcp_close(&server.connection, now) == 0);
    while (rp_tcp_state(&client.connection) != RP_TCP_CLOSE_WAIT) {
        CHECK(step());
    }
    CHECK(rp_tcp_close(&client.connection, now) == 0);
    while (rp_tcp_state(&client.connection) != RP_TCP_CLOSED) {
        CHECK(step());
    }
    CHECK(rp_tcp_state(&server.connection) == RP_TCP_TIME_WAIT);
    CHECK(rp_tcp_release(&hosts[0].tcp, &client.connection) == 0);
    client.is_connected = 0;
    more.send = second.send, more.receive = second.receive;
    CHECK(rp_tcp_accept(&hosts[1].tcp, &listener, &second.connection, &more) == 0);
    CHECK(rp_tcp_connect(&hosts[0].tcp, now, &client.connection, &all, &local, &remote) == 0);
    carry(&hosts[0], &hosts[1]);
    now += DELAY;
    receive(&hosts[1]);
    CHECK(rp_tcp_state(&server.connection) == RP_TCP_CLOSED);
    struct rp_tcp_connection *which;
    CHECK(rp_tcp_poll_event(&hosts[1].tcp, &which) == RP_TCP_EVENT_CLOSED);
    CHECK(which == &server.connection);
    CHECK(rp_tcp_poll_event(&hosts[1].tcp, &which) == 0);
    for (int turn = 0; turn < 2; turn++) {
        carry(&hosts[1 - turn], &hosts[turn]);
        now += DELAY;
        receive(&hosts[turn]);
    }
    CHECK(rp_tcp_state(&second.connection) == RP_TCP_ESTABLISHED);
    CHECK(rp_tcp_release(&hosts[1].tcp, &server.connection) == 0);
}

int main(void)
{
    transfer(0, 1);
    transfer(20, 0);
    transfer(7, 1);
    half_close();
    refusal();
    timeout();
    abort_and_late_accept();
    icmp();
    same_ends_again();
    printf("all right\n");
    return 0;
}
