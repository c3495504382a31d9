"""Clones of captures over bluetoothd: bleak finds, reads and receives what was recorded."""
import asyncio
import json
import os
import tempfile

from bench import BOTTLE, PRODUCTS, Emulator, expect, run, run_tests
from foreign_central import connected, find

CAPTURES = os.path.realpath(f"{os.path.dirname(os.path.realpath(__file__))}/../../../captures")
# Services that bluetoothd has of its own.
STACK = {"1800", "1801", "180A"}


def full(uuid):
    return f"0000{uuid}-0000-1000-8000-00805f9b34fb".lower() if len(uuid) == 4 else uuid.lower()


def clone(capture):
    path = tempfile.mkdtemp() + "/gadget.json"
    run(f"{PRODUCTS}/waterh-replay", "clone", f"{CAPTURES}/{capture}", "-o", path)
    with open(path, encoding="utf-8") as file:
        return path, json.load(file)


async def check(capture):
    path, document = clone(capture)
    recorded = {full(one["uuid"]): one for service in document["services"] if service["uuid"] not in STACK for one in service["characteristics"]}
    exchanges = [exchange for each in document["conversations"] for exchange in each["exchanges"]]
    with Emulator("--gadget", path):
        device = await find(lambda device, _: device.address == BOTTLE)
        async with connected(device, *recorded) as link:
            shown = {uuid: link.services.get_characteristic(uuid) for uuid in recorded}
            for uuid, one in recorded.items():
                properties = {{"signed-write": "authenticated-signed-writes"}.get(name, name) for name in one["properties"]} - {"extended"}
                expect(set(shown[uuid].properties) - {"extended-properties"} == properties, f"{uuid}: {shown[uuid].properties}, not {properties}")
            handles = {one["handle"]: shown[uuid] for uuid, one in recorded.items()}
            read, values = set(), []
            for one in handles.values():
                if "notify" in one.properties:
                    await link.start_notify(one, lambda _, data: values.append(bytes(data).hex()))
            for exchange in exchanges:
                one = handles.get(exchange.get("handle"))
                # The first recorded read of a characteristic is its first value.
                if one and exchange["request"] == "read" and "value" in exchange.get("response", {}) and one not in read:
                    read.add(one)
                    value = bytes(await link.read_gatt_char(one)).hex()
                    expect(value == exchange["response"]["value"].lower(), f"{one.uuid} is {value}, recorded was {exchange['response']['value']}")
            command = next(each for each in exchanges if each["request"] == "command" and each["handle"] in handles and each.get("values"))
            await link.write_gatt_char(handles[command["handle"]], bytes.fromhex(command["value"]), response=False)
            wanted = [value["value"].lower() for value in command["values"] if value["afterMs"] <= 3000]
            for _ in range(300):
                if len(values) >= len(wanted):
                    break
                await asyncio.sleep(0.1)
            expect(values[:len(wanted)] == wanted, f"after {command}: {values}")
            print(f"  {capture}: {len(recorded)} characteristics, {len(read)} reads, {len(wanted)} notifications as recorded", flush=True)


async def a_boost():
    await check("boost_two-days.btsnoop")


async def a_vita():
    await check("vita_reports-inside-log.pcapng")


async def no_advertising_data_keeps_a_gadget_from_starting():
    """bluetoothd rejects an advertisement with one structure that it reserves."""
    path, document = clone("boost_two-days.btsnoop")
    types = [*range(0x02, 0x40), 0xFF]
    for begin in range(0, len(types), 7):
        # Each has two bytes: a UUID or a manufacturer's number, and no data.
        structures = [bytes([3, each, 0x41, 0x42]) for each in types[begin:begin + 7]]
        document["advertisement"], document["scanResponse"] = (b"\x02\x01\x06" + b"".join(structures)).hex(), "050941000000"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        with Emulator("--gadget", path):
            pass


if __name__ == "__main__":
    run_tests([no_advertising_data_keeps_a_gadget_from_starting, a_boost, a_vita])
