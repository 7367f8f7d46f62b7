/*
 * Tests the adapters with stubs of their systems' headers: a server over RIOT's sock_tcp, clients
 * over OpenThread's TCP and over Zephyr's sockets, and a node on a netdev of RIOT.
 */
#define _GNU_SOURCE
#include "../examples/air.h"

#include <zephyr/net/socket.h>

#include <net/netdev.h>
#include <net/sock/tcp.h>
#include <openthread/tcp.h>

#include "../adapters/openthread_tcp.h"
#include "../adapters/riot_netdev.h"
#include "../adapters/riot_sock_tcp.h"
#include "../adapters/zephyr_sockets.h"

#define PORT 7
#define TOTAL 5000

static struct air air;
static char received[TOTAL];
static size_t received_len;
static int has_ended, sends_done, is_established;
static uint8_t content[TOTAL], receive_buffer[300];
static otLinkedBuffer pieces[2];
static otTcpDisconnectedReason disconnected = OT_TCP_DISCONNECTED_REASON_TIME_WAIT;

static void expect(int is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "adapters: %s\n", what);
        exit(1);
    }
}

static uint64_t now(void *context)
{
    (void)context;
    return air.now;
}

/* The waiting thread drives the radios and OpenThread's application. */
static int wait_for(void *context, uint64_t until_us)
{
    (void)context;
    if (air.now > 600000000) {
        return RP_ETIMEDOUT;
    }
    int code = air_step(&air, until_us);
    if (rp_ot.node) {
        rp_ot_process();
    }
    return code;
}

static void established(otTcpEndpoint *endpoint)
{
    is_established = 1;
    pieces[0] = (otLinkedBuffer){.mData = content, .mLength = 2000};
    pieces[1] = (otLinkedBuffer){.mData = content + 2000, .mLength = TOTAL - 2000};
    expect(otTcpSendByReference(endpoint, &pieces[0], 0) == OT_ERROR_NONE, "send");
    expect(otTcpSendByReference(endpoint, &pieces[1], 0) == OT_ERROR_NONE, "send");
    expect(otTcpSendEndOfStream(endpoint) == OT_ERROR_NONE, "end of stream");
    expect(otTcpSendByReference(endpoint, &pieces[0], 0) == OT_ERROR_INVALID_STATE,
           "nothing is sent behind the end");
}

static void send_done(otTcpEndpoint *endpoint, otLinkedBuffer *data)
{
    (void)endpoint;
    expect(data == &pieces[sends_done], "buffers come back in their order");
    sends_done++;
}

static void receive_available(otTcpEndpoint *endpoint, size_t available, bool end, size_t room)
{
    const otLinkedBuffer *buffer;
    (void)room;
    expect(otTcpReceiveByReference(endpoint, &buffer) == OT_ERROR_NONE, "receive");
    expect(buffer->mLength == available, "what is available is shown");
    memcpy(received + received_len, buffer->mData, available);
    received_len += available;
    expect(otTcpCommitReceive(endpoint, available + 1, 0) == OT_ERROR_INVALID_ARGS, "commit");
    expect(otTcpCommitReceive(endpoint, available, 0) == OT_ERROR_NONE, "commit");
    has_ended = end;
}

static void on_disconnected(otTcpEndpoint *endpoint, otTcpDisconnectedReason reason)
{
    (void)endpoint;
    disconnected = reason;
}

/* Echoes one connection until it ends. */
static void echo(sock_tcp_queue_t *queue)
{
    sock_tcp_t *sock;
    sock_tcp_ep_t peer;
    uint8_t bytes[400];
    expect(sock_tcp_accept(queue, &sock, SOCK_NO_TIMEOUT) == 0, "accept");
    expect(sock_tcp_get_remote(sock, &peer) == 0 && peer.family == AF_INET6, "remote");
    for (;;) {
        ssize_t len = sock_tcp_read(sock, bytes, sizeof bytes, SOCK_NO_TIMEOUT);
        expect(len >= 0, "read");
        if (len == 0) {
            break;
        }
        expect(sock_tcp_write(sock, bytes, (size_t)len) == len, "write");
    }
    sock_tcp_disconnect(sock);
}

