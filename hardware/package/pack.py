"""Makes the packages of a build: waterh, its symbols (waterh-dbgsym), the archive for other distributions, the test VM
(waterh-bench-machine), and the documentation (waterh-doc).

usage: pack.py PRODUCTS MACHINE DOCS FOLDER      PRODUCTS: the folder of a static release build; MACHINE: the result of `vm --ship`;
                                                 DOCS: the result of hardware/docs; FOLDER: for the packages
       pack.py PRODUCTS FOLDER                   only those with the programs
       pack.py --tree PRODUCTS FOLDER            write the package's files without the programs

All times are the commit's (or SOURCE_DATE_EPOCH), all owners are root, and all lists are sorted: two runs have identical results.
"""

import functools
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import time
from pathlib import Path

import manual

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
UNITS = ROOT / "hardware/units"
SYSTEM_UNITS = ["waterh-gateway.service", "waterh-gateway@.service", "waterh-emulator@.service"]
USER_UNITS = ["waterh-gateway-user.service", "waterh-agent.service", "waterh-check.service", "waterh-check.timer"]
# The libraries of glibc are never bundled.
GLIBC = re.compile(r"^(ld-linux-.*|lib(c|m|dl|rt|pthread|resolv|util|anl|nsl|nss_.*))\.so(\..*)?$")


def output(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **options).stdout


def git(*words):
    """The output of git; "" without git, as in an archive of the source."""
    try:
        return output("git", "-C", ROOT, *words).strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def maintainer():
    """The maintainer, from the variables of Debian's tools or from the commit."""
    name, mail = os.environ.get("DEBFULLNAME", "The waterh-bench authors"), os.environ.get("DEBEMAIL") or git("log", "-1", "--format=%ae")
    return f"{name} <{mail or 'nobody@invalid'}>"


@functools.cache
def epoch():
    return int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or 0)


@functools.cache
def version():
    """The programs' version and the commit's time, so that a later commit is a later package; `+changed` with uncommitted changes."""
    number = re.search(r'"waterh-bench ([0-9.]+)"', read(ROOT / "Sources/CommandSupport/Output/ProgramVersion.swift"))[1]
    changed = "+changed" if git("status", "--porcelain", "--untracked-files=no") else ""
    return f"{number}+git{time.strftime('%Y%m%d.%H%M%S', time.gmtime(epoch()))}{changed}"


@functools.cache
def architecture(kind="ARCH"):
    """A name of the packages' architecture; DEB_HOST_ARCH sets another one."""
    return output("dpkg-architecture", f"-qDEB_HOST_{kind}").strip()


def put(target, text=None, source=None, mode=0o644):
    """Writes a file: a text, bytes, or the content of another file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source:
        shutil.copyfile(source, target)
    else:
        target.write_bytes(text.encode() if isinstance(text, str) else text)
    target.chmod(mode)


def put_all(folder, pattern, start=ROOT):
    """Copies the files that match the pattern."""
    for source in sorted(start.glob(pattern)):
        put(folder / source.name, source=source)


def read(path):
    return Path(path).read_text(encoding="utf-8")


def gzipped(text):
    """gzip without name and time."""
    return gzip.compress(text.encode(), 9, mtime=0)


def changelog(package="waterh"):
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch()))
    points = [f"Packed from commit {git('log', '-1', '--format=%h') or 'unknown'}. The last changes:", *git("log", "-10", "--format=%s").splitlines()]
    lines = [textwrap.fill(point, 76, initial_indent="  * ", subsequent_indent="    ") for point in points]
    return f"{package} ({version()}) unstable; urgency=medium\n\n" + "\n".join(lines) + f"\n\n -- {maintainer()}  {date}\n"


def stanza(files, licence, text):
    """The entry of some files in a copyright file: the holders of a licence, and its text."""
    lines = text.strip().splitlines()
    holders = [re.sub(r"^Copyright\s*(\([cC]\)|©)?\s*", "", line).strip() for line in lines if line.startswith("Copyright")]
    rest = [line for line in lines if not line.startswith("Copyright") and line.strip() not in ("MIT License", "The MIT License (MIT)")]
    body = [" " + (line.rstrip() or ".") for line in "\n".join(rest).strip().splitlines()]
    return "\n".join([f"Files: {files}", "Copyright: " + "\n           ".join(holders or ["its authors"]), f"License: {licence}", *body]) + "\n"


def own_copyright():
    """The licence of the programs' own sources."""
    return ("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: waterh-bench\n\n"
            + stanza("*", "Expat", read(ROOT / "LICENSE")))


