"""The functions that create the golden files."""
import collections
import html
import json
import re
import signal
import subprocess
import time

from bench import HERE, PROGRAMS, normal, pretty, together, without_states
from programs import LIMIT, ROOT, free_port, mosquitto, request, wait_for

CAPTURES = ["boost_two-days.btsnoop", "vita_reports-inside-log.pcapng", "boost_draft.btsnoop", "boost_one-record.hex",
            "boost_sixteen-records-cut.hex"]


def helps(bench):
    """The help of every subcommand, and the names of their options."""
    todo, options = [[program] for program in PROGRAMS], []
    while todo:
        found = []
        for words, (code, text, _) in zip(todo, together(lambda words: bench.run(" ".join(words) + " --help"), todo)):
            bench.made["help/" + "-".join(words).removeprefix("waterh-") + ".txt"] = text
            names = re.findall(r"(?m)^  (?=-)((?:--?[\w/-]+(?:, )?)+)", text)
            flat = sorted({name for group in names for name in re.split(r", |/", group)})
            options.append(f"{' '.join(words)}: {' '.join(flat)}\n")
            listed = text.partition("SUBCOMMANDS:\n")[2]
            found += [words + [name] for name in re.findall(r"(?m)^  ([a-z][\w-]*)(?:  | \(default\)|$)", listed)]
        todo = found
    bench.made["option-names.txt"] = "".join(sorted(options))


def captures(bench):
    """The output of waterh-replay for the shipped captures."""
    verbs = ("info", "drinks", "att", "commands", "stats")

    def one(verb):
        text = "".join(bench.block(f"waterh-replay {verb} captures/{name}", head=20) for name in CAPTURES)
        objects = "".join(bench.block(f"waterh-replay {verb} captures/{name} --json", head=5) for name in CAPTURES[:2])
        return text, objects

    for verb, (text, objects) in zip(verbs, together(one, verbs)):
        bench.made |= {f"replay/{verb}.txt": text, f"replay/{verb}-json.txt": objects}
    pairs = [(CAPTURES[0], CAPTURES[0]), (CAPTURES[0], CAPTURES[2]), (CAPTURES[2], CAPTURES[3])]
    lines = [f"waterh-replay diff captures/{first} captures/{second}" for first, second in pairs]
    bench.made["replay/diff.txt"] = "".join(together(lambda line: bench.block(line, head=20), lines))
    (bench.folder / "wrong").mkdir()
    for name in (CAPTURES[3], CAPTURES[3] + ".expected.jsonl"):
        text = (bench.folder / "captures" / name).read_text()
        (bench.folder / "wrong" / name).write_text(text.replace('"amountMl":16', '"amountMl":17'))
    lines = ["waterh-replay verify captures", "waterh-replay verify captures --tap", "waterh-replay verify wrong"]
    bench.made["replay/verify.txt"] = "".join(map(bench.block, lines))


# The other checks of the doctor depend on the machine.
DOCTOR_CHECKS = ("store", "time zone", "bottles", "link", "broker", "page")


def doctor(bench, line):
    """The doctor's checks that do not depend on the machine."""
    code, output, error = bench.run("waterh-gateway " + line, "store.sqlite")
    lines, is_kept = [], True
    for text in normal(output, bench.folder).splitlines():
        if text.startswith("{"):
            answer = json.loads(text)
            answer["checks"] = [check for check in answer["checks"] if check["check"].startswith(DOCTOR_CHECKS)]
            text = pretty(answer | {"ok": "<ANY>"})
        elif not text.startswith("    "):
            is_kept = text[5:].startswith(DOCTOR_CHECKS)
        lines += [text] * is_kept
    lines += [f"stderr: {text}" for text in error.splitlines()] + ([f"exit code {code}"] if "none.sock" in line else [])
    return f"$ waterh-gateway {line}\n" + "".join(text + "\n" for text in lines)


