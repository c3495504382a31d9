#!/usr/bin/env python3
"""Upgrades from the package of version 0.9: under systemd in the test VM, of a container's volume, and of the add-on's data.

usage: upgrade_tests.py OLD FOLDER [SUITE]

OLD: a package waterh_0.9*.deb, which `hardware/bench package` of the commit d79e32ca makes. FOLDER: of `hardware/bench package`. SUITE: bookworm
(default), trixie. As root. The checks in the VM are in upgrade_guest.sh.
"""
import contextlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

import artifact_tests
from package_tests import HERE, System, check, end, newest, output_of
from systemd_tests import system

# Runs a bottle with a capture of today, and polls it. The store is STORE.
POLL = """
    waterh-emulator run --link unix:/tmp/b.sock --control unix:/tmp/c.sock --capture /usr/share/waterh/captures/boost_two-days.btsnoop --restamp today >/tmp/ready &
    for i in $(seq 200); do grep -q ready /tmp/ready && break; sleep 0.1; done
    waterh-gateway poll --link unix:/tmp/b.sock --store STORE; waterh-emulator control --control unix:/tmp/c.sock --json status
    kill $!; waterh-tracker status --json --store STORE"""


def under_systemd(old, new, suite):
    base = system(suite, new, ["chrony"])
    with tempfile.TemporaryDirectory(prefix="waterh-upgrade-", dir="/var/tmp") as folder:
        pathlib.Path(folder).chmod(0o755)  # apt reads packages as a user without rights.
        shutil.copy(old, f"{folder}/old.deb")
        shutil.copy(new, f"{folder}/new.deb")
        for name in ("guest.sh", "upgrade_guest.sh"):
            shutil.copy(HERE / "Tests/System" / name, folder)
        vm = [HERE / "hardware/machine/vm", "--root", base, "--systemd", "--adapters", "3", "--timeout", "3000", "--rw", folder]
        done = subprocess.run([*vm, "--", "bash", f"{folder}/upgrade_guest.sh", folder])
        check(f"{suite}: one person and two people under systemd", done.returncode == 0, f"exit {done.returncode}")


def store_of_0_9(old, folder):
    """A store that 0.9 filled, in `folder`. Returns the total of today in millilitres."""
    with contextlib.closing(System("bookworm")) as debian:
        debian.path("/srv").mkdir(exist_ok=True)
        shutil.copy(old, debian.path("/srv/old.deb"))
        result = debian.run("apt-get update -q && apt-get install -y -q --no-install-recommends /srv/old.deb")
        check("0.9 is installed", result.returncode == 0, output_of(result))
        result = debian.run(POLL.replace("STORE", "/var/lib/waterh/waterh.sqlite"), user="waterh", without_network=True)
        check("0.9 reads a bottle", result.returncode == 0, output_of(result))
        for file in debian.path("/var/lib/waterh").glob("waterh.sqlite*"):
            shutil.copy(file, folder)
        return artifact_tests.total(result.stdout)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    old, folder, suite = sys.argv[1], sys.argv[2], (sys.argv[3:] or ["bookworm"])[0]
    new = newest(folder, "waterh_*.deb")
    with tempfile.TemporaryDirectory(prefix="waterh-upgrade-") as data:
        expected = store_of_0_9(old, data)
        print(f"        today: {expected} ml", flush=True)
        artifact_tests.image(f"{folder}/waterh-image", data, expected)
        artifact_tests.addon(new, data, expected)
    under_systemd(old, new, suite)
    end()


if __name__ == "__main__":
    main()
