#!/usr/bin/env python3
"""Drives the service's pages in Debian's Chromium: `page_tests.py URL --store FILE`, with the store of the service behind the URL.

The store is emptied again and again: give it one of its own. States are forced by `waterh-tracker` on the same store, beside the
running service. Needs selenium and axe-core-python from PyPI, and Debian's chromium and chromium-driver.
Further words choose tests: `page_tests.py URL --store FILE Today.test_custom_amounts Looks`.
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
from pages.settings import Settings
from pages.today import Today
from pages.watch import Watch
from pages.waterline import Waterline
from pages.widgets import Widgets

SUITES = [Today, History, Waterline, Settings, Bottle, Watch, Widgets, Notices, Looks]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--store", required=True)
    parser.add_argument("--programs", default=".build/debug", help="where waterh-tracker and waterh-gateway are")
    parser.add_argument("--shots", help="a folder for a screenshot of every page in every width, light and dark")
    parser.add_argument("--brief", action="store_true", help="two views of each page in the place of six")
    parser.add_argument("only", nargs="*")
    options = parser.parse_intermixed_args()
    browser.configure(options)
    loader = unittest.TestLoader()
    chosen = unittest.TestSuite()
    for case in SUITES:
        for name in loader.getTestCaseNames(case):
            full = f"{case.__name__}.{name}"
            if not options.only or any(full == word or case.__name__ == word or name == word for word in options.only):
                chosen.addTest(case(name))
    if chosen.countTestCases() == 0:
        sys.exit(f"page_tests: no test is called {' '.join(options.only)}")
    try:
        failed = run(chosen)
        # As everywhere in the suite: what is red runs once more, green then it is flaky, and flaky in two runs in a row is red.
        if 0 < len(failed) <= suite.MOST_AGAIN and not options.only:
            entry = suite.blank("pages") | {"failed": {name: [] for name in failed}}
            suite.remember("pages", suite.again(entry, lambda name: not run(unittest.TestSuite([type(failed[name])(failed[name]._testMethodName)]))))
            failed = entry["failed"]
            for name in entry["flaky"]:
                print(f"flaky: {name}", flush=True)
        elif not failed and not options.only:
            suite.remember("pages", set())
    finally:
        browser.close()
    sys.exit(1 if failed else 0)


def run(tests):
    """What failed, by its name."""
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    cases = [getattr(case, "test_case", case) for case, _ in result.failures + result.errors]
    return {f"{type(case).__name__}.{case._testMethodName}": case for case in cases}


if __name__ == "__main__":
    main()
