"""waterh-gateway doctor on a machine with Bluetooth, with each part missing in turn."""
import json

from bench import PRODUCTS, Emulator, bluetoothd, expect, power, run, run_tests, store


def doctor(link="bluez:hci0", *options):
    done = run(f"{PRODUCTS}/waterh-gateway", "doctor", "--json", "--link", link, "--store", store(), *options, check=False)
    answer = json.loads(done.stdout)
    checks = {}
    for check in answer["checks"]:
        checks.setdefault(check["check"], []).append(check)
    expect(answer["ok"] == (done.returncode == 0), f"{done}")
    return done.returncode, checks


def has(checks, name, status, words):
    expect(any(c["status"] == status and words in c["found"] for c in checks.get(name, [])), f"{name}: wanted {status}, '{words}': {checks}")


def a_machine_that_works():
    with Emulator("--profile", "retail", "--name", "WaterH-Doctor"):
        code, checks = doctor()
    expect(code == 0, f"exit code {code}: {checks}")
    has(checks, "link bluez:hci0", "note", "not adopted, in range: WaterH-Doctor")
    has(checks, "bluetoothd", "good", "BlueZ 5.")
    has(checks, "adapter hci0", "good", "can be a bottle")
    has(checks, "adapter hci1", "good", "advertises 1")
    has(checks, "bus policy", "good", "root")
    has(checks, "permissions", "good", "raw")
    has(checks, "EATT", "good", "off")


def what_is_taken_away_is_named():
    code, checks = doctor("bluez:hci9")
    expect(code == 5, f"no such adapter: {code}, {checks}")
    has(checks, "adapter hci9", "bad", "available: hci0, hci1")
    power("hci0", False)
    code, checks = doctor()
    expect(code == 5, f"no power: {code}, {checks}")
    has(checks, "adapter hci0", "bad", "switched off")
    power("hci0", True)
    bluetoothd("kill")
    code, checks = doctor()
    expect(code == 5, f"no bluetoothd: {code}, {checks}")
    has(checks, "bluetoothd", "bad", "not running")
    code, checks = doctor("l2cap:00:AA:01:01:00:01")
    has(checks, "bluetoothd", "note", "not running")
    bluetoothd("start")
    done = run(f"{PRODUCTS}/waterh-gateway", "doctor", "--link", "bluez:hci0", "--store", store(), check=False)
    expect("ok   bluetoothd: BlueZ" in done.stdout, f"in words: {done}")


if __name__ == "__main__":
    run_tests([a_machine_that_works, what_is_taken_away_is_named])
