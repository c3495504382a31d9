"""Clones of captures over bluetoothd: bleak finds, reads and receives the recorded values."""
import asyncio
import json
import os
import tempfile

from bench import BOTTLE, PRODUCTS, Emulator, expect, run, run_tests
from foreign_central import connected, find

CAPTURES = os.path.realpath(f"{os.path.dirname(os.path.realpath(__file__))}/../../../captures")
# The services of bluetoothd itself.
STACK = {"1800", "1801", "180A"}


def full_uuid(uuid):
    return f"0000{uuid}-0000-1000-8000-00805f9b34fb".lower() if len(uuid) == 4 else uuid.lower()


def clone(capture):
    path = tempfile.mkdtemp() + "/profile.json"
    run(f"{PRODUCTS}/waterh-replay", "clone", f"{CAPTURES}/{capture}", "-o", path)
    with open(path, encoding="utf-8") as file:
        return path, json.load(file)


async def check(capture):
    path, document = clone(capture)
    recorded = {full_uuid(characteristic["uuid"]): characteristic for service in document["services"] if service["uuid"] not in STACK for characteristic in service["characteristics"]}
    exchanges = [exchange for item in document["conversations"] for exchange in item["exchanges"]]
    with Emulator("--gadget", path):
        device = await find(lambda device, _: device.address == BOTTLE)
        async with connected(device, *recorded) as link:
            shown = {uuid: link.services.get_characteristic(uuid) for uuid in recorded}
            for uuid, characteristic in recorded.items():
                properties = {{"signed-write": "authenticated-signed-writes"}.get(name, name) for name in characteristic["properties"]} - {"extended"}
                expect(set(shown[uuid].properties) - {"extended-properties"} == properties, f"{uuid}: {shown[uuid].properties}, not {properties}")
            handles = {characteristic["handle"]: shown[uuid] for uuid, characteristic in recorded.items()}
            read, values = set(), []
            for characteristic in handles.values():
                if "notify" in characteristic.properties:
                    await link.start_notify(characteristic, lambda _, data: values.append(bytes(data).hex()))
            for exchange in exchanges:
                characteristic = handles.get(exchange.get("handle"))
                # The first recorded read of a characteristic is its first value.
                if characteristic and exchange["request"] == "read" and "value" in exchange.get("response", {}) and characteristic not in read:
                    read.add(characteristic)
                    value = bytes(await link.read_gatt_char(characteristic)).hex()
                    expect(value == exchange["response"]["value"].lower(), f"{characteristic.uuid} is {value}, recorded was {exchange['response']['value']}")
            command = next(item for item in exchanges if item["request"] == "command" and item["handle"] in handles and item.get("values"))
            await link.write_gatt_char(handles[command["handle"]], bytes.fromhex(command["value"]), response=False)
            expected = [value["value"].lower() for value in command["values"] if value["afterMs"] <= 3000]
            for _ in range(300):
                if len(values) >= len(expected):
                    break
                await asyncio.sleep(0.1)
            expect(values[:len(expected)] == expected, f"after {command}: {values}")
            print(f"  {capture}: {len(recorded)} characteristics, {len(read)} reads, {len(expected)} notifications as recorded", flush=True)


async def a_boost():
    await check("boost_two-days.btsnoop")


async def a_vita():
    await check("vita_reports-inside-log.pcapng")


async def no_advertising_data_prevents_a_clone_from_starting():
    """bluetoothd rejects an advertisement with one structure that it reserves."""
    path, document = clone("boost_two-days.btsnoop")
    types = [*range(0x02, 0x40), 0xFF]
    for begin in range(0, len(types), 7):
        # Each has two bytes: a UUID or a manufacturer's number, and no data.
        structures = [bytes([3, item, 0x41, 0x42]) for item in types[begin:begin + 7]]
        document["advertisement"], document["scanResponse"] = (b"\x02\x01\x06" + b"".join(structures)).hex(), "050941000000"
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        with Emulator("--gadget", path):
            pass


if __name__ == "__main__":
    run_tests([no_advertising_data_prevents_a_clone_from_starting, a_boost, a_vita])
