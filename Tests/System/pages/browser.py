"""One Chromium for all tests, the store beside the service, and how to wait for what is to come."""
import base64
import datetime
import json
import pathlib
import subprocess
import time
import unittest

from selenium import webdriver
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By

LIMIT = 15  # seconds that anything may take to appear
options = None
_driver = None


def configure(given):
    global options
    options = given
    options.url = options.url.rstrip("/")


def views(*widths):
    """Every width, light and dark; where it has to be brief the narrowest dark and the widest light."""
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


def tracker(*words, code=0):
    """A verb of waterh-tracker on the service's store; its JSON."""
    done = subprocess.run(
        [f"{options.programs}/waterh-tracker", *map(str, words), "--json", "--store", options.store],
        capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == code, f"{words}: {done.returncode} {done.stderr}"
    return json.loads(done.stdout) if done.stdout.strip() else None


def purge():
    """Empties the store. That revokes the browser's token, so it gets an administrator's cookie again."""
    tracker("purge", "--yes")
    token = tracker("token", "new", "--scope", "admin")["token"]
    driver().add_cookie({"name": "waterh", "value": token, "path": "/", "httpOnly": True, "sameSite": "Strict"})


def zone_at(hour):
    """A zone where it is that hour now: the day's phases are reached without anybody's clock being touched."""
    offset = (hour - datetime.datetime.now(datetime.timezone.utc).hour + 12) % 24 - 12
    return "Etc/UTC" if offset == 0 else f"Etc/GMT{-offset:+d}"


class Patient:
    """Waits for what a page comes to, for suites that have a `driver` and begin their service themselves."""

    def until(self, condition, why):
        end = time.monotonic() + 2 * LIMIT
        while not condition():
            if time.monotonic() > end:
                self.fail(f"{why}; at {self.driver.current_url}: {self.driver.get_log('browser')}")
            time.sleep(0.05)


class PageCase(unittest.TestCase):
    maxDiff = None
    # Whoever opens a page is told at once what is due: only where a test is about that.
    reminders = False

    def setUp(self):
        self.driver = driver()
        self.emulate(1280, 900)
        self.driver.get(f"{options.url}/sign-in")
        self.driver.execute_script("localStorage.clear()")
        purge()
        tracker("setup", "--yes", "--notifications", "skip")
        if not self.reminders:
            tracker("settings", "set", "reminders.enabled", "false", "waterline.timeReminders", "false")
        self.hour(14)
        self.driver.get_log("browser")

    def tearDown(self):
        self.online()
        for entry in self.driver.get_log("browser"):
            # What a refusal leaves in the console is the test's own doing; what the page's policy stopped, or threw, is not.
            message = entry["message"]
            if "Content Security Policy" in message or "Uncaught" in message:
                self.fail(message)

    # The browser.
    def emulate(self, width, height=900, dark=False, still=False):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}]})

    def before_each_page(self, code):
        """Runs in every page from now on, before the page's own code; until the test is over."""
        added = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": code})
        self.addCleanup(self.driver.execute_cdp_cmd, "Page.removeScriptToEvaluateOnNewDocument", added)

    def offline(self):
        self.driver.set_network_conditions(offline=True, latency=0, throughput=0)

    def online(self):
        self.driver.delete_network_conditions()

    def open(self, path, ready):
        """Opens a page, and waits until it shows `ready`."""
        self.driver.get(options.url + path)
        return self.wait(ready)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.script("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def script(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def click(self, selector):
        """As a finger would: on what is really there, at its middle."""
        self.until(lambda: self._click(self.wait(selector)), f"{selector} cannot be clicked")

    def _click(self, element):
        """False: something is in the way, or the page has put another in the place of what was found: it is looked for again."""
        try:
            self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
            element.click()
            return True
        except StaleElementReferenceException as error:
            self.last = error
            return False
        except Exception as error:  # Something passes over it: a message that goes by itself.
            self.last = error
            return False

    def button(self, words, within="body"):
        """Clicks the button with these words."""
        def find():
            for each in self.all(f"{within} button"):
                if each.is_displayed() and each.text.strip() == words:
                    return each
        self.until(lambda: self._click(self.until(find, f"no button says {words}")), f"{words} cannot be clicked")

    def type(self, selector, words):
        """Types in the place of what is there, and leaves the field."""
        element = self.wait(selector)
        self.script("""
            const [field, words] = arguments;
            field.focus();
            Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value').set.call(field, words);
            field.dispatchEvent(new Event('input', {bubbles: true}));
            field.dispatchEvent(new Event('change', {bubbles: true}));""", element, words)

    # Waiting: for events, with a limit.
    def until(self, condition, why):
        end = time.monotonic() + LIMIT
        while True:
            try:
                found = condition()
            except (NoSuchElementException, StaleElementReferenceException):
                found = None
            if found:
                return found
            if time.monotonic() > end:
                self.fail(why() if callable(why) else why)
            time.sleep(0.05)

    def wait(self, selector):
        return self.until(lambda: next((each for each in self.all(selector) if each.is_displayed()), None), f"{selector} does not appear")

    def gone(self, selector):
        self.until(lambda: not any(each.is_displayed() for each in self.all(selector)), f"{selector} does not go")

    def says(self, selector, wanted):
        """Waits until the element says that, letter by letter."""
        self.until(lambda: self.text(selector) == wanted, lambda: f"{selector} says {self.text(selector)!r}, not {wanted!r}")

    # The store.
    def hour(self, hour):
        tracker("settings", "set", "day.zone", zone_at(hour))

    def keep(self, polls):
        """Polls beside the service's store, as its recorder keeps them; a purge takes them away."""
        folder = pathlib.Path(f"{options.store}-polls")
        folder.mkdir(mode=0o700, exist_ok=True)
        for name, story, capture in polls:
            (folder / f"{name}.txt").write_text(story, encoding="utf-8")
            (folder / f"{name}.btsnoop").write_bytes(capture)
        self.addCleanup(lambda: [file.unlink(missing_ok=True) for name, *_ in polls for file in folder.glob(f"{name}.*")])

    def total(self):
        return tracker("status")["dailyTotalMl"]

    def totals(self, wanted):
        self.until(lambda: self.total() == wanted, lambda: f"the day has {self.total()} ml, not {wanted}")

    def waiting(self, *lists):
        """What waits on this device, or was refused: the places that it has in the storage."""
        names = [f"waterh.{name}" for name in lists or ("queue",)]
        return self.script("return Object.keys(localStorage).filter((key) => arguments[0].some((name) => key.startsWith(name)))", names)

    def shot(self, name):
        if options.shots:
            folder = pathlib.Path(options.shots)
            folder.mkdir(parents=True, exist_ok=True)
            picture = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})
            (folder / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))
