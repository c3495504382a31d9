"""Makes the packages of a build: waterh, its symbols (waterh-dbgsym), the archive for other distributions, the test VM
(waterh-bench-machine), and the documentation (waterh-doc).

usage: pack.py PRODUCTS MACHINE DOCS FOLDER      PRODUCTS: the folder of a static release build; MACHINE: the result of `vm --ship`;
                                                 DOCS: the result of hardware/docs; FOLDER: for the packages
       pack.py --tree PRODUCTS FOLDER            write the package's files without the programs

All times are the commit's (or SOURCE_DATE_EPOCH), all owners are root, and all lists are sorted: two runs have identical results.
"""

import functools
import glob
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import textwrap
import time

import manual

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
UNITS = os.path.join(ROOT, "hardware", "units")
SYSTEM_UNITS = ["waterh-gateway.service", "waterh-gateway@.service", "waterh-emulator@.service"]
USER_UNITS = ["waterh-gateway-user.service", "waterh-agent.service", "waterh-check.service", "waterh-check.timer"]
RECOMMENDS = "bluez, ca-certificates"
SUGGESTS = "libglib2.0-bin, xdg-utils, waterh-doc"
# Foundation reads time zones from it.
OTHER_DEPENDENCIES = ["tzdata"]
# The libraries of glibc are never bundled.
GLIBC = re.compile(r"^(ld-linux-.*|lib(c|m|dl|rt|pthread|resolv|util|anl|nsl|nss_.*))\.so(\..*)?$")


def output(*words, **options):
    return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout


def of_commit(form, otherwise):
    """A property of the commit; `otherwise` without git, as in an archive of the source."""
    try:
        return output("git", "-C", ROOT, "log", "-1", f"--format={form}").strip() or otherwise
    except (OSError, subprocess.CalledProcessError):
        return otherwise


def maintainer():
    """The maintainer, from the variables of Debian's tools or from the commit."""
    name, mail = os.environ.get("DEBFULLNAME", "The waterh-bench authors"), os.environ.get("DEBEMAIL") or of_commit("%ae", "nobody@invalid")
    return f"{name} <{mail}>"


@functools.cache
def epoch():
    return int(os.environ.get("SOURCE_DATE_EPOCH") or of_commit("%ct", "0"))


@functools.cache
def version():
    """The programs' version and the commit's time, so that a later commit is a later package; `+changed` with uncommitted changes."""
    with open(os.path.join(ROOT, "Sources/CommandSupport/Output/ProgramVersion.swift"), encoding="utf-8") as file:
        number = re.search(r'"waterh-bench ([0-9.]+)"', file.read()).group(1)
    stamp = time.strftime("%Y%m%d.%H%M%S", time.gmtime(epoch()))
    try:
        changed = output("git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no").strip()
    except (OSError, subprocess.CalledProcessError):
        changed = ""
    return f"{number}+git{stamp}" + ("+changed" if changed else "")


def put(target, text=None, source=None, mode=0o644):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if source:
        shutil.copyfile(source, target)
    else:
        with open(target, "wb") as file:
            file.write(text.encode() if isinstance(text, str) else text)
    os.chmod(target, mode)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def zipped(data):
    """gzip without name and time."""
    return gzip.compress(data.encode() if isinstance(data, str) else data, 9, mtime=0)


def completions(products, share):
    for command in manual.COMMANDS:
        for shell, place in (
            ("bash", f"bash-completion/completions/{command}"),
            ("zsh", f"zsh/vendor-completions/_{command}"),
            ("fish", f"fish/vendor_completions.d/{command}.fish"),
        ):
            text = output(os.path.join(products, command), "--generate-completion-script", shell, timeout=60)
            put(os.path.join(share, place), text.removeprefix("#!/bin/bash\n")) # The file is sourced.


