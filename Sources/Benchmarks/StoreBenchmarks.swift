import Foundation
import Store
import TrackerCore

/// Benchmarks of the store, on files in a temporary directory.
enum StoreBenchmarks {
    /// One million different sips in batches of 500 (a full bottle), every tenth batch delivered twice. The rates of
    /// the four quarters show whether the time grows linearly.
    static func ingest() -> String {
        inTemporaryStore { path in
            let store = try TrackerStore(path: path)
            let clock = ContinuousClock()
            let start = clock.now
            var quarterStart = start
            var quarters: [String] = []
            for batch in 0..<2000 {
                let entries = SipSource.entries(from: batch * 500, count: 500, spacingSeconds: 300)
                guard try store.append(entries).allSatisfy({ $0 == .stored }) else {
                    return "wrong: a new sip was not stored"
                }
                if batch % 10 == 9 {
                    guard try store.append(entries).allSatisfy({ $0 == .duplicate }) else {
                        return "wrong: a sip was stored twice"
                    }
                }
                if batch % 500 == 499 {
                    quarters.append("\(Int(250_000 / ((clock.now - quarterStart) / .seconds(1))))")
                    quarterStart = clock.now
                }
            }
            let seconds = (clock.now - start) / .seconds(1)
            return "1000000 sips with deduplication in \(rounded(seconds)) s, \(Int(1_000_000 / seconds)) sips/s;"
                + " by quarters \(quarters.joined(separator: ", ")) sips/s"
        }
    }

    /// One evaluation (the service does one each minute) and a week's view, with ten years of history in the store.
    static func tick() -> String {
        inTemporaryStore { path in
            let store = try TrackerStore(path: path)
            for batch in 0..<400 {
                _ = try store.append(SipSource.entries(from: batch * 500, count: 500, spacingSeconds: 1577))
            }
            let zone = try Zone("Europe/Berlin")
            let end = SipSource.instant(199_999, spacingSeconds: 1577)
            let clock = ContinuousClock()
            var sent = 0
            var slowest = Duration.zero
            let rounds = 500
            let ticks = try clock.measure {
                for round in 0..<rounds {
                    let context = WriteContext(
                        now: end.advanced(seconds: Double(round * 60)), zone: zone, source: "cli",
                        makeID: { UUID().uuidString })
                    let tick = try clock.measure {
                        let delivery = try store.beginDelivery(context)
                        for group in delivery.groups {
                            try store.finish(group, of: delivery, acceptedBy: ["test"], context)
                        }
                        sent += delivery.evaluation.decisions.count
                    }
                    slowest = max(slowest, tick)
                }
            }
            let day = DayCalendar(zone: zone).day(of: end)
            let weeks = try clock.measure {
                for week in 0..<100 {
                    let first = day.adding(days: -7 * week)
                    _ = try store.history(from: first, through: first.adding(days: 6))
                }
            }
            return """
                10 years, 200000 sips: \(milliseconds(ticks / rounds)) ms an evaluation (slowest \
                \(milliseconds(slowest)) ms, \(sent) decisions), \(milliseconds(weeks / 100)) ms a week view
                """
        }
    }

    private static func inTemporaryStore(_ body: (String) throws -> String) -> String {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("waterh-bench-\(getpid())")
        defer { try? FileManager.default.removeItem(at: directory) }
        do {
            return try body(directory.appendingPathComponent("store.sqlite").path)
        } catch {
            return "failed: \(error)"
        }
    }

    private static func milliseconds(_ duration: Duration) -> String { rounded(duration / .milliseconds(1)) }

    private static func rounded(_ value: Double) -> String { String(format: "%.2f", value) }
}

/// Sips at regular intervals from 2016 on, without randomness.
private enum SipSource {
    static func instant(_ number: Int, spacingSeconds: Int) -> Instant {
        Instant(seconds: 1_451_606_400 + Int64(number * spacingSeconds))
    }

    static func entries(from first: Int, count: Int, spacingSeconds: Int) -> [JournalEntry] {
        (first..<first + count).map { number in
            let at = instant(number, spacingSeconds: spacingSeconds)
            let wall = Zone.utc.wall(at: at)
            let ml = 10 + number * 7 % 50
            let raw = [
                wall.year - 2000, wall.month, wall.day, wall.hour, wall.minute, wall.second, 0, ml, 0, 0, 1, 0x61, 0,
            ]
            return JournalEntry(
                bottle: "A4:C1:38:00:00:01", raw: raw.map { UInt8(truncatingIfNeeded: $0) }, wall: wall, amountMl: ml,
                received: at, verdict: .drink(at: at, zone: "Europe/Berlin"))
        }
    }
}
