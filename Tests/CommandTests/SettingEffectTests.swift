import Bluetooth
import BottleProtocol
import Foundation
import Gateway
import GatewaySupport
import HomeAssistant
import Notifications
import Store
import Support
import Synchronization
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

/// Every setting has a visible effect.
///
/// `SettingEffects` has a value and an observation for each. The same steps run with and without the setting.
@Suite struct SettingEffectTests {
    static let names = Settings.catalogue.map(\.name)

    /// Settings with the same observation share the run without a setting.
    static let groups: [[String]] = Dictionary(grouping: names) { SettingEffects.table[$0]?.observation.key ?? $0 }
        .values.sorted { $0[0] < $1[0] }

    @Test func `every effect belongs to a setting`() {
        #expect(Set(SettingEffects.table.keys).subtracting(Self.names).isEmpty)
    }

    @Test(arguments: groups) func `every setting has an observable effect`(_ names: [String]) async throws {
        let effects = try names.map { name in
            try #require(SettingEffects.table[name], "\(name) has no observation: wire it up, or delete it")
        }
        let unset = try await effects[0].observe(setting: nil)
        // A difference is meaningful only if repeated runs agree.
        #expect(try await effects[0].observe(setting: nil) == unset, "repeated observations differ")
        for (name, effect) in zip(names, effects) {
            let set = try await effect.observe(setting: (name, effect.value))
            #expect(set != unset, "\(name) = \(effect.value) changes nothing in:\n\(unset)")
        }
    }
}

/// A value of a setting and its observation.
struct SettingEffect: Sendable {
    enum Observation: Sendable {
        /// The state after each of these steps of a day in the library, each after its time, and the notifications of a
        /// `check`, or the poll schedule. The setting is set first.
        case day([String])
        /// The output of these `waterh-tracker` lines, each after its time of day on one date. `*` marks where the
        /// setting is set (default: the beginning), and `files` lists the files next to the store.
        case commands([String])
        /// Values of the report of a poll of a bottle with one new drink of 300 ml, in a session.
        case poll
        /// The result of the gateway's engine with the setting.
        case engine(@Sendable (Settings) throws -> String)

        /// Equal for equal observations; `nil` if they cannot be compared.
        var key: String? {
            switch self {
            case .day(let steps): "day \(steps)"
            case .commands(let lines): "commands \(lines)"
            case .poll: "poll"
            case .engine: nil
            }
        }
    }

    var value: String
    var observation: Observation

    func observe(setting: (name: String, value: String)?) async throws -> String {
        let change = setting.map { ["settings", "set", $0.name, $0.value] }
        switch observation {
        case .day(let steps): return try await Self.runDay(steps, setting)
        case .commands(let lines): return try await EffectRun().runLines(lines, change)
        case .poll: return try await EffectRun().poll(change)
        case .engine(let evaluate):
            var settings = Settings()
            if let setting { try settings.set(setting.name, to: setting.value) }
            return try evaluate(settings)
        }
    }

    private static func runDay(_ steps: [String], _ setting: (name: String, value: String)?) async throws -> String {
        let (store, zone) = (try TrackerStore(inMemory: "Europe/Berlin"), try Zone("Europe/Berlin"))
        let count = Mutex(0)
        func tracker(at time: String) throws -> TrackerAPI {
            try TrackerAPI(
                store, now: TimeText.parse("2026-06-15T\(time)", now: nil, zone: zone),
                zone: ZoneChoice(named: nil, machine: zone), source: "test",
                makeID: {
                    count.withLock { count in
                        count += 1
                        return "id-\(count)"
                    }
                })
        }
        if let setting { _ = try tracker(at: "05:00").set([(name: setting.name, text: setting.value)]) }
        var output = ""
        for step in steps {
            let words = step.split(separator: " ").map(String.init)
            let now = try tracker(at: words[0])
            switch words[1] {
            case "set": _ = try now.set([(name: words[2], text: words[3])])
            case "log": _ = try now.logDrink(try #require(Amount(words[2])))
            case "session": _ = try now.startSession()
            case "drink": _ = try now.drink()
            case "water": _ = try now.water()
            case "check": output += try TrackerAPI.json(await now.deliver([MemorySink()])) + "\n"
            case "schedule": output += "\(try now.pollSchedule())\n"
            default: try #require(words[1] == "state", "unknown step \(step)")
            }
            output += try TrackerAPI.json(now.state()) + "\n"
        }
        return output
    }
}

private struct EffectRun {
    private let home: Home
    private var folder: TemporaryFolder { home.folder }

