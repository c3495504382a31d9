/* Interfaces of the kernel that the Glibc module lacks. */
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/hci_lib.h>
#include <bluetooth/l2cap.h>

/* ioctl is variadic and HCIDEVUP a macro with a cast: neither can be imported. */
static inline int waterh_hci_switch_on(int descriptor, int device) { return ioctl(descriptor, HCIDEVUP, device); }
