/* air repeat | air ready N: helpers for the virtual controllers. Linked statically: it runs from the initramfs.
 *
 * repeat: repeats the advertisements of the virtual controllers. A real advertiser sends every few hundred milliseconds. btvirt reports each
 * advertiser to a scanner once: when the scan starts (before the kernel accepts reports, so the report is lost), or when advertising is switched on.
 * During a scan, this program switches each advertisement off and on by raw HCI commands, once soon after the scan's start and then once a second.
 * Without a scan it sends nothing, because that would disturb connection attempts. It reads the state of each controller from the HCI monitor channel.
 *
 * ready N: waits until the kernel has set up N adapters; exit code 1 when it gives one up. Each adapter's first HCI command has 2 s
 * (HCI_CMD_TIMEOUT). Without a response, the kernel logs "hci0: Opcode 0x0c03 failed: -110" and the adapter stays in its setup (HCI_SETUP):
 * hciconfig can switch it on, but its kernel never scans, so a connection attempt only ends by its time limit. The management channel's index list
 * leaves such adapters out (net/bluetooth/mgmt.c, read_index_list).
 */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PF_BT = 31, BTPROTO_HCI = 1, RAW = 0, MONITOR = 2, CONTROL = 3, NO_DEVICE = 0xffff, CONTROLLERS = 64 };
/* Monitor opcodes (BlueZ lib/hci.h, monitor format): 0 and 1 come when an adapter appears and goes. */
enum { NEW_INDEX, DEL_INDEX, COMMAND, EVENT };
/* HCI opcodes (Core 5.4, Vol 4 Part E, 7.8) and the events that answer them. */
enum { ADVERTISE = 0x200a, SCAN = 0x200c, CREATE_CONNECTION = 0x200d, HCI_RESET = 0x0c03 };
enum { COMMAND_COMPLETE = 0x0e, LE_META = 0x3e, LE_CONNECTION = 0x01, LE_ENHANCED_CONNECTION = 0x0a };
enum { READ_INDEX_LIST = 0x0003, LIMIT_MS = 6000, SOON_MS = 150, PERIOD_MS = 1000 };

struct address { uint16_t family, device, channel; };

static struct controller { int advertises, scans, asked_advertise, asked_scan; } controllers[CONTROLLERS];

static int16_t le16(const uint8_t *bytes) { return bytes[0] | bytes[1] << 8; }

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static int hci_socket(int device, int channel)
{
	struct address address = { PF_BT, device, channel };
	int made = socket(PF_BT, SOCK_RAW | SOCK_CLOEXEC, BTPROTO_HCI);

	if (made >= 0 && bind(made, (struct sockaddr *)&address, sizeof(address)) == 0)
		return made;
	if (made >= 0)
		close(made);
	return -1;
}

static void repeat_advertising(int device)
{
	static const uint8_t packets[2][5] = { { 1, 0x0a, 0x20, 1, 0 }, { 1, 0x0a, 0x20, 1, 1 } };
	int raw = hci_socket(device, RAW);

	/* A controller that disappears accepts no command; the monitor channel reports it next. */
	for (int on = 0; raw >= 0 && on < 2; on++)
		if (write(raw, packets[on], sizeof(packets[on])) < 0)
			break;
	if (raw >= 0)
		close(raw);
}

/* Follows one packet; true when a scan begins. */
static int hear(struct controller *controller, int kind, const uint8_t *data, int size)
{
	uint16_t opcode;
	int before;

	if (kind == COMMAND && size >= 4) {
		opcode = le16(data);
		if (opcode == ADVERTISE)
			controller->asked_advertise = data[3];
		else if (opcode == SCAN)
			controller->asked_scan = data[3];
		else if (opcode == CREATE_CONNECTION)
			controller->scans = 0;
	} else if (kind == EVENT && size >= 6 && data[0] == COMMAND_COMPLETE) {
		opcode = le16(data + 3);
		if (opcode == HCI_RESET) {
			controller->advertises = controller->scans = 0;
		} else if (data[5] == 0 && opcode == ADVERTISE) {
			controller->advertises = controller->asked_advertise == 1;
		} else if (data[5] == 0 && opcode == SCAN) {
			before = controller->scans;
			controller->scans = controller->asked_scan == 1;
			return controller->scans && !before;
		}
	} else if (kind == EVENT && size >= 4 && data[0] == LE_META && (data[2] == LE_CONNECTION || data[2] == LE_ENHANCED_CONNECTION) && data[3] == 0) {
		controller->advertises = 0; /* A connectable advertisement ends with the connection that it brought. */
	}
	return 0;
}

static int repeat(void)
{
	struct pollfd monitor = { hci_socket(NO_DEVICE, MONITOR), POLLIN, 0 };
	uint8_t packet[4096];
	int64_t due = -1, left;
	int device, kind, size, scanning;

	if (monitor.fd < 0)
		return perror("air: the HCI monitor channel"), 1;
	for (;;) {
		left = due < 0 ? -1 : due > now() ? due - now() : 0;
		if (poll(&monitor, 1, left) > 0) {
			size = read(monitor.fd, packet, sizeof(packet));
			if (size < 6)
				continue;
			kind = le16(packet);
			device = (uint16_t)le16(packet + 2);
			if (device >= CONTROLLERS)
				continue;
			if (kind == NEW_INDEX || kind == DEL_INDEX)
				memset(&controllers[device], 0, sizeof(controllers[device]));
			else if (hear(&controllers[device], kind, packet + 6, size - 6))
				due = now() + SOON_MS;
			scanning = 0;
			for (int i = 0; i < CONTROLLERS; i++)
				scanning |= controllers[i].scans;
			if (!scanning)
				due = -1;
			continue;
		}
		for (int i = 0; i < CONTROLLERS; i++)
			if (controllers[i].advertises)
				repeat_advertising(i);
		due = now() + PERIOD_MS;
	}
}

static int ready(int wanted)
{
	static const uint8_t question[] = { READ_INDEX_LIST, 0, 0xff, 0xff, 0, 0 };
	struct pollfd channel = { hci_socket(NO_DEVICE, CONTROL), POLLIN, 0 };
	int64_t end = now() + LIMIT_MS;
	uint8_t answer[512];
	int size;

	if (channel.fd < 0)
		return perror("air: the management channel"), 1;
	while (now() < end) {
		if (write(channel.fd, question, sizeof(question)) < 0)
			return perror("air: the management channel"), 1;
		while (poll(&channel, 1, 100) > 0) {
			size = read(channel.fd, answer, sizeof(answer));
			/* Command Complete: event, index, length; opcode, status; count. */
			if (size >= 11 && le16(answer) == 1 && le16(answer + 6) == READ_INDEX_LIST && le16(answer + 9) >= wanted)
				return 0;
		}
	}
	return 1;
}

int main(int count, char **words)
{
	if (count == 2 && !strcmp(words[1], "repeat"))
		return repeat();
	if (count == 3 && !strcmp(words[1], "ready"))
		return ready(atoi(words[2]));
	fprintf(stderr, "usage: air repeat | air ready N\n");
	return 2;
}
