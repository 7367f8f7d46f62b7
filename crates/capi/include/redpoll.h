/*
 * Redpoll for C: full-scale TCP for low-power wireless networks.
 *
 * A node lives in memory that you give it. Nothing is allocated, no call blocks (but those
 * of the last section, which wait by a hook of yours), and nothing is kept outside of the
 * node, so that there may be as many as you like. One thread at a time may use a node.
 *
 * Times are microseconds of a clock of yours that never goes back. Ports are in the
 * machine's byte order, addresses 16 bytes as on the wire.
 *
 * Every call returns a count, a descriptor or 0, or a negative number of RP_E*:
 *   RP_EFAULT  a pointer is null or badly aligned, or a hook is missing
 *   RP_EINVAL  what it points to is no node, a number is none of those that there are, or
 *              the call comes at the wrong time
 * may come from every one of them; what else, stands beside it. A pointer may be null only
 * where that is said, or where no byte is at it.
 *
 * The life of a node on a radio:
 *
 *   struct rp_config config;
 *   rp_config_init(&config, RP_LEAF);       // then short_address, prefix, parent, entropy
 *   rp_sizeof_node(&config, &len);          // how much memory that takes
 *   rp_node_init(memory, len, &config, &node);
 *   for (;;) {
 *       while (rp_poll_event(node) > 0) {}  // or act on them
 *       ... your sockets ...
 *       while (rp_poll_radio(node, now(), &work) == 1) radio_begin(&work);
 *       sleep_until(rp_poll_at, a frame, the end of a work);
 *       rp_input_frame / rp_radio_done / rp_on_timeout
 *   }
 *
 * A program that has IPv6 already wants no radio of Redpoll's: its node takes and gives IPv6
 * packets, and has the same timers, events and sockets. Its life:
 *
 *   struct rp_ip_config config;
 *   rp_ip_config_init(&config);             // then address, entropy
 *   rp_sizeof_ip(&config, &len);
 *   rp_ip_init(memory, len, &config, &node);
 *   for (;;) {
 *       rp_on_timeout(node, now());
 *       while (rp_poll_event(node) > 0) {}
 *       ... your sockets ...
 *       while ((len = rp_ip_output(node, now(), packet, sizeof packet)) > 0) ip_send(packet, len);
 *       sleep_until(rp_poll_at, a packet for you);
 *       rp_ip_input(node, now(), packet, len);
 *   }
 *
 * examples/ has programs that do so.
 */
#ifndef REDPOLL_H
#define REDPOLL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An int has 32 bits wherever the library runs. */
typedef char rp_int_has_32_bits[sizeof(int) == 4 ? 1 : -1];

/* ------------------------------------------------------------------ errors -- */

#define RP_EBADF (-9)             /* the descriptor is none */
#define RP_EAGAIN (-11)           /* not now */
#define RP_ENOMEM (-12)           /* the memory is not enough */
#define RP_EFAULT (-14)           /* a pointer is bad */
#define RP_EINVAL (-22)           /* an argument makes no sense, or not now */
#define RP_EMFILE (-24)           /* no free descriptor or connection */
#define RP_EPIPE (-32)            /* nothing can be sent any more */
#define RP_EDESTADDRREQ (-89)     /* to whom? */
#define RP_EMSGSIZE (-90)         /* the data do not fit one datagram */
#define RP_ENOPROTOOPT (-92)      /* there is no such option */
#define RP_EPROTONOSUPPORT (-93)  /* there is no such protocol */
#define RP_EOPNOTSUPP (-95)       /* not on this kind of socket, or of node */
#define RP_EADDRINUSE (-98)       /* the port is taken, or none is free */
#define RP_EADDRNOTAVAIL (-99)    /* it is not an address of this node */
#define RP_ENETUNREACH (-101)     /* no route leads there */
#define RP_ECONNABORTED (-103)    /* the connection was aborted on this side */
#define RP_ECONNRESET (-104)      /* the peer reset the connection */
#define RP_EISCONN (-106)         /* the socket is connected, or listens */
#define RP_ENOTCONN (-107)        /* the socket is not connected */
#define RP_ETIMEDOUT (-110)       /* the peer did not answer */
#define RP_ECONNREFUSED (-111)    /* the peer refused the connection */
#define RP_EHOSTUNREACH (-113)    /* the network has no way to the peer */
#define RP_EALREADY (-114)        /* the connection is being made already */
#define RP_EINPROGRESS (-115)     /* the connection is being made */

