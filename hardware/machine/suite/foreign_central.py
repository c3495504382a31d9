"""bleak, a foreign central, against our emulator."""
import asyncio
from contextlib import asynccontextmanager

from bleak import BleakClient, BleakScanner
from bleak.exc import BleakError

from bench import Emulator, Failure, expect, run_tests

BASE = "0000{:04x}-0000-1000-8000-00805f9b34fb"
FF00, FF01, FF02 = (BASE.format(n) for n in (0xFF00, 0xFF01, 0xFF02))
FFE0, FFE4, FFE5, FFE9 = (BASE.format(n) for n in (0xFFE0, 0xFFE4, 0xFFE5, 0xFFE9))
LIMIT = 60


async def find(fits, adapter="hci0", limit=LIMIT, required=True):
    device = await BleakScanner.find_device_by_filter(fits, timeout=limit, bluez={"adapter": adapter})
    expect(device is not None or not required, "bleak's scan did not find the bottle")
    return device


def named(name):
    return lambda device, advertisement: advertisement.local_name == name


@asynccontextmanager
async def connected(device, *needed):
    """A connection in which bleak knows the characteristics.

    On a busy machine bluetoothd 5.66 responds to Connect before Connected is true (bleak takes that for a disconnection), and sets
    ServicesResolved before the last objects are added (bleak then misses characteristics). Users of bleak connect again.
    """
    for attempt in range(10):
        link = BleakClient(device, timeout=LIMIT, bluez={"adapter": "hci0"})
        try:
            await link.connect()
        except BleakError as error:
            print(f"  bleak: {error}; again", flush=True)
            await asyncio.sleep(1)
            continue
        missing = [uuid for uuid in needed if link.services.get_characteristic(uuid) is None]
        if missing and attempt < 9:
            print(f"  bleak misses {missing}; again", flush=True)
            await link.disconnect()
            await asyncio.sleep(1)
            continue
        expect(not missing, f"ten times bleak saw no {missing}")
        try:
            yield link
        finally:
            await link.disconnect()
        return
    raise Failure("bleak did not connect in ten attempts")


async def until(condition):
    """Waits for the result of a notification."""
    for _ in range(LIMIT * 10):
        if condition():
            return
        await asyncio.sleep(0.1)


def frames(values):
    """The records of the PT frames in joined notifications."""
    data, records = b"".join(values), []
    start = data.find(b"PT")
    while start >= 0 and start + 4 <= len(data):
        length = int.from_bytes(data[start + 2 : start + 4], "big")
        payload = data[start + 4 : start + 4 + length]
        expect(len(payload) == length, f"a frame of {length} bytes has {len(payload)}")
        while payload:
            size, kind = payload[0], payload[1]
            if kind == 6:
                records += [payload[2 + i : 15 + i] for i in range(0, size - 1, 13)]
            payload = payload[size + 1 :]
        start = data.find(b"PT", start + 4 + length)
    return records


async def original_app_flow():
    """Scan for FF00, connect, write 01 without response, wait 0.5 s, read FF02: the newest drinks."""
    amounts = list(range(30, 52))
    with Emulator() as bottle:
        for amount in amounts:
            bottle.sip(amount)
        device = await find(lambda _, advertisement: FF00 in advertisement.service_uuids)
        async with connected(device, FF01, FF02) as link:
            await link.write_gatt_char(FF01, b"\x01", response=False)
            await asyncio.sleep(0.5)
            value = bytes(await link.read_gatt_char(FF02))
            expect([int.from_bytes(r[6:8], "big") for r in frames([value])] == amounts[-19:], f"FF02: {value.hex()}")
            expect({FFE0, FFE5} <= {s.uuid for s in link.services}, "the retail services are missing beside FF00")


async def retail_log(by_signals):
    amounts = list(range(20, 32))
    with Emulator("--profile", "retail") as bottle:
        for amount in amounts:
            bottle.sip(amount)
        device = await find(lambda device, advertisement: (advertisement.local_name or "").startswith("WaterH"))
        values = []

        def received():
            try:
                return [int.from_bytes(r[6:8], "big") for r in frames(values)]
            except Failure:
                return []

        async with connected(device, FFE4, FFE9) as link:
            services = {s.uuid for s in link.services}
            expect({FFE0, FFE5} <= services, f"services: {services}")
            await link.start_notify(FFE4, lambda _, value: values.append(bytes(value)), bluez={"use_start_notify": by_signals})
            await asyncio.sleep(1)
            await link.write_gatt_char(FFE9, bytes.fromhex("4754000106"), response=False)
            await until(lambda: len(received()) >= len(amounts))
            expect(received() == amounts, f"amounts: {received()} from {[v.hex() for v in values]}")


async def retail_log_by_signals():
    await retail_log(True)


async def retail_log_by_socket():
    await retail_log(False)


async def snapshot_without_descriptors():
    with Emulator("--profile", "retail", "--model", "vita", "--name", "WaterH-Bottle-1"):
        device = await find(named("WaterH-Bottle-1"))
        values = []
        async with connected(device, FFE4, FFE9) as link:
            shown = {service.uuid for service in link.services}
            # Device Information is bluetoothd's own.
            expect(sum(service.uuid == BASE.format(0x180A) for service in link.services) <= 1 and BASE.format(0xFFE0) in shown, f"services: {shown}")
            described = [d.uuid for c in (FFE4, FFE9) for d in link.services.get_characteristic(c).descriptors if d.uuid != BASE.format(0x2902)]
            expect(not described, f"descriptors that a bottle does not have: {described}")
            await link.start_notify(FFE4, lambda _, value: values.append(bytes(value)))
            await asyncio.sleep(1)
            await link.write_gatt_char(FFE9, bytes.fromhex("47540001FF"), response=False)
            await until(lambda: sum(map(len, values)) >= 53)
            data = b"".join(values)
            expect(data.startswith(b"RP\x00\x31") and len(data) == 53, f"the snapshot of a Vita has 53 bytes: {data.hex()}")


async def one_central_at_a_time():
    """A connected bottle does not advertise; after a disconnect it does."""
    with Emulator("--profile", "retail", "--name", "WaterH-Alone"):
        device = await find(named("WaterH-Alone"))
        async with connected(device):
            await asyncio.sleep(2)
            other = await find(named("WaterH-Alone"), adapter="hci2", limit=8, required=False)
            expect(other is None, "a second central sees the bottle while it is connected")
        await find(named("WaterH-Alone"), adapter="hci2")


if __name__ == "__main__":
    run_tests([original_app_flow, retail_log_by_signals, retail_log_by_socket, snapshot_without_descriptors, one_central_at_a_time])
