#!/usr/bin/env python3
"""A hand-written ATT central on a SEQPACKET socket: see README.md."""

import json
import signal
import socket
import struct
import sys
import time

import retail

PRIMARY, CHARACTERISTIC = 0x2800, 0x2803


class Refused(Exception):
    def __init__(self, request, handle, code):
        super().__init__(f"request {request:02x} on handle {handle} refused with {code:02x}")
        self.code = code


class Central:
    def __init__(self, path, limit=10):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(limit)
        self.socket.connect(path)
        self.mtu = 23
        self.values = []  # (handle, value) of notifications

    def send(self, pdu):
        self.socket.send(bytes(pdu))

    def receive(self):
        pdu = self.socket.recv(2048)
        if not pdu:
            raise ConnectionError("the peripheral disconnected")
        if pdu[0] in (0x1B, 0x1D):
            self.values.append((struct.unpack_from("<H", pdu, 1)[0], pdu[3:]))
            if pdu[0] == 0x1D:
                self.send([0x1E])
            return None
        return pdu

    def request(self, pdu):
        self.send(pdu)
        while True:
            answer = self.receive()
            if answer is None:
                continue
            if answer[0] == 0x01:
                assert len(answer) == 5 and answer[1] == pdu[0], answer.hex()
                raise Refused(answer[1], struct.unpack_from("<H", answer, 2)[0], answer[4])
            assert answer[0] == pdu[0] + 1, f"{bytes(pdu).hex()} answered with {answer.hex()}"
            assert len(answer) <= max(self.mtu, 23), f"{len(answer)} bytes at MTU {self.mtu}"
            return answer

    def exchange_mtu(self, mtu=517):
        theirs = struct.unpack("<H", self.request(struct.pack("<BH", 0x02, mtu))[1:])[0]
        self.mtu = max(23, min(mtu, theirs))

    def pages(self, opcode, first, last, kind):
        """Reads By (Group) Type until the server has no more entries. Yields each entry."""
        while first <= last:
            try:
                answer = self.request(struct.pack("<BHHH", opcode, first, last, kind))
            except Refused as refused:
                assert refused.code == 0x0A, refused
                return
            size, items = answer[1], answer[2:]
            assert size and len(items) % size == 0, answer.hex()
            for at in range(0, len(items), size):
                item = items[at : at + size]
                yield item
            first = struct.unpack_from("<H", item, 2 if opcode == 0x10 else 0)[0] + 1

    def discover(self):
        services = []
        for item in list(self.pages(0x10, 1, 0xFFFF, PRIMARY)):
            start, end = struct.unpack_from("<HH", item)
            services.append({"uuid": uuid(item[4:]), "start": start, "end": end, "characteristics": []})
        for service in services:
            for item in list(self.pages(0x08, service["start"], service["end"], CHARACTERISTIC)):
                _, properties, handle = struct.unpack_from("<HBH", item)
                service["characteristics"].append({"uuid": uuid(item[5:]), "handle": handle, "properties": properties})
            for characteristic in service["characteristics"]:
                declarations = [c["handle"] - 1 for c in service["characteristics"] if c["handle"] > characteristic["handle"]]
                characteristic["descriptors"] = self.descriptors(
                    characteristic["handle"] + 1, min(declarations, default=service["end"] + 1) - 1)
        return services

    def descriptors(self, first, last):
        found = {}
        while first <= last:
            try:
                answer = self.request(struct.pack("<BHH", 0x04, first, last))
            except Refused as refused:
                assert refused.code == 0x0A, refused
                break
            size = 4 if answer[1] == 1 else 18
            for at in range(2, len(answer), size):
                handle = struct.unpack_from("<H", answer, at)[0]
                found[uuid(answer[at + 2 : at + size])] = handle
                first = handle + 1
        return found

    def read(self, handle):
        value = self.request(struct.pack("<BH", 0x0A, handle))[1:]
        part = value
        while len(part) == self.mtu - 1:
            part = self.request(struct.pack("<BHH", 0x0C, handle, len(value)))[1:]
            value += part
        return value

    def write(self, handle, value):
        self.request(struct.pack("<BH", 0x12, handle) + bytes(value))

    def command(self, handle, value):
        self.send(struct.pack("<BH", 0x52, handle) + bytes(value))

    def wait(self, handle, fits, limit=10):
        """Collects the values of `handle` until `fits` returns true for them."""
        end = time.monotonic() + limit
        while True:
            mine = [value for at, value in self.values if at == handle]
            if fits(mine):
                self.values = []
                return mine
            assert time.monotonic() < end, f"only {[v.hex() for v in mine]} came"
            self.receive()


def uuid(raw):
    return raw[::-1].hex().upper()


def find(services, name):
    return next(c for s in services for c in s["characteristics"] if c["uuid"] == name)


