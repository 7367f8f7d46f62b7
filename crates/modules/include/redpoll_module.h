/* Interface of firmware that runs as a shared object in Redpoll's simulator, version 2.
 *
 * The firmware defines one symbol, `redpoll_module`. Each simulated node runs in its own process,
 * so the firmware may keep state in globals. The simulator calls one function of the firmware at a
 * time. Virtual time stands still until the function returns. The firmware must not block, start
 * threads, or read clocks and random numbers of the operating system. Then every run with the same
 * seed gives the same result.
 *
 * Times are in microseconds of the node's clock, which begins near 0 and may drift. Extended
 * addresses are in printed order. Frames are without their check sequence (two bytes).
 *
 *     cc -shared -fPIC -I FOLDER_OF_THIS_HEADER -o node.so node.c
 *
 *     [nodes.node-1]
 *     kind = "module"
 *     interface = "redpoll"
 *     module = "node.so"
 */
#ifndef REDPOLL_MODULE_H
#define REDPOLL_MODULE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with every incompatible change of this header. */
#ifndef REDPOLL_MODULE_VERSION
#define REDPOLL_MODULE_VERSION 2u
#endif

/* Longest frame without its check sequence, in bytes (IEEE 802.15.4-2015, aMaxPhyPacketSize). */
#define REDPOLL_FRAME_MAX 125u

/* Time that cancels an alarm. */
#define REDPOLL_NEVER UINT64_MAX

/* `backoffs` of a transmission without channel assessment. */
#define REDPOLL_NO_CCA 255u

/* Outcome of a transmission. */
enum redpoll_sent {
    REDPOLL_SENT = 0,          /* The frame requested no acknowledgement. */
    REDPOLL_ACKED = 1,         /* Acknowledged, frame pending bit clear. */
    REDPOLL_ACKED_PENDING = 2, /* Acknowledged, frame pending bit set. */
    REDPOLL_NO_ACK = 3,        /* No acknowledgement arrived in time. */
    REDPOLL_CHANNEL_BUSY = 4   /* The last allowed channel assessment found a busy channel. */
};

/* Event of a stream that an application of the firmware sends to another node. */
enum redpoll_stream {
    REDPOLL_STREAM_OPENED = 0,   /* The sender begins, or begins again from the first byte. */
    REDPOLL_STREAM_SENT = 1,     /* The sender gave these bytes to its TCP. */
    REDPOLL_STREAM_RECEIVED = 2, /* The receiver read these bytes. */
    REDPOLL_STREAM_ENDED = 3,    /* The receiver read the end of the stream. */
    REDPOLL_STREAM_FAILED = 4    /* The sender's connection failed. */
};

/* Received frame that passed the address filter. The radio has acknowledged it if requested. */
struct redpoll_frame {
    const uint8_t *bytes; /* Valid during the call. */
    size_t len;
    int8_t rssi_dbm;
    uint8_t lqi;           /* 0 (worst) to 255 (best). */
    uint8_t acked_pending; /* 1 if the acknowledgement had the frame pending bit set. */
};

/* Functions of the simulator. Call them only while a function of the module runs, and pass `self`
 * unchanged. Functions that return an int return 0, or -1 if the request is impossible now. */
struct redpoll_host {
    uint32_t version; /* REDPOLL_MODULE_VERSION of the simulator. */
    void *self;

    uint64_t (*now_us)(void *self);
    /* Sets the time of the next call of `on_alarm`, replacing an earlier one. A time in the past
     * means now. REDPOLL_NEVER cancels the alarm. */
    void (*set_alarm)(void *self, uint64_t at_us);
    /* Writes random bytes, which depend on the seed of the run and on the node. */
    void (*random)(void *self, uint8_t *to, size_t len);

    /* Sets the addresses of the radio's filter. The broadcast PAN and address always pass. */
    void (*set_address)(void *self, uint16_t pan_id, uint16_t short_address,
                        const uint8_t extended[8]);
    /* Sets the channel, 11 to 26. Channel 26 is the channel of all nodes. The radio is deaf on
     * other channels. */
    void (*set_channel)(void *self, uint8_t channel);
    /* Switches the receiver on (1) or off (0). It is off at the start. */
    void (*listen)(void *self, int on);
    /* Sends one frame: CSMA-CA with at most `backoffs` busy assessments, then the frame, then the
     * wait for the acknowledgement if the frame requests one. There are no retries. `on_sent`
     * reports the outcome. Returns -1 if a transmission or a measurement is in progress, or if
     * the length is 0 or exceeds REDPOLL_FRAME_MAX. */
    int (*transmit)(void *self, const uint8_t *frame, size_t len, uint8_t backoffs);
    /* Measures the energy of the channel; `on_energy` reports the result. */
    int (*measure_energy)(void *self, uint32_t duration_us);
    /* Returns the energy of the channel in dBm at the start of this call of the firmware: -75
     * if busy, -100 if free. */
    int8_t (*rssi_dbm)(void *self);
    /* Sets whether data requests of a neighbour are acknowledged with the frame pending bit. The
     * address has two or eight bytes, in printed order. */
    void (*source_match)(void *self, const uint8_t *neighbour, size_t len, int pending);
    /* Sets whether all data requests are acknowledged with the frame pending bit. */
    void (*source_match_all)(void *self, int all);

    /* Settings: values under a key and an index, kept until the run ends. `setting_get` returns the
     * length of the value and copies at most `capacity` bytes, or returns -1 for a missing value.
     * `setting_add` appends a value. `setting_remove` removes one value, or all with index -1. */
    int (*setting_get)(void *self, uint16_t key, int index, uint8_t *to, size_t capacity);
    int (*setting_add)(void *self, uint16_t key, const uint8_t *value, size_t len);
    int (*setting_remove)(void *self, uint16_t key, int index);

    /* Prints text to the log of the run. A line ends with a line feed. */
    void (*print)(void *self, const char *text, size_t len);
    /* Ends the node and reports the reason. This function does not return. */
    void (*fail)(void *self, const char *reason);
    /* Reports an event of the stream of a scenario's app. The peer's address (16 bytes) and the
     * receiver's port identify the stream. The simulator compares the received bytes with the
     * sent ones, measures goodput, and ignores unknown streams. A receiver that does not know the
     * sender passes 16 zero bytes, which stand for the first stream to its port. */
    void (*stream)(void *self, enum redpoll_stream event, const uint8_t *peer, uint16_t port,
                   const uint8_t *bytes, size_t len);
};

/* Functions of the firmware. `context` is the value that `start` returned. A function that is NULL
 * is not called; `start` is required. */
struct redpoll_module {
    uint32_t version; /* REDPOLL_MODULE_VERSION of the firmware. */
    const char *name;
    /* Starts the node. `host` stays valid. */
    void *(*start)(const struct redpoll_host *host, const uint8_t eui64[8]);
    void (*on_alarm)(void *context);
    void (*on_frame)(void *context, const struct redpoll_frame *frame);
    void (*on_sent)(void *context, enum redpoll_sent sent);
    void (*on_energy)(void *context, int8_t dbm);
    /* Handles a line of the console, which ends with a zero byte. */
    void (*on_line)(void *context, const char *line);
};

extern const struct redpoll_module redpoll_module;

#ifdef __cplusplus
}
#endif

#endif