def changelog():
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(epoch()))
    subjects = []
    try:
        subjects = output("git", "-C", ROOT, "log", "-10", "--format=%s").splitlines()
    except (OSError, subprocess.CalledProcessError):
        pass
    points = [f"Packed from commit {of_commit('%h', 'unknown')}. The last changes:"] + subjects
    lines = [textwrap.fill(point, 76, initial_indent="  * ", subsequent_indent="    ") for point in points]
    return f"waterh ({version()}) unstable; urgency=medium\n\n" + "\n".join(lines) + f"\n\n -- {maintainer()}  {date}\n"


def licence(folder):
    """The name and the text of a dependency's licence."""
    for name in ("LICENSE.txt", "LICENSE"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            text = read(path)
            return ("Apache-2.0" if "Apache License" in text else "Expat"), text
    return None, ""


def stanza(files, holders, name, text=None):
    lines = [f"Files: {files}", "Copyright: " + "\n           ".join(holders), f"License: {name}"]
    if text:
        lines += [" " + (line.rstrip() or ".") for line in text.strip().splitlines()]
    return "\n".join(lines) + "\n"


def copyright_text():
    """The licences of the programs and of all linked libraries."""
    def split(text):
        # The holders of a licence, and its text.
        lines = text.strip().splitlines()
        holders = [re.sub(r"^Copyright\s*(\([cC]\)|©)?\s*", "", line).strip() for line in lines if line.startswith("Copyright")]
        rest = [line for line in lines if not line.startswith("Copyright") and line.strip() not in ("MIT License", "The MIT License (MIT)")]
        return holders or ["its authors"], "\n".join(rest).strip()

    holders, mit = split(read(os.path.join(ROOT, "LICENSE")))
    parts = ["Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: waterh-bench\n", stanza("*", holders, "Expat", mit)]
    apache = [("swift-runtime", ["Apple Inc. and the Swift project authors"])]
    for folder in sorted(glob.glob(os.path.join(ROOT, ".build/package/checkouts/*")) or glob.glob(os.path.join(ROOT, ".build/checkouts/*"))):
        name, text = licence(folder)
        base = os.path.basename(folder)
        if name == "Apache-2.0":
            apache.append((base, [f"the authors of {base}"]))
        elif name:
            parts.append(stanza(f"linked/{base}/*", split(text)[0], f"Expat-{base}", split(text)[1]))
    for base, holders in apache:
        parts.append(stanza(f"linked/{base}/*", holders, "Apache-2.0"))
    parts.append(
        "License: Apache-2.0\n The Swift runtime and the libraries of its community are linked into the programs under the Apache License 2.0, the runtime\n"
        " with the Runtime Library Exception (https://swift.org/LICENSE.txt). On Debian systems the licence's text is in\n /usr/share/common-licenses/Apache-2.0.\n")
    return "\n".join(parts)


def schema(products):
    """The names of a store's migrations: preinst rejects a store with unknown ones."""
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store.sqlite")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("WATERH")} | {"HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_RUNTIME_DIR": folder}
        output(os.path.join(products, "waterh-tracker"), "log", "100", "--store", store, timeout=60, env=environment)
        database = sqlite3.connect(store)
        try:
            return [row[0] for row in database.execute("SELECT identifier FROM grdb_migrations ORDER BY identifier")]
        finally:
            database.close()


def share_tree(products, share):
    """Writes the files below PREFIX/share."""
    with tempfile.TemporaryDirectory() as folder:
        for page in manual.write(products, folder, epoch()):
            section = page.rsplit(".", 1)[1]
            put(os.path.join(share, f"man/man{section}", os.path.basename(page) + ".gz"), zipped(read(page)))
    completions(products, share)
    put(os.path.join(share, "applications/waterh.desktop"), re.sub(r"^#.*\n", "", read(os.path.join(UNITS, "waterh.desktop")), flags=re.M))
    put(os.path.join(share, "icons/hicolor/scalable/apps/waterh.svg"), source=os.path.join(ROOT, "Sources/CDashboard/pages/icon.svg"))
    for capture in sorted(glob.glob(os.path.join(ROOT, "captures/*"))):
        put(os.path.join(share, "waterh/captures", os.path.basename(capture)), source=capture)
    put(os.path.join(share, "waterh/schema"), "".join(step + "\n" for step in schema(products)))
    put(os.path.join(share, "waterh/waterh.lua"), output(os.path.join(products, "waterh-replay"), "dissector", timeout=60))
    doc = os.path.join(share, "doc/waterh")
    put(os.path.join(doc, "README.md.gz"), zipped(read(os.path.join(ROOT, "README.md"))))
    put(os.path.join(doc, "copyright"), copyright_text())
    put(os.path.join(doc, "changelog.gz"), zipped(changelog()))
    for example in sorted(glob.glob(os.path.join(ROOT, "hardware/ci/*"))):
        put(os.path.join(doc, "examples/ci", os.path.basename(example)), source=example)
    for name in ("waterh-nginx.conf", "disconnect-at-once.conf"):
        put(os.path.join(doc, "examples", name), source=os.path.join(UNITS, name))
    for blueprint in sorted(glob.glob(os.path.join(ROOT, "hardware/homeassistant/blueprints/*.yaml"))):
        put(os.path.join(doc, "examples/homeassistant", os.path.basename(blueprint)), source=blueprint)


def installed(text):
    """A unit or policy for the package, with its commands in /usr/bin."""
    header, begin, rest = text.partition("[Unit]")
    if begin:
        name = "waterh-emulator" if "waterh-emulator run" in rest else "waterh-tracker" if "waterh-tracker" in rest else "waterh-gateway"
        page = "" if "[Timer]" in rest else f"Documentation=man:{name}(1)\n"
        text = header + begin + "\n" + page + rest.lstrip("\n")
    for here, there in (
        ("/usr/local/bin/", "/usr/bin/"), ("/usr/local/libexec/", "/usr/libexec/"), ("/etc/systemd/system", "/usr/lib/systemd/system"), ("/etc/systemd/user", "/usr/lib/systemd/user"),
        ("/etc/dbus-1/system.d", "/usr/share/dbus-1/system.d"), ("/etc/udev/rules.d", "/usr/lib/udev/rules.d"),
    ):
        text = text.replace(here, there)
    return text


def tree(products, folder, programs=True):
    """Writes the files of the Debian package."""
    share = os.path.join(folder, "usr/share")
    share_tree(products, share)
    for name in SYSTEM_UNITS:
        put(os.path.join(folder, "lib/systemd/system", name), installed(read(os.path.join(UNITS, name))))
    for name in USER_UNITS:
        put(os.path.join(folder, "usr/lib/systemd/user", name), installed(read(os.path.join(UNITS, name))))
    put(os.path.join(folder, "usr/lib/sysusers.d/waterh.conf"), installed(read(os.path.join(UNITS, "waterh.sysusers"))))
    put(os.path.join(share, "dbus-1/system.d/waterh.conf"), installed(read(os.path.join(UNITS, "waterh-bus-policy.conf"))))
    put(os.path.join(folder, "lib/udev/rules.d/70-waterh.rules"), installed(read(os.path.join(UNITS, "70-waterh.rules"))))
    put(os.path.join(folder, "etc/waterh/waterh.toml"), source=os.path.join(HERE, "waterh.toml"), mode=0o640)
    put(os.path.join(share, "lintian/overrides/waterh"), source=os.path.join(HERE, "debian/lintian-overrides"))
    # Wireshark and tshark read their plugins there.
    plugins = os.path.join(folder, "usr/lib", sysconfig.get_config_var("MULTIARCH"), "wireshark/plugins")
    os.makedirs(plugins, exist_ok=True)
    os.symlink("../../../../share/waterh/waterh.lua", os.path.join(plugins, "waterh.lua"))
    if programs:
        commands(products, os.path.join(folder, "usr/bin"))
        backtracer(os.path.join(folder, "usr/libexec/waterh"))


def commands(products, folder):
    """Writes one program with a name for each command."""
    first, *others = [os.path.join(folder, name) for name in manual.COMMANDS]
    stripped(os.path.join(products, "waterh"), first)
    for other in others:
        os.link(first, other)


def backtracer(folder):
    """Copies the toolchain's swift-backtrace, which prints the stack of a crashed program; the units name it."""
    source = os.path.join(os.path.dirname(os.path.realpath(shutil.which("swift") or "")), "../libexec/swift/linux/swift-backtrace-static")
    if not os.path.exists(source):
        print("pack.py: the toolchain has no swift-backtrace-static, so a crash prints no stack", file=sys.stderr)
        return
    put(os.path.join(folder, "swift-backtrace"), source=source, mode=0o755)
    subprocess.run(["strip", "--strip-unneeded", "--remove-section=.comment", os.path.join(folder, "swift-backtrace")], check=True)


def stripped(source, target):
    """Copies a program without symbols and without the library paths of the build."""
    put(target, source=source, mode=0o755)
    subprocess.run(["strip", "--strip-unneeded", "--remove-section=.comment", target], check=True)
    subprocess.run(["chrpath", "-d", target], check=True, stdout=subprocess.DEVNULL)


def libraries(program):
    """The paths of a program's libraries by name, except those of glibc."""
    text = output("ldd", program)
    if "not found" in text:
        raise manual.Wrong(f"a library of {program} is missing:\n{text}")
    found = re.findall(r"^\s*(\S+) => (/\S+) ", text, re.M)
    return {name: path for name, path in found if not GLIBC.match(name)}


def bundled(source, target, search):
    """Copies a program or library without symbols that searches `search` for libraries first."""
    put(target, source=source, mode=0o755)
    subprocess.run(["strip", "--strip-unneeded", target], check=True)
    subprocess.run(["patchelf", "--force-rpath", "--set-rpath", search, target], check=True)


def licences(paths):
    """The copyright files of the Debian packages that libraries come from, by package."""
    found = {}
    for path in sorted(paths):
        # If /lib is a link to /usr/lib, a package can list either of them.
        real = os.path.realpath(path)
        for name in (real, real.removeprefix("/usr"), path):
            listed = subprocess.run(["dpkg", "-S", name], capture_output=True, text=True)
            if listed.returncode == 0:
                package = listed.stdout.split(":")[0]
                found[package] = f"/usr/share/doc/{package}/copyright"
                break
        else:
            raise manual.Wrong(f"no package contains {path}, so its licence is unknown")
    return found


def linked(*programs):
    """The packages that the programs link, with their versions (dpkg-shlibdeps)."""
    with tempfile.TemporaryDirectory() as place:
        put(os.path.join(place, "debian/control"), f"Source: waterh\nMaintainer: {maintainer()}\n\nPackage: waterh\nArchitecture: any\n")
        line = output("dpkg-shlibdeps", "-O", *programs, cwd=place)
    return line.strip().removeprefix("shlibs:Depends=").split(", ")


def dependencies(folder):
    """The dependencies of the commands."""
    return ", ".join(sorted(linked(*sorted(glob.glob(os.path.join(folder, "usr/bin/*")))) + OTHER_DEPENDENCIES))


def control(folder):
    files = [os.stat(os.path.join(place, name)) for place, _, names in os.walk(folder) for name in names if "DEBIAN" not in place]
    size = sum({file.st_ino: file.st_size for file in files}.values())
    return (
        f"Package: waterh\nVersion: {version()}\nArchitecture: {output('dpkg', '--print-architecture').strip()}\nMaintainer: {maintainer()}\n"
        f"Installed-Size: {(size + 1023) // 1024}\nDepends: {dependencies(folder)}\nRecommends: {RECOMMENDS}\nSuggests: {SUGGESTS}\nSection: utils\nPriority: optional\n"
        "Description: smart bottles by WaterH without a phone app\n"
        " The gateway reads the drink log of a WaterH smart bottle over Bluetooth LE,\n stores it, and then acknowledges it. Its service shows the day on a web page,\n"
        " on the desktop, on a phone and in Home Assistant.\n .\n"
        " The package also has a tracker for the command line, an emulated bottle for\n tests, and tools for Bluetooth captures.\n")


def settle(folder):
    """Sets the times of all files and folders to the commit's time."""
    for place, _, names in os.walk(folder, topdown=False):
        for name in names + ["."]:
            os.utime(os.path.join(place, name), (epoch(), epoch()), follow_symlinks=False)


def debian(products, out):
    """Makes the package; returns its path."""
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, "waterh")
        os.umask(0o022)
        tree(products, folder)
        os.chmod(folder, 0o755)
        text = control(folder)
        put(os.path.join(folder, "DEBIAN/control"), text)
        put(os.path.join(folder, "DEBIAN/conffiles"), "/etc/waterh/waterh.toml\n")
        for name in ("preinst", "postinst", "prerm", "postrm"):
            script = read(os.path.join(HERE, "debian", name))
            script = script.replace("@VERSION@", version()).replace("@SCHEMA@", " ".join(read(os.path.join(folder, "usr/share/waterh/schema")).split()))
            put(os.path.join(folder, "DEBIAN", name), script, mode=0o755)
        sums = output("sh", "-c", "find . -type f ! -path './DEBIAN/*' ! -path './etc/*' -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 md5sum", cwd=folder)
        put(os.path.join(folder, "DEBIAN/md5sums"), sums)
        architecture = re.search(r"^Architecture: (.*)$", text, re.M).group(1)
        target = built(folder, os.path.join(out, f"waterh_{version()}_{architecture}.deb"))
        return target, text


