#!/usr/bin/env python3
"""The packages as files, the wheel, the container image, the Home Assistant add-on, and the package of the test VM.

usage: artifact_tests.py files FOLDER | wheel WHEEL | image IMAGE | addon PACKAGE | vm FOLDER [SUITE]

FOLDER: where `hardware/bench package` put the packages. IMAGE: the folder waterh-image. SUITE: bookworm (default), trixie. As root, except
`wheel`. Needs lintian (files), PyPI (wheel, vm) and umoci (image).
"""
import contextlib
import glob
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

from package_tests import HERE, LIMIT, System, check, end, newest, output_of

ADDON = HERE / "hardware/homeassistant/addon"
INGRESS = "/api/hassio_ingress/Xk3_token-1"
PYTEST = "pytest==8.4.2"


def checksum(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def files(folder):
    """lintian, and a second run of pack.py."""
    packages = [newest(folder, f"{name}_*.deb") for name in ("waterh", "waterh-dbgsym", "waterh-bench-machine", "waterh-doc")]
    for package in packages:
        result = subprocess.run(["lintian", "--tag-display-limit", "0", "--fail-on", "error", package], capture_output=True, text=True, timeout=LIMIT)
        check(f"lintian finds no error in {os.path.basename(package).split('_')[0]}", result.returncode == 0, output_of(result))
        print(f"        {os.path.getsize(package) / 1e6:.1f} MB, sha256 {checksum(package)}", flush=True)
    products = glob.glob(f"{HERE}/.build/package/*-linux-gnu/release")[0]
    with tempfile.TemporaryDirectory() as again:
        command = [sys.executable, HERE / "hardware/package/pack.py", products, HERE / ".build/package-machine", HERE / ".build/package-docs", again]
        subprocess.run(command, check=True, capture_output=True, timeout=LIMIT)
        for package_path in packages + [newest(folder, "waterh-*.tar.gz")]:
            other = os.path.join(again, os.path.basename(package_path))
            check(f"{os.path.basename(package_path)} is identical when packed again", os.path.exists(other) and checksum(package_path) == checksum(other))


def wheel(path):
    """The wheel in a new virtual environment."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "WATERH", "LD_"))} | {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}

    def step(what, *words, **options):
        result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT, env=environment, **options)
        check(what, result.returncode == 0, output_of(result))
        return result.stdout

    with tempfile.TemporaryDirectory() as work_folder:
        work_folder = pathlib.Path(work_folder)
        python = work_folder / "environment/bin/python"
        step("a virtual environment", sys.executable, "-m", "venv", work_folder / "environment")
        step("pip installs the wheel without other packages", python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", path, PYTEST)
        version = step("the command of the wheel runs", work_folder / "environment/bin/waterh-emulator", "--version")
        check("the wheel has the version of the programs", version.startswith("waterh-bench "), version)
        linked = step("every required library is in the wheel", "ldd", *work_folder.glob("environment/lib/python*/site-packages/waterh_bottle/bin/waterh-emulator"))
        own = [line for line in linked.splitlines() if "=> /" in line and "/waterh_bottle/" not in line and not any(f"/lib{name}.so" in line for name in ("c", "m"))]
        check("the wheel requires only glibc of the system", not own and "not found" not in linked, linked)
        shutil.copy(HERE / "hardware/package/wheel/test_bottle.py", work_folder)
        step("the example's tests", python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={work_folder}/report.xml", "test_bottle.py", cwd=work_folder)
        suite = xml.parse(work_folder / "report.xml").getroot().find("testsuite")
        check("all three tests of the example pass", [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "0", "0", "0"], suite.attrib)
        # The brackets keep pgrep from finding its own shell.
        step("no emulator process remains", "sh", "-c", f"! pgrep -f '{work_folder}/.*/bin/waterh-emulator [r]un'")


def total(text):
    """The total of today in a state as JSON, in millilitres; `None` if there is none."""
    found = re.search(r'"totalMl":(\d+)', text)
    return int(found[1]) if found else None


def image(folder, data=None, expected=0):
    """The container image, unpacked and started without a container engine. `data`: a folder with a store of 0.9, and its total of today."""
    with tempfile.TemporaryDirectory() as work_folder:
        bundle = pathlib.Path(work_folder) / "bundle"
        subprocess.run(["umoci", "unpack", "--image", f"{folder}:latest", bundle], check=True, capture_output=True, timeout=LIMIT)
        root, process = bundle / "rootfs", json.loads((bundle / "config.json").read_text())["process"]
        user, drinks = process["user"], root / "var/lib/waterh"
        check("the image runs the service", process["args"] == ["/usr/bin/waterh-gateway", "run"], process)
        check("the image does not run as root", user["uid"] != 0, user)
        blobs = json.loads((pathlib.Path(folder) / "index.json").read_text())["manifests"]
        manifest = json.loads((pathlib.Path(folder) / "blobs" / blobs[0]["digest"].replace(":", "/")).read_text())
        check("the image has two layers", len(manifest["layers"]) == 2, manifest)
        print("        " + ", ".join(f"{package_path['size'] / 1e6:.0f} MB" for package_path in manifest["layers"]), flush=True)
        check("the folder of the drinks belongs to the service", drinks.stat().st_uid == user["uid"], drinks.stat())
        for file in pathlib.Path(data).iterdir() if data else []:
            shutil.copy(file, drinks)
            os.chown(drinks / file.name, user["uid"], user["gid"])
        service_command = ["chroot", root, "setpriv", f"--reuid={user['uid']}", f"--regid={user['gid']}", "--clear-groups", "env", "-i", *process["env"], "--chdir=" + process["cwd"], *process["args"]]
        script = 'mount -t proc proc "$0/proc"; mount --bind /dev "$0/dev"; ip link set lo up; "$@" & service=$!\n'
        script += "for i in $(seq 600); do curl -fs http://127.0.0.1:8077/healthz && break; sleep 0.1; done; curl -fsS http://127.0.0.1:8077/ | grep -o '<title>.*</title>'; code=$?; kill $service; wait $service; echo ended $?; exit $code"
        result = subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", script, *map(str, [root, *service_command])], capture_output=True, text=True, timeout=LIMIT)
        check("the container serves the page", result.returncode == 0 and "<title>" in result.stdout, output_of(result))
        check("the container ends with SIGTERM", "ended 0" in result.stdout, output_of(result))
        check("the store is in the volume", (drinks / "waterh.sqlite").exists(), os.listdir(drinks))
        if data:
            namespace_command = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", 'mount -t proc proc "$0/proc"; mount --bind /dev "$0/dev"; "$@"', root]
            service_command[service_command.index("--chdir=" + process["cwd"]) + 1:] = ["sh", "-c"]
            check_poll(expected, lambda command: subprocess.run([*map(str, [*namespace_command, *service_command]), command], capture_output=True, text=True, timeout=LIMIT), "/var/lib/waterh/waterh.sqlite")


def check_poll(expected, run, store):
    """Checks the total of a converted store, and that the next poll stores and acknowledges one more drink."""
    before = run(f"waterh-tracker status --json --store {store}")
    check("the total of today is that of 0.9", before.returncode == 0 and total(before.stdout) == expected, output_of(before))
    after = run(f"""
        waterh-emulator run --link unix:/tmp/new.sock --control unix:/tmp/control.sock >/tmp/new.log & bottle=$!
        for i in $(seq 200); do grep -q ready /tmp/new.log && break; sleep 0.1; done
        waterh-emulator control --control unix:/tmp/control.sock sip 50 && waterh-gateway poll --link unix:/tmp/new.sock --store {store}
        waterh-emulator control --control unix:/tmp/control.sock --json status; kill $bottle; waterh-tracker status --json --store {store}""")
    check("the next poll stores a drink", total(after.stdout) == expected + 50, output_of(after))
    check("the next poll acknowledges the drink", re.search(r'"records":0,.*"acknowledged":[1-9]', after.stdout), output_of(after))


def addon(package, data=None, expected=0):
    """The steps of the add-on's Dockerfile in a fresh Debian in a folder, its start, and its page as ingress requests it. `data` as for `image`."""
    with contextlib.closing(System("bookworm")) as system:
        for line in (ADDON / "Dockerfile").read_text().splitlines():
            word, _, rest = line.partition(" ")
            if word == "FROM":
                check("the base of the add-on is the Debian of this test", rest == "debian:bookworm-slim", rest)
            elif word == "COPY":
                source, target = rest.split()
                system.path(target).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(package if source == "waterh.deb" else ADDON / source, system.path(target))
            elif word == "RUN":
                result = system.run(rest)
                check(f"RUN {rest[:60]}…", result.returncode == 0, output_of(result))
            elif word == "CMD":
                command = json.loads(rest)
            elif word and not word.startswith("#"):
                check(f"an unknown instruction: {line}", False)
        options = {"units": "oz", "zone": "Europe/Berlin"}
        config = (ADDON / "config.yaml").read_text()
        known = re.search(r"^schema:\n((?:  .*\n?)+)", config, re.M)[1]
        check("every option is in the schema", all(re.search(rf"^  {name}:", known, re.M) for name in options), known)
        number = re.search(r'"waterh-bench ([0-9.]+)"', (HERE / "Sources/CommandSupport/Output/ProgramVersion.swift").read_text())[1]
        check("the add-on has the version of the programs", f'version: "{number}"' in config, config)
        port = re.search(r"^ingress_port: (\d+)$", config, re.M)[1]
        check("nginx listens on the port of ingress", f"listen {port};" in (ADDON / "nginx.conf").read_text(), port)
        system.path("/data").mkdir()
        system.path("/data/options.json").write_text(json.dumps(options))
        for file in pathlib.Path(data).iterdir() if data else []:
            shutil.copy(file, system.path("/data"))
        here = f"curl -fsS -m 10 -H 'X-Ingress-Path: {INGRESS}' http://127.0.0.1:{port}"
        post = f"{here}/api/v1/drinks -H 'Origin: http://homeassistant.local:8123' -H 'Sec-Fetch-Site: same-origin' -H 'Content-Type: application/json' -H 'Idempotency-Key: one-drink' -d '{{\"ml\": 250}}'"
        look = f"for i in $(seq 600); do {here}/healthz >/dev/null 2>&1 && break; sleep 0.1; done; {here}/; echo; echo ==; {here}/home.js; echo ==; {here}/api/v1/state; echo; echo ==; {post}; echo; echo =="
        result = system.run("exec " + " ".join(command), outer_script=look, without_network=True)
        page, script, state, drink = (result.stdout.split("\n==\n") + [""] * 4)[:4]
        check("the page comes through ingress", "<title>" in page, output_of(result))
        check("all addresses of the page are below the path of ingress", f'href="{INGRESS}/base.css"' in page and f'src="{INGRESS}/app.js"' in page and not re.search(r' (href|src)="/(?!api/hassio_ingress)', page), page[:1500])
        check("the script of the page uses the path of ingress", "hassio_ingress" in script, script)
        check("requests through ingress need no token", "dailyGoalMl" in state, state)
        if data:
            check("the total of today is that of 0.9", total(state) == expected, state)
        check("a drink can be logged", "250" in drink, drink + result.stderr)
        written = system.path("/data/waterh.toml").read_text()
        check("the options are in the configuration", 'units = "oz"' in written and 'zone = "Europe/Berlin"' in written and "bottle" not in written, written)
        check("the store is in the folder of the backups", system.path("/data/waterh.sqlite").exists())
        if data:
            check_poll(expected + 250, lambda command: system.run(command, without_network=True), "/data/waterh.sqlite")


def vm(folder, suite="bookworm"):
    """The test VM in a fresh Debian: without a network, fast from its snapshot, and with an external test with bleak."""
    with contextlib.closing(System(suite)) as system:
        os.makedirs(system.path("/srv"), exist_ok=True)
        for name in ("waterh", "waterh-bench-machine"):
            shutil.copy(newest(folder, f"{name}_*.deb"), system.path(f"/srv/{name}.deb"))

        def step(what, script, code=0, words="", **options):
            result = system.run(script, **options)
            check(f"{suite}: {what}", result.returncode == code and words in result.stdout + result.stderr, output_of(result))
            return result

        step("apt-get install ./waterh-bench-machine.deb", limit=900,
             script="apt-get update -q && apt-get install -y -q --no-install-recommends /srv/waterh.deb /srv/waterh-bench-machine.deb python3-venv")
        versions = step("waterh-bench-vm prints its version", "waterh-bench-vm --version; waterh-gateway --version", words="waterh-bench ").stdout.split("\n")
        check(f"{suite}: waterh-bench-vm and waterh-gateway have the same version", versions[0] == versions[1], versions)
        step("the VM starts without a network", "waterh-bench-vm -- ls /sys/class/bluetooth", words="hci1", without_network=True, limit=600)
        again = step("the VM starts from its snapshot", "waterh-bench-vm -- true", words="all ", without_network=True)
        seconds, load = float(re.search(r"all ([0-9.]+) s", again.stderr)[1]), os.getloadavg()[0]
        print(f"        {seconds} s, load {load:.0f}", flush=True)
        check(f"{suite}: a start from the snapshot takes at most 2 s on an idle machine", seconds <= 2 or load > (os.cpu_count() or 1), seconds)
        step("user-mode Linux starts without a network", "waterh-bench-vm --user-mode -- ls /sys/class/bluetooth", words="hci1", without_network=True)
        step("an unknown bluetoothd is reported", "waterh-bench-vm --bluez 5.50 -- true", 125, "5.50", without_network=True)
        step("missing build tools for another bluetoothd are reported", "waterh-bench-vm --bluez /srv -- true", 125, "build-bluez: make is missing: apt-get install", without_network=True)
        # This machine's configuration and certificates for PyPI.
        for file in filter(os.path.exists, ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt")):
            system.path(file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, system.path(file))
        bleak = re.search(r"^bleak==.*$", (HERE / "hardware/machine/suite/requirements.txt").read_text(), re.M)[0]
        step("pip installs bleak for the example", f"python3 -m venv /opt/test && /opt/test/bin/pip install -q {bleak}")
        for version in ("5.66", "5.82"):
            step(f"the example reads the bottle by bluetoothd {version}", words="250 ml received", without_network=True, limit=600,
                 script=f"waterh-bench-vm --bluez {version} -- /opt/test/bin/python /usr/share/doc/waterh-bench-machine/examples/machine_bleak.py")


if __name__ == "__main__":
    parts = {part.__name__: part for part in (files, wheel, image, addon, vm)}
    if len(sys.argv) < 3 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    parts[sys.argv[1]](*sys.argv[2:])
    end()
