"""Clones of captures over bluetoothd: bleak finds, reads, writes and receives what was recorded."""
import asyncio
import json
import os
import tempfile
import time
from collections import defaultdict

from bench import PRODUCTS, Emulator, expect, run, run_tests
from foreign_central import connected, find

ADDRESS = "00:AA:01:01:00:01"
ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
STACK = {"1800", "1801"}
# Writes per clone: the pauses of a recording are kept.
MOST = 6


def full(uuid):
    return f"0000{uuid}-0000-1000-8000-00805f9b34fb".lower() if len(uuid) == 4 else uuid.lower()


def clone(capture):
    path = tempfile.mkdtemp() + "/gadget.json"
    run(f"{PRODUCTS}/waterh-replay", "clone", capture, "-o", path)
    with open(path, encoding="utf-8") as file:
        return path, json.load(file)


def table(document):
    """(service, characteristic, properties) of what bluetoothd lets us show, and the recorded characteristics by service and UUID, in order."""
    rows, places = [], defaultdict(list)
    for service in document["services"]:
        if service.get("uuid") in STACK:
            continue
        uuid = full(service.get("uuid") or f"77617465-7268-{service['handle']:04X}-8000-676164676574")
        for one in service["characteristics"]:
            name = full(one.get("uuid") or f"77617465-7268-{one['handle']:04X}-8000-676164676574")
            properties = {{"signed-write": "authenticated-signed-writes"}.get(p, p) for p in one["properties"]} - {"extended"}
            rows.append((uuid, name, tuple(sorted(properties))))
            places[uuid, name].append(one)
    return sorted(rows), places


def seen(link):
    rows, places = [], defaultdict(list)
    services = sorted(link.services, key=lambda s: s.handle)
    for service in services:
        if service.uuid in map(full, STACK):
            continue
        # bluetoothd's own Device Information has the PnP ID alone; it may stand beside the gadget's.
        alone = service.uuid == full("180A") and [one.uuid for one in service.characteristics] == [full("2A50")]
        if alone and [each.uuid for each in services].count(service.uuid) > 1:
            continue
        for one in sorted(service.characteristics, key=lambda c: c.handle):
            rows.append((service.uuid, one.uuid, tuple(sorted(set(one.properties) - {"extended-properties"}))))
            places[service.uuid, one.uuid].append(one)
    return sorted(rows), places


