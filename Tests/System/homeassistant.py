#!/usr/bin/env python3
"""The service with a real Home Assistant: entities, units, classes, and no warnings about it.

usage: homeassistant.py PRODUCTS ROOT

ROOT gets Debian 13 with Home Assistant (debootstrap, ten minutes and 2 GB once). Then mosquitto, the service and the emulator run next to it.
"""
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from programs import free_port, mosquitto

# The last version that runs on Debian 13's Python, and its requirements: it installs nothing at run time.
PACKAGES = ["homeassistant==2026.2.3", "paho-mqtt==2.1.0", "numpy==2.3.2", "hassil==3.5.0", "home-assistant-intents==2026.1.28", "PyTurboJPEG==1.8.0", "av==16.0.1",
            "home-assistant-frontend==20260128.6"]
DEBIAN = "python3,python3-venv,ca-certificates,gcc,g++,libc6-dev,python3-dev,libffi-dev,libjpeg62-turbo"
BLUEPRINTS = pathlib.Path(__file__).resolve().parents[2] / "hardware/homeassistant/blueprints"
BOTTLE = "A4:C1:38:01:02:03"
SECOND = "A4:C1:38:0A:0B:0C"
LIMIT = 60

# Entity: unit, device class, state class.
DAY = {
    "sensor.hydration_today": ("mL", "volume", "total"), "sensor.hydration_lifetime": ("L", "water", "total_increasing"), "sensor.hydration_progress": ("%", None, "measurement"),
    "sensor.hydration_left": ("mL", "volume_storage", "measurement"),
    "sensor.hydration_behind": ("mL", None, "measurement"), "sensor.hydration_urgency": (None, "enum", None), "sensor.hydration_next_drink": (None, "timestamp", None),
    "sensor.hydration_last_drink": (None, "timestamp", None), "sensor.hydration_drinks": (None, None, "total"), "event.hydration_sip": (None, None, None),
    "event.hydration_reminder": (None, None, None), "sensor.hydration_bottles_in_range": (None, None, None), "binary_sensor.hydration_session": (None, None, None),
}
DAY_COMMANDS = {
    "number.hydration_goal_ml": ("mL", None, None), "switch.hydration_reminders": (None, None, None), "switch.hydration_bottle_light": (None, None, None), "button.hydration_log_cup": (None, None, None),
    "button.hydration_undo": (None, None, None), "button.hydration_log_water": (None, None, None), "button.hydration_log_drink": (None, None, None),
}
BOTTLE_OWN = {
    "sensor.waterh_boost_24oz_battery": ("%", "battery", "measurement"), "sensor.waterh_boost_24oz_last_poll": (None, "timestamp", None),
    "sensor.waterh_boost_24oz_link": (None, "enum", None), "sensor.waterh_boost_24oz_trouble": (None, None, None),
    "sensor.waterh_boost_24oz_clock_drift": ("s", "duration", "measurement"),
}
BOTTLE_COMMANDS = {
    "button.waterh_boost_24oz_check": (None, None, None), "button.waterh_boost_24oz_flash": (None, None, None), "select.waterh_boost_24oz_light": (None, None, None),
    "select.waterh_boost_24oz_bottle_reminder": (None, None, None),
}
ALL = DAY | DAY_COMMANDS | BOTTLE_OWN | BOTTLE_COMMANDS
# The goal without commands, and a second bottle, which has its address as a name.
GOAL = {"sensor.hydration_goal": ("mL", None, None)}
SECOND_OWN = {entity.replace("waterh_boost_24oz", SECOND.lower().replace(":", "_")): kinds for entity, kinds in BOTTLE_OWN.items()}


