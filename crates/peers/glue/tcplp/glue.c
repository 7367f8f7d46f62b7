/* The functions of OpenThread that TCPlp calls, and one end of a connection.
 *
 * TCPlp's parameters are those of its unchanged files `tcp_const.h` and
 * `tcp_timer.h`. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openthread/tcp.h>

#include "tcplp.h"

#define PORT 4000
#define IPV6_LEN 40
#define TCP_PROTOCOL 6
#define LONGEST_SEGMENT 1240
#define LONGEST_HEADER 60
#define TIMERS 4

/* A TCP segment between TCPlp and the link. */
struct otMessage {
  size_t len;
  uint8_t bytes[LONGEST_SEGMENT];
};

struct packet {
  struct packet *next;
  size_t len;
  uint8_t bytes[IPV6_LEN + LONGEST_SEGMENT];
};

/* One end, which is TCPlp's OpenThread instance. */
struct otInstance {
  struct tcpcb tcb;
  struct tcpcb_listen listener;
  int side;
  int failed;
  unsigned timeouts;
  uint64_t expiry_ms[TIMERS];
  struct packet *first;
  struct packet **last;
  /* The send buffer: a ring of pieces, each of one segment. */
  size_t pieces;
  size_t piece_len;
  size_t oldest;
  size_t used;
  otLinkedBuffer *links;
  uint8_t *sent;
  uint8_t *received;
  uint8_t *bitmap;
};

/* Time of the current call. */
static _Thread_local uint64_t now_ms;

static void *allocate(size_t count, size_t size)
{
  void *memory = calloc(count, size);
  if (memory == NULL) {
    abort();
  }
  return memory;
}

/* ---- the corrected function ---- */

/* `cbuf_reass_count_set` counts whole bytes of the bitmap, and may count bits
 * twice or beyond `limit`. After a full buffer was received out of order, its
 * result exceeds the size of the buffer. Then `tcp_reass` fails an assertion or
 * moves RCV.NXT too far. This function limits the result to the free room, and
 * the build makes `tcp_reass` call it. */
size_t peers_reass_count_set(struct cbufhead *ring, size_t offset, uint8_t *bitmap, size_t limit)
{
  size_t room = cbuf_free_space(ring);
  size_t most = offset < room ? room - offset : 0;
  size_t count = cbuf_reass_count_set(ring, offset, bitmap, limit);
  return count < most ? count : most;
}

/* ---- messages ---- */

otMessage *tcplp_sys_new_message(otInstance *instance)
{
  (void)instance;
  return allocate(1, sizeof(otMessage));
}

void tcplp_sys_free_message(otInstance *instance, otMessage *message)
{
  (void)instance;
  free(message);
}

otError otMessageSetLength(otMessage *message, uint16_t len)
{
  if (len > sizeof message->bytes) {
    return OT_ERROR_NO_BUFS;
  }
  message->len = len;
  return OT_ERROR_NONE;
}

uint16_t otMessageGetOffset(const otMessage *message)
{
  (void)message;
  return 0;
}

static int is_inside(const otMessage *message, uint16_t offset, uint16_t len)
{
  return (size_t)offset + len <= message->len;
}

uint16_t otMessageRead(const otMessage *message, uint16_t offset, void *out, uint16_t len)
{
  if (!is_inside(message, offset, len)) {
    tcplp_sys_panic("a read beyond a message");
  }
  memcpy(out, message->bytes + offset, len);
  return len;
}

int otMessageWrite(otMessage *message, uint16_t offset, const void *bytes, uint16_t len)
{
  if (!is_inside(message, offset, len)) {
    tcplp_sys_panic("a write beyond a message");
  }
  memcpy(message->bytes + offset, bytes, len);
  return len;
}

static uint32_t sum(const uint8_t *bytes, size_t len)
{
  uint32_t total = 0;
  size_t i;
  for (i = 0; i < len; i++) {
    total += i % 2 == 0 ? (uint32_t)bytes[i] << 8 : bytes[i];
  }
  return total;
}

