/* Converts Redpoll's errors to those of a system: RP_E* have Linux's numbers, and errno.h has those
 * of the C library. */
#ifndef RP_ERRNO_H
#define RP_ERRNO_H

#include <errno.h>

#include "redpoll.h"

/* Returns a count or descriptor unchanged, and an RP_E* as the negative number of errno.h. */
static inline int rp_errno(int code)
{
    switch (code) {
    case RP_EBADF: return -EBADF;
    case RP_EAGAIN: return -EAGAIN;
    case RP_ENOMEM: return -ENOMEM;
    case RP_EFAULT: return -EFAULT;
    case RP_EINVAL: return -EINVAL;
    case RP_EMFILE: return -EMFILE;
    case RP_EPIPE: return -EPIPE;
    case RP_EDESTADDRREQ: return -EDESTADDRREQ;
    case RP_EMSGSIZE: return -EMSGSIZE;
    case RP_ENOPROTOOPT: return -ENOPROTOOPT;
    case RP_EPROTONOSUPPORT: return -EPROTONOSUPPORT;
    case RP_EOPNOTSUPP: return -EOPNOTSUPP;
    case RP_EADDRINUSE: return -EADDRINUSE;
    case RP_EADDRNOTAVAIL: return -EADDRNOTAVAIL;
    case RP_ENETUNREACH: return -ENETUNREACH;
    case RP_ECONNABORTED: return -ECONNABORTED;
    case RP_ECONNRESET: return -ECONNRESET;
    case RP_EISCONN: return -EISCONN;
    case RP_ENOTCONN: return -ENOTCONN;
    case RP_ETIMEDOUT: return -ETIMEDOUT;
    case RP_ECONNREFUSED: return -ECONNREFUSED;
    case RP_EHOSTUNREACH: return -EHOSTUNREACH;
    case RP_EALREADY: return -EALREADY;
    case RP_EINPROGRESS: return -EINPROGRESS;
    default: return code < 0 ? -EINVAL : code;
    }
}

#endif
