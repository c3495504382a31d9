import Store
import Synchronization
import TrackerCore
import TrackerService

/// Does what commands ask for; every one of them is a method of the desk, or of the service's door.
struct CommandDesk: Sendable {
    /// What is done in the store.
    static let stored = [
        "delete", "drink", "edit", "end", "goal", "log", "reminders", "settings", "snooze", "start", "undo", "water",
    ]
    /// What reaches beyond the store and may take its time.
    static let outside = ["bottle-reminder", "check", "flash", "light"]
    static let waterline: Set = ["drink", "end", "start", "water"]

    let desk: @Sendable () throws -> TrackerDesk
    let service: ServiceDoor?
    let sharesWaterline: @Sendable () -> Bool

    /// What was asked: the answer, and whether the store was changed.
    struct Done: Sendable {
        var answer: CommandAnswer
        var hasChanged: Bool
        /// Another program held the store: the same works a little later.
        var isHeldUp = false
    }

    /// A command on the store, once for each transaction.
    func perform(_ request: CommandRequest) -> Done {
        do {
            return try once(request, try desk().seeing(waterline: sharesWaterline())) { desk in
                var request = request
                return try act(&request, desk)
            }
        } catch {
            return Done(
                answer: CommandAnswer(error, transaction: request.transaction), hasChanged: false,
                isHeldUp: (error as? any Problem)?.category == .busy)
        }
    }

    /// A command beyond the store, once for each transaction.
    func performOutside(_ request: CommandRequest) async -> Done {
        do {
            let desk = try desk()
            guard let errand = errand(request, desk) else {
                return Done(answer: try await reach(request), hasChanged: false)
            }
            let name = [desk.store.path, errand.key]
            guard Self.underWay.withLock({ $0.insert(name).inserted }) else { throw Self.isUnderWay }
            defer { Self.underWay.withLock { _ = $0.remove(name) } }
            if let known = try known(errand, desk, request, isNotedBefore: true) { return known }
            do {
                try desk.store.begin(errand)
            } catch is Errand.Repeated {
                throw Self.isUnderWay
            }
            do {
                let answer = try await reach(request)
                keep(answer, errand, desk)
                return Done(answer: answer, hasChanged: false)
            } catch {
                // It failed, and whoever asked hears so: the same may be tried again.
                try? desk.store.forget(errand)
                throw error
            }
        } catch {
            return Done(answer: CommandAnswer(error, transaction: request.transaction), hasChanged: false)
        }
    }

    // MARK: - Once

    private func errand(_ request: CommandRequest, _ desk: TrackerDesk) -> Errand? {
        request.transaction.map {
            Errand(key: "mqtt/\($0)", asking: Array("\(request.name) ".utf8) + request.payload, at: desk.now)
        }
    }

    private func once(_ request: CommandRequest, _ desk: TrackerDesk, _ act: (TrackerDesk) throws -> CommandAnswer)
        throws -> Done
    {
        guard let errand = errand(request, desk) else { return Done(answer: try act(desk), hasChanged: true) }
        if let known = try known(errand, desk, request) { return known }
        do {
            let answer = try act(desk.running(errand))
            keep(answer, errand, desk)
            return Done(answer: answer, hasChanged: true)
        } catch is Errand.Repeated {
            // Somebody else was doing the same a moment ago.
            guard let known = try known(errand, desk, request) else { throw Self.isUnderWay }
            return known
        }
    }

    /// - Parameter isNotedBefore: the transaction is noted before it is done: without an answer nobody knows whether it
    ///   was.
    private func known(_ errand: Errand, _ desk: TrackerDesk, _ request: CommandRequest, isNotedBefore: Bool = false)
        throws -> Done?
    {
        guard let known = try desk.store.request(errand.key) else { return nil }
        // What was answered while sessions were shared is nobody's business any more.
        if Self.waterline.contains(request.name), !sharesWaterline() { throw Self.notShared }
        guard known.fingerprint == errand.fingerprint else {
            throw Refusal("transactionReused", "This transaction was used for something else before.")
        }
        if let body = known.answer?.body {
            return Done(answer: CommandAnswer(kept: body, seesWaterline: sharesWaterline()), hasChanged: false)
        }
        guard !isNotedBefore else {
            throw Refusal(
                "outcomeUnknown",
                """
                This was begun, and the service ended before it could say whether it was done. Look how things \
                stand; to have it done again, ask with another transaction.
                """
            )
        }
        // It was done, and the process ended before it could answer.
        let answer = try CommandAnswer(
            ["state": try desk.state()], transaction: request.transaction, seesWaterline: sharesWaterline())
        return Done(answer: answer, hasChanged: false)
    }

    private func keep(_ answer: CommandAnswer, _ errand: Errand, _ desk: TrackerDesk) {
        // The write stands; that its answer could not be kept only makes a second answer shorter.
        try? desk.store.keep(.init(status: 200, body: Array(answer.text.utf8)), to: errand)
    }

    // MARK: - What is asked

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
            // What was changed after the press is not what was meant.
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
            // A slider sends 2000.0.
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
            let changes = try request.fields.all()
            guard !changes.isEmpty else { throw Self.missing("NAME", "a setting with its value") }
            if let own = changes.first(where: { $0.name.isEmpty || SettingReach(of: $0.name) > .day }) {
                throw Refusal(
                    "notOverMQTT",
                    """
                    \"\(own.name.prefix(64))\" is how the service speaks to others, or what it reads: it is not \
                    set from there.
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
        guard let service else { throw Refusal("noService", "Nothing polls a bottle here.") }
        if let seconds = Self.lateness(of: given, try desk().now, atMost: .infinity) {
            throw Refusal(
                "tooLate",
                """
                It was asked for \(Int(min(seconds, 1e9))) seconds ago, while nobody was here: it is not done any \
                more.
                """
            )
        }
        func send(_ words: [String]) async throws -> CommandAnswer {
            try request.fields.finish()
            return try answer(request, ["answer": try await service.send(words)])
        }
        switch request.name {
        case "check":
            // A button may send a word of its own.
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

    /// How long ago a press was that has waited, seconds; `nil` for one of now. Two clocks are never quite alike.
    /// - Parameter longest: what is drunk is logged whatever a clock says, and one that is off by more than a week does
    ///   not say when it was. What a bottle was to do, and what was to be undone, is not meant any more.
    private static func lateness(of request: CommandRequest, _ now: Instant, atMost longest: Double = 7 * 86400)
        -> Double?
    {
        guard let pressed = request.pressed, pressed.isFinite else { return nil }
        let seconds = (Double(now.milliseconds) / 1000 - pressed).rounded()
        return seconds >= 60 && seconds <= longest ? seconds : nil
    }

    /// What this process is doing at this moment, by store and transaction.
    private static let underWay = Mutex(Set<[String]>())
    private static let isUnderWay = Refusal("underWay", "The same is under way.")

    private static let notShared = Refusal(
        "waterlineNotShared",
        "Waterline is not shown beyond the machine it runs on. The configuration can switch that on.")

    private static func missing(_ key: String, _ what: String) -> WrongInput {
        WrongInput("missingField", "\"\(key)\" is missing: \(what).")
    }

    private static func unknown(_ name: String) -> WrongInput {
        WrongInput(
            "unknownCommand",
            "\"\(name.prefix(64))\" is no command. There are: \((stored + outside).sorted().joined(separator: ", ")).")
    }
}