void tcplp_sys_send_message(otInstance *instance, otMessage *message, otMessageInfo *info)
{
  struct packet *packet = allocate(1, sizeof *packet);
  uint8_t *bytes = packet->bytes;
  uint8_t *checksum = bytes + IPV6_LEN + 16;
  uint32_t total;
  bytes[0] = 0x60;
  bytes[1] = (uint8_t)(info->mEcn << 4);
  bytes[4] = (uint8_t)(message->len >> 8);
  bytes[5] = (uint8_t)message->len;
  bytes[6] = TCP_PROTOCOL;
  bytes[7] = 64;
  memcpy(bytes + 8, &info->mSockAddr, 16);
  memcpy(bytes + 24, &info->mPeerAddr, 16);
  memcpy(bytes + IPV6_LEN, message->bytes, message->len);
  packet->len = IPV6_LEN + message->len;

  /* OpenThread fills in the checksum when it sends. */
  checksum[0] = checksum[1] = 0;
  total = sum(bytes + 8, 32) + (uint32_t)message->len + TCP_PROTOCOL +
          sum(bytes + IPV6_LEN, message->len);
  while (total > 0xffff) {
    total = (total & 0xffff) + (total >> 16);
  }
  checksum[0] = (uint8_t)(~total >> 8);
  checksum[1] = (uint8_t)~total;

  *instance->last = packet;
  instance->last = &packet->next;
  free(message);
}

/* ---- time ---- */

uint32_t tcplp_sys_get_ticks(void)
{
  return (uint32_t)now_ms;
}

uint32_t tcplp_sys_get_millis(void)
{
  return (uint32_t)now_ms;
}

/* As in OpenThread, one clock serves the retransmission and the persist timer. */
static int clock_of(uint8_t timer)
{
  switch (timer) {
  case TT_DELACK:
    return 0;
  case TT_REXMT:
  case TT_PERSIST:
    return 1;
  case TT_KEEP:
    return 2;
  default:
    return 3;
  }
}

static int is_running(struct otInstance *end, int clock)
{
  static const uint32_t timers[TIMERS] = {TT_DELACK, TT_REXMT | TT_PERSIST, TT_KEEP, TT_2MSL};
  return (end->tcb.miscflags & timers[clock]) != 0;
}

void tcplp_sys_set_timer(struct tcpcb *tcb, uint8_t timer, uint32_t delay_ms)
{
  tcb->instance->expiry_ms[clock_of(timer)] = now_ms + delay_ms;
}

void tcplp_sys_stop_timer(struct tcpcb *tcb, uint8_t timer)
{
  (void)tcb;
  (void)timer;
}

/* ---- connections ---- */

struct tcpcb *tcplp_sys_accept_ready(struct tcpcb_listen *listener, struct in6_addr *addr, uint16_t port)
{
  (void)addr;
  (void)port;
  return &listener->instance->tcb;
}

bool tcplp_sys_accepted_connection(struct tcpcb_listen *listener, struct tcpcb *tcb,
                                   struct in6_addr *addr, uint16_t port)
{
  (void)listener;
  (void)tcb;
  (void)addr;
  (void)port;
  return true;
}

void tcplp_sys_connection_lost(struct tcpcb *tcb, uint8_t error)
{
  (void)error;
  tcb->instance->failed = 1;
}

void tcplp_sys_on_state_change(struct tcpcb *tcb, int state)
{
  (void)tcb;
  (void)state;
}

void tcplp_sys_log(const char *format, ...)
{
  (void)format;
}

void tcplp_sys_panic(const char *format, ...)
{
  va_list args;
  va_start(args, format);
  fputs("TCPlp: ", stderr);
  vfprintf(stderr, format, args);
  fputs("\n", stderr);
  va_end(args);
  abort();
}