/* -------------------------------------------------------------------- birth -- */

/* A node, on a radio or over IPv6 of yours. What is in it is nobody's business. */
typedef struct rp_node rp_node;

/* Roles. */
#define RP_LEAF 0   /* its packets go to its parent, and none through it */
#define RP_ROUTER 1 /* it forwards */
#define RP_BORDER 2 /* a router with a host side: rp_input_packet, rp_poll_packet */

/* What a radio does by itself. What it does not do, the node does. */
#define RP_RADIO_AUTO_ACK 1     /* acknowledges, and waits for acknowledgements */
#define RP_RADIO_CSMA 2         /* all of CSMA-CA, in one RP_WORK_TRANSMIT with cca */
#define RP_RADIO_RETRIES 4      /* repeats what was not acknowledged; has AUTO_ACK, too */
#define RP_RADIO_SOURCE_MATCH 8 /* says in acknowledgements for whom something waits */

/* No short address: of a parent, that there is none. */
#define RP_NO_SHORT 0xffff

/* What a node is told. rp_config_init fills in all but what must be the node's own:
 * entropy, short_address, prefix, for a leaf parent, and eui64 where the node sleeps or has
 * sleepy children: registrations are told apart by it. */
struct rp_config {
    uint8_t eui64[8];          /* big-endian, as printed */
    uint8_t prefix[8];         /* the mesh's /64; addresses are made of it (RFC 4944, 6) */
    uint8_t entropy[32];       /* random, other ones after each start; all 0 is refused */
    uint32_t poll_interval_ms; /* sleepy: between requests while nothing is expected;
                                  0: 4 minutes */
    uint16_t pan_id;           /* 0x7270 */
    uint16_t short_address;    /* 0 to 0xfffd, of its own in the PAN */
    uint16_t parent;           /* short address to which everything goes for which there is
                                  no other route, or RP_NO_SHORT */
    uint16_t mss;              /* the longest segment's payload, 64 at least */
    uint16_t send_buffer;      /* bytes, of each connection, 64 at least: 1848 */
    uint16_t receive_buffer;   /* the same */
    uint16_t udp_buffer;       /* bytes, of each UDP socket: 512 */
    uint16_t routes;           /* entries; two for a leaf, else 32 */
    uint16_t packet_bytes;     /* the longest packet that comes whole: 1280 */
    uint8_t role;              /* RP_LEAF ... */
    uint8_t radio;             /* RP_RADIO_* together: RP_RADIO_AUTO_ACK */
    uint8_t sleepy;            /* 1: the radio sleeps, and the parent is asked; of a leaf */
    uint8_t connections;       /* of TCP, at once: 1 */
    uint8_t listeners;         /* ports that are listened to: 1 */
    uint8_t half_open;         /* handshakes under way: 2 */
    uint8_t udp_sockets;       /* 1 */
    uint8_t sockets;           /* descriptors in all: 4 */
    uint8_t packets;           /* that wait or come in, of packet_bytes each; two for a
                                  leaf, else four */
    uint8_t children;          /* of a router: sleepy leaves that register; 0 */
    uint8_t max_frame_retries; /* behind the first attempt: 9 */
    uint8_t reserved;          /* 0 */
};

/* Fills in what a node of this role begins with. */
int rp_config_init(struct rp_config *config, uint8_t role);

/* How many bytes of memory a node takes that is told this. RP_EINVAL if it makes no node. */
int rp_sizeof_node(const struct rp_config *config, size_t *len);