async def judge(capture):
    path, document = clone(capture)
    wanted, recorded = table(document)
    with Emulator("--gadget", path) as gadget:
        device = await find(lambda device, _: device.address == ADDRESS)
        # bleak refuses to look for a UUID that occurs several times, as those of bluetoothd's own services (GAP, GATT, Device Information) may.
        own = {full(f"2A0{number}") for number in range(10)} | {full("2A50")}
        names = [name for _, name, _ in wanted]
        needed = {name for name in names if names.count(name) == 1} - own
        async with connected(device, *needed) as link:
            found, shown = seen(link)
            # Services of bluetoothd's own beside ours are not ours to judge.
            missing = [row for row in wanted if row not in found]
            expect(not missing, f"bleak misses {missing} among {found}")
            by_handle, descriptors = {}, 0
            for key, ones in recorded.items():
                fitting = shown[key]
                expect(len(fitting) == len(ones), f"{key}: {len(fitting)} of {len(ones)}")
                for one, here in zip(ones, fitting):
                    by_handle[one["handle"]] = here
                    expected = {full(d["uuid"]) for d in one["descriptors"] if d.get("uuid") and d["uuid"] not in ("2900", "2902")}
                    expect(expected <= {d.uuid for d in here.descriptors}, f"{key}: {expected} among {[d.uuid for d in here.descriptors]}")
                    descriptors += len(expected)
            heard, reads, writes = [], 0, 0
            exchanges = [e for c in document["conversations"] for e in c["exchanges"]]
            # Each attribute's first recorded read is what it gives first.
            first = {}
            for exchange in exchanges:
                if exchange["request"] == "read":
                    first.setdefault(exchange["handle"], exchange)
            for handle, exchange in first.items():
                answer = exchange.get("response", {})
                if handle in by_handle and "read" in by_handle[handle].properties and "value" in answer:
                    value = bytes(await link.read_gatt_char(by_handle[handle]))
                    expect(value == bytes.fromhex(answer["value"]), f"{handle} is {value.hex()}, recorded was {answer['value']}")
                    reads += 1
            configurations = {d["handle"]: one["handle"] for ones in recorded.values() for one in ones for d in one["descriptors"] if d.get("uuid") == "2902"}
            listening = set()
            for exchange in exchanges:
                if writes == MOST:
                    break
                handle, values = exchange.get("handle"), []
                began = time.monotonic()
                heard.clear()
                if handle in configurations and exchange.get("value", "00")[:2] != "00":
                    value = configurations[handle]
                    if value in by_handle and value not in listening:
                        listening.add(value)
                        await link.start_notify(by_handle[value], lambda _, data, value=value: heard.append((value, bytes(data), time.monotonic())))
                elif exchange["request"] in ("write", "command") and handle in by_handle and "error" not in exchange.get("response", {}):
                    response = exchange["request"] == "write"
                    if ("write" if response else "write-without-response") not in by_handle[handle].properties:
                        continue
                    await link.write_gatt_char(by_handle[handle], bytes.fromhex(exchange.get("value", "")), response=response)
                    writes += 1
                else:
                    continue
                values = [v for v in exchange.get("values", []) if v["handle"] in listening and v["afterMs"] <= 3000]
                limit = time.monotonic() + 30
                while len(heard) < len(values) and time.monotonic() < limit:
                    await asyncio.sleep(0.05)
                got = [(handle, data.hex()) for handle, data, _ in heard[: len(values)]]
                # Between two characteristics bluetoothd keeps no order: each has a socket of its own.
                expect(sorted(got, key=lambda v: v[0]) == sorted(((v["handle"], v["value"]) for v in values), key=lambda v: v[0]), f"after {exchange['request']} {handle}: {got}, recorded {values}; {gadget.words()}")
                if values:
                    late = heard[len(values) - 1][2] - began
                    expect(late * 1000 >= values[-1]["afterMs"] - 20, f"the last came {late * 1000:.0f} ms after the request, recorded {values[-1]['afterMs']}")
            print(
                f"  {os.path.basename(capture)}: {len(wanted)} characteristics, {descriptors} descriptors, {reads} reads, {writes} writes, "
                f"{len(listening)} subscriptions as recorded", flush=True)


def test(capture):
    async def one():
        await judge(capture)

    one.__name__ = os.path.basename(capture).split(".")[0].replace("-", "_")
    return one


async def no_advertising_data_keeps_a_gadget_from_starting():
    """A bed and a lamp did not start: bluetoothd refuses an advertisement whole for one structure that it keeps to itself."""
    path, document = clone(f"{ROOT}/captures/boost_two-days.btsnoop")
    types = [*range(0x02, 0x40), 0xFF]
    for begin in range(0, len(types), 7):
        # Two bytes: of service data and a maker's, that is the UUID and the number, and data without a byte.
        structures = [bytes([3, each, 0x41, 0x42]) for each in types[begin:begin + 7]]
        document["advertisement"], document["scanResponse"] = (b"\x02\x01\x06" + b"".join(structures)).hex(), "050941000000"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        with Emulator("--gadget", path):
            pass


if __name__ == "__main__":
    captures = [test(f"{ROOT}/captures/{name}") for name in ("boost_two-days.btsnoop", "boost_draft.btsnoop", "vita_reports-inside-log.pcapng")]
    run_tests([no_advertising_data_keeps_a_gadget_from_starting] + captures)
