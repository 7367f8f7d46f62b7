/* The part of RIOT's net/gnrc.h that the adapter needs. */
#ifndef STUB_GNRC_H
#define STUB_GNRC_H

#include <stddef.h>
#include <stdint.h>

typedef enum { GNRC_NETTYPE_UNDEF = 0, GNRC_NETTYPE_IPV6, GNRC_NETTYPE_TCP } gnrc_nettype_t;

typedef struct gnrc_pktsnip {
    struct gnrc_pktsnip *next;
    void *data;
    size_t size;
    unsigned int users;
    gnrc_nettype_t type;
} gnrc_pktsnip_t;

#define GNRC_NETREG_DEMUX_CTX_ALL (0xffff0000)

gnrc_pktsnip_t *gnrc_pktbuf_add(gnrc_pktsnip_t *next, const void *data, size_t size,
                                gnrc_nettype_t type);
void gnrc_pktbuf_release(gnrc_pktsnip_t *pkt);
gnrc_pktsnip_t *gnrc_pktsnip_search_type(gnrc_pktsnip_t *pkt, gnrc_nettype_t type);
int gnrc_netapi_dispatch_send(gnrc_nettype_t type, uint32_t demux_ctx, gnrc_pktsnip_t *pkt);

#endif
