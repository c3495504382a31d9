"""Makes the manual pages from the commands' help (--experimental-dump-help) and the examples in examples.json.

usage: manual.py PRODUCTS FOLDER [SECONDS]      PRODUCTS: the folder of the commands; SECONDS since 1970: the date of the pages

There is one page per command, with all subcommands, and waterh.toml(5). An example with an unknown subcommand or option is an error.
"""

import datetime
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
COMMANDS = ["waterh-emulator", "waterh-gateway", "waterh-replay", "waterh-tracker"]

EXIT = [
    ("0", "It is done."),
    ("1", "It failed. The message says what, why, and what to try."),
    ("2", "Wrong use: options, arguments, values."),
    ("3", "Refused by a rule."),
    ("4", "The file or the bytes are bad."),
    ("5", "There is no bottle, adapter or link."),
    ("130", "Interrupted, after a clean disconnect."),
]
FILES = [
    ("~/.config/waterh/waterh.toml, /etc/waterh/waterh.toml", "The configuration: the first that exists. See waterh.toml(5)."),
    ("~/.local/state/waterh/waterh.sqlite", "A user's own store."),
    ("/var/lib/waterh/waterh.sqlite", "The store of the system service."),
]


class InvalidManual(Exception):
    """An invalid example, or an incomplete build."""


