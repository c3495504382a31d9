import Testing

@testable import TrackerCore

/// Section 11: defaults, ranges, and the state after a rejection.
@Suite struct SettingsTests {
    /// Name, default, valid values, invalid values.
    static let rows: [(String, String, [String], [String])] = [
        ("day.boundaryHour", "4", ["0", "6"], ["-1", "7", "4.5", "x", ""]),
        ("day.zone", "", ["Europe/Berlin", "UTC", "system"], ["Mars/Base", "PST", "GMT+2", "europe/berlin"]),
        ("hydration.goalMl", "2500", ["500", "5000"], ["499", "5001", "1e3", "9999999999999999999999"]),
        ("hydration.glassMl", "200", ["50", "1000"], ["49", "1001"]),
        ("hydration.cupMl", "250", ["100", "200", "250", "330", "500"], ["300", "0"]),
        (
            "hydration.quickAddMl", "100,250,500", ["1,2000", " 30 , 40 ", "100, 8oz", "8.5 oz,4oz"],
            ["0", "2001", "1,,2", "a", "", "8,5 oz", "100,8oz"]
        ),
        ("hydration.countSessionWater", "false", ["true", "on"], ["maybe"]),
        ("hydration.units", "", ["oz", "L", "ml", "unset"], ["cups", "gal"]),
        ("schedule.wake", "07:00", ["04:00", "11:45"], ["03:45", "12:00", "07:10", "7", "25:00"]),
        ("schedule.sleep", "22:00", ["18:00", "23:45"], ["17:45", "24:00", "22:05"]),
        ("schedule.interval.wake", "", ["08:00", "unset"], ["12:00", "08:01"]),
        ("schedule.interval.sleep", "", ["20:00"], ["17:00"]),
        ("schedule.adaptive.start", "", ["8", "08:00"], ["8:30", "3", "12"]),
        ("schedule.adaptive.end", "", ["22", ""], ["17", "24"]), ("reminders.enabled", "true", ["false"], ["2"]),
        ("reminders.engine", "pace", ["pace", "interval", "adaptive", "all"], ["none", "both"]),
        ("reminders.dailyLimit", "true", ["off", "n"], ["x"]), ("reminders.maxPerDay", "8", ["1", "24"], ["0", "25"]),
        ("reminders.backOnTrack", "false", ["yes", "Y"], ["ja"]),
        ("reminders.minDeficitMl", "50", ["0", "500"], ["-1", "501"]),
        ("pace.mode", "continuous", ["wholeHours"], ["hours"]),
        ("pace.thresholdPercent", "20", ["1", "100"], ["0", "101"]),
        ("pace.testMode", "false", ["1"], ["x"]),
        ("adaptive.intervalHours", "2", ["0.5", "6"], ["0.4", "6.5", "0.75", "nan"]),
        ("notify.desktop", "true", ["no"], [""]), ("notify.sound", "true", ["no"], [""]),
        ("notify.timeSensitiveCritical", "true", ["0"], ["x"]),
        ("bottle.alias", "", ["kitchen"], [String(repeating: "x", count: 65), "a\u{7}b"]),
        ("bottle.timeZone", "", ["Asia/Tokyo"], ["Nowhere"]),
        ("bottle.recordDialect", "calendar", ["strict"], ["loose"]),
        ("bottle.amountWidth", "", ["u8", "u16be"], ["u32"]),
        ("bottle.scanTimeoutS", "10", ["1", "60", "2.5"], ["0", "61", "inf"]),
        ("bottle.connectTimeoutS", "5", ["1", "60"], ["0.5"]),
        ("bottle.readDelayS", "0.5", ["0", "5"], ["-0.1", "5.1"]),
        ("bottle.hold", "watching", ["never", "always"], ["sometimes", ""]),
        ("bottle.pollWhenIdle", "true", ["false"], ["x"]),
        ("bottle.maxRecordAgeDays", "180", ["1", "360"], ["0", "361"]),
        ("bottle.mode", "take-over", ["share"], ["both", ""]), ("bottle.trustClock", "false", ["true"], ["x"]),
        ("bottle.light", "false", ["true"], ["red"]), ("bottle.showGoal", "false", ["true"], ["2500"]),
        ("waterline.waterEveryNDrinks", "1", ["1", "10"], ["0", "11"]),
        ("waterline.timeReminders", "true", ["false"], ["x"]),
        ("waterline.intervalMinutes", "20", ["10", "15", "20", "30", "45", "60"], ["5", "25"]),
        ("waterline.warningThreshold", "2", ["1", "10"], ["0", "2.5"]),
        ("waterline.defaultWaterOz", "8", ["1", "32"], ["0", "33"]), ("waterline.units", "oz", ["ml"], ["cl"]),
        ("waterline.discreet", "true", ["false"], ["x"]), ("waterline.shared", "false", ["true"], ["x"]),
        ("waterline.defaultPreset", "", ["p1"], ["\n"]),
        ("waterline.bottleWater", "accumulate", ["perSip", "off"], ["all"]),
        ("week.firstDay", "monday", ["sunday", "saturday"], ["friday"]), ("health.enabled", "false", ["true"], ["x"]),
        ("health.inbox", "", ["/home/me/phone"], ["phone"]),
        ("health.excludedSources", "", ["WaterH", "WaterH, Some App"], ["a\u{7}"]),
        ("sync.url", "", ["https://example.org/api", "http://127.0.0.1:1"], ["ftp://x", "https://", "x"]),
        ("sync.token", "", ["s3cret-0.~"], ["a b", "ä"]),
        ("sync.tokenFile", "", ["/run/secrets/sync"], ["relative/file"]),
        ("http.listen", "127.0.0.1:8077", ["0.0.0.0:80", "[::1]:8077"], ["8077", "host:99999", "::1:80", ":80"]),
        ("http.publicUrl", "", ["https://shelf.example"], ["shelf.example", "ftp://h"]),
        ("mqtt.url", "", ["mqtt://h", "mqtts://h:8883"], ["http://h"]),
        ("mqtt.prefix", "hydration", ["a/b"], ["/a", "a/", "a+b", "#", "$SYS", ""]),
        ("mqtt.commands", "false", ["true"], ["x"]),
        ("mqtt.user", "", ["me"], ["a\u{7}"]), ("mqtt.password", "", ["s3cret", "a b ä"], ["a\u{7}"]),
        ("mqtt.passwordFile", "", ["/run/secrets/mqtt"], ["mqtt"]),
        ("mqtt.caFile", "", ["/etc/ca.pem"], ["ca.pem"]), ("mqtt.certificateFile", "", ["/etc/me.pem"], ["me.pem"]),
        ("mqtt.keyFile", "", ["/etc/me.key"], ["me.key"]),
        ("mqtt.discovery", "true", ["false"], ["x"]),
        ("mqtt.discoveryPrefix", "homeassistant", ["home/discovery"], ["a/#", ""]),
        (
            "ntfy.url", "", ["https://ntfy.example/my-water", "http://[::1]:80/t/"],
            [
                "ntfy.example/x", "mqtt://h/x", "https://ntfy.sh", "https://ntfy.sh/", "https://ntfy.sh/a%20b",
                "https://ntfy.sh/t?x=/y", "https://me:pw@h/t", "https://h:0/t", "https://h:99999/t", "https://:80/t",
            ]
        ), ("ntfy.token", "", ["tk_s3cret"], ["a b"]),
        ("ntfy.tokenFile", "", ["/run/credentials/ntfy"], ["ntfy"]), ("ntfy.caFile", "", ["/etc/ca.pem"], ["ca.pem"]),
        ("webhook.url", "", ["https://hook.example/x"], ["hook.example"]),
        ("webhook.secret", "", ["whsec_s3cret"], ["a b"]),
        ("webhook.secretFile", "", ["/run/credentials/webhook"], ["webhook"]),
        ("webhook.caFile", "", ["/etc/ca.pem"], ["ca.pem"]),
    ]

