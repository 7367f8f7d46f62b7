/*
 * Tests the adapters for other systems' IPv6 with stubs of their headers: a client over RIOT's
 * sock_tcp and GNRC, and an echo service over OpenThread's IPv6. Packets between the two systems
 * may be lost, and either system may lack buffers.
 */
#include "../examples/echo.h"
#include "lossy.h"

#include <net/gnrc.h>
#include <net/sock/tcp.h>
#include <openthread/ip6.h>

#include "../adapters/openthread_ip6.h"
#include "../adapters/riot_gnrc.h"
#include "../adapters/riot_sock_tcp.h"

#define PORT 7
#define NO_BUFS 7 /* one allocation in NO_BUFS fails */

static _Alignas(8) uint8_t memory[2][24 * 1024];
static int live; /* number of allocated snips and messages */

static struct rp_gnrc gnrc;
static struct rp_ot_ip6 ip6;
static struct echo echo;
static otIp6ReceiveCallback receive;

/* --- packets in flight, in both directions --- */

static struct way to_openthread, to_riot;

/* --- GNRC --- */

gnrc_pktsnip_t *gnrc_pktbuf_add(gnrc_pktsnip_t *next, const void *data, size_t size,
                                gnrc_nettype_t type)
{
    if (happens(NO_BUFS)) {
        return NULL;
    }
    gnrc_pktsnip_t *snip = calloc(1, sizeof *snip);
    *snip = (gnrc_pktsnip_t){.next = next, .data = malloc(size), .size = size, .type = type};
    memcpy(snip->data, data, size);
    live++;
    return snip;
}

void gnrc_pktbuf_release(gnrc_pktsnip_t *pkt)
{
    while (pkt) {
        gnrc_pktsnip_t *next = pkt->next;
        free(pkt->data);
        free(pkt);
        live--;
        pkt = next;
    }
}

gnrc_pktsnip_t *gnrc_pktsnip_search_type(gnrc_pktsnip_t *pkt, gnrc_nettype_t type)
{
    while (pkt && pkt->type != type) {
        pkt = pkt->next;
    }
    return pkt;
}

int gnrc_netapi_dispatch_send(gnrc_nettype_t type, uint32_t demux_ctx, gnrc_pktsnip_t *pkt)
{
    uint8_t packet[1280];
    size_t len = 0;
    expect(type == GNRC_NETTYPE_IPV6 && demux_ctx == GNRC_NETREG_DEMUX_CTX_ALL, "to IPv6");
    expect(pkt->type == GNRC_NETTYPE_IPV6 && pkt->next->type == GNRC_NETTYPE_TCP, "snips");
    if (happens(NO_BUFS)) {
        return 0;
    }
    for (gnrc_pktsnip_t *snip = pkt; snip; snip = snip->next) {
        memcpy(packet + len, snip->data, snip->size);
        len += snip->size;
    }
    put(&to_openthread, packet, len);
    gnrc_pktbuf_release(pkt);
    return 1;
}

/* A packet as GNRC's IPv6 passes it up: first the segment, then its header. */
static void riot_gets(const uint8_t *packet, size_t len)
{
    gnrc_pktsnip_t *ip = gnrc_pktbuf_add(NULL, packet, 40, GNRC_NETTYPE_IPV6);
    gnrc_pktsnip_t *tcp = ip ? gnrc_pktbuf_add(ip, packet + 40, len - 40, GNRC_NETTYPE_TCP) : NULL;
    if (tcp == NULL) {
        gnrc_pktbuf_release(ip);
        return;
    }
    int code = rp_gnrc_receive(&gnrc, tcp);
    expect(code == 0 || code == RP_EAGAIN, "rp_gnrc_receive");
}

/* --- OpenThread --- */

struct otMessage {
    uint8_t bytes[1280];
    uint16_t len;
};

void otIp6SetReceiveCallback(otInstance *aInstance, otIp6ReceiveCallback aCallback,
                             void *aCallbackContext)
{
    expect(aInstance == NULL && aCallbackContext == &ip6, "the context");
    receive = aCallback;
}

otMessage *otIp6NewMessage(otInstance *aInstance, const otMessageSettings *aSettings)
{
    (void)aInstance, (void)aSettings;
    if (happens(NO_BUFS)) {
        return NULL;
    }
    live++;
    return calloc(1, sizeof(otMessage));
}

otError otMessageAppend(otMessage *aMessage, const void *aBuf, uint16_t aLength)
{
    if (happens(NO_BUFS)) {
        return OT_ERROR_NO_BUFS;
    }
    memcpy(aMessage->bytes + aMessage->len, aBuf, aLength);
    aMessage->len = (uint16_t)(aMessage->len + aLength);
    return OT_ERROR_NONE;
}

uint16_t otMessageGetLength(const otMessage *aMessage)
{
    return aMessage->len;
}

uint16_t otMessageRead(const otMessage *aMessage, uint16_t aOffset, void *aBuf, uint16_t aLength)
{
    uint16_t len = (uint16_t)(aMessage->len - aOffset);
    len = len < aLength ? len : aLength;
    memcpy(aBuf, aMessage->bytes + aOffset, len);
    return len;
}