bool tcplp_sys_autobind(otInstance *instance, const otSockAddr *peer, otSockAddr *bound,
                        bool bind_address, bool bind_port)
{
  (void)instance;
  (void)peer;
  (void)bound;
  (void)bind_address;
  (void)bind_port;
  return false;
}

uint32_t tcplp_sys_generate_isn(void)
{
  return 1000;
}

static const uint16_t little_endian = 1;

uint16_t tcplp_sys_hostswap16(uint16_t value)
{
  return *(const uint8_t *)&little_endian ? (uint16_t)(value << 8 | value >> 8) : value;
}

uint32_t tcplp_sys_hostswap32(uint32_t value)
{
  if (!*(const uint8_t *)&little_endian) {
    return value;
  }
  return (uint32_t)tcplp_sys_hostswap16((uint16_t)value) << 16 |
         tcplp_sys_hostswap16((uint16_t)(value >> 16));
}

/* ---- one end, for the bench ---- */

static struct in6_addr address(int side)
{
  struct in6_addr addr;
  memset(&addr, 0, sizeof addr);
  addr.s6_addr[0] = 0xfd;
  addr.s6_addr[15] = (uint8_t)(side + 1);
  return addr;
}

/* Creates an end with buffers of `buffer` bytes. Side 0 connects, side 1 listens. */
struct otInstance *peers_tcplp_open(uint64_t now, int side, size_t buffer, size_t piece)
{
  struct otInstance *end = allocate(1, sizeof *end);
  struct tcpcb *tcb = &end->tcb;
  now_ms = now;
  end->side = side;
  end->last = &end->first;
  end->pieces = buffer / piece;
  end->piece_len = piece;
  end->links = allocate(end->pieces, sizeof *end->links);
  end->sent = allocate(end->pieces, piece);
  end->received = allocate(buffer, 1);
  end->bitmap = allocate(BITS_TO_BYTES(buffer), 1);

  tcb->instance = end;
  lbuf_init(&tcb->sendbuf);
  cbuf_init(&tcb->recvbuf, end->received, buffer);
  tcb->reassbmp = end->bitmap;
  initialize_tcb(tcb);
  if (side == 0) {
    struct sockaddr_in6 peer;
    memset(&peer, 0, sizeof peer);
    peer.sin6_addr = address(1);
    peer.sin6_port = tcplp_sys_hostswap16(PORT);
    tcb->laddr = address(0);
    tcb->lport = tcplp_sys_hostswap16(PORT);
    end->failed = tcp6_usr_connect(tcb, &peer) != 0;
  } else {
    end->listener.instance = end;
    end->listener.t_state = TCP6S_LISTEN;
    end->listener.laddr = address(1);
    end->listener.lport = tcplp_sys_hostswap16(PORT);
  }
  return end;
}

void peers_tcplp_close(struct otInstance *end)
{
  while (end->first != NULL) {
    struct packet *packet = end->first;
    end->first = packet->next;
    free(packet);
  }
  free(end->links);
  free(end->sent);
  free(end->received);
  free(end->bitmap);
  free(end);
}

void peers_tcplp_input(struct otInstance *end, uint64_t now, const uint8_t *bytes, size_t len)
{
  uint8_t ip6[IPV6_LEN];
  uint32_t header[LONGEST_HEADER / 4];
  struct tcphdr *tcp = (struct tcphdr *)header;
  struct tcplp_signals signals;
  struct otMessage message;
  size_t header_len;
  now_ms = now;
  if (len < IPV6_LEN + sizeof *tcp || len > IPV6_LEN + sizeof message.bytes) {
    return;
  }
  memcpy(ip6, bytes, IPV6_LEN);
  message.len = len - IPV6_LEN;
  memcpy(message.bytes, bytes + IPV6_LEN, message.len);
  header_len = (size_t)(message.bytes[12] >> 4) * 4;
  if (header_len < sizeof *tcp || header_len > message.len) {
    return;
  }
  memcpy(header, message.bytes, header_len);
  tcp_fields_to_host(tcp);
  memset(&signals, 0, sizeof signals);
  if (end->tcb.t_state != TCP6S_CLOSED) {
    tcplp_input((struct ip6_hdr *)ip6, tcp, &message, &end->tcb, NULL, &signals);
  } else if (end->side == 1 && !end->failed) {
    tcplp_input((struct ip6_hdr *)ip6, tcp, &message, NULL, &end->listener, &signals);
  }
  end->oldest = (end->oldest + signals.links_popped) % end->pieces;
  end->used -= signals.links_popped;
}

