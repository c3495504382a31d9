/// All settings of tracker spec Section 11 with their defaults. `set(_:to:)` rejects an invalid value and keeps the old
/// one. `Settings.catalogue` has names, ranges and rules.
package struct Settings: Hashable, Sendable {
    /// The hour at which a day begins (0–6).
    package internal(set) var boundaryHour = 4
    /// The IANA id of the time zone; `nil` for the system's.
    package internal(set) var dayZone: String?

    /// The daily goal in ml, within `goals`.
    package internal(set) var goalMl = 2500
    /// The range of the daily goal in ml.
    package static let goals = 500...5000
    /// The size of one glass of the progress ring (50–1000 ml).
    package internal(set) var glassMl = 200
    /// The size of the cup on the page: 100, 200, 250, 330 or 500 ml.
    package internal(set) var cupMl = 250
    /// The quick-add buttons: 1 to 12 amounts of 1–2000 ml.
    package internal(set) var quickAddMl = [100, 250, 500]
    package internal(set) var countSessionWater = false
    /// The unit of displayed amounts; `nil` for the default.
    package internal(set) var hydrationUnits: AmountUnits?

    /// The start of the active hours: 04:00–11:45 in quarters of an hour.
    package internal(set) var wake = TimeOfDay(hour: 7)
    /// The end of the active hours: 18:00–23:45 in quarters of an hour.
    package internal(set) var sleep = TimeOfDay(hour: 22)
    /// The start of the hours of the countdown and its ring; `nil` for the active hours.
    package internal(set) var intervalWake: TimeOfDay?
    /// The end of the hours of the countdown and its ring; `nil` for the active hours.
    package internal(set) var intervalSleep: TimeOfDay?
    /// The start of the adaptive reminder's hours, a full hour; `nil` for the active hours.
    package internal(set) var adaptiveStart: TimeOfDay?
    /// The end of the adaptive reminder's hours, a full hour; `nil` for the active hours.
    package internal(set) var adaptiveEnd: TimeOfDay?

    package internal(set) var remindersEnabled = true
    package internal(set) var engine = ReminderEngine.pace
    package internal(set) var dailyLimit = true
    /// The limit of reminders per day (1–24), if `dailyLimit` is set.
    package internal(set) var maxPerDay = 8
    /// Whether there is a notification about being back on pace.
    package internal(set) var backOnTrack = false
    /// The minimum deficit for a reminder (0–500 ml).
    package internal(set) var minDeficitMl = 50

    package internal(set) var paceMode = Pace.Mode.continuous
    /// The percentage of the goal from which a deficit is red (1–100).
    package internal(set) var thresholdPercent = 20
    /// Test mode: red from 5 percent.
    package internal(set) var testMode = false

    /// The hours without a drink before an adaptive reminder (0.5–6 in halves).
    package internal(set) var adaptiveIntervalHours = 2.0
    package internal(set) var desktopNotifications = true
    package internal(set) var sound = true
    package internal(set) var timeSensitiveCritical = true

    /// The settings of bottles that have no own settings.
    package internal(set) var bottle = BottleSettings()

    /// N of the rule "water every N drinks" (1–10).
    package internal(set) var waterEveryNDrinks = 1
    package internal(set) var timeReminders = true
    /// The minutes between reminders by time: 10, 15, 20, 30, 45 or 60.
    package internal(set) var intervalMinutes = 20
    /// The Waterline value, in drinks, at which a session warns (1–10).
    package internal(set) var warningThreshold = 2
    /// The default amount of a water (1–32 oz).
    package internal(set) var defaultWaterOz = 8
    package internal(set) var units = VolumeUnits.oz
    /// Whether a session's notifications are discreet.
    package internal(set) var discreet = true
    /// Whether Waterline is also shown on phones and other computers.
    package internal(set) var isWaterlineShared = false
    package internal(set) var defaultPreset: String?
    package internal(set) var bottleWater = BottleWaterMode.accumulate

    package internal(set) var weekFirstDay = WeekStart.monday
    /// Whether each drink is also written to health files.
    package internal(set) var healthEnabled = false
    /// The directory for health files to import.
    package internal(set) var healthInbox: String?
    /// Names of the Apple Health sources that imports leave out, separated by commas.
    package internal(set) var healthExcludedSources: String?
    package internal(set) var service = ServiceSettings()

    package init() {}

    /// The hours of the countdown and its ring: `schedule.interval.*` if set, else the active hours.
    package var intervalHours: (wake: TimeOfDay, sleep: TimeOfDay) { (intervalWake ?? wake, intervalSleep ?? sleep) }
    /// The hours of the adaptive reminder: `schedule.adaptive.*` if set, else the active hours.
    package var adaptiveHours: (start: TimeOfDay, end: TimeOfDay) { (adaptiveStart ?? wake, adaptiveEnd ?? sleep) }
    package var amountUnits: AmountUnits { hydrationUnits ?? .ml }
    /// These settings with another default unit.
    package func withDefaultUnits(_ units: AmountUnits?) -> Settings {
        var copy = self
        copy.hydrationUnits = hydrationUnits ?? units
        return copy
    }
    /// The effective threshold in percent; 5 in test mode.
    package var effectiveThresholdPercent: Int { testMode ? 5 : thresholdPercent }
}

package enum ReminderEngine: String, Hashable, Sendable, CaseIterable { case pace, interval, adaptive, all }
package enum VolumeUnits: String, Hashable, Sendable, CaseIterable { case oz, ml }
/// The way in which the bottle's drinks count as water of a session.
package enum BottleWaterMode: String, Hashable, Sendable, CaseIterable { case accumulate, perSip, off }
package enum WeekStart: String, Hashable, Sendable, CaseIterable {
    case monday, sunday, saturday

    /// The number of the weekday: 0 = Monday … 6 = Sunday.
    package var weekday: Int {
        switch self {
        case .monday: 0
        case .sunday: 6
        case .saturday: 5
        }
    }
}
