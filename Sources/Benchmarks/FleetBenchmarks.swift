import FleetStore
import FleetWire
import Foundation
import TrackerCore

/// What a fleet takes in, beside PostgreSQL's own COPY of the same rows into the same table; what its overview costs;
/// and what a row costs when there are many. Prints JSON for Tests/System/fleet_figures.py.
enum FleetBenchmarks {
    private static let batch = 1000
    private static let gateways = 500
    private static let threads = 2

    struct Figures: Encodable {
        var rows: Int
        var copyPerSecond: [Double] = []
        var takePerSecond: [Double] = []
        var takeWithReadingPerSecond: [Double] = []
        var overviewPeople = 0
        var overviewMilliseconds: [Double] = []
        var refreshMilliseconds = 0.0
        var slope: [Point] = []

        struct Point: Encodable {
            var millionRows: Int
            var microsecondsPerEntry: Double
        }
    }

    /// - Parameter millions: so many rows each time before the cost of an entry is measured, ascending.
    static func run(_ database: String, rows: Int, rounds: Int, millions: [Int]) throws -> Figures {
        let store = FleetStore(try FleetConnection(database, statementLimit: .seconds(3600)))
        _ = try store.migrate()
        let visitors = try (0..<gateways).map { number -> FleetVisitor in
            _ = try store.enrol(
                "gateway-\(number)", as: .gateway, id: "0b9b8a3e-0000-4000-8000-\(100_000_000_000 + number)",
                token: "token-\(number)")
            guard let visitor = try store.visitor("token-\(number)") else {
                throw Trouble(description: "gateway-\(number) was not enrolled")
            }
            return visitor
        }
        var figures = Figures(rows: rows)
        let batches = (0..<rows / batch).map { number in entries(number) }
        let wires = try batches.map { try FleetLines.bytes($0) }
        let copies = batches.enumerated().map { number, entries in text(entries, visitors[number % gateways]) }
        for _ in 0..<rounds {
            try empty(database)
            figures.copyPerSecond.append(
                try rate(rows, database) { connection, thread in
                    var next = thread
                    _ = try connection.transaction {
                        try connection.copyIn(
                            """
                            COPY entry (person, key, gateway, store, generation, place, bottle, at, zone, day, ml, \
                            deleted, changed, raw, received) FROM STDIN
                            """
                        ) {
                            defer { next += threads }
                            return next < copies.count ? copies[next] : nil
                        }
                    }
                })
            try empty(database)
            figures.takePerSecond.append(
                try rate(rows, database) { connection, thread in
                    let store = FleetStore(connection)
                    for number in stride(from: thread, to: batches.count, by: threads) {
                        var lines = try FleetLines([])
                        lines.entries = batches[number]
                        let taken = try store.take(lines, from: visitors[number % gateways]).taken
                        guard taken == batch else {
                            throw Trouble(description: "of batch \(number) \(taken) were taken")
                        }
                    }
                })
            try empty(database)
            figures.takeWithReadingPerSecond.append(
                try rate(rows, database) { connection, thread in
                    let store = FleetStore(connection)
                    for number in stride(from: thread, to: batches.count, by: threads) {
                        _ = try store.take(FleetLines(wires[number]), from: visitors[number % gateways])
                    }
                })
        }
        try measureOverview(database, store, &figures)
        try measureSlope(database, store, visitors, millions, &figures)
        return figures
    }

    struct Trouble: Error, CustomStringConvertible {
        let description: String
    }

    // MARK: - Parts

    private static let start: Int64 = 1_770_000_000

    private static func entries(_ number: Int) -> [FleetEntry] {
        let gateway = number % gateways, round = number / gateways
        return (0..<batch).map { index in
            let bottle = index % 3, at = Instant(seconds: start + Int64(round * batch + index) * 600)
            let hex = String(gateway * 3 + bottle, radix: 16, uppercase: true)
            let address = "A4:C1:38:00:\(hex.count < 3 ? String(repeating: "0", count: 3 - hex.count) + hex : hex)"
            let drink = FleetEntry.Fact(
                at: at, zone: "UTC", day: DayCalendar(zone: .utc).day(of: at), ml: 100 + index % 400, changed: at)
            return FleetEntry(
                person: "person-\(gateway)-\(bottle)", store: "store-\(gateway)-\(bottle)",
                place: Int64(round * batch + index + 1),
                key: "\(address)|\(Zone.utc.wall(at: at))|\(100 + index % 400)",
                drink: drink, record: .init(raw: "1A020216151500100000016100", received: at))
        }
    }

