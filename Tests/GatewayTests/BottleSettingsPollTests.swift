import BottleProtocol
import Gateway
import GatewaySupport
import Testing
import TrackerCore

@Suite struct BottleSettingsPollTests {
    private static let address = "A4:C1:38:01:02:03"

    private func strict() throws -> BottleSettings {
        var settings = Settings()
        try settings.set([("bottle.recordDialect", "strict"), ("bottle.timeZone", "Asia/Tokyo")])
        return settings.bottle
    }

    private func poll(_ own: [AdoptedBottle], _ change: (inout PollOptions) -> Void = { _ in }) throws -> [JournalEntry]
    {
        var options = PollOptions(settings: Settings().bottle, zone: .utc)
        options.ownBottles = own
        change(&options)
        let (rig, report) = try polled(ScriptedBottle(records: drinks(1)), options: options)
        #expect(report.failure == nil, "\(report)")
        return rig.journal.entries
    }

    @Test func `a bottle's own settings apply to its polls`() throws {
        let plain = try poll([AdoptedBottle(identities: [Self.address])])
        #expect(plain.map(\.reading) == ["calendar/u16be"])
        let own = try poll([
            AdoptedBottle(identities: ["A4:C1:38:09:09:09"]),
            AdoptedBottle(identities: [Self.address], settings: strict()),
        ])
        #expect(own.map(\.reading) == ["strict/u8"])
    }

    @Test func `another bottle's settings do not apply`() throws {
        let entries = try poll([
            AdoptedBottle(identities: [Self.address]),
            AdoptedBottle(identities: ["A4:C1:38:09:09:09"], settings: strict()),
        ])
        #expect(entries.map(\.reading) == ["calendar/u16be"])
    }

    @Test func `options of a poll override the bottle's settings`() throws {
        let entries = try poll([AdoptedBottle(identities: [Self.address], settings: strict())]) {
            ($0.dialect, $0.isDialectExplicit) = (.calendar, true)
        }
        #expect(entries.map { $0.reading?.hasPrefix("calendar") } == [true])
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
            AdoptedBottle(identities: [Self.address], aliases: ["sink", "kitchen"], alias: "kitchen"),
        ]
        for (alias, called) in [(nil, "kitchen"), ("office", "kitchen"), ("mine", "kitchen")] as [(String?, String)] {
            var options = PollOptions(settings: Settings().bottle, zone: .utc)
            (options.ownBottles, options.alias) = (own, alias)
            let report = try polled(ScriptedBottle(records: drinks(1)), options: options).report
            #expect(report.bottle == called && report.identity == Self.address, "\(report)")
        }
    }
}
