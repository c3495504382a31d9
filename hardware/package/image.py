"""Makes the container image of the service: an OCI layout in a folder, with umoci, as root.

usage: image.py PACKAGE BASE FOLDER       PACKAGE: waterh_*.deb; BASE: a folder with a fresh Debian (debootstrap); FOLDER: for the image

There are two layers: Debian, and the changes of the installation. No time in them is later than the package's, owners are numbers, and entries are
sorted: two runs have identical results. The image needs a volume at /var/lib/waterh, and the host's system bus:

    podman run -v drinks:/var/lib/waterh -v /run/dbus:/run/dbus -p 127.0.0.1:8077:8077 oci:FOLDER/waterh-image:latest
"""
import filecmp
import io
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import time

# Files that a service does not need, or that differ each time.
EXCLUDED = ("var/lib/apt/lists/", "var/cache/", "var/log/", "usr/share/man/", "usr/share/locale/", "usr/share/doc/", "tmp/", "run/", "proc/", "sys/", "dev/", "etc/resolv.conf", "etc/hostname", "fresh",
            "var/lib/dpkg/status-old", "var/lib/dpkg/lock")
INCLUDED_ANYWAY = ("usr/share/doc/waterh/copyright",)
CONFIG = {
    "--config.entrypoint": ["/usr/bin/waterh-gateway"], "--config.cmd": ["run"], "--config.user": ["waterh"], "--config.workingdir": ["/var/lib/waterh"],
    "--config.env": ["PATH=/usr/local/bin:/usr/bin:/bin", "WATERH_STORE=/var/lib/waterh/waterh.sqlite", "WATERH_LISTEN=0.0.0.0:8077", "LANG=C.UTF-8"],
    "--config.exposedports": ["8077/tcp"], "--config.volume": ["/var/lib/waterh"], "--config.stopsignal": ["SIGTERM"],
    "--config.label": ["org.opencontainers.image.title=waterh-gateway", "org.opencontainers.image.description=Smart bottles by WaterH without a phone app. Not an official product."],
}


def output(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **options).stdout


def layer_paths(root):
    """The sorted paths of a layer, folders before their files."""
    for work_folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(folders + names):
            path = os.path.relpath(os.path.join(work_folder, name), root)
            if path in INCLUDED_ANYWAY or not (path + "/").startswith(EXCLUDED) or path + "/" in EXCLUDED:
                yield path


def is_changed(path, base, root):
    old_path, new_path = os.path.join(base, path), os.path.join(root, path)
    if not os.path.lexists(old_path):
        return True
    old, new = os.lstat(old_path), os.lstat(new_path)
    if (old.st_mode, old.st_uid, old.st_gid) != (new.st_mode, new.st_uid, new.st_gid):
        return True
    if stat.S_ISLNK(new.st_mode):
        return os.readlink(old_path) != os.readlink(new_path)
    return stat.S_ISREG(new.st_mode) and not filecmp.cmp(old_path, new_path, shallow=False)


def layer(target, root, paths, epoch):
    def normalise(entry):
        entry.uname = entry.gname = ""
        entry.mtime = min(int(entry.mtime), epoch)
        return entry

    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as tar:
        for path in paths:
            tar.add(os.path.join(root, path), path, recursive=False, filter=normalise)


def install_package(package, base, work_folder):
    """A copy of the base with the package installed."""
    root = os.path.join(work_folder, "root")
    subprocess.run(["cp", "-a", "--reflink=auto", base, root], check=True)
    shutil.copy("/etc/resolv.conf", os.path.join(root, "etc/resolv.conf"))
    os.makedirs(os.path.join(root, "srv"), exist_ok=True)
    shutil.copy(package, os.path.join(root, "srv/waterh.deb"))
    with open(os.path.join(root, "usr/sbin/policy-rc.d"), "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nexit 101\n")
    os.chmod(os.path.join(root, "usr/sbin/policy-rc.d"), 0o755)
    script = "apt-get update -q && apt-get install -y -q --no-install-recommends /srv/waterh.deb ca-certificates && apt-get clean"
    output("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", 'mount -t proc proc "$0/proc"; mount --bind /dev "$0/dev"; exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive sh -ec "$1"',
           root, script, timeout=600)
    for name in ("srv/waterh.deb", "usr/sbin/policy-rc.d"):
        os.remove(os.path.join(root, name))
    return root


def newest_time(package):
    """The time of the package's content."""
    control = subprocess.run(["dpkg-deb", "--ctrl-tarfile", package], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(control)) as tar:
        return max(int(entry.mtime) for entry in tar)


def image(package, base, out):
    target = os.path.join(out, "waterh-image")
    shutil.rmtree(target, ignore_errors=True)
    epoch = newest_time(package)
    architecture = output("dpkg-deb", "-f", package, "Architecture").strip()
    version = output("dpkg-deb", "-f", package, "Version").strip()
    with tempfile.TemporaryDirectory(dir=out) as work_folder:
        root = install_package(package, base, work_folder)
        name = f"{target}:latest"
        output("umoci", "init", "--layout", target)
        output("umoci", "new", "--image", name)
        for number, paths in enumerate(([path for path in layer_paths(base)], [path for path in layer_paths(root) if is_changed(path, base, root)])):
            packed = os.path.join(work_folder, f"layer{number}.tar")
            layer(packed, root if number else base, paths, epoch)
            output("umoci", "raw", "add-layer", "--image", name, "--history.created", iso_time(epoch), "--history.created_by", ["Debian", f"apt-get install waterh={version}"][number], packed)
        words = [word for option, values in CONFIG.items() for value in values for word in (option, value)]
        output("umoci", "config", "--image", name, "--architecture", architecture, "--os", "linux", "--created", iso_time(epoch), "--history.created", iso_time(epoch), "--author", "waterh-bench", *words)
        output("umoci", "gc", "--layout", target)
    return target


def iso_time(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    if os.geteuid() != 0:
        sys.exit("image.py: requires root")
    try:
        os.makedirs(sys.argv[3], exist_ok=True)
        print(image(*sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"image.py: {' '.join(map(str, error.cmd[:3]))} failed:\n{error.stderr or ''}")