/* Makes a node in memory of len bytes, which begins at a multiple of eight, is the node's
 * until rp_node_end, and must not be moved: a copy is no node. RP_ENOMEM if that is too
 * little. */
int rp_node_init(uint8_t *memory, size_t len, const struct rp_config *config,
                 rp_node **node);

/* Ends a node of either kind: its memory is yours again. Connections are not closed for it. */
int rp_node_end(rp_node *node);

/* Writes the node's address: 16 bytes. */
int rp_address(rp_node *node, uint8_t *address);

/* Where a route leads to. */
#define RP_VIA_NEIGHBOUR 0   /* over the radio to the neighbour */
#define RP_VIA_ON_LINK 1     /* over the radio to the node itself */
#define RP_VIA_HOST 2        /* to the host side */
#define RP_VIA_UNREACHABLE 3 /* nowhere */

/* Adds a route, of a node on a radio, for the destinations whose first bits are those of prefix (16 bytes). A
 * neighbour is given for RP_VIA_NEIGHBOUR, and is RP_NO_SHORT else. RP_ENOMEM if the table
 * is full. */
int rp_add_route(rp_node *node, const uint8_t *prefix, uint8_t bits, uint8_t via,
                 uint16_t neighbour);

/* ------------------------------------------------------- TCP over your IPv6 -- */

/* What a node is told that has IPv6 of yours below: another stack's, or a TUN interface.
 * rp_ip_config_init fills in all but address and entropy. */
struct rp_ip_config {
    uint8_t address[16];     /* its own, global or unique local: the source of its packets */
    uint8_t entropy[32];     /* random, other ones after each start; all 0 is refused */
    uint16_t mss;            /* the longest segment's payload either way, 64 at least: 1220,
                                which the least MTU of IPv6 leaves. More needs path MTU
                                discovery, which the library for hosts has */
    uint16_t send_buffer;    /* bytes, of each connection, 64 at least: 4880 */
    uint16_t receive_buffer; /* the same */
    uint16_t udp_buffer;     /* bytes, of each UDP socket, 64 at least: 512 */
    uint16_t packet_bytes;   /* the longest packet that comes in, mss + 60 at least: 1280 */
    uint8_t connections;     /* of TCP, at once: 1 */
    uint8_t listeners;       /* ports that are listened to: 1 */
    uint8_t half_open;       /* handshakes under way: 2 */
    uint8_t udp_sockets;     /* 0: UDP stays yours */
    uint8_t sockets;         /* descriptors in all: 4 */
    uint8_t packets;         /* that come in, or wait as answers, of packet_bytes each: 2 */
    uint8_t hop_limit;       /* of its packets, 1 at least: 64 */
    uint8_t reserved;        /* 0 */
};

/* Fills in what such a node begins with. */
int rp_ip_config_init(struct rp_ip_config *config);

/* How many bytes of memory a node takes that is told this. RP_EINVAL if it makes no node. */
int rp_sizeof_ip(const struct rp_ip_config *config, size_t *len);

/* Makes a node over IPv6 in memory of len bytes, with what rp_node_init says of that.
 * RP_ENOMEM. */
int rp_ip_init(uint8_t *memory, size_t len, const struct rp_ip_config *config,
               rp_node **node);

/* A packet for the node has come: from the first byte of its IPv6 header, with its extension
 * headers, put together if it was cut. It is copied. Give it TCP, ICMPv6's errors, and UDP if it
 * has sockets for that: of all else that is for its address it would say to the sender that
 * nobody is there, and to an echo request answer. RP_EAGAIN: there is no room before
 * rp_ip_output has taken what waits; RP_EADDRNOTAVAIL: it is for another address; RP_EMSGSIZE:
 * it is longer than packet_bytes; RP_EINVAL: it is no packet of IPv6, or the end is missing;
 * RP_EOPNOTSUPP: the node is on a radio. A segment that TCP refuses, for its checksum or its
 * place, is no error. */
int rp_ip_input(rp_node *node, uint64_t now_us, const uint8_t *packet, size_t len);

