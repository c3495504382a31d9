"""Failures of a hardware session and their messages: power, other programs on the adapter, a bottle out of range."""
import contextlib
import subprocess
import time

from bench import PRODUCTS, Emulator, bluetoothd, expect, remove_devices, poll, power, run, run_tests, store

HCI0, BOTTLE = "/org/bluez/hci0", "/org/bluez/hci0/dev_00_AA_01_01_00_01"


def until(what, sentence, limit=60):
    end = time.monotonic() + limit
    while not what():
        expect(time.monotonic() < end, sentence)
        time.sleep(0.2)


def is_connected():
    return "true" in run("busctl", "get-property", "org.bluez", BOTTLE, "org.bluez.Device1", "Connected", check=False).stdout


def state(bottle):
    return bottle.control_requests([{"do": "status"}])


@contextlib.contextmanager
def bluetoothctl(*lines):
    """Another program on the adapter, as long as the block lasts."""
    other = subprocess.Popen(["bluetoothctl"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    try:
        for line in lines:
            other.stdin.write(line + "\n")
            other.stdin.flush()
            time.sleep(0.5)
        yield other
    finally:
        other.kill()
        other.wait(10)


def known():
    """Another program scans, so that bluetoothd knows the bottle."""
    with bluetoothctl("select 00:AA:01:00:00:00", "scan le"):
        until(lambda: run("busctl", "get-property", "org.bluez", BOTTLE, "org.bluez.Device1", "Name", check=False).returncode == 0, "the bottle is not seen")


def connected():
    """Another program connects."""
    known()
    for _ in range(5):
        run("busctl", "--timeout=60", "call", "org.bluez", BOTTLE, "org.bluez.Device1", "Connect", check=False)
        if is_connected():
            return
    expect(False, "bluetoothd could not connect")


def power_lost_while_connected():
    """The emulator advertises again when the adapter has power again."""
    with Emulator("--profile", "retail") as bottle:
        bottle.sip(50)
        connected()
        until(lambda: state(bottle)["connected"], "the bottle has no central")
        power("hci1", False)
        try:
            until(lambda: "switched off" in (state(bottle)["offAirReason"] or ""), "the status does not say that there is no power")
            expect(not state(bottle)["onAir"], "without power")
        finally:
            power("hci1", True)
        until(lambda: state(bottle)["onAir"] and not state(bottle)["connected"], "not on the air again with power")
        remove_devices()
        answer = poll(store())
        expect(answer["new"] == 1, f"with power again: {answer}")
        words = run(f"{PRODUCTS}/waterh-emulator", "control", "--control", bottle.control, "status")
        expect("on the air    yes" in words, words)


def a_connection_of_another_program_is_kept():
    with Emulator("--profile", "retail") as bottle:
        bottle.sip(60)
        connected()
        place = store()
        answer = poll(place)
        expect(answer["new"] == 1 and "another program" in answer["said"].lower(), f"shared: {answer}")
        expect(is_connected(), "the other program's connection was ended")
        run("busctl", "call", "org.bluez", BOTTLE, "org.bluez.Device1", "Disconnect")
        until(lambda: not is_connected(), "bluetoothd holds the connection")


def a_connection_of_a_killed_gateway_is_ended():
    place = store()
    with Emulator("--profile", "retail", "--faults", "slow=600") as bottle:
        bottle.sip(70)
        polling = subprocess.Popen([f"{PRODUCTS}/waterh-gateway", "poll", "--link", "bluez:hci0", "--store", place],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(is_connected, "the gateway does not connect")
        polling.kill()
        polling.wait(10)
        expect(is_connected(), "bluetoothd ended what the killed gateway left")
        answer = poll(place)
        expect(answer["new"] + answer["duplicates"] == 1 and "another program" not in answer["said"].lower(), f"{answer}")
        until(lambda: not is_connected(), "the leftover was not ended", limit=10)


def a_scan_of_another_program_does_not_hide_the_bottle():
    with Emulator("--profile", "retail") as bottle:
        bottle.sip(80)
        with bluetoothctl("select 00:AA:01:00:00:00", "menu scan", "pattern Nobody", "back", "scan le"):
            expect(poll(store())["new"] == 1, "with another program's filter")


def not_found_lists_the_bottles_in_range():
    with Emulator("--profile", "retail", "--name", "WaterH-Other"):
        away = poll(store(), "--bottle", "WaterH-Mine", check=False)
        expect(away["exit"] == 5, f"{away}")
        for words in ("Bottle not found", "looked for WaterH-Mine", "bluez:hci0", "WaterH-Other (00:AA:01:01:00:01)", "lid or a shake", "phone app"):
            expect(words in away["said"], f"'{words}' is not in: {away['said']}")


def a_stopped_bluetoothd_is_reported():
    with Emulator("--profile", "retail"):
        bluetoothd("stop")
        away = poll(store(), check=False)
        bluetoothd("start")
        expect(away["exit"] == 5 and "bluetoothd is not running" in away["said"].lower(), f"{away}")


def adapters_by_their_address():
    with Emulator("--profile", "retail", link="bluez:00:AA:01:01:00:01") as bottle:
        bottle.sip(90)
        expect(poll(store(), link="bluez:00:aa:01:00:00:00")["new"] == 1, "by addresses")


if __name__ == "__main__":
    run_tests([
        power_lost_while_connected, a_connection_of_another_program_is_kept, a_connection_of_a_killed_gateway_is_ended,
        a_scan_of_another_program_does_not_hide_the_bottle, not_found_lists_the_bottles_in_range, a_stopped_bluetoothd_is_reported,
        adapters_by_their_address,
    ])
