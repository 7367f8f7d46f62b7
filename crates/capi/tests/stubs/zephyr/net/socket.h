/* The part of Zephyr's zephyr/net/socket.h (4.0) that the adapter needs; addresses have the host's
 * types. */
#ifndef STUB_ZEPHYR_SOCKET_H
#define STUB_ZEPHYR_SOCKET_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>

#define ZSOCK_MSG_PEEK 0x02
#define ZSOCK_MSG_DONTWAIT 0x40
#define ZSOCK_POLLIN 1
#define ZSOCK_POLLOUT 4
#define ZVFS_F_SETFL 4
#define ZVFS_O_NONBLOCK 0x4000

struct zsock_pollfd {
    int fd;
    short events;
    short revents;
};

int zsock_socket(int family, int type, int proto);
int zsock_bind(int fd, const struct sockaddr *addr, socklen_t len);
int zsock_listen(int fd, int backlog);
int zsock_connect(int fd, const struct sockaddr *addr, socklen_t len);
int zsock_accept(int fd, struct sockaddr *addr, socklen_t *len);
ssize_t zsock_send(int fd, const void *data, size_t len, int flags);
ssize_t zsock_recv(int fd, void *data, size_t len, int flags);
int zsock_shutdown(int fd, int how);
int zsock_close(int fd);
int zsock_fcntl(int fd, int command, int flags);
int zsock_poll(struct zsock_pollfd *fds, int nfds, int timeout);

#endif
