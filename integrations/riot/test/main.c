/* Connects to port 8 of Linux and sends 100,000 bytes, then echoes what arrives at port 7. */
#include <stdio.h>
#include <string.h>

#include "net/gnrc/netif.h"
#include "net/sock/tcp.h"
#include "redpoll_riot.h"

#define TOTAL 100000

static uint8_t data[500];

static int send_all(void)
{
    sock_tcp_t sock;
    sock_tcp_ep_t remote = SOCK_IPV6_EP_ANY;
    remote.port = 8;
    ipv6_addr_from_str((ipv6_addr_t *)remote.addr.ipv6, "fd00:7270::1");
    int code = sock_tcp_connect(&sock, &remote, 0, 0);
    for (unsigned sent = 0; code >= 0 && sent < TOTAL; sent += sizeof data) {
        for (unsigned i = 0; i < sizeof data; i++) {
            data[i] = (uint8_t)('a' + (sent + i) % 23);
        }
        code = sock_tcp_write(&sock, data, sizeof data);
    }
    if (code >= 0) {
        sock_tcp_disconnect(&sock);
    }
    return code;
}

static void echo(void)
{
    static sock_tcp_t socks[1];
    sock_tcp_queue_t queue;
    sock_tcp_ep_t local = SOCK_IPV6_EP_ANY;
    local.port = 7;
    int code = sock_tcp_listen(&queue, &local, socks, 1, 0);
    printf("listening: %d\n", code);
    while (code >= 0) {
        sock_tcp_t *sock;
        code = sock_tcp_accept(&queue, &sock, SOCK_NO_TIMEOUT);
        if (code < 0) {
            break;
        }
        ssize_t len;
        while ((len = sock_tcp_read(sock, data, sizeof data, SOCK_NO_TIMEOUT)) > 0 &&
               sock_tcp_write(sock, data, (size_t)len) == len) {}
        printf("echoed, end: %d\n", (int)len);
        sock_tcp_disconnect(sock);
    }
    printf("accept: %d\n", code);
}

int main(void)
{
    ipv6_addr_t address;
    gnrc_netif_t *netif = gnrc_netif_iter(NULL);
    ipv6_addr_from_str(&address, "fd00:7270::2");
    gnrc_netif_ipv6_addr_add(netif, &address, 64, GNRC_NETIF_IPV6_ADDRS_FLAGS_STATE_VALID);
    int code = redpoll_riot_init(&address);
    printf("redpoll: %d\n", code);
    if (code == 0) {
        printf("last write: %d\n", send_all());
        echo();
    }
    return 0;
}
