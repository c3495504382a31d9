#!/usr/bin/env python3
"""The wheel in a new virtual environment.

usage: wheel_tests.py WHEEL      needs venv and PyPI (pytest)
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 300
PYTEST = "pytest==8.4.2"


def run(*words, **options):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "WATERH", "LD_")) and key != "PATH"} | {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT, env=environment, **options)
    if result.returncode:
        sys.exit(f"FAILED  {' '.join(map(str, words))}: exit {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout


def main(wheel):
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        python = place / "environment/bin/python"
        run(sys.executable, "-m", "venv", place / "environment")
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel, PYTEST)
        print("ok      it is installed by pip, and needs no other package", flush=True)
        version = run(place / "environment/bin/waterh-emulator", "--version")
        assert version.startswith("waterh-bench "), version
        print(f"ok      its command runs: {version.strip()}", flush=True)
        linked = run("ldd", *place.glob("environment/lib/python*/site-packages/waterh_bottle/bin/waterh-emulator"))
        own = [line for line in linked.splitlines() if "=> /" in line and "/waterh_bottle/" not in line and not any(f"/lib{name}.so" in line for name in ("c", "m"))]
        assert not own and "not found" not in linked, linked
        print("ok      of the machine's libraries it takes only glibc", flush=True)
        (place / "mine").mkdir()
        shutil.copy(HERE / "hardware/package/wheel/test_bottle.py", place / "mine")
        report = place / "report.xml"
        run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", "test_bottle.py", cwd=place / "mine")
        suite = xml.parse(report).getroot().find("testsuite")
        assert (suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("3", "0", "0", "0"), report.read_text()
        print(f"ok      the example's three tests pass, by the fixture bottle, in {float(suite.get('time')):.1f} s", flush=True)
        # The brackets keep pgrep from finding its own shell.
        run("sh", "-c", f"! pgrep -f '{place}/.*/bin/waterh-emulator [r]un'")
        print("ok      no process is left", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
