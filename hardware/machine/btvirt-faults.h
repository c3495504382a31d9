/* Faults of the air, for btvirt-handles.c: what is lost, and what comes late. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How often a data packet has to be sent until it arrives: 1 on a clear air; 0 where the link breaks over it. */
int air_attempts(void);
/* Whether an advertisement is heard. */
int air_hears(void);
/* Writes a packet to a controller, in its order; a data packet as late as the air makes it. */
ssize_t air_deliver(int fd, const void *packet, size_t size, int attempts);
