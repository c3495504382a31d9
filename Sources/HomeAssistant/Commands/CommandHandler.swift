import Store
import Synchronization
import TrackerCore
import TrackerService

/// Executes commands by calling `TrackerDesk` or the service.
struct CommandHandler: Sendable {
    static let stored = [
        "delete", "drink", "edit", "end", "goal", "log", "reminders", "settings", "snooze", "start", "undo", "water",
    ]
    /// Commands on the service or the bottle, which take time.
    static let outside = ["bottle-reminder", "check", "flash", "light"]
    static let waterline: Set = ["drink", "end", "start", "water"]

    let desk: @Sendable () throws -> TrackerDesk
    let service: ServiceClient?
    let sharesWaterline: @Sendable () -> Bool

    /// Executes a command on the store, once for each transaction.
    /// - Throws: an error if the store is locked, because the command can succeed later.
    func perform(_ request: CommandRequest) throws -> CommandAnswer {
        do {
            return try once(request, try desk().seeing(waterline: sharesWaterline())) { desk in
                var request = request
                return try act(&request, desk)
            }
        } catch let error as any Problem where error.category == .busy {
            throw error
        } catch {
            return CommandAnswer(error, transaction: request.transaction)
        }
    }

    /// Executes a command on the service or the bottle, once for each transaction.
    func performOutside(_ request: CommandRequest) async -> CommandAnswer {
        do {
            let desk = try desk()
            guard let errand = errand(request, desk) else {
                return try await reach(request)
            }
            let name = [desk.store.path, errand.key]
            guard Self.running.withLock({ $0.insert(name).inserted }) else { throw Self.isRunning }
            defer { Self.running.withLock { _ = $0.remove(name) } }
            if let known = try known(errand, desk, request, isNotedBefore: true) { return known }
            do {
                try desk.store.begin(errand)
            } catch is IdempotentRequest.Repeated {
                throw Self.isRunning
            }
            do {
                let answer = try await reach(request)
                keep(answer, errand, desk)
                return answer
            } catch {
                // The sender receives the error and can retry.
                try? desk.store.forget(errand)
                throw error
            }
        } catch {
            return CommandAnswer(error, transaction: request.transaction)
        }
    }

    // MARK: - Once

    private func errand(_ request: CommandRequest, _ desk: TrackerDesk) -> IdempotentRequest? {
        request.transaction.map {
            IdempotentRequest(key: "mqtt/\($0)", asking: Array("\(request.name) ".utf8) + request.payload, at: desk.now)
        }
    }

    private func once(_ request: CommandRequest, _ desk: TrackerDesk, _ act: (TrackerDesk) throws -> CommandAnswer)
        throws -> CommandAnswer
    {
        guard let errand = errand(request, desk) else { return try act(desk) }
        if let known = try known(errand, desk, request) { return known }
        do {
            let answer = try act(desk.running(errand))
            keep(answer, errand, desk)
            return answer
        } catch is IdempotentRequest.Repeated {
            // The process has just executed the same request.
            guard let known = try known(errand, desk, request) else { throw Self.isRunning }
            return known
        }
    }

    /// The answer of an earlier request with the same transaction.
    /// - Parameter isNotedBefore: whether the transaction is stored before its execution, which can then be missing.
    private func known(
        _ errand: IdempotentRequest, _ desk: TrackerDesk, _ request: CommandRequest, isNotedBefore: Bool = false
    )
        throws -> CommandAnswer?
    {
        guard let known = try desk.store.request(errand.key) else { return nil }
        if Self.waterline.contains(request.name), !sharesWaterline() { throw Self.notShared }
        guard known.fingerprint == errand.fingerprint else {
            throw Refusal("transactionReused", "This transaction was used for something else before.")
        }
        if let body = known.answer?.body {
            return CommandAnswer(kept: body, seesWaterline: sharesWaterline())
        }
        guard !isNotedBefore else {
            throw Refusal(
                "outcomeUnknown",
                """
                The service ended while it executed this request. Check the state. To repeat the request, send \
                another transaction.
                """
            )
        }
        // The process ended after the action, but before it stored the answer.
        return try CommandAnswer(
            ["state": try desk.state()], transaction: request.transaction, seesWaterline: sharesWaterline())
    }