    @Test func `the settings table is complete`() {
        #expect(Settings.catalogue.map(\.name) == Self.rows.map(\.0))
        for (name, value, _, _) in Self.rows { #expect(Settings().value(of: name)?.text == value, "\(name)") }
    }

    @Test(arguments: rows.indices) func `values out of range are rejected`(_ row: Int) throws {
        let (name, _, taken, refused) = Self.rows[row]
        for value in taken {
            var settings = Settings()
            try settings.set(name, to: value)
            // Stored values are restored unchanged.
            let restored = Settings.restored(from: settings.stored)
            #expect(restored.settings == settings && restored.invalid.isEmpty)
        }
        for value in refused {
            var settings = Settings()
            let refusal = #expect(throws: SettingRefusal.self) { try settings.set(name, to: value) }
            #expect(settings == Settings())
            #expect(refusal?.description.contains(name) == true && refusal?.rule.isEmpty == false, "\(name)")
        }
    }

    @Test func `an ntfy address without a topic is rejected`() throws {
        var settings = Settings()
        let refusal = #expect(throws: SettingRefusal.self) { try settings.set("ntfy.url", to: "https://ntfy.sh") }
        #expect(refusal?.rule.contains("the address of a topic, such as https://ntfy.example/my-water") == true)
        #expect(NtfyTopic("https://h/sub/my-water/").map { [$0.server, $0.topic] } == ["https://h/sub/", "my-water"])
    }

    @Test func `inconsistent hours are rejected`() throws {
        var settings = Settings()
        try settings.set("schedule.wake", to: "05:00")
        #expect(throws: SettingRefusal.self) { try settings.set("day.boundaryHour", to: "6") }
        #expect(settings.boundaryHour == 4)
        #expect(throws: SettingRefusal.self) { try settings.set("hydration.unknown", to: "1") }
        // A form is applied completely or not at all.
        #expect(throws: SettingRefusal.self) {
            try settings.set([("hydration.goalMl", "3000"), ("schedule.wake", "12:00")])
        }
        #expect(settings.goalMl == 2500)
        try settings.set([("day.boundaryHour", "6"), ("schedule.wake", "06:00")])
        #expect(settings.boundaryHour == 6)
    }

    @Test func `unknown presets are rejected`() {
        var settings = Settings()
        #expect(throws: SettingRefusal.self) {
            try settings.set("waterline.defaultPreset", to: "gone", presets: ["p1"])
        }
        #expect(throws: Never.self) { try settings.set("waterline.defaultPreset", to: "p1", presets: ["p1"]) }
    }

    @Test func `invalid stored settings are reported`() {
        let (settings, invalid) = Settings.restored(from: [
            "hydration.goalMl": "9", "schedule.wake": "04:00", "day.boundaryHour": "5",
        ])
        #expect(settings == Settings())
        #expect(invalid.count == 2)
    }

    @Test(arguments: Settings.removedNames.sorted())
    func `a removed setting is ignored in a store and rejected by name`(name: String) {
        let (settings, invalid) = Settings.restored(from: [name: "x"])
        #expect(settings == Settings() && invalid.isEmpty)
        var changed = Settings()
        let refusal = #expect(throws: SettingRefusal.self) { try changed.set(name, to: "x") }
        #expect(refusal?.sentence == "unknown setting '\(name)': removed in 0.10")
        #expect(refusal?.code == "noSuchSetting")
    }
}
