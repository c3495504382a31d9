#!/usr/bin/env python3
"""The container image, unpacked and started without a container engine.

usage: image_tests.py IMAGE       IMAGE: the folder waterh-image. As root; needs umoci.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from package_tests import check, end, said

LIMIT = 300


def main(image):
    with tempfile.TemporaryDirectory() as place:
        bundle = pathlib.Path(place) / "bundle"
        subprocess.run(["umoci", "unpack", "--image", f"{image}:latest", bundle], check=True, capture_output=True, timeout=LIMIT)
        root, config = bundle / "rootfs", json.loads((bundle / "config.json").read_text())
        process = config["process"]
        check("the image runs the gateway's service, by its name", process["args"] == ["/usr/bin/waterh-gateway", "run"], process)
        check("not as root", process["user"]["uid"] != 0, process["user"])
        blobs = json.loads((pathlib.Path(image) / "index.json").read_text())["manifests"]
        manifest = json.loads((pathlib.Path(image) / "blobs" / blobs[0]["digest"].replace(":", "/")).read_text())
        check("it has two layers", len(manifest["layers"]) == 2, manifest)
        print("        " + ", ".join(f"{one['size'] / 1e6:.0f} MB" for one in manifest["layers"]), flush=True)
        user = process["user"]
        drinks = root / "var/lib/waterh"
        check("the drinks' folder is the service's", drinks.stat().st_uid == user["uid"], drinks.stat())
        inside = ["chroot", root, "setpriv", f"--reuid={user['uid']}", f"--regid={user['gid']}", "--clear-groups", "env", "-i", *process["env"], "--chdir=" + process["cwd"], *process["args"]]
        script = 'mount -t proc proc "$0/proc"; mount --bind /dev "$0/dev"; ip link set lo up; "$@" & service=$!\n'
        script += "for i in $(seq 600); do curl -fs http://127.0.0.1:8077/healthz && break; sleep 0.1; done; curl -fsS http://127.0.0.1:8077/ | grep -o '<title>.*</title>'; code=$?; kill $service; wait $service; echo ended $?; exit $code"
        result = subprocess.run(["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", script, *map(str, [root, *inside])], capture_output=True, text=True, timeout=LIMIT)
        check("it shows its page", result.returncode == 0 and "<title>" in result.stdout, said(result))
        check("and ends when it is asked to", "ended 0" in result.stdout, said(result))
        check("its store is in the volume", (drinks / "waterh.sqlite").exists(), os.listdir(drinks))
    end()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
