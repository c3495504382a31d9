#!/usr/bin/env python3
"""The Home Assistant add-on: the steps of its Dockerfile in a fresh Debian in a folder, its start, and its page as ingress requests it.

usage: addon_tests.py PACKAGE      as root
"""
import json
import pathlib
import re
import shutil
import sys

from package_tests import System, check, end, said

ADDON = pathlib.Path(__file__).resolve().parents[2] / "hardware/homeassistant/addon"
INGRESS = "/api/hassio_ingress/Xk3_token-1"


def built(system, package):
    """Executes the Dockerfile; returns its command."""
    command = None
    for line in (ADDON / "Dockerfile").read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            check("its base is the Debian of this test", rest == "debian:bookworm-slim", rest)
        elif word == "COPY":
            source, target = rest.split()
            system.path(target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(package if source == "waterh.deb" else ADDON / source, system.path(target))
        elif word == "RUN":
            result = system.run(rest)
            check(f"RUN {rest[:60]}…", result.returncode == 0, said(result))
        elif word == "CMD":
            command = json.loads(rest)
        elif word and not word.startswith("#"):
            check(f"an unknown instruction: {line}", False)
    return command


def main(package):
    system = System("bookworm")
    try:
        command = built(system, package)
        options = {"units": "oz", "zone": "Europe/Berlin"}
        config = (ADDON / "config.yaml").read_text()
        known = re.search(r"^schema:\n((?:  .*\n?)+)", config, re.M)[1]
        check("every option has its place in the schema", all(re.search(rf"^  {name}:", known, re.M) for name in options), known)
        number = re.search(r'"waterh-bench ([0-9.]+)"', (ADDON.parents[2] / "Sources/CommandSupport/Output/ProgramVersion.swift").read_text())[1]
        check("the add-on's version is the programs'", f'version: "{number}"' in config, config)
        port = re.search(r"^ingress_port: (\d+)$", config, re.M)[1]
        check("ingress asks where nginx listens", f"listen {port};" in (ADDON / "nginx.conf").read_text(), port)
        system.path("/data").mkdir()
        system.path("/data/options.json").write_text(json.dumps(options))
        here = f"curl -fsS -m 10 -H 'X-Ingress-Path: {INGRESS}' http://127.0.0.1:{port}"
        post = f"{here}/api/v1/drinks -H 'Origin: http://homeassistant.local:8123' -H 'Sec-Fetch-Site: same-origin' -H 'Content-Type: application/json' -H 'Idempotency-Key: one-drink' -d '{{\"ml\": 250}}'"
        look = f"for i in $(seq 600); do {here}/healthz >/dev/null 2>&1 && break; sleep 0.1; done; {here}/; echo; echo ==; {here}/home.js; echo ==; {here}/api/v1/state; echo; echo ==; {post}; echo; echo =="
        result = system.run("exec " + " ".join(command), outside=look, lonely=True)
        page, script, state, drink = (result.stdout.split("\n==\n") + [""] * 4)[:4]
        check("the page comes through ingress", "<title>" in page, said(result))
        check("and asks for everything below ingress's path", f'href="{INGRESS}/base.css"' in page and f'src="{INGRESS}/app.js"' in page and not re.search(r' (href|src)="/(?!api/hassio_ingress)', page), page[:1500])
        check("its script knows that path", "hassio_ingress" in script, script)
        check("the day needs no token: ingress is signed in", "dailyGoalMl" in state, state)
        check("a drink can be logged", "250" in drink, drink + result.stderr)
        written = system.path("/data/waterh.toml").read_text()
        check("options are configuration", 'units = "oz"' in written and 'zone = "Europe/Berlin"' in written and "bottle" not in written, written)
        check("the drinks are where backups look", system.path("/data/waterh.sqlite").exists())
    finally:
        system.close()
    end()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
