/* A computer that does not exist: preload this, and the program sees another time of day, another uptime, another start of the computer, and
   what its kernel says of a time server. VIRTUAL_HOST names a file of three 64-bit integers: milliseconds that CLOCK_REALTIME is off, milliseconds
   that CLOCK_BOOTTIME is off, and 1 where a time server keeps the clock right (0: nobody does). VIRTUAL_BOOT names what stands in boot_id. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t nothing[3] = {0, 0, 0};
static const volatile int64_t *host = nothing;
static int is_ready;

__attribute__((constructor)) static void begin(void) {
    if (is_ready) return;
    is_ready = 1;
    const char *path = getenv("VIRTUAL_HOST");
    int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *page = mmap(NULL, sizeof nothing, PROT_READ, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) host = page;
    close(file);
}

static void add(struct timespec *time, int64_t milliseconds) {
    int64_t nanoseconds = time->tv_nsec + milliseconds % 1000 * 1000000;
    time->tv_sec += milliseconds / 1000;
    if (nanoseconds >= 1000000000) nanoseconds -= 1000000000, time->tv_sec++;
    if (nanoseconds < 0) nanoseconds += 1000000000, time->tv_sec--;
    time->tv_nsec = nanoseconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    begin();
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result != 0) return result;
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) add(now, host[0]);
    if (clock == CLOCK_BOOTTIME) add(now, host[1]);
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    (void)zone;
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}

int adjtimex(struct timex *state) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    state->status = host[2] == 1 ? STA_PLL : STA_UNSYNC;
    state->time.tv_sec = now.tv_sec;
    state->time.tv_usec = now.tv_nsec / 1000;
    return host[2] == 1 ? TIME_OK : TIME_ERROR;
}

static const char *instead(const char *path) {
    const char *boot = getenv("VIRTUAL_BOOT");
    return boot && path && strcmp(path, "/proc/sys/kernel/random/boot_id") == 0 ? boot : path;
}

#define OPENS(name, folder_parameter, folder) \
    int name(folder_parameter const char *path, int flags, ...) { \
        va_list rest; \
        va_start(rest, flags); \
        int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0; \
        va_end(rest); \
        return (int)syscall(SYS_openat, folder, instead(path), flags, mode); \
    }
#define NONE
#define FOLDER int folder,

OPENS(open, NONE, AT_FDCWD)
OPENS(open64, NONE, AT_FDCWD)
OPENS(openat, FOLDER, folder)
