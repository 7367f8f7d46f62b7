/* One connection between two interfaces of one lwIP instance.
 *
 * lwIP keeps its state in globals, so both ends are in the same instance. Each
 * end has its own interface, whose packets go to a queue in this file. An end
 * receives packets only by peers_lwip_input(). */
#include <string.h>

#include "lwip/init.h"
#include "lwip/ip6.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"

#define PORT 4000
#define MTU 1280

struct packet {
  struct packet *next;
  size_t len;
  u8_t bytes[];
};

struct end {
  struct netif netif;
  struct tcp_pcb *pcb;
  struct packet *first;
  struct packet **last;
  /* Bytes received and not yet read. */
  struct pbuf *received;
  int established;
  int failed;
  unsigned timeouts;
};

static struct end ends[2];
static struct tcp_pcb *listener;
static unsigned ticks;

static err_t output(struct netif *netif, struct pbuf *p, const ip6_addr_t *next)
{
  struct end *end = netif->state;
  struct packet *packet = malloc(sizeof *packet + p->tot_len);
  (void)next;
  LWIP_ASSERT("memory", packet != NULL);
  packet->next = NULL;
  packet->len = p->tot_len;
  pbuf_copy_partial(p, packet->bytes, p->tot_len, 0);
  *end->last = packet;
  end->last = &packet->next;
  return ERR_OK;
}

static err_t netif_init_end(struct netif *netif)
{
  netif->output_ip6 = output;
  netif->mtu = MTU;
  netif->mtu6 = MTU;
  return ERR_OK;
}

/* lwIP requests its timer while it has connections; the bench always runs the timer. */
void tcp_timer_needed(void)
{
}

static ip_addr_t address(int side)
{
  ip_addr_t addr;
  memset(&addr, 0, sizeof addr);
  IP_ADDR6(&addr, PP_HTONL(0xfd000000UL), 0, 0, lwip_htonl((u32_t)side + 1));
  return addr;
}

static void set_up(void)
{
  int side;
  lwip_init();
  for (side = 0; side < 2; side++) {
    struct netif *netif = &ends[side].netif;
    ip_addr_t addr = address(side);
    netif_add(netif, &ends[side], netif_init_end, ip6_input);
    netif_ip6_addr_set(netif, 0, ip_2_ip6(&addr));
    netif_ip6_addr_set_state(netif, 0, IP6_ADDR_PREFERRED);
    netif_set_up(netif);
    netif_set_link_up(netif);
  }
}

static err_t on_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
  struct end *end = arg;
  (void)pcb;
  (void)err;
  if (p != NULL && end->received != NULL) {
    pbuf_cat(end->received, p);
  } else if (p != NULL) {
    end->received = p;
  }
  return ERR_OK;
}

/* lwIP has aborted the connection and freed its control block. */
static void on_error(void *arg, err_t err)
{
  struct end *end = arg;
  (void)err;
  end->pcb = NULL;
  end->failed = 1;
}

static void attach(struct end *end, struct tcp_pcb *pcb)
{
  end->pcb = pcb;
  tcp_arg(pcb, end);
  tcp_recv(pcb, on_recv);
  tcp_err(pcb, on_error);
}

static err_t on_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
  struct end *end = arg;
  (void)pcb;
  end->established = err == ERR_OK;
  return ERR_OK;
}

static err_t on_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
  (void)arg;
  if (err != ERR_OK || pcb == NULL) {
    return ERR_VAL;
  }
  attach(&ends[1], pcb);
  ends[1].established = 1;
  return ERR_OK;
}

/* Starts a connection from end 0 to end 1. Returns 0 on failure. */
int peers_lwip_open(void)
{
  static int is_set_up;
  struct tcp_pcb *pcb;
  ip_addr_t here = address(0), there = address(1);
  int side;
  if (!is_set_up) {
    set_up();
    is_set_up = 1;
  }
  /* All runs begin with the same tick. */
  tcp_ticks = 1;
  ticks = 0;
  for (side = 0; side < 2; side++) {
    struct end *end = &ends[side];
    end->first = NULL;
    end->last = &end->first;
    end->pcb = NULL;
    end->received = NULL;
    end->established = end->failed = 0;
    end->timeouts = 0;
  }
  pcb = tcp_new_ip_type(IPADDR_TYPE_V6);
  if (pcb == NULL || tcp_bind(pcb, &there, PORT) != ERR_OK) {
    return 0;
  }
  tcp_bind_netif(pcb, &ends[1].netif);
  listener = tcp_listen(pcb);
  if (listener == NULL) {
    return 0;
  }
  tcp_accept(listener, on_accept);
  pcb = tcp_new_ip_type(IPADDR_TYPE_V6);
  if (pcb == NULL || tcp_bind(pcb, &here, PORT) != ERR_OK) {
    return 0;
  }
  tcp_bind_netif(pcb, &ends[0].netif);
  attach(&ends[0], pcb);
  return tcp_connect(pcb, &there, PORT, on_connected) == ERR_OK;
}