/* The next packet of the node's, with its IPv6 header and checksums: its length, or 0. Ask until
 * it is 0 after every other call: a segment is made as late as here. out has 1280 bytes, or
 * packet_bytes if that is more; RP_EINVAL if it has fewer, and the packet waits; RP_EOPNOTSUPP:
 * the node is on a radio. */
int rp_ip_output(rp_node *node, uint64_t now_us, uint8_t *out, size_t len);

/* -------------------------------------------------------------------- radio -- */

/* These calls, and those of the host side, are for nodes on a radio: RP_EOPNOTSUPP from others. */

/* Works. RP_WORK_LOAD and RP_WORK_TRANSMIT end, which you tell by rp_radio_done; nothing
 * new comes before. The others set what the radio does between those. */
#define RP_WORK_LOAD 1         /* move frame into the radio */
#define RP_WORK_TRANSMIT 2     /* send what is loaded; if cca, when the channel is clear */
#define RP_WORK_LISTEN 3       /* the receiver stays on */
#define RP_WORK_DOZE 4         /* it is off, and ready at once */
#define RP_WORK_SLEEP 5        /* the radio is off */
#define RP_WORK_SOURCE_MATCH 6 /* acknowledgements to neighbour say pending */

struct rp_work {
    const uint8_t *frame; /* RP_WORK_LOAD: the MPDU without its FCS, 125 bytes at most;
                             it stays until the work has ended */
    size_t frame_len;
    uint8_t kind; /* RP_WORK_* */
    uint8_t cca;
    uint8_t pending;
    uint8_t reserved;
    uint16_t neighbour;
};

/* The next work for the radio: 1 and the work, or 0. */
int rp_poll_radio(rp_node *node, uint64_t now_us, struct rp_work *work);

/* How a work ended. */
#define RP_RESULT_LOADED 1
#define RP_RESULT_CHANNEL_BUSY 2  /* nothing was sent */
#define RP_RESULT_SENT 3          /* it wanted no acknowledgement, or the node waits */
#define RP_RESULT_ACKED 4         /* acknowledged */
#define RP_RESULT_ACKED_PENDING 5 /* acknowledged, and the neighbour has more for us */
#define RP_RESULT_NO_ACK 6        /* sent, and no acknowledgement came in time */

/* The radio has ended its work: RP_RESULT_LOADED after RP_WORK_LOAD, one of the others after
 * RP_WORK_TRANSMIT. RP_EINVAL if it had none, or another one. */
int rp_radio_done(rp_node *node, uint64_t now_us, uint8_t result);

/* A frame has come whose FCS was good: the MPDU without it. ack_sent_pending: of a radio
 * with RP_RADIO_AUTO_ACK, whether its acknowledgement said that something waits. */
int rp_input_frame(rp_node *node, uint64_t now_us, const uint8_t *frame, size_t len,
                   int8_t rssi_dbm, uint8_t lqi, uint8_t ack_sent_pending);

/* ---------------------------------------------------------------- host side -- */

/* An IPv6 packet from the host side, 1280 bytes at most into the mesh. RP_EAGAIN: the node
 * has no room yet; keep it, and try again later. RP_EINVAL: it is refused. */
int rp_input_packet(rp_node *node, uint64_t now_us, const uint8_t *packet, size_t len);

/* The next packet for the host side: its length, or 0. out has 1280 bytes; RP_EINVAL if it
 * has fewer, and the packet waits. */
int rp_poll_packet(rp_node *node, uint64_t now_us, uint8_t *out, size_t len);

/* ---------------------------------------------------------- time and events -- */

/* 1 and when the node next wants rp_on_timeout, or 0: never, as far as it knows. Ask anew
 * after every other call. */
int rp_poll_at(rp_node *node, uint64_t *at_us);

/* Does what is due. */
int rp_on_timeout(rp_node *node, uint64_t now_us);

#define RP_EVENT_SOCKETS 1        /* a socket may have something: rp_poll says which */
#define RP_EVENT_ADDRESS_IN_USE 2 /* somebody else has registered our address */
#define RP_EVENT_ECHO_REPLY 3     /* what rp_ping asked for has come */

