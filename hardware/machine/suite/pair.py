"""Emulator and gateway on two adapters over bluetoothd, with failures."""
import sqlite3
import subprocess
import time

from bench import PRODUCTS, Emulator, bluetoothd, expect, poll, poll_until, power, run, run_tests, store


def drains(*options, sips=(120, 45, 300)):
    """Sips -> poll -> all new and acknowledged -> second poll none new."""
    place = store()
    with Emulator(*options) as bottle:
        for amount in sips:
            bottle.sip(amount)
        first = poll(place)
        expect((first["new"], first["acknowledged"], first["complete"]) == (len(sips), len(sips) if "draft" not in options else first["acknowledged"], True),
               f"first poll: {first}")
        second = poll(place)
        expect(second["new"] == 0 and second["complete"], f"second poll: {second}")
        expect(bottle.stop() == 0, "SIGTERM ends the emulator with exit code 0")
    tree = run("busctl", "tree", "--list", "org.bluez")
    expect("waterh" not in tree, "nothing of ours stays at bluetoothd")


def retail_boost():
    drains("--profile", "retail", "--model", "boost")


def retail_vita():
    drains("--profile", "retail", "--model", "vita")


def draft():
    drains("--profile", "draft")


def gateway_sees_the_bottle():
    with Emulator("--name", "WaterH-Seen") as _:
        lines = run(f"{PRODUCTS}/waterh-gateway", "scan", "--link", "bluez:hci0", "--seconds", "8", "--json")
        expect("WaterH-Seen" in lines, f"scan: {lines}")


def many_drinks():
    sips = [10 + n for n in range(40)]
    drains("--profile", "retail", sips=sips)


def bluetoothd_killed_and_back():
    place = store()
    with Emulator("--profile", "retail") as bottle:
        bottle.sip(100)
        expect(poll(place)["new"] == 1, "before")
        bluetoothd("kill")
        lost = poll(place, check=False)
        expect(lost["exit"] != 0 and "bluetoothd" in lost["said"] + str(lost), f"without bluetoothd: {lost}")
        bluetoothd("start")
        bottle.sip(101)
        poll_until(place, lambda all: sum(a.get("new") or 0 for a in all) == 1)


def bluetoothd_killed_during_polls():
    place = store()
    with Emulator("--profile", "retail") as bottle:
        for amount in range(50, 70):
            bottle.sip(amount)
        polling = subprocess.Popen([f"{PRODUCTS}/waterh-gateway", "poll", "--link", "bluez:hci0", "--store", place, "--json"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(1.5)
        bluetoothd("kill")
        out, _ = polling.communicate(timeout=120)
        bluetoothd("start")
        poll_until(place, lambda all: all[-1]["exit"] == 0 and all[-1].get("complete"))
        expect(len(rows(place)) == 20, f"each sip once: {len(rows(place))} after {out!r}")


def emulator_killed_and_back():
    place, flash = store(), store()
    with Emulator("--profile", "retail", "--store", flash) as bottle:
        bottle.sip(77)
        expect(poll(place)["new"] == 1, "before")
        bottle.sip(78)
        bottle.kill()
    with Emulator("--profile", "retail", "--store", flash) as bottle:
        poll_until(place, lambda all: sum(a.get("new") or 0 for a in all) == 1)


def gateway_killed_during_polls():
    place = store()
    with Emulator("--profile", "retail") as bottle:
        for number in range(4):
            bottle.sip(60 + number)
            polling = subprocess.Popen([f"{PRODUCTS}/waterh-gateway", "poll", "--link", "bluez:hci0", "--store", place],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.7 + 0.6 * number)
            polling.kill()
            polling.wait(10)
        poll_until(place, lambda all: all[-1]["exit"] == 0 and all[-1].get("complete"))
        expect(sorted(rows(place)) == [60, 61, 62, 63], f"each sip once: {rows(place)}")


def adapters_off_and_on():
    place = store()
    with Emulator("--profile", "retail") as bottle:
        for adapter in ("hci0", "hci1"):
            bottle.sip(30)
            power(adapter, False)
            away = poll(place, check=False)
            expect(away["exit"] != 0 and away["said"], f"{adapter} off: {away}")
            power(adapter, True)
            poll_until(place, lambda all: all[-1]["exit"] == 0 and all[-1].get("complete"))
            time.sleep(1.1)  # Two sips of one amount in one second would be one drink.


def device_removed_while_connected():
    place = store()
    with Emulator("--profile", "retail") as bottle:
        for amount in range(100, 130):
            bottle.sip(amount)
        path = "/org/bluez/hci0/dev_00_AA_01_01_00_01"
        removed = None
        # On a busy machine a poll can end before its connection is seen, or find no bottle.
        for _ in range(4):
            polling = subprocess.Popen([f"{PRODUCTS}/waterh-gateway", "poll", "--link", "bluez:hci0", "--store", place],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while polling.poll() is None:
                asked = run("busctl", "get-property", "org.bluez", path, "org.bluez.Device1", "Connected", check=False)
                if "true" in asked.stdout:
                    removed = run("busctl", "call", "org.bluez", "/org/bluez/hci0", "org.bluez.Adapter1", "RemoveDevice", "o", path, check=False)
                    break
                time.sleep(0.05)
            polling.wait(120)
            if removed is not None and removed.returncode == 0:
                break
        expect(removed is not None and removed.returncode == 0, f"a device that is connected can be removed: {removed}")
        poll_until(place, lambda all: all[-1]["exit"] == 0 and all[-1].get("complete"))
        expect(sorted(rows(place)) == list(range(100, 130)), f"each sip once: {rows(place)}")


def no_such_adapter():
    away = poll(store(), check=False, link="bluez:hci9")
    expect(away["exit"] == 5 and "hci9" in away["said"], f"{away}")


def rows(place):
    """The amounts of the drinks in the store."""
    return [ml for (ml,) in sqlite3.connect(f"file:{place}?mode=ro", uri=True).execute("SELECT ml FROM drink WHERE deleted = 0")]


if __name__ == "__main__":
    run_tests([
        retail_boost, retail_vita, draft, many_drinks, gateway_sees_the_bottle, bluetoothd_killed_and_back,
        bluetoothd_killed_during_polls, emulator_killed_and_back, gateway_killed_during_polls, adapters_off_and_on,
        device_removed_while_connected, no_such_adapter,
    ])
