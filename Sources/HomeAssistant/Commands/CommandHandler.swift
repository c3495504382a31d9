import Store
import TrackerCore
import TrackerService

/// Executes MQTT commands through `TrackerAPI` or the service.
struct CommandHandler: Sendable {
    static let storeCommands = [
        "delete", "drink", "edit", "end", "goal", "log", "reminders", "settings", "snooze", "start", "undo", "water",
    ]
    /// Commands for the service or the bottle, which can take seconds.
    static let serviceCommands = ["bottle-reminder", "check", "flash", "light"]
    static let waterline: Set = ["drink", "end", "start", "water"]

    let tracker: @Sendable () throws -> TrackerAPI
    let service: ServiceClient
    let sharesWaterline: @Sendable () -> Bool

    /// Executes a command on the store, once for each transaction, and returns the response.
    /// - Throws: an error if the store is locked, because the command can succeed later.
    func perform(_ request: CommandRequest) throws -> String {
        do {
            let tracker = try accessibleTracker(for: request)
            guard let execution = execution(of: request, tracker, .withWrite) else {
                return try executeOnStore(request, tracker)
            }
            return try answer(
                request, tracker, execution.run({ try executeOnStore(request, $0) }, stored: Self.storedResponse))
        } catch let error as any Problem where error.category == .busy {
            throw error
        } catch {
            return CommandAnswer.failure(error, transaction: request.transaction)
        }
    }

    /// Executes a command on the service or the bottle, once for each transaction, and returns the response.
    func performOnService(_ request: CommandRequest) async -> String {
        do {
            let tracker = try accessibleTracker(for: request)
            guard let execution = execution(of: request, tracker, .beforeAction) else {
                return try await executeOnService(request)
            }
            let outcome = try await execution.run(
                { _ in try await executeOnService(request) }, stored: Self.storedResponse)
            return try answer(request, tracker, outcome)
        } catch {
            return CommandAnswer.failure(error, transaction: request.transaction)
        }
    }

    private func accessibleTracker(for request: CommandRequest) throws -> TrackerAPI {
        let isShared = sharesWaterline()
        if !isShared, Self.waterline.contains(request.name) { throw TrackerAPI.waterlineNotShared }
        return try tracker().withAccess(waterline: isShared)
    }

    private func execution(
        of request: CommandRequest, _ tracker: TrackerAPI, _ recording: IdempotentExecution.Recording
    ) -> IdempotentExecution? {
        request.transaction.map { transaction in
            // A stored response with a session must not be repeated after the end of sharing.
            let access = tracker.mayReadWaterline ? " with Waterline" : ""
            return IdempotentExecution(
                IdempotentRequest(
                    key: "mqtt/\(transaction)",
                    content: Array("\(request.name) ".utf8) + request.payload + access.utf8, at: tracker.now),
                on: tracker, recording, keyName: "transaction", reusedCode: "transactionReused")
        }
    }

    private func answer(
        _ request: CommandRequest, _ tracker: TrackerAPI, _ outcome: IdempotentExecution.Outcome<String>
    ) throws -> String {
        switch outcome {
        case .executed(let answer): answer
        case .repeated(let response?): String(decoding: response.body, as: UTF8.self)
        case .repeated(nil): try answer(request, ["state": try tracker.state()])
        }
    }

    private static func storedResponse(_ answer: String) -> IdempotentExecution.StoredResponse {
        .init(status: 200, body: Array(answer.utf8))
    }

