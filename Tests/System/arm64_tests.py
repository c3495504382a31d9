#!/usr/bin/env python3
"""The packages for arm64 in an emulated Debian 13: a poll, the page, captures, golden files, a full log, and the wheel.

usage: arm64_tests.py FOLDER

FOLDER: where `hardware/bench package --arch arm64` put the packages. As root. The system is a copy of WATERH_PACKAGE_SYSTEMS/arm64, which
`hardware/distribution --prepare` makes; qemu runs its programs.
"""
import contextlib
import os
import re
import shutil
import sys

from package_tests import COMMANDS, HERE, System, check, end, newest, output_of

# An emulated program is about ten times slower.
LIMIT = 3000
RECORDS = 500
SIPS = """
import json, socket
control = socket.socket(socket.AF_UNIX)
control.connect("/tmp/c.sock")
file = control.makefile("rw")
for ml in range(1, %d):
    print(json.dumps({"do": "sip", "value": str(ml)}), file=file, flush=True)
    assert json.loads(file.readline())["ok"]
""" % (RECORDS + 1)
# The other golden files need too much time with qemu.
GOLDEN = """
import bench, golden, views
bench.LIMIT = %d
made = bench.Bench("/usr/bin")
for part in (views.helps, views.captures, views.wrong_uses):
    part(made)
different = [name for name, text in made.made.items() if (golden.EXPECTED / name).read_text() != text]
for name in different:
    golden.show(name, (golden.EXPECTED / name).read_text(), made.made[name])
made.close()
print(len(made.made), "files")
exit(bool(different))
""" % LIMIT


def bottle(options=""):
    return f"waterh-emulator run --link unix:/tmp/b.sock --control unix:/tmp/c.sock {options} >/tmp/bottle & until grep -q ready /tmp/bottle; do sleep 0.1; done\n"


def prepare(system, folder):
    """Copies the packages, the parts of the checkout that tests need, and this machine's configuration for PyPI."""
    shutil.copy(newest(folder, "waterh_*_arm64.deb"), system.path("/srv/waterh.deb"))
    shutil.copy(newest(folder, "waterh_bottle-*_aarch64.whl"), system.path("/srv"))
    for name in ("Tests", "captures", "hardware"):
        shutil.copytree(HERE / name, system.path(f"/srv/tree/{name}"), symlinks=True)
    for file in filter(os.path.exists, ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")):
        shutil.copy(file, system.path(file))


def main(folder):
    with contextlib.closing(System("arm64")) as system:
        prepare(system, folder)

        def step(title, script, words="", **options):
            result = system.run(script, limit=LIMIT, **options)
            check(title, result.returncode == 0 and words in result.stdout, output_of(result))
            return result.stdout

        step("apt-get install ./waterh.deb", "apt-get update -qq && apt-get install -y -q --no-install-recommends /srv/waterh.deb")
        print("        " + step("the program is for arm64", "file -b /usr/bin/waterh-gateway", "ARM aarch64").strip())
        versions = step("every command prints its version", "; ".join(f"{command} --version" for command in COMMANDS)).splitlines()
        check("all commands have the same version", len(set(versions)) == 1 and len(versions) == 4, versions)
        linked = step("every required library is installed", "ldd /usr/bin/waterh-gateway")
        check("no Swift library is required", "not found" not in linked and "swift" not in linked, linked)

        store = "export WATERH_STORE=/tmp/waterh.sqlite\n"
        step("the drinks of a capture are polled", store + bottle("--capture /usr/share/waterh/captures/boost_two-days.btsnoop --restamp today") +
             "waterh-gateway poll --link unix:/tmp/b.sock", "40 new", without_network=True)
        local = "curl -fsS http://127.0.0.1:8077"
        served = step("the service polls the bottle and serves its page", store + bottle() + "waterh-emulator control --control unix:/tmp/c.sock sip 250 >&2\n"
                      "waterh-tracker token new --scope read --json >/tmp/token; exec waterh-gateway run --link unix:/tmp/b.sock --listen 127.0.0.1:8077", "<title>",
                      without_network=True, outer_script=f"""token=; for i in $(seq 600); do {local}/healthz 2>/dev/null && break; sleep 0.1; done; {local}/
                      token=$(sed 's/.*"token":"\\([^"]*\\)".*/\\1/' $0/tmp/token); sleep 15; {local}/api/v1/state -H "Authorization: Bearer $token" """)
        check("the state has the drinks", re.search(r'"totalMl":[1-9]', served), served[-2000:])

        print("        " + step("the captures decode as on amd64", "waterh-replay verify /usr/share/waterh/captures").strip().splitlines()[-1])
        golden = step("the golden files of help, captures and wrong uses are equal to those of amd64", f"cd /srv/tree/Tests/Golden && python3 -c '{GOLDEN}'")
        print("        " + golden.strip())

        full = step(f"a full log of {RECORDS} records is polled", "export WATERH_STORE=/tmp/full.sqlite\n" + bottle() + f"""python3 -c '{SIPS}'
            waterh-gateway poll --link unix:/tmp/b.sock --json >/tmp/polled & poll=$!
            while grep VmHWM /proc/$poll/status; do sleep 0.05; done 2>/dev/null; wait $poll; waterh-tracker export --format csv | tail -n +2 | wc -l; cat /tmp/polled""", without_network=True)
        peak = re.findall(r"VmHWM:\s*(\d+) kB", full)
        check(f"{RECORDS} drinks are stored", f"\n{RECORDS}\n" in full, full)
        print(f"        at most {int(peak[-1]) / 1024:.0f} MiB of memory, with qemu's own" if peak else full)

        print(step("the wheel", "python3 /srv/tree/Tests/System/artifact_tests.py wheel /srv/waterh_bottle-*.whl"))
    end()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
