/* Firmware for the tests of this crate: a node with the interface of Contiki-NG's nodes for
 * Cooja, without the rest of Contiki-NG.
 *
 * Node 1 sends a broadcast each second, then waits in a loop of three iterations and prints
 * the waiting time. The other nodes answer the broadcast. Each node prints a random number at
 * its start and when its microsecond timer fires. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int simMoteID;
char simMoteIDChanged;
int simRandomSeed;
uint64_t simCurrentTime;
uint64_t simRtimerCurrentTicks;
int simProcessRunValue;
int simEtimerPending;
uint64_t simEtimerNextExpirationTime;
int simRtimerPending;
uint64_t simRtimerNextExpirationTime;
int simOutSize;
char simOutDataBuffer[125];
char simReceiving;
int simInSize;
char simInDataBuffer[125];
int simSignalStrength = -100;
int simLQI;
char simRadioHWOn = 1;
uint64_t simLastPacketTimestamp;
char simLoggedFlag;
int simLoggedLength;
char simLoggedData[8192];

static unsigned ticks, sent, turns, missed;
static uint64_t loop_began;

static void
print(const char *text, uint64_t number)
{
  simLoggedLength += snprintf(simLoggedData + simLoggedLength,
                              sizeof(simLoggedData) - simLoggedLength,
                              "%s %llu\n", text, (unsigned long long)number);
  simLoggedFlag = 1;
}

/* Broadcasts a data frame from this node's EUI-64 in PAN 0xabcd, with its counter. */
static void
send(unsigned char what)
{
  unsigned char *frame = (unsigned char *)simOutDataBuffer;
  const unsigned char header[] = { 0x41, 0xd8, 0, 0xcd, 0xab, 0xff, 0xff };
  int i;
  memcpy(frame, header, sizeof(header));
  frame[2] = ++sent;
  for(i = 0; i < 8; i++) {
    frame[7 + i] = i % 2 ? simMoteID >> 8 : simMoteID;
  }
  frame[15] = what;
  simOutSize = 16;
}

/* `main` also exists in the program: like a complete node, call it by its dynamic symbol. */
int
main(void)
{
  print("begins", rand());
  simEtimerPending = simMoteID == 1;
  simEtimerNextExpirationTime = simRtimerCurrentTicks / 1000 + 1000;
  simRtimerPending = 1;
  simRtimerNextExpirationTime = simRtimerCurrentTicks + 12345;
  return 0;
}

int
cooja_init(void)
{
  return 0;
}

void
cooja_tick(void)
{
#ifdef HANGS
  while(ticks == HANGS) {
    __asm__ volatile("");
  }
#endif
  if(simMoteIDChanged) {
    simMoteIDChanged = 0;
    srand(simRandomSeed);
  }
  if(ticks++ == 0) {
    main();
    return;
  }
  if(simRtimerPending && simRtimerNextExpirationTime == simRtimerCurrentTicks) {
    simRtimerPending = 0;
    print("exactly", rand());
  } else if(simRtimerPending && simRtimerNextExpirationTime < simRtimerCurrentTicks) {
    simRtimerPending = 0;
    print("missed", ++missed);
  }
  if(turns > 0 && simOutSize == 0) {
    if(--turns == 0) {
      simProcessRunValue = 0;
      print("waited", simRtimerCurrentTicks - loop_began);
    }
  }
  if(simReceiving && simSignalStrength <= -95) {
    print("deaf", simSignalStrength + 200);
  }
  if(simInSize > 0) {
    print("heard", (unsigned char)simInDataBuffer[15]);
    simInSize = 0;
    if(simInDataBuffer[15] == 1) {
      send(100 + simMoteID);
    }
  }
  if(simEtimerPending && simRtimerCurrentTicks / 1000 >= simEtimerNextExpirationTime) {
    simEtimerNextExpirationTime += 1000;
    send(simMoteID);
    simProcessRunValue = 1;
    turns = 3;
    loop_began = simRtimerCurrentTicks;
  }
}
