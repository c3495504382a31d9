/// Every setting of tracker law Section 11, typed, with its default: of a person's day, of the bottles, and of the
/// service. The way in is `set(_:to:)`: whatever it refuses leaves the old value. Names, ranges and rules stand in
/// `Settings.catalogue`.
public struct Settings: Hashable, Sendable {
    // day
    /// The hour at which a day begins, 0–6.
    public internal(set) var boundaryHour = 4
    /// IANA id; `nil` is the system's zone.
    public internal(set) var dayZone: String?

    // hydration
    /// What is to be drunk in a day, ml, within `goals`.
    public internal(set) var goalMl = 2500
    /// What a person may set as a day's goal, ml.
    public static let goals = 500...5000
    /// What one glass of the halo holds, 50–1000 ml.
    public internal(set) var glassMl = 200
    /// What the cup on the page holds: 100, 200, 250, 330 or 500 ml.
    public internal(set) var cupMl = 250
    /// The quick-add buttons: 1 to 12 amounts of 1–2000 ml.
    public internal(set) var quickAddMl = [100, 250, 500]
    /// Water logged in a session also counts for the day.
    public internal(set) var countSessionWater = false
    /// In what amounts are shown; `nil`: as it is usual here.
    public internal(set) var hydrationUnits: AmountUnits?

    // schedule
    /// Begin of the active hours, 04:00–11:45 in quarters of an hour.
    public internal(set) var wake = TimeOfDay(hour: 7)
    /// End of the active hours, 18:00–23:45 in quarters of an hour.
    public internal(set) var sleep = TimeOfDay(hour: 22)
    /// Begin of the halo's hours; `nil`: that of the active ones.
    public internal(set) var intervalWake: TimeOfDay?
    /// End of the halo's hours; `nil`: that of the active ones.
    public internal(set) var intervalSleep: TimeOfDay?
    /// Begin of the adaptive reminder's hours, a full hour; `nil`: that of the active ones.
    public internal(set) var adaptiveStart: TimeOfDay?
    /// End of the adaptive reminder's hours, a full hour; `nil`: that of the active ones.
    public internal(set) var adaptiveEnd: TimeOfDay?

    // reminders
    /// Whether there are hydration reminders at all.
    public internal(set) var remindersEnabled = true
    /// Which of them there are.
    public internal(set) var engine = ReminderEngine.pace
    /// Whether a day has a limit of reminders.
    public internal(set) var dailyLimit = true
    /// That limit, 1–24.
    public internal(set) var maxPerDay = 8
    /// Whether being back on pace is told.
    public internal(set) var backOnTrack = false
    /// A smaller deficit is no reason to speak, 0–500 ml.
    public internal(set) var minDeficitMl = 50

    // pace
    /// Whether the expected amount grows by the minute or by the hour.
    public internal(set) var paceMode = Pace.Mode.continuous
    /// Percent of the goal at which being behind turns red, 1–100.
    public internal(set) var thresholdPercent = 20
    /// Turns it red at 5 percent, to see how that looks.
    public internal(set) var testMode = false

    // adaptive and notify
    /// Hours without a drink after which the adaptive reminder speaks, 0.5–6 in halves.
    public internal(set) var adaptiveIntervalHours = 2.0
    /// Whether notifications make a sound.
    public internal(set) var sound = true
    /// Whether what is most pressing is told as critical; else as normal.
    public internal(set) var timeSensitiveCritical = true

    /// Of every bottle that has no settings of its own.
    public internal(set) var bottle = BottleSettings()

    // waterline
    /// The rule "water every N drinks": N, 1–10.
    public internal(set) var waterEveryNDrinks = 1
    /// Whether a session reminds by the clock.
    public internal(set) var timeReminders = true
    /// Minutes between these reminders: 10, 15, 20, 30, 45 or 60.
    public internal(set) var intervalMinutes = 20
    /// The value in drinks at which a session warns, 1–10.
    public internal(set) var warningThreshold = 2
    /// A glass of water where nobody says how much, 1–32 oz.
    public internal(set) var defaultWaterOz = 8
    /// In what a session's amounts are read and typed.
    public internal(set) var units = VolumeUnits.oz
    /// Whether a session's notifications hide what they are about.
    public internal(set) var discreet = true
    /// Id of the preset that is logged where none is named.
    public internal(set) var defaultPreset: String?
    /// What of the bottle's sips a session takes as water.
    public internal(set) var bottleWater = BottleWaterMode.accumulate

    // week, files
    /// With which day a week begins.
    public internal(set) var weekFirstDay = WeekStart.monday
    /// Whether each drink is also written to health files.
    public internal(set) var healthEnabled = false
    /// A folder into which a phone lays health files; they are taken in.
    public internal(set) var healthInbox: String?
    /// Where the service listens, and to whom it speaks.
    public internal(set) var service = ServiceSettings()

    /// Everything at its default.
    public init() {}

    // What the pairs and switches above amount to.

    /// Hours of the halo countdown: `schedule.interval.*` where set, else the common pair.
    public var intervalHours: (wake: TimeOfDay, sleep: TimeOfDay) { (intervalWake ?? wake, intervalSleep ?? sleep) }
    /// Hours of the adaptive reminder: `schedule.adaptive.*` where set, else the common pair.
    public var adaptiveHours: (start: TimeOfDay, end: TimeOfDay) { (adaptiveStart ?? wake, adaptiveEnd ?? sleep) }
    /// In what amounts are shown.
    public var amountUnits: AmountUnits { hydrationUnits ?? .ml }
    /// The same settings where amounts are shown in `units` unless somebody chose others.
    public func usually(_ units: AmountUnits?) -> Settings {
        var copy = self
        copy.hydrationUnits = hydrationUnits ?? units
        return copy
    }
    /// Percent of the goal at which being behind turns red; test mode makes it 5.
    public var effectiveThresholdPercent: Int { testMode ? 5 : thresholdPercent }
}

/// Which reminders there are.
public enum ReminderEngine: String, Hashable, Sendable, CaseIterable { case pace, interval, adaptive, all }
/// In what a person reads and types amounts.
public enum VolumeUnits: String, Hashable, Sendable, CaseIterable { case oz, ml }
/// What of the bottle's sips a session takes as water.
public enum BottleWaterMode: String, Hashable, Sendable, CaseIterable { case accumulate, perSip, off }
/// With which day a week begins.
public enum WeekStart: String, Hashable, Sendable, CaseIterable {
    case monday, sunday, saturday

    /// 0 = Monday … 6 = Sunday.
    public var weekday: Int {
        switch self {
        case .monday: 0
        case .sunday: 6
        case .saturday: 5
        }
    }
}
