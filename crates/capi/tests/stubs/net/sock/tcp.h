/* The part of RIOT's net/sock/tcp.h (2024.10) that the adapter needs. */
#ifndef STUB_SOCK_TCP_H
#define STUB_SOCK_TCP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef AF_INET6
#define AF_INET6 10
#endif
#define SOCK_NO_TIMEOUT UINT32_MAX

typedef struct {
    int family;
    union {
        uint8_t ipv6[16];
        uint8_t ipv4[4];
    } addr;
    uint16_t netif;
    uint16_t port;
} sock_tcp_ep_t;

typedef struct sock_tcp sock_tcp_t;
typedef struct sock_tcp_queue sock_tcp_queue_t;

int sock_tcp_connect(sock_tcp_t *sock, const sock_tcp_ep_t *remote, uint16_t local_port,
                     uint16_t flags);
int sock_tcp_listen(sock_tcp_queue_t *queue, const sock_tcp_ep_t *local,
                    sock_tcp_t *queue_array, unsigned queue_len, uint16_t flags);
int sock_tcp_accept(sock_tcp_queue_t *queue, sock_tcp_t **sock, uint32_t timeout);
ssize_t sock_tcp_read(sock_tcp_t *sock, void *data, size_t max_len, uint32_t timeout);
ssize_t sock_tcp_write(sock_tcp_t *sock, const void *data, size_t len);
void sock_tcp_disconnect(sock_tcp_t *sock);
void sock_tcp_stop_listen(sock_tcp_queue_t *queue);
int sock_tcp_get_remote(sock_tcp_t *sock, sock_tcp_ep_t *ep);

#endif