def symbols(products, out):
    """Makes the package of the symbols; returns its path."""
    program = os.path.join(products, "waterh")
    identity = re.search(r"Build ID: ([0-9a-f]{40})", output("readelf", "-n", program)).group(1)
    architecture = output("dpkg", "--print-architecture").strip()
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, "waterh-dbgsym")
        target = os.path.join(folder, "usr/lib/debug/.build-id", identity[:2], identity[2:] + ".debug")
        os.makedirs(os.path.dirname(target))
        subprocess.run(["objcopy", "--only-keep-debug", program, target], check=True)
        os.chmod(target, 0o644)
        os.makedirs(os.path.join(folder, "usr/share/doc"))
        os.symlink("waterh", os.path.join(folder, "usr/share/doc/waterh-dbgsym"))
        put(os.path.join(folder, "DEBIAN/control"), (
            f"Package: waterh-dbgsym\nVersion: {version()}\nArchitecture: {architecture}\nMaintainer: {maintainer()}\nInstalled-Size: {os.path.getsize(target) // 1024}\n"
            f"Depends: waterh (= {version()})\nSection: debug\nPriority: optional\nBuild-Ids: {identity}\n"
            "Description: smart bottles by WaterH without a phone app (symbols)\n With the symbols, the stack of a crash in the journal has functions and lines.\n"))
        put(os.path.join(folder, "DEBIAN/md5sums"), output("md5sum", os.path.relpath(target, folder), cwd=folder))
        return built(folder, os.path.join(out, f"waterh-dbgsym_{version()}_{architecture}.deb"))


