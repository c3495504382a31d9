"""A small web server for the tests: prints every request, and answers as configured.

usage: peer.py FOLDER [CERTIFICATE KEY]. Prints `port N` when it listens; with a certificate it speaks TLS. Then it prints a line for each
request, in order of arrival: a JSON object with method, path, headers (lower case), body (text and base64), and time.

The file `once` in the folder has the response to the next request, which deletes the file. The file `rule` has the response to all others.
Without them every response is 200 with {"id": NUMBER}.
{"status": 503, "headers": {"Retry-After": "1"}, "body": "text"}; "silent": seconds until the response; "close": true disconnects
without a response; "cut": true disconnects in the middle of the body; "flood": N sends N bytes of body; "drip": true sends a byte each 0.1 s;
"garbage": true sends a TLS alert instead of a response.
"""
import base64
import itertools
import json
import pathlib
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock = threading.Lock()
numbers = itertools.count(1)
once, rule = (pathlib.Path(sys.argv[1], name) for name in ("once", "rule"))


def next_response():
    if once.exists():
        response = json.loads(once.read_text())
        once.unlink()
        return response
    return json.loads(rule.read_text()) if rule.exists() else {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def respond(self, status, body, headers=None):
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

    def disconnect(self):
        self.close_connection = True
        self.wfile.flush()
        self.connection.close()

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = {
            "method": self.command, "path": self.path, "headers": {key.lower(): value for key, value in self.headers.items()},
            "body": body.decode("utf-8", "replace"), "base64": base64.b64encode(body).decode(), "at": time.time()}
        with lock:
            number, response = next(numbers), next_response()
            print(json.dumps(request), flush=True)
        try:
            self.respond_as_configured(response, {"id": str(number)})
        except OSError:
            self.close_connection = True

    def respond_as_configured(self, response, default):
        if response.get("silent"):
            time.sleep(response["silent"])
        if response.get("close"):
            return self.disconnect()
        if response.get("garbage"):
            self.wfile.write(b"\x15\x03\x01\x00\x02\x02\x16")
            return self.disconnect()
        text = response.get("body", json.dumps(default)).encode()
        status = response.get("status", 200)
        if response.get("cut"):
            self.respond(status, text[: max(1, len(text) // 2)], {"Content-Length": str(len(text) + 10)})
            return self.disconnect()
        if "flood" in response:
            self.respond(status, b"", {"Content-Length": str(response["flood"])})
            piece, left = b"x" * 65536, response["flood"]
            while left > 0:
                self.wfile.write(piece[: min(left, len(piece))])
                left -= len(piece)
            return None
        if response.get("drip"):
            self.respond(status, b"", {"Content-Length": "100000"})
            while True:
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.1)
        self.respond(status, text, response.get("headers"))
        return None

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = handle_request

    def log_message(self, *arguments):
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


server = Server(("127.0.0.1", 0), Handler)
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print("port", server.server_port, flush=True)
server.serve_forever()
