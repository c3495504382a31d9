"""bleak, a foreign central, against our emulator."""
import asyncio

from bleak import BleakClient, BleakScanner
from bleak.exc import BleakError

from bench import Emulator, expect, run_tests

BASE = "0000{:04x}-0000-1000-8000-00805f9b34fb"
FF00, FF01, FF02 = (BASE.format(n) for n in (0xFF00, 0xFF01, 0xFF02))
FFE0, FFE4, FFE5, FFE9 = (BASE.format(n) for n in (0xFFE0, 0xFFE4, 0xFFE5, 0xFFE9))
LIMIT = 60


async def find(fits):
    device = await BleakScanner.find_device_by_filter(lambda device, advertisement: fits(device, advertisement), timeout=LIMIT, adapter="hci0")
    expect(device is not None, "bleak's scan did not find the bottle")
    return device


def client(device):
    return BleakClient(device, timeout=LIMIT, adapter="hci0")


def frames(values):
    """Joined notifications -> records of the PT frames, by arithmetic of our own (spec, section 3)."""
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


async def founding_app_flow():
    """Scan for FF00, connect, write 01 without response, wait 0.5 s, read FF02."""
    with Emulator("--profile", "draft") as bottle:
        bottle.sip(45)
        device = await find(lambda _, advertisement: FF00 in advertisement.service_uuids)
        async with client(device) as link:
            await link.write_gatt_char(FF01, b"\x01", response=False)
            await asyncio.sleep(0.5)
            value = bytes(await link.read_gatt_char(FF02))
            expect(len(value) > 0, "FF02 is empty")
            expect(45 in [int.from_bytes(r[6:8], "big") for r in frames([value])] or b"\x00\x2d" in value, f"FF02: {value.hex()}")


async def retail_log(kind):
    with Emulator("--profile", "retail") as bottle:
        for amount in range(20, 40):
            bottle.sip(amount)
        device = await find(lambda device, advertisement: (advertisement.local_name or "").startswith("WaterH"))
        values, answered = [], asyncio.Event()
        async with client(device) as link:
            services = {s.uuid for s in link.services}
            expect({FFE0, FFE5} <= services, f"services: {services}")
            await link.start_notify(FFE4, lambda _, value: (values.append(bytes(value)), answered.set()), bluez={"use_start_notify": kind})
            await asyncio.sleep(1)
            await link.write_gatt_char(FFE9, bytes.fromhex("4754000106"), response=False)
            for _ in range(LIMIT * 10):
                try:
                    done = len(frames(values)) >= 20
                except Exception:
                    done = False
                if done:
                    break
                await asyncio.sleep(0.1)
            amounts = [int.from_bytes(r[6:8], "big") for r in frames(values)]
            expect(amounts == list(range(20, 40)), f"amounts: {amounts} from {[v.hex() for v in values]}")


async def retail_log_by_signals():
    await retail_log(True)


async def retail_log_by_socket():
    await retail_log(False)


async def snapshot_and_user_descriptions():
    with Emulator("--profile", "retail", "--model", "vita", "--name", "WaterH-Bottle-1"):
        device = await find(lambda device, advertisement: advertisement.local_name == "WaterH-Bottle-1")
        values = []
        async with client(device) as link:
            await link.start_notify(FFE4, lambda _, value: values.append(bytes(value)))
            await asyncio.sleep(1)
            await link.write_gatt_char(FFE9, bytes.fromhex("47540001FF"), response=False)
            for _ in range(LIMIT * 10):
                if sum(map(len, values)) >= 53:
                    break
                await asyncio.sleep(0.1)
            data = b"".join(values)
            expect(data.startswith(b"RP\x00\x31") and len(data) >= 53, f"the snapshot of a Vita has 53 bytes: {data.hex()}")


async def one_central_at_a_time():
    """While one is connected, nobody else sees the bottle; afterwards they do."""
    with Emulator("--profile", "retail", "--name", "WaterH-Alone"):
        device = await find(lambda device, advertisement: advertisement.local_name == "WaterH-Alone")
        async with client(device):
            await asyncio.sleep(2)
            other = await BleakScanner.find_device_by_name("WaterH-Alone", timeout=8, adapter="hci2")
            expect(other is None, "a second central sees the bottle while it is connected")
        again = await BleakScanner.find_device_by_name("WaterH-Alone", timeout=LIMIT, adapter="hci2")
        expect(again is not None, "the bottle is not seen again after the connection")


async def misuse():
    """Long writes, writes to what only reads, subscriptions never ended: refused or taken, and the bottle goes on."""
    with Emulator("--profile", "draft", "--name", "WaterH-Misused") as bottle:
        device = await find(lambda device, advertisement: advertisement.local_name == "WaterH-Misused")
        for round in range(2):
            async with client(device) as link:
                await link.start_notify(FF02, lambda _, value: None)
                for size in (0, 1, 180, 512):
                    try:
                        await link.write_gatt_char(FF01, bytes(size), response=True)
                    except BleakError:
                        pass
                try:
                    await link.write_gatt_char(FF02, b"\x09", response=True)
                    expect(False, "FF02 took a write")
                except BleakError:
                    pass
        expect(bottle.process.poll() is None, "the emulator has ended")
        bottle.sip(33)


if __name__ == "__main__":
    run_tests([
        founding_app_flow, retail_log_by_signals, retail_log_by_socket, snapshot_and_user_descriptions, one_central_at_a_time, misuse,
    ])
