package import Store
package import TrackerCore

extension TrackerAPI {
    /// Logs a drink manually.
    /// - Parameter instant: the time of the drink; `nil` means now.
    package func logDrink(_ amount: Amount, at instant: Instant? = nil) throws -> DrinkOutcome {
        try change { try outcome(store.logDrink(ml: amount.millilitres(store.settings()), at: instant, context)) }
    }

    /// Undoes the last manual change.
    /// - Parameters:
    ///   - scope: the changes that can be undone. Changes of sessions require access to Waterline.
    ///   - instant: the time of a delayed request; later changes are not undone.
    package func undo(_ scope: UndoScope = .everything, asOf instant: Instant? = nil) throws -> UndoOutcome {
        if scope == .session { try requireWaterlineAccess() }
        let scope = scope == .everything && !mayReadWaterline ? .drinks : scope
        return try change { UndoOutcome(undone: try store.undo(context, scope, asOf: instant), state: try state()) }
    }

    /// Undoes the last change of one drink (`d12`), even if other changes followed.
    package func undo(ofDrink name: String) throws -> UndoOutcome {
        guard name.hasPrefix("d"), let number = Int64(name.dropFirst()), number > 0 else {
            throw WrongInput(
                "notADrink", "Not a valid drink: \"\(name.prefix(64))\" (expected d12).", values: ["given": name])
        }
        return try undo(.drink(number))
    }

    /// Changes a drink (`d12`, or its key) or an entry of a session (`w7`, or its id).
    package func edit(_ name: String, _ newValues: EntryChange) throws -> EntryOutcome {
        try change {
            guard try isSessionEntry(name) else {
                guard newValues.estimate == nil, newValues.oz == nil else {
                    throw WrongInput(
                        "noSessionEntry", "\(name) is not a session entry: change its amount in ml or its time.",
                        values: ["name": name])
                }
                let time = newValues.time ?? newValues.timeText.flatMap(TimeOfDay.init)
                let at = try time == nil ? newValues.timeText.map(moment) ?? newValues.at : nil
                return .drink(try outcome(store.editDrink(name, ml: newValues.ml, at: at, time: time, context)))
            }
            guard newValues.ml == nil, newValues.time == nil else {
                throw WrongInput(
                    "sessionEntry", "\(name) is a session entry: change its standard drinks, ounces or time.",
                    values: ["name": name])
            }
            let log = try store.editLog(
                name, at: newValues.timeText.map(moment) ?? newValues.at, estimate: newValues.estimate,
                amountOz: Self.checkedWater(newValues.oz), context)
            return .session(try latestSession(else: log.sessionID))
        }
    }

    /// Deletes a drink or session entry. Later polls do not add it again. A water from the bottle's drinks is excluded.
    package func delete(_ name: String) throws -> EntryOutcome {
        try change {
            guard try isSessionEntry(name) else { return .drink(try outcome(store.deleteDrink(name, context))) }
            try store.deleteLog(name, context)
            return .session(try latestSession())
        }
    }

    /// Deletes all drinks of the current day, including the bottle's. Later polls do not add them again.
    package func resetToday() throws -> ResetOutcome {
        try change { ResetOutcome(deleted: try store.resetToday(context).map(report), state: try state()) }
    }

    /// The drink for a report. A caller without access to Waterline sees water of a session as any other water.
    func report(_ drink: StoredDrink) -> StoredDrink {
        guard !mayReadWaterline else { return drink }
        var shown = drink
        shown.drink = drink.drink.withoutSession
        return shown
    }

    private func outcome(_ drink: StoredDrink) throws -> DrinkOutcome {
        DrinkOutcome(drink: report(drink), state: try state())
    }

    /// Whether a name belongs to a session entry. A drink number takes precedence over an equal key, with a warning.
    private func isSessionEntry(_ name: String) throws -> Bool {
        guard mayReadWaterline else { return false }
        let drinks = try store.drinks(named: name)
        if let shown = drinks.first, name == "d\(shown.number)" {
            for other in drinks.dropFirst() {
                warn("\(name) is also the key of another drink, d\(other.number). The number \(name) is used.")
            }
            return false
        }
        return try store.hasLog(named: name)
    }

    /// Logs a drink in the active session: of a preset, of a type and size, or the default (`waterline.defaultPreset`,
    /// else a generic drink of 1.0).
    /// - Parameters:
    ///   - preset: the name or id of a preset.
    ///   - estimate: standard drinks, instead of the computed value.
    package func drink(
        preset: String? = nil, type: DrinkType? = nil, sizeOz: Double? = nil, abv: Double? = nil,
        estimate: Double? = nil, at instant: Instant? = nil
    ) throws -> LogOutcome {
        try change {
            let draft: LogDraft
            if let preset {
                draft = .drink(try self.preset(preset), estimate: estimate)
            } else if type == nil, sizeOz == nil, abv == nil {
                let defaultPreset = try store.settings().defaultPreset.flatMap { try store.preset(named: $0) }
                draft = defaultPreset.map { .drink($0, estimate: estimate) } ?? .drink(estimate: estimate ?? 1)
            } else {
                draft = .drink(
                    estimate: estimate ?? PresetValues.estimate(sizeOz, abv) ?? 1, drinkType: type, sizeOz: sizeOz,
                    abv: abv)
            }
            return try outcome(store.addLog(draft, at: instant, context))
        }
    }

