import Foundation
import Store
import Testing
import TrackerCore
import TrackerService

/// A drink counts once for every source, and undo never makes two versions of it count.
@Suite struct DrinkDeduplicationTests {
    private let fixture: TrackerFixture

    init() throws { fixture = try TrackerFixture() }

    private func total(_ fixture: TrackerFixture? = nil) throws -> Int {
        try (fixture ?? self.fixture).store.allDrinks().reduce(0) { $0 + $1.ml }
    }

    /// A record of a bottle in Berlin on 15 June 2026.
    private func record(_ time: String, _ ml: Int, bottle: String = "A4:C1:38:00:00:01", isDated: Bool = true) throws
        -> JournalEntry
    {
        let wall = try #require(WallTime("2026-06-15T\(time)"))
        let at = try #require(Instant(iso: "2026-06-15T\(time)+02:00"))
        return JournalEntry(
            bottle: bottle,
            raw: [
                0x1A, 6, isDated ? 15 : 40, UInt8(wall.hour), UInt8(wall.minute), UInt8(wall.second), UInt8(ml >> 8),
                UInt8(ml & 255), 0, 0, 1, 0x61, 0,
            ], wall: isDated ? wall : nil, amountMl: ml, received: at,
            verdict: isDated ? .drink(at: at, zone: "Europe/Berlin") : .quarantined(reason: "impossibleDate"))
    }

    @discardableResult
    private func take(_ text: String, _ fixture: TrackerFixture? = nil, at time: String = "23:00") throws
        -> ImportReport
    {
        try (fixture ?? self.fixture).tracker(time).importDrinks { feed in
            try Array(text.utf8).withUnsafeBytes { try feed($0) }
        }
    }