    private func executeOnStore(_ received: CommandRequest, _ tracker: TrackerAPI) throws -> String {
        var request = received
        switch request.name {
        case "log":
            guard let text = try request.mainValue("ml") else {
                throw Self.missing("ml", "expected 1–2000, cup, quick1 …")
            }
            guard let amount = Amount(text) else {
                throw WrongInput(
                    "notAnAmount", "\"\(text.prefix(64))\" is not a valid amount: expected 1–2000, cup, quick1 …")
            }
            let at = try Self.moment(&request, tracker)
            return try finished(request) { try tracker.logDrink(amount, at: at) }
        case "undo":
            // An undo that was sent earlier must not undo changes made after it.
            let pressed = Self.delay(of: request, tracker.now, atMost: .infinity).map {
                tracker.now.advanced(seconds: -$0)
            }
            return try finished(request) { try tracker.undo(asOf: pressed) }
        case "edit":
            guard let name = try request.fields.text("drink") else {
                throw Self.missing("drink", "expected a drink such as d12")
            }
            let change = EntryChange(
                ml: try request.fields.integer("ml"), at: try Self.moment(&request, tracker),
                estimate: try request.fields.number("estimate"), oz: try request.fields.number("oz"))
            guard change != EntryChange() else { throw Self.missing("ml", "nothing to change") }
            return try finished(request) { try tracker.edit(name, change) }
        case "delete":
            guard let name = try request.mainValue("drink") else {
                throw Self.missing("drink", "expected a drink such as d12")
            }
            return try finished(request) { try tracker.delete(name) }
        case "goal":
            guard let goal = try request.mainValue("ml") else { throw Self.missing("ml", "expected the goal in ml") }
            // Home Assistant's slider sends 2000.0 instead of 2000.
            let text = Double(goal).flatMap { Int(exactly: $0) }.map(String.init) ?? goal
            return try finished(request) { try tracker.set([("hydration.goalMl", text)]) }
        case "reminders":
            guard let text = try request.mainValue("enabled") else {
                throw Self.missing("enabled", "expected on or off")
            }
            return try finished(request) { try tracker.set([("reminders.enabled", text)]) }
        case "snooze":
            let (text, until) = (try request.mainValue("minutes"), try request.fields.text("until"))
            let length = try Snooze(
                minutes: text.flatMap(Int.init), until: until ?? text.flatMap { Int($0) == nil ? $0 : nil })
            return try finished(request) { try tracker.snooze(length) }
        case "settings":
            let changes = request.fields.all().sorted { $0.key < $1.key }.map { (name: $0.key, text: $0.value.text) }
            guard !changes.isEmpty else { throw Self.missing("NAME", "expected a setting and its value") }
            if let rejected = changes.first(where: { $0.name.isEmpty || SettingScope(of: $0.name) > .day }) {
                throw Refusal(
                    "notOverMQTT",
                    """
                    \"\(rejected.name.prefix(64))\" names an address, a file or a secret: it cannot be set over MQTT.
                    """
                )
            }
            if !tracker.mayReadWaterline, changes.contains(where: { SettingScope.isAboutWaterline($0.name) }) {
                throw TrackerAPI.waterlineNotShared
            }
            return try answer(request, try tracker.set(changes))
        case "drink":
            let preset = try request.mainValue("preset")
            let (estimate, at) = (try request.fields.number("estimate"), try Self.moment(&request, tracker))
            return try finished(request) { try tracker.drink(preset: preset, estimate: estimate, at: at) }
        case "water":
            let (oz, at) = (try request.fields.number("oz"), try Self.moment(&request, tracker))
            return try finished(request) { try tracker.water(oz: oz, at: at) }
        case "start": return try finished(request) { try tracker.startSession() }
        case "end": return try finished(request) { try tracker.endSession() }
        default: throw Self.unknown(request.name)
        }
    }

    private func executeOnService(_ received: CommandRequest) async throws -> String {
        var request = received
        let now = try tracker().now
        if let sent = Self.delay(of: received, now, atMost: .infinity).map({ now.advanced(seconds: -$0) }) {
            throw Refusal(
                "tooLate",
                """
                The command was not executed: it was sent \(RelativeAge.text(from: sent, to: now)), while the service \
                was not connected.
                """
            )
        }
        func send(_ arguments: [String]) async throws -> String {
            try request.fields.finish()
            return try answer(request, ["answer": try await service.send(arguments)])
        }
        switch request.name {
        case "check":
            _ = try request.mainValue("")
            try request.fields.finish()
            await service.pollNow()
            return try answer(request, ["asked": true])
        case "flash":
            _ = try request.mainValue("")
            return try await send(["flash"])
        case "light":
            guard let mode = try request.mainValue("mode") else {
                throw Self.missing("mode", "expected one of \(CommandRequest.lights.joined(separator: ", "))")
            }
            let colour = try request.fields.text("colour")
            return try await send(["light", mode] + (colour.map { [$0] } ?? []))
        case "bottle-reminder":
            guard let mode = try request.mainValue("mode") else {
                throw Self.missing("mode", "expected one of \(CommandRequest.bottleReminders.joined(separator: ", "))")
            }
            let (hours, minutes) = (try request.fields.text("hours"), try request.fields.scalarText("minutes"))
            return try await send(["reminder", mode] + [hours, minutes].compactMap(\.self))
        default: throw Self.unknown(request.name)
        }
    }

    private func finished(_ request: CommandRequest, _ act: () throws -> some Encodable) throws -> String {
        try request.fields.finish()
        return try answer(request, act())
    }

    private func answer(_ request: CommandRequest, _ report: some Encodable) throws -> String {
        try CommandAnswer.success(report, transaction: request.transaction)
    }

    private static func moment(_ request: inout CommandRequest, _ tracker: TrackerAPI) throws -> Instant? {
        if let text = try request.fields.scalarText("at") { return try tracker.moment(text) }
        return Self.delay(of: request, tracker.now).map { tracker.now.advanced(seconds: -$0) }
    }

    /// The age of a delayed command in seconds; `nil` below 60 s, because two clocks differ.
    /// - Parameter longest: a greater age counts as an error of the sender's clock, and is ignored.
    private static func delay(
        of request: CommandRequest, _ now: Instant, atMost longest: Double = 7 * 86400
    ) -> Double? {
        guard let pressed = request.pressed, pressed.isFinite else { return nil }
        let seconds = (Double(now.milliseconds) / 1000 - pressed).rounded()
        return seconds >= 60 && seconds <= longest ? seconds : nil
    }

    private static func missing(_ key: String, _ detail: String) -> WrongInput {
        WrongInput("missingField", "\"\(key)\" is missing: \(detail).")
    }

    private static func unknown(_ name: String) -> WrongInput {
        let all = (storeCommands + serviceCommands).sorted().joined(separator: ", ")
        return WrongInput("unknownCommand", "\"\(name.prefix(64))\" is not a command. Commands: \(all).")
    }
}