def copyright_text(products):
    """The licences of the programs and of all linked libraries."""
    parts, apache = [own_copyright()], [stanza("linked/swift-runtime/*", "Apache-2.0", "Copyright Apple Inc. and the Swift project authors")]
    for folder in sorted(products.resolve().parents[1].glob("checkouts/*")):
        found = next(filter(Path.exists, (folder / "LICENSE.txt", folder / "LICENSE")), None)
        text = read(found) if found else ""
        if "Apache License" in text:
            apache.append(stanza(f"linked/{folder.name}/*", "Apache-2.0", f"Copyright the authors of {folder.name}"))
        elif text:
            parts.append(stanza(f"linked/{folder.name}/*", f"Expat-{folder.name}", text))
    return "\n".join(parts + apache + [read(HERE / "debian/copyright-apache")])


def schema(products):
    """The names of a store's migrations: preinst rejects a store with unknown ones."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/store.sqlite"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WATERH")} | {"HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_RUNTIME_DIR": folder}
        output(products / "waterh-tracker", "log", "100", "--store", store, timeout=60, env=environment)
        database = sqlite3.connect(store)
        try:
            return [row[0] for row in database.execute("SELECT identifier FROM grdb_migrations ORDER BY identifier")]
        finally:
            database.close()


def share_tree(products, share):
    """Writes the files below PREFIX/share."""
    with tempfile.TemporaryDirectory() as folder:
        for page in map(Path, manual.write(products, folder, epoch())):
            put(share / f"man/man{page.suffix[1:]}/{page.name}.gz", gzipped(read(page)))
    for command in manual.COMMANDS:
        for shell, work_folder in (
            ("bash", f"bash-completion/completions/{command}"), ("zsh", f"zsh/vendor-completions/_{command}"), ("fish", f"fish/vendor_completions.d/{command}.fish"),
        ):
            text = output(products / command, "--generate-completion-script", shell, timeout=60)
            put(share / work_folder, text.removeprefix("#!/bin/bash\n"))  # The file is sourced.
    put(share / "applications/waterh.desktop", re.sub(r"^#.*\n", "", read(UNITS / "waterh.desktop"), flags=re.M))
    put(share / "icons/hicolor/scalable/apps/waterh.svg", source=ROOT / "Sources/CDashboard/pages/icon.svg")
    put_all(share / "waterh/captures", "captures/*")
    put(share / "waterh/schema", "".join(step + "\n" for step in schema(products)))
    put(share / "waterh/waterh.lua", output(products / "waterh-replay", "dissector", timeout=60))
    doc = share / "doc/waterh"
    put(doc / "README.md.gz", gzipped(read(ROOT / "README.md")))
    put(doc / "copyright", copyright_text(products))
    put(doc / "changelog.gz", gzipped(changelog()))
    put_all(doc / "examples/ci", "hardware/ci/*")
    for name in ("waterh-nginx.conf", "disconnect-at-once.conf"):
        put(doc / "examples" / name, source=UNITS / name)
    put_all(doc / "examples/homeassistant", "hardware/homeassistant/blueprints/*.yaml")


def packaged_unit(name):
    """A unit or policy for the package, with its commands in /usr/bin."""
    text = read(UNITS / name)
    header, begin, rest = text.partition("[Unit]")
    if begin:
        command = "waterh-emulator" if "waterh-emulator run" in rest else "waterh-tracker" if "waterh-tracker" in rest else "waterh-gateway"
        page = "" if "[Timer]" in rest else f"Documentation=man:{command}(1)\n"
        text = header + begin + "\n" + page + rest.lstrip("\n")
    for here, there in (
        ("/usr/local/bin/", "/usr/bin/"), ("/usr/local/libexec/", "/usr/libexec/"), ("/etc/systemd/system", "/usr/lib/systemd/system"), ("/etc/systemd/user", "/usr/lib/systemd/user"),
        ("/etc/dbus-1/system.d", "/usr/share/dbus-1/system.d"), ("/etc/udev/rules.d", "/usr/lib/udev/rules.d"),
    ):
        text = text.replace(here, there)
    return text


def tree(products, folder, programs=True):
    """Writes the files of the Debian package."""
    share_tree(products, folder / "usr/share")
    places = {name: f"lib/systemd/system/{name}" for name in SYSTEM_UNITS} | {name: f"usr/lib/systemd/user/{name}" for name in USER_UNITS}
    places |= {"waterh.sysusers": "usr/lib/sysusers.d/waterh.conf", "waterh-bus-policy.conf": "usr/share/dbus-1/system.d/waterh.conf", "70-waterh.rules": "lib/udev/rules.d/70-waterh.rules"}
    for name, work_folder in places.items():
        put(folder / work_folder, packaged_unit(name))
    put(folder / "etc/waterh/waterh.toml", source=HERE / "waterh.toml", mode=0o640)
    put(folder / "usr/share/lintian/overrides/waterh", source=HERE / "debian/lintian-overrides")
    # Wireshark and tshark read their plugins there.
    plugins = folder / "usr/lib" / architecture("MULTIARCH") / "wireshark/plugins"
    plugins.mkdir(parents=True, exist_ok=True)
    (plugins / "waterh.lua").symlink_to("../../../../share/waterh/waterh.lua")
    if programs:
        commands(products, folder / "usr/bin")
        backtracer(folder / "usr/libexec/waterh")


def commands(products, folder):
    """Writes one program with a name for each command."""
    first, *others = [folder / name for name in manual.COMMANDS]
    copy_stripped(products / "waterh", first)
    output("chrpath", "-d", first)
    for other in others:
        other.hardlink_to(first)


def backtracer(folder):
    """Copies the toolchain's swift-backtrace, which prints the stack of a crashed program; the units name it."""
    source = Path(shutil.which("swift") or "").resolve().parent / "../libexec/swift/linux/swift-backtrace-static"
    if source.exists():
        copy_stripped(source, folder / "swift-backtrace")
    else:
        print("pack.py: the toolchain has no swift-backtrace-static, so a crash prints no stack", file=sys.stderr)


