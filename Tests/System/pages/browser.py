"""Base classes of the page tests: one browser and one service for all tests, and waits with a time limit."""
import base64
import datetime
import importlib.resources
import pathlib
import re
import unittest

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException, WebDriverException
from selenium.webdriver.common.by import By

from programs import wait_for

LIMIT = 20  # Seconds until something appears.
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
options = None  # Of the command line.
service = None  # The programs with the service whose pages are tested.
_driver = None


def views(*widths):
    """All widths, light and dark; with --brief the narrowest dark and the widest light."""
    if options.brief:
        return [(widths[0], True), (widths[-1], False)]
    return [(width, dark) for width in widths for dark in (False, True)]


def driver():
    global _driver
    if _driver is None:
        chrome = webdriver.ChromeOptions()
        chrome.binary_location = "/usr/bin/chromium"
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--lang=en-US"):
            chrome.add_argument(word)
        chrome.add_experimental_option("prefs", {"intl.accept_languages": "en-US"})
        chrome.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        _driver = webdriver.Chrome(options=chrome, service=webdriver.ChromeService("/usr/bin/chromedriver"))
        _driver.set_script_timeout(180)
    return _driver


def close():
    if _driver is not None:
        _driver.quit()


def tracker(*words):
    """A subcommand of waterh-tracker on the service's store; its JSON."""
    return service.tracker(*words)


def api(method, path, body=None):
    """A request to the service's API that succeeds; its JSON."""
    status, answer = service.ask(method, f"/api/v1/{path}", body)
    assert 200 <= status < 300, f"{method} {path} {body}: {status} {answer}"
    return answer


def state():
    return api("GET", "state")


def session():
    return state()["waterline"]


def log(*amounts):
    for amount in amounts:
        api("POST", "drinks", {"ml": amount})


def settings(**values):
    """Changes settings; `hydration__cupMl` is `hydration.cupMl`."""
    api("PATCH", "settings", {name.replace("__", "."): value for name, value in values.items()})


def purge():
    """Empties the store, which revokes all tokens, and gives the browser and `api` new ones."""
    tracker("purge", "--yes")
    token = service.token()
    service.headers = {"Authorization": f"Bearer {token}"}
    driver().add_cookie({"name": "waterh", "value": token, "path": "/", "httpOnly": True, "sameSite": "Strict"})


def set_hour(hour):
    """Sets a zone in which it is that hour now."""
    offset = (hour - datetime.datetime.now(datetime.timezone.utc).hour + 12) % 24 - 12
    settings(day__zone="Etc/UTC" if offset == 0 else f"Etc/GMT{-offset:+d}")


class BrowserCase(unittest.TestCase):
    """A test in the browser, with any server."""

    maxDiff = None

    def setUp(self):
        self.driver = driver()
        self.emulate(1280, 900)
        self.driver.get_log("browser")

    def tearDown(self):
        # A rejected request is in the console, too; only errors of the page fail the test.
        for entry in self.driver.get_log("browser"):
            if "Content Security Policy" in entry["message"] or "Uncaught" in entry["message"]:
                self.fail(entry["message"])

    def emulate(self, width, height=900, dark=False, still=False):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}]})

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.script("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def texts(self, selector):
        return self.script("return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)", selector)

    def script(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def module(self, path, code, *arguments):
        """Calls `code`, a function of a module of the page and the arguments; its result."""
        return self.driver.execute_async_script(
            f"const [...words] = arguments, done = words.pop(); import('{path}').then((it) => ({code})(it, ...words)).then(done, (error) => done(String(error)))", *arguments)

    def until(self, condition, why):
        def holds():
            try:
                return condition()
            except (NoSuchElementException, StaleElementReferenceException):
                return None
        return wait_for(holds, why, LIMIT)

    def wait_for_value(self, value, expected):
        """Waits until the function returns this value."""
        self.until(lambda: value() == expected, lambda: f"{value()!r}, not {expected!r}")

    def wait_for_match(self, selector, pattern):
        """Waits until the element's text matches the regular expression."""
        self.until(lambda: re.search(pattern, self.text(selector) or ""), lambda: f"{selector} has the text {self.text(selector)!r}, not {pattern}")

    def wait(self, selector):
        return self.until(lambda: next((each for each in self.all(selector) if each.is_displayed()), None), f"{selector} does not appear")

    def wait_until_hidden(self, selector):
        self.until(lambda: not any(each.is_displayed() for each in self.all(selector)), f"{selector} does not disappear")

    def wait_for_text(self, selector, expected):
        """Waits until the element has exactly this text."""
        self.wait_for_value(lambda: self.text(selector), expected)

    def wait_for_count(self, selector, expected):
        """Waits until there are this many elements."""
        self.wait_for_value(lambda: len(self.all(selector)), expected)

    def click(self, selector):
        """Clicks the middle of the element that is visible there."""
        self.until(lambda: self._click(self.wait(selector)), f"{selector} cannot be clicked")

    def _click(self, element):
        """False if something covers the element, or the page has replaced it."""
        try:
            self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
            element.click()
            return True
        except WebDriverException:
            return False

    def button(self, words, within="body"):
        """Clicks the button with these words."""
        def find():
            return next((each for each in self.all(f"{within} button") if each.is_displayed() and each.text.strip() == words), None)
        self.until(lambda: self._click(self.until(find, f"no button has the text {words}")), f"{words} cannot be clicked")

    def type(self, selector, words):
        """Replaces the content of a field, and leaves it."""
        self.script("""
            const [field, words] = arguments;
            field.focus();
            Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, words);
            field.dispatchEvent(new Event('input', {bubbles: true}));
            field.dispatchEvent(new Event('change', {bubbles: true}));""", self.wait(selector), words)

    def check_width(self, name):
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth - innerWidth"), 0, f"{name} is wider than its window")

    def check_accessibility(self, name):
        """Checks that axe finds nothing."""
        self.script(importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text())
        found = self.driver.execute_async_script(
            "const done = arguments[1]; axe.run(document, {runOnly: {type: 'tag', values: arguments[0]}}).then(done)", TAGS)
        self.assertEqual([(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found["violations"]], [], name)
        self.assertGreater(len(found["passes"]), 10)

    def screenshot(self, name):
        if options.shots:
            folder = pathlib.Path(options.shots)
            folder.mkdir(parents=True, exist_ok=True)
            picture = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})
            (folder / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))


