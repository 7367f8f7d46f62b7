/* OpenThread as a module of Redpoll's simulator: the platform layer over redpoll_module.h.
 *
 * The simulated radio performs CSMA-CA, waits for acknowledgements, filters addresses and matches
 * sources. OpenThread performs retries and security. There is no CSL, no TREL and no reset. The
 * application in bulk.c runs over Redpoll's TCP, or over OpenThread's TCP or CoAP. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <openthread/cli.h>
#include <openthread/instance.h>
#include <openthread/tasklet.h>
#include <openthread/platform/alarm-milli.h>
#include <openthread/platform/entropy.h>
#include <openthread/platform/logging.h>
#include <openthread/platform/misc.h>
#include <openthread/platform/radio.h>
#include <openthread/platform/settings.h>

#include "node.h"

#define FCS_LEN 2
#define ACK_LEN 5
#define DEFAULT_DBM 0
#define SENSITIVITY_DBM (-100)
#define LINE_MAX 1024
/* Entries of the source match table, which exceed OpenThread's maximum number of children. */
#define MATCHES 128
/* Keys of settings are below this number. */
#define KEYS 0x20

struct match {
    uint8_t address[8]; /* In printed order. */
    uint8_t len;        /* 2, 8, or 0 if unused. */
};

const struct redpoll_host *host;
otInstance *instance;
static uint8_t device[8];

/* Times of OpenThread's alarm and of the simulator's, which is the earliest of all alarms. */
static uint64_t alarm_us = REDPOLL_NEVER, host_alarm_us = REDPOLL_NEVER;

static otRadioState state = OT_RADIO_STATE_DISABLED;
static uint8_t channel = 26;
static bool promiscuous;
static int8_t power_dbm = DEFAULT_DBM;
static otPanId pan_id = 0xffff;
static otShortAddress short_address = 0xfffe;
static uint8_t extended[8];
static struct match matches[MATCHES];
static uint8_t sent_bytes[OT_RADIO_FRAME_MAX_SIZE];
static otRadioFrame sent_frame = {.mPsdu = sent_bytes};

/* ---- Alarm, entropy, log, console ---- */

uint32_t otPlatAlarmMilliGetNow(void)
{
    return (uint32_t)(host->now_us(host->self) / 1000);
}

void otPlatAlarmMilliStartAt(otInstance *it, uint32_t t0, uint32_t dt)
{
    uint64_t now_ms = host->now_us(host->self) / 1000;
    int32_t left = (int32_t)(t0 + dt - (uint32_t)now_ms);
    (void)it;
    alarm_us = (now_ms + (uint64_t)(left > 0 ? left : 0)) * 1000;
}

void otPlatAlarmMilliStop(otInstance *it)
{
    (void)it;
    alarm_us = REDPOLL_NEVER;
}

otError otPlatEntropyGet(uint8_t *to, uint16_t len)
{
    host->random(host->self, to, len);
    return OT_ERROR_NONE;
}

static void print(const char *format, va_list arguments, const char *end)
{
    char line[LINE_MAX], *to = line;
    int len = vsnprintf(line, sizeof line - 1, format, arguments);
    if (len < 0)
        return;
    strcat(line, end);
    for (const char *from = line; *from != 0; from++)
        if (*from != '\r')
            *to++ = *from;
    host->print(host->self, line, (size_t)(to - line));
}

void print_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print(format, arguments, "\n");
    va_end(arguments);
}

void otPlatLog(otLogLevel level, otLogRegion region, const char *format, ...)
{
    va_list arguments;
    (void)level;
    (void)region;
    va_start(arguments, format);
    print(format, arguments, "\n");
    va_end(arguments);
}

static int on_output(void *context, const char *format, va_list arguments)
{
    (void)context;
    print(format, arguments, "");
    return 0;
}

void otPlatReset(otInstance *it)
{
    (void)it;
    host->fail(host->self, "OpenThread reset itself; a module cannot be reset");
}

/* ---- Settings ---- */

void otPlatSettingsInit(otInstance *it, const uint16_t *keys, uint16_t len)
{
    (void)it;
    (void)keys;
    (void)len;
}

void otPlatSettingsDeinit(otInstance *it)
{
    (void)it;
}

