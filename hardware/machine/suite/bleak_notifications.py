"""Counts the notifications of `Benchmarks flood` that bleak receives. `Benchmarks notifications` does the same with our central.

usage: bleak_notifications.py signals|socket SECONDS
"""
import asyncio
import json
import sys
import time

from bleak import BleakClient, BleakScanner

FFE4 = "0000ffe4-0000-1000-8000-00805f9b34fb"


async def count(by_signals, seconds):
    device = await BleakScanner.find_device_by_name("WaterH-Flood", timeout=30, adapter="hci0")
    if device is None:
        raise SystemExit("the device WaterH-Flood was not found")
    start = first = last = None
    counted, elapsed, done = 0, 0.0, asyncio.Event()

    def received(_, value):
        nonlocal start, first, last, counted, elapsed
        number = int.from_bytes(value[:4], "big")
        if start is None:
            start, first = time.monotonic(), number
        elif not done.is_set():
            counted, last, elapsed = counted + 1, number, time.monotonic() - start
            if elapsed >= seconds:
                done.set()

    async with BleakClient(device, timeout=30, adapter="hci0") as link:
        await link.start_notify(FFE4, received, bluez={"use_start_notify": by_signals})
        await asyncio.wait_for(done.wait(), 60 + seconds)
    print(json.dumps({"count": counted, "seconds": elapsed, "rate": counted / elapsed, "lost": last - first - counted}))


asyncio.run(count(sys.argv[1] == "signals", float(sys.argv[2])))
