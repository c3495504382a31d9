"""The sync server of the simulation: well, away, slow, or talking nonsense. What it answers when it talks nonsense was seen
from captive portals, proxies and hostile hands."""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

MOODS = ["well", "away", "slow", "portal", "errors", "hostile", "cut"]
SMALLEST, LARGEST = -(2**63), 2**63 - 1


class SyncServer:
    def __init__(self):
        self.mood = "well"
        self.rows = {}  # (operation's noun, id): row
        self.requests = 0
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 20

            def do_POST(self):
                body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), 1 << 20))
                owner.answer(self, "POST", body)

            def do_GET(self):
                owner.answer(self, "GET", b"")

            def log_message(self, *arguments):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request, address):
                pass  # A client that was killed hangs up as it likes.

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/sync"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()

    def answer(self, handler, method, body):
        self.requests += 1
        mood, url = self.mood, urlparse(handler.path)
        name, query = url.path.rsplit("/", 1)[-1], parse_qs(url.query)
        if mood == "away":
            handler.close_connection = True
            return
        if mood == "slow":
            time.sleep(1.5)
        if mood == "portal":
            return self.say(handler, 200, b"<html><body>Welcome to the hotel. Accept our terms.</body></html>", "text/html")
        if mood == "errors":
            return self.say(handler, 500 if self.requests % 2 else 429, b"{}")
        if mood == "cut":
            handler.send_response(200)
            handler.send_header("Content-Length", "4000")
            handler.end_headers()
            handler.wfile.write(b'[{"id": "')
            handler.close_connection = True
            return
        if mood == "hostile" and method == "GET":
            return self.say(handler, 200, json.dumps(self.hostile(name)).encode())
        self.say(handler, 200, json.dumps(self.take(name, body) if method == "POST" else self.find(name, query)).encode())

    def say(self, handler, status, body, kind="application/json"):
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def take(self, name, body):
        noun = {"upsertSession": "session", "addLogEntry": "log", "deleteLogEntry": "log", "upsertDrinkPreset": "preset"}.get(name)
        try:
            row = json.loads(body)
            if noun:
                self.rows[noun, row["id"]] = row
        except (ValueError, KeyError, TypeError):
            pass
        return {}

    def find(self, name, query):
        def of(noun):
            return [row for (kind, _), row in list(self.rows.items()) if kind == noun]

        if name == "getUserPresets":
            return of("preset")
        if name == "getActiveSession":
            return [row for row in of("session") if row.get("isActive")]
        if name == "getSessionLogs":
            return [row for row in of("log") if row.get("sessionId") == (query.get("sessionId") or [None])[0]]
        return []

    def hostile(self, name):
        """Rows of the right shape with instants, orders and references that cannot be."""
        base = {"updatedAt": 1_800_000_000_000, "deviceId": "elsewhere", "userId": "nobody"}
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
