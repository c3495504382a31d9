"""A poll written with bleak: scan, connect, discover, subscribe, snapshot, log, store, acknowledge, verify, disconnect.
Each step waits only for its response. `benchmarks.py` compares it with `waterh-gateway poll` of an unknown bottle.

usage: bleak_poll.py STORE
"""
import asyncio
import json
import sqlite3
import sys

from bleak import BleakClient, BleakScanner

FFE4, FFE9 = (f"0000{short}-0000-1000-8000-00805f9b34fb" for short in ("ffe4", "ffe9"))


class Bottle:
    """The joined notification values, and requests that wait for a response in them."""

    def __init__(self, link):
        self.link, self.data, self.has_value = link, bytearray(), asyncio.Event()

    def received(self, _, value):
        self.data += value
        self.has_value.set()

    async def request(self, command, parse, limit=1, attempts=3):
        """Writes a command until `parse` returns a value. Repeats it after `limit` seconds, because bottles ignore some commands."""
        for _ in range(attempts):
            self.data.clear()
            await self.link.write_gatt_char(FFE9, command, response=False)
            try:
                async with asyncio.timeout(limit):
                    while (found := parse(bytes(self.data))) is None:
                        self.has_value.clear()
                        await self.has_value.wait()
                    return found
            except TimeoutError:
                pass
        raise SystemExit(f"the bottle did not answer {command.hex()}")


def frame(data, start):
    """The payload of the frame that begins with these two letters; None until it is complete."""
    at = data.find(start)
    if at < 0 or len(data) < at + 4:
        return None
    length = int.from_bytes(data[at + 2 : at + 4], "big")
    return data[at + 4 : at + 4 + length] if len(data) >= at + 4 + length else None


def log(data):
    """The records of a complete log; None until it is complete."""
    payload = frame(data, b"PT")
    if payload is None:
        return [] if frame(data, b"RP") == b"\x02\x06\x00" else None
    records = []
    while payload:
        size, kind = payload[0], payload[1]
        if kind == 6:
            records += [payload[at : at + 13] for at in range(2, size + 1, 13)]
        payload = payload[size + 1 :]
    return records


def store_records(path, records):
    with sqlite3.connect(path) as store:
        store.execute("CREATE TABLE IF NOT EXISTS record (bytes BLOB PRIMARY KEY)")
        store.executemany("INSERT OR IGNORE INTO record VALUES (?)", [(bytes(record),) for record in records])


async def poll(path):
    device = await BleakScanner.find_device_by_filter(
        lambda _, advertisement: (advertisement.local_name or "").lower().startswith("waterh"), timeout=30, adapter="hci0")
    if device is None:
        raise SystemExit("the bottle was not found")
    async with BleakClient(device, timeout=30, adapter="hci0") as link:
        bottle = Bottle(link)
        await link.start_notify(FFE4, bottle.received)
        await bottle.request(bytes.fromhex("47540001FF"), lambda data: frame(data, b"RP"))
        records = await bottle.request(bytes.fromhex("4754000106"), log, limit=10)
        store_records(path, records)
        await link.write_gatt_char(FFE9, bytes.fromhex("525000040306") + (13 * len(records)).to_bytes(2, "big"), response=False)
        # The acknowledgement has no response: a second log request shows whether it succeeded.
        left = await bottle.request(bytes.fromhex("4754000106"), log)
        if left:
            raise SystemExit(f"{len(left)} records are still in the bottle after the acknowledgement")
    print(json.dumps({"records": len(records)}))


asyncio.run(poll(sys.argv[1]))
