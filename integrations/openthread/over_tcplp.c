/* OpenThread's own TCP, TCPlp. */
#include <string.h>

#include <openthread/tcp.h>
#include <openthread/tcp_ext.h>

#include "node.h"

/* TCPlp takes a ninth of the memory for its map of received bytes. */
#define MEMORY(bytes) ((bytes) + ((bytes) + 7) / 8)

/* First port of clients (RFC 6335 §6). */
#define EPHEMERAL 0xc000

struct connection {
    otTcpEndpoint endpoint;
    uint8_t receive[MEMORY(BUFFER_MAX)];
    bool is_used, is_ended;
};

static struct connection connections[INCOMING];

static struct client {
    struct connection connection;
    otTcpCircularSendBuffer buffer;
    uint8_t send_memory[BUFFER_MAX];
    bool is_connected;
} clients[OUTGOING];

static otTcpListener listener;
static struct settings settings;

static struct connection *of(otTcpEndpoint *endpoint)
{
    return otTcpEndpointGetContext(endpoint);
}

/* Returns the slot of an outgoing connection, or -1 for an incoming one. */
static int slot_of(const struct connection *it)
{
    for (int slot = 0; slot < OUTGOING; slot++)
        if (it == &clients[slot].connection)
            return slot;
    return -1;
}

static void on_established(otTcpEndpoint *endpoint)
{
    int slot = slot_of(of(endpoint));
    if (slot >= 0) {
        clients[slot].is_connected = true;
        bulk_on_room(slot);
    }
}

static void on_send_done(otTcpEndpoint *endpoint, otLinkedBuffer *data)
{
    (void)endpoint;
    (void)data;
}

static void on_progress(otTcpEndpoint *endpoint, size_t in_buffer, size_t backlog)
{
    int slot = slot_of(of(endpoint));
    (void)backlog;
    if (slot < 0)
        return;
    otTcpCircularSendBufferHandleForwardProgress(&clients[slot].buffer, in_buffer);
    if (clients[slot].is_connected)
        bulk_on_room(slot);
}

static void on_receive(otTcpEndpoint *endpoint, size_t available, bool is_end, size_t remaining)
{
    struct connection *it = of(endpoint);
    const otIp6Address *peer = &otTcpGetPeerAddress(endpoint)->mAddress;
    const otLinkedBuffer *data = NULL;
    bool is_incoming = slot_of(it) < 0;
    (void)remaining;
    if (available > 0 && otTcpReceiveByReference(endpoint, &data) == OT_ERROR_NONE) {
        for (; data != NULL; data = data->mNext)
            if (is_incoming)
                bulk_on_bytes(peer, data->mData, data->mLength);
        otTcpCommitReceive(endpoint, available, 0);
    }
    if (is_end && is_incoming && !it->is_ended) {
        it->is_ended = true;
        bulk_on_end(peer);
        otTcpSendEndOfStream(endpoint);
    }
}

static void on_disconnected(otTcpEndpoint *endpoint, otTcpDisconnectedReason reason)
{
    struct connection *it = of(endpoint);
    bool is_regular = reason == OT_TCP_DISCONNECTED_REASON_NORMAL ||
                      reason == OT_TCP_DISCONNECTED_REASON_TIME_WAIT;
    int slot = slot_of(it);
    it->is_used = false;
    if (slot < 0)
        return;
    clients[slot].is_connected = false;
    if (is_regular)
        bulk_on_closed(slot);
    else
        bulk_on_lost(slot, reason == OT_TCP_DISCONNECTED_REASON_TIMED_OUT ? "timed out"
                           : reason == OT_TCP_DISCONNECTED_REASON_REFUSED ? "refused"
                                                                          : "reset");
}

/* Prepares an endpoint for a new connection. Reuses an endpoint in TIME-WAIT, as OpenThread's
* console does. */
static int renew(struct connection *it)
{
    otTcpEndpointInitializeArgs args = {
        .mContext = it,
        .mEstablishedCallback = on_established,
        .mSendDoneCallback = on_send_done,
        .mForwardProgressCallback = on_progress,
        .mReceiveAvailableCallback = on_receive,
        .mDisconnectedCallback = on_disconnected,
        .mReceiveBuffer = it->receive,
        .mReceiveBufferSize = MEMORY((size_t)settings.receive_buffer),
    };
    if (otTcpEndpointGetContext(&it->endpoint) != NULL)
        otTcpEndpointDeinitialize(&it->endpoint);
    memset(&it->endpoint, 0, sizeof it->endpoint);
    it->is_used = true;
    it->is_ended = false;
    return otTcpEndpointInitialize(instance, &it->endpoint, &args) == OT_ERROR_NONE ? 0 : -1;
}

static otTcpIncomingConnectionAction on_accept(otTcpListener *of, const otSockAddr *peer,
                                               otTcpEndpoint **into)
{
    (void)of;
    (void)peer;
    for (struct connection *it = connections; it < connections + INCOMING; it++)
        if (!it->is_used && renew(it) == 0) {
            *into = &it->endpoint;
            return OT_TCP_INCOMING_CONNECTION_ACTION_ACCEPT;
        }
    return OT_TCP_INCOMING_CONNECTION_ACTION_DEFER;
}

static void on_accepted(otTcpListener *of, otTcpEndpoint *endpoint, const otSockAddr *peer)
{
    (void)of;
    (void)endpoint;
    (void)peer;
}

static int begin(const struct settings *given)
{
    settings = *given;
    return 0;
}

static int serve(uint16_t port)
{
    otTcpListenerInitializeArgs args = {
        .mAcceptReadyCallback = on_accept,
        .mAcceptDoneCallback = on_accepted,
    };
    otSockAddr own = {.mPort = port};
    if (otTcpListenerInitialize(instance, &listener, &args) != OT_ERROR_NONE)
        return -1;
    return otTcpListen(&listener, &own) == OT_ERROR_NONE ? 0 : -1;
}

static int connect(int slot, const otIp6Address *peer, uint16_t port)
{
    struct client *client = &clients[slot];
    otTcpEndpoint *endpoint = &client->connection.endpoint;
    otSockAddr to = {.mAddress = *peer, .mPort = port};
    client->is_connected = false;
    otTcpCircularSendBufferForceDiscardAll(&client->buffer);
    otTcpCircularSendBufferInitialize(&client->buffer, client->send_memory, settings.send_buffer);
    uint16_t random;
    host->random(host->self, (uint8_t *)&random, sizeof random);
    /* TCPlp selects a port only with an address, and cannot bind port 0. */
    otSockAddr own = {.mAddress = settings.own, .mPort = EPHEMERAL | random};
    if (renew(&client->connection) < 0 || otTcpBind(endpoint, &own) != OT_ERROR_NONE)
        return -1;
    return otTcpConnect(endpoint, &to, OT_TCP_CONNECT_NO_FAST_OPEN) == OT_ERROR_NONE ? 0 : -1;
}

static size_t send(int slot, const uint8_t *bytes, size_t len)
{
    struct client *client = &clients[slot];
    size_t written = 0;
    if (client->is_connected)
        otTcpCircularSendBufferWrite(&client->connection.endpoint, &client->buffer, bytes, len,
                                     &written, 0);
    return written;
}

static void close(int slot)
{
    otTcpSendEndOfStream(&clients[slot].connection.endpoint);
}

const struct tcp tcplp_tcp = {"tcplp", begin, serve, connect, send, close};
