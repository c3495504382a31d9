import TrackerService
import Testing
import TrackerCore

/// D4: export and import of health files, over the hour that Berlin repeats.
@Suite struct HealthVectors {
    static let table: [Vector] = [
        Vector("D4-01") {
            let drinks = try twoDrinks()
            let xml = HealthExport.text(.appleHealth, drinks)
            #expect(
                xml.contains("startDate=\"2026-10-25 02:30:00 +0200\"")
                    && xml.contains("endDate=\"2026-10-25 02:30:00 +0100\""))
            for text in [xml, HealthExport.text(.csv, drinks), HealthExport.text(.json, drinks)] {
                let samples = try HealthReader.samples(text)
                #expect(samples.map(\.at) == drinks.map(\.at))
                #expect(samples.map(\.ml) == drinks.map(\.ml))
                #expect(samples.map(\.uuid) == drinks.map(\.key))
            }
        },
        // A file that is read again gives the same keys, whatever its source.
        Vector("D4-02") {
            let foreign = """
                <HealthData><Record type="HKQuantityTypeIdentifierStepCount" unit="count" value="9" startDate="x"/>
                <Record type="HKQuantityTypeIdentifierDietaryWater" sourceName="Cup &amp; Co" unit="fl_oz_us" \
                value="8" \
                startDate="2026-10-25 02:30:00 +0200" endDate="2026-10-25 02:30:00 +0200"/></HealthData>
                """
            for text in [
                try HealthExport.text(.appleHealth, twoDrinks()), try HealthExport.text(.csv, twoDrinks()), foreign,
            ] {
                let samples = try (1...2).flatMap { _ in try HealthReader.samples(text) }
                let keys = Set(samples.map(\.importKey))
                if text == foreign {
                    #expect(keys.count == 1 && samples.allSatisfy { $0.ml == 237 })
                } else {
                    #expect(try keys == Set(twoDrinks().map(\.key)))
                }
            }
        },
        Vector("D4-03") {
            for (unit, value, ml) in [
                ("mL", "250", 250), ("L", "0.25", 250), ("fl_oz_us", "8.5", 251), ("cup_us", "1", 237),
            ] {
                let text =
                    """
                    <HealthData><Record type=\"HKQuantityTypeIdentifierDietaryWater\" unit=\"\(unit)\" \
                    value=\"\(value)\" startDate=\"2026-10-25 02:30:00 +0100\"/></HealthData>
                    """
                try #expect(HealthReader.samples(text).map(\.ml) == [ml])
            }
        },
    ]

    private static func twoDrinks() throws -> [Drink] {
        let calendar = DayCalendar(zone: try Zone("Europe/Berlin"))
        return try ["2026-10-25T00:30:00", "2026-10-25T01:30:00"].map { text in
            let at = try at(text)
            return Drink(
                key: "A4:C1|\(text)|100, \"<&\"", at: at, calendar: calendar, ml: 100, source: .bottle, updatedAt: at)
        }
    }

    /// Fractions of a second survive the round trip.
    @Test(arguments: [0, 1, 50, 999]) func `a JSON export keeps milliseconds`(rest: Int64) throws {
        let at = Instant(milliseconds: 1_792_888_200_000 + rest)
        let drink = Drink(
            key: "d", at: at, calendar: DayCalendar(zone: try Zone("Asia/Kathmandu")), ml: 100, source: .bottle,
            updatedAt: at)
        try #expect(HealthReader.samples(HealthExport.text(.json, [drink])).map(\.at) == [at])
        #expect(
            HealthExport.text(.json, [drink]).contains(
                rest == 0 ? ":00+05:45\"" : ".\(String(1000 + rest).dropFirst())+05:45\""))
    }
}
