"""The service of the simulation, under a replacement of systemd that checks its open files."""
import signal
import socket
import time


class Service:
    def __init__(self, world, rng, bottle):
        self.world, self.rng, self.bottle = world, rng, bottle
        self.child, self.ready, self.listener, self.next_start = None, False, None, 0
        self.deleted_before = set()
        self.starts = 0

    @property
    def is_up(self):
        return self.child is not None and self.child.is_running

    def start(self):
        self.starts += 1
        path = self.world.bench / f"notify-{self.starts}.sock"
        if self.listener:
            self.listener.close()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.listener.bind(str(path))
        self.ready, self.deleted_before = False, set()
        self.child = self.world.start("service", "waterh-gateway", ["run", "--link", f"unix:{self.bottle.link}", "--store", self.world.store],
                                      limit=None, environment={"NOTIFY_SOCKET": str(path)})

    def watch(self):
        """Restarts the service if it is down, reads its messages to systemd, and checks its open files."""
        if not self.is_up:
            if self.child and not self.child.notes.get("seen"):
                self.child.notes["seen"] = True
                self.next_start = time.monotonic() + self.rng.choice([0, 0.1, 1, 3])
            if time.monotonic() >= self.next_start:
                self.start()
            return
        try:
            while message := self.listener.recv(4096):
                if b"READY=1" in message and not self.ready:
                    self.ready = True
                    self.world.log(f"{self.child.label} is ready")
        except BlockingIOError:
            pass
        # A deleted file that stays open gets writes that are lost.
        deleted = self.world.deleted_files(self.child)
        for name in deleted & self.deleted_before:
            if not self.child.notes.get(name):
                self.child.notes[name] = True
                self.world.fail(f"{self.child.label} writes into {name} after another process deleted it")
        self.deleted_before = deleted

    def reload(self):
        """SIGHUP: the service polls at once."""
        if self.is_up and self.ready and not self.child.is_stopped:
            self.world.log(f"SIGHUP to {self.child.label}")
            self.child.process.send_signal(signal.SIGHUP)
