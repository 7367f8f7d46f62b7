/*
 * Redpoll for C: full-scale TCP for low-power wireless networks.
 *
 * A node uses memory that you provide. The library allocates nothing and has no global state,
 * so a program may have any number of nodes. No call blocks, except those of the section "calls
 * that wait", which wait in a hook that you provide. One thread at a time may use a node.
 *
 * Times are microseconds of your monotonic clock. Ports are in the machine's byte order,
 * addresses are 16 bytes as on the wire.
 *
 * Every call except rp_version and rp_strerror returns a count, a descriptor or 0, or a negative
 * RP_E*. Every call may return:
 *   RP_EFAULT  a pointer is null or badly aligned, or a hook is missing
 *   RP_EINVAL  the pointer does not point to a node, a number is out of range, or the call is
 *              not allowed now
 * The comment of a call lists its other errors. A pointer may be null only where that comment
 * allows it, or where the length of its data is 0.
 *
 * The life of a node on a radio:
 *
 *   struct rp_config config;
 *   rp_config_init(&config, RP_LEAF);       // then short_address, prefix, parent, entropy
 *   rp_sizeof_node(&config, &len);          // memory that the node needs
 *   rp_node_init(memory, len, &config, &node);
 *   for (;;) {
 *       while (rp_poll_event(node) > 0) {}  // or handle them
 *       ... your sockets ...
 *       while (rp_poll_radio(node, now(), &work) == 1) radio_begin(&work);
 *       sleep_until(rp_poll_at, a frame, the end of a radio operation);
 *       rp_input_frame / rp_radio_done / rp_on_timeout
 *   }
 *
 * A program with its own IPv6 stack needs no radio driver: its node receives and sends IPv6
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
 *       sleep_until(rp_poll_at, a received packet);
 *       rp_ip_input(node, now(), packet, len);
 *   }
 *
 * A library without nodes on a radio (libredpoll_ip.a) lacks rp_config_init, rp_sizeof_node,
 * rp_node_init, rp_add_route, rp_poll_radio, rp_radio_done, rp_input_frame, rp_input_packet,
 * rp_poll_packet and rp_rpl_*. Its nodes have no SYN cookies: a node with as many handshakes in
 * progress as struct rp_ip_config.half_open allows replaces the oldest one when a SYN arrives.
 * The library also lacks UDP sockets, TCP Fast Open, and the user timeout option.
 *
 * examples/ has complete programs.
 */
#ifndef REDPOLL_H
#define REDPOLL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The library requires an int of 32 bits. */
typedef char rp_int_has_32_bits[sizeof(int) == 4 ? 1 : -1];

/* ----------------------------------------------------------------- version -- */

/* Version of this header. */
#define RP_VERSION "0.1.0"

/* Returns the version of the library, in the form of RP_VERSION. */
const char *rp_version(void);

/* ------------------------------------------------------------------ errors -- */

#define RP_EBADF (-9)             /* not an open descriptor */
#define RP_EAGAIN (-11)           /* the call would block; try again later */
#define RP_ENOMEM (-12)           /* not enough memory */
#define RP_EFAULT (-14)           /* invalid pointer */
#define RP_EINVAL (-22)           /* invalid argument, or not allowed now */
#define RP_EMFILE (-24)           /* no free descriptor or connection */
#define RP_EPIPE (-32)            /* this side can no longer send */
#define RP_EDESTADDRREQ (-89)     /* the destination is missing */
#define RP_EMSGSIZE (-90)         /* the data do not fit into one datagram */
#define RP_ENOPROTOOPT (-92)      /* unknown option */
#define RP_EPROTONOSUPPORT (-93)  /* unknown protocol */
#define RP_EOPNOTSUPP (-95)       /* not supported by this kind of socket or node */
#define RP_EADDRINUSE (-98)       /* the port is in use, or no port is free */
#define RP_EADDRNOTAVAIL (-99)    /* not an address of this node */
#define RP_ENETUNREACH (-101)     /* no route to the destination */
#define RP_ECONNABORTED (-103)    /* the connection was aborted on this side */
#define RP_ECONNRESET (-104)      /* the peer reset the connection */
#define RP_EISCONN (-106)         /* the socket is connected, or listens */
#define RP_ENOTCONN (-107)        /* the socket is not connected */
#define RP_ETIMEDOUT (-110)       /* the peer did not answer */
#define RP_ECONNREFUSED (-111)    /* the peer refused the connection */
#define RP_EHOSTUNREACH (-113)    /* a router reported the peer as unreachable */
#define RP_EALREADY (-114)        /* the handshake is already in progress */
#define RP_EINPROGRESS (-115)     /* the handshake has started */