def copy_stripped(source, target):
    """Copies a program without symbols."""
    put(target, source=source, mode=0o755)
    output("strip", "--strip-unneeded", "--remove-section=.comment", target)


def libraries(program):
    """The paths of a program's libraries by name, except those of glibc."""
    # The same as ldd, which lists only libraries of this machine's architecture.
    text = output(program.absolute(), env=os.environ | {"LD_TRACE_LOADED_OBJECTS": "1"})
    if "not found" in text:
        raise manual.InvalidManual(f"a library of {program} is missing:\n{text}")
    return {name: path for name, path in re.findall(r"^\s*(\S+) => (/\S+) ", text, re.M) if not GLIBC.match(name)}


def copy_library(source, target, search):
    """Copies a program or library without symbols that searches `search` for libraries first."""
    put(target, source=source, mode=0o755)
    output("strip", "--strip-unneeded", target)
    output("patchelf", "--force-rpath", "--set-rpath", search, target)


def licences(paths):
    """The copyright files of the Debian packages that libraries come from, by package."""
    found = {}
    for path in sorted(paths):
        # If /lib is a link to /usr/lib, a package can list either of them.
        real = os.path.realpath(path)
        listed = (subprocess.run(["dpkg", "-S", name], capture_output=True, text=True).stdout for name in (real, real.removeprefix("/usr"), path))
        package = next(filter(None, listed), "").split(":")[0]
        if not package:
            raise manual.InvalidManual(f"no package contains {path}, so its licence is unknown")
        found[package] = f"/usr/share/doc/{package}/copyright"
    return found


