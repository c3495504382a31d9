/* A host clock that can be wrong, and jump, while a program runs: preload this, and CLOCK_REALTIME is off by the seconds (a
   64-bit integer) in the file that CLOCK_SHIFT names. Monotonic clocks stay right, as they do on a machine whose clock is set.
   With CLOCK_NTP=1 the kernel says that a time server keeps the clock right, while it is right; without, that nobody does. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t none = 0;
static const volatile int64_t *shift = &none;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void begin(void) {
    real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("CLOCK_SHIFT");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) shift = page;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!real_clock_gettime) begin();
    int result = real_clock_gettime(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += *shift;
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (!time || clock_gettime(CLOCK_REALTIME, &now) != 0) return time ? -1 : 0;
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

int adjtimex(struct timex *state) {
    const char *word = getenv("CLOCK_NTP");
    struct timespec now;
    if (state->modes != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    int right = word && *word == '1' && *shift == 0;
    state->status = right ? STA_PLL : STA_UNSYNC;
    state->time.tv_sec = now.tv_sec;
    state->time.tv_usec = now.tv_nsec / 1000;
    return right ? TIME_OK : TIME_ERROR;
}
