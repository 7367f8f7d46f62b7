/* The types of sock_tcp, which RIOT leaves to the stack. */
#ifndef SOCK_TYPES_H
#define SOCK_TYPES_H

#include "net/af.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sock_tcp {
    int fd;
};

struct sock_tcp_queue {
    int fd;
    struct sock_tcp *socks; /* for the accepted connections */
    unsigned len;
};

#ifdef __cplusplus
}
#endif

#endif