def linked_packages(*programs):
    """The packages that the programs link, with their versions (dpkg-shlibdeps)."""
    with tempfile.TemporaryDirectory() as work_folder:
        put(Path(work_folder, "debian/control"), f"Source: waterh\nMaintainer: {maintainer()}\n\nPackage: waterh\nArchitecture: any\n")
        return output("dpkg-shlibdeps", "-O", *programs, cwd=work_folder).strip().removeprefix("shlibs:Depends=").split(", ")


def build_package(name, fill, out, scripts=(), **values):
    """Makes a package; returns its path. `fill` writes its files, and returns more values for debian/NAME.control."""
    os.umask(0o022)
    with tempfile.TemporaryDirectory() as work_folder:
        folder = Path(work_folder, name)
        folder.mkdir()
        values = {"architecture": architecture(), "version": version(), "maintainer": maintainer()} | values | (fill(folder) or {})
        files = {file.lstat().st_ino: file.lstat().st_size for file in folder.rglob("*") if not file.is_dir()}
        control = read(HERE / f"debian/{name}.control").format(size=(sum(files.values()) + 1023) // 1024, **values)
        sums = output("sh", "-c", "find . -type f ! -path './etc/*' -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 md5sum", cwd=folder)
        put(folder / "DEBIAN/control", control)
        put(folder / "DEBIAN/md5sums", sums)
        for script in scripts:
            text = read(HERE / "debian" / script).replace("@VERSION@", version()).replace("@SCHEMA@", values["schema"])
            put(folder / "DEBIAN" / script, text, mode=0o755)
        if scripts:
            put(folder / "DEBIAN/conffiles", "/etc/waterh/waterh.toml\n")
        for path in sorted([folder, *folder.rglob("*")], reverse=True):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
            os.utime(path, (epoch(), epoch()), follow_symlinks=False)
        target = out / f"{name}_{version()}_{values['architecture']}.deb"
        # The number of threads changes xz's output. The runtime is large, so the level is low. lintian of Debian 12 does not support zstd.
        output("dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", folder, target, env=os.environ | {"SOURCE_DATE_EPOCH": str(epoch()), "DPKG_DEB_THREADS_MAX": "1"})
        for line in control.splitlines():
            if line.startswith(("Package", "Version", "Installed-Size", "Depends")):
                print("  " + line, file=sys.stderr)
    return target


def package(products, out):
    def fill(folder):
        tree(products, folder)
        # Foundation reads time zones from tzdata.
        depends = sorted(linked_packages(folder / "usr/bin" / manual.COMMANDS[0]) + ["tzdata"])
        return {"depends": ", ".join(depends), "schema": " ".join(read(folder / "usr/share/waterh/schema").split())}

    return build_package("waterh", fill, out, scripts=("preinst", "postinst", "prerm", "postrm"))


def symbols(products, out):
    identity = re.search(r"Build ID: ([0-9a-f]{40})", output("readelf", "-n", products / "waterh"))[1]

    def fill(folder):
        target = folder / f"usr/lib/debug/.build-id/{identity[:2]}/{identity[2:]}.debug"
        target.parent.mkdir(parents=True)
        output("objcopy", "--only-keep-debug", products / "waterh", target)
        target.chmod(0o644)
        (folder / "usr/share/doc").mkdir(parents=True)
        (folder / "usr/share/doc/waterh-dbgsym").symlink_to("waterh")

    return build_package("waterh-dbgsym", fill, out, identity=identity)


def documents(folder, name, licence):
    """Writes the files that a package without programs of waterh has in its documentation; returns their folder."""
    doc = folder / "usr/share/doc" / name
    put(doc / "copyright", own_copyright() + licence)
    put(doc / "changelog.gz", gzipped(changelog(name)))
    return doc


def machine(shipped, out):
    """Makes the package of the test VM."""
    def fill(folder):
        home, sources = folder / "usr/lib/waterh-bench-machine", ROOT / "hardware/machine"
        for name in ("vm", "guest", "command", "build-bluez", "build-kernel", "finish", "eatt.conf", "linux.config"):
            put(home / name, source=sources / name, mode=0o644 if name in ("finish", "eatt.conf", "linux.config") else 0o755)
        for file in sorted(shipped.iterdir()):
            put(home / file.name, source=file, mode=0o755 if file.name == "linux" else 0o644)
        (folder / "usr/bin").mkdir(parents=True)
        (folder / "usr/bin/waterh-bench-vm").symlink_to("../lib/waterh-bench-machine/vm")
        doc = documents(folder, "waterh-bench-machine", "\n" + read(HERE / "debian/copyright-machine"))
        put(doc / "README.md.gz", gzipped(read(sources / "README.md")))
        put_all(doc / "examples", "hardware/ci/machine*")
        help_text = output(sources / "vm", "--help").replace("hardware/bench vm", "waterh-bench-vm")
        put(folder / "usr/share/man/man1/waterh-bench-vm.1.gz", gzipped(manual.plain_page("waterh-bench-vm", "run a command in a VM with virtual Bluetooth adapters", help_text, epoch())))
        put(folder / "usr/share/lintian/overrides/waterh-bench-machine", source=HERE / "debian/lintian-overrides-machine")

    return build_package("waterh-bench-machine", fill, out, depends=", ".join(sorted([*linked_packages((shipped / "linux").absolute()), "qemu-system-x86"])))


def documentation(site, out):
    def fill(folder):
        put_all(documents(folder, "waterh-doc", "") / "html", "*", site)
        put(folder / "usr/share/doc-base/waterh-doc.waterh", source=HERE / "debian/waterh-doc.doc-base")

    return build_package("waterh-doc", fill, out, architecture="all")


def archive(products, out):
    """Makes the archive for other distributions; returns its path."""
    name = f"waterh-{version()}-{architecture('GNU_CPU')}"
    with tempfile.TemporaryDirectory() as work_folder:
        folder = Path(work_folder, name)
        commands(products, folder / "bin")
        # install.sh puts missing libraries there.
        output("patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/../lib/waterh", folder / "bin" / manual.COMMANDS[0])
        found = libraries(products / "waterh")
        for library, path in found.items():
            copy_library(path, folder / "libraries" / library, "$ORIGIN")
        for package, path in licences(found.values()).items():
            put(folder / "libraries/licences" / package, source=path)
        backtracer(folder / "libexec")
        share_tree(products, folder / "share")
        units = {name: "system" for name in SYSTEM_UNITS} | {name: "user" for name in USER_UNITS}
        units |= dict.fromkeys(("waterh.sysusers", "waterh-bus-policy.conf", "70-waterh.rules", "disconnect-at-once.conf"), ".")
        for unit, kind in units.items():
            put(folder / "units" / kind / unit, source=UNITS / unit)
        put(folder / "etc/waterh.toml", source=HERE / "waterh.toml")
        for script in ("install.sh", "uninstall.sh"):
            put(folder / script, source=HERE / script, mode=0o755)
        target = out / f"{name}.tar.gz"

        def normalise(entry):
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mtime = epoch()
            return entry

        with open(target, "wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=epoch()) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
            tar.add(folder, name, filter=normalise)  # Sorted by name.
        return target


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--tree":
        return tree(Path(sys.argv[2]), Path(sys.argv[3]), programs=False)
    if len(sys.argv) not in (3, 5):
        sys.exit(__doc__)
    products, *others, out = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    results = {"package": package(products, out), "symbols": symbols(products, out), "archive": archive(products, out)}
    if others:
        results |= {"machine": machine(others[0], out), "documentation": documentation(others[1], out)}
    print(json.dumps({name: str(path) for name, path in results.items()} | {"bytes": results["package"].stat().st_size}))


if __name__ == "__main__":
    try:
        main()
    except manual.InvalidManual as error:
        sys.exit(f"pack.py: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"pack.py: {' '.join(map(str, error.cmd[:2]))} failed:\n{error.stderr or ''}")
