import Bluetooth
import BottleProtocol
import Simulation
import TrackerCore
import Emulator

/// Named scenarios: the events with their times, and the expected results.
enum ScenarioTable {
    static let all: [Scenario] = [
        scenario(
            "a bottle clock that drifts",
            [sip(150, at: 8.h, times: 10, every: 1.h, days: 5), poll(at: 8.h + 30.m, times: 60, every: 2.h)],
            faults: "drift=5000", expect: results(sips: 50, ml: 7500)),
        scenario(
            "a phone that reads and does not acknowledge",
            [
                sip(100, at: 8.h, times: 5, every: 10.m),
                poll(at: 9.h, by: "the phone", keepsRecords: true),
                poll(at: 10.h),
                poll(at: 11.h, by: "the phone", keepsRecords: true),
            ],
            expect: results(sips: 5, acknowledged: 5, acknowledgedElsewhere: 0)),
        scenario(
            "a week of polls",
            [sip(150, at: 7.h + 5.m, times: 14, every: 1.h, days: 7), poll(at: 10.m, times: 672, every: 15.m)],
            expect: results(
                sips: 98,
                days: [
                    "2026-06-15": 2100, "2026-06-16": 2100, "2026-06-17": 2100, "2026-06-18": 2100, "2026-06-19": 2100,
                    "2026-06-20": 2100, "2026-06-21": 2100,
                ], failedPolls: 0)),
        scenario(
            "a bottle out of reach all day",
            [
                at(8.h, .outOfRange(9.h)),
                sip(200, at: 8.h + 30.m, times: 8, every: 1.h),
                poll(at: 8.h + 15.m, times: 40, every: 15.m),
            ],
            expect: results(sips: 8, ml: 1600, days: ["2026-06-15": 1600], reported: ["notFound"])),
        scenario(
            "a bottle clock an hour ahead",
            [at(7.h, .bottleClock(1.h)), sip(100, at: 8.h), poll(at: 9.h), sip(100, at: 10.h), poll(at: 11.h)],
            expect: results(sips: 2, ml: 200)),
        scenario(
            "a bottle that drops by count",
            [
                sip(100, at: 7.h, times: 9, every: 10.m),
                poll(at: 9.h),
                sip(40, at: 9.h + 1.s),
                sip(50, at: 9.h + 3.s),
                poll("disconnect@25", at: 10.h),
                sip(60, at: 10.h + 1.s),
                poll(at: 11.h),
            ],
            faults: "counts,ring=12",
            expect: results(sips: 12, ml: 1050)),
        scenario(
            "a bottle that forgets acknowledgements",
            [sip(100, at: 7.h + 5.m, times: 14, every: 1.h), poll(at: 7.h + 30.m, times: 15, every: 1.h)],
            faults: "forget=50", expect: results(sips: 14, ml: 1400)),
        scenario(
            "a bottle that denies its log and ignores commands",
            [sip(100, at: 7.h, times: 12, every: 10.m), poll(at: 9.h + 30.m, times: 6, every: 30.m)],
            faults: "lie=30,ignore=20", expect: results(sips: 12, ml: 1200)),
        scenario(
            "the end of daylight saving time",
            [
                sip(100, at: 1.h),
                sip(110, at: 4.h + 30.m),
                sip(120, at: 5.h + 30.m),
                poll(at: 6.h),
                sip(130, at: 7.h),
                poll(at: 8.h),
            ],
            start: "2026-10-24T20:00:00Z",
            zone: "Europe/Berlin",
            expect: results(sips: 4, ml: 460)),
        scenario(
            "a disconnect in every poll",
            [
                sip(150, at: 7.h + 5.m, times: 20, every: 10.m),
                poll("disconnect@4", at: 11.h),
                poll("disconnect@12", at: 12.h),
                poll("disconnect@20", at: 13.h),
                poll("disconnect@26", at: 14.h),
                poll("disconnect@30", at: 15.h),
                poll("disconnect@36", at: 16.h),
                poll("disconnect@44", at: 17.h),
            ],
            expect: results(sips: 20, ml: 3000)),
        scenario(
            "a full disk",
            [
                sip(100, at: 7.h + 5.m, times: 10, every: 30.m),
                at(8.h, .disk(isFull: true)),
                poll(at: 8.h + 10.m, times: 8, every: 30.m),
                at(12.h + 30.m, .disk(isFull: false)),
                poll(at: 13.h),
            ],
            expect: results(sips: 10, ml: 1000, reported: ["cannotStore"])),
        scenario(
            "sips during a poll",
            [sip(30, at: 8.h, times: 40, every: 1.s), poll(at: 8.h + 5.s), poll(at: 8.h + 30.s), poll(at: 9.h)],
            expect: results(sips: 40, ml: 1200)),
        scenario(
            "a strict bottle in 2027", [sip(200, at: 8.h), sip(100, at: 9.h), poll(at: 10.h)],
            bottle: BottleIdentity(profile: .draft, dialect: .strict), start: "2027-01-05T00:00:00Z",
            hasTimeServer: true, expect: results(sips: 0, quarantined: 2, acknowledged: 2)),
        scenario(
            "a host that restarts during a poll",
            [
                sip(100, at: 7.h + 5.m, times: 12, every: 10.m),
                poll("delay@1:3s", at: 10.h),
                at(10.h + 2.s, .kill),
                sip(80, at: 10.h + 30.m),
                poll(at: 11.h),
            ],
            expect: results(sips: 13, ml: 1280)),
        scenario(
            "a host clock two years ahead",
            [
                sip(100, at: 7.h + 30.m),
                poll(at: 8.h),
                at(8.h + 30.m, .hostClock(730.d)),
                sip(120, at: 9.h),
                poll(at: 10.h),
                at(11.h, .hostClock((-730).d)),
                poll(at: 12.h),
            ],
            expect: results(sips: 2, days: ["2026-06-15": 220])),
        scenario(
            "a host without a clock",
            [
                at(1.h, .hostClock((-51).d)),
                sip(100, at: 8.h, times: 5, every: 10.m),
                poll(at: 9.h),
                at(10.h, .hostClock(51.d)),
                poll(at: 11.h),
            ],
            hasTimeServer: true,
            expect: results(sips: 5, days: ["2026-06-15": 500])),
        scenario(
            "a gateway killed in every poll",
            [
                sip(100, at: 7.h + 5.m, times: 12, every: 10.m),
                poll(at: 10.h, killAfter: 3),
                poll(at: 11.h, killAfter: 9),
                poll(at: 12.h, killAfter: 15),
                poll(at: 13.h, killAfter: 20),
                poll(at: 14.h, killAfter: 24),
                poll(at: 15.h, killAfter: 28),
                poll(at: 16.h, killAfter: 32),
                poll(at: 17.h, killAfter: 36),
            ],
            expect: results(sips: 12, ml: 1200)),
        scenario(
            "a laptop that sleeps during a poll",
            [
                sip(100, at: 20.h, times: 10, every: 20.m),
                poll("delay@1:3s", at: 23.h + 59.m + 59.s),
                at(1.d, .sleep(8.h)),
                sip(50, at: 1.d + 1.h),
                poll(at: 1.d + 2.h),
                poll(at: 1.d + 9.h),
            ],
            expect: results(sips: 11, ml: 1050, days: ["2026-06-15": 1050])),
        scenario(
            "late responses",
            [
                sip(150, at: 7.h + 5.m, times: 12, every: 10.m),
                poll("late@6:4s", at: 10.h),
                sip(90, at: 10.h + 30.m),
                poll("late@9:2500ms", at: 11.h),
                sip(60, at: 11.h + 30.m),
                poll("late@12:900ms,delay@2:1s", at: 12.h),
            ],
            expect: results(sips: 14, ml: 1950)),
        scenario(
            "a leap day", [sip(100, at: 8.h), sip(200, at: 1.d + 8.h), sip(300, at: 2.d + 8.h), poll(at: 2.d + 9.h)],
            start: "2028-02-28T00:00:00Z",
            expect: results(sips: 3, days: ["2028-02-28": 100, "2028-02-29": 200, "2028-03-01": 300])),
        scenario(
            "a full ring",
            [
                sip(100, at: 7.h, times: 35, every: 2.h),
                poll(at: 3.d + 12.h),
            ],
            faults: "ring=20",
            expect: results(sips: 20, ml: 2000, lost: 15)),
        scenario(
            "an MTU of 23",
            [sip(150, at: 7.h + 5.m, times: 9, every: 10.m), poll("mtu=23", at: 9.h, times: 3, every: 1.h)],
            expect: results(sips: 9, ml: 1350, failedPolls: 3, reported: ["unexpectedResponse"])),
        scenario(
            "the year 2027",
            [sip(200, at: 1.h), sip(100, at: 3.h + 30.m), sip(80, at: 5.h + 30.m), sip(300, at: 12.h), poll(at: 13.h)],
            start: "2026-12-31T20:00:00Z", expect: results(sips: 4, days: ["2026-12-31": 380, "2027-01-01": 300])),
        scenario(
            "a response that never comes",
            [sip(150, at: 7.h + 5.m, times: 6, every: 10.m), poll("silent@5", at: 9.h), poll(at: 10.h)],
            expect: results(sips: 6, ml: 900)),
        scenario(
            "two failing writes",
            [
                sip(100, at: 8.h, times: 10, every: 10.m),
                poll(at: 8.h + 35.m),
                poll(at: 9.h),
                poll(at: 9.h + 15.m),
                poll(at: 10.h),
            ],
            failingWrites: [1, 6],
            expect: results(sips: 10, ml: 1000, failedPolls: 2, reported: ["cannotStore"])),
        scenario(
            "a power loss",
            [
                sip(100, at: 8.h),
                poll(at: 9.h),
                at(10.h, .powerLoss),
                sip(200, at: 10.h + 30.m),
                poll(at: 11.h),
                sip(300, at: 12.h),
                poll(at: 13.h),
            ],
            hasTimeServer: true,
            expect: results(sips: 2, ml: 400, quarantined: 1, acknowledged: 3)),
        scenario(
            "a second gateway",
            [
                sip(100, at: 7.h + 30.m, times: 8, every: 1.h),
                poll(at: 8.h, times: 4, every: 2.h),
                poll(at: 9.h, times: 4, every: 2.h, by: "the other gateway"),
            ],
            expect: results(sips: 4, acknowledgedElsewhere: 4)),
        scenario(
            "a shuffled log",
            [sip(100, at: 7.h, times: 30, every: 10.m), poll(at: 12.h + 30.m, times: 4, every: 30.m)],
            faults: "shuffle,interleave=30,restart=50", expect: results(sips: 30, ml: 3000)),
        scenario(
            "a change of time zone",
            [
                sip(100, at: 6.h),
                poll(at: 7.h),
                sip(200, at: 8.h),
                at(20.h, .zone("Asia/Tokyo")),
                sip(150, at: 20.h + 10.m),
                poll(at: 20.h + 30.m),
                sip(250, at: 22.h),
                poll(at: 23.h),
            ],
            zone: "Europe/Berlin",
            expect: results(sips: 4, ml: 700)),
        scenario(
            "two phones and a gateway",
            [
                sip(100, at: 8.h, times: 3, every: 10.m),
                poll(at: 9.h, by: "the first phone"),
                sip(120, at: 10.h, times: 3, every: 10.m),
                poll(at: 11.h),
                sip(140, at: 12.h, times: 2, every: 10.m),
                poll(at: 13.h, by: "the second phone"),
                sip(160, at: 14.h),
                poll(at: 15.h),
            ],
            expect: results(sips: 4, ml: 520, acknowledgedElsewhere: 5)),
        scenario(
            "lost notifications",
            [sip(150, at: 7.h + 5.m, times: 10, every: 1.h), poll("lose=0.2", at: 7.h + 30.m, times: 11, every: 1.h)],
            expect: results(sips: 10, ml: 1500)),
    ]
}

