/*
 * Redpoll's TCP alone, for C: connections over your IPv6, without nodes, sockets and ICMPv6.
 *
 * You pass each received segment with its addresses to rp_tcp_input, and send the segments that
 * rp_tcp_output returns. All memory is yours: one struct and two buffers for each connection, one
 * struct and a small array for each listener. The library allocates nothing and has no global
 * state. No call blocks. One thread at a time may use a struct rp_tcp and its connections.
 *
 * Errors, struct rp_endpoint, struct rp_tcp_info and the states RP_TCP_* are those of redpoll.h.
 * Times are microseconds of your monotonic clock, which starts anywhere and must not go back.
 * Each call returns a count or 0, or a negative RP_E*. Every call may return:
 *   RP_EFAULT  a pointer is null or badly aligned
 *   RP_EINVAL  the pointer does not point to an initialised object of its type, or a number is out
 *              of range
 * The comment of a call lists its other errors. The library recognises an object that has not been
 * initialised, that has been removed, or that was copied, and never follows the pointers inside it.
 *
 * The life of a client:
 *
 *   static struct rp_tcp tcp;
 *   static struct rp_tcp_connection connection;
 *   static uint8_t send[2048], receive[2048], segment[1220];
 *   struct rp_tcp_config config;
 *   rp_tcp_config_init(&config);                 // then secret
 *   rp_tcp_init(&tcp, RP_TCP_SIZES, &config);
 *   struct rp_tcp_buffers buffers = {send, sizeof send, receive, sizeof receive};
 *   rp_tcp_connect(&tcp, now(), &connection, &buffers, &local, &remote);
 *   for (;;) {
 *       rp_tcp_on_timeout(&tcp, now());
 *       while ((event = rp_tcp_poll_event(&tcp, &which)) > 0) {}  // rp_tcp_send, rp_tcp_recv, ...
 *       while ((len = rp_tcp_output(&tcp, now(), segment, sizeof segment, &ip)) > 0)
 *           ip_send(&ip, segment, len);
 *       sleep_until(rp_tcp_poll_at, a received segment);
 *       rp_tcp_input(&tcp, now(), &ip, segment, len);
 *   }
 *   rp_tcp_release(&tcp, &connection);           // after its end
 *
 * libredpoll_tcp.a, a library for microcontrollers, has the calls of this header, rp_version and
 * rp_strerror, and no other calls. The other libraries for microcontrollers lack the calls of this
 * header. libredpoll_tcp.a has no SYN cookies, proportional rate reduction, F-RTO and path MTU
 * discovery, which the library for hosts has. tests/tcp.c is a complete program, and
 * examples/tcp_openthread.c a server over OpenThread.
 */
#ifndef REDPOLL_TCP_H
#define REDPOLL_TCP_H

#include "redpoll.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ----------------------------------------------------------------- objects -- */

/* Sizes of the objects in bytes. rp_tcp_init compares them with the library's sizes. You may define
 * a larger RP_TCP_CONNECTION_SIZE, a multiple of 8, for a library that you built with more
 * features. */
#if UINTPTR_MAX > 0xffffffff
#define RP_TCP_SIZE 344
#define RP_TCP_LISTENER_SIZE 120
#define RP_TCP_CONNECTION_LEAST 488
#else
#define RP_TCP_SIZE 328
#define RP_TCP_LISTENER_SIZE 104
#ifdef __linux__
#define RP_TCP_CONNECTION_LEAST 448
#else
#define RP_TCP_CONNECTION_LEAST 392
#endif
#endif
#ifndef RP_TCP_CONNECTION_SIZE
#define RP_TCP_CONNECTION_SIZE RP_TCP_CONNECTION_LEAST
#endif

/* State that the connections and listeners of a host share. Its members are private. */
struct rp_tcp {
    uint64_t opaque[RP_TCP_SIZE / 8];
};

/* A connection, from rp_tcp_connect or rp_tcp_accept to rp_tcp_release. */
struct rp_tcp_connection {
    uint64_t opaque[RP_TCP_CONNECTION_SIZE / 8];
};

