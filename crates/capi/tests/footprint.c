/* The image whose size is the footprint of the library: a client with one TCP connection, on a radio
 * (ON_RADIO), over IPv6 (OVER_IP) or with TCP alone (TCP_ALONE), or a client and a server over IPv6
 * (SERVER_OVER_IP) or with TCP alone (SERVER_TCP_ALONE), without a C library. It prints, through the
 * emulator, how much memory the node or TCP takes, and "sent" when it has made the frame, packet or
 * segment of its SYN. */
#ifdef SERVER_TCP_ALONE
#define TCP_ALONE
#endif
#include "redpoll_tcp.h"

#if defined(__arm__)
static int emulator(uintptr_t operation, const void *argument)
{
    register uintptr_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (int)r0;
}

void start(void);
extern uint8_t stack[];
__attribute__((section(".vectors"), used)) static const void *const vectors[2] = {stack, (void *)start};
#define BEGIN_STACK
#elif defined(__riscv)
static int emulator(uintptr_t operation, const void *argument)
{
    register uintptr_t a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".balign 16\n.option push\n.option norvc\n"
                     "slli x0, x0, 0x1f\nebreak\nsrai x0, x0, 7\n.option pop\n"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return (int)a0;
}

void start(void);
__attribute__((section(".vectors"), used, naked)) void vectors(void)
{
    __asm__ volatile("la sp, stack\nj start\n");
}
#endif

static void print(const char *text)
{
    emulator(4, text); /* SYS_WRITE0 */
}

static void print_number(size_t number)
{
    char text[12];
    int at = sizeof text - 1;
    text[at] = 0;
    do {
        text[--at] = (char)('0' + number % 10);
    } while ((number /= 10) > 0);
    print(text + at);
}

/* In a separate section, so that the size of these data is known. */
#ifdef TCP_ALONE
__attribute__((section(".node"))) static struct {
    struct rp_tcp tcp;
    struct rp_tcp_connection client;
    uint8_t send[4880], receive[4880];
#ifdef SERVER_TCP_ALONE
    struct rp_tcp_listener listener;
    struct rp_tcp_half_open half_open[2];
#endif
} memory;
#else
__attribute__((section(".node"), aligned(8))) static uint8_t memory[32 * 1024];
static rp_node *node;
#endif
static uint8_t data[16];

static void end(const char *text)
{
    print(text);
    emulator(0x18, (const void *)0x20026); /* SYS_EXIT, ADP_Stopped_ApplicationExit */
    for (;;) {
    }
}

#ifdef TCP_ALONE
static const struct rp_endpoint here = {.address = {0xfd, 0x72, [15] = 1}};
static const struct rp_tcp_buffers buffers = {memory.send, sizeof memory.send, memory.receive,
                                              sizeof memory.receive};
#endif

#ifdef SERVER_TCP_ALONE
/* The server: it accepts, receives and closes. Its connection uses the memory of the client's
 * connection, after that connection has ended. */
static void serve(uint64_t now)
{
    static int listens, accepts;
    if (!listens) {
        struct rp_endpoint at = here;
        at.port = 80;
        listens = rp_tcp_listen(&memory.tcp, &memory.listener, &at, memory.half_open, 2,
                                sizeof memory.receive) == 0;
    } else if (!accepts) {
        accepts = rp_tcp_release(&memory.tcp, &memory.client) == 0
                  && rp_tcp_accept(&memory.tcp, &memory.listener, &memory.client, &buffers) == 0;
    } else if (rp_tcp_recv(&memory.client, now, data, sizeof data) == 0) {
        rp_tcp_close(&memory.client, now);
        accepts = 0;
    }
}
#elif defined(SERVER_OVER_IP)
/* The server: it accepts, receives and closes. */
static void serve(uint64_t now)
{
    static int listener = -1, fd = -1;
    if (listener < 0) {
        listener = rp_socket(node, now, RP_SOCK_STREAM);
        if (rp_bind(node, now, listener, 80) < 0 || rp_listen(node, now, listener, 1) < 0) {
            end("not listening\n");
        }
    } else if (fd < 0) {
        fd = rp_accept(node, now, listener, NULL);
    } else if (rp_recv(node, now, fd, data, sizeof data, 0) == 0) {
        rp_close(node, now, fd);
        fd = -1;
    }
}
#else
static void serve(uint64_t now)
{
    (void)now;
}
#endif

