/*
 * Redpoll's TCP alone over OpenThread's IPv6: an echo server with one connection at a time. OpenThread
 * is built with OPENTHREAD_CONFIG_TCP_ENABLE=0.
 *
 *   echo_begin   call it once, with 16 random bytes
 *   echo_serve   call it in the main loop next to otTaskletsProcess: after packets, and at the time of
 *                rp_tcp_poll_at
 */
#include <openthread/ip6.h>
#include <string.h>

#include "redpoll_tcp.h"

#define IPV6 40 /* bytes of an IPv6 header */

static struct rp_tcp tcp;
static struct rp_tcp_listener listener;
static struct rp_tcp_half_open half_open[2];
static struct rp_tcp_connection connection;
static uint8_t send_buffer[2048], receive_buffer[2048], packet[1280];
static uint64_t (*clock_us)(void);

/* Callback of OpenThread; frees the message. */
static void echo_receive(otMessage *message, void *context)
{
    uint16_t len = otMessageGetLength(message);
    (void)context;
    if (len > IPV6 && len <= sizeof packet && otMessageRead(message, 0, packet, len) == len) {
        struct rp_tcp_ip ip;
        memcpy(ip.source, packet + 8, 16);
        memcpy(ip.destination, packet + 24, 16);
        ip.ecn = (packet[1] >> 4) & 3;
        ip.hop_limit = packet[7];
        if (packet[6] == 6) { /* TCP */
            (void)rp_tcp_input(&tcp, clock_us(), &ip, packet + IPV6, len - IPV6);
        } else if (packet[6] == 58 && packet[IPV6] < 128) { /* an error of ICMPv6 */
            (void)rp_tcp_input_icmp(&tcp, clock_us(), packet + IPV6, len - IPV6);
        }
    }
    otMessageFree(message);
}

/* Sends the segments of all connections, as long as OpenThread has buffers. */
static void echo_send(otInstance *instance)
{
    otMessage *message;
    /* The message comes first, so that no segment is made without a buffer. */
    while ((message = otIp6NewMessage(instance, NULL)) != NULL) {
        struct rp_tcp_ip ip;
        int len = rp_tcp_output(&tcp, clock_us(), packet + IPV6, sizeof packet - IPV6, &ip);
        if (len > 0) {
            memset(packet, 0, 8);
            packet[0] = 0x60;
            packet[1] = (uint8_t)(ip.ecn << 4);
            packet[4] = (uint8_t)(len >> 8), packet[5] = (uint8_t)len;
            packet[6] = 6, packet[7] = ip.hop_limit;
            memcpy(packet + 8, ip.source, 16);
            memcpy(packet + 24, ip.destination, 16);
        }
        if (len <= 0 || otMessageAppend(message, packet, (uint16_t)(IPV6 + len)) != OT_ERROR_NONE) {
            otMessageFree(message);
            return;
        }
        (void)otIp6Send(instance, message); /* TCP retransmits what is lost */
    }
}

static int echo_accept(void)
{
    struct rp_tcp_buffers buffers = {send_buffer, sizeof send_buffer, receive_buffer,
                                     sizeof receive_buffer};
    return rp_tcp_accept(&tcp, &listener, &connection, &buffers);
}

/* Listens at port 7 of all addresses. */
int echo_begin(otInstance *instance, const uint8_t secret[16], uint64_t (*now_us)(void))
{
    struct rp_tcp_config config;
    struct rp_endpoint at = {.port = 7};
    clock_us = now_us;
    rp_tcp_config_init(&config);
    memcpy(config.secret, secret, sizeof config.secret);
    if (rp_tcp_init(&tcp, RP_TCP_SIZES, &config) < 0
        || rp_tcp_listen(&tcp, &listener, &at, half_open, 2, sizeof receive_buffer) < 0) {
        return -1;
    }
    otIp6SetReceiveCallback(instance, echo_receive, NULL);
    return echo_accept();
}

/* Sends received bytes back, and waits for the next connection after the end of one. */
void echo_serve(otInstance *instance)
{
    uint8_t bytes[256];
    struct rp_tcp_info info;
    int len;
    (void)rp_tcp_on_timeout(&tcp, clock_us());
    /* Receives only as many bytes as can be sent. */
    while (rp_tcp_measure(&connection, &info) == 0 && info.send_room > 0) {
        size_t most = info.send_room < sizeof bytes ? info.send_room : sizeof bytes;
        if ((len = rp_tcp_recv(&connection, clock_us(), bytes, most)) <= 0) {
            if (len == 0) {
                (void)rp_tcp_close(&connection, clock_us());
            }
            break;
        }
        (void)rp_tcp_send(&connection, clock_us(), bytes, (size_t)len);
    }
    int state = rp_tcp_state(&connection);
    if ((state == RP_TCP_CLOSED || state == RP_TCP_TIME_WAIT)
        && rp_tcp_release(&tcp, &connection) == 0) {
        (void)echo_accept();
    }
    echo_send(instance);
}