/* A listener, from rp_tcp_listen to rp_tcp_unlisten. */
struct rp_tcp_listener {
    uint64_t opaque[RP_TCP_LISTENER_SIZE / 8];
};

/* A handshake in progress, an element of a listener's array. */
struct rp_tcp_half_open {
    uint32_t opaque[12];
};

/* The buffers of a connection, 64 to 65535 bytes each. A buffer of four segments lets the sender
 * detect a loss without a timeout. */
struct rp_tcp_buffers {
    uint8_t *send;
    size_t send_len;
    uint8_t *receive;
    size_t receive_len;
};

/* The fields of an IPv6 header that TCP reads or sets. */
struct rp_tcp_ip {
    uint8_t source[16];
    uint8_t destination[16];
    uint8_t ecn;       /* the two low bits of the traffic class (RFC 3168 §5) */
    uint8_t hop_limit;
};

/* ---------------------------------------------------------------- creation -- */

/* Parameters of all connections; the comments have the defaults. */
struct rp_tcp_config {
    uint8_t secret[16];             /* random, different after each start, for initial sequence
                                       numbers (RFC 6528); all 0 is refused */
    uint32_t time_wait_ms;          /* time in TIME-WAIT; default 60000 */
    uint32_t keepalive_idle_ms;     /* idle time before a keep-alive probe; default 0: no probes */
    uint32_t keepalive_interval_ms; /* interval of probes; default 75000 */
    uint32_t user_timeout_ms;       /* time after which unacknowledged data end the connection;
                                       default 0: after max_retries */
    uint16_t min_rto_ms;            /* minimum retransmission timeout; default 300 */
    uint16_t mss;                   /* MSS option, 64 to 1220 bytes, in the library for hosts 64 to
                                       65535; default 1220 */
    uint8_t keepalive_count;        /* unanswered probes that end the connection, 2 to 127;
                                       default 8 */
    uint8_t hop_limit;              /* default 64 */
    uint8_t ack_delay;              /* longest delay of acknowledgements, 1 to 47, in units of
                                       10 ms; default 20 */
    uint8_t max_retries;            /* retransmissions of a segment before the connection fails;
                                       default 12 */
    uint8_t syn_retries;            /* retransmissions of a SYN before the attempt to connect fails;
                                       default 7 */
    uint8_t ecn;                    /* RP_TCP_ECN_*; default RP_TCP_ECN_REQUEST */
    uint8_t nagle;                  /* 1 if small segments wait (RFC 9293 §3.7.4); default 1 */
    uint8_t sack;                   /* 1 for selective acknowledgements (RFC 2018); default 1 */
    uint8_t timestamps;             /* 1 for timestamps (RFC 7323); default 1 */
    uint8_t reserved[3];            /* 0 */
};

/* Use of explicit congestion notification (RFC 3168). */
#define RP_TCP_ECN_OFF 0     /* never */
#define RP_TCP_ECN_ACCEPT 1  /* if the peer requests it */
#define RP_TCP_ECN_REQUEST 2 /* requested by each connect */

/* Sets the defaults. */
int rp_tcp_config_init(struct rp_tcp_config *config);

/* The sizes of the objects, as arguments of rp_tcp_init. */
#define RP_TCP_SIZES                                                                       \
    sizeof(struct rp_tcp), sizeof(struct rp_tcp_connection), sizeof(struct rp_tcp_listener)

/* Initialises a host without connections and listeners. If tcp was a host before, that host's
 * connections and listeners end without a segment to their peers. RP_ENOMEM: a size is too small
 * for this library. */
int rp_tcp_init(struct rp_tcp *tcp, size_t tcp_size, size_t connection_size,
                size_t listener_size, const struct rp_tcp_config *config);

/* ------------------------------------------------------- segments and timers -- */

/* Passes a received segment to its connection or listener: the payload of an IPv6 packet, from the
 * TCP header on, to one of your addresses. The call checks the checksum. Call rp_tcp_output
 * afterwards: only one answer to a segment without a connection can wait. RP_EINVAL: not a segment,
 * or its checksum is wrong. */
