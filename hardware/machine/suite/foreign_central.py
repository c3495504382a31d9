"""bleak, a foreign central, against our emulator."""
import asyncio
from contextlib import asynccontextmanager

from bleak import BleakClient, BleakScanner
from bleak.exc import BleakError

from bench import Emulator, expect, retail, run_tests

BASE = "0000{:04x}-0000-1000-8000-00805f9b34fb"
FF00, FF01, FF02 = (BASE.format(n) for n in (0xFF00, 0xFF01, 0xFF02))
FFE0, FFE4, FFE5, FFE9 = (BASE.format(n) for n in (0xFFE0, 0xFFE4, 0xFFE5, 0xFFE9))
LIMIT = 60


async def find(matches, adapter="hci0", limit=LIMIT, required=True):
    device = await BleakScanner.find_device_by_filter(matches, timeout=limit, bluez={"adapter": adapter})
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
    raise AssertionError("bleak did not connect in ten attempts")


async def original_app_flow():
    """Scan for FF00, connect, write 01 without response, wait 0.5 s, read FF02: the newest drinks."""
    amounts = list(range(30, 52))
    with Emulator() as bottle:
        bottle.sip(*amounts)
        device = await find(lambda _, advertisement: FF00 in advertisement.service_uuids)
        async with connected(device, FF01, FF02) as link:
            await link.write_gatt_char(FF01, b"\x01", response=False)
            await asyncio.sleep(0.5)
            value = bytes(await link.read_gatt_char(FF02))
            expect(retail.amounts(retail.records(value)) == amounts[-19:], f"FF02: {value.hex()}")
            expect({FFE0, FFE5} <= {s.uuid for s in link.services}, "the retail services are missing next to FF00")


async def retail_log(by_signals):
    """The log, and the snapshot of a Vita, which has 53 bytes."""
    amounts = list(range(20, 32))
    with Emulator("--profile", "retail", "--model", "vita", "--name", "WaterH-Bottle-1") as bottle:
        bottle.sip(*amounts)
        device = await find(named("WaterH-Bottle-1"))
        async with connected(device, FFE4, FFE9) as link:
            described = [d.uuid for c in (FFE4, FFE9) for d in link.services.get_characteristic(c).descriptors if d.uuid != BASE.format(0x2902)]
            expect(not described, f"descriptors that a bottle does not have: {described}")
            for question, parse in (retail.ASK_LOG, retail.records), (retail.ASK_STATUS, lambda data: retail.payload(data, b"RP")):
                values, complete = bytearray(), asyncio.Event()

                def notified(_, value):
                    values.extend(value)
                    if parse(bytes(values)) is not None:
                        complete.set()

                await link.start_notify(FFE4, notified, bluez={"use_start_notify": by_signals})
                await asyncio.sleep(1)
                await link.write_gatt_char(FFE9, question, response=False)
                await asyncio.wait_for(complete.wait(), LIMIT)
                await link.stop_notify(FFE4)
                if question == retail.ASK_LOG:
                    expect(retail.amounts(parse(bytes(values))) == amounts, f"the log: {values.hex()}")
                else:
                    expect(len(values) == 53, f"the snapshot: {values.hex()}")
        # After the disconnect the bottle advertises again.
        await find(named("WaterH-Bottle-1"), adapter="hci2")


async def retail_log_by_signals():
    await retail_log(True)


async def retail_log_by_socket():
    await retail_log(False)


async def one_central_at_a_time():
    """A connected bottle does not advertise."""
    with Emulator("--profile", "retail", "--name", "WaterH-Alone"):
        device = await find(named("WaterH-Alone"))
        async with connected(device):
            await asyncio.sleep(2)
            other = await find(named("WaterH-Alone"), adapter="hci2", limit=8, required=False)
            expect(other is None, "a second central sees the bottle while it is connected")


if __name__ == "__main__":
    run_tests([original_app_flow, retail_log_by_signals, retail_log_by_socket, one_central_at_a_time])
