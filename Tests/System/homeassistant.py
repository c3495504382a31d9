#!/usr/bin/env python3
"""The service with a real Home Assistant: entities, units, classes, and no warnings about it.

usage: homeassistant.py PRODUCTS ROOT

ROOT gets Debian 13 with Home Assistant (debootstrap, ten minutes and 2 GB once). Then mosquitto, the service and the emulator run next to it.
"""
import contextlib
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

from programs import Programs, free_port, is_listening, mosquitto, own_mounts, wait_for

# The last version that runs on Debian 13's Python, and its requirements: it installs nothing at run time.
PACKAGES = ["homeassistant==2026.2.3", "paho-mqtt==2.1.0", "numpy==2.3.2", "hassil==3.5.0", "home-assistant-intents==2026.1.28", "PyTurboJPEG==1.8.0", "av==16.0.1",
            "home-assistant-frontend==20260128.6"]
DEBIAN = "python3,python3-venv,ca-certificates,gcc,g++,libc6-dev,python3-dev,libffi-dev,libjpeg62-turbo"
BLUEPRINTS = pathlib.Path(__file__).resolve().parents[2] / "hardware/homeassistant/blueprints"
BOTTLE, SECOND = "A4:C1:38:01:02:03", "A4:C1:38:0A:0B:0C"
START = 180  # Seconds until Home Assistant has started.

CONFIGURATION = """
homeassistant: {name: Bench, latitude: 52.5, longitude: 13.4, elevation: 34, unit_system: metric, time_zone: Europe/Berlin, currency: EUR, country: DE, language: en}
logger: {default: warning, logs: {homeassistant.components.mqtt: info}}
recorder: {}
sensor: []
script:
  phone: {sequence: [{action: mqtt.publish, data: {topic: bench/phone, payload: "{{ data.actions[0].action }}"}}]}
automation:
  - id: call
    alias: call
    triggers: [{trigger: mqtt, topic: bench/call}]
    actions: [{action: "{{ trigger.payload_json.action }}", target: {entity_id: "{{ trigger.payload_json.entity }}"}, data: "{{ trigger.payload_json.data }}"}]
  - id: tap
    alias: tap
    triggers: [{trigger: mqtt, topic: bench/tap}]
    actions: [{event: mobile_app_notification_action, event_data: {action: "{{ trigger.payload }}"}}]
  - id: list
    alias: list
    triggers: [{trigger: mqtt, topic: bench/list}]
    actions:
      - action: mqtt.publish
        data:
          topic: bench/listed
          payload: >-
            {% set found = namespace(all=[]) %}{% for one in states %}{% set found.all = found.all + [{"entity": one.entity_id, "state": one.state,
            "unit_of_measurement": one.attributes.get("unit_of_measurement"), "device_class": one.attributes.get("device_class"),
            "state_class": one.attributes.get("state_class"), "event": one.attributes.get("event_type")}] %}{% endfor %}{{ trigger.payload }} {{ found.all | to_json }}
  - id: behind
    alias: behind
    use_blueprint:
      path: waterh/behind-and-home.yaml
      input: {urgency: sensor.hydration_urgency, people: [device_tracker.bench_phone], actions: [{action: mqtt.publish, data: {topic: bench/behind, payload: behind}}]}
  - id: notify
    alias: notify
    use_blueprint:
      path: waterh/notify-and-log.yaml
      input: {reminder: event.hydration_reminder, phone: script.phone}
"""


def prepare(root):
    """Installs Debian and Home Assistant into the folder, once."""
    environment = {key: value for key, value in os.environ.items() if key != "TMPDIR"}
    if not (root / "usr/bin/python3").exists():
        print("Debian 13 goes into", root, flush=True)
        root.mkdir(parents=True, exist_ok=True)
        mirror = [os.environ["WATERH_DEBIAN_MIRROR"]] if "WATERH_DEBIAN_MIRROR" in os.environ else []
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={DEBIAN}", "trixie", root, *mirror], check=True, stdout=subprocess.DEVNULL, env=environment)
    for file in ("/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf"):
        if os.path.exists(file):
            shutil.copy(file, root / file[1:])
    for folder in ("proc", "dev"):
        subprocess.run(["mount", "--bind", f"/{folder}", root / folder], check=True)
    if not (root / "opt/ha/bin/hass").exists():
        print("Home Assistant goes into it", flush=True)
        subprocess.run(["chroot", root, "/bin/sh", "-c", "python3 -m venv /opt/ha && /opt/ha/bin/pip -q install " + " ".join(PACKAGES)], check=True, env=environment)


