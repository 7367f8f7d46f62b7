/* The thread that owns Redpoll's node: packets from and to GNRC, the node's timer, and the threads
 * that wait in sock_tcp_*. */
#include <errno.h>
#include <string.h>

#include "irq.h"
#include "mutex.h"
#include "net/gnrc.h"
#include "net/gnrc/ipv6.h"
#include "net/sock/tcp.h"
#include "random.h"
#include "thread.h"
#include "thread_flags.h"
#include "ztimer.h"
#include "ztimer64.h"

#include "redpoll_riot.h"
#include "riot_gnrc.h"
#include "riot_sock_tcp.h"

#ifndef REDPOLL_CONNECTIONS
#define REDPOLL_CONNECTIONS 2
#endif
#ifndef REDPOLL_MEMORY
#define REDPOLL_MEMORY (16 * 1024 + REDPOLL_CONNECTIONS * 12 * 1024)
#endif

#define MESSAGES 16        /* length of the queue, a power of two */
#define THREADS 8          /* maximum number of threads that use sockets */
#define SERVE 0x7270       /* type of the message after a call of a socket */
#define FLAG_DRIVEN 0x0080 /* set in the threads that use sockets after the node was driven */
#define LONGEST_US 1000000000u

static uint8_t _memory[REDPOLL_MEMORY] __attribute__((aligned(8)));
static char _stack[THREAD_STACKSIZE_LARGE];
static struct rp_gnrc _gnrc;
static mutex_t _mutex = MUTEX_INIT;
static kernel_pid_t _pid = KERNEL_PID_UNDEF;
static thread_t *_threads[THREADS];

static uint64_t _now(void)
{
    return ztimer64_now(ZTIMER64_USEC);
}

static uint64_t _waiter_now(void *context)
{
    (void)context;
    return _now();
}

/* Takes the lock and records the calling thread, which is woken after the node was served. */
static void _lock(void *context)
{
    (void)context;
    thread_t *self = thread_get_active();
    mutex_lock(&_mutex);
    thread_flags_clear(FLAG_DRIVEN);
    for (unsigned i = 0; i < THREADS; i++) {
        if (_threads[i] == self) {
            return;
        }
        if (_threads[i] == NULL) {
            _threads[i] = self;
            return;
        }
    }
}

static void _unlock(void *context)
{
    (void)context;
    msg_t msg = {.type = SERVE};
    mutex_unlock(&_mutex);
    /* If the queue is full, the node's thread serves the node after the queued messages. */
    (void)msg_try_send(&msg, _pid);
}

static int _wait(void *context, uint64_t until_us)
{
    (void)context;
    ztimer_t timer = {0};
    uint64_t now = _now();
    uint64_t left = until_us > now ? until_us - now : 0;
    thread_flags_clear(THREAD_FLAG_TIMEOUT);
    ztimer_set_timeout_flag(ZTIMER_USEC, &timer, left < LONGEST_US ? (uint32_t)left : LONGEST_US);
    thread_flags_wait_any(FLAG_DRIVEN | THREAD_FLAG_TIMEOUT);
    ztimer_remove(ZTIMER_USEC, &timer);
    return 0;
}

static struct rp_waiter _waiter = {
    .now = _waiter_now,
    .wait = _wait,
    .lock = _lock,
    .unlock = _unlock,
};

/* Sends packets and runs timers. Returns the time until the next timer in microseconds. */
static uint32_t _serve(void)
{
    uint64_t at, now;
    uint32_t left = LONGEST_US;
    mutex_lock(&_mutex);
    rp_gnrc_serve(&_gnrc);
    while (rp_poll_event(_gnrc.node) > 0) {}
    now = _now();
    if (rp_poll_at(_gnrc.node, &at) == 1 && at < now + LONGEST_US) {
        left = at > now ? (uint32_t)(at - now) : 1;
    }
    for (unsigned i = 0; i < THREADS && _threads[i] != NULL; i++) {
        thread_flags_set(_threads[i], FLAG_DRIVEN);
    }
    mutex_unlock(&_mutex);
    return left;
}

static void *_run(void *context)
{
    static msg_t queue[MESSAGES];
    gnrc_netreg_entry_t entry;
    msg_t msg;
    (void)context;
    msg_init_queue(queue, MESSAGES);
    gnrc_netreg_entry_init_pid(&entry, GNRC_NETREG_DEMUX_CTX_ALL, thread_getpid());
    gnrc_netreg_register(GNRC_NETTYPE_TCP, &entry);
    for (;;) {
        uint32_t left = _serve();
        if (ztimer_msg_receive_timeout(ZTIMER_USEC, &msg, left) < 0) {
            continue;
        }
        if (msg.type == GNRC_NETAPI_MSG_TYPE_RCV) {
            mutex_lock(&_mutex);
            (void)rp_gnrc_receive(&_gnrc, msg.content.ptr);
            mutex_unlock(&_mutex);
        }
        else if (msg.type == GNRC_NETAPI_MSG_TYPE_SND) {
            gnrc_pktbuf_release(msg.content.ptr);
        }
    }
    return NULL;
}

int redpoll_riot_init(const ipv6_addr_t *address)
{
    struct rp_ip_config config;
    if (_pid != KERNEL_PID_UNDEF) {
        return -EALREADY;
    }
    if (RP_ABI_CHECK() != 0) {
        return -EPROTO; /* the header belongs to another library */
    }
    (void)rp_ip_config_init(&config);
    memcpy(config.address, address, sizeof config.address);
    random_bytes(config.entropy, sizeof config.entropy);
    config.connections = REDPOLL_CONNECTIONS;
    config.listeners = 2;
    config.sockets = REDPOLL_CONNECTIONS + 3;
    config.packets = 4;
    int code = rp_ip_init(_memory, sizeof _memory, &config, &_gnrc.node);
    if (code < 0) {
        return rp_errno(code);
    }
    _gnrc.now = _now;
    _waiter.node = _gnrc.node;
    rp_riot_waiter = &_waiter;
    _pid = thread_create(_stack, sizeof _stack, THREAD_PRIORITY_MAIN - 1, 0, _run, NULL, "redpoll");
    return _pid > 0 ? 0 : _pid;
}
