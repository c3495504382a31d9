"""Makes the wheel for Python tests: the emulator, its libraries, the shipped captures, and a fixture for pytest.

usage: wheel.py PRODUCTS FOLDER        PRODUCTS: the folder of a static release build; FOLDER: for the wheel

The entries are sorted and have the commit's time: two runs have identical results.
"""
import base64
import glob
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile

import pack

HERE = os.path.dirname(os.path.abspath(__file__))
METADATA = """Metadata-Version: 2.1
Name: waterh-bottle
Version: {version}
Summary: An emulated WaterH smart bottle, for tests without Bluetooth
License: MIT
Requires-Python: >=3.9
Description-Content-Type: text/markdown

The emulated bottle of waterh-bench as a command, `waterh-emulator`, as the class `waterh_bottle.Bottle`, and as the fixture `bottle` for pytest. It
speaks ATT over a Unix socket. A test drinks from it over a control socket, and injects faults (`faults="drop=5"`). This is not an official product.
"""


def glibc(files):
    """The platform tag for the newest version of glibc that the files require."""
    versions = set(re.findall(r"\bGLIBC_2\.(\d+)\b", "".join(pack.output("objdump", "-T", file) for file in files)))
    return f"manylinux_2_{max(map(int, versions))}_{os.uname().machine}"


def contents(products, place):
    """The files by their paths in the wheel, and the platform tag."""
    files = {f"waterh_bottle/{os.path.basename(path)}": path for path in glob.glob(os.path.join(HERE, "wheel/waterh_bottle/*.py"))}
    files |= {f"waterh_bottle/captures/{os.path.basename(path)}": path for path in glob.glob(os.path.join(pack.ROOT, "captures/*"))}
    program = os.path.join(products, "waterh-emulator")
    moved = {"waterh_bottle/bin/waterh-emulator": (program, "$ORIGIN/../lib")}
    moved |= {f"waterh_bottle/lib/{name}": (path, "$ORIGIN") for name, path in pack.libraries(program).items()}
    for name, (path, search) in moved.items():
        target = files[name] = os.path.join(place, os.path.basename(name))
        pack.bundled(path, target, search)
    return files, glibc([files[name] for name in moved])


def wheel(products, out):
    # A post release with the commit's time.
    number, _, stamp = pack.version().partition("+git")
    version = f"{number}.post{re.sub('[^0-9]', '', stamp)[:12] or 0}"
    when = time.gmtime(max(pack.epoch(), 315532800))[:6]
    name = f"waterh_bottle-{version}"
    with tempfile.TemporaryDirectory() as place:
        files, tag = contents(products, place)
        bundled = pack.libraries(os.path.join(products, "waterh-emulator"))
        files |= {f"{name}.dist-info/licenses/{package}": path for package, path in pack.licences(bundled.values()).items()}
        made = {f"{name}.dist-info/METADATA": METADATA.format(version=version), f"{name}.dist-info/WHEEL": f"Wheel-Version: 1.0\nGenerator: waterh-bench\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n",
                f"{name}.dist-info/entry_points.txt": "[console_scripts]\nwaterh-emulator = waterh_bottle:run_emulator\n\n[pytest11]\nwaterh_bottle = waterh_bottle.plugin\n",
                f"{name}.dist-info/licenses/copyright": pack.copyright_text()}
        os.makedirs(out, exist_ok=True)
        target = os.path.join(out, f"{name}-py3-none-{tag}.whl")
        record = []
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            def add(path, data, mode):
                entry = zipfile.ZipInfo(path, when)
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
                archive.writestr(entry, data)
            for path in sorted(files | made):
                if path in files:
                    with open(files[path], "rb") as file:
                        data = file.read()
                else:
                    data = made[path].encode()
                add(path, data, 0o755 if path.startswith(("waterh_bottle/bin/", "waterh_bottle/lib/")) else 0o644)
                record.append(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n")
            add(f"{name}.dist-info/RECORD", "".join(record) + f"{name}.dist-info/RECORD,,\n", 0o644)
    return target


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        print(wheel(sys.argv[1], sys.argv[2]))
    except pack.manual.Wrong as wrong:
        sys.exit(f"wheel.py: {wrong}")
    except FileNotFoundError as error:
        sys.exit(f"wheel.py: {error.filename} is missing")
    except subprocess.CalledProcessError as error:
        sys.exit(f"wheel.py: {' '.join(map(str, error.cmd[:2]))} failed:\n{error.stderr or ''}")
