"""Options of emulator and gateway over bluetoothd: --record, --faults, --notifications."""
import json
import tempfile

from bench import PRODUCTS, Emulator, bus_name, expect, poll, poll_until, run, run_tests, store


def drinks(capture):
    return [json.loads(line) for line in run(f"{PRODUCTS}/waterh-replay", "drinks", capture, "--json").splitlines()]


def emulator_records_its_own_link():
    for suffix in ("btsnoop", "pcapng"):
        capture, place = tempfile.mkdtemp() + "/bottle." + suffix, store()
        with Emulator("--profile", "retail", "--record", capture) as bottle:
            for amount in range(30, 42):
                bottle.sip(amount)
            first = poll(place)
            bottle.sip(99)
            second = poll(place)
            expect(bottle.stop() == 0, "SIGTERM ends the emulator with exit code 0")
        expect((first["new"], second["new"]) == (12, 1), f"{first} {second}")
        found = drinks(capture)
        expect([d["amountMl"] for d in found] == [*range(30, 42), 99], f"{suffix}: {found}")
        # The bottle is the adapter, for the gateway as for the recording.
        expect({d["bottle"] for d in found} == {first["bottle"]}, f"{suffix}: {found[0]} against {first['bottle']}")
        commands = run(f"{PRODUCTS}/waterh-replay", "commands", capture, "--json")
        expect("5254" not in commands and "47540001FF" in commands.upper(), commands)
        connections = json.loads(run(f"{PRODUCTS}/waterh-replay", "info", capture, "--json"))["connections"]
        expect(connections == 2 or len(connections) == 2, f"{suffix}: {connections}")


def faults_over_bluetoothd():
    for plan in ("lose@2,disconnect@25", "repeat@2,swap@4", "delay@2:800ms", "deaf@1,disconnect@9"):
        place = store()
        with Emulator("--profile", "retail", "--faults", plan) as bottle:
            for amount in range(50, 70):
                bottle.sip(amount)
            answers = poll_until(place, lambda all: all[-1]["exit"] == 0 and all[-1]["complete"])
            last = poll(place)
            bottle.log.seek(0)
            struck = bottle.log.read()
        expect("fault: " in struck, f"{plan}: no fault was entered: {struck[-500:]}")
        expect(sum(a["new"] for a in answers) == 20 and last["new"] == 0, f"{plan}: {[(a['new'], a['acknowledged']) for a in answers]}, then {last['new']}")
    refused = run(f"{PRODUCTS}/waterh-emulator", "run", "--link", "bluez:hci1", "--faults", "mtu=23", check=False)
    expect(refused.returncode == 2 and "mtu=23" in refused.stderr, f"{refused}")


def both_notification_ways():
    for offered in ("socket", "signals"):
        for taken in ("socket", "signals"):
            place = store()
            with Emulator("--profile", "retail", "--notifications", offered) as bottle:
                for amount in range(100, 130):
                    bottle.sip(amount)
                answer = poll(place, "--notifications", taken)
                expect(answer["new"] == 30 and answer["complete"], f"{offered}, {taken}: {answer}")
                name = bus_name(bottle.process)
                objects = run("busctl", "call", name, "/waterh", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
                expect(("NotifyAcquired" in objects) == (offered == "socket"), f"{offered}: {objects}")
            print(f"  emulator by {offered}, gateway by {taken}: 30 records, {answer['seconds']:.1f} s", flush=True)


if __name__ == "__main__":
    run_tests([emulator_records_its_own_link, faults_over_bluetoothd, both_notification_ways])
