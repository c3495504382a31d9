"""Reads a stream of `waterh-tracker export` and says what is in it: csv and json by Python's own readers, line protocol by its description
(docs.influxdata.com: measurement[,tags] fields timestamp; strings in double quotes, where \\ and \" are escaped; integers end with i)."""
import csv
import json
import re
import sys


def influx(line):
    head, rest = line.split(" ", 1)
    assert head == "drink", head
    fields, place = {}, 0
    while True:
        name, place = (m := re.compile(r"([a-z]+)=").match(rest, place)).group(1), m.end()
        if rest[place] == '"':
            text, place = "", place + 1
            while rest[place] != '"':
                if rest[place] == "\\" and rest[place + 1] in '"\\':
                    place += 1
                text, place = text + rest[place], place + 1
            fields[name], place = text, place + 1
        else:
            number = re.compile(r"(-?\d+)i").match(rest, place)
            fields[name], place = int(number.group(1)), number.end()
        if rest[place] == " ":
            break
        assert rest[place] == ",", rest[place:]
        place += 1
    stamp = rest[place + 1:]
    assert re.fullmatch(r"\d{19}", stamp), stamp
    return fields | {"stamp": int(stamp)}


def drinks(form, text):
    lines = text.split("\n")
    assert lines.pop() == "", "the last line has no end"
    if form == "csv":
        # Line by line: a line is one line.
        names, *rows = [next(csv.reader([line])) for line in lines]
        return [{"uuid": row["uuid"], "ml": int(row["value_ml"]), "change": row["change"]} for row in (dict(zip(names, r, strict=True)) for r in rows)]
    if form == "jsonl":
        return [{"uuid": row["uuid"], "ml": row["value_ml"], "change": row["change"]} for row in map(json.loads, lines)]
    found = [influx(line) for line in lines]
    assert len({row["stamp"] for row in found}) == len(found), "two drinks are one point"
    return found


print(json.dumps(drinks(sys.argv[1], open(sys.argv[2], newline="").read())))
