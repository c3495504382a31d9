"""The emulator's objects beside those that bluetoothctl's own gatt menu makes: same interfaces, members, types and flags.

Nobody may introspect another program's objects on Debian's system bus; the bus policy of hardware/units lets root."""
import json
import os
import shutil
import subprocess
import time
import xml.etree.ElementTree as xml

from bench import Emulator, Failure, bus_name, expect, run, run_tests

UNITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "units")
SERVICE, CHARACTERISTIC, DESCRIPTOR = "org.bluez.GattService1", "org.bluez.GattCharacteristic1", "org.bluez.GattDescriptor1"
STANDARD = ("org.freedesktop.DBus.Introspectable", "org.freedesktop.DBus.Properties", "org.freedesktop.DBus.ObjectManager")

# What bluetoothctl has beyond ours, and why ours does without.
LEFT_OUT = {
    SERVICE: {"Handle"},  # Ours leave the choice of handles to bluetoothd, as any application may.
    CHARACTERISTIC: {
        "Handle", "MTU",
        "AcquireWrite", "WriteAcquired",  # With a socket for writes bluetoothd would no longer tell which central wrote.
        "Confirm",  # Of indications; retail and draft bottles notify.
    },
}

# Where bluetoothctl 5.66 describes less than it answers (client/gatt.c gives no results; doc/gatt-api.txt does).
TOLD_BETTER = {(CHARACTERISTIC, "AcquireNotify"): "a{sv} -> hq"}


def install_policy():
    shutil.copy(f"{UNITS}/waterh-bus-policy.conf", "/etc/dbus-1/system.d/waterh.conf")
    run("busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ReloadConfig")


def introspect(name, path):
    """Interface -> member -> signature, of methods `in -> out` and of properties."""
    text = run("busctl", "call", "--json=short", name, path, "org.freedesktop.DBus.Introspectable", "Introspect")
    node = xml.fromstring(json.loads(text)["data"][0])
    shapes = {}
    for interface in node.findall("interface"):
        members = shapes.setdefault(interface.get("name"), {})
        for method in interface.findall("method"):
            arguments = {way: "".join(a.get("type") for a in method.findall("arg") if a.get("direction", "in") == way) for way in ("in", "out")}
            members[method.get("name")] = f"{arguments['in']} -> {arguments['out']}"
        for property in interface.findall("property"):
            members[property.get("name")] = property.get("type")
    return shapes, [child.get("name") for child in node.findall("node")]


def objects(name):
    """Path -> shapes, of everything below the root."""
    found, waiting = {}, ["/"]
    while waiting:
        path = waiting.pop()
        found[path], children = introspect(name, path)
        waiting += [path.rstrip("/") + "/" + child for child in children]
    return found


def shapes_of(found, interface):
    return [(path, shapes[interface]) for path, shapes in sorted(found.items()) if interface in shapes]