otError otPlatSettingsGet(otInstance *it, uint16_t key, int index, uint8_t *to, uint16_t *len)
{
    size_t capacity = to != NULL && len != NULL ? *len : 0;
    int found = host->setting_get(host->self, key, index, to, capacity);
    (void)it;
    if (found < 0)
        return OT_ERROR_NOT_FOUND;
    if (len != NULL)
        *len = (uint16_t)found;
    return OT_ERROR_NONE;
}

otError otPlatSettingsSet(otInstance *it, uint16_t key, const uint8_t *value, uint16_t len)
{
    host->setting_remove(host->self, key, -1);
    return otPlatSettingsAdd(it, key, value, len);
}

otError otPlatSettingsAdd(otInstance *it, uint16_t key, const uint8_t *value, uint16_t len)
{
    (void)it;
    host->setting_add(host->self, key, value, len);
    return OT_ERROR_NONE;
}

otError otPlatSettingsDelete(otInstance *it, uint16_t key, int index)
{
    (void)it;
    return host->setting_remove(host->self, key, index) == 0 ? OT_ERROR_NONE : OT_ERROR_NOT_FOUND;
}

void otPlatSettingsWipe(otInstance *it)
{
    (void)it;
    for (uint16_t key = 0; key < KEYS; key++)
        host->setting_remove(host->self, key, -1);
}

/* ---- Radio: addresses and properties ---- */

static void set_address(void)
{
    host->set_address(host->self, pan_id, short_address, extended);
}

/* OpenThread's extended addresses are in the order of transmission, except the EUI-64. */
static void reverse(uint8_t to[8], const uint8_t from[8])
{
    for (int i = 0; i < 8; i++)
        to[i] = from[7 - i];
}

void otPlatRadioGetIeeeEui64(otInstance *it, uint8_t *to)
{
    (void)it;
    memcpy(to, device, sizeof device);
}

void otPlatRadioSetPanId(otInstance *it, otPanId id)
{
    (void)it;
    pan_id = id;
    set_address();
}

void otPlatRadioSetExtendedAddress(otInstance *it, const otExtAddress *address)
{
    (void)it;
    reverse(extended, address->m8);
    set_address();
}

void otPlatRadioSetShortAddress(otInstance *it, otShortAddress address)
{
    (void)it;
    short_address = address;
    set_address();
}

otRadioCaps otPlatRadioGetCaps(otInstance *it)
{
    (void)it;
    return OT_RADIO_CAPS_ACK_TIMEOUT | OT_RADIO_CAPS_CSMA_BACKOFF | OT_RADIO_CAPS_ENERGY_SCAN |
           OT_RADIO_CAPS_SLEEP_TO_TX;
}

int8_t otPlatRadioGetReceiveSensitivity(otInstance *it)
{
    (void)it;
    return SENSITIVITY_DBM;
}

otError otPlatRadioGetTransmitPower(otInstance *it, int8_t *power)
{
    (void)it;
    *power = power_dbm;
    return OT_ERROR_NONE;
}

otError otPlatRadioSetTransmitPower(otInstance *it, int8_t power)
{
    (void)it;
    power_dbm = power;
    return OT_ERROR_NONE;
}

otError otPlatRadioGetCcaEnergyDetectThreshold(otInstance *it, int8_t *threshold)
{
    (void)it;
    (void)threshold;
    return OT_ERROR_NOT_IMPLEMENTED;
}

otError otPlatRadioSetCcaEnergyDetectThreshold(otInstance *it, int8_t threshold)
{
    (void)it;
    (void)threshold;
    return OT_ERROR_NOT_IMPLEMENTED;
}

bool otPlatRadioGetPromiscuous(otInstance *it)
{
    (void)it;
    return promiscuous;
}

void otPlatRadioSetPromiscuous(otInstance *it, bool on)
{
    (void)it;
    promiscuous = on;
}

int8_t otPlatRadioGetRssi(otInstance *it)
{
    (void)it;
    return host->rssi_dbm(host->self);
}

/* ---- Radio: states and frames ---- */

static void rest(otRadioState next)
{
    state = next;
    host->listen(host->self, next == OT_RADIO_STATE_RECEIVE);
}

static void tune(uint8_t to)
{
    if (to != channel)
        host->set_channel(host->self, to);
    channel = to;
}

