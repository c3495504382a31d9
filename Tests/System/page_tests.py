#!/usr/bin/env python3
"""The pages in Debian's Chromium: on a service with an emulated bottle, behind nginx, in Home Assistant, from a phone; and reports of captures.

usage: page_tests.py PRODUCTS [--brief] [--shots FOLDER] [TEST…]      TEST: Today, or Today.test_quick_and_custom_amounts_are_logged

Runs in a Python that has selenium, axe-core-python and zxing-cpp (hardware/python-suite). Needs chromium, chromium-driver and nginx.
"""
import argparse
import sys
import unittest

import suite
from pages import browser
from pages.bottle import Bottle
from pages.history import History
from pages.looks import Looks
from pages.notices import Notices
from pages.phone import Phone
from pages.proxies import BehindTLS, Ingress
from pages.report import Report
from pages.settings import Settings
from pages.today import Today
from pages.watch import Watch, Widgets
from pages.waterline import Waterline
from programs import Programs

CASES = [Today, History, Waterline, Settings, Bottle, Watch, Widgets, Notices, Looks, Report, Phone, BehindTLS, Ingress]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("products", help="the folder of the built programs")
    parser.add_argument("--shots", help="a folder for a screenshot of every page in every width, light and dark")
    parser.add_argument("--brief", action="store_true", help="two views of each page instead of six")
    parser.add_argument("only", nargs="*")
    options = browser.options = parser.parse_intermixed_args()
    names = [f"{case.__name__}.{name}" for case in CASES for name in unittest.TestLoader().getTestCaseNames(case)]
    chosen = [name for name in names if not options.only or {name, *name.split(".")} & set(options.only)]
    if not chosen:
        sys.exit(f"page_tests: no test has the name {' '.join(options.only)}")
    browser.service = Programs(options.products)
    browser.service.emulator("--quiet")
    browser.service.gateway()
    try:
        failed = run(chosen)
        # As in all suites: a failed test runs again; if it passes then it is flaky.
        if 0 < len(failed) <= suite.MAX_REPEATED_TESTS and not options.only:
            entry = suite.empty_entry("pages") | {"failed": {name: [] for name in failed}}
            suite.store_flaky("pages", suite.repeat_failed(entry, lambda name: name in names and not run([name])))
            failed = entry["failed"]
            for name in entry["flaky"]:
                print(f"flaky: {name}", flush=True)
        elif not failed and not options.only:
            suite.store_flaky("pages", set())
    finally:
        browser.close()
        browser.service.close()
    sys.exit(1 if failed else 0)


def run(names):
    """The names of the tests that failed."""
    cases = {case.__name__: case for case in CASES}
    tests = unittest.TestSuite(cases[name.split(".")[0]](name.split(".")[1]) for name in names)
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    found = [getattr(case, "test_case", case) for case, _ in result.failures + result.errors]
    return list(dict.fromkeys(f"{type(case).__name__}.{getattr(case, '_testMethodName', '')}" for case in found))


if __name__ == "__main__":
    main()
