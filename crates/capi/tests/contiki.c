/*
 * Tests the adapter for Contiki-NG's IPv6 with a stub of its headers: an echo service over uIP, whose
 * client is a node over IPv6. Packets may be lost, some have an option of RPL, and the clock of
 * Contiki-NG overflows. Packets that are not for the node stay in uIP.
 */
#include "../examples/echo.h"
#include "lossy.h"

#include <contiki-net.h>

#include "../adapters/contiki_uip.h"

#define PORT 7
#define OPTION 5 /* one packet in OPTION has an option of RPL */

static _Alignas(8) uint8_t memory[2][32 * 1024];
static rp_node *peer;
static struct echo echo;

/* --- packets in flight, in both directions --- */

static struct way to_contiki, to_peer;

/* --- Contiki-NG --- */

static struct process process = {"Redpoll"};
struct process *process_current = &process;
static int is_polled, refreshed, removed;
static uint64_t serve_at; /* the time of the timer */
static struct netstack_ip_packet_processor *processor;

uip_buf_t uip_aligned_buf;
uint16_t uip_len, uip_ext_len;

/* Overflows after 0.2 s, during the transfer. */
clock_time_t clock_time(void)
{
    return (clock_time_t)(now_us * CLOCK_SECOND / 1000000u) - CLOCK_SECOND / 5;
}

void process_poll(struct process *p)
{
    expect(p == &process, "the process");
    is_polled = 1;
}

void uipbuf_clear(void)
{
    uip_len = uip_ext_len = 0;
}

static uint8_t *find(uint8_t *buffer, uint16_t size, uint8_t *protocol, uint8_t searched)
{
    size_t at = UIP_IPH_LEN;
    *protocol = buffer[6];
    while (*protocol != searched && (*protocol == 0 || *protocol == UIP_PROTO_ROUTING ||
                                     *protocol == UIP_PROTO_FRAG)) {
        if (at + 8 > size) {
            return NULL;
        }
        *protocol = buffer[at];
        at += buffer[at + 1] * 8u + 8;
    }
    return at + 4 <= size ? buffer + at : NULL;
}

uint8_t *uipbuf_get_last_header(uint8_t *buffer, uint16_t size, uint8_t *protocol)
{
    return find(buffer, size, protocol, 255);
}

uint8_t *uipbuf_search_header(uint8_t *buffer, uint16_t size, uint8_t protocol)
{
    uint8_t got;
    uint8_t *header = find(buffer, size, &got, protocol);
    return got == protocol ? header : NULL;
}

void uip_ds6_nbr_refresh_reachable_state(const uip_ipaddr_t *ipaddr)
{
    expect(ipaddr->u8[15] == 2, "the neighbour is the sender");
    refreshed++;
}

void tcpip_ipv6_output(void)
{
    expect(uip_len > UIP_IPH_LEN && uip_ext_len == 0 && uip_buf[0] >> 4 == 6, "a packet");
    put(&to_peer, uip_buf, uip_len);
    uipbuf_clear();
}

void netstack_ip_packet_processor_add(struct netstack_ip_packet_processor *p)
{
    expect(processor == NULL, "one processor");
    processor = p;
}

static bool remove_headers(void)
{
    if (uip_ext_len > 0) {
        expect(uip_ext_len == 8 && uip_buf[6] == 0, "the option of RPL");
        uip_buf[6] = uip_buf[UIP_IPH_LEN];
        uip_len -= 8;
        memmove(uip_buf + UIP_IPH_LEN, uip_buf + UIP_IPH_LEN + 8, uip_len - UIP_IPH_LEN);
        uip_buf[4] = (uint8_t)((uip_len - UIP_IPH_LEN) >> 8);
        uip_buf[5] = (uint8_t)(uip_len - UIP_IPH_LEN);
        uip_ext_len = 0;
        removed++;
    }
    return true;
}

const struct routing_driver NETSTACK_ROUTING = {.ext_header_remove = remove_headers};

/* Returns the packet with this extension header of 8 bytes in uip_buf. */
static void insert(const uint8_t *packet, size_t len, uint8_t kind, const uint8_t *header)
{
    memcpy(uip_buf, packet, UIP_IPH_LEN);
    memcpy(uip_buf + UIP_IPH_LEN, header, 8);
    memcpy(uip_buf + UIP_IPH_LEN + 8, packet + UIP_IPH_LEN, len - UIP_IPH_LEN);
    uip_len = (uint16_t)(len + 8);
    uip_buf[4] = (uint8_t)((uip_len - UIP_IPH_LEN) >> 8);
    uip_buf[5] = (uint8_t)(uip_len - UIP_IPH_LEN);
    uip_buf[UIP_IPH_LEN] = packet[6];
    uip_buf[6] = kind;
}