    init() throws {
        home = try Home(["WATERH_ZONE": ""])
        let record = """
            <Record type="HKQuantityTypeIdentifierDietaryWater" sourceName="Some App" unit="mL" \
            startDate="2026-06-15 08:00:00 +0200" value="250"/>
            """
        try folder.write("<HealthData>\(record)</HealthData>", to: "health.xml")
    }

    @discardableResult
    private func tracker(_ words: [String], in zone: [String: String] = [:]) async throws -> String {
        let result = try await Program.tracker.run(words, environment: home.with(zone).environment)
        return "\(result.output)\(result.error)exit \(result.exitCode)\n"
    }

    func runLines(_ lines: [String], _ change: [String]?) async throws -> String {
        var output = ""
        var steps = lines
        if !steps.contains(where: { $0.hasSuffix("*") }) { steps.insert("05:00 *", at: 0) }
        for line in steps {
            let words = line.replacing("FOLDER", with: folder.path).split(separator: " ").map(String.init)
            let now = ["--now", "2026-06-15T\(words[0])"]
            switch words[1] {
            case "*":
                guard let change else { continue }
                let done = try await tracker(change + now, in: ["TZ": "Europe/Berlin"])
                #expect(done.hasSuffix("exit 0\n"), "\(done)")
            case "files":
                let files = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
                output += files.filter { !$0.contains("sqlite") }.sorted().joined(separator: "\n")
            default: output += try await tracker(words.dropFirst() + now, in: ["TZ": "Europe/Berlin"])
            }
        }
        return output.replacing(folder.path, with: "~")
    }

    func poll(_ change: [String]?) async throws -> String {
        let pair = try await Pair()
        if let change { try await tracker(change) }
        // A bottle counts whole seconds: the session must start before the drink.
        try await tracker([
            "session", "start", "--now",
            Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000) - 60_000).description,
        ])
        try await pair.sip(300)
        let result = try await Program.gateway.run(
            "poll --link \(pair.socket) --json --keep", environment: home.environment)
        let report = try result.object()
        return ["bottle", "clockDriftSeconds", "state.dailyTotalMl", "state.waterline.waters"].map { name in
            let value = name.split(separator: ".").reduce(report as Any?) { ($0 as? [String: Any])?[String($1)] }
            // The bottle's clock is off by hours or correct. Differences of a second are due to the machine.
            if name == "clockDriftSeconds", let seconds = value as? Int {
                return "\(name) about \((Double(seconds) / 3600).rounded()) h"
            }
            return "\(name) \(value.map { "\($0)" } ?? "nothing")"
        }.joined(separator: ", ")
    }
}

/// The observation for each setting, keyed by name.
enum SettingEffects {
    private static let noon = ["12:00 log 600", "12:01 state"]
    private static let adaptive = "05:01 set reminders.engine adaptive"
    private static let session = [
        "20:00 session", "20:10 drink", "20:20 drink", "20:30 water", "20:31 state", "21:30 check",
    ]
    private static let water = ["20:00 session start", "20:30 water"]

    private static func day(_ value: String, _ steps: [String]) -> SettingEffect {
        SettingEffect(value: value, observation: .day(steps))
    }
    private static func commands(_ value: String, _ lines: [String]) -> SettingEffect {
        SettingEffect(value: value, observation: .commands(lines))
    }
    private static func poll(_ value: String) -> SettingEffect { SettingEffect(value: value, observation: .poll) }
    private static func engine(_ value: String, _ evaluate: @escaping @Sendable (Settings) throws -> String)
        -> SettingEffect
    { SettingEffect(value: value, observation: .engine(evaluate)) }

    /// The commands that a poll writes to a bottle.
    private static func writtenCommands(_ settings: Settings) throws -> String {
        var bottle = ScriptedBottle(records: [drink])
        bottle.snapshot = [2, 2, 87] + [7, 3, 0x1A, 2, 2, 22, 30, 0] + [3, 5, 0x07, 0xD0]
        var rig = EngineRig(
            options: PollOptions(settings: settings.bottle, zone: .utc, goalMl: settings.goalMl), peer: bottle,
            start: after)
        try rig.run()
        return rig.requests.compactMap {
            if case .write(_, let value, _) = $0 { HostCommand(decoding: value).meaning } else { nil }
        }.joined(separator: ", ")
    }

    /// The connection parameters for a broker.
    private static func broker(
        _ value: String, _ before: @escaping @Sendable (inout Settings) throws -> Void = { _ in }
    ) -> SettingEffect {
        engine(value) { settings in
            var settings = settings
            try settings.set("mqtt.url", to: "mqtts://h")
            try before(&settings)
            return try MQTTPlan(settings.service).map { "\($0)" } ?? "no broker"
        }
    }