/* Returns the name and the meaning of an RP_E*, such as "RP_EPIPE: this side can no longer send";
 * "no error" for 0 and positive numbers, and "unknown error" for other numbers. The text is
 * constant. */
const char *rp_strerror(int code);

/* ---------------------------------------------------------------- creation -- */

/* A node, on a radio or over your IPv6. Opaque. */
typedef struct rp_node rp_node;

/* Roles. */
#define RP_LEAF 0   /* sends to its parent, and does not forward */
#define RP_ROUTER 1 /* forwards packets */
#define RP_BORDER 2 /* a router with a host side: rp_input_packet, rp_poll_packet */

/* Flags of the tasks that the radio hardware performs. The node performs the tasks without a flag
 * in software. */
#define RP_RADIO_AUTO_ACK 1     /* the radio sends acknowledgements, and waits for them after its
                                   frames */
#define RP_RADIO_CSMA 2         /* the radio performs the whole CSMA-CA for one RP_WORK_TRANSMIT
                                   with cca 1 */
#define RP_RADIO_RETRIES 4      /* the radio retries unacknowledged frames; requires
                                   RP_RADIO_AUTO_ACK */
#define RP_RADIO_SOURCE_MATCH 8 /* the radio sets the frame-pending bit of acknowledgements for each
                                   neighbour separately */

/* No short address; as the parent of a node: no parent. */
#define RP_NO_SHORT 0xffff

/* Configuration of a node on a radio; the comments have the defaults. rp_config_init sets
 * everything except entropy, short_address, prefix, parent (of a leaf), and eui64. Set eui64 if
 * the node sleeps or has sleepy children: a router distinguishes the registrations of sleepy
 * nodes by their eui64. Each number of connections, listeners, handshakes, routes, sockets,
 * packets or children is a limit, for which the node reserves memory. */
struct rp_config {
    uint8_t eui64[8];          /* big-endian, as printed */
    uint8_t prefix[8];         /* the mesh's /64, from which addresses are formed (RFC 4944 §6) */
    uint8_t entropy[32];       /* random, different after each start; all 0 is refused */
    uint32_t poll_interval_ms; /* poll interval, in ms, of a sleepy node that expects no
                                  answer; default 0, which means 4 minutes */
    uint16_t pan_id;           /* default 0x7270 */
    uint16_t short_address;    /* 0 to 0xfffd, unique in the PAN */
    uint16_t parent;           /* short address of the default route's next hop, or
                                  RP_NO_SHORT */
    uint16_t mss;              /* payload of a full segment in bytes, at least 64;
                                  default 1220 */
    uint16_t send_buffer;      /* send buffer of each connection in bytes, at least 64;
                                  default 1848 */
    uint16_t receive_buffer;   /* receive buffer of each connection in bytes, at least 64;
                                  default 1848 */
    uint16_t udp_buffer;       /* receive buffer of each UDP socket in bytes, at least 64;
                                  default 512 */
    uint16_t routes;           /* number of routes; default 2 for a leaf, 32 otherwise */
    uint16_t packet_bytes;     /* longest packet that the node receives, in bytes, at least 128;
                                  default 1280 */
    uint8_t role;              /* RP_LEAF, RP_ROUTER or RP_BORDER */
    uint8_t radio;             /* flags RP_RADIO_*; default RP_RADIO_AUTO_ACK */
    uint8_t sleepy;            /* 1: the leaf's radio sleeps, and the leaf polls its parent;
                                  default 0 */
    uint8_t connections;       /* number of TCP connections at the same time; default 1 */
    uint8_t listeners;         /* number of listening ports; default 1 */
    uint8_t half_open;         /* number of handshakes at the same time; default 2 */
    uint8_t udp_sockets;       /* number of UDP sockets; default 1 */
    uint8_t sockets;           /* number of descriptors in total; default 4 */
    uint8_t packets;           /* number of slots of packet_bytes each, for packets that wait
                                  for the radio or are being received; default 2 for a leaf,
                                  4 otherwise */
    uint8_t children;          /* number of sleepy leaves that may register with a router;
                                  default 0 */
    uint8_t max_frame_retries; /* retries of a frame after its first attempt; default 9 */
    uint8_t rpl_neighbours;    /* number of neighbours that RPL remembers, as parents and
                                  children; default 0: the node does not use RPL. A node that
                                  uses RPL must not sleep, and its parent must be
                                  RP_NO_SHORT */
    uint8_t groups;            /* number of multicast groups that the node can join; default 0: the
                                  node joins none, and forwards no packets to groups */
};