def bottle(bench):
    """scan, poll and doctor with an emulated bottle and without one."""
    link = bench.bottle("bottle")
    texts = collections.defaultdict(str)
    none = "--link unix:none.sock"
    for line in [f"scan --link {link} --seconds 1", f"scan --link {link} --seconds 1 --json",
                 f"scan {none} --seconds 1", f"poll --link {link} --keep --json", f"poll --link {link}",
                 f"poll --link {link}", f"poll {none}", f"poll {none} --json",
                 f"poll --link capture:captures/{CAPTURES[1]} --store recorded.sqlite",
                 f"poll --link capture:captures/{CAPTURES[2]} --store draft.sqlite"]:
        texts[line.split()[0]] += bench.block("waterh-gateway " + line, "store.sqlite")
    for line in [f"doctor --link {link}", f"doctor --link {link} --json", "doctor --link unix:none.sock",
                 "doctor --link unix:none.sock --store missing.sqlite"]:
        texts["doctor"] += doctor(bench, line)
    for name, text in texts.items():
        bench.made[f"gateway/{name}.txt"] = text


READS = """status
status --format waybar
status --format i3blocks
status --format polybar
status --format tmux
status --format plain
status --format plain --item session
history
history --day today
history --day yesterday
history --week 1
history --month 2026-11
history --notifications
streak
why
why --all
session show
session list
preset list
journal list
settings get
token list""".splitlines()
TEXT_ONLY = {"history --day yesterday", "history --week 1", "why --all"}
TEXT_ONLY |= {line for line in READS if "--format" in line}
AT_THE_END = {"settings get", "token list", "preset list", "journal list"}
LONG = {"why --all", "why --json"}  # Recorded at one moment only.
DAY = {
    "2026-11-20T21:45": [],
    "2026-11-21T10:00": [
        "check --show", "log 250 --at 07:30", "log 8oz", "log 2500", "edit d42 --ml 300", "delete d41", "undo",
        "check --show", "check --show --json"],
    "2026-11-21T20:10": [
        "setup --yes --goal 2000 --notifications skip", "preset add Ale --type beer --oz 16 --abv 5", "session start",
        "drink Ale --at 20:05", "drink Ale", "drink --json", "water", "water --ml 200 --json"],
    "2026-11-21T22:30": [
        "log cup --json", "session end --yes", "session done", "session done --json", "reset-today --json",
        "undo --json", "export --format csv", "export --format jsonl", "settings set hydration.goalMl 2200 --json"],
}


def tracker(bench):
    """The output of waterh-tracker at fixed moments, and its responses to changes."""
    changes, texts = "", collections.defaultdict(str)
    for number, (moment, lines) in enumerate(DAY.items()):
        bench.set_clock(moment)
        for line in lines:
            changes += bench.block(f"waterh-tracker {line}", "store.sqlite", 6 if line.startswith("export") else None)
        jobs = READS + [line + " --json" for line in READS if line not in TEXT_ONLY]
        jobs = [line for line in jobs if number == 1 or line not in LONG]
        jobs = [line for line in jobs if number == 3 or line.removesuffix(" --json") not in AT_THE_END]
        for line, text in zip(jobs, together(lambda line: bench.block(f"waterh-tracker {line}", "store.sqlite"), jobs)):
            texts[line.split()[0] + "-json" * line.endswith("--json")] += f"--- at {moment} UTC\n{text}"
    bench.made |= {f"tracker/{name}.txt": text for name, text in texts.items()}
    bench.made["tracker/changes.txt"] = changes


def wrong_uses(bench):
    """The exit code of each invalid command line."""
    lines = [line for line in (HERE / "wrong-uses.txt").read_text().splitlines() if line and not line.startswith("#")]
    codes = together(lambda line: bench.run(line, "store.sqlite")[0], lines)
    bench.made["exit-codes.txt"] = "".join(f"{code} {line}\n" for code, line in zip(codes, lines))


