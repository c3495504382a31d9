import HTTPTypes
import Logging
import TrackerCore
import TrackerService

enum SettingRoutes {
    static func add(to table: RouteTable, _ log: Logger) {
        table.get("settings") { call in
            .json(try report(for: call, call.tracker()))
        }
        table.get("settings/catalogue") { call in .json(Settings.catalogue.map(Entry.init)) }
        table.get("settings/:name") { call in
            let name = try call.parameter("name")
            try check(call, [name])
            if !call.mayReadAddresses, SettingScope.canBeSecretAddress(name) { throw HTTPProblem.missingScope(.admin) }
            return .json(try call.app.tracker().setting(name))
        }
        table.write(.patch, "settings", needs: .control) { call, tracker, fields in
            let members = fields.all().sorted { $0.key < $1.key }
            try check(call, members.map(\.key))
            try checkPermission(call, members.map(\.key))
            let changes = members.map { (name: $0.key, text: $0.value.text) }
            guard !changes.isEmpty else {
                throw WrongInput("missingField", "Name at least one setting with its value.")
            }
            _ = try tracker.set(changes)
            let logged = members.map(\.key).filter { SettingScope(of: $0) > .day }
            if !logged.isEmpty {
                log.notice("Settings changed by \(call.caller.name): \(logged.joined(separator: ", ")).")
            }
            return .json(try report(for: call, tracker))
        }
        table.write(.post, "setup", needs: .control) { call, tracker, fields in
            let names = [
                "waterEvery": "waterline.waterEveryNDrinks", "timeReminders": "waterline.timeReminders",
                "interval": "waterline.intervalMinutes",
                "threshold": "waterline.warningThreshold", "units": "waterline.units", "goal": "hydration.goalMl",
            ]
            var members = fields.all()
            let notifications = members.removeValue(forKey: "notifications")
            guard notifications == nil || notifications == .text("skip") || notifications == .text("enable") else {
                throw WrongInput("notAChoice", "\"notifications\" must be \"enable\" or \"skip\".")
            }
            var changes = try members.sorted { $0.key < $1.key }.map { key, value in
                guard let name = names[key] else {
                    throw WrongInput("unknownField", "Unknown field \"\(key.prefix(64))\".")
                }
                return (name: name, text: value.text)
            }
            if let notifications {
                changes.append(("notify.desktop", notifications == .text("enable") ? "true" : "false"))
            }
            try check(call, changes.map(\.name))
            return .json(
                try tracker.setUp(
                    changes,
                    notifications: notifications == .text("enable") ? "The browser was asked." : "Not asked for."))
        }
    }

    private static func report(for call: APICall, _ tracker: TrackerAPI) throws -> SettingsReport {
        let report = try tracker.settings()
        return call.mayReadAddresses ? report : report.withoutSecretAddresses
    }

    private static func check(_ call: APICall, _ names: [String]) throws {
        if names.contains(where: SettingScope.isAboutWaterline) { try call.requireWaterline() }
    }

    /// Only administrators may change settings that send data to other services or read files of this machine.
    private static func checkPermission(_ call: APICall, _ names: [String]) throws {
        guard let scope = names.map(SettingScope.init).max(), scope > .day else { return }
        try call.caller.require(.admin)
        guard scope == .files, !call.caller.isLocal, let name = names.first(where: { SettingScope(of: $0) == .files })
        else { return }
        throw HTTPProblem(
            .forbidden, "onlyHere",
            "\"\(name.prefix(64))\" names a file or folder of the machine where the service runs: it is set there only."
        )
    }

    private struct Entry: Encodable {
        var name: String
        var group: String
        var `default`: PlainValue
        var rule: String

        init(_ entry: SettingEntry) {
            name = entry.name
            group = String(entry.name.prefix { $0 != "." })
            `default` = Settings().value(of: entry.name) ?? .null
            rule = entry.rule
        }
    }
}