    private static func text(_ entries: [FleetEntry], _ visitor: FleetVisitor) -> [UInt8] {
        var text = ""
        for entry in entries {
            guard let person = entry.person, let drink = entry.drink, let record = entry.record else { continue }
            text +=
                """
                \(person)\t\(entry.key)\t\(visitor.id)\t\(entry.store)\t0\t\(entry.place)\t\(entry.bottle ?? "\\N")\t\(drink.at.milliseconds)\t\(drink.zone)\t\(drink.day)\t\(drink.ml)\tf\t\(drink.changed.milliseconds)\t\(record.raw)\t\(record.received.milliseconds)\n
                """
        }
        return Array(text.utf8)
    }

    private static func empty(_ database: String) throws {
        try FleetConnection(database).script(
            "TRUNCATE entry, day_roll, stale, teller, audit, bottle, person; CHECKPOINT")
    }

    /// Rows a second of several threads, each over a connection of its own.
    private static func rate(
        _ rows: Int, _ database: String, _ body: @escaping @Sendable (FleetConnection, Int) throws -> Void
    ) throws -> Double {
        let failures = Failures()
        let began = ContinuousClock.now
        DispatchQueue.concurrentPerform(iterations: threads) { thread in
            do { try body(FleetConnection(database, statementLimit: .seconds(3600)), thread) } catch {
                failures.add("\(error)")
            }
        }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        if let failure = failures.first { throw Trouble(description: failure) }
        return Double(rows) / seconds
    }

    private final class Failures: @unchecked Sendable {
        private let lock = NSLock()
        private var words: [String] = []
        func add(_ text: String) { lock.withLock { words.append(text) } }
        var first: String? { lock.withLock { words.first } }
    }

    private static func measureOverview(_ database: String, _ store: FleetStore, _ figures: inout Figures) throws {
        try empty(database)
        let connection = try FleetConnection(database, statementLimit: .seconds(600))
        // Ten thousand people who drank eight times today, and every day of the week before.
        try connection.script(
            """
            INSERT INTO person (name) SELECT 'person-' || n FROM generate_series(1, 10000) n;
            INSERT INTO entry (person, key, gateway, store, place, at, zone, day, ml, deleted, changed)
            SELECT 'person-' || n, 'k' || d || '-' || i, 'g', 's', d * 10 + i, (\(start) + d * 86400 + i * 3600) * \
            1000::bigint, 'UTC', to_timestamp(\(start) + d * 86400)::date, 250, false, 1
            FROM generate_series(1, 10000) n, generate_series(0, 7) d, generate_series(1, 8) i;
            ANALYZE
            """)
        let began = ContinuousClock.now
        try FleetStore(connection).refresh()
        figures.refreshMilliseconds = (ContinuousClock.now - began) / .milliseconds(1)
        try connection.script("VACUUM ANALYZE")
        let now = Instant(seconds: start + 7 * 86_400 + 40_000)
        for _ in 0..<15 {
            let began = ContinuousClock.now
            figures.overviewPeople = try store.overview(now: now).people.count
            figures.overviewMilliseconds.append((ContinuousClock.now - began) / .milliseconds(1))
        }
    }

    private static func measureSlope(
        _ database: String, _ store: FleetStore, _ visitors: [FleetVisitor], _ millions: [Int], _ figures: inout Figures
    ) throws {
        try empty(database)
        let connection = try FleetConnection(database, statementLimit: .seconds(3600))
        var filled = 0, number = 0
        for wanted in millions {
            while filled < wanted {
                try connection.script(
                    """
                    INSERT INTO entry (person, key, gateway, store, place, bottle, at, zone, day, ml, deleted, \
                    changed, raw, received)
                    SELECT 'old-' || n % 30000, 'B0:00:00:00:00:' || n % 30000 || '|' || n || '|250', \
                    '0b9b8a3e-0000-4000-8000-100000000000', 's' || n % 30000, n, 'B' || n % 30000,
                        \(start)000 + n, 'UTC', date '2026-01-01' + n % 365, 250, false, 1, \
                    '1A020216151500100000016100', 1
                    FROM generate_series(\(filled)000000, \(filled + 1)000000 - 1) n;
                    TRUNCATE stale
                    """)
                filled += 1
            }
            try connection.script("CHECKPOINT")
            let began = ContinuousClock.now
            for _ in 0..<40 {
                var lines = try FleetLines([])
                lines.entries = entries(number)
                _ = try store.take(lines, from: visitors[number % gateways])
                number += 1
            }
            figures.slope.append(
                .init(
                    millionRows: wanted,
                    microsecondsPerEntry: (ContinuousClock.now - began) / .microseconds(1) / Double(40 * batch)))
        }
    }
}
