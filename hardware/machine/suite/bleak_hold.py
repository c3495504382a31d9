"""Connects to a bottle, subscribes, prints `holding`, and stays connected. For the CPU time of an idle connected bottle."""
import asyncio

from bleak import BleakClient, BleakScanner


async def hold():
    device = await BleakScanner.find_device_by_filter(
        lambda _, advertisement: (advertisement.local_name or "").lower().startswith("waterh"), timeout=30, adapter="hci0")
    if device is None:
        raise SystemExit("the bottle was not found")
    async with BleakClient(device, timeout=30, adapter="hci0") as link:
        await link.start_notify("0000ffe4-0000-1000-8000-00805f9b34fb", lambda *_: None)
        print("holding", flush=True)
        await asyncio.sleep(600)


asyncio.run(hold())
