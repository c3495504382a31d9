"""Failures of an adapter and their messages: no power, other programs that use it, a bottle out of range."""
import contextlib
import subprocess
import time

from bench import (
    DEVICE, PRODUCTS, Emulator, background, bluetoothd, device_property, expect, is_connected, poll, poll_command, power, remove_devices, run,
    run_tests, store, until)


@contextlib.contextmanager
def bluetoothctl(*words):
    """Another program on the adapter, as long as the block lasts."""
    with background("bluetoothctl", stdin=subprocess.PIPE) as other:
        for word in words:
            other.stdin.write(word + "\n")
            other.stdin.flush()
            time.sleep(0.5)
        yield


def connect():
    """Another program scans, so that bluetoothd knows the bottle, and connects."""
    with bluetoothctl("select 00:AA:01:00:00:00", "scan le"):
        until(lambda: device_property("Name"), "the bottle is not seen")
    for _ in range(5):
        run("busctl", "--timeout=60", "call", "org.bluez", DEVICE, "org.bluez.Device1", "Connect", check=False)
        if is_connected():
            return
    expect(False, "bluetoothd could not connect")


def power_lost_while_connected():
    """The emulator advertises again when the adapter has power again."""
    with Emulator("--profile", "retail") as bottle:
        bottle.sip(50)
        connect()
        until(lambda: bottle.status()["connected"], "the bottle has no central")
        power("hci1", False)
        try:
            until(lambda: "switched off" in (bottle.status()["offAirReason"] or ""), "the status does not say that there is no power")
            expect(not bottle.status()["onAir"], "without power")
        finally:
            power("hci1", True)
        until(lambda: bottle.status()["onAir"] and not bottle.status()["connected"], "not on the air again with power")
        remove_devices()
        answer = poll(store())
        expect(answer["new"] == 1, f"with power again: {answer}")
        words = run(f"{PRODUCTS}/waterh-emulator", "control", "--control", bottle.control, "status")
        expect("advertising   yes" in words, words)


def a_connection_of_another_program_is_kept():
    with Emulator("--profile", "retail") as bottle:
        bottle.sip(60)
        connect()
        answer = poll(store())
        expect(answer["new"] == 1 and "another program" in answer["stderr"].lower(), f"shared: {answer}")
        expect(is_connected(), "the other program's connection was ended")
        run("busctl", "call", "org.bluez", DEVICE, "org.bluez.Device1", "Disconnect")
        until(lambda: not is_connected(), "bluetoothd holds the connection")


def a_connection_of_a_killed_gateway_is_ended():
    store_path = store()
    with Emulator("--profile", "retail", "--faults", "slow=600") as bottle:
        bottle.sip(70)
        with background(*poll_command(store_path)):
            until(is_connected, "the gateway does not connect")
        expect(is_connected(), "bluetoothd ended the connection of the killed gateway")
        answer = poll(store_path)
        expect(answer["new"] + answer["duplicates"] == 1 and "another program" not in answer["stderr"].lower(), f"{answer}")
        until(lambda: not is_connected(), "the old connection was not ended", limit=10)


def a_scan_of_another_program_does_not_hide_the_bottle():
    with Emulator("--profile", "retail", link="bluez:00:AA:01:01:00:01") as bottle:
        bottle.sip(80)
        with bluetoothctl("select 00:AA:01:00:00:00", "menu scan", "pattern Nobody", "back", "scan le"):
            expect(poll(store(), link="bluez:00:aa:01:00:00:00")["new"] == 1, "adapters by their addresses, with another program's filter")


def not_found_lists_the_bottles_in_range():
    with Emulator("--profile", "retail", "--name", "WaterH-Other"):
        result = poll(store(), "--bottle", "WaterH-Mine", check=False)
        expect(result["exit"] == 5, f"{result}")
        for words in ("Bottle not found", "scanned for WaterH-Mine", "bluez:hci0", "WaterH-Other (00:AA:01:01:00:01)", "lid or a shake", "phone app"):
            expect(words in result["stderr"], f"'{words}' is not in: {result['stderr']}")
        bluetoothd("stop")
        result = poll(store(), check=False)
        bluetoothd("start")
        expect(result["exit"] == 5 and "bluetoothd is not running" in result["stderr"].lower(), f"{result}")


if __name__ == "__main__":
    run_tests([
        power_lost_while_connected, a_connection_of_another_program_is_kept, a_connection_of_a_killed_gateway_is_ended,
        a_scan_of_another_program_does_not_hide_the_bottle, not_found_lists_the_bottles_in_range,
    ])
