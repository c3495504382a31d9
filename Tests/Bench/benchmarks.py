"""Figures inside the bench machine, as ratios in one run: a poll against a bleak script that does the same steps, and what
both programs cost while nothing happens."""
import asyncio
import os
import statistics
import sys
import time

from bleak import BleakClient, BleakScanner

from bench import Emulator, expect, forget_all, poll, store
from foreign_central import FFE4, FFE9, frames

RECORDS, ROUNDS = 48, int(os.environ.get("BENCH_ROUNDS", "3"))
missed = []


async def bleak_poll():
    """Scan, connect, subscribe, snapshot, log, acknowledge, disconnect: as waterh-gateway poll, waiting for each answer."""
    values, event = [], asyncio.Event()

    def heard(_, value):
        values.append(bytes(value))
        event.set()

    async def until(done):
        while not done():
            event.clear()
            await asyncio.wait_for(event.wait(), 60)

    def whole():
        try:
            return len(frames(values)) >= RECORDS
        except Exception:
            return False

    device = await BleakScanner.find_device_by_filter(
        lambda device, advertisement: (advertisement.local_name or "").lower().startswith("waterh"), timeout=60, adapter="hci0")
    async with BleakClient(device, timeout=60, adapter="hci0") as link:
        await link.start_notify(FFE4, heard)
        for _ in range(5):  # A bottle ignores what comes too soon after the subscription.
            await link.write_gatt_char(FFE9, bytes.fromhex("47540001FF"), response=False)
            try:
                await asyncio.wait_for(event.wait(), 1)
                break
            except asyncio.TimeoutError:
                pass
        values.clear()
        await link.write_gatt_char(FFE9, bytes.fromhex("4754000106"), response=False)
        await until(whole)
        await link.write_gatt_char(FFE9, bytes.fromhex("525000040306") + (13 * RECORDS).to_bytes(2, "big"), response=False)


def filled():
    bottle = Emulator("--profile", "retail")
    for amount in range(RECORDS):
        bottle.sip(100 + amount)
    return bottle


def timed(what):
    with filled():
        forget_all()
        began = time.monotonic()
        what()
        return time.monotonic() - began


def ours():
    answer = poll(store())
    expect(answer["new"] == RECORDS and answer["complete"], f"{answer}")


def cpu(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


pairs = [(timed(ours), timed(lambda: asyncio.run(bleak_poll()))) for _ in range(ROUNDS)]
mine, theirs = statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs)
print(f"poll of {RECORDS} records, scan to disconnect: waterh-gateway {mine:.2f} s, bleak {theirs:.2f} s, ratio {mine / theirs:.2f} (limit 0.50; {ROUNDS} rounds, medians)")
if mine / theirs > 0.5:
    missed.append("poll")

with filled() as bottle:
    before = cpu(bottle.process.pid)
    time.sleep(20)
    used = cpu(bottle.process.pid) - before
    print(f"emulator, 20 s idle: {used:.2f} s CPU (limit 0.05)")
    if used > 0.05:
        missed.append("idle")
sys.exit(1 if missed else 0)
