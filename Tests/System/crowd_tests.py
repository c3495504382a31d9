#!/usr/bin/env python3
"""A service among clients that mean no good, or are no good: 2,000 connections at once, more than there are places, requests that never end, bodies of any size, event clients that never
read, two pages at one drink. Meanwhile polls go on, a person's tap counts, and memory stays bounded.

usage: crowd_tests.py PRODUCTS
"""
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import access

LIMIT = 60
CROWD = 2000
#: More than there are places.
FLOOD = 2600
#: Memory that a crowd may take, MiB: what goes on for ever grows past any such number.
MORE = 150


class Crowd(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
        cls.folder = tempfile.TemporaryDirectory(prefix="waterh-crowd-")
        folder = pathlib.Path(cls.folder.name)
        cls.environment = os.environ | {"XDG_RUNTIME_DIR": str(folder), "DBUS_SESSION_BUS_ADDRESS": ""}
        cls.store, cls.control, log = folder / "t.sqlite", f"unix:{folder}/c.sock", folder / "log"
        cls.programs = [subprocess.Popen([f"{PRODUCTS}/waterh-emulator", "run", "--link", f"unix:{folder}/b.sock", "--control", cls.control, "--quiet"],
                                         stdout=subprocess.DEVNULL, env=cls.environment)]
        with log.open("w") as words:
            cls.programs.append(subprocess.Popen(
                [f"{PRODUCTS}/waterh-gateway", "run", "--link", f"unix:{folder}/b.sock", "--store", cls.store, "--listen", "0.0.0.0:0", "--verbose"],
                env=cls.environment, stderr=words))
        end = time.monotonic() + LIMIT
        while not (found := re.search(r"http://0\.0\.0\.0:(\d+)/", log.read_text())):
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        cls.port = int(found[1])
        cls.url = f"http://127.0.0.1:{cls.port}"
        cls.access = access.header(PRODUCTS, cls.store, cls.environment)
        cls.line = b"".join(f"{name}: {value}\r\n".encode() for name, value in cls.access.items())

    @classmethod
    def tearDownClass(cls):
        for program in cls.programs:
            program.terminate()
        for program in cls.programs:
            assert program.wait(LIMIT) in (0, -15), program.args
        cls.folder.cleanup()

    def ask(self, method, path, body=None, **headers):
        given = self.access | {"Content-Type": "application/json"} | headers
        request = urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode(), given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:
                return answer.status, json.load(answer) if path.startswith("/api") else answer.read()
        except urllib.error.HTTPError as refused:
            return refused.code, json.load(refused)

    def total(self):
        return self.ask("GET", "/api/v1/state")[1]["dailyTotalMl"]

    def memory(self):
        words = pathlib.Path(f"/proc/{self.programs[1].pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", words)[1]) / 1024

    def connect(self, words=b""):
        client = socket.create_connection(("127.0.0.1", self.port), LIMIT)
        client.sendall(words)
        return client

    def until(self, condition, why):
        end = time.monotonic() + LIMIT
        while not condition():
            self.assertLess(time.monotonic(), end, why)
            time.sleep(0.05)

    def all_is_well(self, ml):
        """A person's tap and a sip from the bottle, as if nobody else were there."""
        before = self.total()
        self.assertEqual(self.ask("POST", "/api/v1/drinks", {"ml": ml})[0], 201)
        subprocess.run([f"{PRODUCTS}/waterh-emulator", "control", "--control", self.control, "sip", str(ml)], check=True, capture_output=True, timeout=LIMIT)
        self.assertEqual(self.ask("POST", "/api/v1/poll", {})[0], 202)
        self.until(lambda: self.total() == before + 2 * ml, f"{self.total()} ml, not {before + 2 * ml}")

    def test_two_thousand_connections(self):
        before = self.memory()
        halves = [b"", b"GET /api/v1/state HTTP/1.1\r\nHost: local", b"POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ml\"",
                  b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n" + self.line + b"\r\n"]
        clients = [self.connect(halves[number % 4]) for number in range(CROWD)]
        self.all_is_well(50)
        self.assertLess(self.memory() - before, MORE, "MiB more")
        for client in clients:
            client.close()
        self.all_is_well(60)
        self.until(lambda: "waterh_event_clients{person=\"" not in self.metrics() or re.search(r"waterh_event_clients\{[^}]*\} 0\b", self.metrics()), "who hung up is still counted")

    def flood(self, words):
        clients = []
        for _number in range(FLOOD):
            try:
                clients.append(self.connect(words))
            except OSError:
                pass  # It was hung up, as it may.
        return clients

    def test_answers_to_requests_whose_bodies_never_come_take_nobodys_place(self):
        before = self.memory()
        for words in (b"POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                      b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"):
            clients = self.flood(words)
            begun = time.monotonic()
            self.assertEqual(self.ask("GET", "/healthz"), (200, b"ok\n"))
            self.assertLess(time.monotonic() - begun, 10, "s until somebody else was answered")
            self.all_is_well(20)
            # They stay where they are; the service has hung them all up.
            answer = b""
            while piece := clients[-1].recv(65536):
                answer += piece
            self.assertRegex(answer.lower(), rb"^http/1.1 (200|401|404) (.|\n|\r)*\nconnection: close\r")
            for client in clients:
                client.close()
        self.assertLess(self.memory() - before, MORE, "MiB more")

    def test_who_connects_and_says_nothing_goes(self):
        clients = self.flood(b"")
        begun = time.monotonic()
        self.all_is_well(30)
        self.assertLess(time.monotonic() - begun, 30, "s until somebody else was answered")
        self.assertEqual(clients[0].recv(1), b"", "it has its place for ever")
        for client in clients:
            client.close()

    def metrics(self):
        return self.ask("GET", "/metrics")[1].decode()

    def test_event_clients_that_never_read_are_hung_up(self):
        before = self.memory()
        deaf = []
        for _number in range(30):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.settimeout(LIMIT)
            client.connect(("127.0.0.1", self.port))
            client.sendall(b"GET /api/v1/events?shows=notifications HTTP/1.1\r\nHost: localhost\r\n" + self.line + b"\r\n")
            deaf.append(client)
        self.until(lambda: f" {len(deaf)}" in (re.search(r"waterh_event_clients\{[^}]*\}( \d+)", self.metrics()) or [""])[0], "they are not there")
        for number in range(400):
            self.assertEqual(self.ask("PATCH", "/api/v1/settings", {"hydration.goalMl": 2000 + number % 7})[0], 200)
        self.all_is_well(70)
        self.assertLess(self.memory() - before, MORE, "MiB more")
        for client in deaf:
            client.close()
        self.until(lambda: re.search(r"waterh_event_clients\{[^}]*\} 0\b", self.metrics()), "they are not let go")

    def test_bodies_slow_and_huge(self):
        before = self.memory()
        head = b"POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\n" + self.line + b"Content-Type: application/json\r\n"
        slow = [self.connect(head + b"Content-Length: 11\r\n\r\n") for _number in range(100)]
        # One byte a while is no body.
        begun = time.monotonic()
        answers = []
        while time.monotonic() - begun < LIMIT and not answers:
            for client in slow:
                try:
                    client.sendall(b"{")
                except OSError:
                    pass
            slow[0].settimeout(1)
            try:
                answers.append(slow[0].recv(4096))
            except TimeoutError:
                pass
        self.assertRegex(answers[0][:40], rb"^HTTP/1.1 (400|408) ", "a body that never ends is ended")
        self.all_is_well(80)
        for size in (b"Content-Length: 1000000000000\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999999999999999\r\n", b"Transfer-Encoding: chunked\r\n",
                     b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n"):
            client = self.connect(head + size + b"\r\n")
            body = (b"10000\r\n" + b"x" * 65536 + b"\r\n") if b"chunked" in size else b"x" * 65536
            try:
                for _number in range(64):
                    client.sendall(body)
            except OSError:
                pass  # It hung up, as it may.
            try:
                answer = client.recv(4096)
            except OSError:
                answer = b""
            self.assertRegex(answer or b"HTTP/1.1 400 hung up", rb"^HTTP/1.1 4\d\d ", size.decode())
            client.close()
        for client in slow:
            client.close()
        self.assertLess(self.memory() - before, MORE, "MiB more")
        self.all_is_well(90)

    def test_two_pages_at_one_drink(self):
        number = self.ask("POST", "/api/v1/drinks", {"ml": 100})[1]["drink"]["number"]
        before = self.total()
        with concurrent.futures.ThreadPoolExecutor(16) as pages:
            answers = list(pages.map(lambda ml: self.ask("PATCH", f"/api/v1/drinks/d{number}", {"ml": ml}), range(200, 216)))
        done = [answer for status, answer in answers if status == 200]
        refused = [(status, answer["code"]) for status, answer in answers if status != 200]
        # An edited drink is another one: one page has changed it, and the others hear so.
        self.assertEqual(len(done), 1, answers)
        self.assertEqual(set(refused), {(404, "noSuchDrink")})
        self.assertEqual(self.total(), before - 100 + done[0]["drink"]["ml"])
        edited = done[0]["drink"]["number"]
        with concurrent.futures.ThreadPoolExecutor(16) as pages:
            answers = list(pages.map(lambda _page: self.ask("DELETE", f"/api/v1/drinks/d{edited}")[0], range(16)))
        self.assertEqual(sorted(answers), [200] + [404] * 15)
        self.assertEqual(self.total(), before - 100)

    def test_one_key_sent_by_many_at_once_counts_once(self):
        before = self.total()
        with concurrent.futures.ThreadPoolExecutor(16) as pages:
            answers = list(pages.map(lambda _page: self.ask("POST", "/api/v1/drinks", {"ml": 111}, **{"Idempotency-Key": "one-tap"})[0], range(32)))
        self.assertLessEqual(set(answers), {200, 201, 409})
        self.assertIn(201, answers)
        self.assertEqual(self.total(), before + 111)

    def test_paths_that_lead_elsewhere(self):
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/api/v1/../../etc/passwd", "/api/v1/bottles/..%2f..%2fetc/settings", "/.git/config", "/pages/../dashboard.c",
                     "/index.html%00.js", "/api/v1/journal/%2e%2e", "/widget/..%2f..%2fetc%2fpasswd", "/\\..\\..\\etc\\passwd", "/" + "a/" * 3000):
            client = self.connect(b"GET " + path.encode() + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b""
            while piece := client.recv(65536):
                answer += piece
            client.close()
            self.assertRegex(answer[:40], rb"^HTTP/1.1 (400|401|404|414|422) ", path[:60])
            self.assertNotIn(b"root:", answer)
        self.all_is_well(40)


if __name__ == "__main__":
    PRODUCTS = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
