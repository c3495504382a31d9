"""A small web server for the tests: stores every request, and answers as requested.

usage: peer.py [PORT [CERTIFICATE KEY]]. Prints `port N` when it listens; with a certificate it speaks TLS.

POST /control/answers with a JSON list sets the responses to the next requests, one each; then every response is 200 with {}.
{"status": 503, "headers": {"Retry-After": "1"}, "body": "text"}; "silent": seconds until the response; "close": true disconnects
without a response; "cut": true disconnects in the middle of the body; "flood": so many bytes of body; "drip": a byte each tenth of a second.
POST /control/rule with such an object sets every later response; with {} as in the beginning.
GET /control/seen lists the requests in the order they came: method, path, headers (lower case), body (as text and in base64), and when.
"""
import base64
import json
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock = threading.Lock()
state = {"answers": [], "rule": {}, "seen": [], "count": 0}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def say(self, status, body, headers=None):
        self.send_response(status)
        names = {name.lower() for name in headers or {}}
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if "content-type" not in names:
            self.send_header("Content-Type", "application/json")
        if "content-length" not in names:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def hang_up(self):
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()

    def control(self, body):
        name = self.path.rsplit("/", 1)[-1]
        with lock:
            if name == "seen":
                text = json.dumps(state["seen"]).encode()
            else:
                if name in ("answers", "rule"):
                    state[name] = json.loads(body)
                text = b"{}"
        self.say(200, text)

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/control/"):
            return self.control(body)
        with lock:
            state["count"] += 1
            number = state["count"]
            state["seen"].append({
                "method": self.command, "path": self.path, "headers": {key.lower(): value for key, value in self.headers.items()},
                "body": body.decode("utf-8", "replace"), "base64": base64.b64encode(body).decode(), "at": time.time()})
            how = state["answers"].pop(0) if state["answers"] else state["rule"]
        try:
            self.follow(how, {"id": str(number)})
        except OSError:
            self.close_connection = True

    def follow(self, how, usual):
        if how.get("silent"):
            time.sleep(how["silent"])
        if how.get("close"):
            return self.hang_up()
        text = how.get("body", json.dumps(usual)).encode()
        status = how.get("status", 200)
        if how.get("cut"):
            self.say(status, text[: max(1, len(text) // 2)], {"Content-Length": str(len(text) + 10)})
            return self.hang_up()
        if "flood" in how:
            self.say(status, b"", {"Content-Length": str(how["flood"])})
            piece, left = b"x" * 65536, how["flood"]
            while left > 0:
                self.wfile.write(piece[: min(left, len(piece))])
                left -= len(piece)
            return None
        if how.get("drip"):
            self.say(status, b"", {"Content-Length": "100000"})
            while True:
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.1)
        self.say(status, text, how.get("headers"))
        return None

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_request

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


server = Server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Handler)
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print("port", server.server_port, flush=True)
server.serve_forever()
