/* The echo server of examples/tcp_openthread.c, over a stub of OpenThread that returns each packet to
 * its sender. Clients of the same host send bytes, and receive them again. */
#include <stdio.h>
#include <stdlib.h>

#include "../examples/tcp_openthread.c"

#define CHECK(condition)                                                                   \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "line %d: not %s\n", __LINE__, #condition);                    \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

struct otMessage {
    uint8_t bytes[1280];
    uint16_t len;
};

static otIp6ReceiveCallback callback;
static otMessage *way[64];
static int on_way;
static uint64_t now = 1000000;

void otIp6SetReceiveCallback(otInstance *instance, otIp6ReceiveCallback given, void *context)
{
    (void)instance, (void)context;
    callback = given;
}

otMessage *otIp6NewMessage(otInstance *instance, const otMessageSettings *settings)
{
    (void)instance, (void)settings;
    return on_way < 64 ? calloc(1, sizeof(otMessage)) : NULL;
}

otError otIp6Send(otInstance *instance, otMessage *message)
{
    (void)instance;
    CHECK((message->bytes[0] >> 4) == 6 && message->bytes[6] == 6);
    CHECK(message->len == IPV6 + message->bytes[4] * 256 + message->bytes[5]);
    way[on_way++] = message;
    return OT_ERROR_NONE;
}

uint16_t otMessageGetLength(const otMessage *message)
{
    return message->len;
}

uint16_t otMessageRead(const otMessage *message, uint16_t offset, void *out, uint16_t len)
{
    memcpy(out, message->bytes + offset, len);
    return len;
}

otError otMessageAppend(otMessage *message, const void *bytes, uint16_t len)
{
    memcpy(message->bytes + message->len, bytes, len);
    message->len = (uint16_t)(message->len + len);
    return OT_ERROR_NONE;
}

void otMessageFree(otMessage *message)
{
    free(message);
}

static uint64_t time_us(void)
{
    return now;
}

int main(void)
{
    static struct rp_tcp_connection clients[2];
    static uint8_t space[2][2][1000], bytes[700], back[701];
    const uint8_t secret[16] = {1};
    struct rp_endpoint here = {.address = {0xfd, [15] = 1}}, there = here;
    there.port = 7;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7);
    }
    CHECK(echo_begin(NULL, secret, time_us) == 0);
    for (int turn = 0; turn < 2; turn++) {
        struct rp_tcp_connection *client = &clients[turn];
        struct rp_tcp_buffers buffers = {space[turn][0], 1000, space[turn][1], 1000};
        size_t received = 0;
        int len = RP_EAGAIN;
        CHECK(rp_tcp_connect(&tcp, now, client, &buffers, &here, &there) == 0);
        CHECK(rp_tcp_send(client, now, bytes, sizeof bytes) == (int)sizeof bytes);
        CHECK(rp_tcp_state(client) == RP_TCP_SYN_SENT);
        for (int step = 0; step < 1000 && len != 0; step++) {
            echo_serve(NULL);
            now += 10000;
            for (int count = on_way, i = 0; i < count; i++) {
                callback(way[i], NULL);
            }
            on_way = 0;
            if (rp_tcp_state(client) == RP_TCP_ESTABLISHED && received == sizeof bytes) {
                CHECK(rp_tcp_close(client, now) == 0);
            }
            while ((len = rp_tcp_recv(client, now, back + received, sizeof back - received)) > 0) {
                received += (size_t)len;
                CHECK(received <= sizeof bytes);
            }
            CHECK(len == 0 || len == RP_EAGAIN);
        }
        CHECK(len == 0 && received == sizeof bytes && memcmp(back, bytes, sizeof bytes) == 0);
    }
    printf("all right\n");
    return 0;
}