otError otPlatRadioEnable(otInstance *it)
{
    (void)it;
    if (state == OT_RADIO_STATE_DISABLED)
        rest(OT_RADIO_STATE_SLEEP);
    return OT_ERROR_NONE;
}

otError otPlatRadioDisable(otInstance *it)
{
    (void)it;
    rest(OT_RADIO_STATE_DISABLED);
    return OT_ERROR_NONE;
}

otError otPlatRadioSleep(otInstance *it)
{
    (void)it;
    if (state != OT_RADIO_STATE_SLEEP && state != OT_RADIO_STATE_RECEIVE)
        return OT_ERROR_INVALID_STATE;
    rest(OT_RADIO_STATE_SLEEP);
    return OT_ERROR_NONE;
}

otError otPlatRadioReceive(otInstance *it, uint8_t on)
{
    (void)it;
    if (state == OT_RADIO_STATE_DISABLED)
        return OT_ERROR_INVALID_STATE;
    tune(on);
    rest(OT_RADIO_STATE_RECEIVE);
    return OT_ERROR_NONE;
}

otRadioFrame *otPlatRadioGetTransmitBuffer(otInstance *it)
{
    (void)it;
    return &sent_frame;
}

otError otPlatRadioTransmit(otInstance *it, otRadioFrame *frame)
{
    uint8_t backoffs = frame->mInfo.mTxInfo.mCsmaCaEnabled ? frame->mInfo.mTxInfo.mMaxCsmaBackoffs
                                                           : REDPOLL_NO_CCA;
    if (state != OT_RADIO_STATE_RECEIVE && state != OT_RADIO_STATE_SLEEP)
        return OT_ERROR_INVALID_STATE;
    tune(frame->mChannel);
    if (host->transmit(host->self, frame->mPsdu, frame->mLength - FCS_LEN, backoffs) != 0)
        return OT_ERROR_INVALID_STATE;
    state = OT_RADIO_STATE_TRANSMIT;
    otPlatRadioTxStarted(it, frame);
    return OT_ERROR_NONE;
}

otError otPlatRadioEnergyScan(otInstance *it, uint8_t on, uint16_t duration_ms)
{
    (void)it;
    tune(on);
    return host->measure_energy(host->self, duration_ms * 1000u) == 0 ? OT_ERROR_NONE : OT_ERROR_BUSY;
}

/* ---- Radio: source match ---- */

static struct match *find(const uint8_t *address, uint8_t len)
{
    for (struct match *it = matches; it < matches + MATCHES; it++)
        if (it->len == len && memcmp(it->address, address, len) == 0)
            return it;
    return NULL;
}

static otError match(const uint8_t *address, uint8_t len)
{
    static const uint8_t none[8];
    struct match *it = find(address, len);
    if (it == NULL)
        it = find(none, 0);
    if (it == NULL)
        return OT_ERROR_NO_BUFS;
    memcpy(it->address, address, len);
    it->len = len;
    host->source_match(host->self, address, len, 1);
    return OT_ERROR_NONE;
}

static otError unmatch(const uint8_t *address, uint8_t len)
{
    struct match *it = find(address, len);
    if (it == NULL)
        return OT_ERROR_NO_ADDRESS;
    host->source_match(host->self, address, len, 0);
    it->len = 0;
    return OT_ERROR_NONE;
}

static void unmatch_all(uint8_t len)
{
    for (struct match *it = matches; it < matches + MATCHES; it++)
        if (it->len == len)
            unmatch(it->address, len);
}

void otPlatRadioEnableSrcMatch(otInstance *it, bool on)
{
    (void)it;
    host->source_match_all(host->self, !on);
}

otError otPlatRadioAddSrcMatchShortEntry(otInstance *it, otShortAddress address)
{
    uint8_t bytes[2] = {address >> 8, address & 0xff};
    (void)it;
    return match(bytes, 2);
}

otError otPlatRadioAddSrcMatchExtEntry(otInstance *it, const otExtAddress *address)
{
    uint8_t bytes[8];
    (void)it;
    reverse(bytes, address->m8);
    return match(bytes, 8);
}