def afternoon_zone():
    """A zone in which it is afternoon now, so that the day has a deficit."""
    offset = (15 - datetime.datetime.now(datetime.timezone.utc).hour + 9) % 24 - 9
    return f"Etc/GMT{-offset:+d}" if offset else "Etc/UTC"


class Bench:
    def __init__(self, products, root):
        zone = afternoon_zone()  # Also of the bottle: its clock is not set where this machine's clock is not synchronised.
        self.programs = Programs(products, TZ=zone, WATERH_ZONE=zone, WATERH_LISTEN="off")
        self.root, self.port, self.list_requests = root, free_port(), 0
        self.folder = self.programs.folder
        self.config = pathlib.Path(tempfile.mkdtemp(prefix="cfg-", dir=root / "opt"))

    def start_broker(self):
        mosquitto(self.folder, self.port, f"persistence true\npersistence_location {self.folder}/\nautosave_interval 1\nautosave_on_changes true\n")
        self.programs.start("mosquitto", "-c", self.folder / "mosquitto.conf")
        wait_for(lambda: is_listening(self.port), "the broker")

    def start_service(self):
        self.programs.start("waterh-gateway", "run", "--config", self.folder / "waterh.toml")

    def start_home(self):
        self.programs.start("chroot", self.root, "env", "HOME=/root", "/opt/ha/bin/hass", "-c", f"/opt/{self.config.name}", "--skip-pip")

    def poll(self):
        self.programs.children["waterh-gateway"].send_signal(signal.SIGHUP)

    def adopt(self, *words):
        self.programs.run("waterh-gateway", "adopt", "--config", self.folder / "waterh.toml", *words)

    def publish(self, topic, payload, *more):
        self.programs.run("mosquitto_pub", "-p", self.port, "-q", 1, "-t", topic, "-m", payload, *more)

    def call(self, action, entity, **data):
        self.publish("bench/call", json.dumps({"action": action, "entity": entity, "data": data}))

    def messages(self, topic):
        complete = self.programs.log("mosquitto_sub").rpartition("\n")[0]
        return [line.partition(" ")[2] for line in complete.splitlines() if line.startswith(topic + " ")]

    def last(self, topic):
        return (self.messages(topic) or [None])[-1]

    def discovered(self):
        """The entities of the last discovery messages, with their unit and classes."""
        found, topics = {}, set(re.findall(r"(?m)^(homeassistant/device/waterh\S+) ", self.programs.log("mosquitto_sub")))
        for message in filter(lambda message: message.startswith("{"), map(self.last, topics)):  # A removed device has no payload.
            for component in json.loads(message)["components"].values():
                if "default_entity_id" in component:
                    found[component["default_entity_id"]] = [component.get(key) for key in ("unit_of_measurement", "device_class", "state_class")]
        return found

    def listed_entities(self):
        """Home Assistant's current list of our entities. A request that it does not answer, as before its start, is repeated."""
        end = time.monotonic() + START
        while time.monotonic() < end:
            self.list_requests += 1
            self.publish("bench/list", str(self.list_requests))
            with contextlib.suppress(AssertionError):
                text = wait_for(lambda: next((line for line in self.messages("bench/listed") if line.startswith(f"{self.list_requests} ")), None), "the list", 2)
                return {one["entity"]: one for one in json.loads(text.partition(" ")[2]) if re.search(r"\.(hydration|waterh|a4_c1)_", one["entity"])}
        raise AssertionError(f"Home Assistant does not answer: {self.programs.log('chroot')[-2000:]}")

    def state(self, entity, key="state"):
        return self.listed_entities().get(entity, {}).get(key)

    def wait_for_state(self, entity, expected, key="state"):
        wait_for(lambda: self.state(entity, key) in (expected, f"{expected}.0"), lambda: f"{entity} is {self.state(entity, key)}, not {expected}")

    def wait_for_entities(self, what, expected=None, matches=lambda state: state not in (None, "unavailable")):
        """Waits until Home Assistant has exactly the discovered entities, with their units and classes, and all states fit."""
        print(what, flush=True)

        def differences():
            due, found = self.discovered(), self.listed_entities()
            others = set(due) ^ set(found) | (set(due) ^ expected if expected is not None else set())
            return others | {entity for entity, one in found.items() if entity in due and (
                not matches(one["state"]) or [one["unit_of_measurement"], one["device_class"], one["state_class"]] != due[entity])}

        wait_for(lambda: not differences(), lambda: f"{what}: {sorted(differences())}", START)
        return set(self.listed_entities())

    def wait_for_response(self, command):
        wait_for(lambda: '"status":"ok"' in (self.last(f"hydration/response/{command}") or ""), f"{command} is not answered")

    def write_configurations(self):
        """Writes the configurations of Home Assistant and of the service."""
        storage = self.config / ".storage"
        storage.mkdir()
        (self.config / "configuration.yaml").write_text(CONFIGURATION)
        shutil.copytree(BLUEPRINTS, self.config / "blueprints/automation/waterh")
        entry = {"created_at": "2026-01-01T00:00:00+00:00", "modified_at": "2026-01-01T00:00:00+00:00", "data": {"broker": "127.0.0.1", "port": self.port}, "disabled_by": None,
                 "discovery_keys": {}, "domain": "mqtt", "entry_id": "01JBENCHBENCHBENCHBENCHBEN", "minor_version": 2, "options": {}, "pref_disable_new_entities": False,
                 "pref_disable_polling": False, "source": "user", "subentries": [], "title": "broker", "unique_id": None, "version": 1}
        (storage / "core.config_entries").write_text(json.dumps({"version": 1, "minor_version": 5, "key": "core.config_entries", "data": {"entries": [entry]}}))
        # A purge deletes the settings, so the broker is in the configuration.
        (self.folder / "waterh.toml").write_text(
            f'link = "{self.programs.link}"\nstore = "{self.programs.store}"\nshare-waterline = true\n[mqtt]\nurl = "mqtt://127.0.0.1:{self.port}"\n')

    def run(self):
        tracker, stop = self.programs.tracker, self.programs.stop
        self.write_configurations()
        self.start_broker()
        self.programs.start("mosquitto_sub", "-p", self.port, "-q", 1, "-i", "subscriber", "-c", "-v", "-t", "homeassistant/#", "-t", "hydration/#", "-t", "bench/#")
        self.publish("homeassistant/device_tracker/bench_phone/config", json.dumps({
            "state_topic": "bench/phone_is", "unique_id": "bench_phone", "default_entity_id": "device_tracker.bench_phone", "name": "Phone", "payload_home": "home"}), "-r")
        self.publish("bench/phone_is", "home", "-r")
        tracker("setup", "--yes", "--notifications", "skip")
        tracker("settings", "set", "mqtt.commands", "true", "reminders.enabled", "false", "pace.thresholdPercent", "100")
        self.programs.emulator("--address", BOTTLE, "--name", "WaterH-Boost-24oz")
        self.start_service()
        wait_for(lambda: self.last("hydration/availability") == "online", "the service's first message")
        self.start_home()
        everything = self.wait_for_entities("after discovery")

        print("sips, presses and settings", flush=True)
        self.programs.sip(120)
        self.poll()
        self.wait_for_state("sensor.hydration_today", "120")
        self.wait_for_state("event.hydration_sip", "sip", "event")
        self.call("button.press", "button.hydration_log_cup")
        self.wait_for_state("sensor.hydration_today", "370")
        self.wait_for_state("sensor.hydration_lifetime", "0.37")
        self.call("button.press", "button.hydration_undo")
        self.wait_for_state("sensor.hydration_today", "120")
        self.wait_for_state("sensor.hydration_lifetime", "0.37")  # A lifetime does not decrease.
        for command in ("flash", "check"):
            self.call("button.press", f"button.waterh_boost_24oz_{command}")
            self.wait_for_response(command)
        self.call("select.select_option", "select.waterh_boost_24oz_light", option="calm")
        self.wait_for_response("light")
        self.wait_for_state("select.waterh_boost_24oz_light", "calm")

        print("reminders and blueprints", flush=True)
        self.call("number.set_value", "number.hydration_goal_ml", value=500)
        self.wait_for_state("number.hydration_goal_ml", "500")
        tracker("log", "450")
        self.wait_for_state("sensor.hydration_urgency", "on_track")
        self.call("number.set_value", "number.hydration_goal_ml", value=5000)
        self.wait_for_state("sensor.hydration_urgency", "behind")
        wait_for(lambda: self.last("bench/behind") == "behind", "the blueprint behind-and-home")
        self.call("switch.turn_on", "switch.hydration_reminders")
        self.wait_for_state("event.hydration_reminder", "hydration-reminder", "event")
        wait_for(lambda: (self.last("bench/phone") or "").startswith("WATERH_"), "a reminder on the phone")
        today = int(self.state("sensor.hydration_today"))
        for _ in range(2):
            self.publish("bench/tap", self.last("bench/phone"))
        self.wait_for_state("sensor.hydration_today", str(today + 250))

        print("a bottle that sleeps, and processes that are killed", flush=True)
        stop("waterh-emulator", signal.SIGKILL)
        self.poll()
        self.wait_for_state("sensor.waterh_boost_24oz_link", "error")
        stop("waterh-gateway", signal.SIGKILL)
        self.wait_for_entities("without a service", everything, lambda state: state == "unavailable")
        self.start_service()
        self.wait_for_entities("with the service again", everything)
        stop("mosquitto", signal.SIGKILL)
        self.start_broker()
        tracker("log", "111")
        self.wait_for_state("sensor.hydration_today", str(today + 361))
        self.wait_for_entities("after the broker's restart", everything)
        stop("chroot", signal.SIGINT)
        self.start_home()
        self.wait_for_entities("after Home Assistant's restart", everything)

        tracker("settings", "set", "mqtt.commands", "false")
        wait_for(lambda: '"commands":[]' in (self.last("hydration/bridge/info") or ""), "commands are still on")
        left = self.wait_for_entities("without commands")
        pressed = [entity for entity in left if entity.split(".")[0] in ("button", "number", "select", "switch")]
        assert not pressed and "sensor.hydration_goal" in left, left
        self.adopt(SECOND)
        name = SECOND.lower().replace(":", "_")
        second = {entity.replace("waterh_boost_24oz", name) for entity in left if "waterh_boost_24oz" in entity}
        self.wait_for_entities("with a second bottle", left | second)
        self.adopt("--release", SECOND)
        self.wait_for_entities("after a bottle was removed", left)
        tracker("purge", "--yes")
        self.wait_for_entities("after a purge", {entity for entity in left if "waterh_boost_24oz" not in entity})
        tracker("settings", "set", "mqtt.discovery", "false")
        wait_for(lambda: not self.listed_entities(), "entities without discovery")

    def warnings(self):
        """The warnings of Home Assistant about us, except those about connections that this test ended."""
        expected = re.compile(r"Failed to connect to MQTT|Disconnected from MQTT|Error returned from MQTT|Connected to MQTT|Connection (lost|refused)|No ACK from MQTT|failed to receive on socket")
        lines = set()
        for line in self.programs.log("chroot").splitlines():
            line = re.sub(r"\x1b\[[0-9;]*m", "", line)
            if re.search(r"WARNING|ERROR|CRITICAL", line) and re.search(r"mqtt|waterh|hydration|blueprint|automation|script|template", line, re.I) and not expected.search(line):
                lines.add(re.sub(r"^\S+ \S+ ", "", line)[:600])
        return sorted(lines)


def main():
    products, root = sys.argv[1], pathlib.Path(sys.argv[2])
    if os.geteuid() != 0:
        sys.exit("homeassistant: requires root")
    own_mounts()
    prepare(root)
    bench = Bench(products, root)
    try:
        bench.run()
        found = bench.warnings()
    finally:
        bench.programs.close()
        shutil.rmtree(bench.config, ignore_errors=True)
    if found:
        sys.exit("\n".join(["FAILED: Home Assistant reports:"] + found))
    print("Home Assistant has all entities and no warnings.")


if __name__ == "__main__":
    main()
