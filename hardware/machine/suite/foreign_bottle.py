"""A bottle written with dbus-fast from the specification, which the gateway polls."""
import asyncio
import json
import resource

from dbus_fast import BusType, PropertyAccess
from dbus_fast.aio import MessageBus
from dbus_fast.service import ServiceInterface, dbus_property, method

from bench import disconnect, expect, poll_command, retail, run_tests, store

BASE = "0000{:04x}-0000-1000-8000-00805f9b34fb"
GATEWAY = "00:AA:01:00:00:00"
RECORDS = [bytes.fromhex(f"1a0b15{8 + n:02x}0000{60 + n:04x}0000016100") for n in range(12)]


def readable(name, signature, value):
    """A read-only property."""
    def read(interface):
        return value(interface)

    read.__name__, read.__annotations__ = name, {"return": signature}
    return dbus_property(access=PropertyAccess.READ)(read)


class Service(ServiceInterface):
    UUID = readable("UUID", "s", lambda self: self.uuid)
    Primary = readable("Primary", "b", lambda self: True)

    def __init__(self, uuid):
        super().__init__("org.bluez.GattService1")
        self.uuid = uuid


class Characteristic(ServiceInterface):
    UUID = readable("UUID", "s", lambda self: self.uuid)
    Service = readable("Service", "o", lambda self: self.service)
    Flags = readable("Flags", "as", lambda self: self.flags)
    Value = readable("Value", "ay", lambda self: self.value)

    def __init__(self, service, uuid, flags, written=None):
        super().__init__("org.bluez.GattCharacteristic1")
        self.service, self.uuid, self.flags, self.written, self.value = service, uuid, flags, written, b""
        self.subscribed = lambda: None

    # The annotations are D-Bus signatures: "ay" is bytes.
    @method()
    def WriteValue(self, value: "ay", options: "a{sv}"):
        if self.written:
            asyncio.get_running_loop().create_task(self.written(bytes(value)))

    @method()
    def StartNotify(self):
        self.subscribed()

    @method()
    def StopNotify(self):
        pass

    def notify(self, value):
        self.value = value
        self.emit_properties_changed({"Value": value})


class Advertisement(ServiceInterface):
    Type = readable("Type", "s", lambda self: "peripheral")
    LocalName = readable("LocalName", "s", lambda self: self.local_name)
    Discoverable = readable("Discoverable", "b", lambda self: True)

    def __init__(self, name):
        super().__init__("org.bluez.LEAdvertisement1")
        self.local_name = name  # `name` is dbus-fast's own: the interface's.

    @method()
    def Release(self):
        pass


class Bottle:
    """A retail Boost. `is_endless`: its log never stops. `disconnects`: the step at which it disconnects once."""

    def __init__(self, is_endless=False, name="WaterH-Foreign", disconnects=None):
        self.is_endless, self.records, self.name, self.acknowledged, self.disconnects, self.open = is_endless, list(RECORDS), name, 0, disconnects, True

    def step(self, name):
        """Disconnects once, at the requested step; true if it does."""
        if self.disconnects != name:
            return False
        self.disconnects = None
        disconnect(1, GATEWAY)
        return True

    async def __aenter__(self):
        self.bus = await MessageBus(bus_type=BusType.SYSTEM).connect()
        self.response = Characteristic("/foreign/service1", BASE.format(0xFFE4), ["notify"])
        self.command = Characteristic("/foreign/service0", BASE.format(0xFFE9), ["write-without-response"], self.write)
        self.response.subscribed = lambda: self.step("subscribed")
        for path, interface in [
            ("/foreign/service0", Service(BASE.format(0xFFE5))), ("/foreign/service0/char0", self.command),
            ("/foreign/service1", Service(BASE.format(0xFFE0))), ("/foreign/service1/char0", self.response),
            ("/foreign/advertisement", Advertisement(self.name[:26])),
        ]:
            self.bus.export(path, interface)
        adapter = self.bus.get_proxy_object("org.bluez", "/org/bluez/hci1", await self.bus.introspect("org.bluez", "/org/bluez/hci1"))
        await adapter.get_interface("org.bluez.Adapter1").set_alias(self.name)
        await adapter.get_interface("org.bluez.GattManager1").call_register_application("/", {})
        await adapter.get_interface("org.bluez.LEAdvertisingManager1").call_register_advertisement("/foreign/advertisement", {})
        return self

    async def __aexit__(self, *_):
        self.open = False
        self.bus.disconnect()
        await asyncio.sleep(0.5)

    async def send(self, *values):
        for number, value in enumerate(values):
            if not self.open or number == 2 and self.step("log"):
                return
            self.response.notify(value)
            await asyncio.sleep(0.02)

    async def write(self, value):
        step = {retail.ASK_STATUS: "snapshot", retail.ASK_LOG: "asked"}.get(value, "acknowledgement" if value[:2] == b"RP" else "")
        if self.step(step):
            return
        if value == retail.ASK_LOG and self.is_endless:
            return await self.send_endless_log()
        self.acknowledged += retail.acknowledged(value)
        await self.send(*retail.answers(value, self.records))

    async def send_endless_log(self):
        await self.send(retail.FOLLOWS)
        for n in range(4000):
            if not self.open:
                return
            try:
                self.response.notify(bytes([n % 256]) * 20)
            except OSError:
                return  # The bus has disconnected this program.
            await asyncio.sleep(0.001)


