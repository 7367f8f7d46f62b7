/* What a Cortex-M3 begins with; the C library's start does the rest. */
#include <stdint.h>

extern void _start(void);
extern uint8_t __stack[];

__attribute__((section(".vectors"), used)) static const void *const vectors[2] = {
    __stack, (const void *)_start};
