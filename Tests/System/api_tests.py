#!/usr/bin/env python3
"""The API of a real service with an emulated bottle: schemathesis checks it against its description, then clients overload it.

usage: api_tests.py PRODUCTS [EXAMPLES]      EXAMPLES: requests drawn per operation (default 20); API_SEED repeats them

Runs in a Python that has schemathesis (hardware/python-suite).
"""
import concurrent.futures
import contextlib
import os
import pathlib
import random
import re
import resource
import socket
import subprocess
import sys
import time
import unittest

from programs import LIMIT, Programs, wait_for

HERE = pathlib.Path(__file__).resolve().parent
CROWD = 2000
FLOOD = 2600  # More connections than the service accepts.
MORE = 150  # MiB that a crowd can take.


class Service(unittest.TestCase):
    """A service with an emulated bottle for each class of tests."""

    @classmethod
    def setUpClass(cls):
        files = min(8192, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        cls.programs = Programs(PRODUCTS)
        cls.programs.emulator("--quiet")
        cls.programs.gateway()
        cls.ask = cls.programs.ask
        cls.lines = "".join(f"{name}: {value}\r\n" for name, value in cls.programs.headers.items()).encode()

    @classmethod
    def tearDownClass(cls):
        for name in list(cls.programs.children):
            assert cls.programs.stop(name) == 0, cls.programs.log(name)
        cls.programs.close()

    def setUp(self):
        self.before = self.memory()

    def tearDown(self):
        self.assertLess(self.memory() - self.before, MORE, "MiB more")

    def total(self):
        return self.ask("GET", "/api/v1/state")[1]["dailyTotalMl"]

    def memory(self):
        status = pathlib.Path(f"/proc/{self.programs.children['waterh-gateway'].pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def connect(self, request=b""):
        client = socket.create_connection(("127.0.0.1", int(self.programs.url.rpartition(":")[2])), LIMIT)
        self.addCleanup(client.close)
        client.sendall(request)
        return client

    def check_service(self, ml):
        """A user's tap and a sip from the bottle count within the time limit."""
        before, begun = self.total(), time.monotonic()
        self.assertEqual(self.ask("POST", "/api/v1/drinks", {"ml": ml})[0], 201)
        self.programs.sip(ml)
        self.assertEqual(self.ask("POST", "/api/v1/poll", {})[0], 202)
        wait_for(lambda: self.total() == before + 2 * ml, lambda: f"{self.total()} ml, not {before + 2 * ml}")
        self.assertLess(time.monotonic() - begun, 30)


class Description(Service):
    """Has a service of its own, because random requests change settings and tokens."""

    def test_the_api_matches_its_description(self):
        seed = os.environ.get("API_SEED") or str(random.SystemRandom().randrange(1 << 30))
        subprocess.run(
            [f"{os.path.dirname(sys.executable)}/schemathesis", "--config-file", HERE / "schemathesis.toml", "run",
             f"{self.programs.url}/api/v1/openapi.json", "--header", f"Authorization: {self.programs.headers['Authorization']}",
             "--phases", "coverage,fuzzing,stateful", "--max-examples", EXAMPLES, "--seed", seed, "--continue-on-failure",
             "--no-color", "--warnings", "off"], check=True, cwd=self.programs.folder)


class Crowd(Service):
    def test_the_service_works_with_two_thousand_connections(self):
        requests = [
            b"", b"GET /api/v1/state HTTP/1.1\r\nHost: local",
            b"POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"ml\"",
            b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n" + self.lines + b"\r\n"]
        clients = [self.connect(requests[number % 4]) for number in range(CROWD)]
        self.check_service(50)
        for client in clients:
            client.close()
        self.check_service(60)
        wait_for(lambda: not re.search(rb"waterh_event_clients\{[^}]*\} [1-9]", self.ask("GET", "/metrics")[1]),
                 "disconnected event clients are still counted")

    def test_clients_that_send_nothing_or_no_body_are_disconnected(self):
        requests = [b"", b"POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
                    b"POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
                    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"]
        clients = {}
        for number in range(FLOOD):
            with contextlib.suppress(OSError):  # The service may disconnect at once.
                clients.setdefault(requests[number % 4], []).append(self.connect(requests[number % 4]))
        self.assertEqual(self.ask("GET", "/healthz"), (200, b"ok\n"))
        self.check_service(20)
        for request in requests:
            answer = b""
            while piece := clients[request][-1].recv(65536):
                answer += piece
            if request:
                self.assertRegex(answer.lower(), rb"^http/1.1 (200|401|404) (.|\n|\r)*\nconnection: close\r", request)

    def test_a_body_that_never_ends_is_rejected(self):
        head = b"POST /api/v1/drinks HTTP/1.1\r\nHost: localhost\r\n" + self.lines + b"Content-Type: application/json\r\n"
        clients = [self.connect(head + b"Content-Length: 11\r\n\r\n") for _ in range(100)]
        clients[0].settimeout(1)

        def answer():
            for client in clients:
                try:
                    client.sendall(b"{")
                except OSError:
                    pass
            try:
                return clients[0].recv(4096)
            except TimeoutError:
                return None

        self.assertRegex(wait_for(answer, "a response to a slow body"), rb"^HTTP/1.1 (400|408) ")
        self.check_service(80)

    def test_only_one_of_many_clients_changes_a_drink(self):
        number = self.ask("POST", "/api/v1/drinks", {"ml": 100})[1]["drink"]["number"]
        before = self.total()
        with concurrent.futures.ThreadPoolExecutor(16) as pages:
            answers = list(pages.map(lambda ml: self.ask("PATCH", f"/api/v1/drinks/d{number}", {"ml": ml}), range(200, 216)))
            done = [answer for status, answer in answers if status == 200]
            refused = [(status, answer["code"]) for status, answer in answers if status != 200]
            # An edited drink has another number: one page changes it, and the others get 404.
            self.assertEqual(len(done), 1, answers)
            self.assertEqual(set(refused), {(404, "noSuchDrink")})
            self.assertEqual(self.total(), before - 100 + done[0]["drink"]["ml"])
            edited = done[0]["drink"]["number"]
            deleted = list(pages.map(lambda _: self.ask("DELETE", f"/api/v1/drinks/d{edited}")[0], range(16)))
        self.assertEqual(sorted(deleted), [200] + [404] * 15)
        self.assertEqual(self.total(), before - 100)

    def test_an_idempotency_key_from_many_clients_counts_once(self):
        before, key = self.total(), {"Idempotency-Key": "one-tap"}
        with concurrent.futures.ThreadPoolExecutor(16) as pages:
            answers = list(pages.map(lambda _: self.ask("POST", "/api/v1/drinks", {"ml": 111}, **key)[0], range(32)))
        self.assertLessEqual(set(answers), {200, 201, 409})
        self.assertIn(201, answers)
        self.assertEqual(self.total(), before + 111)


if __name__ == "__main__":
    PRODUCTS, EXAMPLES = sys.argv[1], (sys.argv + ["20"])[2]
    unittest.main(argv=sys.argv[:1], verbosity=2)
