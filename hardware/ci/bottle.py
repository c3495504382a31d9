#!/usr/bin/env python3
"""Test with a bottle, in Python: adds a drink of 250 ml and reads it over ATT. Needs no Bluetooth.

usage: bottle.py [waterh-emulator]      exit code 0: the drink arrived, and the bottle deleted it after the acknowledgement
"""
import atexit
import json
import socket
import struct
import subprocess
import sys
import tempfile

folder = tempfile.mkdtemp()
bottle = subprocess.Popen(
    [(sys.argv + ["waterh-emulator"])[1], "run", "--profile", "retail", "--link", f"unix:{folder}/link", "--control", f"unix:{folder}/control"],
    stdout=subprocess.PIPE, text=True)
atexit.register(bottle.kill)  # Also after a failed assertion.
assert bottle.stdout.readline().startswith("ready "), "the emulator is not ready: see standard error"

control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)  # One JSON object per line in each direction.
control.connect(f"{folder}/control")
control.sendall(b'{"do": "sip", "value": 250}\n')
assert json.loads(control.makefile().readline())["ok"]

att = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)  # One ATT PDU per message in each direction.
att.settimeout(10)
att.connect(f"{folder}/link")
values = []

def request(pdu):
    """The response to a request; earlier notifications are collected."""
    att.send(pdu)
    while (answer := att.recv(1024))[0] == 0x1B:
        values.append(answer[3:])
    return answer

request(struct.pack("<BH", 0x02, 517))  # Exchange MTU
handles, first = {}, 1
while (page := request(struct.pack("<BHHH", 0x08, first, 0xFFFF, 0x2803)))[0] == 0x09:  # Read By Type: characteristics
    for at in range(2, len(page), page[1]):
        first, value = struct.unpack_from("<HxH", page, at)
        handles[page[at + 5:at + page[1]][::-1].hex()] = value
    first += 1
request(struct.pack("<BHH", 0x12, handles["ffe4"] + 1, 1))  # Subscribe: the descriptor after the value
att.send(struct.pack("<BH", 0x52, handles["ffe9"]) + bytes.fromhex("4754000106"))  # Requests the log.
frame = b""
while len(frame) < 4 or len(frame) < 4 + frame[2] * 256 + frame[3]:
    value = values.pop(0) if values else att.recv(1024)[3:]
    frame += value if frame or value[:2] == b"PT" else b""
drinks = [struct.unpack_from(">H", frame, at + 6)[0] for at in range(6, len(frame), 13)]
assert drinks == [250], drinks
att.send(struct.pack("<BH", 0x52, handles["ffe9"]) + bytes.fromhex("525000040306000d"))  # Acknowledges 13 bytes.
request(struct.pack("<BH", 0x0A, 3))  # Write Commands have no response. The response to this later request shows that they arrived.
control.sendall(b'{"do": "status"}\n')
assert json.loads(control.makefile().readline())["status"]["acknowledged"] == 1
print("250 ml received")
bottle.terminate()
sys.exit(bottle.wait(10))
