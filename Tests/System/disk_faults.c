/* Preloaded: one call that changes a file below DISK_ROOT goes wrong.
 *
 * DISK_CALL   which one, from 1; without it nothing happens
 * DISK_FAULT  eio, full (ENOSPC, and every further one too), kill (the process is killed before it), killafter (right after it)
 * DISK_LOG    a line for each such call: its number, what it is, the file
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum verdict { CONTINUE, FAIL, KILL_AFTER };
enum { PLACE = 4400 };

static atomic_long calls;
static long chosen = -1;
static int is_set_up, is_sticky, trouble, list = -1;
static const char *fault = "", *root;

static void set_up(void) {
    if (is_set_up) return;
    is_set_up = 1;
    root = getenv("DISK_ROOT");
    if (getenv("DISK_CALL")) chosen = atol(getenv("DISK_CALL"));
    if (getenv("DISK_FAULT")) fault = getenv("DISK_FAULT");
    is_sticky = strcmp(fault, "full") == 0;
    trouble = is_sticky ? ENOSPC : EIO;
    const char *name = getenv("DISK_LOG");
    if (name) list = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void die(void) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
}

static enum verdict check(const char *what, const char *path) {
    int before = errno;
    set_up();
    enum verdict verdict = CONTINUE;
    if (root && strncmp(path, root, strlen(root)) == 0) {
        long number = atomic_fetch_add(&calls, 1) + 1;
        if (list >= 0) {
            char line[PLACE + 100];
            int length = snprintf(line, sizeof line, "%ld %s %s\n", number, what, path);
            syscall(SYS_write, list, line, length);
        }
        // Calls that free space work on a full disk.
        int makes_room = strcmp(what, "unlink") == 0 || strcmp(what, "truncate") == 0;
        if (is_sticky && makes_room) chosen += number == chosen;
        else if (chosen > 0 && (number == chosen || (is_sticky && number > chosen))) {
            if (strcmp(fault, "kill") == 0) die();
            verdict = strcmp(fault, "killafter") == 0 ? KILL_AFTER : FAIL;
        }
    }
    errno = verdict == FAIL ? trouble : before;
    return verdict;
}

static enum verdict check_open(const char *what, int descriptor) {
    char link[64], path[PLACE];
    int before = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    errno = before;
    if (length <= 0) return CONTINUE;
    path[length] = 0;
    return check(what, path);
}

#define REAL(name) static typeof(&name) real; if (!real) real = (typeof(&name))dlsym(RTLD_NEXT, #name)
#define END(verdict, call) do { typeof(call) result = call; if (verdict == KILL_AFTER) die(); return result; } while (0)
#define OF_OPEN(result, name, what, parameters, arguments) \
    result name parameters { REAL(name); enum verdict v = check_open(what, descriptor); if (v == FAIL) return -1; END(v, real arguments); }
#define OF_PATH(name, what, parameters, arguments) \
    int name parameters { REAL(name); enum verdict v = check(what, path); if (v == FAIL) return -1; END(v, real arguments); }

OF_OPEN(ssize_t, write, "write", (int descriptor, const void *bytes, size_t count), (descriptor, bytes, count))
OF_OPEN(ssize_t, pwrite, "write", (int descriptor, const void *bytes, size_t count, off_t place), (descriptor, bytes, count, place))
OF_OPEN(ssize_t, pwrite64, "write", (int descriptor, const void *bytes, size_t count, off64_t place), (descriptor, bytes, count, place))
OF_OPEN(int, fsync, "fsync", (int descriptor), (descriptor))
OF_OPEN(int, fdatasync, "fsync", (int descriptor), (descriptor))
OF_OPEN(int, ftruncate, "truncate", (int descriptor, off_t size), (descriptor, size))
OF_OPEN(int, ftruncate64, "truncate", (int descriptor, off64_t size), (descriptor, size))
OF_PATH(rename, "rename", (const char *path, const char *new), (path, new))
OF_PATH(link, "link", (const char *path, const char *new), (path, new))
OF_PATH(unlink, "unlink", (const char *path), (path))
OF_PATH(mkdir, "mkdir", (const char *path, mode_t mode), (path, mode))
OF_PATH(mknod, "mknod", (const char *path, mode_t mode, dev_t device), (path, mode, device))

int linkat(int from, const char *path, int to, const char *new, int flags) {
    REAL(linkat);
    enum verdict v = check("link", new);
    if (v == FAIL) return -1;
    END(v, real(from, path, to, new, flags));
}

#define OPENING(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        mode_t mode = 0; \
        int makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; \
        if (makes) { va_list rest; va_start(rest, flags); mode = va_arg(rest, int); va_end(rest); } \
        enum verdict v = makes ? check("create", path) : CONTINUE; \
        if (v == FAIL) return -1; \
        END(v, real(path, flags, mode)); \
    }
OPENING(open)
OPENING(open64)