def escaped(text):
    """The text with roff's special characters escaped."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def help_tree(products, command):
    """The help of a command as a tree."""
    text = subprocess.run([os.path.join(products, command), "--experimental-dump-help"], check=True, capture_output=True, timeout=60).stdout
    return json.loads(text)["command"]


def visible(entries):
    return [entry for entry in entries if entry.get("shouldDisplay", True)]


def subcommands(command):
    return [subcommand for subcommand in visible(command.get("subcommands", [])) if subcommand["commandName"] != "help"]


def option_words(argument):
    return [("--" if name["kind"] == "long" else "-") + name["name"] for name in argument.get("names", [])]


def synopsis(path, command):
    """The synopsis; optional arguments are in brackets."""
    words = [f"\\fB{escaped(' '.join(path))}\\fR"]
    if subcommands(command) and not [a for a in visible(command.get("arguments", [])) if a["kind"] == "positional"]:
        words.append("\\fISUBCOMMAND\\fR")
    for argument in visible(command.get("arguments", [])):
        if argument["kind"] == "positional":
            text = f"\\fI{escaped(argument.get('valueName', 'value'))}\\fR" + (" ..." if argument.get("isRepeating") else "")
        elif {"--help", "--version"} & set(option_words(argument)):
            continue
        else:
            text = f"\\fB{escaped(option_words(argument)[-1])}\\fR"
            if argument["kind"] == "option":
                text += f" \\fI{escaped(argument.get('valueName', 'value'))}\\fR"
        words.append(f"[{text}]" if argument.get("isOptional") else text)
    return " ".join(words)


def argument_lines(command):
    for argument in visible(command.get("arguments", [])):
        if argument["kind"] == "positional":
            head = f"\\fI{escaped(argument.get('valueName', 'value'))}\\fR"
        else:
            head = ", ".join(f"\\fB{escaped(word)}\\fR" for word in option_words(argument))
            if argument["kind"] == "option":
                head += f" \\fI{escaped(argument.get('valueName', 'value'))}\\fR"
        yield ".TP"
        yield head
        text = [argument.get("abstract", ""), argument.get("discussion", "")]
        if argument.get("defaultValue"):
            text.append(f"Default: {argument['defaultValue']}.")
        if argument.get("allValues") and argument["kind"] != "flag":
            text.append(f"One of: {', '.join(argument['allValues'])}.")
        yield escaped(" ".join(" ".join(text).split()) or "See above.")


def blocks(text):
    """The lines of a text; a word and its text in two columns, or after a colon, become a term."""
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        yield ".PP"
        is_text = False
        for line in paragraph.split("\n"):
            term = re.fullmatch(r"\s*(\S+(?: \S+)*?)\s{2,}(\S.*)", line) or re.fullmatch(r"\s{2,}([^:]+): (\S.*)", line)
            if term:
                yield from (".TP", f"\\fB{escaped(term[1])}\\fR", escaped(" ".join(term[2].split())))
            elif line.startswith("  "):
                yield from (".nf", escaped(line), ".fi")
            else:
                yield from ([".br"] if is_text else []) + [escaped(line)]
            is_text = not term and not line.startswith("  ")


def body(path, command):
    """The section of a subcommand, and those of its subcommands."""
    yield f'.SS "{escaped(" ".join(path[1:]))}"'
    yield escaped(command.get("abstract", ""))
    yield from (".PP", synopsis(path, command))
    if command.get("discussion"):
        yield from blocks(command["discussion"])
    yield from argument_lines(command)
    for subcommand in subcommands(command):
        yield from body(path + [subcommand["commandName"]], subcommand)


def check(example, tree):
    """Checks that an example has known subcommands and options."""
    for part in re.split(r"\s[|&;]+\s|\s&$", example):
        words = shlex.split(part)
        if not words or words[0] not in COMMANDS or words[0] != tree["commandName"]:
            continue
        command, known_options = tree, set()
        for word in words[1:]:
            known_options |= {name for argument in command.get("arguments", []) for name in option_words(argument)}
            known_subcommands = {subcommand["commandName"]: subcommand for subcommand in command.get("subcommands", [])}
            if word.startswith("-") and len(word) > 1:
                if word.split("=")[0] not in known_options:
                    raise InvalidManual(f"'{example}': {command['commandName']} has no option {word}")
            elif word in known_subcommands:
                command = known_subcommands[word]
            elif command is tree:
                raise InvalidManual(f"'{example}': {tree['commandName']} has no subcommand {word}")


def head(name, section, date, title):
    day = datetime.datetime.fromtimestamp(date, datetime.timezone.utc).strftime("%Y-%m-%d")
    return [f'.TH "{name.upper()}" "{section}" "{day}" "waterh" "{title}"']


def page(command, examples, date):
    """The whole page of a command."""
    name = command["commandName"]
    if not examples:
        raise InvalidManual(f"{name} has no examples")
    lines = head(name, "1", date, "WaterH commands")
    lines += [".SH NAME", f"{escaped(name)} \\- {escaped(command['abstract'].rstrip('.'))}", ".SH SYNOPSIS", synopsis([name], command)]
    lines += [".SH DESCRIPTION", escaped(command["abstract"])]
    if command.get("discussion"):
        lines += blocks(command["discussion"])
    lines += argument_lines(command)
    lines += [".SH SUBCOMMANDS"]
    for subcommand in subcommands(command):
        lines += body([name, subcommand["commandName"]], subcommand)
    lines += [".SH EXAMPLES"]
    for sentence, example in examples:
        check(example, command)
        lines += [".PP", escaped(sentence), ".PP", ".RS 4", ".nf", escaped(example), ".fi", ".RE"]
    for title, table in (("EXIT STATUS", EXIT), ("FILES", FILES)):
        lines += [f'.SH "{title}"']
        for term, text in table:
            lines += [".TP", f"\\fB{escaped(term)}\\fR", escaped(text)]
    others = [other for other in COMMANDS if other != name]
    lines += ['.SH "SEE ALSO"', ",\n".join(f".BR {escaped(other)} (1)" for other in others).replace(",\n", " ,\n") + " ,\n.BR waterh.toml (5)"]
    return "\n".join(lines) + "\n"


def configuration_page(date):
    """waterh.toml(5): the file that is installed, whose comments say what each line does."""
    with open(os.path.join(HERE, "waterh.toml"), encoding="utf-8") as file:
        text = file.read()
    lines = head("waterh.toml", "5", date, "WaterH commands")
    lines += [".SH NAME", "waterh.toml \\- configuration of the WaterH commands and service", ".SH DESCRIPTION"]
    lines += [escaped("A file in TOML. Options take precedence over the environment (WATERH_...), and the environment over this file. Goal, hours and reminders are settings in the store: waterh-tracker settings.")]
    lines += [".PP", escaped("The installed file, with all keys:"), ".PP", ".nf"]
    for line in text.rstrip("\n").split("\n"):
        # Sentences are wrapped for a narrow page; a key stays on its line.
        lines += map(escaped, textwrap.wrap(line, 71, subsequent_indent="# ", break_on_hyphens=False) if line.startswith("# ") and len(line) > 71 else [line])
    lines.append(".fi")
    lines += [".SH EXAMPLES", escaped("Only this bottle, and a page for other machines:"), ".PP", ".RS 4", ".nf"]
    lines += [escaped('bottle = "A4:C1:38:01:02:03"\nlisten = "0.0.0.0:8077"'), ".fi", ".RE"]
    lines += ['.SH "SEE ALSO"', ".BR waterh\\-gateway (1) ,\n.BR waterh\\-tracker (1)"]
    return "\n".join(lines) + "\n"


def plain_page(name, title, help_text, date):
    """The page of a program with a plain help text: a usage, paragraphs, and options that are indented by two spaces."""
    synopsis, *paragraphs = re.split(r"\n\n+", help_text.strip())
    lines = head(name, "1", date, "WaterH commands") + [".SH NAME", f"{escaped(name)} \\- {escaped(title)}"]
    lines += [".SH SYNOPSIS", escaped(re.sub(r"\s+", " ", synopsis.removeprefix("usage:")).strip()), ".SH DESCRIPTION"]
    for paragraph in paragraphs:
        options = re.split(r"\n(?=  --)", "\n" + paragraph)[1:]
        if not options:
            lines += [".PP", escaped(" ".join(paragraph.split()))]
        for option in options:
            words, text = re.fullmatch(r"  (--\S+(?: \S+)*)(?:\n|  +)(.*)", option, re.S).groups()
            lines += [".TP", f"\\fB{escaped(words)}\\fR", escaped(" ".join(text.split()))]
    lines.append(".SH EXAMPLES")
    for sentence, example in (("Which adapters there are:", f"{name} -- bluetoothctl list"), ("A test of your own, with bluetoothd of Debian 13:", f"{name} --bluez 5.82 -- python3 your_test.py")):
        lines += [".PP", escaped(sentence), ".PP", ".RS 4", ".nf", escaped(example), ".fi", ".RE"]
    return "\n".join(lines) + "\n"


def write(products, folder, date):
    """Makes all pages; returns their paths."""
    with open(os.path.join(HERE, "examples.json"), encoding="utf-8") as file:
        examples = json.load(file)
    pages = {f"{name}.1": page(help_tree(products, name), examples.get(name, []), date) for name in COMMANDS}
    pages["waterh.toml.5"] = configuration_page(date)
    os.makedirs(folder, exist_ok=True)
    for name, text in pages.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)
    return [os.path.join(folder, name) for name in sorted(pages)]


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    try:
        write(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) == 4 else 0)
    except InvalidManual as wrong:
        sys.exit(f"manual.py: {wrong}")
