/*
 * OpenThread's TCP interface (openthread/tcp.h) on Redpoll, for applications that use it:
 * otTcpEndpointInitialize, otTcpConnect, otTcpSendByReference, otTcpReceiveByReference,
 * otTcpCommitReceive, otTcpSendEndOfStream, otTcpAbort, otTcpEndpointDeinitialize. Include this
 * header in one file, after OpenThread's header, in a build with OPENTHREAD_CONFIG_TCP_ENABLE=0.
 *
 * Functions of OpenThread, and how this adapter implements them:
 *
 *   otTcpConnect             rp_socket, rp_connect; otTcpEstablished follows RP_POLLOUT
 *   otTcpSendByReference     rp_send copies: otTcpSendDone follows when rp_send has accepted the
 *                            whole buffer, and not when the peer has acknowledged it
 *   otTcpReceiveByReference  rp_recv into the endpoint's receive buffer; one otLinkedBuffer
 *                            describes all received bytes; otTcpCommitReceive moves the remaining
 *                            bytes to the beginning of the receive buffer
 *   otTcpSendEndOfStream     rp_shutdown, when rp_send has accepted all bytes
 *   otTcpDisconnected        follows when both directions have ended, or the connection failed
 *
 * Set rp_ot once. rp_ot_process makes the callbacks: call it after rp_poll_event has returned an
 * event, and in the main loop where otTaskletsProcess would be. Listeners are not supported: a
 * server uses rp_listen and rp_accept.
 */
#ifndef RP_OPENTHREAD_TCP_H
#define RP_OPENTHREAD_TCP_H

#include <string.h>

#include "redpoll.h"

struct rp_ot {
    rp_node *node;
    void *context;
    uint64_t (*now)(void *context);
    otTcpEndpoint *endpoints;
};

static struct rp_ot rp_ot;

/* State of an endpoint, stored in the place of TCPlp's control block. */
struct rp_ot_state {
    int fd;
    otLinkedBuffer *first, *last; /* buffers to send */
    size_t taken;                 /* bytes of the first buffer that rp_send has accepted */
    size_t filled;                /* bytes in the receive buffer */
    uint8_t connects, ends, has_end, is_over;
};

typedef char rp_ot_state_fits[sizeof(struct rp_ot_state) <=
                                      sizeof(((otTcpEndpoint *)0)->mTcb)
                                  ? 1
                                  : -1];

static struct rp_ot_state *rp_ot_of(otTcpEndpoint *endpoint)
{
    return (struct rp_ot_state *)(void *)&endpoint->mTcb;
}

static uint64_t rp_ot_now(void)
{
    return rp_ot.now(rp_ot.context);
}

static otError rp_ot_error(int code)
{
    switch (code) {
    case RP_EINVAL: return OT_ERROR_INVALID_ARGS;
    case RP_EMFILE:
    case RP_ENOMEM: return OT_ERROR_NO_BUFS;
    default: return code < 0 ? OT_ERROR_FAILED : OT_ERROR_NONE;
    }
}

otError otTcpEndpointInitialize(otInstance *instance, otTcpEndpoint *endpoint,
                                const otTcpEndpointInitializeArgs *args)
{
    (void)instance;
    memset(endpoint, 0, sizeof *endpoint);
    endpoint->mContext = args->mContext;
    endpoint->mEstablishedCallback = args->mEstablishedCallback;
    endpoint->mSendDoneCallback = args->mSendDoneCallback;
    endpoint->mReceiveAvailableCallback = args->mReceiveAvailableCallback;
    endpoint->mDisconnectedCallback = args->mDisconnectedCallback;
    endpoint->mReceiveLinks[0].mData = args->mReceiveBuffer;
    endpoint->mReceiveLinks[1].mLength = args->mReceiveBufferSize;
    rp_ot_of(endpoint)->fd = -1;
    endpoint->mNext = rp_ot.endpoints;
    rp_ot.endpoints = endpoint;
    return OT_ERROR_NONE;
}

otError otTcpConnect(otTcpEndpoint *endpoint, const otSockAddr *to, uint32_t flags)
{
    struct rp_ot_state *state = rp_ot_of(endpoint);
    struct rp_endpoint peer = {.port = to->mPort};
    (void)flags;
    if (state->fd >= 0) {
        return OT_ERROR_INVALID_STATE;
    }
    memcpy(peer.address, to->mAddress.mFields.m8, sizeof peer.address);
    int fd = rp_socket(rp_ot.node, rp_ot_now(), RP_SOCK_STREAM);
    if (fd < 0) {
        return rp_ot_error(fd);
    }
    int code = rp_connect(rp_ot.node, rp_ot_now(), fd, &peer);
    if (code < 0 && code != RP_EINPROGRESS) {
        (void)rp_close(rp_ot.node, rp_ot_now(), fd);
        return rp_ot_error(code);
    }
    state->fd = fd;
    state->connects = 1;
    return OT_ERROR_NONE;
}

otError otTcpSendByReference(otTcpEndpoint *endpoint, otLinkedBuffer *buffer, uint32_t flags)
{
    struct rp_ot_state *state = rp_ot_of(endpoint);
    (void)flags;
    if (state->fd < 0 || state->ends) {
        return OT_ERROR_INVALID_STATE;
    }
    buffer->mNext = NULL;
    if (state->last) {
        state->last->mNext = buffer;
    } else {
        state->first = buffer;
    }
    state->last = buffer;
    return OT_ERROR_NONE;
}

otError otTcpReceiveByReference(otTcpEndpoint *endpoint, const otLinkedBuffer **buffer)
{
    *buffer = &endpoint->mReceiveLinks[0];
    return OT_ERROR_NONE;
}