size_t peers_tcplp_output(struct otInstance *end, uint8_t *out, size_t capacity)
{
  struct packet *packet = end->first;
  size_t len;
  if (packet == NULL) {
    return 0;
  }
  len = packet->len;
  if (len > capacity) {
    tcplp_sys_panic("no room for a packet");
  }
  memcpy(out, packet->bytes, len);
  end->first = packet->next;
  if (end->first == NULL) {
    end->last = &end->first;
  }
  free(packet);
  return len;
}

/* Returns the time at which the next timer expires; UINT64_MAX if none runs. */
uint64_t peers_tcplp_poll_at(struct otInstance *end)
{
  uint64_t next = UINT64_MAX;
  int clock;
  for (clock = 0; clock < TIMERS; clock++) {
    if (is_running(end, clock) && end->expiry_ms[clock] < next) {
      next = end->expiry_ms[clock];
    }
  }
  return next;
}

void peers_tcplp_on_timeout(struct otInstance *end, uint64_t now)
{
  struct tcpcb *tcb = &end->tcb;
  int clock;
  now_ms = now;
  for (clock = 0; clock < TIMERS && !end->failed; clock++) {
    if (!is_running(end, clock) || end->expiry_ms[clock] > now) {
      continue;
    }
    switch (clock) {
    case 0:
      tcp_timer_delack(tcb);
      break;
    case 1:
      if (tcp_timer_active(tcb, TT_REXMT)) {
        end->timeouts += tcb->t_state == TCP6S_ESTABLISHED;
        tcp_timer_rexmt(tcb);
      } else {
        tcp_timer_persist(tcb);
      }
      break;
    case 2:
      tcp_timer_keep(tcb);
      break;
    default:
      tcp_timer_2msl(tcb);
      break;
    }
  }
}

size_t peers_tcplp_send(struct otInstance *end, uint64_t now, const uint8_t *bytes, size_t len)
{
  size_t index = (end->oldest + end->used) % end->pieces;
  otLinkedBuffer *link = &end->links[index];
  uint8_t *piece = end->sent + index * end->piece_len;
  now_ms = now;
  if (end->used == end->pieces || end->failed) {
    return 0;
  }
  if (len > end->piece_len) {
    len = end->piece_len;
  }
  memcpy(piece, bytes, len);
  link->mNext = NULL;
  link->mData = piece;
  link->mLength = len;
  end->used++;
  if (tcp_usr_send(&end->tcb, 0, link, 0, NULL) != 0) {
    end->failed = 1;
    return 0;
  }
  return len;
}

size_t peers_tcplp_recv(struct otInstance *end, uint64_t now, uint8_t *out, size_t capacity)
{
  size_t len;
  now_ms = now;
  if (cbuf_empty(&end->tcb.recvbuf)) {
    return 0;
  }
  len = cbuf_read(&end->tcb.recvbuf, out, 0, capacity, 1, cbuf_copy_into_buffer);
  tcp_usr_rcvd(&end->tcb);
  return len;
}

int peers_tcplp_established(const struct otInstance *end)
{
  return end->tcb.t_state == TCP6S_ESTABLISHED;
}

int peers_tcplp_failed(const struct otInstance *end)
{
  return end->failed;
}

unsigned peers_tcplp_timeouts(const struct otInstance *end)
{
  return end->timeouts;
}
