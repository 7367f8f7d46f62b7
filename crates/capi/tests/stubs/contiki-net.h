/* The part of Contiki-NG's contiki-net.h that the adapter needs. */
#ifndef STUB_CONTIKI_NET_H
#define STUB_CONTIKI_NET_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_SECOND 128
typedef uint32_t clock_time_t;
clock_time_t clock_time(void);

struct process {
    const char *name;
};
extern struct process *process_current;
#define PROCESS_CURRENT() process_current
void process_poll(struct process *p);

#define UIP_TCP 0
#define UIP_CONF_IPV6_RPL 1
#define UIP_ND6_SEND_NS 1
#define UIP_BUFSIZE 1280
#define UIP_IPH_LEN 40
#define UIP_PROTO_TCP 6
#define UIP_PROTO_ROUTING 43
#define UIP_PROTO_FRAG 44
#define UIP_PROTO_ICMP6 58

typedef union {
    uint8_t u8[16];
} uip_ipaddr_t;

struct uip_ip_hdr {
    uint8_t vtc, tcflow;
    uint16_t flow;
    uint8_t len[2];
    uint8_t proto, ttl;
    uip_ipaddr_t srcipaddr, destipaddr;
};

typedef union {
    uint32_t u32[UIP_BUFSIZE / 4];
    uint8_t u8[UIP_BUFSIZE];
} uip_buf_t;
extern uip_buf_t uip_aligned_buf;
#define uip_buf (uip_aligned_buf.u8)
#define UIP_IP_BUF ((struct uip_ip_hdr *)uip_buf)
extern uint16_t uip_len, uip_ext_len;

void uipbuf_clear(void);
uint8_t *uipbuf_get_last_header(uint8_t *buffer, uint16_t size, uint8_t *protocol);
uint8_t *uipbuf_search_header(uint8_t *buffer, uint16_t size, uint8_t protocol);
void uip_ds6_nbr_refresh_reachable_state(const uip_ipaddr_t *ipaddr);
void tcpip_ipv6_output(void);

typedef union {
    uint8_t u8[8];
} linkaddr_t;

enum netstack_ip_action { NETSTACK_IP_PROCESS = 0, NETSTACK_IP_DROP = 1 };

struct netstack_ip_packet_processor {
    struct netstack_ip_packet_processor *next;
    enum netstack_ip_action (*process_input)(void);
    enum netstack_ip_action (*process_output)(const linkaddr_t *localdest);
};
void netstack_ip_packet_processor_add(struct netstack_ip_packet_processor *p);

struct routing_driver {
    bool (*ext_header_remove)(void);
};
extern const struct routing_driver NETSTACK_ROUTING;

#endif