class Bluetoothctl:
    """bluetoothctl's gatt menu with a service like the bottle's, registered."""

    def __enter__(self):
        self.process = subprocess.Popen(["bluetoothctl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.said = ""
        os.set_blocking(self.process.stdout.fileno(), False)
        self.say("menu gatt", None)
        self.say("register-service 0xFFE0", "Primary")
        self.say("yes", None)
        self.say("register-characteristic 0xFFE4 read,notify", "Enter value")
        self.say("0x00", None)
        self.say("register-descriptor 0x2901 read", "Enter value")
        self.say("0x52", None)
        self.say("register-application", "registered")
        return self

    def say(self, words, answer, limit=60):
        seen = len(self.said)
        self.process.stdin.write(words.encode() + b"\n")
        self.process.stdin.flush()
        end = time.monotonic() + (limit if answer else 1)
        while time.monotonic() < end:
            self.said += (self.process.stdout.read() or b"").decode(errors="replace")
            if answer and answer in self.said[seen:]:
                return
            time.sleep(0.05)
        if answer:
            raise Failure(f"bluetoothctl did not answer '{words}' with '{answer}': {self.said[-600:]!r}")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(10)


def objects_look_like_bluetoothctls():
    install_policy()
    with Bluetoothctl() as other:
        theirs = objects(bus_name(other.process))
    with Emulator("--profile", "retail") as bottle:
        name = bus_name(bottle.process)
        ours = objects(name)
        tree = run("busctl", "tree", name)
        shown = run("busctl", "introspect", name, "/waterh/service0/char0")
    expect(not shapes_of(ours, DESCRIPTOR), "no published table of a bottle has descriptors of its own")
    for interface in (SERVICE, CHARACTERISTIC):
        model, mine = shapes_of(theirs, interface), shapes_of(ours, interface)
        expect(model and mine, f"{interface}: bluetoothctl has {[p for p, _ in model]}, we have {[p for p, _ in mine]}")
        _, model = model[0]
        for path, members in mine:
            for member, signature in members.items():
                expect(TOLD_BETTER.get((interface, member), model.get(member)) == signature, f"{path} {interface}.{member}: ours is '{signature}', bluetoothctl's '{model.get(member)}'")
        # A characteristic that notifies has everything that bluetoothctl's has, but for what is left out on purpose.
        full = max((members for _, members in mine), key=len)
        lacking = set(model) - set(full) - LEFT_OUT[interface]
        expect(not lacking, f"{interface}: bluetoothctl has {sorted(lacking)} more")
        print(f"  {interface}: {', '.join(f'{m} ({s})' for m, s in sorted(full.items()))}; without {sorted(set(model) - set(full))}", flush=True)
    # Every object has the standard interfaces, and the manager stands above them all.
    for path, shapes in ours.items():
        expect(STANDARD[0] in shapes, f"{path} has no Introspectable")
        if any(name.startswith("org.bluez.") for name in shapes):
            expect(STANDARD[1] in shapes, f"{path} has no Properties")
    expect([path for path, shapes in ours.items() if STANDARD[2] in shapes] == ["/waterh"], f"managers: {ours}")
    expect("/waterh/service0/char0" in tree and "/waterh/advertisement" in tree, tree)
    expect(".ReadValue" in shown and ".Flags" in shown and "org.bluez.GattCharacteristic1" in shown, shown)


def values_are_as_the_table_says():
    """What bluetoothd was given: UUIDs in full, flags by their names, services behind their characteristics."""
    install_policy()
    with Emulator("--profile", "retail") as bottle:
        name = bus_name(bottle.process)
        # The firmware update, and nothing beside the three: the identity over the air is the address.
        expected = {"00010203-0405-0607-0809-0a0b0c0d2b12": '"write"', "0000ffe4-0000-1000-8000-00805f9b34fb": "notify", "0000ffe9-0000-1000-8000-00805f9b34fb": "write-without-response"}
        found = {}
        for path in objects(name):
            if not path.rsplit("/", 1)[-1].startswith("char"):
                continue
            def value(member):
                return run("busctl", "get-property", name, path, CHARACTERISTIC, member).split(None, 1)[1].strip()
            found[value("UUID").strip('"')] = value("Flags")
            expect(value("Service").strip('"') == path.rsplit("/", 1)[0], f"{path}: {value('Service')}")
        expect(set(found) == set(expected), f"{found}")
        for uuid, flag in expected.items():
            expect(flag in found.get(uuid, ""), f"{uuid}: {found}")


def a_service_user_needs_the_policy_and_no_more():
    """As the user of the units: bluetoothd answers, and nobody else's methods can be called."""
    install_policy()
    run("systemd-sysusers", f"{UNITS}/waterh.sysusers")
    run("busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ReloadConfig")
    as_user = ["setpriv", "--reuid", "waterh", "--regid", "waterh", "--clear-groups"]
    with Emulator("--profile", "retail") as bottle:
        allowed = run(*as_user, "busctl", "call", "org.bluez", "/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", check=False)
        expect(allowed.returncode == 0 and "Adapter1" in allowed.stdout, f"bluetoothd: {allowed}")
        name = bus_name(bottle.process)
        refused = run(*as_user, "busctl", "call", name, "/waterh", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", check=False)
        expect(refused.returncode != 0 and "denied" in refused.stderr.lower(), f"another program's objects: {refused}")


if __name__ == "__main__":
    run_tests([objects_look_like_bluetoothctls, values_are_as_the_table_says, a_service_user_needs_the_policy_and_no_more])