def prepare(root):
    python = root / "opt/ha/bin/python3"
    if not (root / "usr/bin/python3").exists():
        print("Debian 13 goes into", root, flush=True)
        root.mkdir(parents=True, exist_ok=True)
        mirror = [os.environ["WATERH_DEBIAN_MIRROR"]] if "WATERH_DEBIAN_MIRROR" in os.environ else []
        environment = {key: value for key, value in os.environ.items() if key != "TMPDIR"}
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={DEBIAN}", "trixie", root, *mirror], check=True, stdout=subprocess.DEVNULL, env=environment)
    for file in ("/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf"):
        if os.path.exists(file):
            shutil.copy(file, root / file[1:])
    for folder in ("proc", "dev"):
        subprocess.run(["mount", "--bind", f"/{folder}", root / folder], check=True)
    if not (root / "opt/ha/bin/hass").exists():
        print("Home Assistant goes into it", flush=True)
        subprocess.run(["chroot", root, "/bin/sh", "-c", "python3 -m venv /opt/ha && /opt/ha/bin/pip -q install " + " ".join(PACKAGES)], check=True,
                       env={key: value for key, value in os.environ.items() if key != "TMPDIR"})
    assert python.exists()


class Bench:
    def __init__(self, products, root):
        self.products, self.root = products, root
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="waterh-homeassistant-"))
        self.config = pathlib.Path(tempfile.mkdtemp(prefix="cfg-", dir=root / "opt"))
        self.port = free_port()
        self.store = self.folder / "t.sqlite"
        self.failures, self.running, self.asked = [], {}, 0
        # A zone in which it is afternoon: the day has a deficit.
        offset = 15 - datetime.datetime.now(datetime.timezone.utc).hour
        offset -= 24 if offset > 14 else 0
        self.zone = f"Etc/GMT{-offset:+d}" if offset else "Etc/UTC"

    # The programs

    def start(self, name, command, **options):
        log = open(self.folder / f"{name}.log", "ab")
        self.running[name] = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log, **options)

    def stop(self, name, how=signal.SIGTERM, limit=LIMIT):
        process = self.running.pop(name)
        process.send_signal(how)
        process.wait(limit)

    def broker(self):
        self.start("broker", mosquitto(self.folder, self.port, f"persistence true\npersistence_location {self.folder}/\nautosave_interval 1\nautosave_on_changes true\n"))
        self.until("the broker", lambda: subprocess.run(["mosquitto_pub", "-p", str(self.port), "-t", "bench/hello", "-m", "x"], capture_output=True).returncode == 0)

    def listen(self):
        self.start("subscriber", ["mosquitto_sub", "-p", self.port, "-q", "1", "-i", "subscriber", "-c", "-v", "-t", "ha/#", "-t", "hydration/#", "-t", "bench/#"])

    def emulator(self):
        self.start("emulator", [f"{self.products}/waterh-emulator", "run", "--link", f"unix:{self.folder}/b.sock", "--control", f"unix:{self.folder}/c.sock", "--address", BOTTLE,
                                "--name", "WaterH-Boost-24oz"])

    def service(self):
        environment = os.environ | {"WATERH_LISTEN": "off", "HOME": str(self.folder), "WATERH_ZONE": self.zone}
        self.start("service", [f"{self.products}/waterh-gateway", "run", "--config", self.folder / "waterh.toml"], env=environment)

    def home(self):
        self.start("home", ["chroot", self.root, "env", "HOME=/root", "/opt/ha/bin/hass", "-c", f"/opt/{self.config.name}", "--skip-pip"])

    def tracker(self, *words):
        environment = os.environ | {"HOME": str(self.folder), "WATERH_ZONE": self.zone}
        return subprocess.run([f"{self.products}/waterh-tracker", *words, "--store", str(self.store)], check=True, capture_output=True, text=True, env=environment).stdout

    def publish(self, topic, payload, *more):
        subprocess.run(["mosquitto_pub", "-p", str(self.port), "-q", "1", "-t", topic, "-m", payload, *more], check=True)

    def call(self, action, entity, **data):
        self.publish("bench/call", json.dumps({"action": action, "entity": entity, "data": data}))

    # The results

    def received(self):
        return (self.folder / "subscriber.log").read_text(errors="replace") if (self.folder / "subscriber.log").exists() else ""

    def states(self):
        """The last state and attributes of each entity."""
        found = {}
        for line in self.received().splitlines():
            topic, _, value = line.partition(" ")
            parts = topic.split("/")
            if len(parts) == 4 and parts[0] == "ha":
                if parts[3] != "state":
                    try:
                        value = json.loads(value)
                    except ValueError:
                        pass
                found.setdefault(f"{parts[1]}.{parts[2]}", {})[parts[3]] = value
        return found

    def last(self, topic):
        lines = [line.partition(" ")[2] for line in self.received().splitlines() if line.startswith(topic + " ")]
        return lines[-1] if lines else None

    def state(self, entity):
        return self.states().get(entity, {}).get("state")

    def listed(self):
        """Home Assistant's current list of our entities; None without a response. Its stream of states is incomplete after a broker restart."""
        self.asked += 1
        if subprocess.run(["mosquitto_pub", "-p", str(self.port), "-q", "1", "-t", "bench/list", "-m", str(self.asked)], capture_output=True).returncode != 0:
            return None
        end = time.monotonic() + 2
        while time.monotonic() < end:
            number, _, text = (self.last("bench/listed") or "").partition(" ")
            if number == str(self.asked):
                return {one["entity"]: one for one in json.loads(text) if re.search(r"\.(hydration|waterh|a4_c1)_", one["entity"])}
            time.sleep(0.05)
        return None

    def until(self, what, fits, limit=LIMIT):
        end = time.monotonic() + limit
        while time.monotonic() < end:
            if fits():
                return True
            time.sleep(0.2)
        self.failures.append(f"{what}: not in {limit} s")
        print("FAILED", self.failures[-1], flush=True)
        return False

    def are(self, what, entities, fits, limit=LIMIT):
        """Waits until all these entities fit, with units and classes; reports those that do not, and additional ones. Prints the list."""
        end, found = time.monotonic() + limit, None
        while time.monotonic() < end:
            found = self.listed()
            if found is not None and all(fits(found.get(entity, {}).get("state")) for entity in entities):
                break
            time.sleep(0.2)
        for entity in sorted(entities):
            state = (found or {}).get(entity, {}).get("state")
            if not fits(state):
                self.failures.append(f"{what}: {entity} is {state}")
                print("FAILED", self.failures[-1], flush=True)
        self.check(what, entities, found or {})
        self.show(what)

    def check(self, what, entities, found):
        """Checks unit, device class and state class of each entity, and that there are no others."""
        for entity, one in sorted(found.items()):
            said = (one["unit"], one["class"], one["kind"])
            if entity not in entities:
                self.failures.append(f"{what}: {entity} is too much")
            elif said != (due := (ALL | GOAL | SECOND_OWN)[entity]):
                self.failures.append(f"{what}: {entity} has {said}, not {due}")
            else:
                continue
            print("FAILED", self.failures[-1], flush=True)

    def show(self, what):
        """Prints the current list."""
        print(f"{what}:", flush=True)
        for one in sorted((self.listed() or {}).values(), key=lambda one: one["entity"]):
            print("  " + " | ".join(str(one[name]) for name in ("entity", "state", "unit", "class", "kind") if one[name] is not None), flush=True)

    def registry(self):
        file = self.config / ".storage/core.entity_registry"
        entries = json.loads(file.read_text())["data"]["entities"] if file.exists() else []
        return {entry["entity_id"] for entry in entries if entry["unique_id"].startswith("waterh_")}

    # The steps

    def furnish(self):
        storage = self.config / ".storage"
        storage.mkdir()
        (self.config / "configuration.yaml").write_text(f"""
homeassistant: {{name: Bench, latitude: 52.5, longitude: 13.4, elevation: 34, unit_system: metric, time_zone: Europe/Berlin, currency: EUR, country: DE, language: en}}
logger: {{default: warning, logs: {{homeassistant.components.mqtt: info}}}}
mqtt_statestream: {{base_topic: ha, publish_attributes: true, publish_timestamps: true}}
recorder: {{}}
sensor: []
script:
  phone: {{sequence: [{{action: mqtt.publish, data: {{topic: bench/phone, payload: "{{{{ data.actions[0].action }}}}"}}}}]}}
automation:
  - id: call
    alias: call
    triggers: [{{trigger: mqtt, topic: bench/call}}]
    actions: [{{action: "{{{{ trigger.payload_json.action }}}}", target: {{entity_id: "{{{{ trigger.payload_json.entity }}}}"}}, data: "{{{{ trigger.payload_json.data }}}}"}}]
  - id: tap
    alias: tap
    triggers: [{{trigger: mqtt, topic: bench/tap}}]
    actions: [{{event: mobile_app_notification_action, event_data: {{action: "{{{{ trigger.payload }}}}"}}}}]
  - id: list
    alias: list
    triggers: [{{trigger: mqtt, topic: bench/list}}]
    actions:
      - action: mqtt.publish
        data:
          topic: bench/listed
          payload: >-
            {{% set found = namespace(all=[]) %}}{{% for one in states %}}{{% set found.all = found.all + [{{"entity": one.entity_id, "state": one.state,
            "unit": one.attributes.get("unit_of_measurement"), "class": one.attributes.get("device_class"), "kind": one.attributes.get("state_class")}}] %}}{{% endfor %}}{{{{ trigger.payload }}}} {{{{ found.all | to_json }}}}
  - id: behind
    alias: behind
    use_blueprint:
      path: waterh/behind-and-home.yaml
      input: {{urgency: sensor.hydration_urgency, people: [device_tracker.bench_phone], actions: [{{action: mqtt.publish, data: {{topic: bench/behind, payload: behind}}}}]}}
  - id: notify
    alias: notify
    use_blueprint:
      path: waterh/notify-and-log.yaml
      input: {{reminder: event.hydration_reminder, phone: script.phone}}
""")
        blueprints = self.config / "blueprints/automation/waterh"
        blueprints.mkdir(parents=True)
        for file in BLUEPRINTS.glob("*.yaml"):
            shutil.copy(file, blueprints)
        entry = {"created_at": "2026-01-01T00:00:00+00:00", "modified_at": "2026-01-01T00:00:00+00:00", "data": {"broker": "127.0.0.1", "port": self.port}, "disabled_by": None,
                 "discovery_keys": {}, "domain": "mqtt", "entry_id": "01JBENCHBENCHBENCHBENCHBEN", "minor_version": 2, "options": {}, "pref_disable_new_entities": False,
                 "pref_disable_polling": False, "source": "user", "subentries": [], "title": "broker", "unique_id": None, "version": 1}
        (storage / "core.config_entries").write_text(json.dumps({"version": 1, "minor_version": 5, "key": "core.config_entries", "data": {"entries": [entry]}}))
        (self.folder / "waterh.toml").write_text(f'link = "unix:{self.folder}/b.sock"\nstore = "{self.store}"\nzone = "{self.zone}"\nshare-waterline = true\n')

    def run(self):
        self.furnish()
        self.broker()
        self.listen()
        self.publish("homeassistant/device_tracker/bench_phone/config", json.dumps({
            "state_topic": "bench/phone_is", "unique_id": "bench_phone", "default_entity_id": "device_tracker.bench_phone", "name": "Phone", "payload_home": "home"}), "-r")
        self.publish("bench/phone_is", "home", "-r")
        self.tracker("setup", "--yes", "--notifications", "skip")
        for name, value in (("mqtt.url", f"mqtt://127.0.0.1:{self.port}"), ("mqtt.commands", "true"), ("reminders.enabled", "false"), ("pace.thresholdPercent", "100")):
            self.tracker("settings", "set", name, value)
        self.emulator()
        self.service()
        self.until("the service's first word", lambda: "hydration/availability online" in self.received())
        self.home()
        there = lambda state: state not in (None, "unavailable")
        self.are("after discovery", ALL, there, 180)

        print("sips, presses and settings", flush=True)
        self.sip(120)
        self.until("a sip in the day", lambda: self.state("sensor.hydration_today") == "120")
        self.until("a sip as an event", lambda: self.states().get("event.hydration_sip", {}).get("event_type") == "sip")
        self.call("button.press", "button.hydration_log_cup")
        self.until("a cup by a button", lambda: self.state("sensor.hydration_today") == "370")
        self.until("the lifetime in litres", lambda: self.state("sensor.hydration_lifetime") == "0.37")
        self.call("button.press", "button.hydration_undo")
        self.until("taken back by a button", lambda: self.state("sensor.hydration_today") == "120")
        self.until("the lifetime does not run backwards", lambda: self.state("sensor.hydration_lifetime") == "0.37")
        for entity, answer in (("button.waterh_boost_24oz_flash", "flash"), ("button.waterh_boost_24oz_check", "check")):
            self.call("button.press", entity)
            self.until(f"{answer} by a button", lambda: '"status":"ok"' in (self.last(f"hydration/response/{answer}") or ""))
        self.call("select.select_option", "select.waterh_boost_24oz_light", option="calm")
        self.until("the bottle's light", lambda: '"status":"ok"' in (self.last("hydration/response/light") or ""))
        self.until("the light that was chosen", lambda: self.state("select.waterh_boost_24oz_light") == "calm")

        print("reminders and blueprints", flush=True)
        self.call("number.set_value", "number.hydration_goal_ml", value=500)
        self.until("a goal", lambda: self.state("number.hydration_goal_ml") in ("500", "500.0"))
        self.tracker("log", "450")
        self.until("on track", lambda: self.state("sensor.hydration_urgency") == "on_track")
        self.call("number.set_value", "number.hydration_goal_ml", value=5000)
        self.until("behind", lambda: self.state("sensor.hydration_urgency") == "behind")
        self.until("the blueprint for who is at home", lambda: self.last("bench/behind") == "behind")
        self.call("switch.turn_on", "switch.hydration_reminders")
        self.until("a reminder as an event", lambda: self.states().get("event.hydration_reminder", {}).get("event_type") == "hydration-reminder")
        self.until("a reminder on the phone", lambda: (self.last("bench/phone") or "").startswith("WATERH_"))
        before = self.state("sensor.hydration_today")
        for _ in range(2):
            self.publish("bench/tap", self.last("bench/phone") or "none")
        self.until("a cup by a tap", lambda: self.state("sensor.hydration_today") == str(int(before or 0) + 250))

        print("a bottle that sleeps, a service that dies", flush=True)
        self.stop("emulator", signal.SIGKILL)
        self.running["service"].send_signal(signal.SIGHUP)
        self.until("a link that is told", lambda: self.state("sensor.waterh_boost_24oz_link") == "error")
        self.are("while the bottle sleeps", ALL, there)
        self.stop("service", signal.SIGKILL)
        self.are("without a service", ALL, lambda state: state == "unavailable")
        self.service()
        self.are("with the service again", ALL, there)

        print("the broker starts anew", flush=True)
        self.stop("broker", signal.SIGKILL)
        self.broker()
        self.tracker("log", "111")
        today = str(int(before or 0) + 361)
        self.until("a drink after the broker's restart", lambda: self.state("sensor.hydration_today") == today)
        self.are("after the broker's restart", ALL, there)

        print("Home Assistant starts anew", flush=True)
        self.stop("home", signal.SIGINT)
        self.failures += [f"the registry: {entity} is missing" for entity in sorted(set(ALL) - self.registry())]
        self.failures += [f"the registry: {entity} is too much" for entity in sorted(self.registry() - set(ALL))]
        (self.folder / "subscriber.log").write_text("")
        self.home()
        self.are("after Home Assistant's restart", ALL, there, 180)
        self.until("the day after its restart", lambda: self.state("sensor.hydration_today") == today)

        print("commands off, then everything", flush=True)
        self.tracker("settings", "set", "mqtt.commands", "false")
        self.until("commands are off", lambda: '"commands":[]' in (self.last("hydration/bridge/info") or ""))
        left = set(DAY) | set(BOTTLE_OWN) | set(GOAL)
        self.until("the goal as a sensor, and nothing to press", lambda: set(self.listed() or ()) == left)
        self.stop("home", signal.SIGINT)
        if self.registry() != left:
            self.failures.append(f"without commands: {sorted(self.registry() ^ left)}")
        self.home()
        (self.folder / "subscriber.log").write_text("")
        self.are("without commands", left, there, 180)

        print("a second bottle, one less, then none", flush=True)
        self.stop("service")
        # A purge deletes the settings, so the broker must be in the configuration.
        with open(self.folder / "waterh.toml", "a") as file:
            file.write(f'[mqtt]\nurl = "mqtt://127.0.0.1:{self.port}"\n')
        self.service()
        self.adopt(SECOND)
        self.are("with a second bottle", left | set(SECOND_OWN), there)
        self.adopt("--release", SECOND)
        self.until("the second bottle is gone", lambda: set(self.listed() or ()) == left)
        self.are("after a bottle was removed", left, there)
        self.adopt(SECOND)
        self.are("with the second bottle again", left | set(SECOND_OWN), there)
        self.tracker("purge", "--yes")
        self.until("the bottles are gone", lambda: set(self.listed() or ()) == left - set(BOTTLE_OWN))
        self.are("after the bottles were removed", left - set(BOTTLE_OWN), there)

        self.tracker("settings", "set", "mqtt.discovery", "false")
        self.until("discovery is off", lambda: self.listed() == {})
        self.stop("home", signal.SIGINT)
        if self.registry():
            self.failures.append(f"without discovery: {sorted(self.registry())}")

    def adopt(self, *words):
        subprocess.run([f"{self.products}/waterh-gateway", "adopt", "--config", str(self.folder / "waterh.toml"), "--zone", self.zone, *words], check=True, capture_output=True,
                       env=os.environ | {"HOME": str(self.folder)})

    def sip(self, ml):
        self.until("the emulator", (self.folder / "c.sock").exists)
        subprocess.run([f"{self.products}/waterh-emulator", "control", "--control", f"unix:{self.folder}/c.sock", "sip", str(ml)], check=True, capture_output=True)
        self.running["service"].send_signal(signal.SIGHUP)

    def warnings(self):
        """The warnings of Home Assistant about us, except those about connections that this test ended."""
        expected = re.compile(r"Failed to connect to MQTT|Disconnected from MQTT|Error returned from MQTT|Connected to MQTT|Connection (lost|refused)|No ACK from MQTT|failed to receive on socket|mqtt_statestream/__init__")
        lines = set()
        for line in (self.folder / "home.log").read_text(errors="replace").splitlines():
            line = re.sub(r"\x1b\[[0-9;]*m", "", line)
            if re.search(r"WARNING|ERROR|CRITICAL", line) and re.search(r"mqtt|waterh|hydration|blueprint|automation|script|template", line, re.I) and not expected.search(line):
                lines.add(re.sub(r"^\S+ \S+ ", "", line)[:600])
        return sorted(lines)

    def close(self):
        for process in self.running.values():
            process.kill()
            process.wait()


def main():
    products, root = sys.argv[1], pathlib.Path(sys.argv[2])
    if os.geteuid() != 0:
        sys.exit("homeassistant: requires root")
    if not os.environ.get("WATERH_OWN_MOUNTS"):
        # A mount namespace: its mounts disappear with the process.
        os.execvpe("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv], os.environ | {"WATERH_OWN_MOUNTS": "1"})
    prepare(root)
    bench = Bench(products, root)
    try:
        bench.run()
    finally:
        bench.close()
    found = bench.failures + [f"Home Assistant says: {line}" for line in bench.warnings()]
    shutil.rmtree(bench.config, ignore_errors=True)
    if found:
        print("\n".join(["", "FAILED:"] + found))
        sys.exit(f"see {bench.folder}")
    shutil.rmtree(bench.folder, ignore_errors=True)
    print("Home Assistant has all entities and no warnings.")


main()
