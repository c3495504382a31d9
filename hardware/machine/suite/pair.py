"""Emulator and gateway on two adapters over bluetoothd, or on L2CAP sockets without it (the tests raw_…), with failures."""
import subprocess
import time

from bench import (
    DEVICE, GATEWAY, Emulator, bluetoothd, each_sip_once, expect, is_connected, poll, poll_command, poll_until, power, run, run_tests,
    store, until)


def drains(*options, sips=(120, 45, 300)):
    """Sips -> poll -> all new and acknowledged -> second poll none new."""
    store_path = store()
    with Emulator(*options) as bottle:
        bottle.sip(*sips)
        first = poll(store_path)
        expect((first["new"], first["complete"]) == (len(sips), True), f"first poll: {first}")
        expect("draft" in options or first["acknowledged"] == len(sips), f"first poll: {first}")
        second = poll(store_path)
        expect(second["new"] == 0 and second["complete"], f"second poll: {second}")
        expect(bottle.stop() == 0, "SIGTERM ends the emulator with exit code 0")
    expect("waterh" not in run("busctl", "tree", "--list", "org.bluez"), "objects of the emulator stay at bluetoothd")


def retail_boost():
    drains("--profile", "retail", "--model", "boost", sips=range(10, 50))


def draft():
    drains("--profile", "draft")


def gateway_sees_the_bottle():
    with Emulator("--name", "WaterH-Seen"):
        found = run(GATEWAY, "scan", "--link", "bluez:hci0", "--seconds", "8", "--json")
        expect("WaterH-Seen" in found, f"scan: {found}")


def bluetoothd_killed_and_back():
    store_path = store()
    with Emulator("--profile", "retail") as bottle:
        bottle.sip(100)
        expect(poll(store_path)["new"] == 1, "before")
        bluetoothd("kill")
        lost = poll(store_path, check=False)
        expect(lost["exit"] != 0 and "bluetoothd" in lost["stderr"] + str(lost), f"without bluetoothd: {lost}")
        bluetoothd("start")
        bottle.sip(101)
        poll_until(store_path, lambda answers: sum(a.get("new") or 0 for a in answers) == 1)


def bluetoothd_killed_during_polls():
    store_path = store()
    with Emulator("--profile", "retail") as bottle:
        bottle.sip(*range(50, 70))
        polling = subprocess.Popen(poll_command(store_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1.5)
        bluetoothd("kill")
        polling.wait(120)
        bluetoothd("start")
        each_sip_once(store_path, range(50, 70))


def emulator_killed_and_back():
    store_path, flash = store(), store()
    with Emulator("--profile", "retail", "--store", flash) as bottle:
        bottle.sip(77)
        expect(poll(store_path)["new"] == 1, "before")
        bottle.sip(78)
        bottle.kill()
    with Emulator("--profile", "retail", "--store", flash):
        poll_until(store_path, lambda answers: sum(a.get("new") or 0 for a in answers) == 1)


def adapter_off_and_on():
    """The gateway's adapter; power_lost_while_connected switches the emulator's."""
    store_path = store()
    with Emulator("--profile", "retail") as bottle:
        bottle.sip(30)
        power("hci0", False)
        away = poll(store_path, check=False)
        expect(away["exit"] != 0 and away["stderr"], f"hci0 off: {away}")
        power("hci0", True)
        each_sip_once(store_path, [30])


def device_removed_while_connected():
    store_path = store()
    with Emulator("--profile", "retail") as bottle:
        bottle.sip(*range(100, 130))
        removed = None
        # On a busy machine a poll can end before its connection is seen, or find no bottle.
        for _ in range(4):
            polling = subprocess.Popen(poll_command(store_path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until(lambda: is_connected() or polling.poll() is not None, "the poll neither connects nor ends")
            removed = run("busctl", "call", "org.bluez", "/org/bluez/hci0", "org.bluez.Adapter1", "RemoveDevice", "o", DEVICE, check=False)
            polling.wait(120)
            if removed.returncode == 0:
                break
        expect(removed.returncode == 0, f"a device that is connected can be removed: {removed}")
        each_sip_once(store_path, range(100, 130))


def no_such_adapter():
    away = poll(store(), check=False, link="bluez:hci9")
    expect(away["exit"] == 5 and "hci9" in away["stderr"], f"{away}")


def raw_pair():
    store_path, link = store(), "l2cap:00:AA:01:01:00:01"
    with Emulator("--profile", "retail", link="l2cap:hci1") as bottle:
        bottle.sip(50, 60, 70)
        for new in (3, 0):
            answer = poll(store_path, link=link)
            expect((answer["new"], answer["complete"]) == (new, True), f"{answer}")
    away = poll(store(), link="l2cap:00:AA:01:01:00:77", check=False)
    expect(away["exit"] != 0 and away["stderr"], f"no such bottle: {away}")


if __name__ == "__main__":
    run_tests([
        retail_boost, draft, gateway_sees_the_bottle, bluetoothd_killed_and_back, bluetoothd_killed_during_polls,
        emulator_killed_and_back, adapter_off_and_on, device_removed_while_connected, no_such_adapter, raw_pair,
    ])