/* The next event, or 0. */
int rp_poll_event(rp_node *node);

/* Sends an echo request (RFC 4443, 4.1). RP_ENETUNREACH. */
int rp_ping(rp_node *node, uint64_t now_us, const uint8_t *address, uint16_t ident,
            uint16_t seq);

/* ------------------------------------------------------------------ sockets -- */

/* As of POSIX, but for the node and the time; each answers at once. RP_EBADF may come from
 * every one that has a descriptor. */

#define RP_SOCK_STREAM 1 /* TCP */
#define RP_SOCK_DGRAM 2  /* UDP */

#define RP_MSG_PEEK 2 /* what is received can be received again */

#define RP_SHUT_RD 0
#define RP_SHUT_WR 1
#define RP_SHUT_RDWR 2

struct rp_endpoint {
    uint8_t address[16];
    uint16_t port;
};

/* A descriptor, or RP_EMFILE. */
int rp_socket(rp_node *node, uint64_t now_us, int kind);

/* The socket's port; 0 for any. RP_EADDRINUSE, RP_EINVAL if it has one. */
int rp_bind(rp_node *node, uint64_t now_us, int fd, uint16_t port);

int rp_listen(rp_node *node, uint64_t now_us, int fd, int backlog);

/* The descriptor of the next connection, and its peer (which may be null). RP_EAGAIN,
 * RP_EMFILE. */
int rp_accept(rp_node *node, uint64_t now_us, int fd, struct rp_endpoint *peer);

/* RP_EINPROGRESS: wait for RP_POLLOUT, and ask RP_SO_ERROR how it went. For a datagram
 * socket: its only peer. */
int rp_connect(rp_node *node, uint64_t now_us, int fd, const struct rp_endpoint *peer);

/* How many bytes were taken; RP_EAGAIN if there is no room, RP_EPIPE, RP_ECONNRESET,
 * RP_ETIMEDOUT ... */
int rp_send(rp_node *node, uint64_t now_us, int fd, const uint8_t *data, size_t len);

/* How many bytes came, 0 at their end; RP_EAGAIN if there are none yet. */
int rp_recv(rp_node *node, uint64_t now_us, int fd, uint8_t *out, size_t len, int flags);

int rp_sendto(rp_node *node, uint64_t now_us, int fd, const uint8_t *data, size_t len,
              const struct rp_endpoint *peer);
int rp_recvfrom(rp_node *node, uint64_t now_us, int fd, uint8_t *out, size_t len,
                struct rp_endpoint *peer);
int rp_shutdown(rp_node *node, uint64_t now_us, int fd, int how);
int rp_close(rp_node *node, uint64_t now_us, int fd);

/* Writes a connection down before a deep sleep or a reboot, and closes the descriptor; the
 * peer is told nothing. How many of the len bytes at out that took: 100, and what waits in
 * either direction. RP_ENOMEM: those are too few; RP_ENOTCONN, RP_EOPNOTSUPP. */
int rp_freeze(rp_node *node, uint64_t now_us, int fd, uint8_t *out, size_t len);

/* Takes it up again slept_us later, in a node of the same address and buffers, whose clock
 * may have begun anew: its descriptor. Too long is better than too short for slept_us.
 *
 * The bytes are good ONCE, and are spoilt here. Taken up a second time, the connection would
 * give its peer other bytes for those that it has, and neither would notice. So if they come
 * from flash, erase them there before the next rp_poll_radio or rp_poll_packet.
 *
 * RP_EINVAL: damaged, of another version, or taken up already; RP_ETIMEDOUT: the peer may have
 * given it up; RP_ENOMEM: the buffers are smaller; RP_ENETUNREACH: of another node;
 * RP_EADDRINUSE: it is there already; RP_EMFILE. */
int rp_thaw(rp_node *node, uint64_t now_us, uint64_t slept_us, uint8_t *frozen, size_t len);