/* Sets the defaults of a role: RP_LEAF, RP_ROUTER or RP_BORDER. */
int rp_config_init(struct rp_config *config, uint8_t role);

/* Returns in len the bytes of memory that a node needs. RP_EINVAL: invalid configuration. */
int rp_sizeof_node(const struct rp_config *config, size_t *len);

/* Creates a node in memory of len bytes, aligned to eight. The memory belongs to the node until
 * rp_node_end and must not be moved or copied. RP_ENOMEM: len is too small. */
int rp_node_init(uint8_t *memory, size_t len, const struct rp_config *config,
                 rp_node **node);

/* Ends a node of either kind and releases its memory to you. It does not close connections. */
int rp_node_end(rp_node *node);

/* Writes the node's address: 16 bytes. */
int rp_address(rp_node *node, uint8_t *address);

/* Next hop of a route. */
#define RP_VIA_NEIGHBOUR 0   /* over the radio to the neighbour */
#define RP_VIA_ON_LINK 1     /* over the radio directly to the destination */
#define RP_VIA_HOST 2        /* to the host side */
#define RP_VIA_UNREACHABLE 3 /* there is no next hop: the node refuses packets for the route */

/* Adds a route to the routing table of a node on a radio. The route is for destinations whose first
 * bits are those of prefix (16 bytes); bits is the number of bits to compare. neighbour is a short
 * address with RP_VIA_NEIGHBOUR, and RP_NO_SHORT otherwise. RP_ENOMEM: the table is full. */
int rp_add_route(rp_node *node, const uint8_t *prefix, uint8_t bits, uint8_t via,
                 uint16_t neighbour);

/* --------------------------------------------------------------------- RPL -- */

/* Starts routing by RPL (RFC 6550) on a node with rpl_neighbours. An RP_LEAF joins a DODAG and is
 * never a parent; an RP_ROUTER joins, and forwards packets; an RP_BORDER is the root of a DODAG
 * in non-storing mode. Leaves and routers also join DODAGs in storing mode. All nodes must have the
 * same prefix. RP_EALREADY: RPL already runs; RP_EOPNOTSUPP: rpl_neighbours is 0, the library has
 * no RPL, or the node is an RP_BORDER and the library has no code for a root. */
int rp_rpl_start(rp_node *node, uint64_t now_us);

/* Returns 1 if the node has a route to the root or is the root, otherwise 0. rank is the node's
 * rank, 0xffff without a route; parent is the short address of the preferred parent, or
 * RP_NO_SHORT. RP_EOPNOTSUPP: RPL does not run. */
int rp_rpl_place(rp_node *node, uint16_t *rank, uint16_t *parent);

/* ------------------------------------------------------- TCP over your IPv6 -- */

/* Configuration of a node over your IPv6, such as another stack or a TUN interface; the comments
 * have the defaults. rp_ip_config_init sets everything except address and entropy. */
