/* Faults of the air itself, between btvirt's controllers: /run/air says which (bin/air-faults writes it, at any time).
 *
 * A radio loses packets, and its link layer sends each again in the next connection event until it is confirmed: for those above a loss is a delay.
 * When nothing comes through for the supervision timeout the link is gone, for both ends (reason 0x08). So it is here: a data packet gets through
 * with the first attempt, or an interval later with the second, and so on; over one that needs too many the link breaks. An advertisement is not
 * repeated by anybody: it is heard or not. The latency comes on top, for each data packet and in each direction; order is kept.
 */
#define _GNU_SOURCE
#include "btvirt-faults.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Core 5.4, Vol 6 Part B: the interval that BlueZ asks for by default (30 to 50 ms), and its supervision timeout of 420 ms. */
enum { INTERVAL_MS = 30, ATTEMPTS = 14, CONTROLLERS = 64 };

/* The file, as it lies in memory. */
static const volatile struct settings { uint32_t latency_ms, loss_percent, seed; } *settings;
static uint32_t seed, state = 1;

struct packet { struct packet *next; int64_t due; size_t size; uint8_t bytes[]; };
static struct { struct packet *first, **last; int64_t due; } queues[CONTROLLERS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int is_running;

__attribute__((constructor)) static void open_settings(void)
{
	pthread_condattr_t attributes;
	int file = open("/run/air", O_RDONLY | O_CLOEXEC);
	void *place = file < 0 ? MAP_FAILED : mmap(NULL, sizeof(*settings), PROT_READ, MAP_SHARED, file, 0);

	settings = place == MAP_FAILED ? NULL : place;
	if (file >= 0)
		close(file);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attributes);
}

static int is_lost(void)
{
	if (!settings || !settings->loss_percent)
		return 0;
	if (seed != settings->seed) {
		seed = settings->seed;
		state = seed * 2654435769u | 1;
	}
	/* xorshift32 (Marsaglia 2003) */
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state % 100 < settings->loss_percent;
}

int air_hears(void) { return !is_lost(); }

int air_attempts(void)
{
	int attempts = 1;

	while (is_lost())
		if (++attempts > ATTEMPTS)
			return 0;
	return attempts;
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* Writes each packet when it is due. */
static void *late(void *unused)
{
	struct timespec until;
	struct packet *packet;
	int next;

	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		next = -1;
		for (int fd = 0; fd < CONTROLLERS; fd++)
			if (queues[fd].first && (next < 0 || queues[fd].first->due < queues[next].first->due))
				next = fd;
		if (next < 0) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		packet = queues[next].first;
		if (packet->due > now()) {
			until = (struct timespec){ packet->due / 1000, packet->due % 1000 * 1000000 };
			pthread_cond_timedwait(&changed, &lock, &until);
			continue;
		}
		/* Under the lock: nobody overtakes it. Where it fails the controller is gone, and with it who would have read. */
		(void)!syscall(SYS_write, next, packet->bytes, packet->size);
		queues[next].first = packet->next;
		if (!packet->next)
			queues[next].last = &queues[next].first;
		free(packet);
	}
	return NULL;
}

ssize_t air_deliver(int fd, const void *bytes, size_t size, int attempts)
{
	int64_t delay = settings && attempts ? settings->latency_ms + (attempts - 1) * INTERVAL_MS : 0;
	struct packet *packet;
	pthread_t thread;
	ssize_t result;

	if (fd < 0 || fd >= CONTROLLERS)
		return syscall(SYS_write, fd, bytes, size);
	pthread_mutex_lock(&lock);
	packet = delay || queues[fd].first ? malloc(sizeof(*packet) + size) : NULL;
	if (packet && !is_running)
		is_running = pthread_create(&thread, NULL, late, NULL) == 0;
	if (packet && is_running) {
		if (!queues[fd].first)
			queues[fd].last = &queues[fd].first;
		packet->next = NULL;
		packet->due = now() + delay > queues[fd].due ? now() + delay : queues[fd].due;
		packet->size = size;
		memcpy(packet->bytes, bytes, size);
		queues[fd].due = packet->due;
		*queues[fd].last = packet;
		queues[fd].last = &packet->next;
		pthread_cond_signal(&changed);
		result = size;
	} else {
		free(packet);
		result = syscall(SYS_write, fd, bytes, size);
	}
	pthread_mutex_unlock(&lock);
	return result;
}
