"""Prints the drinks of a `waterh-tracker export` stream as JSON: csv and json by Python's parsers, line protocol by its specification
(docs.influxdata.com: measurement[,tags] fields timestamp; strings in double quotes, where \\ and \" are escaped; integers end with i)."""
import csv
import json
import re
import sys


def parse_line_protocol(line):
    head, rest = line.split(" ", 1)
    assert head == "drink", head
    fields, position = {}, 0
    while True:
        name, position = (m := re.compile(r"([a-z]+)=").match(rest, position)).group(1), m.end()
        if rest[position] == '"':
            text, position = "", position + 1
            while rest[position] != '"':
                if rest[position] == "\\" and rest[position + 1] in '"\\':
                    position += 1
                text, position = text + rest[position], position + 1
            fields[name], position = text, position + 1
        else:
            number = re.compile(r"(-?\d+)i").match(rest, position)
            fields[name], position = int(number.group(1)), number.end()
        if rest[position] == " ":
            break
        assert rest[position] == ",", rest[position:]
        position += 1
    timestamp = rest[position + 1:]
    assert re.fullmatch(r"\d{19}", timestamp), timestamp
    return fields | {"timestamp": int(timestamp)}


def drinks(form, text):
    lines = text.split("\n")
    assert lines.pop() == "", "the last line has no newline"
    if form == "csv":
        # Each row is on one line.
        names, *rows = [next(csv.reader([line])) for line in lines]
        return [{"uuid": row["uuid"], "ml": int(row["value_ml"]), "change": row["change"]} for row in (dict(zip(names, r, strict=True)) for r in rows)]
    if form == "jsonl":
        return [{"uuid": row["uuid"], "ml": row["value_ml"], "change": row["change"]} for row in map(json.loads, lines)]
    found = [parse_line_protocol(line) for line in lines]
    assert len({row["timestamp"] for row in found}) == len(found), "two drinks have the same timestamp"
    return found


print(json.dumps(drinks(sys.argv[1], open(sys.argv[2], newline="").read())))