static void contiki_gets(const uint8_t *packet, size_t len)
{
    static const uint8_t option[8] = {0, 0, 0x63, 4, 0, 0, 1, 0};
    uip_len = (uint16_t)len;
    memcpy(uip_buf, packet, len);
    if (len + 8 <= UIP_BUFSIZE && happens(OPTION)) {
        insert(packet, len, 0, option);
    }
    is_polled = 0;
    expect(processor->process_input() == NETSTACK_IP_DROP, "the node takes the packet");
    expect(is_polled, "the process is polled");
    uipbuf_clear();
}

/* --- the world --- */

static uint64_t now_of(void *context)
{
    (void)context;
    return now_us;
}

static int wait_for(void *context, uint64_t until_us)
{
    uint8_t packet[1280];
    size_t len;
    int out;
    (void)context, (void)until_us;
    now_us += 1000;
    while ((len = take(&to_contiki, packet)) > 0) {
        contiki_gets(packet, len);
    }
    while ((len = take(&to_peer, packet)) > 0) {
        int code = rp_ip_input(peer, now_us, packet, len);
        expect(code == 0 || code == RP_EAGAIN, "rp_ip_input");
    }
    if (is_polled || now_us >= serve_at) {
        is_polled = 0;
        (void)rp_uip_serve();
        echo_serve(&echo, rp_uip.node, rp_uip_now());
        clock_time_t ticks = rp_uip_serve();
        expect(ticks > 0, "the timer runs");
        serve_at = now_us + ticks * 1000000ull / CLOCK_SECOND;
    }
    (void)rp_on_timeout(peer, now_us);
    while ((out = rp_ip_output(peer, now_us, packet, sizeof packet)) > 0) {
        put(&to_contiki, packet, (size_t)out);
    }
    /* An hour is needed: with these losses, timeouts of up to a minute follow one another. */
    return now_us > 3600000000 ? RP_ETIMEDOUT : 0;
}

static rp_node *make(int number)
{
    struct rp_ip_config config;
    rp_node *node = NULL;
    expect(rp_ip_config_init(&config) == 0, "rp_ip_config_init");
    config.address[0] = 0xfd;
    config.address[15] = (uint8_t)(number + 1);
    config.mss = 1140;
    config.packets = 4;
    memset(config.entropy, number + 1, sizeof config.entropy);
    expect(rp_ip_init(memory[number], sizeof memory[number], &config, &node) == 0, "rp_ip_init");
    return node;
}

/* Packets for the node alone are taken from uIP. */
static void not_taken(void)
{
    static const uint8_t segments_left[8] = {0, 0, 3, 1}, fragment[8] = {0, 0, 0, 1};
    uint8_t packet[60] = {0x60, 0, 0, 0, 0, 20, UIP_PROTO_TCP, 64};
    packet[8] = packet[24] = 0xfd;
    packet[23] = 2;
    packet[39] = 1;
    is_polled = refreshed = 0;
    for (int round = 0; round < 7; round++) {
        memcpy(uip_buf, packet, sizeof packet);
        uip_len = sizeof packet;
        switch (round) {
        case 0: uip_len = 39; break;
        case 1: uip_buf[39] = 3; break;   /* another host */
        case 2: uip_buf[6] = 17; break;   /* UDP */
        case 3: uip_buf[6] = 0, uip_len = 44; break; /* a truncated extension header */
        case 4: uip_len = 42; break; /* a truncated segment */
        case 5: insert(packet, sizeof packet, UIP_PROTO_ROUTING, segments_left); break;
        default: insert(packet, sizeof packet, UIP_PROTO_FRAG, fragment); break;
        }
        uip_buf_t before = uip_aligned_buf;
        expect(processor->process_input() == NETSTACK_IP_PROCESS, "the packet stays in uIP");
        expect(memcmp(&before, &uip_aligned_buf, sizeof before) == 0, "the packet is unchanged");
    }
    expect(!is_polled && refreshed == 0, "the node is not concerned");
}