/* Aborts the connection and frees all packets. */
void peers_lwip_close(void)
{
  int side;
  for (side = 0; side < 2; side++) {
    struct end *end = &ends[side];
    if (end->pcb != NULL) {
      tcp_err(end->pcb, NULL);
      tcp_recv(end->pcb, NULL);
      tcp_abort(end->pcb);
      end->pcb = NULL;
    }
    if (end->received != NULL) {
      pbuf_free(end->received);
      end->received = NULL;
    }
  }
  tcp_close(listener);
  /* A connection that end 1 has not accepted is not in `ends`. */
  while (tcp_active_pcbs != NULL) {
    tcp_abort(tcp_active_pcbs);
  }
  /* Every second tick is slow; the next run begins with a fast tick. */
  if (ticks % 2 == 1) {
    tcp_tmr();
  }
  for (side = 0; side < 2; side++) {
    while (ends[side].first != NULL) {
      struct packet *packet = ends[side].first;
      ends[side].first = packet->next;
      free(packet);
    }
  }
}

void peers_lwip_input(int side, const u8_t *bytes, size_t len)
{
  struct netif *netif = &ends[side].netif;
  struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)len, PBUF_RAM);
  LWIP_ASSERT("memory", p != NULL);
  pbuf_take(p, bytes, (u16_t)len);
  if (netif->input(p, netif) != ERR_OK) {
    pbuf_free(p);
  }
}

/* Writes the next packet of an end; returns its length, or 0 without a packet. */
size_t peers_lwip_output(int side, u8_t *out, size_t capacity)
{
  struct end *end = &ends[side];
  struct packet *packet = end->first;
  size_t len;
  if (packet == NULL) {
    return 0;
  }
  len = packet->len;
  LWIP_ASSERT("room for a packet", len <= capacity);
  memcpy(out, packet->bytes, len);
  end->first = packet->next;
  if (end->first == NULL) {
    end->last = &end->first;
  }
  free(packet);
  return len;
}

/* Runs lwIP's timers; call it every TCP_TMR_INTERVAL. */
void peers_lwip_tick(void)
{
  struct tcp_pcb *pcb = ends[0].pcb;
  u8_t before = pcb == NULL ? 0 : pcb->nrtx;
  ticks++;
  tcp_tmr();
  /* During a tick, only the retransmission timer increments nrtx. */
  pcb = ends[0].pcb;
  if (pcb != NULL && pcb->nrtx > before) {
    ends[0].timeouts++;
  }
}

unsigned peers_lwip_tick_ms(void)
{
  return TCP_TMR_INTERVAL;
}

size_t peers_lwip_send(int side, const u8_t *bytes, size_t len)
{
  struct tcp_pcb *pcb = ends[side].pcb;
  size_t room;
  if (pcb == NULL) {
    return 0;
  }
  room = tcp_sndbuf(pcb);
  if (len > room) {
    len = room;
  }
  if (len == 0 || tcp_write(pcb, bytes, (u16_t)len, TCP_WRITE_FLAG_COPY) != ERR_OK) {
    return 0;
  }
  tcp_output(pcb);
  return len;
}

size_t peers_lwip_recv(int side, u8_t *out, size_t capacity)
{
  struct end *end = &ends[side];
  u16_t len;
  if (end->received == NULL || end->pcb == NULL) {
    return 0;
  }
  len = pbuf_copy_partial(end->received, out, (u16_t)capacity, 0);
  end->received = pbuf_free_header(end->received, len);
  tcp_recved(end->pcb, len);
  return len;
}

int peers_lwip_established(int side)
{
  return ends[side].established;
}

int peers_lwip_failed(int side)
{
  return ends[side].failed;
}

unsigned peers_lwip_timeouts(int side)
{
  return ends[side].timeouts;
}
