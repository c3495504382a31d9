"""A small sync server for the tests: keeps what it is told, answers queries, fails on request.

usage: server.py [PORT [TOKEN]]. Prints `port N` when it listens. POST /control/fail?status=S&times=N makes the next N operations answer S;
GET /control/log lists the operations in the order they came. POST /control/token (the body is the token) asks for it from
then on; POST /control/portal makes every answer a page of HTML, or a redirection to one with the body "redirect"; GET
/control/seen lists the Authorization headers that came.
"""
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

TABLES = {
    "createUser": "user", "upsertSession": "session", "addLogEntry": "logEntry",
    "deleteLogEntry": "logEntry", "upsertDrinkPreset": "preset",
}
rows = {"user": {}, "session": {}, "logEntry": {}, "preset": {}}
log = []
failures = []
seen = []
state = {"token": sys.argv[2] if len(sys.argv) > 2 else None, "portal": None}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stopped(self):
        """Answers in another way than a sync server does, where told to."""
        seen.append(self.headers.get("Authorization"))
        if state["portal"] is not None:
            page = b"<!DOCTYPE html><html><body>Please log in to this network.</body></html>"
            redirects = state["portal"] == "redirect" and not self.path.startswith("/login")
            self.send_response(302 if redirects else 200)
            if redirects:
                self.send_header("Location", "/login")
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)
            return True
        if state["token"] is not None and self.headers.get("Authorization") != "Bearer " + state["token"]:
            self.answer(401, {"error": "no credential"})
            return True
        return False

    def do_POST(self):
        url = urlparse(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        name = url.path.rsplit("/", 1)[-1]
        if url.path in ("/control/token", "/control/portal"):
            state[name] = body.decode() or None
            return self.answer(200, {})
        if url.path == "/control/fail":
            query = parse_qs(url.query)
            failures.extend([int(query["status"][0])] * int(query["times"][0]))
            return self.answer(200, {})
        if url.path == "/control/put":
            entity, row = json.loads(body)
            rows[entity][row["id"]] = row
            return self.answer(200, {})
        if self.stopped():
            return None
        if failures:
            return self.answer(failures.pop(0), {"error": "told to fail"})
        row = json.loads(body)
        log.append([name, row["id"]] + ([json.dumps(row["settings"], sort_keys=True)] if "settings" in row else []))
        if name == "deleteUser":
            for table in rows.values():
                table.clear()
            return self.answer(200, {})
        if name not in TABLES:
            return self.answer(404, {})
        rows[TABLES[name]][row["id"]] = row
        self.answer(200, {})

    def do_GET(self):
        url = urlparse(self.path)
        query = parse_qs(url.query)
        name = url.path.rsplit("/", 1)[-1]
        if name == "log":
            return self.answer(200, log)
        if url.path == "/control/seen":
            return self.answer(200, seen)
        if not url.path.startswith("/control/") and self.stopped():
            return None
        if name == "rows":
            return self.answer(200, {key: list(table.values()) for key, table in rows.items()})
        if name == "getUserPresets":
            return self.answer(200, list(rows["preset"].values()))
        if name == "getActiveSession":
            return self.answer(200, [row for row in rows["session"].values() if row["isActive"]])
        if name == "getSessionLogs":
            wanted = query["sessionId"][0]
            return self.answer(200, [row for row in rows["logEntry"].values() if row["sessionId"] == wanted])
        self.answer(404, {})

    def log_message(self, *arguments):
        pass


server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
print("port", server.server_port, flush=True)
server.serve_forever()
