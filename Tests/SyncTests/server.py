"""A sync server for tests: it stores rows, answers queries, and fails in the requested way.

usage: server.py [PORT [TOKEN]]      prints `port N` when it listens

POST /control/fail?status=S&times=N   the next N operations get status S
POST /control/token, /control/portal  the body is the required token; every response is a page of HTML, or a redirection to one
                                      with the body "redirect"
POST /control/mood                    the body is one of MOODS
POST /control/put                     stores the row in the body, `[TABLE, ROW]`
GET /control/log, /control/rows       the operations in their order; all rows
GET /control/seen                     the Authorization headers

Tests/System/chaos.py runs it in its own process, and sets `mood`.
"""
import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

TABLES = {
    "createUser": "user", "upsertSession": "session", "addLogEntry": "logEntry",
    "deleteLogEntry": "logEntry", "upsertDrinkPreset": "preset",
}
MOODS = ["well", "away", "slow", "portal", "errors", "hostile", "cut"]
PAGE = b"<!DOCTYPE html><html><body>Please log in to this network.</body></html>"
SMALLEST, LARGEST = -(2**63), 2**63 - 1


def hostile(name):
    """Rows of the right shape with impossible instants, orders and references."""
    base = {"updatedAt": 1_800_000_000_000, "deviceId": "elsewhere", "userId": "unknown"}
    if name == "getActiveSession":
        return [
            base | {"id": "extreme", "startTime": SMALLEST, "endTime": None, "isActive": True},
            base | {"id": "late", "startTime": LARGEST, "endTime": SMALLEST, "isActive": True, "updatedAt": LARGEST},
            base | {"id": "", "startTime": 1e300, "isActive": "yes"},
            base | {"id": "x" * 5000, "startTime": 0, "isActive": True},
            7, None,
        ]
    if name == "getSessionLogs":
        return [
            base | {"id": "log", "sessionId": "nowhere", "timestamp": SMALLEST, "type": "alcohol", "standardDrinkEstimate": 1e300},
            base | {"id": "water", "sessionId": "extreme", "timestamp": LARGEST, "type": "water", "amountOz": -1, "source": "elsewhere"},
        ]
    return [base | {"id": "preset", "name": "\u009b31m\u202e", "drinkType": "beer", "standardDrinkEstimate": -5, "position": LARGEST}]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20

    def send(self, status, body, **headers):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in ({"Content-Type": "application/json", "Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def fails(self):
        """Responds as no sync server does, if requested."""
        server = self.server
        server.requests += 1
        server.seen.append(self.headers.get("Authorization"))
        if server.mood == "slow":
            time.sleep(1.5)
        if server.mood == "away":
            self.close_connection = True
        elif server.portal == "redirect" and not self.path.startswith("/login"):
            self.send(302, PAGE, **{"Content-Type": "text/html", "Location": "/login"})
        elif server.portal is not None or server.mood == "portal":
            self.send(200, PAGE, **{"Content-Type": "text/html"})
        elif server.mood == "errors":
            self.send(500 if server.requests % 2 else 429, {})
        elif server.mood == "cut":
            self.send(200, b'[{"id": "', **{"Content-Length": "4000"})
            self.close_connection = True
        elif server.token is not None and self.headers.get("Authorization") != f"Bearer {server.token}":
            self.send(401, {"error": "no credential"})
        else:
            return False
        return True

    def do_POST(self):
        server, url = self.server, urlparse(self.path)
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 1 << 20))
        name = url.path.rsplit("/", 1)[-1]
        if url.path.startswith("/control/"):
            if name in ("token", "portal", "mood"):
                setattr(server, name, body.decode() or None)
            elif name == "fail":
                query = parse_qs(url.query)
                server.failures += [int(query["status"][0])] * int(query["times"][0])
            elif name == "put":
                table, row = json.loads(body)
                server.rows[table][row["id"]] = row
            return self.send(200, {})
        if self.fails():
            return None
        if server.failures:
            return self.send(server.failures.pop(0), {"error": "a requested failure"})
        row = json.loads(body)
        server.log.append([name, row["id"]] + ([json.dumps(row["settings"], sort_keys=True)] if "settings" in row else []))
        if name == "deleteUser":
            for table in server.rows.values():
                table.clear()
        elif name in TABLES:
            server.rows[TABLES[name]][row["id"]] = row
        else:
            return self.send(404, {})
        return self.send(200, {})

    def do_GET(self):
        server, url = self.server, urlparse(self.path)
        name, query = url.path.rsplit("/", 1)[-1], parse_qs(url.query)
        if not url.path.startswith("/control/"):
            if self.fails():
                return None
            if server.mood == "hostile":
                return self.send(200, hostile(name))
        rows = {table: list(found.values()) for table, found in list(server.rows.items())}
        session = query.get("sessionId", [None])[0]
        found = {
            "log": server.log, "seen": server.seen, "rows": rows, "getUserPresets": rows["preset"],
            "getActiveSession": [row for row in rows["session"] if row.get("isActive")],
            "getSessionLogs": [row for row in rows["logEntry"] if row.get("sessionId") == session],
        }.get(name)
        return self.send(404 if found is None else 200, {} if found is None else found)

    def log_message(self, *arguments):
        pass


class SyncServer(ThreadingHTTPServer):
    def __init__(self, port=0, token=None):
        super().__init__(("127.0.0.1", port), Handler)
        self.rows = {"user": {}, "session": {}, "logEntry": {}, "preset": {}}
        self.log, self.failures, self.seen, self.requests = [], [], [], 0
        self.token, self.portal, self.mood = token, None, "well"
        self.url = f"http://127.0.0.1:{self.server_port}/sync"

    def handle_error(self, request, client_address):
        pass  # A killed client disconnects at any time.

    def start(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()


if __name__ == "__main__":
    server = SyncServer(int(sys.argv[1]) if len(sys.argv) > 1 else 0, sys.argv[2] if len(sys.argv) > 2 else None)
    print("port", server.server_port, flush=True)
    server.serve_forever()