// MARK: - How a row is written

private func scenario(
    _ title: String, _ steps: [[ScenarioStep]], failingWrites: Set<Int> = [], faults: String = "",
    bottle: BottleIdentity = BottleIdentity(), start: String? = nil, zone: String = "UTC", hasTimeServer: Bool = false,
    expect expectation: ScenarioExpectation
) -> Scenario {
    var scenario = Scenario(title: title)
    scenario.steps = steps.joined().enumerated().sorted {
        ($0.element.at, $0.offset) < ($1.element.at, $1.offset)
    }.map(\.element)
    scenario.failingWrites = failingWrites
    scenario.bottle = bottle
    if let start { scenario.start = valid(Instant(iso: start), start) }
    (scenario.faults, scenario.zone) = (valid(try? BottleFaults(faults), faults), valid(try? Zone(zone), zone))
    (scenario.hasTimeServer, scenario.expectation) = (hasTimeServer, expectation)
    return scenario
}

private func sip(_ ml: Int, at: Duration, times: Int = 1, every: Duration = .zero, days: Int = 1) -> [ScenarioStep] {
    (0..<days).flatMap { day in (0..<times).map { ScenarioStep(at + day.d + every * $0, .sip(ml: ml)) } }
}

/// Polls the bottle, several times if `times` is set.
/// - Parameter otherCentral: another gateway or app with its own journal; `nil` for the tested gateway.
private func poll(
    _ faults: String = "", at: Duration, times: Int = 1, every: Duration = .zero, by otherCentral: String? = nil,
    keepsRecords: Bool = false, killAfter: Int? = nil
) -> [ScenarioStep] {
    let plan = valid(try? FaultPlan(faults), faults)
    let poll = ScenarioStep.Poll(
        link: plan, otherCentral: otherCentral, keepsRecords: keepsRecords, killAfter: killAfter)
    return (0..<times).map { ScenarioStep(at + every * $0, .poll(poll)) }
}

