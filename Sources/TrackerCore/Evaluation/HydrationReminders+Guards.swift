/// The conditions of each hydration reminder (tracker spec B4, B5).
extension HydrationReminders {
    var goalGuards: [ReminderGuard] {
        [
            ReminderGuard(.goalReached, pace.isGoalAchieved), ReminderGuard(.goalNotSent, !state.goalNotified),
            ReminderGuard(.remindersOn, settings.remindersEnabled), setupFinished,
        ]
    }

    private var setupFinished: ReminderGuard { ReminderGuard(.setupFinished, reminderHold != .setup) }

    var recoveryGuards: [ReminderGuard] {
        [
            ReminderGuard(.recovered, state.recoveryIsDue == true), ReminderGuard(.onPace, pace.urgency == .onTrack),
            ReminderGuard(.backOnTrackOn, settings.backOnTrack), ReminderGuard(.remindersOn, settings.remindersEnabled),
            ReminderGuard(.activeHours, !isQuiet), setupFinished,
        ]
    }

    /// The conditions of the engines that share one id and one daily limit.
    func reminderGuards(_ kind: NotificationKind) -> [ReminderGuard] {
        [
            ReminderGuard(.remindersOn, settings.remindersEnabled), ReminderGuard(.goalOpen, !pace.isGoalAchieved),
            ReminderGuard(.activeHours, !isQuiet), ReminderGuard(.notSnoozed, snoozedUntil == nil),
            setupFinished, ReminderGuard(.firstPollEnded, reminderHold != .firstPoll),
            ReminderGuard(.engineChosen, isSelected(kind)),
        ] + engineGuards(kind) + [
            ReminderGuard(.underDailyLimit, !settings.dailyLimit || state.remindersSent < settings.maxPerDay),
            ReminderGuard(.noOtherNotification, decisions.isEmpty),
        ]
    }

    /// Whether the user selected the engine of this kind. Both have the same name.
    func isSelected(_ kind: NotificationKind) -> Bool {
        settings.engine == .all || settings.engine.rawValue == kind.rawValue
    }

    private func engineGuards(_ kind: NotificationKind) -> [ReminderGuard] {
        switch kind {
        case .pace:
            [
                ReminderGuard(.behindPace, pace.urgency > .onTrack),
                ReminderGuard(.urgencyRisen, state.lastNotified.map { pace.urgency > $0 } ?? true),
                ReminderGuard(.deficitLargeEnough, pace.urgency == .onTrack || pace.deficitMl >= settings.minDeficitMl),
            ]
        case .interval:
            [
                ReminderGuard(.drinkDue, dueAnchor != nil),
                ReminderGuard(.intervalNotSent, dueAnchor == nil || dueAnchor != state.lastDueAnchor),
            ]
        default:
            [
                ReminderGuard(.pauseLongEnough, dueSlot.map { $0 > adaptive.start } ?? false),
                ReminderGuard(
                    .adaptiveNotSent, dueSlot.map { slot in state.lastAdaptiveSlot.map { slot > $0 } ?? true } ?? true),
            ]
        }
    }
}
