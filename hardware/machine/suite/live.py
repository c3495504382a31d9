"""The service over BlueZ with an open page: it shows a sip at once, also after the service was killed and after a suspend."""
import contextlib
import json
import threading
import time
import urllib.request

from bench import (
    BOTTLE, LIMIT, PRODUCTS, Emulator, Programs, background, each_sip_once, ensure_bluetoothd, expect, poll_command, rows, run, run_tests,
    store, until)


class Service(Programs):
    """`waterh-gateway run`, and the states that its event stream sends, each with its time."""

    def __init__(self, store_path):
        super().__init__(PRODUCTS, WATERH_STORE=store_path, WATERH_BOTTLE=BOTTLE)
        self.link, self.states = "bluez:hci0", []
        self.gateway("--verbose")
        self.process = self.children["waterh-gateway"]
        request = urllib.request.Request(f"{self.url}/api/v1/events?fields=dailyTotalMl,service", headers=self.headers)
        self.stream = urllib.request.urlopen(request, timeout=LIMIT)
        threading.Thread(target=self.follow, daemon=True).start()
        self.state("the connection to the bottle", lambda state: state.get("service", {}).get("stage") == "connected")

    def follow(self):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # The service ended.
            for line in self.stream:
                if line.startswith(b"data: {"):
                    self.states.append((time.monotonic(), json.loads(line[6:])))

    def state(self, what, matches):
        """Waits for such a state; returns its time."""
        return until(lambda: next((at for at, state in list(self.states) if matches(state)), None),
                     lambda: f"{what} did not arrive: {self.states[-2:]}, {self.error_output()}")

    def total(self, ml):
        return self.state(f"{ml} ml", lambda state: state.get("dailyTotalMl") == ml)

    def error_output(self):
        return self.log("waterh-gateway")[-2000:]

    def end(self):
        expect(self.stop("waterh-gateway") == 0, self.error_output())


def service(store_path):
    """A service that does not outlive the block: it would read the next test's sips."""
    return contextlib.closing(Service(store_path))


def sips_are_on_the_page_at_once():
    with Emulator("--profile", "retail") as bottle, service(store()) as page:
        delays, total = [], 0
        for ml in range(250, 255):
            total += ml
            sip_time = time.monotonic()
            bottle.sip(ml)
            delays.append(page.total(total) - sip_time)
        print("  seconds from the sip to the page:", " ".join(f"{seconds:.2f}" for seconds in delays), flush=True)
        expect(sorted(delays)[2] <= 10, f"a sip is on the page within 10 s on a busy machine: {delays}")
        expect(bottle.status()["connected"], "the connection is kept while the page is open")
        page.end()
        until(lambda: not bottle.status()["connected"], "a stopped service keeps the connection")


def a_service_that_was_killed_finds_its_bottle_again():
    """bluetoothd keeps the connection of a killed program; the next service uses it."""
    store_path = store()
    with Emulator("--profile", "retail") as bottle:
        with service(store_path):
            pass
        bottle.sip(180)
        with service(store_path) as page:
            page.total(180)
            page.end()


def resumes():
    """The number of resumes in the kernel's log."""
    return run("dmesg").count("PM: suspend exit")


def suspend(seconds):
    before = resumes()
    run("sleeper", "0", str(seconds))
    expect(resumes() == before + 1, "the machine did not sleep")
    # The kernel sometimes kills bluetoothd when links end this way (see bluetoothd-ctl ensure).
    ensure_bluetoothd()


def the_service_continues_after_a_suspend():
    store_path = store()
    with Emulator("--profile", "retail") as bottle, service(store_path) as page:
        bottle.sip(130)
        page.total(130)
        suspend(10)
        expect(page.process.poll() is None, f"the service ended: {page.error_output()}")
        bottle.sip(180)
        page.total(310)
        expect(rows(store_path) == [130, 180], f"each sip once: {rows(store_path)}")
        page.end()


def a_suspend_during_a_poll_loses_nothing():
    store_path = store()
    # Slow, so that the poll does not end before the machine sleeps.
    with Emulator("--profile", "retail", "--faults", "slow=600") as bottle:
        bottle.sip(*range(50, 90))
        with background(*poll_command(store_path)) as polling:
            until(lambda: bottle.status()["connected"], "the poll does not connect")
            expect(polling.poll() is None, "the poll ended before the machine slept")
            suspend(8)
            polling.wait(180)
        each_sip_once(store_path, range(50, 90))


if __name__ == "__main__":
    run_tests([
        sips_are_on_the_page_at_once, a_service_that_was_killed_finds_its_bottle_again, the_service_continues_after_a_suspend,
        a_suspend_during_a_poll_loses_nothing,
    ])