static void of_openthread(sock_tcp_queue_t *queue, const uint8_t *server)
{
    static otTcpEndpoint endpoint;
    otTcpEndpointInitializeArgs args = {
        .mEstablishedCallback = established,
        .mSendDoneCallback = send_done,
        .mReceiveAvailableCallback = receive_available,
        .mDisconnectedCallback = on_disconnected,
        .mReceiveBuffer = receive_buffer,
        .mReceiveBufferSize = sizeof receive_buffer,
    };
    otSockAddr to = {.mPort = PORT};
    rp_ot.node = air.radio[1].node;
    rp_ot.now = now;
    memcpy(to.mAddress.mFields.m8, server, 16);
    expect(otTcpEndpointInitialize(NULL, &endpoint, &args) == OT_ERROR_NONE, "initialize");
    expect(otTcpConnect(&endpoint, &to, 0) == OT_ERROR_NONE, "connect");
    expect(otTcpConnect(&endpoint, &to, 0) == OT_ERROR_INVALID_STATE, "connect twice");
    echo(queue);
    while (disconnected == OT_TCP_DISCONNECTED_REASON_TIME_WAIT) {
        expect(wait_for(NULL, UINT64_MAX) == 0, "it ends");
    }
    expect(is_established && sends_done == 2 && has_ended, "all callbacks come");
    expect(received_len == TOTAL && memcmp(received, content, TOTAL) == 0, "all comes back");
    expect(disconnected == OT_TCP_DISCONNECTED_REASON_NORMAL, "it ends well");
    expect(otTcpEndpointDeinitialize(&endpoint) == OT_ERROR_NONE, "deinitialize");
    expect(otTcpEndpointDeinitialize(&endpoint) == OT_ERROR_NOT_FOUND, "twice");
    rp_ot.node = NULL;
}

/* Zephyr's client and RIOT's server share a thread, so the client must not wait. */
static void of_zephyr(sock_tcp_queue_t *queue, const uint8_t *server)
{
    static struct rp_waiter waiter = {.now = now, .wait = wait_for};
    waiter.node = air.radio[1].node;
    rp_zephyr_waiter = &waiter;
    struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
    memcpy(&to.sin6_addr, server, 16);
    errno = 0;
    expect(zsock_socket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EAFNOSUPPORT, "no IPv4");
    expect(zsock_close(77) == -1 && errno == EBADF, "no such descriptor");
    int fd = zsock_socket(AF_INET6, SOCK_STREAM, 0);
    expect(fd >= 0, "socket");
    expect(zsock_connect(fd, (struct sockaddr *)&to, sizeof to) == 0, "connect waits");
    expect(zsock_send(fd, "hello", 5, 0) == 5, "send");
    expect(zsock_shutdown(fd, RP_SHUT_WR) == 0, "shutdown");
    echo(queue);
    struct zsock_pollfd one = {.fd = fd, .events = ZSOCK_POLLIN};
    char back[16];
    expect(zsock_poll(&one, 1, 60000) == 1 && (one.revents & ZSOCK_POLLIN), "poll");
    expect(zsock_recv(fd, back, sizeof back, ZSOCK_MSG_PEEK) == 5, "peek");
    expect(zsock_recv(fd, back, sizeof back, 0) == 5 && memcmp(back, "hello", 5) == 0, "recv");
    expect(zsock_recv(fd, back, sizeof back, 0) == 0, "the end");
    expect(zsock_fcntl(fd, ZVFS_F_SETFL, ZVFS_O_NONBLOCK) == 0, "fcntl");
    expect(zsock_close(fd) == 0, "close");
}

static uint8_t on_air[125], parents[125], heard[125];
static size_t on_air_len, parents_len, heard_len;
static int csma = -1;
static netopt_state_t state;

static int dev_send(netdev_t *dev, const iolist_t *frame)
{
    (void)dev;
    memcpy(on_air, frame->iol_base, frame->iol_len);
    on_air_len = frame->iol_len;
    return (int)frame->iol_len;
}

static int dev_recv(netdev_t *dev, void *buf, size_t len, void *info)
{
    (void)dev;
    (void)info;
    if (buf) {
        memcpy(buf, heard, len < heard_len ? len : heard_len);
    }
    return (int)heard_len;
}

static int dev_set(netdev_t *dev, netopt_t opt, const void *value, size_t len)
{
    (void)dev;
    if (opt == NETOPT_CSMA) {
        csma = *(const netopt_enable_t *)value == NETOPT_ENABLE;
    } else {
        state = *(const netopt_state_t *)value;
    }
    return (int)len;
}

