"""Times of HCI commands and events from the monitor channel, independent of the compared programs."""
import ctypes
import select
import socket
import struct
import threading
import time

AF_BLUETOOTH, BTPROTO_HCI, MONITOR, NO_DEVICE = 31, 1, 2, 0xFFFF
# Monitor opcodes (BlueZ lib/hci.h).
COMMAND, EVENT = 2, 3
# HCI opcodes and events (Core 5.4, Vol 4 Part E, 7).
SCANS = (0x200C, 0x2042)
DISCONNECTION_COMPLETE, LE_META, CONNECTION_COMPLETE = 0x05, 0x3E, (0x01, 0x0A)


class Monitor:
    """Collects `events`, pairs of time and name: scan, connected, disconnected."""

    def __init__(self, adapter):
        self.adapter, self.events = adapter, []
        self.socket = socket.socket(AF_BLUETOOTH, socket.SOCK_RAW | socket.SOCK_CLOEXEC, BTPROTO_HCI)
        address = struct.pack("<HHH", AF_BLUETOOTH, NO_DEVICE, MONITOR)
        # Python's own bind cannot name a channel.
        if ctypes.CDLL(None, use_errno=True).bind(self.socket.fileno(), address, len(address)):
            raise OSError(ctypes.get_errno(), "the monitor channel cannot be bound")
        self.is_stopped = False
        self.thread = threading.Thread(target=self.follow, daemon=True)

    def __enter__(self):
        # Discard earlier packets.
        while select.select([self.socket], [], [], 0)[0]:
            self.socket.recv(65536)
        self.thread.start()
        return self

    def __exit__(self, *_):
        # Wait for the last disconnection.
        limit = time.monotonic() + 10
        while self.event_names().count("disconnected") < self.event_names().count("connected") and time.monotonic() < limit:
            time.sleep(0.05)
        self.is_stopped = True
        self.thread.join(5)
        self.socket.close()

    def event_names(self):
        return [event_name for _, event_name in self.events]

    def follow(self):
        while not self.is_stopped:
            if not select.select([self.socket], [], [], 0.2)[0]:
                continue
            packet, now = self.socket.recv(65536), time.monotonic()
            kind, adapter, _ = struct.unpack_from("<HHH", packet)
            if adapter == self.adapter and (event_name := self.event_name(kind, packet[6:])):
                self.events.append((now, event_name))

    @staticmethod
    def event_name(kind, data):
        if kind == COMMAND and len(data) >= 4:
            if struct.unpack_from("<H", data)[0] in SCANS and data[3] == 1:
                return "scan"
        elif kind == EVENT and len(data) >= 4:
            if data[0] == DISCONNECTION_COMPLETE:
                return "disconnected"
            if data[0] == LE_META and data[2] in CONNECTION_COMPLETE and data[3] == 0:
                return "connected"
        return None
