#!/usr/bin/env python3
"""The packages as files: lintian, and a second run of pack.py.

usage: packed_tests.py FOLDER      FOLDER: of `hardware/bench package`. As root; needs lintian.
"""
import glob
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile

from package_tests import LIMIT, check, end, newest, said

HERE = pathlib.Path(__file__).resolve().parents[2]
BUILD = HERE / ".build"


def checksum(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main(folder):
    packages = [newest(folder, f"{name}_*.deb") for name in ("waterh", "waterh-dbgsym", "waterh-bench-machine", "waterh-doc")]
    for package in packages:
        result = subprocess.run(["lintian", "--tag-display-limit", "0", "--fail-on", "error", package], capture_output=True, text=True, timeout=LIMIT)
        check(f"lintian finds no error in {os.path.basename(package).split('_')[0]}", result.returncode == 0, said(result))
        print(f"        {os.path.getsize(package) / 1e6:.1f} MB, sha256 {checksum(package)}", flush=True)
    products = glob.glob(str(BUILD / "package/*-linux-gnu/release"))[0]
    with tempfile.TemporaryDirectory() as again:
        script = [sys.executable, str(HERE / "hardware/package/pack.py"), products, str(BUILD / "package-machine"), str(BUILD / "package-docs"), again]
        subprocess.run(script, check=True, capture_output=True, timeout=LIMIT)
        for one in packages + [newest(folder, "waterh-*.tar.gz")]:
            other = os.path.join(again, os.path.basename(one))
            check(f"{os.path.basename(one)} packed again is the same to the byte", os.path.exists(other) and checksum(one) == checksum(other))
    end()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
