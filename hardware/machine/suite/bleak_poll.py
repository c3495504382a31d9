"""A poll written with bleak: scan, connect, discover, subscribe, snapshot, log, store, acknowledge, verify, disconnect.
Each step waits only for its response. `benchmarks.py` compares it with `waterh-gateway poll` of an unknown bottle.

usage: bleak_poll.py STORE
"""
import asyncio
import json
import os
import sqlite3
import sys

from bleak import BleakClient, BleakScanner

sys.path.insert(0, os.path.realpath(f"{os.path.dirname(os.path.realpath(__file__))}/../../../Tests/Foreign"))
import retail

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


def store_records(path, records):
    with sqlite3.connect(path) as store:
        store.execute("CREATE TABLE IF NOT EXISTS record (bytes BLOB PRIMARY KEY)")
        store.executemany("INSERT OR IGNORE INTO record VALUES (?)", [(record,) for record in records])


async def poll(path):
    device = await BleakScanner.find_device_by_filter(
        lambda _, advertisement: (advertisement.local_name or "").lower().startswith("waterh"), timeout=30, adapter="hci0")
    if device is None:
        raise SystemExit("the bottle was not found")
    async with BleakClient(device, timeout=30, adapter="hci0") as link:
        bottle = Bottle(link)
        await link.start_notify(FFE4, bottle.received)
        await bottle.request(retail.ASK_STATUS, lambda data: retail.payload(data, b"RP"))
        records = await bottle.request(retail.ASK_LOG, retail.records, limit=10)
        store_records(path, records)
        await link.write_gatt_char(FFE9, retail.acknowledgement(len(records)), response=False)
        # The acknowledgement has no response: a second log request shows whether it succeeded.
        left = await bottle.request(retail.ASK_LOG, retail.records)
        if left:
            raise SystemExit(f"{len(left)} records are still in the bottle after the acknowledgement")
    print(json.dumps({"records": len(records)}))


asyncio.run(poll(sys.argv[1]))
