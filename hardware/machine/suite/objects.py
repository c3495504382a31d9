"""The emulator's objects on the system bus, and who may call them by the bus policy of hardware/units."""
import os
import shutil

from bench import Emulator, bus_name, expect, run, run_tests

UNITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "units")
CHARACTERISTIC = "org.bluez.GattCharacteristic1"
OBJECTS = ("org.freedesktop.DBus.ObjectManager", "GetManagedObjects")


def install_policy():
    shutil.copy(f"{UNITS}/waterh-bus-policy.conf", "/etc/dbus-1/system.d/waterh.conf")
    run("systemd-sysusers", f"{UNITS}/waterh.sysusers")
    run("busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ReloadConfig")


def characteristics_are_as_the_table_says():
    """bluetoothd gets full UUIDs, flags by their names, and the service of each characteristic."""
    install_policy()
    with Emulator("--profile", "retail") as bottle:
        name = bus_name(bottle.process)
        # The firmware update, and the three of the bottle: its identity over the air is the address.
        expected = {
            "00010203-0405-0607-0809-0a0b0c0d2b12": '"write"', "0000ffe4-0000-1000-8000-00805f9b34fb": "notify",
            "0000ffe9-0000-1000-8000-00805f9b34fb": "write-without-response"}
        found = {}
        tree = run("busctl", "tree", "--list", name).split()
        expect("/waterh/advertisement" in tree, f"{tree}")
        for path in (path for path in tree if path.rsplit("/", 1)[-1].startswith("char")):
            def value(member):
                return run("busctl", "get-property", name, path, CHARACTERISTIC, member).split(None, 1)[1].strip()
            found[value("UUID").strip('"')] = value("Flags")
            expect(value("Service").strip('"') == path.rsplit("/", 1)[0], f"{path}: {value('Service')}")
        expect(set(found) == set(expected), f"{found}")
        for uuid, flag in expected.items():
            expect(flag in found.get(uuid, ""), f"{uuid}: {found}")
        objects = run("busctl", "call", name, "/waterh", *OBJECTS)
        for member in ("Notifying", "Flags", "org.bluez.GattService1", CHARACTERISTIC):
            expect(member in objects, f"{member} is missing: {objects}")


def the_service_user_may_call_bluetoothd_only():
    install_policy()
    as_user = ["setpriv", "--reuid", "waterh", "--regid", "waterh", "--clear-groups"]
    with Emulator("--profile", "retail") as bottle:
        allowed = run(*as_user, "busctl", "call", "org.bluez", "/", *OBJECTS, check=False)
        expect(allowed.returncode == 0 and "Adapter1" in allowed.stdout, f"bluetoothd: {allowed}")
        refused = run(*as_user, "busctl", "call", bus_name(bottle.process), "/waterh", *OBJECTS, check=False)
        expect(refused.returncode != 0 and "denied" in refused.stderr.lower(), f"another program's objects: {refused}")


if __name__ == "__main__":
    run_tests([characteristics_are_as_the_table_says, the_service_user_may_call_bluetoothd_only])