GETS = """state history history?day=today history?month=2026-11 streak session sessions presets settings
settings/catalogue settings/hydration.goalMl tokens polls polls/kept bottles journal why access
nothing-here history?day=x""".split()
CHANGES = """POST drinks {"ml": 250}
POST drinks {"ml": 0}
PATCH drinks/d41 {"ml": 300}
POST undo
DELETE drinks/d41
POST session
POST session/drink {}
POST session/water {}
GET session
POST session/end {}
POST session/done
POST presets {"name": "Ale"}
PATCH settings {"hydration.goalMl": 2000}
PATCH settings {"hydration.goalMl": 1}
POST tokens {"label": "golden", "scope": "read"}
POST access-codes {}
POST poll
POST setup {}
POST reset-today
GET backup
GET export?format=json""".splitlines()


def page(bench):
    """The API: its served description, and the key paths and statuses of its responses."""
    bench.set_clock("2026-11-21T10:00")
    line = f"waterh-gateway run --link {bench.bottle('page')} --store page.sqlite --listen 127.0.0.1:0 --verbose"
    service = bench.start(line, "page-service.log")
    address = bench.wait_for_log("page-service.log", r"http://127\.0\.0\.1:\d+", service)[0]
    statuses = ""
    token = bench.run("waterh-tracker token new --scope admin", "page.sqlite")[1].splitlines()[0]

    def ask(method, route, body=""):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        return request(method, f"{address}/api/v1/{route}", body.encode() or None, headers)

    wait_for(lambda: (json.loads(ask("GET", "state")[1]).get("bottle") or {}).get("lastCompletePoll"), "the first poll")
    description = json.loads(ask("GET", "openapi.json")[1])
    bench.made["openapi.json"] = pretty(description) + "\n"
    for line in [f"GET {route}" for route in GETS] + CHANGES:
        method, route, body = (line + "  ").split(" ", 2)
        status, answer = ask(method, route, body.strip())
        statuses += f"{status} {line}\n"
        name = f"{method} /{route.partition('?')[0].replace('d41', '{drink}')}{' (error)' * (status >= 400)}"
        for value in bench.values(answer.decode(errors="replace").replace("\n", " ")):
            bench.note_keys(name, value)
    bench.made["http-statuses.txt"] = statuses
    bench.stop(service)


class Subscriber:
    """A subscriber that records all messages of a broker."""

    def __init__(self, bench, port):
        self.log = bench.folder / "subscriber.log"
        bench.start(f"mosquitto_sub -h 127.0.0.1 -p {port} -q 1 -t # -F '%t %p'", self.log.name, bench.plain)

    @property
    def messages(self):
        lines = self.log.read_text(errors="replace").split("\n")[:-1]  # The last one is incomplete.
        # Without the commands of this program.
        return [tuple(line.partition(" ")[::2]) for line in lines if "/cmd/" not in line.partition(" ")[0]]

    def latest(self, topic):
        found = [payload for name, payload in self.messages if name == topic]
        return json.loads(found[-1]) if found and found[-1].startswith("{") else (found[-1] if found else None)

    def count(self, topic):
        return sum(name == topic for name, _ in self.messages)

    def is_silent(self):
        """Whether no message arrives within a second, except those about the service's health."""
        before = len(self.messages) - self.count("hydration/bridge/health")
        time.sleep(1)
        return before == len(self.messages) - self.count("hydration/bridge/health")


# The time of a poll depends on the machine, so only the presence of these values is recorded.
UNSTEADY = {"service", "link", "connection", "notifications"} | {
    "connections", "published", "received", "uptime", "waiting"}
EVENTS = ("sip", "notify", "response/")


