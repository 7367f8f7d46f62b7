/* The parts of OpenThread's openthread/ip6.h and message.h that the adapter needs. */
#ifndef STUB_OPENTHREAD_IP6_H
#define STUB_OPENTHREAD_IP6_H

#include <openthread/tcp.h>

typedef struct otMessage otMessage;
typedef struct otMessageSettings otMessageSettings;
typedef void (*otIp6ReceiveCallback)(otMessage *aMessage, void *aContext);

void otIp6SetReceiveCallback(otInstance *aInstance, otIp6ReceiveCallback aCallback,
                             void *aCallbackContext);
otMessage *otIp6NewMessage(otInstance *aInstance, const otMessageSettings *aSettings);
otError otIp6Send(otInstance *aInstance, otMessage *aMessage);
uint16_t otMessageGetLength(const otMessage *aMessage);
uint16_t otMessageRead(const otMessage *aMessage, uint16_t aOffset, void *aBuf,
                       uint16_t aLength);
otError otMessageAppend(otMessage *aMessage, const void *aBuf, uint16_t aLength);
void otMessageFree(otMessage *aMessage);

#endif
