import Store
import TrackerCore

extension TrackerDesk {
    /// Logs a drink by hand.
    /// - Parameter instant: when it was drunk; `nil` means now.
    package func logDrink(_ amount: Amount, at instant: Instant? = nil) throws -> DrinkOutcome {
        try change { try outcome(store.logDrink(ml: amount.millilitres(store.settings()), at: instant, context)) }
    }

    /// Takes the last change by hand back.
    /// - Parameters:
    ///   - reach: which changes are looked at; what was done to a session is never, where sessions are none of the
    ///     caller's business.
    ///   - instant: when it was asked for, where that took its time: nothing newer is taken back.
    package func undo(_ reach: UndoReach = .everything, asOf instant: Instant? = nil) throws -> UndoOutcome {
        if reach == .session { try needWaterline() }
        let reach = reach == .everything && !seesWaterline ? .drinks : reach
        return try change { UndoOutcome(undone: try store.undo(context, reach, asOf: instant), state: try state()) }
    }

    /// Takes the last change of one drink back, by its name in our lists: what a person was told a moment ago, whoever
    /// changed something else since.
    package func undo(ofDrink name: String) throws -> UndoOutcome {
        guard name.hasPrefix("d"), let number = Int64(name.dropFirst()), number > 0 else {
            throw WrongInput(
                "notADrink", "\"\(name.prefix(64))\" is no drink of our lists, such as d12.", values: ["given": name])
        }
        return try undo(.drink(number))
    }

    /// Changes a drink (`d12`, or its key) or an entry of a session (`w7`, or its id).
    package func edit(_ name: String, _ wanted: EntryChange) throws -> EntryOutcome {
        try change {
            guard try meansLog(name) else {
                guard wanted.estimate == nil, wanted.oz == nil else {
                    throw WrongInput(
                        "noSessionEntry", "\(name) is not an entry of a session: it has an amount in ml and a time.",
                        values: ["name": name])
                }
                let time = wanted.time ?? wanted.typed.flatMap(TimeOfDay.init)
                let at = try time == nil ? wanted.typed.map(moment) ?? wanted.at : nil
                return .drink(try outcome(store.editDrink(name, ml: wanted.ml, at: at, time: time, context)))
            }
            guard wanted.ml == nil, wanted.time == nil else {
                throw WrongInput(
                    "sessionEntry", "\(name) is an entry of a session: it has standard drinks or ounces, and a time.",
                    values: ["name": name])
            }
            let log = try store.editLog(
                name, at: wanted.typed.map(moment) ?? wanted.at, estimate: wanted.estimate,
                amountOz: Self.checkedWater(wanted.oz), context)
            return .session(try latestSession(else: log.sessionID))
        }
    }

    /// Deletes a drink, which no poll brings back, or an entry of a session; a water that came from the bottle's sips
    /// is excluded.
    package func delete(_ name: String) throws -> EntryOutcome {
        try change {
            guard try meansLog(name) else { return .drink(try outcome(store.deleteDrink(name, context))) }
            try store.deleteLog(name, context)
            return .session(try latestSession())
        }
    }

    /// Deletes the drinks of the day that runs, the bottle's too; the next poll does not bring them back.
    package func resetToday() throws -> ResetOutcome {
        try change { ResetOutcome(deleted: try store.resetToday(context).map(report), state: try state()) }
    }

    /// A drink as whoever asks may see it.
    func report(_ drink: StoredDrink) -> DrinkReport { DrinkReport(drink, seesWaterline: seesWaterline) }

    // MARK: - Parts

    private func outcome(_ drink: StoredDrink) throws -> DrinkOutcome {
        DrinkOutcome(drink: report(drink), state: try state())
    }

    /// Whether a name means an entry of a session rather than a drink. What our lists show comes first; where a key of
    /// somebody else's file looks like it, that is said.
    private func meansLog(_ name: String) throws -> Bool {
        guard seesWaterline else { return false }
        let drinks = try store.drinks(named: name)
        if let shown = drinks.first, name == "d\(shown.number)" {
            for other in drinks.dropFirst() {
                remark(
                    "\(name) is also the key of another drink, d\(other.number). This is about \(name) of our lists.")
            }
            return false
        }
        return try store.hasLog(named: name)
    }
}

