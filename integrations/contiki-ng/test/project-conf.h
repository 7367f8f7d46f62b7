/* The native platform checks timers at this interval, in milliseconds. */
#define SELECT_CONF_TIMEOUT 10
