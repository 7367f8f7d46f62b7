/*
 * An echo server and its client use calls that wait. From time to time the client's connection
 * is frozen and restored, which the server does not notice. One thread does everything, so the wait
 * hook drives the radios and also serves the server.
 *
 *   cc -Iinclude examples/waiting.c libredpoll_capi.a -lm -o waiting && ./waiting
 */
#include "air.h"
#include "echo.h"

#define ROUNDS 50
#define PORT 7

struct world {
    struct air air;
    struct echo echo;
};

static uint64_t now(void *context)
{
    return ((struct world *)context)->air.now;
}

static int wait_for(void *context, uint64_t until_us)
{
    struct world *world = context;
    if (world->air.now > 600000000) {
        return RP_ETIMEDOUT;
    }
    /* Serves the server. */
    echo_serve(&world->echo, world->air.radio[0].node, world->air.now);
    return air_step(&world->air, until_us);
}

int main(void)
{
    static struct world world;
    struct air *air = &world.air;
    air_add(air, 0, RP_ROUTER);
    air_add(air, 1, RP_LEAF);
    rp_node *server = air->radio[0].node, *client = air->radio[1].node;
    must(echo_begin(&world.echo, server, air->now, PORT), "echo_begin");

    struct rp_waiter waiter = {.node = client, .context = &world, .now = now, .wait = wait_for};
    struct rp_endpoint to = {.port = PORT};
    must(rp_address(server, to.address), "rp_address");
    int fd = rp_socket(client, air->now, RP_SOCK_STREAM);
    must(fd, "rp_socket");
    must(rp_wait_connect(&waiter, fd, &to), "rp_wait_connect");
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint8_t ask[40], answer[40];
        size_t got = 0;
        memset(ask, (int)round + 1, sizeof ask);
        must(rp_wait_send(&waiter, fd, ask, sizeof ask), "rp_wait_send");
        while (got < sizeof answer) {
            int len = rp_wait_recv(&waiter, fd, answer + got, sizeof answer - got);
            must(len, "rp_wait_recv");
            got += (size_t)len;
        }
        if (round % 10 == 5) {
            /* Simulates a power failure. */
            uint8_t kept[300];
            int len = rp_freeze(client, air->now, fd, kept, sizeof kept);
            must(len, "rp_freeze");
            fd = rp_thaw(client, air->now, 0, kept, (size_t)len);
            must(fd, "rp_thaw");
        }
        if (memcmp(ask, answer, sizeof ask) != 0) {
            return fprintf(stderr, "round %u: the echo differs\n", round), 1;
        }
    }
    struct rp_pollfd nothing = {.fd = fd, .events = RP_POLLIN};
    uint64_t begun = air->now;
    if (rp_wait_poll(&waiter, &nothing, 1, 250) != 0 || air->now - begun < 250000) {
        return fprintf(stderr, "rp_wait_poll does not wait\n"), 1;
    }
    must(rp_close(client, air->now, fd), "rp_close");
    printf("%d echoes in %.2f s, %u frames\n", ROUNDS, (double)air->now / 1e6, air->frames);
    air_end(air);
    return 0;
}