otError otTcpCommitReceive(otTcpEndpoint *endpoint, size_t len, uint32_t flags)
{
    struct rp_ot_state *state = rp_ot_of(endpoint);
    uint8_t *bytes = (uint8_t *)(uintptr_t)endpoint->mReceiveLinks[0].mData;
    (void)flags;
    if (len > state->filled) {
        return OT_ERROR_INVALID_ARGS;
    }
    state->filled -= len;
    memmove(bytes, bytes + len, state->filled);
    endpoint->mReceiveLinks[0].mLength = state->filled;
    return OT_ERROR_NONE;
}

otError otTcpSendEndOfStream(otTcpEndpoint *endpoint)
{
    rp_ot_of(endpoint)->ends = 1;
    return OT_ERROR_NONE;
}

static void rp_ot_over(otTcpEndpoint *endpoint, otTcpDisconnectedReason reason)
{
    struct rp_ot_state *state = rp_ot_of(endpoint);
    (void)rp_close(rp_ot.node, rp_ot_now(), state->fd);
    state->fd = -1;
    state->is_over = 1;
    if (endpoint->mDisconnectedCallback) {
        endpoint->mDisconnectedCallback(endpoint, reason);
    }
}

otError otTcpAbort(otTcpEndpoint *endpoint)
{
    struct rp_ot_state *state = rp_ot_of(endpoint);
    if (state->fd >= 0) {
        (void)rp_setsockopt(rp_ot.node, rp_ot_now(), state->fd, RP_SOL_SOCKET, RP_SO_LINGER,
                            0);
        rp_ot_over(endpoint, OT_TCP_DISCONNECTED_REASON_NORMAL);
    }
    return OT_ERROR_NONE;
}

otError otTcpEndpointDeinitialize(otTcpEndpoint *endpoint)
{
    otTcpEndpoint **at = &rp_ot.endpoints;
    (void)otTcpAbort(endpoint);
    while (*at && *at != endpoint) {
        at = &(*at)->mNext;
    }
    if (!*at) {
        return OT_ERROR_NOT_FOUND;
    }
    *at = endpoint->mNext;
    return OT_ERROR_NONE;
}

static void rp_ot_send(otTcpEndpoint *endpoint)
{
    struct rp_ot_state *state = rp_ot_of(endpoint);
    while (state->first) {
        otLinkedBuffer *buffer = state->first;
        int taken = rp_send(rp_ot.node, rp_ot_now(), state->fd, buffer->mData + state->taken,
                            buffer->mLength - state->taken);
        if (taken < 0) {
            return; /* the send buffer has no room yet, or rp_recv also returns this error */
        }
        state->taken += (size_t)taken;
        if (state->taken < buffer->mLength) {
            return;
        }
        state->taken = 0;
        state->first = buffer->mNext;
        if (!state->first) {
            state->last = NULL;
        }
        if (endpoint->mSendDoneCallback) {
            endpoint->mSendDoneCallback(endpoint, buffer);
        }
    }
    if (state->ends == 1) {
        state->ends = 2;
        (void)rp_shutdown(rp_ot.node, rp_ot_now(), state->fd, RP_SHUT_WR);
    }
}

static void rp_ot_receive(otTcpEndpoint *endpoint)
{
    struct rp_ot_state *state = rp_ot_of(endpoint);
    uint8_t *bytes = (uint8_t *)(uintptr_t)endpoint->mReceiveLinks[0].mData;
    size_t room = endpoint->mReceiveLinks[1].mLength - state->filled;
    if (state->has_end || room == 0) {
        return;
    }
    int len = rp_recv(rp_ot.node, rp_ot_now(), state->fd, bytes + state->filled, room, 0);
    if (len == RP_EAGAIN) {
        return;
    }
    if (len < 0) {
        rp_ot_over(endpoint, len == RP_ETIMEDOUT ? OT_TCP_DISCONNECTED_REASON_TIMED_OUT
                                                 : OT_TCP_DISCONNECTED_REASON_RESET);
        return;
    }
    state->has_end = len == 0;
    state->filled += (size_t)len;
    endpoint->mReceiveLinks[0].mLength = state->filled;
    if (endpoint->mReceiveAvailableCallback) {
        endpoint->mReceiveAvailableCallback(endpoint, state->filled, state->has_end,
                                            room - (size_t)len);
    }
}

/* Moves bytes in both directions, and makes the callbacks. */
static void rp_ot_process(void)
{
    for (otTcpEndpoint *endpoint = rp_ot.endpoints; endpoint; endpoint = endpoint->mNext) {
        struct rp_ot_state *state = rp_ot_of(endpoint);
        if (state->fd >= 0 && state->connects) {
            struct rp_pollfd one = {.fd = state->fd, .events = RP_POLLOUT};
            int error = 0;
            if (rp_poll(rp_ot.node, rp_ot_now(), &one, 1) <= 0) {
                continue;
            }
            (void)rp_getsockopt(rp_ot.node, rp_ot_now(), state->fd, RP_SOL_SOCKET,
                                RP_SO_ERROR, &error);
            state->connects = 0;
            if (error != 0) {
                rp_ot_over(endpoint, error == -RP_ETIMEDOUT
                                         ? OT_TCP_DISCONNECTED_REASON_TIMED_OUT
                                         : OT_TCP_DISCONNECTED_REASON_REFUSED);
            } else if (endpoint->mEstablishedCallback) {
                endpoint->mEstablishedCallback(endpoint);
            }
        }
        if (state->fd >= 0) {
            rp_ot_send(endpoint);
        }
        if (state->fd >= 0) {
            rp_ot_receive(endpoint);
        }
        if (state->fd >= 0 && state->has_end && state->ends == 2) {
            rp_ot_over(endpoint, OT_TCP_DISCONNECTED_REASON_NORMAL);
        }
    }
}

#endif
