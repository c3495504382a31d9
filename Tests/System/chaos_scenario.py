"""What happened in a run, as the file of a scenario (hardware/scenarios/README.md): as far as its steps can say it, with the rest told in comments."""
import collections
import datetime

# Words of the link's faults; the emulator takes them among the bottle's.
LINK = ("disconnect", "lose", "repeat", "swap", "delay", "late", "silent", "deaf", "mtu")
# No clock is set further (ScenarioTime.limit), less what a jump back from it takes.
FURTHEST = 1999 * 86_400
# A scenario takes 20,000, and a file 1 MiB.
MOST_STEPS = 10_000
# What may be left out at the beginning of a long run: the rest says how things are from then on.
PASSING = ("sip", "poll", "look", "kill", "drop")


def quoted(text):
    """A text of TOML."""
    plain = "".join(c if c >= " " and c != "\x7f" and not "\ud800" <= c <= "\udfff" else " " for c in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def comment(text):
    """A comment of TOML: one line, without control characters."""
    return "# " + " ".join("".join(c if c.isprintable() else " " for c in text).split())[:400]


def parted(faults):
    """The bottle's words, and the link's."""
    words = [word for word in faults.split(",") if word]
    of_link = [word for word in words if word.partition("@")[0].partition("=")[0] in LINK]
    return ",".join(word for word in words if word not in of_link), ",".join(of_link)


class ScenarioNotes:
    """Takes down what happens while it happens."""

    def __init__(self):
        self.events, self.unsaid, self.failures = [], collections.Counter(), []
        self.is_over = False

    def note(self, at, kind, value=None):
        """`at`: seconds since the start. Kinds: sip (ml), bottle (its faults), bottle-gone, poll, look, kill, drop, power-loss, clock (seconds off), zone (name), disk (full, free)."""
        if not self.is_over:
            self.events.append((round(at, 3), kind, value))

    def leave_out(self, what):
        """Something that no step can say; counted."""
        if not self.is_over:
            self.unsaid[what] += 1

    def fail(self, at, sentence):
        self.failures.append((at, sentence))

    def text(self, title, profile, model, start=None, has_time_server=False, seed=None):
        """The file. `start`: when the run began, in seconds since 1970."""
        steps, first = self.steps()
        lines = [comment(title + (", which failed:" if self.failures else "."))]
        lines += [comment(f"- {at:.1f} s: {sentence}") for at, sentence in self.failures[:20]]
        if self.unsaid:
            lines.append(comment("What no step can say is left out:"))
            lines += [comment(f"- {times} times: {what}") for what, times in sorted(self.unsaid.items())]
        lines += [f"title = {quoted(title[:150])}", 'story = "What happened in a run of real processes, as far as the steps of a scenario can say it; the comments say what is left out."']
        if seed is not None:
            lines.append(f'seed = "{seed}"')
        lines += ["", "steps = ["] + [f'  {{ at = "{at:.3f}s", {words} }},' for at, words in steps] + ["]", "", "[bottle]", f"profile = {quoted(profile)}", f"model = {quoted(model)}"]
        if first:
            lines.append(f"habits = {quoted(first)}")
        lines += ["", "[host]", 'zone = "Europe/Berlin"']
        # Earlier than the program itself no clock is believed.
        if start is not None and 1_767_225_600 <= start < 4_102_444_800:
            lines.append(f'start = "{datetime.datetime.fromtimestamp(int(start), datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"')
        if has_time_server:
            lines.append("time-server = true")
        return "\n".join(lines) + "\n"

    def steps(self):
        """Each with its time, in order, and the habits that the bottle begins with."""
        events = sorted(self.events, key=lambda event: event[0])
        passing = [event for event in events if event[1] in PASSING]
        left_out = max(0, len(events) - MOST_STEPS)
        if left_out:
            gone = set(map(id, passing[:left_out]))
            events = [event for event in events if id(event) not in gone][-MOST_STEPS:]
            self.unsaid[f"the first {left_out} sips and polls: a scenario takes only so many steps"] = 1
        last = events[-1][0] if events else 0
        steps, first, link, shift = [], None, "", 0
        for number, (at, kind, value) in enumerate(events):
            if kind == "bottle":
                habits, link = parted(value)
                if first is None:
                    first = habits
                else:
                    steps.append((at, f"habits = {quoted(habits)}"))
            elif kind == "bottle-gone":
                back = next((later for later, what, _ in events[number:] if what == "bottle"), last)
                if back > at:
                    steps.append((at, f'away = "{back - at:.3f}s"'))
            elif kind == "poll":
                steps.append((at, f"poll = {quoted(link)}"))
            elif kind == "look":
                steps.append((at, 'poll = "", by = "the phone", keep = true'))
            elif kind == "clock":
                wanted = max(-FURTHEST, min(FURTHEST, value))
                if wanted != value:
                    self.unsaid[f"a clock that is {value // 86_400} days off: it is {wanted // 86_400} here"] += 1
                if wanted != shift:
                    steps.append((at, f'host-clock = "{wanted - shift}s"'))
                shift = wanted
            elif kind in ("sip", "zone", "disk"):
                steps.append((at, f"{kind} = {value if kind == 'sip' else quoted(value)}"))
            elif kind in ("kill", "drop", "power-loss"):
                steps.append((at, f"{kind} = true"))
            else:
                raise ValueError(kind)
        return steps, first or ""
