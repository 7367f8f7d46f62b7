/* lwIP's options. They differ from lwIP's defaults only for values that the rules
 * of the bench fix, and for parts that the bench does not measure. */
#ifndef PEERS_LWIPOPTS_H
#define PEERS_LWIPOPTS_H

/* The bench calls the stack and its timers from one thread. */
#define NO_SYS                1
#define SYS_LIGHTWEIGHT_PROT  0
#define LWIP_TIMERS           0
#define LWIP_NETCONN          0
#define LWIP_SOCKET           0

/* Only TCP over IPv6 is used, on a link without neighbour discovery. */
#define LWIP_IPV4             0
#define LWIP_IPV6             1
#define LWIP_IPV6_MLD         0
#define LWIP_IPV6_FRAG        0
#define LWIP_IPV6_REASS       0
#define LWIP_IPV6_AUTOCONFIG  0
#define LWIP_ARP              0
#define LWIP_ETHERNET         0
#define LWIP_UDP              0
#define LWIP_RAW              0
#define LWIP_STATS            0

/* lwIP allocates from the heap, so that its memory is unlimited. */
#define MEM_LIBC_MALLOC       1
#define MEMP_MEM_MALLOC       1
#define MEM_ALIGNMENT         8

/* The rules of the bench: segments of 462 B, and buffers of 1848 B in each direction. */
#define TCP_MSS               462
#define TCP_WND               1848
#define TCP_SND_BUF           1848

#endif
