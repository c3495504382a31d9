"""The service behind Debian's nginx: with TLS by the shipped configuration, and in Home Assistant below the path of ingress."""
import os
import pathlib
import re
import subprocess
import time
import unittest

import urllib3

from programs import Programs, free_port, is_listening, wait_for

from . import browser
from .browser import BrowserCase

ROOT = pathlib.Path(__file__).resolve().parents[3]
NAME = "shelf.example"
LIMIT = 20
MOUNT = "/api/hassio_ingress/Xk3_token-1"


def replaced(text, *pairs):
    for before, after in pairs:
        text, changes = re.subn(before, after, text)
        assert changes == 1, f"the configuration has no {before}"
    return text


def start_nginx(programs, name, text):
    """Starts nginx with this text within `http { … }`, or with this whole configuration."""
    folder = programs.folder
    if "http {" not in text:
        paths = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;" if os.geteuid() == 0 else ""
        text = f"{user} pid {folder}/{name}.pid; error_log {folder}/{name}.error; events {{}}\nhttp {{ access_log off; {paths}\n{text} }}"
    (folder / f"{name}.conf").write_text(text)
    command = ["/usr/sbin/nginx", "-c", folder / f"{name}.conf", "-g", "daemon off;"]
    programs.children[name] = subprocess.Popen(command, stderr=subprocess.DEVNULL)


class BehindTLS(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs, cls.port = Programs(browser.options.products), free_port()
        cls.addClassCleanup(cls.programs.close)
        folder = cls.programs.folder
        cls.programs.gateway()
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}",
             "-keyout", folder / "key.pem", "-out", folder / "certificate.pem"], check=True, capture_output=True)
        start_nginx(cls.programs, "tls", replaced(
            (ROOT / "hardware/units/waterh-nginx.conf").read_text(), (r"listen 443 ssl", f"listen 127.0.0.1:{cls.port} ssl"), (r"\n *listen \[::\]:443[^\n]*", ""),
            (r"127\.0\.0\.1:8077", cls.programs.url.removeprefix("http://")), (r"/etc/ssl/certs/shelf\.example\.pem", f"{folder}/certificate.pem"),
            (r"/etc/ssl/private/shelf\.example\.key", f"{folder}/key.pem")))

        wait_for(lambda: is_listening(cls.port), "nginx", LIMIT)
        # A client that checks nginx's certificate.
        cls.client = urllib3.HTTPSConnectionPool("127.0.0.1", cls.port, server_hostname=NAME, ca_certs=f"{folder}/certificate.pem", timeout=LIMIT, retries=False)
        cls.origin = {"Origin": f"https://{NAME}:{cls.port}"}

    def ask(self, method, path, body=None, headers=None, **options):
        return self.client.request(method, path, json=body, headers={"Host": f"{NAME}:{self.port}"} | (headers or {}), **options)

    def test_nothing_is_granted_without_access(self):
        for path in ("/api/v1/state", "/api/v1/events", "/metrics"):
            self.assertEqual(self.ask("GET", path).status, 401, path)
        self.assertEqual(self.ask("POST", "/api/v1/drinks", {"ml": 250}, self.origin).status, 401)
        self.assertEqual(self.ask("POST", "/api/v1/sign-in", {"code": "0000000000"}, {"Origin": "https://elsewhere.example"}).status, 403)

    def test_a_phone_signs_in_logs_and_gets_the_event(self):
        page = self.ask("GET", "/")
        self.assertIn("default-src", page.headers["Content-Security-Policy"])
        self.assertIn(b"<!doctype html>", page.data[:200].lower())
        code = "".join(re.search(r"\b([0-9A-Z]{5}) ([0-9A-Z]{5})\b", self.programs.run("waterh-gateway", "invite")).groups())
        signed_in = self.ask("POST", "/api/v1/sign-in", {"code": code}, self.origin)
        self.assertEqual(signed_in.status, 200, signed_in.data)
        cookie = signed_in.headers["Set-Cookie"]
        for word in ("HttpOnly", "SameSite=Strict", "Secure"):
            self.assertIn(word, cookie)
        mine = self.origin | {"Cookie": cookie.split(";")[0]}
        stream = self.ask("GET", "/api/v1/events", None, mine, preload_content=False)
        self.addCleanup(stream.close)
        totals = (int(found[1]) for line in stream if (found := re.search(rb'"dailyTotalMl":(\d+)', line)))
        before, begun = next(totals), time.monotonic()
        self.assertEqual(self.ask("POST", "/api/v1/drinks", {"ml": 250}, mine | {"Idempotency-Key": "tap-tls"}).status, 201)
        self.assertIn(before + 250, totals)
        self.assertLess(time.monotonic() - begun, 5, "nginx delayed the event")


class Ingress(BrowserCase):
    """The add-on's service and nginx, and another nginx instead of Home Assistant, which removes the path."""

    def setUp(self):
        super().setUp()
        self.programs = Programs(browser.options.products)
        self.addCleanup(self.programs.close)
        self.programs.tracker("setup", "--yes", "--notifications", "skip")
        self.programs.start("waterh-gateway", "run", "--link", self.programs.link, "--listen", "off")
        (sockets,) = wait_for(lambda: list(self.programs.folder.glob("waterh-*.sock")), "the service's socket")
        inside, outside, folder = free_port(), free_port(), self.programs.folder
        text = replaced((ROOT / "hardware/homeassistant/addon/nginx.conf").read_text(), ("@SOCKET@", str(sockets)), ("listen 8099;", f"listen 127.0.0.1:{inside};"),
                        ("/tmp/ingress.pid", f"{folder}/ingress.pid"))
        start_nginx(self.programs, "ingress", text if os.geteuid() == 0 else text.replace("user root;\n", ""))
        start_nginx(self.programs, "outside", f"""server {{ listen 127.0.0.1:{outside}; location {MOUNT}/ {{ proxy_pass http://127.0.0.1:{inside}/; proxy_http_version 1.1;
            proxy_set_header Connection ""; proxy_buffering off; proxy_set_header X-Ingress-Path {MOUNT}; }} }}""")
        self.url = f"http://127.0.0.1:{outside}{MOUNT}"

    def test_the_page_works_below_the_path_of_ingress(self):
        def is_open():
            self.driver.get(f"{self.url}/")
            return "Hydration" in self.driver.title
        wait_for(is_open, lambda: self.driver.page_source[:500], LIMIT)
        self.driver.get_log("browser")  # Of pages before nginx was ready.
        self.click(".page-today .vessel")
        self.until(lambda: self.programs.tracker("status")["drinkCount"] == 1, "a tap is not a drink")
        self.programs.tracker("log", "317")
        self.until(lambda: "317" in self.text("#main"), "the event did not arrive")
        for page in ("history", "bottle", "settings", ""):
            self.click(f'#nav a[href="{MOUNT}/{page}"]')
            self.until(lambda: self.driver.current_url == f"{self.url}/{page}", f"the page is not {page}")
            self.until(lambda: len(self.text("#main")) > 40, f"{page} stays empty")
        self.driver.get(f"{self.url}/history")
        self.until(lambda: "317" in self.text("#main"), "a page that is opened by its address does not show the day")
        asked = self.script("return performance.getEntriesByType('resource').map(each => new URL(each.name).pathname)")
        self.assertGreater(len(asked), 10)
        self.assertEqual([path for path in asked if not path.startswith(MOUNT + "/")], [])
        self.assertEqual([entry["message"] for entry in self.driver.get_log("browser") if "404" in entry["message"]], [])
