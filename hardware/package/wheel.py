"""Makes the wheel for Python tests: the emulator, its libraries, the shipped captures, and a fixture for pytest.

usage: wheel.py PRODUCTS FOLDER        PRODUCTS: the folder of a static release build; FOLDER: for the wheel

The entries are sorted and have the commit's time: two runs have identical results.
"""
import base64
import hashlib
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import pack

HERE = Path(__file__).resolve().parent
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


def contents(products, work_folder):
    """The files by their paths in the wheel, and the platform tag for the newest version of glibc that the programs require."""
    files = {f"waterh_bottle/{path.name}": path for path in (HERE / "wheel/waterh_bottle").glob("*.py")}
    files |= {f"waterh_bottle/captures/{path.name}": path for path in (pack.ROOT / "captures").iterdir()}
    program = products / "waterh-emulator"
    libraries = pack.libraries(program)
    binaries = {"waterh_bottle/bin/waterh-emulator": (program, "$ORIGIN/../lib")}
    binaries |= {f"waterh_bottle/lib/{name}": (path, "$ORIGIN") for name, path in libraries.items()}
    for name, (path, search) in binaries.items():
        files[name] = work_folder / Path(name).name
        pack.copy_library(path, files[name], search)
    symbols = "".join(pack.output("objdump", "-T", files[name]) for name in binaries)
    newest = max(map(int, re.findall(r"\bGLIBC_2\.(\d+)\b", symbols)))
    return files, pack.licences(libraries.values()), f"manylinux_2_{newest}_{pack.architecture('GNU_CPU')}"


def wheel(products, out):
    # A post release with the commit's time.
    number, _, stamp = pack.version().partition("+git")
    name = f"waterh_bottle-{number}.post{re.sub('[^0-9]', '', stamp)[:12] or 0}"
    commit_time = time.gmtime(max(pack.epoch(), 315532800))[:6]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work_folder:
        files, licences, tag = contents(products, Path(work_folder))
        data = {path: Path(file).read_bytes() for path, file in files.items()}
        data |= {f"{name}.dist-info/licenses/{package}": Path(path).read_bytes() for package, path in licences.items()}
        data |= {f"{name}.dist-info/{path}": text.encode() for path, text in {
            "METADATA": METADATA.format(version=name.removeprefix("waterh_bottle-")),
            "WHEEL": f"Wheel-Version: 1.0\nGenerator: waterh-bench\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n",
            "entry_points.txt": "[console_scripts]\nwaterh-emulator = waterh_bottle:run_emulator\n\n[pytest11]\nwaterh_bottle = waterh_bottle.plugin\n",
            "licenses/copyright": pack.copyright_text(products)}.items()}
        record = f"{name}.dist-info/RECORD"
        lines = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data[path]).digest()).rstrip(b'=').decode()},{len(data[path])}\n" for path in sorted(data)]
        data[record] = "".join([*lines, f"{record},,\n"]).encode()
        target = out / f"{name}-py3-none-{tag}.whl"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for path in sorted(data, key=lambda path: (path == record, path)):
                entry = zipfile.ZipInfo(path, commit_time)
                mode = 0o755 if path.startswith(("waterh_bottle/bin/", "waterh_bottle/lib/")) else 0o644
                entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
                archive.writestr(entry, data[path])
    return target


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        print(wheel(Path(sys.argv[1]), Path(sys.argv[2])))
    except pack.manual.InvalidManual as error:
        sys.exit(f"wheel.py: {error}")
    except FileNotFoundError as error:
        sys.exit(f"wheel.py: {error.filename} is missing")
    except subprocess.CalledProcessError as error:
        sys.exit(f"wheel.py: {' '.join(map(str, error.cmd[:2]))} failed:\n{error.stderr or ''}")