struct rp_ip_config {
    uint8_t address[16];     /* the node's address, global or unique local: the source address
                                of its packets */
    uint8_t entropy[32];     /* random, different after each start; all 0 is refused */
    uint16_t mss;            /* payload of a full segment in bytes, in both directions, at
                                least 64; default 1220, which fits the minimum MTU of IPv6. A
                                larger mss needs path MTU discovery, which only the library
                                for hosts has */
    uint16_t send_buffer;    /* send buffer of each connection in bytes, at least 64;
                                default 4880 */
    uint16_t receive_buffer; /* receive buffer of each connection in bytes, at least 64;
                                default 4880 */
    uint16_t udp_buffer;     /* receive buffer of each UDP socket in bytes, at least 64;
                                default 512 */
    uint16_t packet_bytes;   /* longest packet that the node receives, in bytes, at least
                                mss + 60; default 1280 */
    uint8_t connections;     /* number of TCP connections at the same time; default 1 */
    uint8_t listeners;       /* number of listening ports; default 1 */
    uint8_t half_open;       /* number of handshakes at the same time; default 2 */
    uint8_t udp_sockets;     /* number of UDP sockets; default 0: your stack processes UDP;
                                must be 0 in libredpoll_ip.a */
    uint8_t sockets;         /* number of descriptors in total; default 4 */
    uint8_t packets;         /* number of slots of packet_bytes each, for received packets and
                                the node's answers to them; default 2 */
    uint8_t hop_limit;       /* hop limit of the node's packets, at least 1; default 64 */
    uint8_t ack_delay;       /* longest delay of an acknowledgement that waits for a second segment,
                                in units of 10 ms, 1 to 47; default 20. Increase it for a mesh of
                                several hops, where the second segment can arrive more than 200 ms
                                after the first */
};

/* Sets the defaults of a node above your own IPv6 stack. */
int rp_ip_config_init(struct rp_ip_config *config);

/* Returns in len the bytes of memory that a node needs. RP_EINVAL: invalid configuration. */
int rp_sizeof_ip(const struct rp_ip_config *config, size_t *len);

/* Creates a node above your own IPv6 stack in memory of len bytes, under the conditions of
 * rp_node_init. RP_ENOMEM: len is too small. */
int rp_ip_init(uint8_t *memory, size_t len, const struct rp_ip_config *config,
               rp_node **node);

/* Results of rp_ip_input that are not errors: the node ignored the packet, and no remedy is needed.
 * A kernel sends both kinds to a TUN interface by itself. */
#define RP_IGNORED_MULTICAST 1 /* the destination is a group, for example that of router
                                  solicitations, of MLD reports or of mDNS: the node has no
                                  groups */
#define RP_IGNORED_IPV4 2      /* an IPv4 packet: the node has no IPv4 */

/* Receives a packet for the node: the IPv6 header, its extension headers and the payload,
 * reassembled if it was fragmented. The node copies the packet. Pass TCP segments and ICMPv6
 * errors, and UDP datagrams if the node has UDP sockets. The node answers an echo request that you
 * pass. It refuses other protocols, and UDP without sockets, with an ICMPv6 error to the sender.
 * Returns 0 or an RP_IGNORED_*. A segment that TCP discards, because of its checksum or sequence
 * number, is not an error. RP_EAGAIN: no room until rp_ip_output has taken the waiting packets;
 * RP_EADDRNOTAVAIL: the packet is for another host; RP_EMSGSIZE: the packet is longer than
 * packet_bytes; RP_EINVAL: it is not an IPv6 packet, or it is truncated; RP_EOPNOTSUPP: the node is
 * on a radio. */
int rp_ip_input(rp_node *node, uint64_t now_us, const uint8_t *packet, size_t len);

/* Writes the node's next packet, with its IPv6 header and checksums, and returns its length, or
 * 0. This call creates segments, so after each call of another function, repeat this one until it
 * returns 0. out needs 1280 bytes, or packet_bytes if that is more. RP_EINVAL: out is smaller, and
 * the packet waits; RP_EOPNOTSUPP: the node is on a radio. */
int rp_ip_output(rp_node *node, uint64_t now_us, uint8_t *out, size_t len);

/* -------------------------------------------------------------------- radio -- */

/* The calls of this section, and those of the host side, need a node on a radio: otherwise they
 * return RP_EOPNOTSUPP. */

/* Radio operations ("works"). Report the end of RP_WORK_LOAD and RP_WORK_TRANSMIT by
 * rp_radio_done; rp_poll_radio returns the next operation after this report. The other operations
 * set the state of the radio between transmissions, and need no report. */
#define RP_WORK_LOAD 1         /* move frame into the radio */
#define RP_WORK_TRANSMIT 2     /* send the loaded frame; with cca 1: only if the channel is clear */
#define RP_WORK_LISTEN 3       /* switch the receiver on, and leave it on */
#define RP_WORK_DOZE 4         /* receiver off, oscillator on, for a quick start */
#define RP_WORK_SLEEP 5        /* switch the radio off */
#define RP_WORK_SOURCE_MATCH 6 /* from now on, set the frame-pending bit (pending 1) or clear it
                                  (pending 0) in acknowledgements to neighbour */

