/// Decides whether an earlier notification is still valid.
package struct NotificationValidity: Sendable {
    private let facts: TrackerFacts
    private let evaluation: Evaluation
    private let now: Instant

    /// - Parameter now: the time of display.
    package init(_ facts: TrackerFacts, now: Instant) {
        (self.facts, self.now) = (facts, now)
        evaluation = Tracker.evaluate(facts, now: now)
    }

    /// The reason not to show the notification; `nil` if it is still valid. The caller checks for later ones.
    package func reasonNotToShow(_ sent: TrackerNotification) -> MissedReason? {
        sent.kind.isWaterline ? sessionReason(sent) : dayReason(sent)
    }

    private func dayReason(_ sent: TrackerNotification) -> MissedReason? {
        let pace = evaluation.snapshot.pace
        guard sent.dayKey == pace.dayKey else { return .over }
        guard !sent.kind.countsInLimit || !evaluation.idsToClose.contains(sent.kind.id) else { return .answered }
        switch sent.kind {
        case .goal: guard pace.isGoalAchieved else { return .over }
        case .recovery: guard pace.urgency == .onTrack else { return .over }
        default: guard !isAfterDecision(pace.lastDrinkTime, sent) else { return .answered }
        }
        return sent.kind.isHeldInQuietHours && evaluation.snapshot.isQuiet ? .quietHours : nil
    }

    private func sessionReason(_ sent: TrackerNotification) -> MissedReason? {
        guard let waterline = facts.waterline, let shown = evaluation.snapshot.waterline,
            waterline.session.id == sent.sessionID, waterline.session.isActive
        else { return .over }
        switch sent.kind {
        case .waterlinePerDrink: return shown.state.sinceWater < facts.settings.waterEveryNDrinks ? .answered : nil
        case .waterlineWarning: return shown.state.isWarning ? nil : .answered
        case .waterlineAbandoned: return shown.abandonedHours == nil ? .answered : nil
        case .waterlineTime:
            let waters = waterline.allLogs(now: now, settings: facts.settings).filter { $0.kind == .water }
            return isAfterDecision(waters.map(\.timestamp).max(), sent) ? .answered : nil
        default: return nil
        }
    }

    private func isAfterDecision(_ instant: Instant?, _ sent: TrackerNotification) -> Bool {
        guard let instant, let decidedAt = sent.decidedAt else { return false }
        return instant > decidedAt
    }
}
