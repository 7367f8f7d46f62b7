/* The parts of RIOT's net/netdev.h, net/netdev/ieee802154.h, iolist.h and net/netopt.h (2024.10)
 * that the adapter needs. */
#ifndef STUB_NETDEV_H
#define STUB_NETDEV_H

#include <stddef.h>
#include <stdint.h>

typedef struct iolist {
    struct iolist *iol_next;
    void *iol_base;
    size_t iol_len;
} iolist_t;

typedef enum { NETOPT_STATE, NETOPT_CSMA } netopt_t;
typedef enum { NETOPT_DISABLE, NETOPT_ENABLE } netopt_enable_t;
typedef enum {
    NETOPT_STATE_OFF,
    NETOPT_STATE_SLEEP,
    NETOPT_STATE_IDLE,
    NETOPT_STATE_RX,
    NETOPT_STATE_TX,
    NETOPT_STATE_RESET,
    NETOPT_STATE_STANDBY
} netopt_state_t;

typedef enum {
    NETDEV_EVENT_ISR,
    NETDEV_EVENT_RX_STARTED,
    NETDEV_EVENT_RX_COMPLETE,
    NETDEV_EVENT_TX_STARTED,
    NETDEV_EVENT_TX_COMPLETE,
    NETDEV_EVENT_TX_COMPLETE_DATA_PENDING,
    NETDEV_EVENT_TX_NOACK,
    NETDEV_EVENT_TX_MEDIUM_BUSY
} netdev_event_t;

typedef struct {
    int16_t rssi;
    uint8_t lqi;
} netdev_ieee802154_rx_info_t;

typedef struct netdev netdev_t;

typedef struct {
    int (*send)(netdev_t *dev, const iolist_t *iolist);
    int (*recv)(netdev_t *dev, void *buf, size_t len, void *info);
    int (*init)(netdev_t *dev);
    void (*isr)(netdev_t *dev);
    int (*get)(netdev_t *dev, netopt_t opt, void *value, size_t max_len);
    int (*set)(netdev_t *dev, netopt_t opt, const void *value, size_t value_len);
} netdev_driver_t;

struct netdev {
    const netdev_driver_t *driver;
    void (*event_callback)(netdev_t *dev, netdev_event_t event);
    void *context;
};

#endif