    /// Logs a water in the active session.
    /// - Parameter oz: in US fluid ounces; `nil` means the setting `waterline.defaultWaterOz`.
    package func water(oz: Double? = nil, at instant: Instant? = nil) throws -> LogOutcome {
        try change {
            let ounces = try Self.checkedWater(oz) ?? Double(try store.settings().defaultWaterOz)
            return try outcome(store.addLog(.water(oz: ounces), at: instant, context))
        }
    }

    /// Starts a session, or returns the active one.
    package func startSession() throws -> SessionStart {
        try change {
            let (session, started) = try store.startSession(context)
            return SessionStart(started: started, session: try latestSession(else: session.id))
        }
    }

    /// Ends the active session.
    /// - Parameter atLastLog: `true` ends the session at the time of its last entry instead of now.
    package func endSession(atLastLog: Bool = false) throws -> SessionView {
        try change { try store.endSession(atLastLog: atLastLog, context) }
    }

    /// Suppresses the question about an abandoned session for 12 hours.
    package func keepGoing() throws -> SessionView {
        try change {
            try store.keepGoing(context)
            return try latestSession()
        }
    }

    /// Seals the last session: its entries can no longer be changed.
    package func sealLastSession() throws -> SessionView {
        try change {
            guard let last = try store.pastSessions(limit: 1).first else {
                throw Refusal("noSuchSession", "There is no ended session.", category: .notFound)
            }
            try store.sealSession(last.id, context)
            return try Self.required(store.session(named: last.id, at: now))
        }
    }

    package func activeSession() throws -> SessionView { try Self.required(store.activeSession(at: now)) }

    private static func required(_ session: SessionView?) throws -> SessionView {
        guard let session else { throw WaterlineSession.Refusal.noActiveSession }
        return session
    }

    /// The session with this id or unambiguous prefix of an id; `nil` means the active session, else the last one.
    package func session(_ name: String? = nil) throws -> SessionView {
        guard let name else { return try latestSession() }
        guard let session = try store.session(named: name, at: now) else {
            throw Refusal(
                "noSuchSession", "No session, or more than one, has an id that begins with \"\(name)\".",
                category: .notFound, values: ["given": name])
        }
        return session
    }

    /// The sessions, newest first.
    package func sessions(limit: Int = 5) throws -> SessionList {
        SessionList(
            sessions: try store.pastSessions(limit: limit).compactMap { try store.session(named: $0.id, at: now) })
    }

    /// Throws unless the volume is more than 0 and at most 100 oz.
    static func checkedWater(_ oz: Double?) throws -> Double? {
        guard let oz else { return nil }
        guard oz > 0, oz <= 100 else {
            throw Refusal("waterVolume", "A water's volume must be more than 0 and at most 100 oz.")
        }
        return oz
    }

    /// The active session, else the last one, else the one with the id.
    func latestSession(else id: String? = nil) throws -> SessionView {
        try Self.required(sessionIfAny() ?? id.flatMap { try store.session(named: $0, at: now) })
    }

    private func outcome(_ log: LogEntry) throws -> LogOutcome {
        LogOutcome(log: log, session: try latestSession(else: log.sessionID))
    }

    /// Performs the action of a notification's button, once for each key.
    /// - Parameter instant: the time of a delayed press; `nil` means now.
    /// - Returns: `false` for a repeated press.
    @discardableResult
    package func press(_ action: NotificationAction, key: String, at instant: Instant? = nil) throws -> Bool {
        if [.logWater, .logDrink, .endSession, .keepGoing].contains(action) { try requireWaterlineAccess() }
        let request = IdempotentRequest(key: "press " + key, content: action.rawValue.utf8, at: now)
        let tracker = executing(request)
        do {
            switch action {
            case .logCup: _ = try tracker.logDrink(.cup, at: instant)
            case .snooze: _ = try tracker.snooze(.minutes(Snooze.buttonMinutes))
            case .notToday: _ = try tracker.snooze(.tomorrow)
            case .logWater: _ = try tracker.water(at: instant)
            case .logDrink: _ = try tracker.drink(at: instant)
            case .endSession: _ = try tracker.endSession()
            case .keepGoing: _ = try tracker.keepGoing()
            // These actions only mark notifications as read.
            case .open, .dismiss: try tracker.markNotificationsRead()
            }
            return true
        } catch is IdempotentRequest.Repeated {
            return false
        }
    }

    /// The seconds for which a button of a phone notification is valid.
    private static let buttonLifetime: Double = 24 * 3600

    /// Performs the action of a phone notification's button; `nil` for an unknown key. The key is valid for the buttons
    /// of one notification, each once, for one day.
    package func press(_ action: NotificationAction, withKey key: String) throws -> Bool? {
        guard let message = try store.queuedNotification(withKey: key) else { return nil }
        // If the clock was ahead at sending, the message counts as new. If it was more than a day ahead, the message
        // cannot be assigned to a session.
        let age = message.since.seconds(to: now)
        guard age < Self.buttonLifetime, age > -Self.buttonLifetime || !message.announcement.kind.isWaterline else {
            throw Refusal("notMeantAnyMore", "This notification has expired (1 day). Its buttons no longer work.")
        }
        guard message.announcement.kind.actions.contains(action) else {
            throw Refusal("otherNotification", "This notification has no such button.")
        }
        // The phone might still show a notification of an earlier session.
        if message.announcement.kind.isWaterline, let session = try store.activeSession(at: now)?.session,
            session.startTime > message.since
        {
            throw Refusal(
                "notMeantAnyMore", "This notification belongs to an ended session. Its buttons no longer work.")
        }
        return try press(action, key: "pocket \(message.announcement.id) \(action.rawValue)")
    }
}