int rp_tcp_input(struct rp_tcp *tcp, uint64_t now_us, const struct rp_tcp_ip *ip,
                 const uint8_t *segment, size_t len);

/* Passes an ICMPv6 error to the connection whose segment the error quotes: the message from its
 * type field on. Check the message's checksum before the call. An error ends an attempt to connect,
 * and raises RP_TCP_EVENT_ICMP on an open connection (RFC 5927 §5.2). Packet Too Big has an effect
 * only in the library for hosts. RP_EINVAL: not an error about a segment. */
int rp_tcp_input_icmp(struct rp_tcp *tcp, uint64_t now_us, const uint8_t *message, size_t len);

/* Writes the next segment with its checksum, sets ip, and returns the length of the segment, or 0.
 * len is the number of bytes that one of your packets can carry after the IPv6 header, and the
 * greatest length of the segment. Call rp_tcp_output only if you can send, because the segment then
 * counts as sent. If the segment is lost, TCP retransmits it. RP_EINVAL: len is below 128. */
int rp_tcp_output(struct rp_tcp *tcp, uint64_t now_us, uint8_t *out, size_t len,
                  struct rp_tcp_ip *ip);

/* Returns 1 and the time at which rp_tcp_on_timeout is due, or 0 if no timer runs. Each other call
 * may change this time. */
int rp_tcp_poll_at(struct rp_tcp *tcp, uint64_t *at_us);

/* Runs expired timers. */
int rp_tcp_on_timeout(struct rp_tcp *tcp, uint64_t now_us);

#define RP_TCP_EVENT_CONNECTED 1   /* the handshake is complete */
#define RP_TCP_EVENT_READABLE 2    /* bytes arrived */
#define RP_TCP_EVENT_WRITABLE 3    /* the send buffer has room again */
#define RP_TCP_EVENT_PEER_CLOSED 4 /* the peer sends no more: rp_tcp_recv returns 0 at the end */
#define RP_TCP_EVENT_NO_ANSWER 5   /* three retransmissions were not answered */
#define RP_TCP_EVENT_ICMP 6        /* a router reported a problem */
#define RP_TCP_EVENT_CLOSED 7      /* both directions closed normally */
#define RP_TCP_EVENT_FAILED 8      /* an error ended the connection: rp_tcp_error returns it */

/* Returns the next event and its connection, or 0. */
int rp_tcp_poll_event(struct rp_tcp *tcp, struct rp_tcp_connection **connection);

/* ------------------------------------------------------------- connections -- */

/* Opens a connection; RP_TCP_EVENT_CONNECTED or RP_TCP_EVENT_FAILED follows. local has your
 * address; with port 0, the library chooses a port (RFC 6056). The struct and the buffers belong to
 * the library until rp_tcp_release. RP_EISCONN: the struct is in use; RP_EADDRINUSE: this
 * connection exists, or no port is free; RP_EINVAL: also if the buffers overlap. */
int rp_tcp_connect(struct rp_tcp *tcp, uint64_t now_us, struct rp_tcp_connection *connection,
                   const struct rp_tcp_buffers *buffers, const struct rp_endpoint *local,
                   const struct rp_endpoint *remote);

/* Listens at a port of one address, or of all your addresses if the address is all 0. A listener of
 * all addresses has handshakes at one address at a time: until they end, the library answers a SYN
 * to another of your addresses with a reset. half_open is an array of count elements, 1 to 255, one
 * for each handshake in progress; the array belongs to the library until rp_tcp_unlisten.
 * receive_buffer is the length of the smallest receive buffer of the listener's connections.
 * RP_EADDRINUSE: another listener has the port; RP_EISCONN: the struct is in use. */
int rp_tcp_listen(struct rp_tcp *tcp, struct rp_tcp_listener *listener,
                  const struct rp_endpoint *at, struct rp_tcp_half_open *half_open,
                  size_t count, size_t receive_buffer);