def built(folder, target):
    """Makes a package from the folder; two runs have identical results."""
    for place, _, _ in os.walk(folder):
        os.chmod(place, 0o755)
    settle(folder)
    # The number of threads changes xz's output. The runtime is large, so the level is low. lintian of Debian 12 does not support zstd.
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch()), "DPKG_DEB_THREADS_MAX": "1"}
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zxz", "-z1", "--build", folder, target], check=True, stdout=subprocess.DEVNULL, env=environment)
    return target


def fields(name, architecture, lines, files):
    """The control file of a package; `files`: its folder."""
    size = sum(os.lstat(os.path.join(place, one)).st_size for place, _, names in os.walk(files) for one in names)
    return f"Package: {name}\nVersion: {version()}\nArchitecture: {architecture}\nMaintainer: {maintainer()}\nInstalled-Size: {(size + 1023) // 1024}\n{lines}"


def side_package(name, architecture, lines, fill, out):
    """Makes a package without scripts and configuration; `fill` writes its files. Returns its path."""
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, name)
        os.umask(0o022)
        os.makedirs(folder)
        fill(folder)
        text = fields(name, architecture, lines, folder)
        put(os.path.join(folder, "usr/share/doc", name, "changelog.gz"), zipped(changelog().replace("waterh (", f"{name} (", 1)))
        put(os.path.join(folder, "DEBIAN/control"), text)
        put(os.path.join(folder, "DEBIAN/md5sums"), output("sh", "-c", "find . -type f ! -path './DEBIAN/*' -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 md5sum", cwd=folder))
        return built(folder, os.path.join(out, f"{name}_{version()}_{architecture}.deb"))


