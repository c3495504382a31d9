"""A lossy air: `vm --air-loss` and `--latency`, and `air-faults` in the VM. No sip is lost or counted twice."""
import struct
import time

from bench import Emulator, expect, poll_until, run, run_tests, store
from pair import rows
from troubles import BOTTLE, connected, is_connected, state, until

# The options of this group's VM (hardware/machine/tests).
LATENCY_MS, LOSS_PERCENT = 30, 10


def faults():
    """The settings of the virtual controllers: latency, loss and seed."""
    with open("/run/air", "rb") as file:
        return struct.unpack("<III", file.read(12))


def air(*words):
    run("air-faults", *words)


def as_asked():
    air("--loss", str(LOSS_PERCENT), "--latency", str(LATENCY_MS))


def connected_and_readable():
    """Connects; a characteristic of the bottle's that can be read."""
    connected()
    until(readable, "the bottle's table is not there")
    return readable()


def readable():
    for path in run("busctl", "tree", "--list", "org.bluez").split():
        if path.startswith(BOTTLE) and "/char" in path and "/desc" not in path:
            flags = run("busctl", "get-property", "org.bluez", path, "org.bluez.GattCharacteristic1", "Flags", check=False).stdout
            if '"read"' in flags:
                return path
    return None


def read(path):
    """The seconds of one read, or None if it failed."""
    began = time.monotonic()
    done = run("busctl", "--timeout=60", "call", "org.bluez", path, "org.bluez.GattCharacteristic1", "ReadValue", "a{sv}", "0", check=False)
    return time.monotonic() - began if done.returncode == 0 else None


def the_air_is_as_the_machine_was_told():
    expect(faults()[:2] == (LATENCY_MS, LOSS_PERCENT), f"--latency {LATENCY_MS} --air-loss {LOSS_PERCENT} came to {faults()}")


def a_poll_completes_although_a_tenth_of_the_air_is_lost():
    place = store()
    with Emulator("--profile", "retail") as bottle:
        for amount in range(60, 90):
            bottle.sip(amount)
        answers = poll_until(place, lambda all: all[-1]["exit"] == 0 and all[-1].get("complete"))
        print(f"  polls that it took: {len(answers)}", flush=True)
        expect(sum(answer.get("new") or 0 for answer in answers) == 30, f"each sip is new once: {answers}")
        expect(len(rows(place)) == 30, f"{len(rows(place))} rows for 30 sips")
        expect(state(bottle)["acknowledged"] == 30, f"and the bottle may forget them: {state(bottle)}")


def what_comes_late_comes_late_by_the_latency():
    with Emulator("--profile", "retail") as bottle:
        bottle.sip(50)
        air()
        try:
            path = connected_and_readable()
            # The quickest of several: a busy machine makes some slow, and none quick.
            clear = min(filter(None, (read(path) for _ in range(5))), default=None)
            air("--latency", "300")
            late = min(filter(None, (read(path) for _ in range(5))), default=None)
            print(f"  a question and its answer: {clear:.3f} s on a clear air, {late:.3f} s with 300 ms each way", flush=True)
            expect(clear < late and late >= 0.6, f"{clear} s, and {late} s with 300 ms in each direction")
        finally:
            as_asked()


def an_air_that_carries_nothing_ends_the_link():
    place = store()
    with Emulator("--profile", "retail") as bottle:
        bottle.sip(70)
        air()
        try:
            path = connected_and_readable()
            air("--loss", "99")
            end = time.monotonic() + 120
            while is_connected():
                expect(time.monotonic() < end, "the link holds on an air that loses 99 of 100")
                read(path)
            until(lambda: not state(bottle)["connected"], "the bottle does not see that the link is gone")
        finally:
            as_asked()
        answers = poll_until(place, lambda all: all[-1]["exit"] == 0 and all[-1].get("complete"))
        expect(sum(answer.get("new") or 0 for answer in answers) == 1, f"afterwards the sip is there, once: {answers}")


if __name__ == "__main__":
    run_tests([
        the_air_is_as_the_machine_was_told, a_poll_completes_although_a_tenth_of_the_air_is_lost, what_comes_late_comes_late_by_the_latency,
        an_air_that_carries_nothing_ends_the_link,
    ])
