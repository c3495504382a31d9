import BottleProtocol
import Gateway
import GatewaySupport
import Testing
import TrackerCore

@Suite struct BottleSettingsPollTests {
    private func strict() throws -> BottleSettings {
        var settings = Settings()
        try settings.set([("bottle.recordDialect", "strict"), ("bottle.timeZone", "Asia/Tokyo")])
        return settings.bottle
    }

    @Test(arguments: [
        ("", false, "calendar/u16be"), (ownAddress, false, "strict/u8"), ("A4:C1:38:09:09:09", false, "calendar/u16be"),
        (ownAddress, true, "calendar"),
    ])
    func `a bottle's own settings apply to its polls unless the poll has options`(
        strictBottle: String, isExplicit: Bool, reading: String
    ) throws {
        var options = PollOptions(settings: Settings().bottle, zone: .utc)
        options.ownBottles = try ["A4:C1:38:09:09:09", ownAddress].map {
            AdoptedBottle(identities: [$0], settings: $0 == strictBottle ? try strict() : nil)
        }
        if isExplicit { (options.dialect, options.isDialectExplicit) = (.calendar, true) }
        let (rig, report) = try polled(ScriptedBottle(records: drinks(1)), options: options)
        #expect(report.failure == nil, "\(report)")
        #expect(rig.journal.entries.map { $0.reading?.hasPrefix(reading) } == [true])
    }

    @Test func `a bottle's own time zone applies to its clock`() throws {
        let zones = [nil, try strict()].map {
            PollOptions(settings: Settings().bottle, zone: .utc).applyingSettings(
                of: AdoptedBottle(identities: [], settings: $0)
            )
            .zone
            .id
        }
        #expect(zones == [Zone.utc.id, "Asia/Tokyo"])
    }

    @Test func `two bottles keep separate aliases`() throws {
        let own = [
            AdoptedBottle(identities: ["A4:C1:38:09:09:09"], aliases: ["office"], alias: "office"),
            AdoptedBottle(identities: [ownAddress], aliases: ["sink", "kitchen"], alias: "kitchen"),
        ]
        for (alias, called) in [(nil, "kitchen"), ("office", "kitchen"), ("mine", "kitchen")] as [(String?, String)] {
            var options = PollOptions(settings: Settings().bottle, zone: .utc)
            (options.ownBottles, options.alias) = (own, alias)
            let report = try polled(ScriptedBottle(records: drinks(1)), options: options).report
            #expect(report.bottle == called && report.identity == ownAddress, "\(report)")
        }
    }
}