otError otPlatRadioClearSrcMatchShortEntry(otInstance *it, otShortAddress address)
{
    uint8_t bytes[2] = {address >> 8, address & 0xff};
    (void)it;
    return unmatch(bytes, 2);
}

otError otPlatRadioClearSrcMatchExtEntry(otInstance *it, const otExtAddress *address)
{
    uint8_t bytes[8];
    (void)it;
    reverse(bytes, address->m8);
    return unmatch(bytes, 8);
}

void otPlatRadioClearSrcMatchShortEntries(otInstance *it)
{
    (void)it;
    unmatch_all(2);
}

void otPlatRadioClearSrcMatchExtEntries(otInstance *it)
{
    (void)it;
    unmatch_all(8);
}

/* ---- Events ---- */

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* Carries out everything that is due, and sets the alarm for the rest. */
static void process(void)
{
    do {
        while (otTaskletsArePending(instance))
            otTaskletsProcess(instance);
        bulk_serve();
    } while (redpoll_serve() || otTaskletsArePending(instance));
    uint64_t due = earlier(alarm_us, earlier(redpoll_due(), bulk_due()));
    if (due != host_alarm_us)
        host->set_alarm(host->self, due);
    host_alarm_us = due;
}

static void *start(const struct redpoll_host *given, const uint8_t eui64[8])
{
    host = given;
    memcpy(device, eui64, sizeof device);
    instance = otInstanceInitSingle();
    otCliInit(instance, on_output, NULL);
    bulk_init();
    process();
    return instance;
}

static void on_alarm(void *context)
{
    host_alarm_us = REDPOLL_NEVER;
    if (alarm_us <= host->now_us(host->self)) {
        alarm_us = REDPOLL_NEVER;
        otPlatAlarmMilliFired(context);
    }
    process();
}

static void on_frame(void *context, const struct redpoll_frame *from)
{
    uint8_t bytes[OT_RADIO_FRAME_MAX_SIZE] = {0};
    otRadioFrame frame = {.mPsdu = bytes, .mChannel = channel};
    memcpy(bytes, from->bytes, from->len);
    frame.mLength = (uint16_t)(from->len + FCS_LEN);
    frame.mInfo.mRxInfo.mTimestamp = host->now_us(host->self);
    frame.mInfo.mRxInfo.mRssi = from->rssi_dbm;
    frame.mInfo.mRxInfo.mLqi = from->lqi;
    frame.mInfo.mRxInfo.mAckedWithFramePending = from->acked_pending;
    if (state == OT_RADIO_STATE_RECEIVE || state == OT_RADIO_STATE_TRANSMIT)
        otPlatRadioReceiveDone(context, &frame, OT_ERROR_NONE);
    process();
}

static void on_sent(void *context, enum redpoll_sent sent)
{
    bool is_acked = sent == REDPOLL_ACKED || sent == REDPOLL_ACKED_PENDING;
    uint8_t bytes[ACK_LEN] = {sent == REDPOLL_ACKED_PENDING ? 0x12 : 0x02, 0, sent_bytes[2]};
    otRadioFrame ack = {.mPsdu = bytes, .mLength = ACK_LEN, .mChannel = channel};
    otError error = sent == REDPOLL_NO_ACK         ? OT_ERROR_NO_ACK
                    : sent == REDPOLL_CHANNEL_BUSY ? OT_ERROR_CHANNEL_ACCESS_FAILURE
                                                   : OT_ERROR_NONE;
    ack.mInfo.mRxInfo.mRssi = OT_RADIO_RSSI_INVALID;
    if (state == OT_RADIO_STATE_TRANSMIT) {
        rest(OT_RADIO_STATE_RECEIVE);
        otPlatRadioTxDone(context, &sent_frame, is_acked ? &ack : NULL, error);
    }
    process();
}

static void on_energy(void *context, int8_t dbm)
{
    otPlatRadioEnergyScanDone(context, dbm);
    process();
}

static void on_line(void *context, const char *line)
{
    char text[LINE_MAX];
    (void)context;
    snprintf(text, sizeof text, "%s", line);
    otCliInputLine(text);
    process();
}

const struct redpoll_module redpoll_module = {
    REDPOLL_MODULE_VERSION, "openthread", start, on_alarm, on_frame, on_sent, on_energy, on_line,
};
