"""The bottle's page: bottles in range, why, polls and their captures, and commands with the bottle's response."""
from .browser import PageCase, tracker


class Bottle(PageCase):
    reminders = True

    def test_why_explains_the_reminders_that_are_configured_without_keys_of_settings(self):
        tracker("settings", "set", "reminders.enabled", "false")
        self.open("/", ".why summary")
        self.click(".why summary")
        self.wait(".why dd")
        said = lambda: self.texts(".why dt, .why dd")
        self.assertEqual(said(), ["Behind pace: no notification now", "Reminders are off. Next: Switch “Reminders” on."])
        tracker("session", "start")
        self.open("/waterline", ".session-card .why summary")
        self.click(".why summary")
        self.wait(".why dd")
        self.assertEqual(len(self.all(".why dt")), 4, said())
        self.assertNotRegex(" ".join(said()), r"[a-z]\.[a-z]")

    def bottles_in_range(self):
        """The service lists two bottles that are not adopted; the requests are noted."""
        self.before_each_page("""
            const real = fetch, Stream = EventSource;
            const bottles = [{address: 'A4:C1:38:01:02:03', name: 'WaterH-Boost-24oz', rssi: -61}, {address: 'A4:C1:38:01:02:04', name: null, rssi: null}];
            window.asked = [];
            window.fetch = async (path, options) => {
              const found = /bottles-in-range\\/(.+)$/.exec(path);
              if (found) {
                asked.push([decodeURIComponent(found[1]), options.body]);
                const answer = found[1].endsWith('look') ? {address: 'A4:C1:38:01:02:03', name: null, records: 12, newest: {wall: '2026-06-15T11:59:00', ml: 250}} : found[1] === 'scan' ? {bottles} : {adopted: true};
                return new Response(JSON.stringify(answer), {status: 200, headers: {'Content-Type': 'application/json'}});
              }
              const answer = await real(path, options);
              if (!String(path).endsWith('/state')) return answer;
              const state = await answer.json();
              return new Response(JSON.stringify({...state, service: {...state.service, bottlesInRange: bottles}}), {status: 200, headers: {'Content-Type': 'application/json'}});
            };
            window.EventSource = class extends EventTarget { close() {} };""")
        self.open("/bottle", ".range-card li")

    def test_a_bottle_in_range_is_inspected_added_and_hidden(self):
        self.bottles_in_range()
        self.assertEqual(len(self.all(".range-card li")), 2)
        self.button("Look inside", ".range-card li")
        self.until(lambda: self.text(".range-card .from") == "12 records, the newest 250 ml at 2026-06-15 11:59:00", lambda: self.text(".range-card .from"))
        self.button("Add bottle", ".range-card li")
        self.type("dialog select", "share")
        self.button("Add bottle", "dialog")
        self.wait(".toast")
        self.button("Not mine", ".range-card li:nth-child(2)")
        self.until(lambda: len(self.all(".range-card li")) == 1, "it is still listed")
        self.assertEqual(self.script("return asked"), [
            ["A4:C1:38:01:02:03/look", "{}"], ["A4:C1:38:01:02:03/adopt", '{"mode":"share"}'], ["A4:C1:38:01:02:04/hide", "{}"]])

    def test_why_and_notifications_have_german_texts(self):
        self.open("/sign-in", "input.code")
        self.speak("de")
        self.open("/bottle", ".command")
        # Quiet hours, a day far behind, one just behind, the goal; with and without a session.
        seen = set()
        for drink, session in ((None, False), (1000, True), (300, True), (2000, False)):
            if drink:
                tracker("log", drink)
            if session and not tracker("status")["waterline"]:
                tracker("session", "start")
            if session:
                tracker("drink")
            for at in ("03:00", "09:00", "14:30", "23:30"):
                found = self.driver.execute_async_script("""
                    const [at, done] = arguments;
                    (async () => {
                      const { said } = await import('/texts.js');
                      const why = await (await fetch(`/api/v1/why?at=${encodeURIComponent(at)}`)).json();
                      const all = why.reminders.flatMap((each) => each.conditions).flatMap((each) => [each.fact, each.change]);
                      return [all.length, all.filter((each) => said(each) === each)];
                    })().then(done, (error) => done([0, [String(error)]]));""", at)
                self.assertGreater(found[0], 40)
                seen |= set(found[1])
        # What names a setting and its value is the same in both.
        self.assertEqual({each for each in seen if not each.startswith("reminders.engine")}, set())
        words = ["You're falling behind! Drink 1.2L to catch up.", "Time to hydrate! You're 150ml behind pace.", "Stay hydrated - grab your water bottle.", "1,333 ml behind target",
                 "Good job! You've hit your daily hydration goal.", "Nice work - you're back on pace.", "You've had 2 drinks — time for water", "Your Waterline is high — drink water to return to center"]
        german = self.module("/texts.js", "({ said }, words) => words.map(said)", words)
        self.assertEqual([each for each, said in zip(words, german) if each == said], [])
        self.assertIn("1,2 L", german[0])
        self.assertEqual(german[3], "1.333 ml im Rückstand", "thousands have a point in German")

    def facts(self, bottle, speed):
        """The card of such a bottle."""
        bottle = {"batteryPercent": 97, "clockDriftSeconds": 0, "model": "boost", "lastCompletePoll": None, "advertisedName": None} | bottle
        return dict(self.state_is({"bottle": bottle, "service": {"stage": "connected", "speed": speed}},
                                  "[...document.querySelectorAll('.bottle-page .counts > div')].map((e) => [...e.children].map((each) => each.textContent))"))

    def test_each_fact_of_the_bottle_is_shown_once_if_it_is_known(self):
        self.open("/bottle", ".bottle-page .counts > div")
        unnamed = self.facts({"name": "WaterH-Boost-24oz", "advertisedName": "WaterH-Boost-24oz"}, 1)
        self.assertEqual((unnamed["Name"], unnamed.get("Advertised name"), unnamed["Clock"], unnamed["Connection"]), ("WaterH-Boost-24oz", None, "right", "connected"))
        self.assertEqual(self.facts({"name": "Mine", "advertisedName": "WaterH-Boost-24oz"}, 1)["Advertised name"], "WaterH-Boost-24oz")
        self.assertNotIn("Clock", self.facts({"name": "Mine"}, 480), "in a demo the clock is unknown")

    def test_every_command_has_its_response(self):
        self.open("/bottle", ".command")
        names = self.script("return [...document.querySelectorAll('.command')].map(e => e.dataset.command)")
        self.assertEqual(names, ["goal", "clock", "reminder", "light", "amount", "flash", "recalibrate"])
        self.button("Flash")
        answer = lambda: self.text("[data-command=flash] .answer")
        # The bottle's response, or the reason that there is none.
        self.until(lambda: answer() and answer() != "Asking the bottle…", "no answer")
        self.button("Recalibrate", "[data-command=recalibrate]")
        self.wait("dialog")
        self.button("Cancel", "dialog")
        self.assertEqual(self.text("[data-command=recalibrate] .answer"), "")

    def test_check_now_adds_a_poll_to_the_list(self):
        self.open("/bottle", ".bottle-line button")
        self.button("Check now")
        self.until(lambda: self.one(".bottle-line button").is_enabled(), "the check does not end")
        self.wait(".polls li")
        self.assertGreater(len(self.text(".polls li .row-text")), 3)

    def test_failed_polls_are_listed_with_their_trace_and_capture(self):
        self.open("/bottle", ".bottle-page .counts > div")
        self.until(lambda: self.script("return document.querySelector('.kept-card').hidden"), "nothing is kept, and the card is there")
        trace = "Unexpected bottle response.\nIt answered with 3 bytes.\nbottle: A4:C1:38:31:D1:D2, retail\nname: <b>WaterH</b>\nreceived 5, new 3, known 2, suspect 0, unreadable 1, acknowledged 3, possibly acknowledged 0\nrecovery: again: it was cut: done\n"
        self.keep([("20260615T115900123", trace, b"btsnoop\0" + bytes(range(256)) * 8), ("20260614T080000000", "Unreadable bytes.\nbottle: none found\n", b"btsnoop\0x")])
        self.open("/bottle", ".kept-polls details")
        self.assertEqual(len(self.all(".kept-polls details")), 2)
        self.click("[data-poll='20260615T115900123'] summary")
        lines = lambda: self.texts(".kept-polls details[open] li")
        self.until(lambda: "name: <b>WaterH</b>" in lines(), "the trace is not shown")
        self.assertEqual(self.text(".kept-polls details[open] summary span"), "Unexpected bottle response")
        self.assertEqual(self.text(".kept-polls details[open] a.button"), "Download the capture (3 kB)")
        found = self.driver.execute_async_script("""
            const done = arguments[0];
            const link = document.querySelector('.kept-polls details[open] a');
            fetch(link.href).then(async (answer) => done([answer.status, answer.headers.get('Content-Disposition'), [...new Uint8Array(await answer.arrayBuffer())].length, link.hasAttribute('download')]));""")
        self.assertEqual(found, [200, 'attachment; filename="poll-20260615T115900123.btsnoop"', 2056, True])

    def test_failed_polls_have_german_texts(self):
        self.keep([("20260615T115900123", "Unreadable bytes.\nbottle: none found\nname: WaterH\nreceived 5, new 3, known 2, suspect 0, unreadable 1, acknowledged 3, possibly acknowledged 0\nThe capture is truncated.\n", b"btsnoop\0")])
        self.open("/sign-in", "input.code")
        self.speak("de")
        self.open("/bottle", ".kept-polls details")
        self.assertEqual(self.text(".kept-polls summary span"), "Unlesbare Bytes")
        self.assertEqual(self.texts(".kept-polls li"), [
            "Flasche: keine gefunden", "Name: WaterH", "empfangen 5, neu 3, bekannt 2, in Quarantäne 0, unlesbar 1, bestätigt 3, vielleicht bestätigt 0", "Die Aufzeichnung ist gekürzt."])

    def test_failed_polls_are_hidden_without_administrator_access(self):
        self.keep([("20260615T115900123", "Bottle not found.\n", b"btsnoop\0")])
        self.answer_with("/access", "{scope: 'control'}")
        self.open("/bottle", ".polls-card")
        self.wait(".bottle-page .counts > div")
        self.until(lambda: self.script("return performance.getEntriesByType('resource').some((e) => e.name.endsWith('/access'))"), "the access is not requested")
        self.assertTrue(self.script("return document.querySelector('.kept-card').hidden"))
        self.assertFalse(self.script("return performance.getEntriesByType('resource').some((e) => e.name.endsWith('/polls/kept'))"), "it requested them")
