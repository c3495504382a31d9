import Testing

@testable import TrackerCore

@Suite struct AmountUnitsTests {
    @Test(arguments: [
        (0, "0 ml", "0 l", "0 oz", "0.0L", "0oz"), (237, "237 ml", "0.237 l", "8 oz", "0.2L", "8oz"),
        (250, "250 ml", "0.25 l", "8.5 oz", "0.2L", "8oz"), (710, "710 ml", "0.71 l", "24 oz", "0.7L", "24oz"),
        (1250, "1,250 ml", "1.25 l", "42.3 oz", "1.2L", "42oz"),
        (2500, "2,500 ml", "2.5 l", "84.5 oz", "2.5L", "85oz"),
    ])
    func `amounts, short forms and deficits have each unit`(
        _ ml: Int, _ inMl: String, _ inL: String, _ inOz: String, _ short: String, _ shortOz: String
    ) {
        #expect([AmountUnits.ml, .l, .oz].map { $0.text(ml) } == [inMl, inL, inOz])
        #expect([AmountUnits.ml, .l, .oz].map { $0.short(ml) } == [short, short, shortOz])
    }

    @Test func `every reminder shows the same rounded deficit`() {
        #expect([AmountUnits.ml, .l, .oz].map { $0.deficit(340) } == ["350ml", "0.35l", "11oz"])
        #expect([AmountUnits.ml, .l, .oz].map { $0.deficit(1230) } == ["1.2L", "1.25l", "42oz"])
        #expect(StatusText.short(deficitMl: 340, totalMl: 100, goalMl: 2500, in: .oz) == "11oz to catch up")
        #expect(StatusText.long(deficitMl: 340, totalMl: 100, goalMl: 2500, in: .oz) == "11 oz behind target")
        #expect(StatusText.long(deficitMl: 340, totalMl: 100, goalMl: 2500, in: .l) == "0.35 l behind target")
        #expect(
            NotificationTexts.pace(.overdue, deficitMl: 340, in: .oz).body
                == "You're falling behind! Drink 11oz to catch up.")
        #expect(
            NotificationTexts.adaptive(mlPerHour: 237, in: .oz).body
                == "You need about 8 oz per hour to hit your goal. Tap to log!")
        #expect(
            NotificationTexts.adaptive(mlPerHour: 1250).body
                == "You need about 1,250 ml per hour to hit your goal. Tap to log!")
    }

    @Test(arguments: AmountUnits.allCases)
    func `a displayed amount can be parsed`(_ units: AmountUnits) throws {
        for ml in stride(from: 0, through: 5000, by: 7) {
            let typed = try #require(Amounts.parse(units.text(ml)), "\(units.text(ml))")
            #expect(abs(typed - ml) <= (units == .oz ? 2 : 0), "\(ml) ml as \(units.text(ml))")
        }
    }
}