extension TrackerDesk {
    /// Logs a drink in the session that runs: a preset's, one of a type and a size, or the usual one
    /// (`waterline.defaultPreset`, else a generic drink of 1.0).
    /// - Parameters:
    ///   - preset: a preset's name or id.
    ///   - estimate: standard drinks, instead of the preset's or of what size and strength say.
    ///   - id: an identifier of the caller's: a delivery repeated is one entry.
    package func drink(
        preset: String? = nil, type: DrinkType? = nil, sizeOz: Double? = nil, abv: Double? = nil,
        estimate: Double? = nil, at instant: Instant? = nil,
        id: String? = nil
    ) throws -> LogOutcome {
        try change {
            let draft: LogDraft
            if let preset {
                draft = .drink(try self.preset(preset), estimate: estimate)
            } else if type == nil, sizeOz == nil, abv == nil {
                let usual = try store.settings().defaultPreset.flatMap { try store.preset(named: $0) }
                draft = usual.map { .drink($0, estimate: estimate) } ?? .drink(estimate: estimate ?? 1)
            } else {
                draft = .drink(
                    estimate: estimate ?? PresetValues.estimate(sizeOz, abv) ?? 1, drinkType: type, sizeOz: sizeOz,
                    abv: abv)
            }
            return try outcome(store.addLog(draft, at: instant, id: id, context))
        }
    }

    /// Logs a water in the session that runs.
    /// - Parameters:
    ///   - oz: ounces; `nil` means the setting `waterline.defaultWaterOz`.
    ///   - id: an identifier of the caller's: a delivery repeated is one entry.
    package func water(oz: Double? = nil, at instant: Instant? = nil, id: String? = nil) throws -> LogOutcome {
        try change {
            let ounces = try Self.checkedWater(oz) ?? Double(try store.settings().defaultWaterOz)
            return try outcome(store.addLog(.water(oz: ounces), at: instant, id: id, context))
        }
    }

    /// Starts a session, or tells of the one that runs.
    package func startSession() throws -> SessionStart {
        try change {
            let (session, started) = try store.startSession(context)
            return SessionStart(started: started, session: try latestSession(else: session.id))
        }
    }

    /// Ends the session that runs.
    /// - Parameter atLastLog: with its last entry rather than now.
    package func endSession(atLastLog: Bool = false) throws -> SessionReport {
        try change { SessionReport(try store.endSession(atLastLog: atLastLog, context)) }
    }

    /// The question whether to end a long session is silent for 12 hours.
    package func keepGoing() throws -> SessionReport {
        try change {
            try store.keepGoing(context)
            return try latestSession()
        }
    }

    /// Done with the last session's summary: it becomes a past one and can no longer be changed.
    package func sealLastSession() throws -> SessionReport {
        try change {
            guard let last = try store.pastSessions(limit: 1).first else {
                throw Refusal("noSuchSession", "There is no ended session.", category: .notFound)
            }
            try store.sealSession(last.id, context)
            guard let view = try store.session(named: last.id, at: now) else {
                throw WaterlineSession.Refusal.noActiveSession
            }
            return SessionReport(view)
        }
    }

    /// The session that runs.
    package func activeSession() throws -> SessionReport {
        guard let view = try store.activeSession(at: now) else { throw WaterlineSession.Refusal.noActiveSession }
        return SessionReport(view)
    }

    /// The session named by its id or an unambiguous beginning of it; without a name the one that runs, else the last.
    package func session(_ name: String? = nil) throws -> SessionReport {
        guard let name else { return try latestSession() }
        guard let view = try store.session(named: name, at: now) else {
            throw Refusal(
                "noSuchSession", "There is no one session whose id begins with \"\(name)\".", category: .notFound,
                values: ["given": name])
        }
        return SessionReport(view)
    }