struct rp_work {
    const uint8_t *frame; /* RP_WORK_LOAD: the MPDU without its FCS, 125 bytes at most;
                             valid until the operation has ended */
    size_t frame_len;     /* RP_WORK_LOAD: length of frame in bytes */
    uint8_t kind;         /* RP_WORK_* */
    uint8_t cca;          /* RP_WORK_TRANSMIT: 1 to assess the channel before the transmission */
    uint8_t pending;      /* RP_WORK_SOURCE_MATCH: the frame-pending bit, 1 or 0 */
    uint8_t reserved;
    uint16_t neighbour;   /* RP_WORK_SOURCE_MATCH: short address of the neighbour */
};

/* Returns 1 and the next operation for the radio in work, or 0 if there is none. */
int rp_poll_radio(rp_node *node, uint64_t now_us, struct rp_work *work);

/* Results of radio operations. */
#define RP_RESULT_LOADED 1        /* the frame is in the radio */
#define RP_RESULT_CHANNEL_BUSY 2  /* the channel was busy, and the frame was not sent */
#define RP_RESULT_SENT 3          /* sent; the frame requested no acknowledgement, or the node
                                     itself waits for it */
#define RP_RESULT_ACKED 4         /* sent and acknowledged */
#define RP_RESULT_ACKED_PENDING 5 /* sent and acknowledged, with the frame-pending bit set */
#define RP_RESULT_NO_ACK 6        /* the frame was sent, but not acknowledged in time */

/* Reports the end of an operation: RP_RESULT_LOADED after RP_WORK_LOAD, another RP_RESULT_* after
 * RP_WORK_TRANSMIT. RP_EINVAL: no such operation was in progress. */
int rp_radio_done(rp_node *node, uint64_t now_us, uint8_t result);

/* Passes a received frame with a correct FCS to the node: the MPDU without the FCS.
 * ack_sent_pending: with RP_RADIO_AUTO_ACK, 1 if the radio's acknowledgement of this frame had the
 * frame-pending bit set, otherwise 0. */
int rp_input_frame(rp_node *node, uint64_t now_us, const uint8_t *frame, size_t len,
                   int8_t rssi_dbm, uint8_t lqi, uint8_t ack_sent_pending);

/* ---------------------------------------------------------------- host side -- */

/* Passes an IPv6 packet from the host side to the node; packets into the mesh have at most 1280
 * bytes. RP_EAGAIN: the node has no room yet; keep the packet and try again later. RP_EINVAL: the
 * node refuses the packet. */
int rp_input_packet(rp_node *node, uint64_t now_us, const uint8_t *packet, size_t len);

/* Writes the next packet for the host side and returns its length, or 0. out needs 1280 bytes.
 * RP_EINVAL: out is smaller, and the packet waits. */
int rp_poll_packet(rp_node *node, uint64_t now_us, uint8_t *out, size_t len);

/* ---------------------------------------------------------- time and events -- */

/* Returns 1 and the time at which rp_on_timeout is due, or 0 if no timer runs. Each call of another
 * function may change this time, so call rp_poll_at again afterwards. */
int rp_poll_at(rp_node *node, uint64_t *at_us);

/* Runs expired timers. */
int rp_on_timeout(rp_node *node, uint64_t now_us);

#define RP_EVENT_SOCKETS 1        /* the state of a socket may have changed: call rp_poll */
#define RP_EVENT_ADDRESS_IN_USE 2 /* another node has registered this node's address */
#define RP_EVENT_ECHO_REPLY 3     /* the answer to rp_ping has arrived */

/* Returns the next event, or 0. */
int rp_poll_event(rp_node *node);

/* Sends an echo request (RFC 4443 §4.1). RP_ENETUNREACH: no route to the address. */
int rp_ping(rp_node *node, uint64_t now_us, const uint8_t *address, uint16_t ident,
            uint16_t seq);

/* ------------------------------------------------------------------ sockets -- */

/* The calls of this section work as in POSIX, except for the arguments node and now_us; no call
 * blocks. Every call with a descriptor may return RP_EBADF. */

#define RP_SOCK_STREAM 1 /* TCP */
#define RP_SOCK_DGRAM 2  /* UDP */

