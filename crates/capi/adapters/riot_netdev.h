/*
 * A node of Redpoll on a radio of RIOT (net/netdev.h, IEEE 802.15.4). Include this header in one
 * file. The thread that owns the device calls
 *
 *   rp_netdev_start   once, before the init of the device: receives the device's events
 *   rp_netdev_serve   at the start, and after each call of another function of this list
 *   rp_netdev_isr     after NETDEV_EVENT_ISR: calls the device's isr, which makes the events
 *   rp_netdev_time    at the time that rp_netdev_serve returned
 *
 * Works of the node and events of the device, and how this adapter handles them:
 *
 *   RP_WORK_LOAD             copies the frame, because a netdev receives it with the send call
 *   RP_WORK_TRANSMIT         driver->set(NETOPT_CSMA), driver->send
 *   RP_WORK_LISTEN, _SLEEP   driver->set(NETOPT_STATE): idle, sleep (RP_WORK_DOZE: standby)
 *   NETDEV_EVENT_RX_COMPLETE rp_input_frame
 *   NETDEV_EVENT_TX_*        rp_radio_done
 *
 * Radios that repeat frames and perform CSMA-CA need RP_RADIO_AUTO_ACK | RP_RADIO_CSMA |
 * RP_RADIO_RETRIES in rp_config.radio. With NETOPT_RETRANS 0 and NETOPT_CSMA off, Redpoll
 * performs retries and CSMA-CA itself, which is better (docs/porting.md).
 */
#ifndef RP_RIOT_NETDEV_H
#define RP_RIOT_NETDEV_H

#include <string.h>

#include "redpoll.h"

struct rp_netdev {
    netdev_t *dev;
    rp_node *node;
    uint64_t (*now)(void);
    void (*wake)(void); /* called in an interrupt: makes the thread call rp_netdev_isr */
    uint8_t loaded[125];
    size_t loaded_len;
    int wants_ack;
    int is_busy;
};

static void rp_netdev_done(struct rp_netdev *radio, uint8_t result)
{
    if (radio->is_busy) {
        radio->is_busy = 0;
        (void)rp_radio_done(radio->node, radio->now(), result);
    }
}

static void rp_netdev_frame(struct rp_netdev *radio)
{
    netdev_t *dev = radio->dev;
    netdev_ieee802154_rx_info_t info = {0};
    uint8_t frame[127];
    int len = dev->driver->recv(dev, NULL, 0, NULL);
    if (len < 0 || len > (int)sizeof frame) {
        (void)dev->driver->recv(dev, NULL, sizeof frame, NULL); /* drops the frame */
        return;
    }
    len = dev->driver->recv(dev, frame, (size_t)len, &info);
    if (len > 0 && len <= 125) {
        (void)rp_input_frame(radio->node, radio->now(), frame, (size_t)len,
                             (int8_t)info.rssi, info.lqi, 0);
    }
}

static void rp_netdev_event(netdev_t *dev, netdev_event_t event)
{
    struct rp_netdev *radio = dev->context;
    switch (event) {
    case NETDEV_EVENT_ISR:
        radio->wake();
        break;
    case NETDEV_EVENT_RX_COMPLETE:
        rp_netdev_frame(radio);
        break;
    case NETDEV_EVENT_TX_COMPLETE:
        rp_netdev_done(radio, radio->wants_ack ? RP_RESULT_ACKED : RP_RESULT_SENT);
        break;
    case NETDEV_EVENT_TX_COMPLETE_DATA_PENDING:
        rp_netdev_done(radio, RP_RESULT_ACKED_PENDING);
        break;
    case NETDEV_EVENT_TX_NOACK:
        rp_netdev_done(radio, RP_RESULT_NO_ACK);
        break;
    case NETDEV_EVENT_TX_MEDIUM_BUSY:
        rp_netdev_done(radio, RP_RESULT_CHANNEL_BUSY);
        break;
    default:
        break;
    }
}

static void rp_netdev_start(struct rp_netdev *radio)
{
    radio->dev->context = radio;
    radio->dev->event_callback = rp_netdev_event;
    radio->is_busy = 0;
}

static void rp_netdev_rest(struct rp_netdev *radio, netopt_state_t state)
{
    (void)radio->dev->driver->set(radio->dev, NETOPT_STATE, &state, sizeof state);
}

/* Gives the radio the node's works. Returns 1, and the time at which the thread has to call
 * rp_netdev_time, or 0. */
static int rp_netdev_serve(struct rp_netdev *radio, uint64_t *at_us)
{
    struct rp_work work;
    while (!radio->is_busy && rp_poll_radio(radio->node, radio->now(), &work) == 1) {
        iolist_t frame = {0};
        netopt_enable_t csma;
        switch (work.kind) {
        case RP_WORK_LOAD:
            memcpy(radio->loaded, work.frame, work.frame_len);
            radio->loaded_len = work.frame_len;
            radio->wants_ack = (work.frame[0] & 0x20) != 0;
            (void)rp_radio_done(radio->node, radio->now(), RP_RESULT_LOADED);
            break;
        case RP_WORK_TRANSMIT:
            csma = work.cca ? NETOPT_ENABLE : NETOPT_DISABLE;
            (void)radio->dev->driver->set(radio->dev, NETOPT_CSMA, &csma, sizeof csma);
            frame.iol_base = radio->loaded;
            frame.iol_len = radio->loaded_len;
            radio->is_busy = 1;
            if (radio->dev->driver->send(radio->dev, &frame) < 0) {
                rp_netdev_done(radio, RP_RESULT_CHANNEL_BUSY);
            }
            break;
        case RP_WORK_LISTEN:
            rp_netdev_rest(radio, NETOPT_STATE_IDLE);
            break;
        case RP_WORK_DOZE:
            rp_netdev_rest(radio, NETOPT_STATE_STANDBY);
            break;
        case RP_WORK_SLEEP:
            rp_netdev_rest(radio, NETOPT_STATE_SLEEP);
            break;
        default:
            break; /* RP_WORK_SOURCE_MATCH comes only with RP_RADIO_SOURCE_MATCH */
        }
    }
    return rp_poll_at(radio->node, at_us);
}

static void rp_netdev_isr(struct rp_netdev *radio)
{
    radio->dev->driver->isr(radio->dev);
}

static void rp_netdev_time(struct rp_netdev *radio)
{
    (void)rp_on_timeout(radio->node, radio->now());
}

#endif
