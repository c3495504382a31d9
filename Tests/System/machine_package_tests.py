#!/usr/bin/env python3
"""The package of the test VM in a fresh Debian in a folder: it starts without a network, quickly from its snapshot, and a test with bleak reads the
bottle in it.

usage: machine_package_tests.py FOLDER [SUITE]      FOLDER: of `hardware/bench package`. SUITE: bookworm (default), trixie. As root; needs PyPI.
"""
import os
import pathlib
import re
import shutil
import sys

from package_tests import System, check, end, newest, said

HERE = pathlib.Path(__file__).resolve().parents[2]


def main(folder, suite):
    system = System(suite)
    try:
        os.makedirs(system.path("/srv"), exist_ok=True)
        for name in ("waterh", "waterh-bench-machine"):
            shutil.copy(newest(folder, f"{name}_*.deb"), system.path(f"/srv/{name}.deb"))
        bleak = re.search(r"^bleak==.*$", (HERE / "hardware/machine/suite/requirements.txt").read_text(), re.M).group(0)
        result = system.run("apt-get update -q && apt-get install -y -q --no-install-recommends /srv/waterh.deb /srv/waterh-bench-machine.deb python3-venv", limit=900)
        check(f"{suite}: apt-get install ./waterh-bench-machine.deb", result.returncode == 0, said(result))
        version = system.run("waterh-bench-vm --version; waterh-gateway --version")
        check(f"{suite}: it says its version, which is that of the commands", version.returncode == 0 and len(set(version.stdout.split("\n")[:2])) == 1 and "waterh-bench " in version.stdout, said(version))
        first = system.run("waterh-bench-vm -- ls /sys/class/bluetooth", lonely=True, limit=600)
        check(f"{suite}: it starts without a network", first.returncode == 0 and "hci1" in first.stdout, said(first))
        again = system.run("waterh-bench-vm -- true", lonely=True, limit=300)
        took = re.search(r"all ([0-9.]+) s", again.stderr)
        check(f"{suite}: and once more", again.returncode == 0 and took is not None, said(again))
        load = os.getloadavg()[0]
        if took:
            print(f"        waterh-bench-vm -- true after the first: {took[1]} s, load {load:.0f}", flush=True)
            if load <= (os.cpu_count() or 1):
                check(f"{suite}: that takes at most 2 s", float(took[1]) <= 2, took[1])
        program = system.run("waterh-bench-vm --user-mode -- ls /sys/class/bluetooth", lonely=True, limit=300)
        check(f"{suite}: Linux as a program, without a network", program.returncode == 0 and "hci1" in program.stdout, said(program))
        wrong = system.run("waterh-bench-vm --bluez 5.50 -- true", lonely=True)
        check(f"{suite}: an unknown bluetoothd is reported", wrong.returncode == 125 and "5.50" in wrong.stderr, said(wrong))
        sources = system.run("waterh-bench-vm --bluez /srv -- true", lonely=True)
        check(f"{suite}: missing build tools for another bluetoothd are reported", sources.returncode == 125 and "build-bluez: make is missing: apt-get install" in sources.stderr, said(sources))
        example = "/usr/share/doc/waterh-bench-machine/examples/machine_bleak.py"
        # This machine's configuration and certificates for PyPI.
        for file in ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt"):
            if os.path.exists(file):
                system.path(file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, system.path(file))
        result = system.run(f"python3 -m venv /opt/test && /opt/test/bin/pip install -q {bleak}", limit=300)
        check(f"{suite}: a test's own library", result.returncode == 0, said(result))
        for version in ("5.66", "5.82"):
            result = system.run(f"waterh-bench-vm --bluez {version} -- /opt/test/bin/python {example}", lonely=True, limit=600)
            check(f"{suite}: the example meets the bottle by bluetoothd {version}", result.returncode == 0 and "250 ml came" in result.stdout, said(result))
    finally:
        system.close()
    end()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], (sys.argv + ["bookworm"])[2])