static void finish_checksum(uint8_t *packet, size_t len)
{
    uint32_t sum = UIP_PROTO_ICMP6 + (uint32_t)(len - 40);
    for (size_t at = 8; at < len; at++) {
        sum += (uint32_t)packet[at] << (at % 2 ? 0 : 8);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    packet[42] = (uint8_t)(~sum >> 8);
    packet[43] = (uint8_t)~sum;
}

/* The peer has no listener, and a router reports that its port is unreachable. */
static void unreachable(void)
{
    struct rp_endpoint to = {.address = {0xfd, [15] = 9}, .port = 9};
    uint8_t packet[200] = {0x60, 0, 0, 0, 0, 0, UIP_PROTO_ICMP6, 64};
    size_t len = 0;
    int error = 0, fd = rp_socket(rp_uip.node, rp_uip_now(), RP_SOCK_STREAM);
    expect(rp_connect(rp_uip.node, rp_uip_now(), fd, &to) == RP_EINPROGRESS, "rp_connect");
    while (len == 0) {
        to_peer.count = 0;
        (void)rp_uip_serve();
        len = to_peer.count ? to_peer.all[to_peer.first].len : 0;
        now_us += 100000; /* until the SYN is not one of the lost packets */
    }
    expect(len + 48 <= sizeof packet, "a SYN");
    memcpy(packet + 48, to_peer.all[to_peer.first].bytes, len);
    packet[5] = (uint8_t)(len + 8);
    memcpy(packet + 8, to.address, 16);
    expect(rp_address(rp_uip.node, packet + 24) == 0, "rp_address");
    packet[40] = 1; /* destination unreachable */
    packet[41] = 4; /* port unreachable */
    finish_checksum(packet, len + 48);
    memcpy(uip_buf, packet, len + 48);
    uip_len = (uint16_t)(len + 48);
    is_polled = 0;
    expect(processor->process_input() == NETSTACK_IP_PROCESS, "uIP also sees the error");
    expect(is_polled, "the process is polled");
    (void)rp_uip_serve();
    expect(rp_getsockopt(rp_uip.node, rp_uip_now(), fd, RP_SOL_SOCKET, RP_SO_ERROR, &error) == 0 &&
               -error == RP_ECONNREFUSED,
           "the connection is refused");
    expect(rp_close(rp_uip.node, rp_uip_now(), fd) == 0, "rp_close");
    to_peer.count = 0;
}

int main(void)
{
    struct rp_waiter waiter = {.now = now_of, .wait = wait_for};
    struct rp_endpoint to = {.address = {0xfd, [15] = 1}, .port = PORT};
    static uint8_t ask[SIZE], answer[SIZE];
    int fd;
    waiter.node = peer = make(1);
    expect(rp_uip_begin(NULL) == RP_EFAULT && processor == NULL, "a node is needed");
    expect(rp_uip_begin(make(0)) == 0 && rp_uip_begin(rp_uip.node) == 0, "rp_uip_begin");
    not_taken();
    unreachable();
    expect(echo_begin(&echo, rp_uip.node, rp_uip_now(), PORT) == 0, "echo_begin");
    refreshed = 0;
    fd = rp_socket(peer, now_us, RP_SOCK_STREAM);
    expect(rp_wait_connect(&waiter, fd, &to) == 0, "rp_wait_connect");
    for (int round = 0; round < ROUNDS; round++) {
        size_t got = 0;
        for (size_t at = 0; at < sizeof ask; at++) {
            ask[at] = (uint8_t)(at * 7 + (size_t)round);
        }
        expect(rp_wait_send(&waiter, fd, ask, sizeof ask) == sizeof ask, "rp_wait_send");
        while (got < sizeof answer) {
            int len = rp_wait_recv(&waiter, fd, answer + got, sizeof answer - got);
            expect(len > 0, "rp_wait_recv");
            got += (size_t)len;
        }
        expect(memcmp(ask, answer, sizeof ask) == 0, "what comes back");
    }
    expect(rp_close(peer, now_us, fd) == 0, "rp_close");
    /* The end can need as many timeouts as the data. */
    while (echo.in >= 0 && wait_for(NULL, 0) == 0) {
    }
    expect(echo.in < 0, "the server has seen the end");
    expect(refreshed > 0 && removed > 0, "the neighbour and the options are processed");
    expect(now_us > 250000, "the clock has overflowed");
    expect(rp_node_end(rp_uip.node) == 0 && rp_node_end(peer) == 0, "rp_node_end");
    printf("%d bytes in each direction in %.2f s, all right\n", ROUNDS * SIZE,
           (double)now_us / 1e6);
    return 0;
}
