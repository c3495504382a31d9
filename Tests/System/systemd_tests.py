#!/usr/bin/env python3
"""The package with systemd in the test VM: a fresh Debian with bluetoothd, and the life of a service.

usage: systemd_tests.py FOLDER [SUITE]...

FOLDER: of `hardware/bench package`. SUITE: bookworm (default), trixie. As root. The checks are in systemd_guest.sh.
"""
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import package_tests
from package_tests import HERE

# With the recommended packages: the VM has no network.
INCLUDED = ["systemd", "systemd-sysv", "dbus", "udev", "bluez", "curl", "ca-certificates", "libpam-systemd", "dbus-user-session", "procps"]


def system(suite, package, more=()):
    """A folder with a Debian that has systemd, bluetoothd, what the package depends on, and `more` packages: the VM has no network."""
    base = pathlib.Path(os.environ.get("WATERH_PACKAGE_SYSTEMS", "/var/tmp/waterh-package")) / "-".join([suite, "systemd", *more])
    depends = subprocess.run(["dpkg-deb", "-f", package, "Depends"], check=True, capture_output=True, text=True).stdout
    expected = [*INCLUDED, *more] + [re.split(r"[ (]", word.split("|")[0].strip())[0] for word in depends.split(",")]
    installed_list = base / "var/lib/waterh-tests"
    if not installed_list.exists() or installed_list.read_text() != " ".join(expected):
        if not base.exists():
            fresh = package_tests.System(suite)
            base.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(fresh.root, base)
            fresh.close()
        print(f"systemd, bluetoothd and what the package depends on go into {base}", flush=True)
        shutil.copy("/etc/resolv.conf", base / "etc/resolv.conf")
        # Nothing is started in a folder.
        policy = base / "usr/sbin/policy-rc.d"
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        names = " ".join(f"$(apt-cache show {name} >/dev/null 2>&1 && echo {name} || echo {name}t64)" for name in expected)
        script = f"apt-get update -q && apt-get install -y --no-install-recommends {names}"
        subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", 'mount -t proc proc "$0/proc"; chroot "$0" env DEBIAN_FRONTEND=noninteractive sh -ec "$1"', base, script],
                       check=True, stdout=subprocess.DEVNULL, timeout=900)
        policy.unlink()
        installed_list.write_text(" ".join(expected))
    return base


def later_store(package, folder):
    """A store of a later version, with one unknown migration."""
    index = os.path.join(folder, "programs")
    subprocess.run(["dpkg-deb", "-x", package, index], check=True)
    store = os.path.join(folder, "tomorrow.sqlite")
    subprocess.run([os.path.join(index, "usr/bin/waterh-tracker"), "log", "200", "--store", store], check=True, stdout=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin", "HOME": folder})
    database = sqlite3.connect(store)
    database.execute("PRAGMA journal_mode=DELETE")
    database.execute("INSERT INTO grdb_migrations VALUES ('tomorrow')")
    database.execute(f"PRAGMA user_version={database.execute('PRAGMA user_version').fetchone()[0] + 1}")
    database.commit()
    database.close()
    shutil.rmtree(index)


def readme():
    """The installation in the README, and its output."""
    return re.search(r"^```sh package\n(.*?)^```\n+^```text\n(.*?)^```", (HERE / "README.md").read_text(), re.M | re.S).groups()


def first_missing_line(shown, printed):
    """The first expected line that was not printed, in this order. Numbers, spaces and text after a … can differ."""
    def plain(line):
        return re.sub(r" +", " ", re.sub(r"[0-9]+", "0", line)).strip()
    rest = [plain(line) for line in printed.splitlines()]
    for line in shown.splitlines():
        if line != "…":
            expected = plain(line.removesuffix("…"))
            index = next((at for at, one in enumerate(rest) if (one.startswith(expected) if line.endswith("…") else one == expected)), None)
            if index is None:
                return line
            rest = rest[index + 1:]
    return None


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if os.geteuid() != 0:
        sys.exit("systemd_tests.py: requires root")
    package, suites = package_tests.newest(sys.argv[1], "waterh_*.deb"), sys.argv[2:] or ["bookworm"]
    failed = []
    for suite in suites:
        base = system(suite, package)
        with tempfile.TemporaryDirectory(prefix="waterh-systemd-", dir="/var/tmp") as folder: # Debian 13 lays its own /tmp over this one.
            os.chmod(folder, 0o755) # apt reads packages as a user without rights.
            shutil.copy(package, os.path.join(folder, "waterh.deb"))
            package_tests.repackaged(package, folder, "older", lambda version: "0.0.1+" + version)
            package_tests.repackaged(package, folder, "later", lambda version: version + "+later", step="tomorrow")
            later_store(package, folder)
            for script in ("guest.sh", "systemd_guest.sh"):
                shutil.copy(HERE / "Tests/System" / script, folder)
            lines, shown = readme()
            pathlib.Path(folder, "readme.sh").write_text(lines)
            print(f"== {suite}", flush=True)
            words = [HERE / "hardware/machine/vm", "--root", base, "--systemd", "--timeout", "3000", "--rw", folder, "--", "bash", f"{folder}/systemd_guest.sh", folder]
            code = subprocess.run(words).returncode
            transcript = pathlib.Path(folder, "transcript.txt")
            missing = first_missing_line(shown, transcript.read_text() if transcript.exists() else "")
            print("FAILED  the README's transcript has a line that was not printed: " + missing if missing else "ok      what that printed is the README's transcript", flush=True)
            if missing and transcript.exists():
                print(transcript.read_text()[-3000:])
            if code or missing:
                failed.append(suite)
                if os.path.exists(f"{folder}/journal.txt"):
                    print(open(f"{folder}/journal.txt", encoding="utf-8").read()[-6000:])
    print(f"failed: {', '.join(failed)}" if failed else "All passed.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