#ifdef TCP_ALONE
/* The client: it connects, sends, receives and closes. */
static void application(uint64_t now)
{
    static int begun;
    if (!begun) {
        struct rp_endpoint peer = {.address = {0xfd, 0x72, [15] = 9}, .port = 80};
        if (rp_tcp_connect(&memory.tcp, now, &memory.client, &buffers, &here, &peer) < 0) {
            end("not begun\n");
        }
        begun = 1;
    } else if (rp_tcp_send(&memory.client, now, data, sizeof data) > 0) {
        if (rp_tcp_recv(&memory.client, now, data, sizeof data) == 0) {
            rp_tcp_close(&memory.client, now);
        }
    }
}

static void make(void)
{
    struct rp_tcp_config config;
    rp_tcp_config_init(&config);
    config.secret[0] = 1;
    print("node ");
    print_number(sizeof memory);
    print("\n");
    rp_tcp_init(&memory.tcp, RP_TCP_SIZES, &config);
}

static uint8_t segment[1240];

static void carry(uint64_t now)
{
    struct rp_tcp_ip ip;
    struct rp_tcp_connection *which;
    while (rp_tcp_poll_event(&memory.tcp, &which) > 0) {
    }
    if (rp_tcp_output(&memory.tcp, now, segment, sizeof segment, &ip) > 0) {
        end("sent\n");
    }
    if (*(volatile uint8_t *)segment) {
        rp_tcp_input(&memory.tcp, now, &ip, segment, sizeof segment);
    }
}

static void expire(uint64_t now)
{
    uint64_t at;
    if (rp_tcp_poll_at(&memory.tcp, &at) == 1 && at <= now) {
        rp_tcp_on_timeout(&memory.tcp, now);
    }
}
#else
/* The client: it connects, sends, receives and closes. */
static void application(uint64_t now)
{
    static int fd = -1;
    if (fd < 0) {
        struct rp_endpoint peer = {.address = {0xfd, 0x72, [15] = 9}, .port = 80};
        fd = rp_socket(node, now, RP_SOCK_STREAM);
        if (rp_connect(node, now, fd, &peer) != RP_EINPROGRESS) {
            end("not begun\n");
        }
    } else if (rp_send(node, now, fd, data, sizeof data) > 0) {
        if (rp_recv(node, now, fd, data, sizeof data, 0) == 0) {
            rp_close(node, now, fd);
        }
    }
}

#ifdef ON_RADIO
static void make(void)
{
    struct rp_config config;
    size_t len;
    rp_config_init(&config, RP_LEAF);
    config.short_address = 1;
    config.parent = 2;
    config.prefix[0] = 0xfd;
    config.entropy[0] = 1;
    if (rp_sizeof_node(&config, &len) == 0) {
        print("node ");
        print_number(len);
        print("\n");
    }
    rp_node_init(memory, sizeof memory, &config, &node);
}

/* A radio without a driver: no frame is ever received. */
static void carry(uint64_t now)
{
    static uint8_t frame[127];
    struct rp_work work;
    while (rp_poll_radio(node, now, &work) == 1) {
        if (work.kind == RP_WORK_LOAD) {
            rp_radio_done(node, now, RP_RESULT_LOADED);
        } else if (work.kind == RP_WORK_TRANSMIT) {
            rp_radio_done(node, now, RP_RESULT_NO_ACK);
            end("sent\n");
        }
    }
    if (*(volatile uint8_t *)frame) {
        rp_input_frame(node, now, frame, sizeof frame, -50, 255, 0);
    }
}
#else
static void make(void)
{
    struct rp_ip_config config;
    size_t len;
    rp_ip_config_init(&config);
    config.address[0] = 0xfd;
    config.entropy[0] = 1;
    if (rp_sizeof_ip(&config, &len) == 0) {
        print("node ");
        print_number(len);
        print("\n");
    }
    rp_ip_init(memory, sizeof memory, &config, &node);
}

static uint8_t packet[1280];

static void carry(uint64_t now)
{
    if (rp_ip_output(node, now, packet, sizeof packet) > 0) {
        end("sent\n");
    }
    if (*(volatile uint8_t *)packet) {
        rp_ip_input(node, now, packet, sizeof packet);
    }
}
#endif

static void expire(uint64_t now)
{
    rp_on_timeout(node, now);
    while (rp_poll_event(node) > 0) {
    }
}
#endif

void start(void)
{
    make();
    for (uint64_t now = 0; now < 10000000; now += 1000) {
        expire(now);
        application(now);
        serve(now);
        carry(now);
    }
    end("silent\n");
}
