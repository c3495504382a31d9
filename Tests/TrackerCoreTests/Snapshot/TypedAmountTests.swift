import Testing
import TrackerCore

@Suite struct TypedAmountTests {
    @Test(arguments: [
        ("250", 250), ("250ml", 250), ("250 ml", 250), ("25cl", 250), ("2.5 dl", 250), ("0.25l", 250), ("0,25 L", 250),
        (".5l", 500), ("8oz", 237), ("8 OZ", 237),
        ("12 fl oz", 355), ("16floz", 473), ("24oz", 710), ("0.5 ml", 1), ("0ml", 0), ("-5", -5),
        // As the programs print it; "1,250 l" has a decimal comma.
        ("1,250 ml", 1250), ("2,500ml", 2500), ("1,250 l", 1250), ("0.125 oz", 4), ("0,5ml", 1),
    ])
    func `amounts with units are parsed to millilitres`(text: String, ml: Int) { #expect(Amounts.parse(text) == ml) }

    @Test(arguments: [
        "", " ", "ml", "oz", "0.25", "1,000ml.", "1.2.3l", "8 ounces", "-8oz", "2 50", "1e3ml", "٣oz", "nan l",
        "99999999999999999999", "9e9l", "9999999999l", "8oz8", "1.250 ml", "1.000ml", "1,000 cl", "1,000 oz",
        "1,000,000 ml", ",250 ml", "1,000",
    ])
    func `invalid amounts are rejected`(text: String) { #expect(Amounts.parse(text) == nil) }

    @Test func `amount settings accept units and keep their range`() throws {
        var settings = Settings()
        try settings.set("hydration.goalMl", to: "64oz")
        try settings.set("hydration.cupMl", to: "0.33l")
        #expect(settings.goalMl == 1893 && settings.cupMl == 330)
        #expect(throws: (any Error).self) { try settings.set("hydration.goalMl", to: "8oz") }
        #expect(throws: (any Error).self) { try settings.set("reminders.maxPerDay", to: "8ml") }
        #expect(settings.goalMl == 1893)
    }
}