#define RP_MSG_PEEK 2 /* leave the data in the buffer */

#define RP_SHUT_RD 0
#define RP_SHUT_WR 1
#define RP_SHUT_RDWR 2

struct rp_endpoint {
    uint8_t address[16];
    uint16_t port;
};

/* Returns a new descriptor, or RP_EMFILE if none is free. RP_EPROTONOSUPPORT: the library has no
 * UDP sockets. */
int rp_socket(rp_node *node, uint64_t now_us, int kind);

/* Sets the socket's port; with port 0 the node chooses a free port. RP_EADDRINUSE: the port is in
 * use; RP_EINVAL: the socket already has a port. */
int rp_bind(rp_node *node, uint64_t now_us, int fd, uint16_t port);

int rp_listen(rp_node *node, uint64_t now_us, int fd, int backlog);

/* Returns the descriptor of the next accepted connection, and its peer in peer (may be null).
 * RP_EAGAIN: no connection waits; RP_EMFILE: no descriptor is free. */
int rp_accept(rp_node *node, uint64_t now_us, int fd, struct rp_endpoint *peer);

/* Opens a connection, or sets the only peer of a datagram socket. RP_EINPROGRESS: wait for
 * RP_POLLOUT, and read the outcome from RP_SO_ERROR. */
int rp_connect(rp_node *node, uint64_t now_us, int fd, const struct rp_endpoint *peer);

/* Returns the number of bytes that the send buffer accepted. RP_EAGAIN: the buffer has no room; or
 * the reason why the connection cannot send, such as RP_EPIPE, RP_ECONNRESET or RP_ETIMEDOUT. */
int rp_send(rp_node *node, uint64_t now_us, int fd, const uint8_t *data, size_t len);

/* Returns the number of bytes received, or 0 at the end of the stream. RP_EAGAIN: no bytes have
 * arrived yet. */
int rp_recv(rp_node *node, uint64_t now_us, int fd, uint8_t *out, size_t len, int flags);

int rp_sendto(rp_node *node, uint64_t now_us, int fd, const uint8_t *data, size_t len,
              const struct rp_endpoint *peer);
int rp_recvfrom(rp_node *node, uint64_t now_us, int fd, uint8_t *out, size_t len,
                struct rp_endpoint *peer);

/* Joins or leaves a multicast group, given by its address. The node is the member: all its sockets
 * receive the group's datagrams to their ports, until it leaves. Groups of wider scope than the
 * link cross the mesh by MPL (RFC 7731), for which each router needs rp_config.groups. A border
 * router forwards packets from its host side into the mesh if they are for groups that it has
 * joined: up to 4 without a pause, then one every 2 s. It drops all other packets to groups.
 * RP_ENOMEM: no room for another group; RP_EADDRNOTAVAIL: not a member; RP_EINVAL: not a group;
 * RP_EOPNOTSUPP: the library has no groups, or the socket is not a datagram socket. */
int rp_udp_join(rp_node *node, int fd, const uint8_t *group);
int rp_udp_leave(rp_node *node, int fd, const uint8_t *group);

/* Returns 1 if the next datagram was sent to a group, otherwise 0. A CoAP server answers a request
 * to a group after a random time (RFC 7252 §8.2). */
int rp_udp_is_for_group(rp_node *node, int fd);

int rp_shutdown(rp_node *node, uint64_t now_us, int fd, int how);
int rp_close(rp_node *node, uint64_t now_us, int fd);

/* Saves a connection before a deep sleep or a reboot, and closes the descriptor without
 * notifying the peer. Returns the number of bytes written to out: 100 bytes plus the bytes that
 * wait in the connection's send and receive buffers. RP_ENOMEM: len is too small; RP_ENOTCONN: the
 * socket is not connected; RP_EOPNOTSUPP: the socket is not a TCP socket. */
int rp_freeze(rp_node *node, uint64_t now_us, int fd, uint8_t *out, size_t len);

