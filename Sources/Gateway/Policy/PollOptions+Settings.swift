package import TrackerCore

extension PollOptions {
    /// The options of a poll by the store's settings.
    /// - Parameters:
    ///   - zone: the zone of the days, and of the bottle's clock unless the settings name another zone for it.
    ///   - goalMl: the day's goal in ml; `nil` if it is unknown.
    package init(settings: BottleSettings, zone: Zone, goalMl: Int? = nil) {
        self.init(zone: zone)
        (dayZone, dayGoalMl) = (zone, goalMl)
        alias = settings.alias
        apply(settings)
        (limits.scan, limits.connect) = (
            .seconds(settings.scanTimeoutSeconds), .seconds(settings.connectTimeoutSeconds)
        )
    }

    /// Applies one bottle's settings. Options that the user has set for this poll are not changed.
    mutating func apply(_ settings: BottleSettings) {
        if !isDialectExplicit { dialect = settings.recordDialect }
        amountWidth = settings.amountWidth
        if let dayZone { zone = settings.zone.flatMap { try? Zone($0) } ?? dayZone }
        isSharing = settings.mode == .share
        if settings.trustsClock { isClockSynchronised = true }
        maxRecordAgeDays = settings.maxRecordAgeDays
        limits.beforeRead = .seconds(settings.readDelaySeconds)
        if let dayGoalMl { goalMl = settings.showsGoal ? UInt16(clamping: dayGoalMl) : nil }
    }

    package func applyingSettings(of bottle: AdoptedBottle?) -> PollOptions {
        var options = self
        if let settings = bottle?.settings { options.apply(settings) }
        return options
    }
}