    /// The connection parameters for a phone channel.
    private static func phone(
        _ service: NotificationChannel, _ value: String, _ before: [(name: String, text: String)]
    ) -> SettingEffect {
        engine(value) { settings in
            var settings = settings
            try settings.set(before)
            do { return try NotificationTarget(service, settings.service).map { "\($0)" } ?? "none" } catch {
                return "\(error)"
            }
        }
    }

    /// The token that the sync client sends, or the error of its file.
    private static func syncToken(_ value: String) -> SettingEffect {
        engine(value) { settings in
            var settings = settings
            try settings.set("sync.url", to: "http://127.0.0.1:9/sync")
            do { return try SyncClient(settings)?.token ?? "none" } catch { return "\(error)" }
        }
    }

    static let table: [String: SettingEffect] = [
        "day.boundaryHour": day("0", ["02:00 log 200", "12:00 state"]), "day.zone": day("Asia/Tokyo", noon),
        "hydration.goalMl": day("3000", noon), "hydration.glassMl": day("300", noon),
        "hydration.cupMl": day("330", ["12:00 log cup"]), "hydration.quickAddMl": day("111,222", ["12:00 log quick2"]),
        "hydration.units": day("oz", noon), "hydration.countSessionWater": day("true", session),
        "schedule.wake": day("09:00", noon), "schedule.sleep": day("20:00", noon),
        "schedule.interval.wake": day("11:00", ["10:00 state"]),
        "schedule.interval.sleep": day("18:00", ["19:00 state"]),
        "schedule.adaptive.start": day("11", [adaptive, "09:30 check"]),
        "schedule.adaptive.end": day("18", [adaptive, "17:30 check", "19:30 check"]),
        "reminders.enabled": day("false", ["12:00 check"]),
        "reminders.engine": day("interval", ["12:00 check"]),
        "reminders.dailyLimit": day(
            "false", ["05:01 set reminders.maxPerDay 1", "07:20 check", "12:00 check"]),
        "reminders.maxPerDay": day("1", ["07:20 check", "12:00 check"]),
        "reminders.backOnTrack": day("true", ["12:00 check", "12:01 log 1500", "12:02 check"]),
        "reminders.minDeficitMl": day("500", ["07:20 check"]), "pace.mode": day("wholeHours", ["07:59 state"]),
        "pace.thresholdPercent": day("1", ["07:30 state"]), "pace.testMode": day("true", ["08:30 state"]),
        "adaptive.intervalHours": day("4", [adaptive, "09:30 check"]),
        "notify.desktop": commands("false", ["12:00 check --doctor"]), "notify.sound": day("false", ["12:00 check"]),
        "notify.timeSensitiveCritical": day("false", ["12:00 check"]),

        "bottle.alias": poll("kitchen"), "bottle.timeZone": poll("Asia/Tokyo"), "bottle.recordDialect": poll("strict"),
        "bottle.amountWidth": poll("u8"),
        "bottle.scanTimeoutS": engine("30") { try "\(radioPoll($0).requests.count { $0 == .startScan }) scans" },
        "bottle.connectTimeoutS": engine("7") { settings in
            try radioPoll(settings, isSilent: false).requests.compactMap {
                if case .connect(_, let limit) = $0 { "\(limit)" } else { nil }
            }.joined()
        },
        "bottle.readDelayS": engine("2") { settings in
            let bottle = ScriptedBottle(.draft, records: [drink], properties: [.read])
            var rig = EngineRig(options: PollOptions(settings: settings.bottle, zone: .utc), peer: bottle, start: after)
            return try "\(rig.run().duration)"
        },
        "bottle.hold": engine("always") { settings in
            let now = MonotonicInstant(nanoseconds: 0)
            return HoldRequest(settings.bottle.hold, viewers: nil, interval: .every(seconds: 600), now: now).map {
                "\($0)"
            } ?? "let go"
        }, "bottle.pollWhenIdle": day("false", ["02:00 schedule"]),
        "bottle.maxRecordAgeDays": engine("1") { settings in
            var options = PollOptions(settings: settings.bottle, zone: .utc)
            options.isClockSynchronised = true
            var rig = EngineRig(
                options: options, peer: ScriptedBottle(records: [drink]), start: after.advanced(seconds: 3 * 86_400))
            return try "\(rig.run().suspect) suspect"
        },

        "bottle.mode": engine("share") { try writtenCommands($0) },
        "bottle.trustClock": engine("true") { settings in
            let options = PollOptions(settings: settings.bottle, zone: .utc)
            var rig = EngineRig(
                options: options, peer: ScriptedBottle(records: [drink]), start: after.advanced(seconds: 400 * 86_400))
            let report = try rig.run()
            return "\(report.suspect) suspect, \(report.acknowledged) acknowledged"
        },
        "bottle.light": engine("true") { settings in
            let noon = Tracker.evaluate(
                TrackerFacts(settings: settings, zone: .utc), now: Instant(seconds: 1_770_037_200))
            return noon.light(by: settings.bottle).rawValue
        }, "bottle.showGoal": engine("true") { try writtenCommands($0) },

        "waterline.waterEveryNDrinks": day("3", session), "waterline.timeReminders": day("false", session),
        "waterline.intervalMinutes": day("45", session), "waterline.warningThreshold": day("1", session),
        "waterline.defaultWaterOz": commands("12", water), "waterline.units": commands("ml", water),
        "waterline.discreet": day("false", session),
        "waterline.shared": engine("true") { settings in "\(settings.isWaterlineShared)" },
        "waterline.defaultPreset": commands(
            "Double", ["20:00 setup --yes", "20:01 *", "20:02 session start", "20:03 drink"]),
        "waterline.bottleWater": poll("off"), "week.firstDay": commands("sunday", ["12:00 history"]),
        "health.enabled": commands("true", ["12:00 log 200", "12:01 files"]),
        "health.excludedSources": commands("Some App", ["12:00 import FOLDER/health.xml"]),
        "health.inbox": commands("/nowhere/phone", ["12:00 check --show"]),
        "sync.url": commands("http://127.0.0.1:9/sync", ["20:00 session start", "20:01 check"]),
        "sync.token": syncToken("s3cret"), "sync.tokenFile": syncToken("/nowhere/token"),

        "http.listen": commands("127.0.0.1:9000", ["12:00 check --doctor"]),
        "http.publicUrl": phone(.ntfy, "https://shelf.example", [("ntfy.url", "https://ntfy.example/a")]),
        "mqtt.url": engine("mqtt://localhost") { try MQTTPlan($0.service).map { "\($0)" } ?? "no broker" },
        "mqtt.prefix": broker("home/water"), "mqtt.commands": broker("true"), "mqtt.user": broker("me"),
        "mqtt.password": broker("s3cret") { try $0.set("mqtt.user", to: "me") },
        "mqtt.passwordFile": SettingEffect(
            value: "/nowhere/password",
            observation: .engine { settings in
                var settings = settings
                try settings.set([("mqtt.url", "mqtt://h"), ("mqtt.user", "me")])
                do { return "\(try MQTTPlan(settings.service).map { "\($0)" } ?? "")" } catch { return "\(error)" }
            }), "mqtt.caFile": broker("/etc/ca.pem"), "mqtt.certificateFile": broker("/etc/me.pem"),
        "mqtt.keyFile": broker("/etc/me.key"), "mqtt.discovery": broker("false"),
        "mqtt.discoveryPrefix": broker("home"), "ntfy.url": phone(.ntfy, "https://ntfy.example/a", []),
        "ntfy.token": phone(.ntfy, "tk_a", [("ntfy.url", "https://ntfy.example/a")]),
        "ntfy.tokenFile": phone(.ntfy, "/nowhere/token", [("ntfy.url", "https://ntfy.example/a")]),
        "ntfy.caFile": phone(.ntfy, "/etc/ca.pem", [("ntfy.url", "https://ntfy.example/a")]),
        "webhook.url": phone(.webhook, "https://hook.example", []),
        "webhook.secret": phone(.webhook, "whsec_abcd", [("webhook.url", "https://hook.example")]),
        "webhook.secretFile": phone(.webhook, "/nowhere/secret", [("webhook.url", "https://hook.example")]),
        "webhook.caFile": phone(.webhook, "/etc/ca.pem", [("webhook.url", "https://hook.example")]),
    ]

    /// A drink of 2026-02-02 at 22:21:15, and a time after it.
    private static let drink: [UInt8] = [0x1A, 0x02, 0x02, 0x16, 0x15, 0x0F, 0x00, 0x10, 0x00, 0x00, 0x01, 0x61, 0x00]
    private static let after = Instant(seconds: 1_770_071_400)

    private static func radioPoll(_ settings: Settings, isSilent: Bool = true) throws -> EngineRig<ScriptedBottle> {
        var bottle = ScriptedBottle(records: [drink])
        bottle.isSilent = isSilent
        bottle.advertisement = Advertisement(
            peer: PeerID("A4:C1:38:01:02:03"), address: BluetoothAddress("A4:C1:38:01:02:03"), name: "WaterH-Boost-24oz"
        )
        var rig = EngineRig(
            options: PollOptions(settings: settings.bottle, zone: .utc), peer: bottle, start: after, hasRadio: true)
        try rig.run()
        return rig
    }
}
