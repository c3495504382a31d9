/// Every setting of tracker spec Section 11, typed, with its default: of a person's day, of the bottles, and of the
/// service. The way in is `set(_:to:)`: whatever it refuses leaves the old value. Names, ranges and rules stand in
/// `Settings.catalogue`.
package struct Settings: Hashable, Sendable {
    // day
    /// The hour at which a day begins, 0–6.
    package internal(set) var boundaryHour = 4
    /// IANA id; `nil` is the system's zone.
    package internal(set) var dayZone: String?

    // hydration
    /// What is to be drunk in a day, ml, within `goals`.
    package internal(set) var goalMl = 2500
    /// What a person may set as a day's goal, ml.
    package static let goals = 500...5000
    /// What one glass of the halo holds, 50–1000 ml.
    package internal(set) var glassMl = 200
    /// What the cup on the page holds: 100, 200, 250, 330 or 500 ml.
    package internal(set) var cupMl = 250
    /// The quick-add buttons: 1 to 12 amounts of 1–2000 ml.
    package internal(set) var quickAddMl = [100, 250, 500]
    /// Water logged in a session also counts for the day.
    package internal(set) var countSessionWater = false
    /// In what amounts are shown; `nil`: as it is usual here.
    package internal(set) var hydrationUnits: AmountUnits?

    // schedule
    /// Begin of the active hours, 04:00–11:45 in quarters of an hour.
    package internal(set) var wake = TimeOfDay(hour: 7)
    /// End of the active hours, 18:00–23:45 in quarters of an hour.
    package internal(set) var sleep = TimeOfDay(hour: 22)
    /// Begin of the halo's hours; `nil`: that of the active ones.
    package internal(set) var intervalWake: TimeOfDay?
    /// End of the halo's hours; `nil`: that of the active ones.
    package internal(set) var intervalSleep: TimeOfDay?
    /// Begin of the adaptive reminder's hours, a full hour; `nil`: that of the active ones.
    package internal(set) var adaptiveStart: TimeOfDay?
    /// End of the adaptive reminder's hours, a full hour; `nil`: that of the active ones.
    package internal(set) var adaptiveEnd: TimeOfDay?

    // reminders
    /// Whether there are hydration reminders at all.
    package internal(set) var remindersEnabled = true
    /// Which of them there are.
    package internal(set) var engine = ReminderEngine.pace
    /// Whether a day has a limit of reminders.
    package internal(set) var dailyLimit = true
    /// That limit, 1–24.
    package internal(set) var maxPerDay = 8
    /// Whether being back on pace is told.
    package internal(set) var backOnTrack = false
    /// A smaller deficit is no reason to speak, 0–500 ml.
    package internal(set) var minDeficitMl = 50

    // pace
    /// Whether the expected amount grows by the minute or by the hour.
    package internal(set) var paceMode = Pace.Mode.continuous
    /// Percent of the goal at which being behind turns red, 1–100.
    package internal(set) var thresholdPercent = 20
    /// Turns it red at 5 percent, to see how that looks.
    package internal(set) var testMode = false

    // adaptive and notify
    /// Hours without a drink after which the adaptive reminder speaks, 0.5–6 in halves.
    package internal(set) var adaptiveIntervalHours = 2.0
    /// Whether notifications are shown on the desktop.
    package internal(set) var desktopNotifications = true
    /// Whether notifications make a sound.
    package internal(set) var sound = true
    /// Whether what is most pressing is told as critical; else as normal.
    package internal(set) var timeSensitiveCritical = true

    /// Of every bottle that has no settings of its own.
    package internal(set) var bottle = BottleSettings()

    // waterline
    /// The rule "water every N drinks": N, 1–10.
    package internal(set) var waterEveryNDrinks = 1
    /// Whether a session reminds by the clock.
    package internal(set) var timeReminders = true
    /// Minutes between these reminders: 10, 15, 20, 30, 45 or 60.
    package internal(set) var intervalMinutes = 20
    /// The value in drinks at which a session warns, 1–10.
    package internal(set) var warningThreshold = 2
    /// A glass of water where nobody says how much, 1–32 oz.
    package internal(set) var defaultWaterOz = 8
    /// In what a session's amounts are read and typed.
    package internal(set) var units = VolumeUnits.oz
    /// Whether a session's notifications hide what they are about.
    package internal(set) var discreet = true
    /// Whether Waterline is also shown on phones and other computers.
    package internal(set) var isWaterlineShared = false
    /// Id of the preset that is logged where none is named.
    package internal(set) var defaultPreset: String?
    /// What of the bottle's sips a session takes as water.
    package internal(set) var bottleWater = BottleWaterMode.accumulate

    // week, files
    /// With which day a week begins.
    package internal(set) var weekFirstDay = WeekStart.monday
    /// Whether each drink is also written to health files.
    package internal(set) var healthEnabled = false
    /// A folder into which a phone lays health files; they are taken in.
    package internal(set) var healthInbox: String?
    /// Where the service listens, and to whom it speaks.
    package internal(set) var service = ServiceSettings()

    /// Everything at its default.
    package init() {}

    // What the pairs and switches above amount to.

    /// Hours of the halo countdown: `schedule.interval.*` where set, else the common pair.
    package var intervalHours: (wake: TimeOfDay, sleep: TimeOfDay) { (intervalWake ?? wake, intervalSleep ?? sleep) }
    /// Hours of the adaptive reminder: `schedule.adaptive.*` where set, else the common pair.
    package var adaptiveHours: (start: TimeOfDay, end: TimeOfDay) { (adaptiveStart ?? wake, adaptiveEnd ?? sleep) }
    /// In what amounts are shown.
    package var amountUnits: AmountUnits { hydrationUnits ?? .ml }
    /// The same settings where amounts are shown in `units` unless somebody chose others.
    package func usually(_ units: AmountUnits?) -> Settings {
        var copy = self
        copy.hydrationUnits = hydrationUnits ?? units
        return copy
    }
    /// Percent of the goal at which being behind turns red; test mode makes it 5.
    package var effectiveThresholdPercent: Int { testMode ? 5 : thresholdPercent }
}

/// Which reminders there are.
package enum ReminderEngine: String, Hashable, Sendable, CaseIterable { case pace, interval, adaptive, all }
/// In what a person reads and types amounts.
package enum VolumeUnits: String, Hashable, Sendable, CaseIterable { case oz, ml }
/// What of the bottle's sips a session takes as water.
package enum BottleWaterMode: String, Hashable, Sendable, CaseIterable { case accumulate, perSip, off }
/// With which day a week begins.
package enum WeekStart: String, Hashable, Sendable, CaseIterable {
    case monday, sunday, saturday

    /// 0 = Monday … 6 = Sunday.
    package var weekday: Int {
        switch self {
        case .monday: 0
        case .sunday: 6
        case .saturday: 5
        }
    }
}
