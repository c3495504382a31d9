"""The bottle's page: bottles in range, why, polls and their captures, and commands with the bottle's response."""
import pathlib

from . import browser
from .browser import PageCase, api, log, session, settings

TRACE = "Unexpected bottle response.\nIt answered with 3 bytes.\nbottle: A4:C1:38:31:D1:D2, retail\nname: <b>WaterH</b>\nreceived 5, new 3, known 2, quarantined 0, unreadable 1, acknowledged 3, possibly acknowledged 0\nrecovery: again: it was cut: done\n"
OTHER = "Unreadable bytes.\nbottle: none found\nname: WaterH\nreceived 5, new 3, known 2, quarantined 0, unreadable 1, acknowledged 3, possibly acknowledged 0\nThe capture is truncated.\n"
OTHER_IN_GERMAN = ["Flasche: keine gefunden", "Name: WaterH", "empfangen 5, neu 3, bekannt 2, in Quarantäne 0, unlesbar 1, bestätigt 3, vielleicht bestätigt 0", "Die Aufzeichnung ist gekürzt."]


def keep_polls(case, *polls):
    """Stores failed polls (name, trace, capture) as the service does, until the test is over."""
    folder = pathlib.Path(f"{browser.service.store}-polls")
    folder.mkdir(mode=0o700, exist_ok=True)
    for name, trace, capture in polls:
        (folder / f"{name}.txt").write_text(trace, encoding="utf-8")
        (folder / f"{name}.btsnoop").write_bytes(capture)
    case.addCleanup(lambda: [file.unlink(missing_ok=True) for name, *_ in polls for file in folder.glob(f"{name}.*")])


