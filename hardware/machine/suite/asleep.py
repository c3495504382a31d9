"""A suspended machine: `vm --suspend`, and `sleeper` in the VM."""
import subprocess

from bench import PRODUCTS, Emulator, ensure_bluetoothd, expect, poll_until, run, run_tests, store
from live import Page, Service
from pair import rows
from troubles import state, until


def naps():
    """The number of resumes in the kernel's log."""
    return run("dmesg").count("PM: suspend exit")


def the_service_goes_on_after_a_sleep():
    """The suspend of `vm --suspend`, after the service has its bottle."""
    place = store()
    with Emulator("--profile", "retail") as bottle:
        service = Service(place, 8081)
        page = Page(service)
        page.until("the kept connection", lambda state: state.get("service", {}).get("stage") == "connected")
        bottle.sip(130)
        page.until("the first sip", lambda state: state.get("dailyTotalMl") == 130)
        expect(naps() == 0, "the machine slept before the service was ready: --suspend comes too early")
        until(lambda: naps() == 1, "the machine did not sleep and wake", limit=300)
        print(f"  awake again; the bottle is {'' if state(bottle)['connected'] else 'not '}connected", flush=True)
        expect(service.process.poll() is None, f"the service is there after a sleep: {service.said()}")
        ensure_bluetoothd()
        bottle.sip(180)
        page.until("the sip after the sleep", lambda state: state.get("dailyTotalMl") == 310)
        expect(len(rows(place)) == 2, f"each sip once: {rows(place)}")
        expect(service.stop() == 0, service.said())


def a_poll_in_which_the_machine_falls_asleep_loses_nothing():
    place = store()
    with Emulator("--profile", "retail") as bottle:
        for amount in range(50, 90):
            bottle.sip(amount)
        before = naps()
        # So slow that the poll is not done before the machine sleeps.
        run("air-faults", "--latency", "400")
        polling = subprocess.Popen([f"{PRODUCTS}/waterh-gateway", "poll", "--link", "bluez:hci0", "--store", place, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            until(lambda: state(bottle)["connected"], "the poll never had the bottle")
            expect(polling.poll() is None, "the poll was over before the machine slept")
            run("sleeper", "0", "8")
        finally:
            run("air-faults")
        expect(naps() == before + 1, "the machine did not sleep")
        out, words = polling.communicate(timeout=180)
        # The guest's kernel kills it now and then when links end so (bluetoothd-ctl ensure).
        ensure_bluetoothd()
        print(f"  the poll ended with {polling.returncode}: {words.strip()[-160:]!r}", flush=True)
        poll_until(place, lambda all: all[-1]["exit"] == 0 and all[-1].get("complete"))
        expect(len(rows(place)) == 40, f"each sip once: {len(rows(place))} after {out!r}")


if __name__ == "__main__":
    run_tests([the_service_goes_on_after_a_sleep, a_poll_in_which_the_machine_falls_asleep_loses_nothing])