static void dev_isr(netdev_t *dev)
{
    dev->event_callback(dev, heard_len ? NETDEV_EVENT_RX_COMPLETE : NETDEV_EVENT_TX_COMPLETE);
}

static uint64_t air_now(void)
{
    return air.now;
}

static void nothing(void) {}

/* A leaf on a netdev pings its parent, and the netdev receives the parent's answer. */
static void of_netdev(const uint8_t *server)
{
    static const netdev_driver_t driver = {
        .send = dev_send, .recv = dev_recv, .isr = dev_isr, .set = dev_set};
    netdev_t dev = {.driver = &driver};
    struct rp_netdev radio = {.dev = &dev, .now = air_now, .wake = nothing};
    rp_node *parent = air.radio[0].node;
    struct rp_work work;
    uint64_t at;
    int steps = 0;
    /* The traffic of the earlier tests ends before the netdev replaces the leaf's radio. */
    uint64_t quiet = air.now + 200000000;
    while (air.now < quiet) {
        must(air_step(&air, quiet), "air_step");
    }
    radio.node = air.radio[1].node;
    rp_netdev_start(&radio);
    expect(rp_ping(radio.node, air.now, server, 1, 2) == 0, "ping");
    while (rp_poll_event(radio.node) != RP_EVENT_ECHO_REPLY) {
        expect(++steps < 1000, "the reply comes");
        int has_time = rp_netdev_serve(&radio, &at);
        if (on_air_len) {
            expect(radio.wants_ack && csma == 1, "it is sent with an assessment");
            must(rp_input_frame(parent, air.now, on_air, on_air_len, -60, 255, 0), "input");
            on_air_len = 0;
            rp_netdev_isr(&radio);
        } else if (rp_poll_radio(parent, air.now, &work) == 1) {
            if (work.kind == RP_WORK_LOAD) {
                parents_len = work.frame_len;
                memcpy(parents, work.frame, parents_len);
                must(rp_radio_done(parent, air.now, RP_RESULT_LOADED), "loaded");
            } else if (work.kind == RP_WORK_TRANSMIT) {
                must(rp_radio_done(parent, air.now, RP_RESULT_ACKED), "acked");
                memcpy(heard, parents, parents_len);
                heard_len = parents_len;
                rp_netdev_isr(&radio);
                heard_len = 0;
            }
        } else {
            uint64_t other;
            at = has_time ? at : UINT64_MAX;
            if (rp_poll_at(parent, &other) == 1 && other < at) {
                at = other;
            }
            expect(at != UINT64_MAX, "something is to come");
            air.now = at > air.now ? at : air.now;
            must(rp_on_timeout(parent, air.now), "timeout");
            rp_netdev_time(&radio);
        }
    }
    (void)state;
}

int main(void)
{
    static sock_tcp_t socks[2];
    static sock_tcp_queue_t queue;
    static struct rp_waiter waiter = {.now = now, .wait = wait_for};
    uint8_t server[16];
    for (size_t at = 0; at < TOTAL; at++) {
        content[at] = (uint8_t)(at * 7 + at / 251);
    }
    air_add(&air, 0, RP_ROUTER);
    air_add(&air, 1, RP_LEAF);
    must(rp_address(air.radio[0].node, server), "rp_address");
    waiter.node = air.radio[0].node;
    rp_riot_waiter = &waiter;
    sock_tcp_ep_t local = {.family = AF_INET6, .port = PORT};
    expect(sock_tcp_listen(&queue, &local, socks, 1, 0) == 0, "listen");
    sock_tcp_t *sock;
    expect(sock_tcp_accept(&queue, &sock, 1000) == -ETIMEDOUT, "nobody has come");
    of_openthread(&queue, server);
    of_zephyr(&queue, server);
    sock_tcp_ep_t nowhere = {.family = AF_INET6, .port = 9};
    nowhere.addr.ipv6[0] = 0xfe;
    expect(sock_tcp_connect(&socks[1], &nowhere, 0, 0) < 0, "there is no way there");
    sock_tcp_stop_listen(&queue);
    of_netdev(server);
    air_end(&air);
    printf("RIOT, OpenThread, Zephyr: all right\n");
    return 0;
}
