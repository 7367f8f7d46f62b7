/* The parts of OpenThread's openthread/tcp.h, ip6.h and error.h that the adapter needs. */
#ifndef STUB_OPENTHREAD_TCP_H
#define STUB_OPENTHREAD_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    OT_ERROR_NONE = 0,
    OT_ERROR_FAILED = 1,
    OT_ERROR_NO_BUFS = 3,
    OT_ERROR_INVALID_ARGS = 7,
    OT_ERROR_INVALID_STATE = 13,
    OT_ERROR_NOT_FOUND = 23
} otError;

typedef struct otInstance otInstance;

typedef struct {
    union {
        uint8_t m8[16];
    } mFields;
} otIp6Address;

typedef struct {
    otIp6Address mAddress;
    uint16_t mPort;
} otSockAddr;

typedef struct otLinkedBuffer {
    struct otLinkedBuffer *mNext;
    const uint8_t *mData;
    size_t mLength;
} otLinkedBuffer;

typedef struct otTcpEndpoint otTcpEndpoint;

typedef enum {
    OT_TCP_DISCONNECTED_REASON_NORMAL,
    OT_TCP_DISCONNECTED_REASON_REFUSED,
    OT_TCP_DISCONNECTED_REASON_RESET,
    OT_TCP_DISCONNECTED_REASON_TIME_WAIT,
    OT_TCP_DISCONNECTED_REASON_TIMED_OUT
} otTcpDisconnectedReason;

typedef void (*otTcpEstablished)(otTcpEndpoint *aEndpoint);
typedef void (*otTcpSendDone)(otTcpEndpoint *aEndpoint, otLinkedBuffer *aData);
typedef void (*otTcpForwardProgress)(otTcpEndpoint *aEndpoint, size_t aInSendBuffer,
                                     size_t aBacklog);
typedef void (*otTcpReceiveAvailable)(otTcpEndpoint *aEndpoint, size_t aBytesAvailable,
                                      bool aEndOfStream, size_t aBytesRemaining);
typedef void (*otTcpDisconnected)(otTcpEndpoint *aEndpoint, otTcpDisconnectedReason aReason);

struct otTcpEndpoint {
    union {
        uint8_t mSize[368 + 36 * sizeof(void *)];
        uint64_t mAlign;
    } mTcb;
    struct otTcpEndpoint *mNext;
    void *mContext;
    otTcpEstablished mEstablishedCallback;
    otTcpSendDone mSendDoneCallback;
    otTcpForwardProgress mForwardProgressCallback;
    otTcpReceiveAvailable mReceiveAvailableCallback;
    otTcpDisconnected mDisconnectedCallback;
    uint32_t mTimers[4];
    otLinkedBuffer mReceiveLinks[2];
    otSockAddr mSockAddr;
    uint8_t mPendingCallbacks;
};

typedef struct {
    void *mContext;
    otTcpEstablished mEstablishedCallback;
    otTcpSendDone mSendDoneCallback;
    otTcpForwardProgress mForwardProgressCallback;
    otTcpReceiveAvailable mReceiveAvailableCallback;
    otTcpDisconnected mDisconnectedCallback;
    void *mReceiveBuffer;
    size_t mReceiveBufferSize;
} otTcpEndpointInitializeArgs;

#endif