class PageCase(BrowserCase):
    """A test of the service's pages with an empty store at 14:00."""

    reminders = False  # An opened page shows due reminders, which only some tests need.

    def setUp(self):
        super().setUp()
        self.driver.get(f"{service.url}/sign-in")
        self.script("localStorage.clear()")
        purge()
        api("POST", "setup", {"notifications": "skip"})
        if not self.reminders:
            settings(reminders__enabled=False, waterline__timeReminders=False)
        set_hour(14)

    def tearDown(self):
        self.online()
        super().tearDown()

    def before_each_page(self, code):
        """Runs the code in every page before the page's own code, until the end of the test."""
        added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": code})
        self.addCleanup(self.driver.execute_cdp_cmd, "Page.removeScriptToEvaluateOnNewDocument", added)

    def replace_response(self, path, value):
        """Replaces the API's response for this path by this JSON in every page."""
        self.before_each_page("""
            const real = window.fetch;
            window.fetch = async (path, options) => {
              const answer = await real(path, options);
              if (!String(path).endsWith('%s')) return answer;
              await answer.text(); // The browser lists a request only when its body was read.
              return new Response(JSON.stringify(%s), { status: 200, headers: { 'Content-Type': 'application/json' } });
            };""" % (path, value))

    def replace_state(self, changes, then="undefined"):
        """The page gets another state, and evaluates an expression at once: the service's next state has other values."""
        return self.module("/live.js", f"({{ acceptState, live }}, changes) => {{ const merge = (old, add) => Object.fromEntries([...Object.entries(old ?? {{}}), ...Object.entries(add).map(([key, value]) => [key, value?.constructor === Object ? merge(old?.[key], value) : value])]); acceptState(merge(live.state, changes)); return {then}; }}", changes)

    def offline(self):
        self.driver.set_network_conditions(offline=True, latency=0, throughput=0)

    def online(self):
        self.driver.delete_network_conditions()

    def set_language(self, language):
        """The language of the pages that are opened from now on."""
        self.script("localStorage.setItem('waterh.language', JSON.stringify(arguments[0]))", language)

    def open(self, path, ready):
        """Opens a page, and waits until it shows `ready`."""
        self.driver.get(service.url + path)
        return self.wait(ready)

    def totals(self, expected):
        self.wait_for_value(lambda: state()["dailyTotalMl"], expected)

    def stored_writes(self, *lists):
        """The keys of the writes that wait in the browser's storage, or were rejected."""
        names = [f"waterh.{name}" for name in lists or ("queue",)]
        return self.script("return Object.keys(localStorage).filter((key) => arguments[0].some((name) => key.startsWith(name)))", names)