class Bottle(PageCase):
    reminders = True

    def test_why_explains_the_reminders_without_keys_of_settings(self):
        settings(reminders__enabled=False)
        self.open("/", ".why summary")
        self.click(".why summary")
        self.wait(".why dd")
        said = lambda: self.texts(".why dt, .why dd")
        self.assertEqual(said(), ["Behind pace: no notification now", "Reminders are off. Next: Switch “Reminders” on."])
        api("POST", "session")
        self.open("/waterline", ".session-card .why summary")
        self.click(".why summary")
        self.wait(".why dd")
        self.assertEqual(len(self.all(".why dt")), 4, said())
        self.assertNotRegex(" ".join(said()), r"[a-z]\.[a-z]")

    def test_a_bottle_in_range_is_inspected_added_and_hidden(self):
        # The service lists two bottles that are not adopted; the requests are noted.
        self.before_each_page("""
            const real = fetch, Stream = EventSource;
            const bottles = [{address: 'A4:C1:38:01:02:03', name: 'WaterH-Boost-24oz', rssi: -61}, {address: 'A4:C1:38:01:02:04', name: null, rssi: null}];
            const json = (value) => new Response(JSON.stringify(value), {status: 200, headers: {'Content-Type': 'application/json'}});
            window.asked = [];
            window.fetch = async (path, options) => {
              const found = /bottles-in-range\\/(.+)$/.exec(path);
              if (found) {
                asked.push([decodeURIComponent(found[1]), options.body]);
                return json(found[1].endsWith('look') ? {address: 'A4:C1:38:01:02:03', name: null, records: 12, newest: {wall: '2026-06-15T11:59:00', ml: 250}} : found[1] === 'scan' ? {bottles} : {adopted: true});
              }
              const answer = await real(path, options);
              if (!String(path).endsWith('/state')) return answer;
              const state = await answer.json();
              return json({...state, service: {...state.service, bottlesInRange: bottles}});
            };
            window.EventSource = class extends EventTarget { close() {} };""")
        self.open("/bottle", ".range-card li")
        self.wait_for_count(".range-card li", 2)
        self.button("Look inside", ".range-card li")
        self.wait_for_text(".range-card .from", "12 records, the newest 250 ml at 2026-06-15 11:59:00")
        self.button("Add bottle", ".range-card li")
        self.type("dialog select", "share")
        self.button("Add bottle", "dialog")
        self.wait(".toast")
        self.button("Not mine", ".range-card li:nth-child(2)")
        self.wait_for_count(".range-card li", 1)
        self.assertEqual(self.script("return asked"), [
            ["A4:C1:38:01:02:03/look", "{}"], ["A4:C1:38:01:02:03/adopt", '{"mode":"share"}'], ["A4:C1:38:01:02:04/hide", "{}"]])

    def test_why_and_notifications_have_german_texts(self):
        self.open("/sign-in", "input.code")
        self.set_language("de")
        self.open("/bottle", ".command")
        # Quiet hours, a day far behind, one just behind, the goal; with and without a session.
        seen = set()
        for drink, has_session in ((None, False), (1000, True), (300, True), (2000, False)):
            log(*[drink] if drink else [])
            if has_session:
                if not session():
                    api("POST", "session")
                api("POST", "session/drink", {})
            for at in ("03:00", "09:00", "14:30", "23:30"):
                reminders = api("GET", f"why?at={at}")["reminders"]
                sentences = [each[key] for reminder in reminders for each in reminder["conditions"] for key in ("fact", "change")]
                self.assertGreater(len(sentences), 40)
                seen |= {each for each in sentences if each}
        seen |= {"You're falling behind! Drink 1.2L to catch up.", "Time to hydrate! You're 150ml behind pace.", "Stay hydrated - grab your water bottle.", "1,333 ml behind target",
                 "Good job! You've hit your daily hydration goal.", "Nice work - you're back on pace.", "You've had 2 drinks — time for water", "Your Waterline is high — drink water to return to center"}
        german = dict(self.module("/texts.js", "({ said }, all) => all.map((each) => [each, said(each)])", sorted(seen)))
        # What names a setting and its value is the same in both.
        self.assertEqual([each for each, said in german.items() if each == said and not each.startswith("reminders.engine")], [])
        self.assertIn("1,2 L", german["You're falling behind! Drink 1.2L to catch up."])
        self.assertEqual(german["1,333 ml behind target"], "1.333 ml im Rückstand", "thousands have a point in German")

    def test_each_fact_of_the_bottle_is_shown_once_if_it_is_known(self):
        def facts(speed, **bottle):
            known = {"batteryPercent": 97, "clockDriftSeconds": 0, "model": "boost", "lastCompletePoll": None, "advertisedName": None}
            return dict(self.replace_state({"bottle": known | bottle, "service": {"stage": "connected", "speed": speed}},
                                      "[...document.querySelectorAll('.bottle-page .counts > div')].map((e) => [...e.children].map((each) => each.textContent))"))

        self.open("/bottle", ".bottle-page .counts > div")
        unnamed = facts(1, name="WaterH-Boost-24oz", advertisedName="WaterH-Boost-24oz")
        self.assertEqual((unnamed["Name"], unnamed.get("Advertised name"), unnamed["Clock"], unnamed["Connection"]), ("WaterH-Boost-24oz", None, "correct", "connected"))
        self.assertEqual(facts(1, name="Mine", advertisedName="WaterH-Boost-24oz")["Advertised name"], "WaterH-Boost-24oz")
        self.assertNotIn("Clock", facts(480, name="Mine"), "in a demo the clock is unknown")

    def test_commands_have_responses_and_a_check_adds_a_poll(self):
        self.open("/bottle", ".command")
        names = self.script("return [...document.querySelectorAll('.command')].map(e => e.dataset.command)")
        self.assertEqual(names, ["goal", "clock", "reminder", "light", "amount", "flash", "recalibrate"])
        self.button("Flash")
        answer = lambda: self.text("[data-command=flash] .answer")
        # The bottle's response, or the reason that there is none.
        self.until(lambda: answer() and answer() != "Asking the bottle…", "no response")
        self.button("Recalibrate", "[data-command=recalibrate]")
        self.button("Cancel", "dialog")
        self.assertEqual(self.text("[data-command=recalibrate] .answer"), "")
        self.button("Check now")
        self.until(lambda: self.one(".bottle-line button").is_enabled(), "the check does not end")
        self.wait_for_match(".polls li .row-text", "...")

    def test_failed_polls_are_listed_with_their_trace_and_capture(self):
        self.open("/bottle", ".bottle-page .counts > div")
        self.until(lambda: self.script("return document.querySelector('.kept-card').hidden"), "nothing is kept, and the card is there")
        keep_polls(self, ("20260615T115900123", TRACE, b"btsnoop\0" + bytes(range(256)) * 8), ("20260614T080000000", OTHER, b"btsnoop\0x"))
        self.open("/bottle", ".kept-polls details")
        self.wait_for_count(".kept-polls details", 2)
        self.click("[data-poll='20260615T115900123'] summary")
        self.until(lambda: "name: <b>WaterH</b>" in self.texts(".kept-polls details[open] li"), "the trace is not shown")
        self.wait_for_text(".kept-polls details[open] summary span", "Unexpected bottle response")
        self.wait_for_text(".kept-polls details[open] a.button", "Download the capture (3 kB)")
        found = self.driver.execute_async_script("""
            const done = arguments[0];
            const link = document.querySelector('.kept-polls details[open] a');
            fetch(link.href).then(async (answer) => done([answer.status, answer.headers.get('Content-Disposition'), [...new Uint8Array(await answer.arrayBuffer())].length, link.hasAttribute('download')]));""")
        self.assertEqual(found, [200, 'attachment; filename="poll-20260615T115900123.btsnoop"', 2056, True])
        self.set_language("de")
        self.open("/bottle", ".kept-polls details")
        self.wait_for_text("[data-poll='20260614T080000000'] summary span", "Unlesbare Bytes")
        self.assertEqual(self.texts("[data-poll='20260614T080000000'] li"), OTHER_IN_GERMAN)

    def test_failed_polls_are_hidden_without_administrator_access(self):
        keep_polls(self, ("20260615T115900123", "Bottle not found.\n", b"btsnoop\0"))
        self.replace_response("/access", "{scope: 'control'}")
        self.open("/bottle", ".polls-card")
        self.wait(".bottle-page .counts > div")
        requested = lambda path: self.script("return performance.getEntriesByType('resource').some((e) => e.name.endsWith(arguments[0]))", path)
        self.until(lambda: requested("/access"), "the access is not requested")
        self.assertTrue(self.script("return document.querySelector('.kept-card').hidden"))
        self.assertFalse(requested("/polls/kept"), "it requested them")
