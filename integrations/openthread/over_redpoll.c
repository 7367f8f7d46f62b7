/* Redpoll's TCP over OpenThread's IPv6, in the same image as OpenThread's own TCP. */
#include <stdlib.h>
#include <string.h>

#include <openthread/ip6.h>
#include <openthread/link.h>
#include <openthread/message.h>
#include <openthread/thread.h>

#include "node.h"
#include "redpoll.h"
#include "../../crates/capi/adapters/openthread_ip6.h"
#include "../../crates/capi/adapters/openthread_poll.h"

#define NEXT_HEADER 6
#define TCP 6
#define ICMPV6 58
#define HEADER_LEN 40
/* Types below this one are errors (RFC 4443 §2.1). */
#define ICMPV6_ECHO 128

static struct rp_ot_ip6 ip6;
static struct rp_ot_poll poll;
static uint64_t poll_at = REDPOLL_NEVER;
static int listener = -1, incoming[INCOMING];
static otIp6Address peers[INCOMING];

static struct client {
    int fd; /* -1 in the state CLOSED */
    enum { CLOSED, CONNECTING, CONNECTED } state;
} clients[OUTGOING];

static uint64_t now(void *context)
{
    (void)context;
    return host->now_us(host->self);
}

/* Passes TCP segments and ICMPv6 errors to Redpoll. OpenThread has handled all other packets. */
static void receive(otMessage *message, void *context)
{
    uint8_t header[HEADER_LEN + 1];
    bool is_whole = otMessageRead(message, 0, header, sizeof header) == sizeof header;
    bool is_error = header[NEXT_HEADER] == ICMPV6 && header[HEADER_LEN] < ICMPV6_ECHO;
    if (is_whole && (header[NEXT_HEADER] == TCP || is_error))
        rp_ot_ip6_receive(message, context);
    else
        otMessageFree(message);
}

/* OpenThread calls this function of TCPlp for a segment without a connection, which would reset
 * Redpoll's connections; the linker leads the call here (`--wrap`). */
void __real_tcp_dropwithreset(void *ip6_header, void *tcp_header, void *connection, otInstance *it,
                              int len, int reason);
void __wrap_tcp_dropwithreset(void *ip6_header, void *tcp_header, void *connection, otInstance *it,
                              int len, int reason);
void __wrap_tcp_dropwithreset(void *ip6_header, void *tcp_header, void *connection, otInstance *it,
                              int len, int reason)
{
    if (ip6.node == NULL)
        __real_tcp_dropwithreset(ip6_header, tcp_header, connection, it, len, reason);
}

static int begin(const struct settings *settings)
{
    struct rp_ip_config config;
    size_t len;
    rp_ip_config_init(&config);
    memcpy(config.address, settings->own.mFields.m8, sizeof config.address);
    host->random(host->self, config.entropy, sizeof config.entropy);
    config.mss = settings->mss;
    config.send_buffer = settings->send_buffer;
    config.receive_buffer = settings->receive_buffer;
    config.ack_delay = settings->ack_delay;
    config.connections = INCOMING + OUTGOING;
    config.sockets = INCOMING + OUTGOING + 1;
    if (RP_ABI_CHECK() < 0 || rp_sizeof_ip(&config, &len) < 0)
        return -1;
    /* malloc aligns to at least eight bytes, as rp_ip_init requires. */
    uint8_t *memory = malloc(len);
    if (memory == NULL || rp_ip_init(memory, len, &config, &ip6.node) < 0)
        return -1;
    for (int i = 0; i < INCOMING; i++)
        incoming[i] = -1;
    for (int i = 0; i < OUTGOING; i++)
        clients[i].fd = -1;
    ip6.instance = instance;
    ip6.now = now;
    rp_ot_ip6_begin(&ip6);
    otIp6SetReceiveCallback(instance, receive, &ip6);
    return 0;
}

static int serve(uint16_t port)
{
    listener = rp_socket(ip6.node, now(NULL), RP_SOCK_STREAM);
    if (listener < 0 || rp_bind(ip6.node, now(NULL), listener, port) < 0)
        return -1;
    return rp_listen(ip6.node, now(NULL), listener, INCOMING);
}

static void drop_client(struct client *client)
{
    rp_close(ip6.node, now(NULL), client->fd);
    client->fd = -1;
    client->state = CLOSED;
}

