/* Preloaded: the host's clock is wrong, and can be set while a program runs. CLOCK_SHIFT names a file with a 64-bit integer:
   seconds that are added to CLOCK_REALTIME, or with CLOCK_FROZEN=1 its value in seconds. Monotonic clocks are unchanged, as on a
   host whose clock is set. With CLOCK_NTP=1 or CLOCK_FROZEN=1 the kernel reports a synchronised clock if the shift is 0 or the
   clock is frozen. */
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
static int is_frozen, has_time_server;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

static int is_set(const char *name) {
    const char *value = getenv(name);
    return value && *value == '1';
}

__attribute__((constructor)) static void begin(void) {
    real_clock_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    has_time_server = is_set("CLOCK_NTP");
    const char *path = getenv("CLOCK_SHIFT");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) {
        shift = page;
        is_frozen = is_set("CLOCK_FROZEN");
    }
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!real_clock_gettime) begin();
    int result = real_clock_gettime(clock, time);
    if (result != 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
    if (is_frozen) *time = (struct timespec){0};
    time->tv_sec += *shift;
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (!time || clock_gettime(CLOCK_REALTIME, &now) != 0) return time ? -1 : 0;
    *time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *result) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

int adjtimex(struct timex *state) {
    struct timespec now;
    if (state->modes != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    int is_right = is_frozen || (has_time_server && *shift == 0);
    state->status = is_right ? STA_PLL : STA_UNSYNC;
    state->time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return is_right ? TIME_OK : TIME_ERROR;
}
