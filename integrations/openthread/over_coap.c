/* OpenThread's block-wise CoAP in place of a TCP: confirmable PUTs of one block of 1,024 bytes at a
 * time (RFC 7959). A node receives one transfer at a time. */
#include <string.h>

#include <openthread/coap.h>
#include <openthread/message.h>

#include "node.h"

#define PATH "image"
#define BLOCK OT_COAP_OPTION_BLOCK_SZX_1024
#define BLOCK_LEN 1024

/* OpenThread does not pass the address of the sender with a block. */
static const otIp6Address unknown;

/* The outgoing requests. */
static struct request {
    /* The block that OpenThread requests, while its hook runs. */
    uint8_t *bytes;
    size_t capacity, len;
    bool is_ended;
} requests[OUTGOING];

/* Bytes of the present incoming transfer. */
static uint32_t received;

static otError on_block_sent(void *context, uint8_t *to, uint32_t position, uint16_t *len, bool *more)
{
    struct request *request = context;
    (void)position;
    request->bytes = to;
    request->capacity = *len;
    request->len = 0;
    bulk_on_room((int)(request - requests));
    *len = (uint16_t)request->len;
    *more = !request->is_ended;
    request->capacity = request->len = 0;
    return OT_ERROR_NONE;
}

static void on_answer(void *context, otMessage *message, const otMessageInfo *info, otError result)
{
    int slot = (int)((struct request *)context - requests);
    (void)info;
    if (result != OT_ERROR_NONE)
        bulk_on_lost(slot, otThreadErrorToString(result));
    else if (otCoapMessageGetCode(message) != OT_COAP_CODE_CHANGED)
        bulk_on_lost(slot, "refused");
    else
        bulk_on_closed(slot);
}

static otError on_block(void *context, const uint8_t *bytes, uint32_t position, uint16_t len, bool more,
                        uint32_t total)
{
    (void)context;
    (void)more;
    (void)total;
    if (position == 0)
        received = 0;
    /* A retransmitted block. */
    if (position < received)
        return OT_ERROR_NONE;
    if (position > received)
        return OT_ERROR_NO_FRAME_RECEIVED;
    received += len;
    bulk_on_bytes(&unknown, bytes, len);
    return OT_ERROR_NONE;
}

static void on_end(void *context, otMessage *request, const otMessageInfo *info)
{
    otMessage *answer = otCoapNewMessage(instance, NULL);
    (void)context;
    bulk_on_end(&unknown);
    if (answer == NULL)
        return;
    if (otCoapMessageInitResponse(answer, request, OT_COAP_TYPE_ACKNOWLEDGMENT,
                                  OT_COAP_CODE_CHANGED) != OT_ERROR_NONE ||
        otCoapSendResponse(instance, answer, info) != OT_ERROR_NONE)
        otMessageFree(answer);
}

static int begin(const struct settings *settings)
{
    (void)settings;
    return 0;
}

static int serve(uint16_t port)
{
    static otCoapBlockwiseResource resource = {
        .mUriPath = PATH, .mHandler = on_end, .mReceiveHook = on_block};
    if (otCoapStart(instance, port) != OT_ERROR_NONE)
        return -1;
    otCoapAddBlockWiseResource(instance, &resource);
    return 0;
}

static int connect(int slot, const otIp6Address *peer, uint16_t port)
{
    static bool is_started;
    otMessageInfo info = {.mPeerAddr = *peer, .mPeerPort = port};
    bool has_more = bulk_total(slot) > BLOCK_LEN;
    requests[slot].is_ended = false;
    if (!is_started && otCoapStart(instance, OT_DEFAULT_COAP_PORT) != OT_ERROR_NONE)
        return -1;
    is_started = true;
    otMessage *request = otCoapNewMessage(instance, NULL);
    if (request == NULL)
        return -1;
    otCoapMessageInit(request, OT_COAP_TYPE_CONFIRMABLE, OT_COAP_CODE_PUT);
    otCoapMessageGenerateToken(request, OT_COAP_DEFAULT_TOKEN_LENGTH);
    if (otCoapMessageAppendUriPathOptions(request, PATH) == OT_ERROR_NONE &&
        otCoapMessageAppendBlock1Option(request, 0, has_more, BLOCK) == OT_ERROR_NONE &&
        otCoapMessageSetPayloadMarker(request) == OT_ERROR_NONE &&
        otCoapSendRequestBlockWise(instance, request, &info, on_answer, &requests[slot], on_block_sent,
                                   NULL) == OT_ERROR_NONE)
        return 0;
    otMessageFree(request);
    return -1;
}

static size_t send(int slot, const uint8_t *bytes, size_t len)
{
    struct request *request = &requests[slot];
    size_t room = request->capacity - request->len;
    size_t taken = len < room ? len : room;
    memcpy(request->bytes + request->len, bytes, taken);
    request->len += taken;
    return taken;
}

static void close(int slot)
{
    requests[slot].is_ended = true;
}

const struct tcp coap = {"coap", begin, serve, connect, send, close};
