"""What a run found, for the machines that show such things: JUnit's XML and the Test Anything Protocol, version 13, as `waterh-replay verify` writes them."""
from xml.sax.saxutils import escape, quoteattr

SUITE = "hardware/bench chaos"


def shown(text):
    """What XML cannot hold stands as U+FFFD."""
    return "".join(c if c in "\t\n" or 0x20 <= ord(c) <= 0xD7FF or 0xE000 <= ord(c) <= 0xFFFD or ord(c) >= 0x10000 else "\ufffd" for c in text)


def junit(checks, seconds):
    """`checks`: what was looked at -> what was wrong there, a sentence each; `seconds`: of all of it."""
    failed = sum(1 for found in checks.values() if found)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f'<testsuite name={quoteattr(SUITE)} tests="{len(checks)}" failures="{failed}" time="{seconds:.3f}">']
    for name, found in checks.items():
        case = f"  <testcase classname={quoteattr(SUITE)} name={quoteattr(name)}"
        if not found:
            lines.append(case + "/>")
            continue
        lines += [case + ">", f"    <failure message={quoteattr(shown(found[0]))}>{escape(shown(chr(10).join(found)))}</failure>", "  </testcase>"]
    return "\n".join(lines + ["</testsuite>"]) + "\n"


def tap(checks):
    """A plan, then a line for each check, with what was wrong as comments below it."""
    def line(text):
        return " ".join(text.split()).replace("#", "\\#")

    lines = ["TAP version 13", f"1..{len(checks)}"]
    for number, (name, found) in enumerate(checks.items(), 1):
        lines.append(f"{'not ok' if found else 'ok'} {number} - {line(name)}")
        lines += [f"# {line(sentence)}" for sentence in found]
    return "\n".join(lines) + "\n"
