#!/usr/bin/env python3
"""Test with a bottle and a real bluetoothd, here with bleak: adds a drink of 250 ml and reads it over the air.

run: waterh-bench-vm -- python3 machine_bleak.py      exit code 0: the drink arrived, and the bottle deleted it after the acknowledgement
The bottle is on the adapter hci1, and your program on hci0.
"""
import asyncio
import atexit
import json
import socket
import subprocess
import sys
import tempfile

from bleak import BleakClient, BleakScanner
from bleak.exc import BleakError

FFE4, FFE9 = (f"0000{short}-0000-1000-8000-00805f9b34fb" for short in ("ffe4", "ffe9"))
folder = tempfile.mkdtemp()
options = ["--profile", "retail", "--name", "WaterH-CI", "--link", "bluez:hci1", "--control", f"unix:{folder}/control"]
bottle = subprocess.Popen([(sys.argv + ["waterh-emulator"])[1], "run", *options], stdout=subprocess.PIPE, text=True)
atexit.register(bottle.kill)
assert bottle.stdout.readline().startswith("ready "), "the emulator is not ready: see standard error"
(control := socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)).connect(f"{folder}/control")  # One JSON object per line in each direction.
answers = control.makefile()
control.sendall(b'{"do": "sip", "value": 250}\n')
assert json.loads(answers.readline())["ok"]

async def drain(device):
    async with BleakClient(device, timeout=60, bluez={"adapter": "hci0"}) as link:
        values = asyncio.Queue()
        await link.start_notify(FFE4, lambda _, value: values.put_nowait(bytes(value)))
        await link.write_gatt_char(FFE9, bytes.fromhex("4754000106"), response=False)  # Requests the log.
        frame = b""
        while len(frame) < 4 or len(frame) < 4 + int.from_bytes(frame[2:4], "big"):
            value = await asyncio.wait_for(values.get(), 30)
            frame += value if frame or value[:2] == b"PT" else b""
        drinks = [int.from_bytes(frame[at + 6:at + 8], "big") for at in range(6, len(frame), 13)]
        assert drinks == [250], drinks
        await link.write_gatt_char(FFE9, bytes.fromhex("525000040306000d"), response=False)  # Acknowledges 13 bytes.
        # A Write Command has no response. A second request shows that the log is empty.
        await link.write_gatt_char(FFE9, bytes.fromhex("4754000106"), response=False)
        assert (await asyncio.wait_for(values.get(), 30))[:2] != b"PT"

async def test():
    for _ in range(4):  # On a busy machine a scan sometimes finds nothing, so scan again.
        if device := await BleakScanner.find_device_by_name("WaterH-CI", timeout=20, bluez={"adapter": "hci0"}): break
    assert device, "the bottle was not found"
    for left in (4, 3, 2, 1, 0):  # bluetoothd 5.66 responds to Connect before it is connected, which bleak reports as a disconnection: connect again.
        try:
            return await drain(device)
        except BleakError:
            assert left, "bleak did not connect in five attempts"

asyncio.run(test())
control.sendall(b'{"do": "status"}\n')
assert json.loads(answers.readline())["status"]["acknowledged"] == 1
bottle.terminate()
sys.exit(bottle.wait(30) or print("250 ml received"))