    private func keep(_ answer: CommandAnswer, _ errand: IdempotentRequest, _ desk: TrackerDesk) {
        // If the answer cannot be stored, a repetition receives only the state.
        try? desk.store.keep(.init(status: 200, body: Array(answer.text.utf8)), to: errand)
    }

    // MARK: - Commands

    private func act(_ request: inout CommandRequest, _ desk: TrackerDesk) throws -> CommandAnswer {
        if Self.waterline.contains(request.name), !sharesWaterline() { throw Self.notShared }
        switch request.name {
        case "log":
            guard let word = try request.main("ml") else {
                throw Self.missing("ml", "how much: 1 to 2000, cup, quick1 …")
            }
            guard let amount = Amount(word) else {
                throw WrongInput(
                    "notAnAmount", "\"\(word.prefix(64))\" is not an amount: a whole number of ml, cup, quick1 …")
            }
            let at = try Self.moment(&request, desk)
            return try finished(request) { try desk.logDrink(amount, at: at) }
        case "undo":
            // Changes after the press are not undone.
            let pressed = Self.lateness(of: request, desk.now, atMost: .infinity).map {
                desk.now.advanced(seconds: -$0)
            }
            return try finished(request) { try desk.undo(asOf: pressed) }
        case "edit":
            guard let name = try request.fields.text("drink") else { throw Self.missing("drink", "which one, as d12") }
            let change = EntryChange(
                ml: try request.fields.whole("ml"), at: try Self.moment(&request, desk),
                estimate: try request.fields.number("estimate"), oz: try request.fields.number("oz"))
            guard change != EntryChange() else { throw Self.missing("ml", "what it is to be") }
            return try finished(request) { try desk.edit(name, change) }
        case "delete":
            guard let name = try request.main("drink") else { throw Self.missing("drink", "which one, as d12") }
            return try finished(request) { try desk.delete(name) }
        case "goal":
            guard let goal = try request.main("ml") else { throw Self.missing("ml", "the day's goal") }
            // Home Assistant's slider sends 2000.0.
            let text = Double(goal).flatMap { Int(exactly: $0) }.map(String.init) ?? goal
            return try finished(request) { try desk.set([("hydration.goalMl", text)]) }
        case "reminders":
            guard let word = try request.main("enabled") else { throw Self.missing("enabled", "on or off") }
            return try finished(request) { try desk.set([("reminders.enabled", word)]) }
        case "snooze":
            let (word, until) = (try request.main("minutes"), try request.fields.text("until"))
            let length = try Snooze(
                minutes: word.flatMap(Int.init), until: until ?? word.flatMap { Int($0) == nil ? $0 : nil })
            return try finished(request) { try desk.snooze(length) }
        case "settings":
            let changes = request.fields.all().sorted { $0.key < $1.key }.map { (name: $0.key, text: $0.value.text) }
            guard !changes.isEmpty else { throw Self.missing("NAME", "a setting with its value") }
            if let own = changes.first(where: { $0.name.isEmpty || SettingReach(of: $0.name) > .day }) {
                throw Refusal(
                    "notOverMQTT",
                    """
                    \"\(own.name.prefix(64))\" names an address, a file or a secret: it cannot be set over MQTT.
                    """
                )
            }
            if !sharesWaterline(), changes.contains(where: { SettingReach.isOfWaterline($0.name) }) {
                throw Self.notShared
            }
            return try answer(request, try desk.set(changes))
        case "drink":
            let preset = try request.main("preset")
            let (estimate, at) = (try request.fields.number("estimate"), try Self.moment(&request, desk))
            return try finished(request) { try desk.drink(preset: preset, estimate: estimate, at: at) }
        case "water":
            let (oz, at) = (try request.fields.number("oz"), try Self.moment(&request, desk))
            return try finished(request) { try desk.water(oz: oz, at: at) }
        case "start": return try finished(request) { try desk.startSession() }
        case "end": return try finished(request) { try desk.endSession() }
        default: throw Self.unknown(request.name)
        }
    }