/* Restores a connection that rp_freeze saved slept_us microseconds ago, and returns its
 * descriptor. The node needs the same address and buffers as before; its clock may have restarted.
 * A value of slept_us that is too large is safer than one that is too small.
 *
 * Restore the bytes ONCE; this call invalidates them. A connection restored twice would send its
 * peer different bytes for the same sequence numbers, and neither end would notice. If the bytes
 * come from flash, erase them there before the next rp_poll_radio or rp_poll_packet.
 *
 * RP_EINVAL: the bytes are damaged, of another version, or already restored; RP_ETIMEDOUT: the peer
 * may have given up the connection; RP_ENOMEM: the node's buffers are smaller than before;
 * RP_ENETUNREACH: another node saved the bytes; RP_EADDRINUSE: the connection already exists;
 * RP_EMFILE: no descriptor or connection is free. */
int rp_thaw(rp_node *node, uint64_t now_us, uint64_t slept_us, uint8_t *frozen, size_t len);

#define RP_POLLIN 0x1
#define RP_POLLOUT 0x4
#define RP_POLLERR 0x8
#define RP_POLLHUP 0x10
#define RP_POLLNVAL 0x20
#define RP_POLLRDHUP 0x2000

struct rp_pollfd {
    int32_t fd; /* a descriptor; an entry with a negative fd is ignored */
    int16_t events;
    int16_t revents;
};

/* Sets revents of each entry, and returns the number of entries whose revents is not 0. count is at
 * most 255. */
int rp_poll(rp_node *node, uint64_t now_us, struct rp_pollfd *all, size_t count);

/* Levels and names of options; every value is an int. rp_setsockopt returns RP_ENOPROTOOPT for an
 * option marked "read-only". The options of RP_IPPROTO_TCP exist on every socket, and have no
 * effect on UDP. */
#define RP_SOL_SOCKET 1
#define RP_SO_REUSEADDR 2 /* 1; cannot be 0: an earlier connection never occupies a port that
                             listens */
#define RP_SO_TYPE 3      /* RP_SOCK_STREAM or RP_SOCK_DGRAM; read-only */
#define RP_SO_ERROR 4     /* an RP_E* as a positive number, or 0; read-only */
#define RP_SO_SNDBUF 7    /* send buffer in bytes; 0 for UDP, which does not buffer; read-only */
#define RP_SO_RCVBUF 8    /* receive buffer in bytes; a datagram takes 20 bytes more than its
                             data; read-only */
#define RP_SO_KEEPALIVE 9   /* 1: TCP probes an idle connection; 0: off */
#define RP_SO_LINGER 13     /* seconds; -1: off; 0: rp_close resets the connection */
#define RP_SO_ACCEPTCONN 30 /* 1 if the socket listens; read-only */
#define RP_SO_PROTOCOL 38   /* RP_IPPROTO_TCP or RP_IPPROTO_UDP; read-only */
#define RP_SO_DOMAIN 39     /* RP_AF_INET6; read-only */
#define RP_AF_INET6 10
#define RP_IPPROTO_UDP 17
#define RP_IPPROTO_IPV6 41
#define RP_IPV6_V6ONLY 26 /* 1; cannot be 0: the node has no IPv4 */
#define RP_IPPROTO_TCP 6
#define RP_TCP_NODELAY 1 /* 1: small segments do not wait (Nagle's algorithm is off) */
#define RP_TCP_MAXSEG 2 /* payload bytes of a full segment; read-only */
#define RP_TCP_KEEPIDLE 4      /* seconds without a segment before the first probe */
#define RP_TCP_KEEPINTVL 5     /* seconds between probes */
#define RP_TCP_KEEPCNT 6       /* unanswered probes that end the connection, at least 1; 1 is
                                  accepted and counts as 2 */
#define RP_TCP_USER_TIMEOUT 18 /* milliseconds for which sent data may stay unacknowledged; 0: no
                                  such limit */
#define RP_TCP_FASTOPEN 23     /* before rp_listen: number of connections that may be open before
                                  their handshake is complete (RFC 7413 §4.2); 0: none */

int rp_setsockopt(rp_node *node, uint64_t now_us, int fd, int level, int name, int value);
int rp_getsockopt(rp_node *node, uint64_t now_us, int fd, int level, int name, int *value);
int rp_getsockname(rp_node *node, uint64_t now_us, int fd, struct rp_endpoint *local);
int rp_getpeername(rp_node *node, uint64_t now_us, int fd, struct rp_endpoint *peer);

