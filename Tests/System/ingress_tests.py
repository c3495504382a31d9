#!/usr/bin/env python3
"""The page inside Home Assistant, in Debian's Chromium: below the path that ingress gives it, through the nginx of the add-on.

usage: ingress_tests.py PRODUCTS      needs nginx
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

from pages import browser
from proxy_tests import free_port

LIMIT = 30
ADDON = pathlib.Path(__file__).resolve().parents[2] / "hardware/homeassistant/addon"
MOUNT = "/api/hassio_ingress/Xk3_token-1"


class Ingress(browser.Patient, unittest.TestCase):
    """The add-on's service and nginx, and another nginx in the place of Home Assistant, which takes the path away."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="waterh-ingress-")
        folder = pathlib.Path(cls.folder.name)
        environment = os.environ | {"XDG_RUNTIME_DIR": str(folder), "DBUS_SESSION_BUS_ADDRESS": ""}
        store = folder / "t.sqlite"
        subprocess.run([f"{PRODUCTS}/waterh-tracker", "setup", "--yes", "--notifications", "skip", "--store", store], check=True, capture_output=True, env=environment, timeout=LIMIT)
        cls.programs = [subprocess.Popen([f"{PRODUCTS}/waterh-gateway", "run", "--store", store, "--link", f"unix:{folder}/no-bottle", "--listen", "off"], env=environment, stderr=subprocess.DEVNULL)]
        end = time.monotonic() + LIMIT
        while not (sockets := list(folder.glob("waterh-*.sock"))):
            assert time.monotonic() < end, "the service has opened no socket"
            time.sleep(0.05)
        inside, cls.outside = free_port(), free_port()
        text = (ADDON / "nginx.conf").read_text()
        for before, after in (("@SOCKET@", str(sockets[0])), ("listen 8099;", f"listen 127.0.0.1:{inside};"), ("/tmp/ingress.pid", f"{folder}/inside.pid")):
            assert text.count(before) == 1, before
            text = text.replace(before, after)
        own = f"access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;"
        if os.geteuid() != 0:
            text = text.replace("user root;\n", "")
        (folder / "inside.conf").write_text(text.replace("access_log off;", own))
        (folder / "outside.conf").write_text(f"""{"user root;" if os.geteuid() == 0 else ""} pid {folder}/outside.pid; error_log {folder}/error.log; events {{}}
http {{ {own} server {{ listen 127.0.0.1:{cls.outside}; location {MOUNT}/ {{
    proxy_pass http://127.0.0.1:{inside}/; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; proxy_set_header X-Ingress-Path {MOUNT}; }} }} }}""")
        for name in ("inside", "outside"):
            cls.programs.append(subprocess.Popen(["/usr/sbin/nginx", "-c", folder / f"{name}.conf", "-g", "daemon off;"], stderr=subprocess.DEVNULL))
        cls.store, cls.environment = store, environment
        cls.driver = browser.driver()

    @classmethod
    def tearDownClass(cls):
        browser.close()
        for program in cls.programs:
            program.terminate()
        for program in cls.programs:
            program.wait(LIMIT)
        cls.folder.cleanup()

    def script(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def click(self, selector):
        self.until(lambda: self.script("const found = document.querySelector(arguments[0]); found?.click(); return !!found", selector), f"no {selector}")

    def drinks(self):
        done = subprocess.run([f"{PRODUCTS}/waterh-tracker", "export", "--format", "csv", "--store", self.store], check=True, capture_output=True, text=True, env=self.environment, timeout=LIMIT)
        return done.stdout.count("\n") - 1

    def test_the_page_works_below_ingress_and_asks_for_nothing_outside_of_it(self):
        url = f"http://127.0.0.1:{self.outside}{MOUNT}"
        end = time.monotonic() + LIMIT
        while True:
            self.driver.get(f"{url}/")
            if "Hydration" in self.driver.title:
                break
            assert time.monotonic() < end, self.driver.page_source[:500]
            time.sleep(0.2)
        self.click(".page-today .vessel")
        self.until(lambda: self.drinks() == 1, "a tap is no drink")
        # What happens elsewhere is seen here: the events come through, too.
        subprocess.run([f"{PRODUCTS}/waterh-tracker", "log", "317", "--store", self.store], check=True, capture_output=True, env=self.environment, timeout=LIMIT)
        self.until(lambda: "317" in self.script("return document.querySelector('#main').textContent"), "the event did not come")
        for page in ("history", "bottle", "settings", ""):
            self.click(f'#nav a[href="{MOUNT}/{page}"]')
            self.until(lambda: self.driver.current_url == f"{url}/{page}", f"the page is not {page}")
            self.until(lambda: self.script("return document.querySelector('#main').textContent.length") > 40, f"{page} stays empty")
        self.driver.get(f"{url}/history")
        self.until(lambda: "317" in self.script("return document.querySelector('#main').textContent"), "a page that is opened by its address does not show the day")
        asked = self.script("return performance.getEntriesByType('resource').map(each => new URL(each.name).pathname)")
        self.assertGreater(len(asked), 10)
        self.assertEqual([path for path in asked if not path.startswith(MOUNT + "/")], [])
        wrong = [entry["message"] for entry in self.driver.get_log("browser") if re.search("Content Security Policy|Uncaught|404", entry["message"])]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    PRODUCTS = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1])
