import Store
import TrackerCore

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