/* States of a connection (RFC 9293 §3.3.2), with Linux's numbers. */
#define RP_TCP_ESTABLISHED 1
#define RP_TCP_SYN_SENT 2
#define RP_TCP_SYN_RECEIVED 3
#define RP_TCP_FIN_WAIT_1 4
#define RP_TCP_FIN_WAIT_2 5
#define RP_TCP_TIME_WAIT 6
#define RP_TCP_CLOSED 7
#define RP_TCP_CLOSE_WAIT 8
#define RP_TCP_LAST_ACK 9
#define RP_TCP_CLOSING 11

/* State and measurements of a connection. */
struct rp_tcp_info {
    uint32_t srtt_us;       /* smoothed round-trip time (RFC 6298 §2); 0 before the first
                               measurement */
    uint32_t rto_us;        /* retransmission timeout, including backoff (RFC 6298) */
    uint32_t cwnd;          /* congestion window in bytes (RFC 5681 §2) */
    uint32_t ssthresh;      /* slow start threshold in bytes; 65535 before the first loss */
    uint32_t in_flight;     /* estimate of the bytes in the network (RFC 9937 §6.2) */
    uint32_t mss;           /* payload bytes of a full segment */
    uint32_t send_room;     /* bytes that rp_send would accept now */
    uint32_t receive_queue; /* bytes that rp_recv would return now */
    uint32_t state;         /* RP_TCP_* */
};

/* Writes the state of a TCP socket to info. RP_ENOTCONN: the socket never connected, or listens. */
int rp_tcp_info(rp_node *node, uint64_t now_us, int fd, struct rp_tcp_info *info);

/* --------------------------------------------------------- calls that wait -- */

/* Hooks of the calls that wait. Each call copies this structure at its start and does not keep the
 * pointer to it.
 *
 * The hook wait returns when the state of the node may have changed, or at until_us (UINT64_MAX: no
 * limit). If wait returns RP_EAGAIN, the call that waits returns RP_ETIMEDOUT; if wait returns
 * another negative RP_E*, the call returns this error. Without an operating system, wait drives the
 * node: radio, timers, frames. With an operating system, wait sleeps until the thread that drives
 * the node wakes it; if that thread has driven the node since the last unlock, wait returns
 * immediately. lock and unlock enclose every use of the node; both are null if the program has one
 * thread. */
struct rp_waiter {
    rp_node *node;
    void *context; /* argument of all hooks */
    uint64_t (*now)(void *context);
    int (*wait)(void *context, uint64_t until_us);
    void (*lock)(void *context);
    void (*unlock)(void *context);
};

int rp_wait_connect(const struct rp_waiter *waiter, int fd, const struct rp_endpoint *peer);
int rp_wait_accept(const struct rp_waiter *waiter, int fd, struct rp_endpoint *peer);

/* rp_wait_send sends all bytes. After an error, it returns the number of bytes accepted before the
 * error, or the error if that number is 0. */
int rp_wait_send(const struct rp_waiter *waiter, int fd, const uint8_t *data, size_t len);
int rp_wait_recv(const struct rp_waiter *waiter, int fd, uint8_t *out, size_t len);
int rp_wait_recvfrom(const struct rp_waiter *waiter, int fd, uint8_t *out, size_t len,
                     struct rp_endpoint *peer);

/* Sends a datagram, and waits while the node has no room for it. */
int rp_wait_sendto(const struct rp_waiter *waiter, int fd, const uint8_t *data, size_t len,
                   const struct rp_endpoint *peer);

/* Waits like rp_poll for at most timeout_ms milliseconds; a negative timeout_ms has no limit. */
int rp_wait_poll(const struct rp_waiter *waiter, struct rp_pollfd *all, size_t count,
                 int timeout_ms);

/* ---------------------------------------------------------------------- ABI -- */

/* Returns 0 if this header matches the library. RP_EINVAL: the header is of another version than
 * the library; make no other call, and use the header and library of one version. */
int rp_abi_check(size_t config, size_t ip_config, size_t work, size_t endpoint, size_t pollfd,
                 size_t waiter, size_t tcp_info);
#define RP_ABI_CHECK()                                                                     \
    rp_abi_check(sizeof(struct rp_config), sizeof(struct rp_ip_config),                    \
                 sizeof(struct rp_work), sizeof(struct rp_endpoint),                       \
                 sizeof(struct rp_pollfd), sizeof(struct rp_waiter),                       \
                 sizeof(struct rp_tcp_info))

#ifdef __cplusplus
}
#endif

#endif