void otMessageFree(otMessage *aMessage)
{
    live--;
    free(aMessage);
}

otError otIp6Send(otInstance *aInstance, otMessage *aMessage)
{
    (void)aInstance;
    put(&to_riot, aMessage->bytes, aMessage->len);
    otMessageFree(aMessage);
    return OT_ERROR_NONE;
}

static void openthread_gets(const uint8_t *packet, size_t len)
{
    otMessage *message = otIp6NewMessage(NULL, NULL);
    if (message == NULL) {
        return;
    }
    memcpy(message->bytes, packet, len);
    message->len = (uint16_t)len;
    receive(message, &ip6);
}

/* --- the world --- */

static void serve_all(void)
{
    rp_gnrc_serve(&gnrc);
    echo_serve(&echo, ip6.node, now_us);
    rp_ot_ip6_serve(&ip6);
}

static int wait_for(void *context, uint64_t until_us)
{
    uint8_t packet[1280];
    size_t len;
    (void)context, (void)until_us;
    /* Advances by a millisecond, so that a system without buffers tries again. */
    now_us += 1000;
    while ((len = take(&to_openthread, packet)) > 0) {
        openthread_gets(packet, len);
    }
    while ((len = take(&to_riot, packet)) > 0) {
        riot_gets(packet, len);
    }
    serve_all();
    /* An hour is needed: with these losses, timeouts of up to a minute follow one another. */
    return now_us > 3600000000 ? RP_ETIMEDOUT : 0;
}

static uint64_t now_of(void *context)
{
    (void)context;
    return now_us;
}

static uint64_t now_alone(void)
{
    return now_us;
}

static rp_node *make(int number)
{
    struct rp_ip_config config;
    rp_node *node = NULL;
    expect(rp_ip_config_init(&config) == 0, "rp_ip_config_init");
    config.address[0] = 0xfd;
    config.address[15] = (uint8_t)(number + 1);
    memset(config.entropy, number + 1, sizeof config.entropy);
    expect(rp_ip_init(memory[number], sizeof memory[number], &config, &node) == 0, "rp_ip_init");
    return node;
}

/* Malformed packets are refused and released. */
static void wrong(void)
{
    uint8_t bytes[1400] = {0x60};
    for (int round = 0; round < 3; round++) {
        gnrc_pktsnip_t *ip = NULL, *tcp = NULL;
        while (round > 0 && ip == NULL) {
            ip = gnrc_pktbuf_add(NULL, bytes, round == 1 ? 39 : 40, GNRC_NETTYPE_IPV6);
        }
        while (tcp == NULL) {
            tcp = gnrc_pktbuf_add(ip, bytes, round == 2 ? 1241 : 20, GNRC_NETTYPE_TCP);
        }
        int code = rp_gnrc_receive(&gnrc, tcp);
        expect(code == (round == 2 ? RP_EMSGSIZE : RP_EINVAL), "refused");
    }
    openthread_gets(bytes, 0);
    openthread_gets(bytes, 60);
    expect(live == 0, "released");
}

int main(void)
{
    const struct rp_waiter waiter = {.node = make(0), .now = now_of, .wait = wait_for};
    sock_tcp_ep_t remote = {.family = AF_INET6, .port = PORT};
    sock_tcp_t sock;
    static uint8_t ask[SIZE], answer[SIZE];
    rp_riot_waiter = &waiter;
    gnrc = (struct rp_gnrc){.node = waiter.node, .now = now_alone};
    ip6 = (struct rp_ot_ip6){.node = make(1), .now = now_of};
    rp_ot_ip6_begin(&ip6);
    expect(echo_begin(&echo, ip6.node, now_us, PORT) == 0, "echo_begin");
    wrong();
    expect(rp_address(ip6.node, remote.addr.ipv6) == 0, "rp_address");
    expect(sock_tcp_connect(&sock, &remote, 0, 0) == 0, "sock_tcp_connect");
    for (int round = 0; round < ROUNDS; round++) {
        size_t got = 0;
        for (size_t at = 0; at < sizeof ask; at++) {
            ask[at] = (uint8_t)(at * 7 + (size_t)round);
        }
        expect(sock_tcp_write(&sock, ask, sizeof ask) == sizeof ask, "sock_tcp_write");
        while (got < sizeof answer) {
            ssize_t len = sock_tcp_read(&sock, answer + got, sizeof answer - got, SOCK_NO_TIMEOUT);
            expect(len > 0, "sock_tcp_read");
            got += (size_t)len;
        }
        expect(memcmp(ask, answer, sizeof ask) == 0, "what comes back");
    }
    sock_tcp_disconnect(&sock);
    /* The close of the connection can need as many timeouts as the data. */
    while ((echo.in >= 0 || live != 0) && wait_for(NULL, 0) == 0) {
    }
    expect(echo.in < 0, "the server has seen the end");
    expect(live == 0, "no snip and no message is left");
    expect(rp_node_end(waiter.node) == 0 && rp_node_end(ip6.node) == 0, "rp_node_end");
    printf("%d bytes in each direction in %.2f s, all right\n", ROUNDS * SIZE,
           (double)now_us / 1e6);
    return 0;
}
