/* Preloaded into btvirt (BlueZ 5.66): lets an adapter hold more than one connection.
 *
 * Each controller counts its connection handles from 42 upwards. btvirt sends the peripheral the central's handle in LE
 * Connection Complete, and forwards ACL data with the sender's handle. That is correct only for the first connection of
 * two new adapters. This library reads the events of each controller (a file descriptor on /dev/vhci) as btvirt writes
 * them: it gives the peripheral a handle of its own, stores the pair, and renumbers ACL data for its receiver.
 *
 * A reset of an adapter ends its connections, but btvirt sends no event to the other ends: their kernels could neither
 * disconnect nor connect to that adapter again. This library sends the event of a real controller, a supervision timeout.
 *
 * Assumptions: btvirt is one thread; it writes one HCI packet with one writev; it announces a connection to
 * the peripheral and then, before anything else, to the central; ACL data is written while the packet that was read
 * last is being handled.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CONTROLLERS = 64, HANDLES = 64, FIRST_HANDLE = 42 };
enum { HCI_COMMAND = 1, HCI_ACL = 2, HCI_EVENT = 4 };
enum { DISCONNECTION_COMPLETE = 0x05, LE_META = 0x3e, LE_CONNECTION = 0x01, LE_ENHANCED_CONNECTION = 0x0a };
enum { ROLE_PERIPHERAL = 1, SUPERVISION_TIMEOUT = 0x08 };

struct end {
	int used;
	int other;		/* the file descriptor of the controller at the other end */
	uint16_t other_handle;	/* counted from 0, as the indices here */
};

static struct end ends[CONTROLLERS][HANDLES];
static int reading = -1;		/* whose packet is being handled */
static int waiting = -1;		/* the peripheral with the event, whose central is next */
static int waiting_handle;

static int known(int fd)
{
	return fd >= 0 && fd < CONTROLLERS;
}

static int free_handle(int fd)
{
	int handle = 0;

	while (handle < HANDLES - 1 && ends[fd][handle].used)
		handle++;
	return handle;
}

static int handle_of(const uint8_t *bytes)
{
	return ((bytes[0] | bytes[1] << 8) & 0x0fff) - FIRST_HANDLE;
}

/* The controller is being reset: 04 05 len status handle(2) reason to each that was connected with it. */
static void forget_connections(int fd)
{
	for (int handle = 0; handle < HANDLES; handle++) {
		struct end *end = &ends[fd][handle];
		uint16_t number = end->other_handle + FIRST_HANDLE;
		uint8_t event[] = { HCI_EVENT, DISCONNECTION_COMPLETE, 4, 0, number & 0xff, number >> 8, SUPERVISION_TIMEOUT };

		if (!end->used)
			continue;
		end->used = 0;
		if (!ends[end->other][end->other_handle].used)
			continue;
		ends[end->other][end->other_handle].used = 0;
		syscall(SYS_write, end->other, event, sizeof(event));
	}
}

ssize_t read(int fd, void *buffer, size_t size)
{
	static const uint8_t reset[] = { HCI_COMMAND, 0x03, 0x0c, 0x00 };
	ssize_t count = syscall(SYS_read, fd, buffer, size);

	if (count > 0 && known(fd)) {
		reading = fd;
		if (count == sizeof(reset) && !memcmp(buffer, reset, sizeof(reset)))
			forget_connections(fd);
	}
	return count;
}

/* LE [Enhanced] Connection Complete: 04 3e len subevent status handle(2) role … */
static void connection_complete(int fd, uint8_t *packet)
{
	int handle;

	if (packet[7] == ROLE_PERIPHERAL) {
		waiting = fd;
		waiting_handle = free_handle(fd);
		packet[5] = waiting_handle + FIRST_HANDLE;
		packet[6] = 0;
		return;
	}
	handle = handle_of(packet + 5);
	if (known(waiting) && handle >= 0 && handle < HANDLES) {
		ends[fd][handle] = (struct end){ 1, waiting, waiting_handle };
		ends[waiting][waiting_handle] = (struct end){ 1, fd, handle };
	}
	waiting = -1;
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
	uint8_t packet[2048];
	size_t size = 0;
	int handle;

	for (int i = 0; i < count; i++) {
		if (!known(fd) || size + parts[i].iov_len > sizeof(packet))
			return syscall(SYS_writev, fd, parts, count);
		memcpy(packet + size, parts[i].iov_base, parts[i].iov_len);
		size += parts[i].iov_len;
	}
	if (size >= 8 && packet[0] == HCI_EVENT && packet[1] == LE_META && packet[4] == 0 &&
	    (packet[3] == LE_CONNECTION || packet[3] == LE_ENHANCED_CONNECTION)) {
		connection_complete(fd, packet);
	} else if (size >= 7 && packet[0] == HCI_EVENT && packet[1] == DISCONNECTION_COMPLETE && packet[3] == 0) {
		handle = handle_of(packet + 4);
		if (handle >= 0 && handle < HANDLES)
			ends[fd][handle].used = 0;
	} else if (size >= 5 && packet[0] == HCI_ACL && known(reading)) {
		handle = handle_of(packet + 1);
		if (handle >= 0 && handle < HANDLES && ends[reading][handle].used && ends[reading][handle].other == fd) {
			handle = ends[reading][handle].other_handle + FIRST_HANDLE;
			packet[1] = handle;
			packet[2] = packet[2] & 0xf0;
		}
	}
	return syscall(SYS_write, fd, packet, size);
}