def published(before, messages, name):
    """The published messages: each event, and the changes of retained topics."""
    lines, latest = [], {}
    for topic, payload in messages:
        latest[topic] = payload
    for topic in sorted(latest):
        short = topic.partition("/")[2]
        payloads = [payload for found, payload in messages if found == topic]
        values = [without_states(json.loads(payload)) if payload.startswith("{") else payload for payload in payloads]
        if short.startswith(EVENTS):
            shown = values if len(values) < 6 else values[:2] + [f"… {len(values)} in all"] + values[-2:]
            lines += [f"{topic} {pretty(value) if isinstance(value, dict) else value}" for value in shown]
        elif not topic.endswith("/config"):
            value, old = values[-1], before.get(topic)
            if isinstance(value, dict):
                value = {key: "<ANY>" if key in UNSTEADY else item for key, item in value.items()}
                before[topic] = value
                if isinstance(old, dict):
                    value = {key: item for key, item in value.items() if key not in old or old[key] != item}
                    value |= {key: "<GONE>" for key in old if key not in before[topic]}
                if old is not None and not value:
                    continue
                lines.append(f"{topic}{' changes' if isinstance(old, dict) else ''} {pretty(value)}")
            elif value != old:
                before[topic] = value
                lines.append(f"{topic} {value}")
    return f"--- {name}\n" + "".join(line + "\n" for line in lines)


def mqtt(bench):
    """A day at a broker: every topic, the messages, and the discovery."""
    bench.set_clock("2026-11-21T08:00")
    port = free_port()
    command = mosquitto(bench.folder, port, "log_dest stderr\nlog_type all\n")
    broker = bench.start(" ".join(map(str, command)), "broker.log", bench.plain)
    bench.wait_for_log("broker.log", "running", broker)
    subscriber = Subscriber(bench, port)
    bench.wait_for_log("broker.log", r"Sending SUBACK", broker)
    (bench.folder / "day.toml").write_text(
        f'link = "{bench.bottle("day")}"\nstore = "day.sqlite"\nzone = "UTC"\nshare-waterline = true\n'
        f'[mqtt]\nurl = "mqtt://127.0.0.1:{port}"\n')
    for line in ["setup --yes --notifications skip", "settings set mqtt.commands true",
                 "settings set bottle.hold never"]:
        bench.run(f"waterh-tracker {line} --config day.toml")
    service = bench.start("waterh-gateway run --config day.toml --listen off", "day-service.log")
    client = ["-h", "127.0.0.1", "-p", str(port)]

    def state():
        return subscriber.latest("hydration/state") or {}

    def waterline():
        return subscriber.latest("hydration/waterline") or {}

    def command(name, payload):
        subprocess.run(["mosquitto_pub", *client, "-q", "1", "-t", f"hydration/cmd/{name}", "-m", payload],
                       env=bench.plain, check=True, timeout=LIMIT)

    def cli(line):
        bench.run(f"waterh-tracker {line} --config day.toml")

    def jump(text):
        bench.set_clock(text)
        service.send_signal(signal.SIGHUP)  # Wakes the service, which sleeps by the monotonic clock.

    def notices(count):
        return subscriber.count("hydration/notify") == count

    def answers(name, count=1):
        return subscriber.count(f"hydration/response/{name}") == count

    def sips(count):
        return subscriber.count("hydration/sip") == count

    def total(count):
        return state().get("dailyTotalMl") == count

    def is_known(key, value):
        return waterline().get(key) == value and (state().get("waterline") or {}).get(key) == value

    def is_begun():
        return (sips(40) and notices(1) and state().get("unread") == 1 and subscriber.latest("hydration/bottle/a4c13831d1d2")
                and (state().get("bottle") or {}).get("lastCompletePoll")
                and (subscriber.latest("hydration/bridge/info") or {}).get("bottles")
                and sum(name.endswith("/config") for name, _ in subscriber.messages) >= 2)

    # Each action, and the condition that shows its completion.
    steps = {
        "the service starts and polls": (lambda: None, is_begun),
        "waterh-tracker log 250": (lambda: cli("log 250"), lambda: total(250) and sips(41)),
        "it is 11:00": (lambda: jump("2026-11-21T11:00"), lambda: notices(2) and state().get("unread") == 2),
        "cmd/log 100": (lambda: command("log", "100"), lambda: answers("log") and total(350) and sips(42)),
        "cmd/undo": (lambda: command("undo", "{}"), lambda: answers("undo") and total(250) and sips(43)),
        "cmd/goal 2000": (lambda: command("goal", "2000"),
                          lambda: answers("goal") and state().get("dailyGoalMl") == 2000),
        "cmd/log nonsense": (lambda: command("log", "nonsense"), lambda: answers("log", 2)),
        "it is 20:00": (lambda: jump("2026-11-21T20:00"), lambda: notices(3) and state().get("unread") == 3),
        "cmd/start": (lambda: command("start", "{}"),
                      lambda: answers("start") and notices(4) and is_known("drinks", 0)),
        "cmd/drink": (lambda: command("drink", "{}"),
                      lambda: answers("drink") and notices(5) and state().get("unread") == 4 and is_known("drinks", 1)),
        "cmd/water": (lambda: command("water", "{}"),
                      lambda: answers("water") and is_known("waters", 1)),
        "cmd/end": (lambda: command("end", "{}"),
                    lambda: answers("end") and not state().get("waterline") and not waterline().get("isActive")),
        "the service stops": (lambda: bench.stop(service), lambda: subscriber.latest("hydration/availability") == "offline"),
    }
    before, begin, text, ids, retained = {}, 0, "", [], ""
    for name, (act, is_done) in steps.items():
        if name == "the service stops":
            late = ["mosquitto_sub", *client, "-t", "#", "-F", "%t", "--retained-only", "-W", "1"]
            retained = subprocess.run(late, env=bench.plain, capture_output=True, text=True, timeout=LIMIT).stdout
        act()
        wait_for(is_done, f"MQTT: {name}")
        wait_for(subscriber.is_silent, f"silence after {name}")
        messages = subscriber.messages[begin:]
        begin += len(messages)
        ids = ids or [subscriber.latest("hydration/bridge/info")["id"]]
        text += published(before, [(topic, normal(payload, bench.folder, ids)) for topic, payload in messages], name)
    topics = {normal(topic, ids=ids): topic in retained.split() for topic, _ in subscriber.messages}
    topics |= {f"hydration/cmd/{name}": False for name in subscriber.latest("hydration/bridge/info")["commands"]}
    lines = [f"{topic}{' retained' * is_kept}\n" for topic, is_kept in sorted(topics.items())]
    bench.made["mqtt-topics.txt"] = "".join(lines)
    bench.made["mqtt/day.txt"] = text
    configs = {topic: payload for topic, payload in subscriber.messages if topic.endswith("/config") and payload}
    lines = [f"{topic}\n{pretty(json.loads(configs[topic]))}\n" for topic in sorted(configs)]
    bench.made["mqtt/discovery.txt"] = normal("".join(lines), ids=ids)
    for topic, payload in subscriber.messages:
        if payload.startswith("{"):
            bench.note_keys("MQTT " + normal(topic, ids=ids), json.loads(payload))


