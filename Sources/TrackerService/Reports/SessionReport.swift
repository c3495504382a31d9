import Store
import TrackerCore

/// A Waterline session with its entries.
package struct SessionReport: Hashable, Sendable, Encodable {
    /// The session with what counts in it.
    package let view: SessionView

    package init(_ view: SessionView) { self.view = view }

    enum CodingKeys: String, CodingKey {
        case id, startTime, endTime, isActive, sealed, value, sinceWater, isWarning, summary, logs, carryMl
    }

    package func encode(to encoder: any Encoder) throws {
        let (session, state) = (view.session, view.state)
        var keys = encoder.container(keyedBy: CodingKeys.self)
        try keys.encode(session.id, forKey: .id)
        try keys.encode(session.startTime.description, forKey: .startTime)
        try keys.encode(session.endTime?.description, forKey: .endTime)
        try keys.encode(session.isActive, forKey: .isActive)
        try keys.encode(session.sealed, forKey: .sealed)
        try keys.encode(state.value, forKey: .value)
        try keys.encode(state.sinceWater, forKey: .sinceWater)
        try keys.encode(state.isWarning, forKey: .isWarning)
        try keys.encode(session.computedSummary, forKey: .summary)
        try keys.encode(view.logs.map { LogReport($0, view) }, forKey: .logs)
        try keys.encode(view.carryMl, forKey: .carryMl)
    }
}

/// What the start of a session answers.
package struct SessionStart: Hashable, Sendable, Encodable {
    /// `false`: one was running already.
    package let started: Bool
    /// The session that began.
    package let session: SessionReport
}

/// What a new entry of a session answers: the session's new state.
package struct LogOutcome: Hashable, Sendable, Encodable {
    /// The new entry.
    package let log: LogEntry
    /// How the session stands now.
    package let session: SessionReport

    package func encode(to encoder: any Encoder) throws { try session.encode(to: encoder) }
}

/// Past sessions, newest first.
package struct SessionList: Hashable, Sendable, Encodable {
    /// Newest first.
    package let sessions: [SessionReport]
}
