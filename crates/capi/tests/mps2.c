/* The vector table of a Cortex-M3; the C library contains the rest of the start code. */
#include <stdint.h>

extern void _start(void);
extern uint8_t __stack[];

__attribute__((section(".vectors"), used)) static const void *const vectors[2] = {
    __stack, (const void *)_start};