static int connect(int slot, const otIp6Address *peer, uint16_t port)
{
    struct client *client = &clients[slot];
    struct rp_endpoint to = {.port = port};
    memcpy(to.address, peer->mFields.m8, sizeof to.address);
    client->fd = rp_socket(ip6.node, now(NULL), RP_SOCK_STREAM);
    if (client->fd < 0)
        return -1;
    if (rp_connect(ip6.node, now(NULL), client->fd, &to) != RP_EINPROGRESS) {
        drop_client(client);
        return -1;
    }
    client->state = CONNECTING;
    return 0;
}

static size_t send(int slot, const uint8_t *bytes, size_t len)
{
    struct client *client = &clients[slot];
    int sent = client->state == CONNECTED ? rp_send(ip6.node, now(NULL), client->fd, bytes, len) : 0;
    return sent > 0 ? (size_t)sent : 0;
}

static void close(int slot)
{
    rp_shutdown(ip6.node, now(NULL), clients[slot].fd, RP_SHUT_WR);
}

/* Handles the events of an outgoing connection. */
static void serve_client(int slot)
{
    struct client *client = &clients[slot];
    uint8_t ignored[64];
    struct rp_pollfd ready = {.fd = client->fd, .events = RP_POLLOUT | RP_POLLIN};
    if (client->fd < 0 || rp_poll(ip6.node, now(NULL), &ready, 1) <= 0)
        return;
    int error = 0;
    rp_getsockopt(ip6.node, now(NULL), client->fd, RP_SOL_SOCKET, RP_SO_ERROR, &error);
    if (error != 0) {
        drop_client(client);
        bulk_on_lost(slot, rp_strerror(-error));
        return;
    }
    if (client->state == CONNECTING && (ready.revents & RP_POLLOUT))
        client->state = CONNECTED;
    if (client->state != CONNECTED)
        return;
    bulk_on_room(slot);
    int len = rp_recv(ip6.node, now(NULL), client->fd, ignored, sizeof ignored, 0);
    if (len == 0) {
        drop_client(client);
        bulk_on_closed(slot);
    } else if (len < 0 && len != RP_EAGAIN) {
        drop_client(client);
        bulk_on_lost(slot, rp_strerror(len));
    }
}

static bool accept_one(void)
{
    struct rp_endpoint peer;
    for (int i = 0; i < INCOMING; i++) {
        if (incoming[i] >= 0)
            continue;
        int fd = rp_accept(ip6.node, now(NULL), listener, &peer);
        if (fd < 0)
            return false;
        incoming[i] = fd;
        memcpy(peers[i].mFields.m8, peer.address, sizeof peer.address);
        return true;
    }
    return false;
}

/* Reads what has arrived on an incoming connection, and closes it at its end or after an error.
 * Returns false if nothing has arrived. */
static bool read_all(int i)
{
    uint8_t bytes[1024];
    bool is_any = false;
    while (incoming[i] >= 0) {
        int len = rp_recv(ip6.node, now(NULL), incoming[i], bytes, sizeof bytes, 0);
        if (len == RP_EAGAIN)
            return is_any;
        is_any = true;
        if (len > 0) {
            bulk_on_bytes(&peers[i], bytes, (size_t)len);
            continue;
        }
        if (len == 0)
            bulk_on_end(&peers[i]);
        rp_close(ip6.node, now(NULL), incoming[i]);
        incoming[i] = -1;
    }
    return is_any;
}

bool redpoll_serve(void)
{
    bool is_any = false;
    if (ip6.node == NULL)
        return false;
    rp_ot_ip6_serve(&ip6);
    while (rp_poll_event(ip6.node) > 0) {
        is_any = true;
    }
    for (int slot = 0; slot < OUTGOING; slot++)
        serve_client(slot);
    while (listener >= 0 && accept_one()) {
        is_any = true;
    }
    for (int i = 0; i < INCOMING; i++)
        is_any |= read_all(i);
    rp_ot_ip6_serve(&ip6);
    poll_at = rp_ot_poll_serve(&poll, &ip6);
    return is_any;
}

uint64_t redpoll_due(void)
{
    uint64_t at;
    if (ip6.node == NULL || rp_poll_at(ip6.node, &at) != 1)
        at = REDPOLL_NEVER;
    return at < poll_at ? at : poll_at;
}

const struct tcp redpoll_tcp = {"redpoll", begin, serve, connect, send, close};