def page_texts(bench):
    """The English texts of the pages: the strings of texts-en.js, and the texts of the HTML files."""
    pattern = r"""//[^\n]*|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`"""
    for path in sorted((ROOT / "Sources").rglob("texts-en.js")):
        found = [text for text in re.findall(pattern, path.read_text()) if not text.startswith("//") and len(text) > 2]
        bench.made["page/texts-en.txt"] = "".join(text[1:-1] + "\n" for text in dict.fromkeys(found))
    for path in sorted((ROOT / "Sources").rglob("*.html")):
        text = re.sub(r"(?s)<(script|style)\b.*?</\1>", "", path.read_text())
        found = re.findall(r'(?:alt|title|placeholder|aria-label)="([^"]+)"|>([^<>]*[^<>\s][^<>]*)<', text)
        words = [html.unescape(" ".join("".join(one).split())) for one in found]
        bench.made[f"page/{path.stem}-html.txt"] = "".join(text + "\n" for text in words)


def make(bench):
    bottle(bench)
    for part in (helps, captures, tracker, wrong_uses, page_texts, page, mqtt):
        part(bench)
    lines = {f"{name}: {path}\n" for name, paths in bench.keys.items() for path in paths}
    bench.made["json-keys.txt"] = "".join(sorted(lines))