async def gateway(store_path, limit=150):
    """One poll, ended with SIGTERM after the limit: its exit code, JSON and error output."""
    process = await asyncio.create_subprocess_exec(*poll_command(store_path), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    ended = asyncio.ensure_future(process.communicate())
    done, _ = await asyncio.wait([ended], timeout=limit)
    if not done:
        process.terminate()
    out, err = await asyncio.wait_for(ended, 60)
    try:
        return process.returncode, json.loads(out or '{"new": 0, "complete": false}'), err.decode()
    except ValueError:
        raise AssertionError(f"the gateway printed no JSON but {out!r}, {err!r}")


async def drained_and_acknowledged():
    # Also with a name that fits the advertisement, and one that does not.
    for name in ("WaterH" + "x" * 20, "WaterH" + "y" * 242):
        store_path = store()
        async with Bottle(name=name) as bottle:
            code, answer, error_output = await gateway(store_path)
            expect((code, answer["new"], answer["complete"]) == (0, 12, True), f"{code} {answer} {error_output}")
            # The gateway can acknowledge in several parts.
            expect(bottle.acknowledged == answer["acknowledged"] == 12 and not bottle.records, f"acknowledged {bottle.acknowledged}: {answer}")
            code, answer, error_output = await gateway(store_path)
            expect((code, answer["new"]) == (0, 0), f"second poll: {code} {answer} {error_output}")


async def endless_notifications_are_not_acknowledged():
    async with Bottle(is_endless=True) as bottle:
        code, answer, error_output = await gateway(store(), 40)
        expect(code > 0 and error_output, f"exit code {code}, {error_output!r}")
        expect(not bottle.acknowledged and not answer["complete"], f"{code} {answer} {error_output}, acknowledged {bottle.acknowledged}")
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    expect(largest < 128, f"a gateway grew to {largest} MiB")


async def disconnects_at_every_step():
    """No drink is lost or doubled, and what is acknowledged is in the store."""
    for step in ("subscribed", "snapshot", "asked", "log", "acknowledgement"):
        store_path, new = store(), 0
        async with Bottle(disconnects=step) as bottle:
            for _ in range(4):
                code, answer, error_output = await gateway(store_path)
                expect(code >= 0 and (code == 0 or error_output), f"{step}: {code} {error_output!r}")
                new += answer["new"]
                expect(bottle.acknowledged <= new, f"{step}: acknowledged {bottle.acknowledged} with {new} stored")
                if code == 0 and answer["complete"] and not bottle.records:
                    break
            expect(bottle.disconnects is None, f"{step}: the bottle did not disconnect")
            expect(new == 12 and not bottle.records, f"{step}: {new} new, {len(bottle.records)} left: {answer} {error_output}")


if __name__ == "__main__":
    run_tests([drained_and_acknowledged, endless_notifications_are_not_acknowledged, disconnects_at_every_step])
