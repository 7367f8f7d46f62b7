/* A web server over the kernel's TCP: HTTP/1.0, any path, 300,000 bytes, one connection. The
 * arguments are address and port. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 300000

int main(int argc, char **argv)
{
    static char bytes[PAGE];
    struct sockaddr_in6 here = {.sin6_family = AF_INET6};
    char request[512];
    size_t len = 0;
    int on = 1, listener = socket(AF_INET6, SOCK_STREAM, 0);
    if (argc != 3 || inet_pton(AF_INET6, argv[1], &here.sin6_addr) != 1) {
        return 2;
    }
    here.sin6_port = htons((uint16_t)atoi(argv[2]));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, 1)) {
        perror("kernel.c");
        return 1;
    }
    printf("listening\n");
    fflush(stdout);
    int fd = accept(listener, NULL, NULL);
    while (len < sizeof request - 1) {
        ssize_t got = read(fd, request + len, sizeof request - 1 - len);
        if (got <= 0) {
            return 1;
        }
        len += (size_t)got;
        request[len] = 0;
        if (strstr(request, "\r\n\r\n")) {
            break;
        }
    }
    for (int at = 0; at < PAGE; at++) {
        bytes[at] = (char)('a' + at % 23);
    }
    dprintf(fd, "HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n", PAGE);
    for (int at = 0; at < PAGE;) {
        ssize_t sent = write(fd, bytes + at, (size_t)(PAGE - at));
        if (sent <= 0) {
            return 1;
        }
        at += (int)sent;
    }
    return close(fd);
}