    /// An export of Apple Health.
    private func health(
        _ samples: [(start: String, value: String)], unit: String = "mL", source: String = "Some App",
        exportedAt: String = "2026-06-15 22:00:00 +0200"
    ) -> String {
        let records = samples.map {
            """
             <Record type="HKQuantityTypeIdentifierDietaryWater" sourceName="\(source)" unit="\(unit)" \
            creationDate="\($0.start)" startDate="\($0.start)" endDate="\($0.start)" value="\($0.value)"/>
            """
        }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <HealthData locale="de_DE">
             <ExportDate value="\(exportedAt)"/>
            \(records.joined(separator: "\n"))
            </HealthData>
            """
    }

    private static let sips = [("08:10:42", 102), ("08:10:55", 66), ("12:30:05", 150), ("17:00:59", 88)]

    /// Each as the bottle's own app can have written 102, 66, 150 and 88 ml.
    private static let written: [(unit: String, values: [String], isMinute: Bool)] = [
        ("mL", ["102", "66", "150", "88"], false), ("mL", ["102", "66", "150", "88"], true),
        ("L", ["0.102", "0.066", "0.15", "0.088"], true), ("fl_oz_us", ["3.45", "2.23", "5.07", "2.98"], true),
        ("fl_oz_us", ["3.4", "2.2", "5.1", "3"], false), ("fl_oz_imp", ["3.6", "2.3", "5.3", "3.1"], true),
    ]

    @Test(arguments: written, [true, false])
    func `an Apple Health sample that matches a bottle's drink adds nothing`(
        app: (unit: String, values: [String], isMinute: Bool), isPolledFirst: Bool
    ) throws {
        let samples = zip(Self.sips, app.values).map { sip, value in
            (start: "2026-06-15 \(app.isMinute ? sip.0.prefix(6) + "00" : sip.0) +0200", value: value)
        }
        func poll() throws { _ = try fixture.store.append(Self.sips.map { try record($0.0, $0.1) }) }
        if isPolledFirst { try poll() }
        let report = try take(health(samples, unit: app.unit))
        if !isPolledFirst { try poll() }
        #expect(try total() == 406)
        #expect(report.added == (isPolledFirst ? 0 : 4))
        #expect(report.remarks == (isPolledFirst ? ["4 drinks were already known from the bottle."] : nil))
        #expect(try take(health(samples, unit: app.unit)).added == 0 && total() == 406)
    }

    @Test func `a bottle's drink matches only one sample of its minute and amount`() throws {
        _ = try fixture.store.append([try record("08:10:42", 102)])
        let start = "2026-06-15 08:10:00 +0200"
        #expect(try take(health([(start, "102"), ("2026-06-15 08:10:30 +0200", "102")])).added == 1)
        #expect(try take(health([("2026-06-15 08:12:00 +0200", "102")], source: "Other")).added == 1)
    }

    private static let (morning, noon) = ("2026-06-14 08:00:00 +0200", "2026-06-14 12:30:00 +0200")

    @Test func `a newer export of a source replaces the older one`() throws {
        try take(health([(Self.morning, "250"), (Self.noon, "300")]))
        try take(health([(Self.morning, "200")], source: "Other App"))
        let edited = try take(health([(Self.morning, "250"), (Self.noon, "350")]))
        #expect(try total() == 800 && edited.added == 1 && edited.known == 1)
        #expect(edited.remarks == ["1 drink was removed: not in the newer export of the source."])
        try take(health([(Self.morning, "250")]))
        #expect(try total() == 450)
        try take(health([(Self.morning, "250"), (Self.noon, "300")], exportedAt: "2026-06-15 21:00:00 +0200"))
        #expect(try total() == 450, "an older export replaces nothing")
        try take(health([(Self.morning, "250"), (Self.noon, "300")]))
        #expect(try total() == 750, "edited back")
    }

    @Test func `a newer export keeps local corrections and deletions`() throws {
        try take(health([(Self.morning, "250"), (Self.noon, "300")]))
        let tracker = try fixture.tracker("22:30")
        let drinks = try fixture.store.drinks(on: try #require(LocalDay("2026-06-14")))
        _ = try tracker.edit("d\(drinks[0].number)", EntryChange(ml: 260))
        _ = try tracker.delete("d\(drinks[1].number)")
        for later in [
            health([(Self.morning, "250"), (Self.noon, "300")]), health([(Self.morning, "240"), (Self.noon, "350")]),
            health([(Self.noon, "300")]), health([("2026-06-14 07:00:00 +0200", "1")]),
        ] {
            try take(later)
            #expect(try total() - (fixture.store.allDrinks().first?.ml == 1 ? 1 : 0) == 260)
        }
    }

    @Test func `an import skips an excluded source and removes its earlier drinks`() throws {
        let file = health([(Self.morning, "250")]) + ""
        try take(file)
        _ = try fixture.tracker().set([("health.excludedSources", "Other, some app")])
        let report = try take(file)
        #expect(try total() == 0)
        #expect(report.remarks?.last == "1 drink was skipped: health.excludedSources contains its source.")
        _ = try fixture.tracker().set([("health.excludedSources", "")])
        try take(file)
        #expect(try total() == 250)
    }

    @Test func `an undo is refused when the drink was changed again later`() throws {
        let tracker = try fixture.tracker()
        let first = try tracker.logDrink(.ml(250)).drink
        let second = try tracker.edit("d\(first.number)", EntryChange(ml: 300)).asDrink()
        let third = try tracker.edit("d\(second.drink.number)", EntryChange(ml: 350)).asDrink()
        let refusal = #expect(throws: Refusal.self) { try tracker.undo(ofDrink: "d\(first.number)") }
        #expect(refusal?.code == "changedLater")
        #expect(try total() == 350)
        _ = try tracker.undo(ofDrink: "d\(third.drink.number)")
        #expect(try total() == 300)
        _ = try tracker.undo(ofDrink: "d\(first.number)")
        #expect(try total() == 250, "the later change was undone")
        _ = try tracker.undo()
        #expect(try total() == 0)
    }

    @Test func `an undo of today is refused when the drink was moved to another day and changed there`() throws {
        let tracker = try fixture.tracker()
        let first = try tracker.logDrink(.ml(250)).drink
        let yesterday = try tracker.moment("2026-06-14T12:00")
        let moved = try tracker.edit("d\(first.number)", EntryChange(at: yesterday)).asDrink()
        _ = try tracker.edit("d\(moved.drink.number)", EntryChange(ml: 400))
        #expect(throws: Refusal.self) { try tracker.undo(.today) }
        #expect(try total() == 400)
    }

    /// The water of a session, 8 oz, counted as a drink of the day.
    private func sessionWater() throws -> (tracker: TrackerAPI, entry: LogEntry, drink: StoredDrink) {
        let tracker = try fixture.tracker()
        _ = try tracker.set([("hydration.countSessionWater", "true")])
        _ = try tracker.startSession()
        let entry = try tracker.water(oz: 8).log
        return (tracker, entry, try #require(try tracker.drinksToday().first))
    }

    @Test func `session water keeps a manual change when its session entry changes`() throws {
        let (tracker, entry, drink) = try sessionWater()
        _ = try tracker.edit("d\(drink.number)", EntryChange(ml: 100))
        _ = try tracker.edit(entry.shortName, EntryChange(oz: 10))
        #expect(try total() == 100)
        let corrected = try #require(try tracker.drinksToday().first)
        _ = try tracker.edit("d\(corrected.number)", EntryChange(ml: 120))
        _ = try tracker.edit(entry.shortName, EntryChange(oz: 12))
        #expect(try total() == 120)
        _ = try tracker.delete("d\(try #require(try tracker.drinksToday().first).number)")
        _ = try tracker.edit(entry.shortName, EntryChange(oz: 9))
        #expect(try total() == 0)
        _ = try tracker.undo(.session)
        #expect(try total() == 0)
    }

    @Test func `deleting a session entry removes its correction and undo restores it`() throws {
        let (tracker, entry, drink) = try sessionWater()
        _ = try tracker.edit("d\(drink.number)", EntryChange(ml: 100))
        _ = try tracker.delete(entry.shortName)
        #expect(try total() == 0)
        #expect(throws: Refusal.self) { try tracker.undo(.drinks) }
        #expect(try total() == 0)
        _ = try tracker.undo(.session)
        #expect(try total() == 100)
        _ = try tracker.undo(.drinks)
        #expect(try total() == drink.ml)
    }

    enum Case: String, CaseIterable { case plain, otherAddress, datedByHand, corrected }

    @Test(arguments: Case.allCases, HealthFiles.Format.allCases)
    func `a drink counts once when it comes from an export and from the bottle`(kind: Case, format: HealthFiles.Format)
        throws
    {
        let isDated = kind != .datedByHand
        _ = try fixture.store.append([try record("08:10:42", 300, isDated: isDated)])
        let tracker = try fixture.tracker()
        if kind == .otherAddress { _ = try tracker.adoptBottle("A4:C1:38:00:00:02", as: "A4:C1:38:00:00:01") }
        if !isDated { _ = try tracker.dateRecord("r1", at: tracker.moment("08:10")) }
        if kind == .corrected { _ = try tracker.edit("d1", EntryChange(ml: 280)) }
        let counted = try total()
        var bytes: [UInt8] = []
        _ = try tracker.exportDrinks(format) { bytes += $0 }
        let text = String(decoding: bytes, as: UTF8.self)
        let delivered = try record(
            "08:10:42", 300, bottle: kind == .otherAddress ? "A4:C1:38:00:00:02" : "A4:C1:38:00:00:01",
            isDated: isDated)
        for isPolledFirst in [true, false] {
            let other = try TrackerFixture()
            if isPolledFirst { _ = try other.store.append([delivered]) }
            try take(text, other)
            _ = try other.store.append([delivered])
            try take(text, other)
            #expect(try total(other) == counted, "polled first: \(isPolledFirst)")
            #expect(try other.store.allDrinks().count == 1 && other.store.quarantineReasons().isEmpty)
        }
    }

    @Test func `an export is rejected when a record contradicts its drink`() throws {
        _ = try fixture.store.append([try record("08:10:42", 300)])
        var bytes: [UInt8] = []
        _ = try fixture.tracker().exportDrinks(.json) { bytes += $0 }
        let text = String(decoding: bytes, as: UTF8.self)
        for (part, other) in [("1A060F080A2A012C", "1A060F080A2A012D"), ("1A060F08", "XX060F08")] {
            try #require(text.contains(part))
            let fixture = try TrackerFixture()
            #expect(throws: HealthFileError.self) { try take(text.replacing(part, with: other), fixture) }
            #expect(try total(fixture) == 0)
        }
    }

    /// An export of version 0.9 has no record bytes: the drink keeps its key.
    @Test func `a record can be dated when an older export contained its drink`() throws {
        _ = try fixture.store.append([try record("08:10:42", 300, isDated: false)])
        _ = try fixture.tracker().dateRecord("r1", at: fixture.tracker().moment("08:10"))
        let key = try #require(try fixture.store.allDrinks().first?.key)
        let other = try TrackerFixture()
        try take("[{\"startDate\": \"2026-06-15T08:10:00+02:00\", \"value_ml\": 300, \"uuid\": \"\(key)\"}]", other)
        _ = try other.store.append([try record("08:10:42", 300, isDated: false)])
        _ = try other.tracker().dateRecord("r1", at: other.tracker().moment("09:00"))
        #expect(try total(other) == 300)
    }
}