    private func reach(_ given: CommandRequest) async throws -> CommandAnswer {
        var request = given
        guard let service else { throw Refusal("noService", "No service polls a bottle here.") }
        if let seconds = Self.lateness(of: given, try desk().now, atMost: .infinity) {
            throw Refusal(
                "tooLate",
                """
                The command is \(Int(min(seconds, 1e9))) seconds old, because the service was not connected. It \
                was not executed.
                """
            )
        }
        func send(_ words: [String]) async throws -> CommandAnswer {
            try request.fields.finish()
            return try answer(request, ["answer": try await service.send(words)])
        }
        switch request.name {
        case "check":
            _ = try request.main("")
            try request.fields.finish()
            await service.pollNow()
            return try answer(request, ["asked": true])
        case "flash":
            _ = try request.main("")
            return try await send(["flash"])
        case "light":
            guard let mode = try request.main("mode") else {
                throw Self.missing("mode", "one of \(CommandRequest.lights.joined(separator: ", "))")
            }
            let colour = try request.fields.text("colour")
            return try await send(["light", mode] + (colour.map { [$0] } ?? []))
        case "bottle-reminder":
            guard let mode = try request.main("mode") else {
                throw Self.missing("mode", "one of \(CommandRequest.bottleReminders.joined(separator: ", "))")
            }
            let (hours, minutes) = (try request.fields.text("hours"), try request.fields.word("minutes"))
            return try await send(["reminder", mode] + [hours, minutes].compactMap(\.self))
        default: throw Self.unknown(request.name)
        }
    }

    // MARK: - Parts

    private func finished(_ request: CommandRequest, _ act: () throws -> some Encodable) throws -> CommandAnswer {
        try request.fields.finish()
        return try answer(request, act())
    }

    private func answer(_ request: CommandRequest, _ report: some Encodable) throws -> CommandAnswer {
        try CommandAnswer(report, transaction: request.transaction, seesWaterline: sharesWaterline())
    }

    private static func moment(_ request: inout CommandRequest, _ desk: TrackerDesk) throws -> Instant? {
        if let text = try request.fields.word("at") { return try desk.moment(text) }
        return Self.lateness(of: request, desk.now).map { desk.now.advanced(seconds: -$0) }
    }

    /// The age of a delayed press in seconds; `nil` below 60 s, because two clocks differ.
    /// - Parameter longest: a longer age counts as a wrong clock, and the press as one of now.
    private static func lateness(of request: CommandRequest, _ now: Instant, atMost longest: Double = 7 * 86400)
        -> Double?
    {
        guard let pressed = request.pressed, pressed.isFinite else { return nil }
        let seconds = (Double(now.milliseconds) / 1000 - pressed).rounded()
        return seconds >= 60 && seconds <= longest ? seconds : nil
    }

    /// Requests that this process executes now, by store and transaction.
    private static let running = Mutex(Set<[String]>())
    private static let isRunning = Refusal("underWay", "The same request is being executed.")

    private static let notShared = Refusal(
        "waterlineNotShared",
        "Waterline is not shown beyond the machine it runs on. The configuration can switch that on.")

    private static func missing(_ key: String, _ what: String) -> WrongInput {
        WrongInput("missingField", "\"\(key)\" is missing: \(what).")
    }

    private static func unknown(_ name: String) -> WrongInput {
        WrongInput(
            "unknownCommand",
            "\"\(name.prefix(64))\" is not a command. Commands: \((stored + outside).sorted().joined(separator: ", "))."
        )
    }
}