/* Gives the listener a connection for the next handshake. The connection is in the state
 * RP_TCP_LISTEN until RP_TCP_EVENT_CONNECTED. Several connections may wait at a listener, which
 * uses them in the order of the calls. Without a waiting connection, a client's handshake completes
 * only after the next rp_tcp_accept, and fails without such a call within 15 s. RP_EISCONN: the
 * struct is in use; RP_EINVAL: also if the receive buffer is too small for the listener. */
int rp_tcp_accept(struct rp_tcp *tcp, struct rp_tcp_listener *listener,
                  struct rp_tcp_connection *connection, const struct rp_tcp_buffers *buffers);

/* Ends a listener. Connections that wait at the listener are closed, and other connections
 * continue. RP_EINVAL: also if the listener belongs to another host. */
int rp_tcp_unlisten(struct rp_tcp *tcp, struct rp_tcp_listener *listener);

/* Copies bytes into the send buffer, and returns how many. RP_EAGAIN: the buffer is full, and
 * RP_TCP_EVENT_WRITABLE follows; RP_EPIPE: you have closed the connection; RP_ENOTCONN: the
 * connection waits at a listener; or the error that ended the connection. */
int rp_tcp_send(struct rp_tcp_connection *connection, uint64_t now_us, const uint8_t *data,
                size_t len);

/* Returns the number of received bytes, or 0 at the end of the stream. RP_EAGAIN: no bytes have
 * arrived; RP_ENOTCONN: the connection waits at a listener; or the error that ended the
 * connection. */
int rp_tcp_recv(struct rp_tcp_connection *connection, uint64_t now_us, uint8_t *out,
                size_t len);

/* Closes the direction to the peer after the bytes that rp_tcp_send has accepted; the peer may
 * continue to send. */
int rp_tcp_close(struct rp_tcp_connection *connection, uint64_t now_us);

/* Ends the connection; rp_tcp_output returns a reset for the peer. */
int rp_tcp_abort(struct rp_tcp_connection *connection, uint64_t now_us);

/* Returns the struct and the buffers to you. Allowed while the connection waits at a listener, in
 * TIME-WAIT, and in CLOSED. RP_EAGAIN: the connection is open, or its reset still has to be sent:
 * call rp_tcp_close or rp_tcp_abort and rp_tcp_output first. A host remembers the last 8
 * connections that were released in TIME-WAIT, to acknowledge a repeated FIN. */
int rp_tcp_release(struct rp_tcp *tcp, struct rp_tcp_connection *connection);

/* The state LISTEN, in addition to those of redpoll.h. */
#define RP_TCP_LISTEN 10

/* Returns the state, RP_TCP_*. */
int rp_tcp_state(struct rp_tcp_connection *connection);

/* Returns the error that ended the connection, or 0: RP_ECONNREFUSED, RP_ECONNRESET, RP_ETIMEDOUT,
 * RP_EHOSTUNREACH or RP_ECONNABORTED. */
int rp_tcp_error(struct rp_tcp_connection *connection);

/* Writes both ends of a connection. RP_ENOTCONN: the connection waits at a listener. */
int rp_tcp_ends(struct rp_tcp_connection *connection, struct rp_endpoint *local,
                struct rp_endpoint *remote);

/* Writes the state and the measurements of a connection. RP_ENOTCONN: the connection waits at a
 * listener. */
int rp_tcp_measure(struct rp_tcp_connection *connection, struct rp_tcp_info *info);

/* Change a parameter of one connection. With 0 for on, idle_ms or timeout_ms, the call turns off
 * Nagle's algorithm, keep-alive probes or the user timeout. RP_ENOTCONN: the connection waits at a
 * listener. */
int rp_tcp_set_nagle(struct rp_tcp_connection *connection, uint64_t now_us, uint8_t on);
int rp_tcp_set_keepalive(struct rp_tcp_connection *connection, uint64_t now_us,
                         uint32_t idle_ms, uint32_t interval_ms, uint8_t count);
int rp_tcp_set_user_timeout(struct rp_tcp_connection *connection, uint64_t now_us,
                            uint32_t timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
