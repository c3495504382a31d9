import Bluetooth

// Answers that are late: of a question that was repeated, or of a dump that was given up too soon.
extension LogDrain {
    /// How long nothing of the log may have come before the link counts as quiet: longer than the time after which a
    /// question is repeated, and shorter than the silence after which a dump counts as broken off.
    var quietTime: Duration { limits.answer * 2 }

    /// Something came that no question of now can have asked for.
    mutating func fallBehind(at now: MonotonicInstant) {
        isBehind = true
        if phase == .quiet { deadline = now.advanced(by: quietTime) }
    }

    /// Asks for the log once more; where answers may still be on their way, not before they have come, or nothing has
    /// for a while.
    mutating func askOnceMore(at now: MonotonicInstant) -> [Action] {
        guard isBehind else { return ask(at: now) }
        phase = .quiet
        deadline = now.advanced(by: quietTime)
        return []
    }
}