    /// Past sessions, newest first.
    package func sessions(limit: Int = 5) throws -> SessionList {
        SessionList(
            sessions: try store.pastSessions(limit: limit).compactMap { try store.session(named: $0.id, at: now) }.map(
                SessionReport.init))
    }

    // MARK: - Parts

    /// A water's volume: more than 0 and at most 100 oz.
    static func checkedWater(_ oz: Double?) throws -> Double? {
        guard let oz else { return nil }
        guard oz > 0, oz <= 100 else {
            throw Refusal("waterVolume", "A water's volume must be more than 0 and at most 100 oz.")
        }
        return oz
    }

    /// The session that runs, else the last one, else the one named.
    func latestSession(else id: String? = nil) throws -> SessionReport {
        if let active = try store.activeSession(at: now) { return SessionReport(active) }
        guard let last = try store.pastSessions(limit: 1).first?.id ?? id,
            let view = try store.session(named: last, at: now)
        else {
            throw WaterlineSession.Refusal.noActiveSession
        }
        return SessionReport(view)
    }

    private func outcome(_ log: LogEntry) throws -> LogOutcome {
        LogOutcome(log: log, session: try latestSession(else: log.sessionID))
    }
}

extension TrackerDesk {
    /// Does what a button of a notification says. A press is known by its key, so it counts once, whoever hears of it
    /// and however often.
    /// - Parameter instant: when it was pressed, of a press that took its time; `nil` means now.
    /// - Returns: `false` where somebody has done it already.
    @discardableResult
    package func press(_ action: NotificationAction, key: String, at instant: Instant? = nil) throws -> Bool {
        if [.logWater, .logDrink, .endSession, .keepGoing].contains(action) { try needWaterline() }
        let errand = Errand(key: "press " + key, asking: action.rawValue.utf8, at: now)
        let desk = running(errand)
        do {
            switch action {
            case .logCup: _ = try desk.logDrink(.cup, at: instant)
            case .snooze: _ = try desk.snooze(.minutes(Snooze.usualMinutes))
            case .notToday: _ = try desk.snooze(.tomorrow)
            case .logWater: _ = try desk.water(at: instant)
            case .logDrink: _ = try desk.drink(at: instant)
            case .endSession: _ = try desk.endSession()
            case .keepGoing: _ = try desk.keepGoing()
            // Nothing is written but that somebody has looked.
            case .open, .dismiss: try desk.openNotifications()
            }
            return true
        } catch is Errand.Repeated {
            return false
        }
    }
}

extension TrackerDesk {
    /// For how long a button of a notification in somebody's pocket is meant, seconds.
    private static let buttonLifetime: Double = 24 * 3600

    /// A button of a notification on a phone, by the key that it was sent with; `nil` where there is no such
    /// notification here. The key is good for the buttons of that one notification, each once, for a day.
    package func press(_ action: NotificationAction, withKey key: String) throws -> Bool? {
        guard let message = try store.post(withKey: key) else { return nil }
        // What was sent by a clock that ran ahead is a moment old, for all that anybody knows. Whose session it was of,
        // nobody does.
        let age = message.since.seconds(to: now)
        guard age < Self.buttonLifetime, age > -Self.buttonLifetime || !message.announcement.kind.isWaterline else {
            throw Refusal(
                "notMeantAnyMore", "This notification is more than a day old: its buttons do nothing any more.")
        }
        guard message.announcement.kind.actions.contains(action) else {
            throw Refusal("otherNotification", "This notification has no such button.")
        }
        // Of a session that is over by now a phone may still show what was asked of it.
        if message.announcement.kind.isWaterline, let session = try store.activeSession(at: now)?.session,
            session.startTime > message.since
        {
            throw Refusal(
                "notMeantAnyMore", "This notification is of a session that is over: its buttons do nothing any more.")
        }
        return try press(action, key: "pocket \(message.announcement.id) \(action.rawValue)")
    }
}