private func at(_ at: Duration, _ action: ScenarioStep.Action) -> [ScenarioStep] { [ScenarioStep(at, action)] }

private func results(
    sips: Int? = nil, ml: Int? = nil, days: [String: Int] = [:], quarantined: Int? = nil, acknowledged: Int? = nil,
    lost: Int? = nil, acknowledgedElsewhere: Int? = nil, failedPolls: Int? = nil, reported: [String] = []
) -> ScenarioExpectation {
    var expectation = ScenarioExpectation()
    (expectation.sips, expectation.ml, expectation.quarantined, expectation.acknowledged) = (
        sips, ml, quarantined, acknowledged
    )
    (expectation.lost, expectation.acknowledgedElsewhere, expectation.failedPolls) = (
        lost, acknowledgedElsewhere, failedPolls
    )
    expectation.reported = reported
    for (day, ml) in days { expectation.days[valid(LocalDay(day), day)] = ml }
    return expectation
}

private func valid<Value>(_ value: Value?, _ text: String) -> Value {
    guard let value else { preconditionFailure("not a valid value: \(text)") }
    return value
}

extension Int {
    fileprivate var d: Duration { .seconds(self * 86_400) }
    fileprivate var h: Duration { .seconds(self * 3600) }
    fileprivate var m: Duration { .seconds(self * 60) }
    fileprivate var s: Duration { .seconds(self) }
}