MACHINE_LICENCES = """
Files: usr/lib/waterh-bench-machine/kernel
Copyright: Linus Torvalds and others
License: GPL-2
Comment: Debian's kernel, unpacked and otherwise unchanged, and in the initrd modules of it. Its source is Debian's source package linux of the same version.

Files: usr/lib/waterh-bench-machine/linux
Copyright: Linus Torvalds and others
License: GPL-2
Comment: Built by build-kernel with linux.config, which are in the same folder, from Debian's package linux-source, which has its source.

Files: usr/lib/waterh-bench-machine/initrd usr/lib/waterh-bench-machine/bluez-*
Copyright: the authors of BlueZ, BusyBox, D-Bus, glibc and the libraries that they need
License: GPL-2
Comment: Debian's programs as they are. Their sources are Debian's source packages bluez, busybox, dbus, glibc and those of the libraries.

License: GPL-2
 On Debian systems the licence's text is in /usr/share/common-licenses/GPL-2.
"""


def machine(shipped, out):
    """Makes the package of the test VM; returns its path."""
    def fill(folder):
        home = os.path.join(folder, "usr/lib/waterh-bench-machine")
        put(os.path.join(home, "vm"), source=os.path.join(ROOT, "hardware/machine/vm"), mode=0o755)
        for name, mode in (("guest", 0o755), ("command", 0o755), ("finish", 0o644), ("eatt.conf", 0o644), ("build-bluez", 0o755), ("build-kernel", 0o755), ("linux.config", 0o644)):
            put(os.path.join(home, name), source=os.path.join(ROOT, "hardware/machine", name), mode=mode)
        for name in sorted(os.listdir(shipped)):
            put(os.path.join(home, name), source=os.path.join(shipped, name), mode=0o755 if name == "linux" else 0o644)
        os.makedirs(os.path.join(folder, "usr/bin"))
        os.symlink("../lib/waterh-bench-machine/vm", os.path.join(folder, "usr/bin/waterh-bench-vm"))
        doc = os.path.join(folder, "usr/share/doc/waterh-bench-machine")
        put(os.path.join(doc, "README.md.gz"), zipped(read(os.path.join(ROOT, "hardware/machine/README.md"))))
        put(os.path.join(doc, "copyright"), copyright_text().split("\nFiles: linked/")[0].rstrip() + "\n" + MACHINE_LICENCES)
        for example in sorted(glob.glob(os.path.join(ROOT, "hardware/ci/machine*"))):
            put(os.path.join(doc, "examples", os.path.basename(example)), source=example)
        help_text = output(os.path.join(ROOT, "hardware/machine/vm"), "--help").replace("hardware/bench vm", "waterh-bench-vm")
        put(os.path.join(folder, "usr/share/man/man1/waterh-bench-vm.1.gz"), zipped(manual.plain_page("waterh-bench-vm", "run a command in a VM with virtual Bluetooth adapters", help_text, epoch())))
        put(os.path.join(folder, "usr/share/lintian/overrides/waterh-bench-machine"), source=os.path.join(HERE, "debian/lintian-overrides-machine"))

    return side_package("waterh-bench-machine", output("dpkg", "--print-architecture").strip(), (
        f"Depends: {', '.join(sorted(linked(os.path.join(os.path.abspath(shipped), 'linux')) + ['qemu-system-x86']))}\nRecommends: waterh\nSection: utils\nPriority: optional\n"
        "Description: VM with virtual Bluetooth adapters, for tests\n"
        " Runs a command in a virtual machine with Debian's kernel, system bus and\n bluetoothd and with virtual Bluetooth LE adapters. It needs neither Bluetooth\n"
        " nor /dev/kvm nor a network. The package has the kernel and the initramfs.\n"), fill, out)