#define RP_POLLIN 0x1
#define RP_POLLOUT 0x4
#define RP_POLLERR 0x8
#define RP_POLLHUP 0x10
#define RP_POLLNVAL 0x20
#define RP_POLLRDHUP 0x2000

struct rp_pollfd {
    int32_t fd; /* a negative one is passed over */
    int16_t events;
    int16_t revents;
};

/* Fills in revents: how many have some. 255 at most. */
int rp_poll(rp_node *node, uint64_t now_us, struct rp_pollfd *all, size_t count);

/* Levels and names of options; all are one number. */
#define RP_SOL_SOCKET 1
#define RP_SO_TYPE 3
#define RP_SO_ERROR 4 /* the positive number of an RP_E*, or 0 */
#define RP_SO_KEEPALIVE 9
#define RP_SO_LINGER 13 /* seconds; -1: none; 0: rp_close resets */
#define RP_SO_ACCEPTCONN 30
#define RP_IPPROTO_TCP 6
#define RP_TCP_NODELAY 1
#define RP_TCP_MAXSEG 2
#define RP_TCP_KEEPIDLE 4
#define RP_TCP_KEEPINTVL 5
#define RP_TCP_KEEPCNT 6
#define RP_TCP_USER_TIMEOUT 18 /* milliseconds */
#define RP_TCP_FASTOPEN 23

int rp_setsockopt(rp_node *node, uint64_t now_us, int fd, int level, int name, int value);
int rp_getsockopt(rp_node *node, uint64_t now_us, int fd, int level, int name, int *value);
int rp_getsockname(rp_node *node, uint64_t now_us, int fd, struct rp_endpoint *local);
int rp_getpeername(rp_node *node, uint64_t now_us, int fd, struct rp_endpoint *peer);

/* --------------------------------------------------------- calls that wait -- */

/* How a thread waits. Copied at every call, and not kept.
 *
 * wait returns when something may have happened, or once the time is at until_us (UINT64_MAX:
 * no limit); a negative RP_E* ends the call with that (RP_EAGAIN with RP_ETIMEDOUT). Without an operating system it drives
 * the node: radio, timers, frames. With one it sleeps until whoever drives the node says so,
 * and at once if that was since the last call of unlock. lock and unlock are around every use
 * of the node, and both null where one thread does everything. */
struct rp_waiter {
    rp_node *node;
    void *context; /* given to all hooks */
    uint64_t (*now)(void *context);
    int (*wait)(void *context, uint64_t until_us);
    void (*lock)(void *context);
    void (*unlock)(void *context);
};

int rp_wait_connect(const struct rp_waiter *waiter, int fd, const struct rp_endpoint *peer);
int rp_wait_accept(const struct rp_waiter *waiter, int fd, struct rp_endpoint *peer);

/* Sends all of it; after an error, as much as was taken before. */
int rp_wait_send(const struct rp_waiter *waiter, int fd, const uint8_t *data, size_t len);
int rp_wait_recv(const struct rp_waiter *waiter, int fd, uint8_t *out, size_t len);
int rp_wait_recvfrom(const struct rp_waiter *waiter, int fd, uint8_t *out, size_t len,
                     struct rp_endpoint *peer);

/* A negative timeout is none. */
int rp_wait_poll(const struct rp_waiter *waiter, struct rp_pollfd *all, size_t count,
                 int timeout_ms);

/* ---------------------------------------------------------------------- ABI -- */

/* 0 if this header is that of the library: RP_EINVAL if not, where nothing else may be
 * called. */
int rp_abi_check(size_t config, size_t ip_config, size_t work, size_t endpoint, size_t pollfd,
                 size_t waiter);
#define RP_ABI_CHECK()                                                                     \
    rp_abi_check(sizeof(struct rp_config), sizeof(struct rp_ip_config),                    \
                 sizeof(struct rp_work), sizeof(struct rp_endpoint),                       \
                 sizeof(struct rp_pollfd), sizeof(struct rp_waiter))

#ifdef __cplusplus
}
#endif

#endif
