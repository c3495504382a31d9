/* Kernel interfaces that the Glibc module lacks. */
#include <sys/epoll.h>
#include <sys/timex.h>
