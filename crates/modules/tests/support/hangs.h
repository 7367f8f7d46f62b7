/* Firmware that hangs while it is loaded. */
__attribute__((constructor)) static void
hang(void)
{
  for(volatile int i = 0;; i++) {
  }
}
