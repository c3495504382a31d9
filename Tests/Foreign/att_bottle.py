#!/usr/bin/env python3
"""A hand-written retail bottle as an ATT server on a SEQPACKET socket: see README.md."""

import argparse
import json
import os
import socket
import struct
import time

import retail

LIES = {
    "no-mtu": "refuses to exchange the MTU",
    "mute": "answers nothing at all",
    "endless-services": "shows a service at every handle, and starts again at the first",
    "wrong-lengths": "answers discovery with lists whose length byte lies",
    "unasked": "sends answers to nothing that was asked",
    "short-values": "sends notifications that are too short for a handle",
    "endless-notifications": "never stops notifying rubbish once subscribed",
    "hang-up": "disconnects in the middle of the log",
    "half-log": "announces more log than it sends",
}

NAME = b"WaterH-Bottle-B003"
ADDRESS = b"A4:C1:38:0F:0E:0D"


class Bottle:
    """Handles: 1 GAP, 3 name; 4 device information, 6 serial; 7 service FFE5, 9 FFE9; 10 service FFE0, 12 FFE4, 13 CCCD."""

    def __init__(self, records, lie):
        self.records, self.lie = records, lie
        self.acknowledged = 0
        self.services = [(1, 3, 0x1800), (4, 6, 0x180A), (7, 9, 0xFFE5), (10, 13, 0xFFE0)]
        self.characteristics = [(2, 0x02, 3, 0x2A00), (5, 0x02, 6, 0x2A25), (8, 0x04, 9, 0xFFE9), (11, 0x10, 12, 0xFFE4)]
        self.values = {3: NAME, 6: ADDRESS}
        self.central, self.mtu, self.subscribed = None, 23, False

    def serve(self, central):
        self.central, self.mtu, self.subscribed = central, 23, False
        while True:
            try:
                pdu = central.recv(1024)
            except ConnectionError:
                return
            if not pdu:
                return
            if self.lie == "mute":
                continue
            try:
                answer = self.answer(pdu)
                if answer is not None:
                    central.send(answer[: self.mtu] if self.lie is None else answer)
                self.after(pdu)
            except (ConnectionError, BrokenPipeError):
                return

    def error(self, pdu, handle, code):
        return struct.pack("<BBHB", 0x01, pdu[0], handle, code)

    def answer(self, pdu):
        opcode = pdu[0]
        if self.lie == "unasked" and opcode == 0x10:
            self.central.send(b"\x0b\x01")
        if opcode == 0x02:
            if self.lie == "no-mtu":
                return self.error(pdu, 0, 0x06)
            self.mtu = max(23, min(247, struct.unpack("<H", pdu[1:])[0]))
            return struct.pack("<BH", 0x03, 247)
        if opcode in (0x10, 0x08):
            return self.page(pdu, *struct.unpack("<HHH", pdu[1:7]))
        if opcode == 0x04:
            first, last = struct.unpack("<HH", pdu[1:])
            return b"\x05\x01" + struct.pack("<HH", 13, 0x2902) if first <= 13 <= last else self.error(pdu, first, 0x0A)
        if opcode == 0x0A:
            handle = struct.unpack("<H", pdu[1:])[0]
            return b"\x0b" + self.values[handle] if handle in self.values else self.error(pdu, handle, 0x02)
        if opcode == 0x0C:
            handle, offset = struct.unpack("<HH", pdu[1:])
            return b"\x0d" + self.values[handle][offset:] if handle in self.values else self.error(pdu, handle, 0x02)
        if opcode == 0x12:
            handle = struct.unpack("<H", pdu[1:3])[0]
            if handle != 13:
                return self.error(pdu, handle, 0x03)
            self.subscribed = pdu[3:] == b"\x01\x00"
            return b"\x13"
        if opcode == 0x52 or opcode == 0x1E:
            return None
        return self.error(pdu, 0, 0x06)

    def page(self, pdu, first, last, kind):
        if pdu[0] == 0x10:
            if self.lie == "endless-services":
                first = first % 0xFFFE or 1
                return b"\x11\x06" + struct.pack("<HHH", first, first, 0x1800)
            items = [(start, struct.pack("<HHH", start, end, uuid)) for start, end, uuid in self.services if kind == 0x2800]
        else:
            items = [(at, struct.pack("<HBHH", at, props, value, uuid)) for at, props, value, uuid in self.characteristics if kind == 0x2803]
        items = [item for at, item in items if first <= at <= last][: (self.mtu - 2) // 7]
        if not items:
            return self.error(pdu, first, 0x0A)
        size = len(items[0]) + (1 if self.lie == "wrong-lengths" else 0)
        return bytes([pdu[0] + 1, size]) + b"".join(items)

    def after(self, pdu):
        if self.lie == "endless-notifications" and self.subscribed:
            while True:
                self.notify(b"rubbish")
        if pdu[0] != 0x52 or pdu[1:3] != b"\x09\x00":
            return
        value = pdu[3:]
        self.acknowledged += retail.acknowledged(value)
        answers = retail.answers(value, self.records)
        if value == retail.ASK_LOG and self.lie == "half-log":
            answers[1:] = retail.log(self.records, more=50)
        elif value[:2] == b"PT" and len(value) == 24:
            # One command sets the goal, the clock and the reminder.
            entries = value[4:8] + b"\x02\x03\x00" + value[16:24]
            answers = [b"RP" + struct.pack(">H", len(entries)) + entries]
        for index, answer in enumerate(answers):
            if self.lie == "hang-up" and index == 2:  # In the middle of the log.
                self.central.shutdown(socket.SHUT_RDWR)
                return
            self.notify(answer)

    def notify(self, value):
        if not self.subscribed:
            return
        if self.lie == "short-values":
            self.central.send(b"\x1b\x0c")
        self.central.send((b"\x1b\x0c\x00" + value)[: self.mtu])


def drinks(count):
    """One record per minute until ten minutes ago. The first has 100 ml, and each later one a little more."""
    now = time.time()
    return [retail.record(time.localtime(now - 600 - 60 * (count - number)), 100 + number % 50) for number in range(count)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("path")
    parser.add_argument("--records", type=int, default=20)
    parser.add_argument("--connections", type=int, default=1, help="ends after so many")
    parser.add_argument("--lie", choices=sorted(LIES))
    options = parser.parse_args()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(options.path)
    listener.listen(4)
    listener.settimeout(60)
    print("ready", flush=True)
    bottle = Bottle(drinks(options.records), options.lie)
    try:
        for _ in range(options.connections):
            central, _ = listener.accept()
            with central:
                central.settimeout(60)
                bottle.serve(central)
            print(json.dumps({"acknowledged": bottle.acknowledged, "left": len(bottle.records)}), flush=True)
    finally:
        os.unlink(options.path)


main()
