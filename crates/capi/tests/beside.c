/* Links three stacks into one image: Redpoll checks its header, lwIP opens a connection, and a
 * function of TCPlp has an address. */
#include <stdio.h>

#include "redpoll.h"

int peers_lwip_open(void);
void peers_lwip_close(void);
extern void tcp_state_change(void); /* TCPlp's */

int main(void)
{
    int ours = RP_ABI_CHECK();
    int lwip = peers_lwip_open();
    peers_lwip_close();
    printf("Redpoll %d, lwIP %d, TCPlp %s\n", ours, lwip,
           tcp_state_change ? "is there" : "is not");
    return ours != 0;
}
