import BottleProtocol
import GatewaySupport
import GRDB
import Store
import Support
import Testing
import TrackerCore

@Suite final class BottleSettingsTests: StoreFixture {
    let now = context(at: sampleInstant)

    override init() throws {
        try super.init()
        _ = try store.append([entry("A4:C1:38:00:00:01"), entry("A4:C1:38:00:00:02")])
    }

    @Test func `a bottle's own settings override the store's`() throws {
        try store.changeSettings([("bottle.timeZone", "Asia/Tokyo"), ("bottle.maxRecordAgeDays", "90")], now)
        #expect(try store.ownSettings(ofBottle: "A4:C1:38:00:00:01") == nil)
        let changed = try store.changeSettings(
            [("bottle.recorddialect", "strict"), ("bottle.timeZone", "")], ofBottle: "A4:C1:38:00:00:01")
        #expect(changed.own == ["bottle.recordDialect", "bottle.timeZone"])
        let own = try #require(try store.ownSettings(ofBottle: "A4:C1:38:00:00:01"))
        #expect(own.recordDialect == .strict && own.zone == nil && own.maxRecordAgeDays == 90)
        #expect(try store.ownSettings(ofBottle: "A4:C1:38:00:00:02") == nil)
        // The store's settings still apply to values that the bottle does not override.
        try store.changeSettings([("bottle.maxRecordAgeDays", "30")], now)
        #expect(try store.ownSettings(ofBottle: "A4:C1:38:00:00:01")?.maxRecordAgeDays == 30)
        #expect(try store.settings().bottle.recordDialect == .calendar)
        let back = try store.changeSettings(
            [("bottle.recordDialect", nil), ("bottle.timeZone", nil)], ofBottle: "A4:C1:38:00:00:01")
        let all = try store.settings().bottle
        #expect(back.own.isEmpty && back.settings.bottle == all)
        #expect(try store.ownSettings(ofBottle: "A4:C1:38:00:00:01") == nil)
    }

    @Test(arguments: [
        ("hydration.goalMl", "2000", "settingRule"), ("bottle.recordDialect", "loose", "settingRule"),
        ("bottle.colour", "red", "noSuchSetting"),
        ("bottle.alias", "", "settingRule"),
    ]) func `a rejected setting changes nothing`(name: String, text: String, code: String) throws {
        let problem = #expect(throws: SettingRefusal.self) {
            try store.changeSettings([("bottle.maxRecordAgeDays", "30"), (name, text)], ofBottle: "A4:C1:38:00:00:01")
        }
        #expect(problem?.code == code)
        #expect(try store.ownSettings(ofBottle: "A4:C1:38:00:00:01") == nil)
    }

    @Test func `settings of an unknown bottle are rejected and a name works as an address`() throws {
        #expect(throws: Refusal.self) { try store.changeSettings([("bottle.readDelayS", "1")], ofBottle: "kitchen") }
        try store.changeSettings([("bottle.alias", "kitchen")], ofBottle: "A4:C1:38:00:00:02")
        try store.changeSettings([("bottle.readDelayS", "1")], ofBottle: "kitchen")
        #expect(try store.ownSettings(ofBottle: "A4:C1:38:00:00:02")?.readDelaySeconds == 1)
        #expect(try store.bottles().map(\.name) == ["A4:C1:38:00:00:01", "kitchen"])
    }

    @Test func `an invalid value of a bottle falls back to the store's setting`() throws {
        try store.changeSettings([("bottle.maxRecordAgeDays", "30")], ofBottle: "A4:C1:38:00:00:01")
        try scratch.withDatabase { try $0.execute(sql: "UPDATE bottle_setting SET value = '9223372036854775808'") }
        #expect(try store.ownSettings(ofBottle: "A4:C1:38:00:00:01")?.maxRecordAgeDays == 180)
    }
}
