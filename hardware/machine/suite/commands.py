"""Options of emulator and gateway over bluetoothd, recordings, `doctor`, and the bus policy of hardware/units."""
import json
import os
import shutil
import signal
import tempfile

from bench import (
    GATEWAY, PRODUCTS, Emulator, background, bluetoothd, bus_name, each_sip_once, expect, poll, power, run, run_tests, store, until)

UNITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "units")
REPLAY = f"{PRODUCTS}/waterh-replay"
OBJECTS = ("org.freedesktop.DBus.ObjectManager", "GetManagedObjects")


def recordings_have_the_same_drinks():
    """A poll recorded by the emulator, and by `waterh-replay record` from the kernel's monitor channel."""
    folder = tempfile.mkdtemp()
    captures = [f"{folder}/bottle.pcapng", f"{folder}/gateway.btsnoop"]
    with Emulator("--profile", "retail", "--record", captures[0]) as bottle:
        bottle.sip(*range(30, 45))
        with background(REPLAY, "record", "--adapter", "hci0", "--output", captures[1]) as recorder:
            until(lambda: os.path.exists(captures[1]) or recorder.poll() is not None, "the recorder does not start")
            answer = poll(store())
            recorder.send_signal(signal.SIGINT)
            recorder.wait(30)
        expect(bottle.stop() == 0, "SIGTERM ends the emulator with exit code 0")
    for capture in captures:
        found = [json.loads(line) for line in run(REPLAY, "drinks", capture, "--json").splitlines()]
        expect([drink["amountMl"] for drink in found] == list(range(30, 45)), f"{capture}: {found}")
        # The bottle is the adapter, for the gateway as for the recordings.
        expect({drink["bottle"] for drink in found} == {answer["bottle"]}, f"{capture}: {found[0]} against {answer['bottle']}")


def faults_over_bluetoothd():
    for plan in ("lose@2,disconnect@25", "delay@2:800ms"):
        store_path = store()
        with Emulator("--profile", "retail", "--faults", plan) as bottle:
            bottle.sip(*range(50, 70))
            each_sip_once(store_path, range(50, 70))
            expect("fault: " in bottle.output(), f"{plan}: no fault was injected: {bottle.output()[-500:]}")
    refused = run(f"{PRODUCTS}/waterh-emulator", "run", "--link", "bluez:hci1", "--faults", "mtu=23", check=False)
    expect(refused.returncode == 2 and "mtu=23" in refused.stderr, f"{refused}")


def notifications_by_signals():
    """MachineLinkTests has all methods of both ends."""
    with Emulator("--profile", "retail", "--notifications", "signals") as bottle:
        bottle.sip(*range(100, 130))
        answer = poll(store(), "--notifications", "signals")
        expect(answer["new"] == 30 and answer["complete"], f"{answer}")
        objects = run("busctl", "call", bus_name(bottle.process), "/waterh", *OBJECTS)
        expect("NotifyAcquired" not in objects, objects)


def install_policy():
    """Creates the user waterh and installs its D-Bus policy."""
    shutil.copy(f"{UNITS}/waterh-bus-policy.conf", "/etc/dbus-1/system.d/waterh.conf")
    run("systemd-sysusers", f"{UNITS}/waterh.sysusers")
    run("busctl", "call", "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ReloadConfig")


def the_service_user_may_call_bluetoothd_only():
    install_policy()
    as_user = ["setpriv", "--reuid", "waterh", "--regid", "waterh", "--clear-groups"]
    with Emulator("--profile", "retail") as bottle:
        allowed = run(*as_user, "busctl", "call", "org.bluez", "/", *OBJECTS, check=False)
        expect(allowed.returncode == 0 and "Adapter1" in allowed.stdout, f"bluetoothd: {allowed}")
        refused = run(*as_user, "busctl", "call", bus_name(bottle.process), "/waterh", *OBJECTS, check=False)
        expect(refused.returncode != 0 and "denied" in refused.stderr.lower(), f"another program's objects: {refused}")


def doctor(code, *wanted, link="bluez:hci0"):
    """The doctor's exit code, and for each (check, status, words) a check with them."""
    done = run(GATEWAY, "doctor", "--json", "--link", link, "--store", store(), check=False)
    answer = json.loads(done.stdout)
    expect(done.returncode == code and answer["ok"] == (code == 0), f"exit code {done.returncode}, not {code}: {answer}")
    for name, status, text in wanted:
        expect(any((c["check"], c["status"]) == (name, status) and text in c["found"] for c in answer["checks"]), f"{name}: no {status}, '{text}': {answer}")


def doctor_names_what_works_and_what_is_missing():
    with Emulator("--profile", "retail", "--name", "WaterH-Doctor"):
        doctor(0, ("link bluez:hci0", "note", "not adopted, in range: WaterH-Doctor"), ("bluetoothd", "good", "BlueZ 5."), ("adapter hci0", "good", "can be a bottle"),
               ("adapter hci1", "good", "advertisements: 1 active"), ("bus policy", "good", "root"), ("permissions", "good", "raw"), ("EATT", "good", "off"))
    doctor(5, ("adapter hci9", "bad", "available: hci0, hci1"), link="bluez:hci9")
    power("hci0", False)
    doctor(5, ("adapter hci0", "bad", "switched off"))
    power("hci0", True)
    bluetoothd("kill")
    doctor(5, ("bluetoothd", "bad", "not running"))
    bluetoothd("start")


if __name__ == "__main__":
    run_tests([
        recordings_have_the_same_drinks, faults_over_bluetoothd, notifications_by_signals, the_service_user_may_call_bluetoothd_only,
        doctor_names_what_works_and_what_is_missing,
    ])
