import Store
import TrackerCore

/// A Waterline session with its entries.
public struct SessionReport: Hashable, Sendable, Encodable {
    /// The session with what counts in it.
    public let view: SessionView

    public init(_ view: SessionView) { self.view = view }

    enum CodingKeys: String, CodingKey {
        case id, startTime, endTime, isActive, sealed, value, sinceWater, isWarning, summary, logs, carryMl
    }

    public func encode(to encoder: any Encoder) throws {
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
        try keys.encode(view.logs.map(LogReport.init), forKey: .logs)
        try keys.encode(view.carryMl, forKey: .carryMl)
    }
}

/// What the start of a session answers.
public struct SessionStart: Hashable, Sendable, Encodable {
    /// `false`: one was running already.
    public let started: Bool
    /// The session that began.
    public let session: SessionReport
}

/// What a new entry of a session answers: the session's new state.
public struct LogOutcome: Hashable, Sendable, Encodable {
    /// The new entry.
    public let log: LogEntry
    /// How the session stands now.
    public let session: SessionReport

    public func encode(to encoder: any Encoder) throws { try session.encode(to: encoder) }
}

/// Past sessions, newest first.
public struct SessionList: Hashable, Sendable, Encodable {
    /// Newest first.
    public let sessions: [SessionReport]
}
