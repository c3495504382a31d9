import TrackerCore

extension PollOptions {
    /// The options that the store's settings ask for; a bottle's own settings take precedence.
    /// - Parameters:
    ///   - zone: the zone of days, where the settings name none for the bottle.
    ///   - goalMl: the day's goal, if known.
    package init(settings: BottleSettings, zone: Zone, goalMl: Int? = nil) {
        self.init(zone: zone)
        (dayZone, dayGoalMl) = (zone, goalMl)
        alias = settings.alias
        follow(settings)
        (limits.scan, limits.connect) = (
            .seconds(settings.scanTimeoutSeconds), .seconds(settings.connectTimeoutSeconds)
        )
    }

    /// Applies one bottle's settings, except what the user has set for this poll.
    mutating func follow(_ settings: BottleSettings) {
        if !isReadingNamed { dialect = settings.recordDialect }
        amountWidth = settings.amountWidth
        if let dayZone { zone = settings.zone.flatMap { try? Zone($0) } ?? dayZone }
        isSharing = settings.mode == .share
        if settings.trustsClock { isClockSynchronised = true }
        maxRecordAgeDays = settings.maxRecordAgeDays
        limits.beforeRead = .seconds(settings.readDelaySeconds)
        if let dayGoalMl { goalMl = settings.showsGoal ? UInt16(clamping: dayGoalMl) : nil }
    }

    package func following(_ bottle: AdoptedBottle?) -> PollOptions {
        var options = self
        if let settings = bottle?.settings { options.follow(settings) }
        return options
    }
}