def documentation(site, out):
    """Makes the package of the documentation; returns its path."""
    def fill(folder):
        doc = os.path.join(folder, "usr/share/doc/waterh-doc")
        for name in sorted(os.listdir(site)):
            put(os.path.join(doc, "html", name), source=os.path.join(site, name))
        put(os.path.join(doc, "copyright"), copyright_text().split("\nFiles: linked/")[0].rstrip() + "\n")
        put(os.path.join(folder, "usr/share/doc-base/waterh-doc.waterh"), (
            "Document: waterh\nTitle: WaterH: bottle, gateway and captures\nAuthor: The waterh-bench authors\nAbstract: README, the specifications of protocol and tracker, and all symbols.\n"
            "Section: Programming\n\nFormat: HTML\nIndex: /usr/share/doc/waterh-doc/html/index.html\nFiles: /usr/share/doc/waterh-doc/html/*.html\n"))

    return side_package("waterh-doc", "all", (
        "Section: doc\nPriority: optional\n"
        "Description: smart bottles by WaterH without a phone app (documentation)\n The README, the specifications of protocol and tracker, and the symbols of\n all targets, as a site of files:\n"
        " file:///usr/share/doc/waterh-doc/html/index.html\n"), fill, out)


def archive(products, out):
    """Makes the archive for other distributions; returns its path."""
    machine = os.uname().machine
    name = f"waterh-{version()}-{machine}"
    with tempfile.TemporaryDirectory() as place:
        folder = os.path.join(place, name)
        commands(products, os.path.join(folder, "bin"))
        # install.sh puts missing libraries there.
        subprocess.run(["patchelf", "--force-rpath", "--set-rpath", "$ORIGIN/../lib/waterh", os.path.join(folder, "bin", manual.COMMANDS[0])], check=True)
        found = libraries(os.path.join(products, "waterh"))
        for library, path in found.items():
            bundled(path, os.path.join(folder, "libraries", library), "$ORIGIN")
        for package, path in licences(found.values()).items():
            put(os.path.join(folder, "libraries/licences", package), source=path)
        backtracer(os.path.join(folder, "libexec"))
        share_tree(products, os.path.join(folder, "share"))
        for unit in SYSTEM_UNITS:
            put(os.path.join(folder, "units/system", unit), source=os.path.join(UNITS, unit))
        for unit in USER_UNITS:
            put(os.path.join(folder, "units/user", unit), source=os.path.join(UNITS, unit))
        for file in ("waterh.sysusers", "waterh-bus-policy.conf", "70-waterh.rules", "disconnect-at-once.conf"):
            put(os.path.join(folder, "units", file), source=os.path.join(UNITS, file))
        put(os.path.join(folder, "etc/waterh.toml"), source=os.path.join(HERE, "waterh.toml"))
        for script in ("install.sh", "uninstall.sh"):
            put(os.path.join(folder, script), source=os.path.join(HERE, script), mode=0o755)
        target = os.path.join(out, name + ".tar.gz")

        def plain(entry):
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = "root"
            entry.mtime = epoch()
            return entry

        with open(target, "wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=epoch()) as packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
            tar.add(folder, name, filter=plain) # Sorted by name.
        return target


def main():
    words = sys.argv[1:]
    if len(words) == 3 and words[0] == "--tree":
        tree(words[1], words[2], programs=False)
        return
    if len(words) != 4:
        sys.exit(__doc__)
    products, shipped, site, out = words
    os.makedirs(out, exist_ok=True)
    package, text = debian(products, out)
    made = {"package": package, "symbols": symbols(products, out), "archive": archive(products, out), "machine": machine(shipped, out), "documentation": documentation(site, out)}
    print(json.dumps({**made, "bytes": os.path.getsize(package)}))
    for line in text.splitlines():
        if line.startswith(("Version", "Installed-Size", "Depends")):
            print("  " + line, file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except manual.Wrong as wrong:
        sys.exit(f"pack.py: {wrong}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"pack.py: {' '.join(map(str, error.cmd[:2]))} failed:\n{error.stderr or ''}")
