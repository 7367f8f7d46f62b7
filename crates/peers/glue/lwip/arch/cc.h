/* Compiler settings for lwIP, all of them standard. */
#ifndef PEERS_LWIP_CC_H
#define PEERS_LWIP_CC_H

#include <stdio.h>
#include <stdlib.h>

#define LWIP_PLATFORM_DIAG(x) do { printf x; } while (0)
#define LWIP_PLATFORM_ASSERT(x) do { \
    fprintf(stderr, "lwIP: %s, %s:%d\n", x, __FILE__, __LINE__); \
    abort(); \
  } while (0)

#endif
