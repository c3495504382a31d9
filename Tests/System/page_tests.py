#!/usr/bin/env python3
"""Drives the service's pages in Debian's Chromium: `page_tests.py URL --store FILE`, with the store of the service behind the URL.

The store is emptied again and again: give it one of its own. States are forced by `waterh-tracker` on the same store, beside the
running service. Needs selenium and axe-core-python from PyPI, and Debian's chromium and chromium-driver.
Further words choose tests: `page_tests.py URL --store FILE Today.test_custom_amounts Looks`.
"""
import argparse
import sys
import unittest

from pages import browser
from pages.bottle import Bottle
from pages.history import History
from pages.looks import Looks
from pages.notices import Notices
from pages.settings import Settings
from pages.today import Today
from pages.watch import Watch
from pages.waterline import Waterline

SUITES = [Today, History, Waterline, Settings, Bottle, Watch, Notices, Looks]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--store", required=True)
    parser.add_argument("--programs", default=".build/debug", help="where waterh-tracker and waterh-gateway are")
    parser.add_argument("--shots", help="a folder for a screenshot of every page in every width, light and dark")
    parser.add_argument("only", nargs="*")
    options = parser.parse_intermixed_args()
    browser.configure(options)
    loader = unittest.TestLoader()
    suite = unittest.TestSuite()
    for case in SUITES:
        for name in loader.getTestCaseNames(case):
            full = f"{case.__name__}.{name}"
            if not options.only or any(full == word or case.__name__ == word or name == word for word in options.only):
                suite.addTest(case(name))
    if suite.countTestCases() == 0:
        sys.exit(f"page_tests: no test is called {' '.join(options.only)}")
    try:
        result = unittest.TextTestRunner(verbosity=2).run(suite)
        failed = [case for case, _ in result.failures + result.errors]
        # A browser on a busy machine is slow now and then: what fails once and then passes is named, what fails twice is wrong.
        if failed and len(failed) <= 5:
            again = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(type(case)(case._testMethodName) for case in failed))
            if again.wasSuccessful():
                print("page_tests: flaky: " + ", ".join(f"{type(case).__name__}.{case._testMethodName}" for case in failed), file=sys.stderr)
                failed = []
    finally:
        browser.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