def drain(central, profile):
    services = central.discover()
    command, response = [find(services, u) for u in (("FFE9", "FFE4") if profile == "retail" else ("FF01", "FF02"))]
    assert "2902" in response["descriptors"], response
    central.write(response["descriptors"]["2902"], [1, 0])
    handle, taken = response["handle"], []
    if profile == "draft":
        central.command(command["handle"], [1])
        while True:
            value = central.wait(handle, lambda values: values)[0]
            assert value[:2] == b"PT", value.hex()
            if value[2:4] == b"\0\0":
                return {"records": taken}
            taken += [each.hex() for each in retail.records(value)]
    time.sleep(0.6)

    def ask(question, parse):
        central.command(command["handle"], question)
        return parse(b"".join(central.wait(handle, lambda values: parse(b"".join(values)) is not None)))

    status = ask(retail.ASK_STATUS, lambda data: retail.payload(data, b"RP"))
    found = ask(retail.ASK_LOG, retail.records)
    if found:
        central.command(command["handle"], retail.acknowledgement(len(found)))
        # The acknowledgement is a write without response. The response to a later request shows that it was received.
        ask(retail.ASK_STATUS, lambda data: retail.payload(data, b"RP"))
    return {"records": [each.hex() for each in found], "battery": status[2]}


def founding(central):
    services = central.discover()
    command, response = find(services, "FF01"), find(services, "FF02")
    central.command(command["handle"], [1])
    time.sleep(0.5)
    value = central.read(response["handle"])
    assert value[:2] == b"PT", value.hex()
    body = value[6:]
    return {"records": [body[i : i + 13].hex() for i in range(0, len(body) - 12, 13)]}


def misuse(path):
    """Sends each kind of invalid traffic on a separate connection. Afterwards the peripheral must still serve a central."""
    def refused(central, pdu, code):
        try:
            answer = central.request(pdu)
        except Refused as error:
            assert error.code == code, f"{pdu.hex()}: {error.code:02x}, not {code:02x}"
            return
        raise AssertionError(f"{pdu.hex()} was answered with {answer.hex()}")

    def long_write(central):
        central.exchange_mtu()
        for handle in range(1, 40):
            central.command(handle, b"\xff" * 512)
            try:
                central.write(handle, b"\xff" * 512)
            except Refused:
                pass

    def prepared(central):
        full = False
        for handle in range(1, 40):
            for part in range(300):
                try:
                    central.request(struct.pack("<BHH", 0x16, handle, part * 10) + b"x" * 10)
                except Refused as error:
                    full = full or error.code == 0x09
                    break
        return full

    def unknown_handles(central):
        for opcode in (0x0A, 0x12):
            refused(central, struct.pack("<BH", opcode, 0xFFF0), 0x01)
        refused(central, struct.pack("<BHH", 0x0C, 0xFFF0, 0), 0x01)
        central.command(0xFFF0, b"x")

    def malformed(central):
        for pdu, code in ((b"\x0a", 4), (b"\x0a\x01", 4), (b"\x02\x17\x00\x00", 4), (b"\x12" + b"x" * 600, 4), (b"\x3e", 6), (b"\x18\x07", 4)):
            refused(central, pdu, code)
        for pdu in (b"\x52", b"\x7e", b"\xd2", b"\x1e", b"\x1e\x00", b"\x0b", b"\x01", b"\x52" + b"x" * 900):
            central.send(pdu)

    def subscriptions_never_ended(central):
        for handle in range(1, 40):
            for bits in (1, 2):
                try:
                    central.write(handle, [bits, 0])
                except Refused:
                    pass

    def impatient(central):
        central.socket.settimeout(1)
        try:
            for _ in range(2000):
                central.send(b"\x0a\x03\x00")
        except TimeoutError:
            pass  # The peripheral reads no more requests of a central that reads no responses.

    def gone_at_once(central):
        central.send(b"\x0a\x03\x00")

    abuses = [long_write, prepared, unknown_handles, malformed, subscriptions_never_ended, impatient, gone_at_once]
    survived = []
    for abuse in abuses:
        central = Central(path)
        try:
            abuse(central)
        except (ConnectionError, BrokenPipeError):
            pass  # The peripheral may disconnect such a central.
        central.socket.close()
        after = Central(path)
        after.exchange_mtu()
        assert after.discover(), "the attribute table is empty"
        after.socket.close()
        survived.append(abuse.__name__)
    return {"survived": survived}


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    path, verb, *rest = sys.argv[1:]
    if verb == "misuse":
        print(json.dumps(misuse(path)))
        return
    act = {"founding": founding, "drain": lambda central: drain(central, *rest)}[verb]
    try:
        central = Central(path)
        central.exchange_mtu()
        print(json.dumps(act(central)))
    except (OSError, Refused, AssertionError, StopIteration) as error:
        print(f"the bottle did not answer as specified: {error!r}", file=sys.stderr)
        sys.exit(5)


if __name__ == "__main__":
    main()
