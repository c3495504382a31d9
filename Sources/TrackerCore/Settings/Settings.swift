/// Every setting of tracker law Section 11, typed, with its default: of a person's day, of the bottles, and of the service. The way in is
/// `set(_:to:)`: whatever it refuses leaves the old value. Names, ranges and rules stand in `Settings.catalogue`.
public struct Settings: Hashable, Sendable {
    // day
    public internal(set) var boundaryHour = 4
    /// IANA id; `nil` is the system's zone.
    public internal(set) var dayZone: String?

    // hydration
    public internal(set) var goalMl = 2500
    public internal(set) var glassMl = 200
    public internal(set) var cupMl = 250
    public internal(set) var quickAddMl = [100, 250, 500]
    /// Water logged in a session also counts for the day.
    public internal(set) var countSessionWater = false
    /// In what amounts are shown; `nil`: as it is usual here.
    public internal(set) var hydrationUnits: AmountUnits?

    // schedule
    public internal(set) var wake = TimeOfDay(hour: 7)
    public internal(set) var sleep = TimeOfDay(hour: 22)
    public internal(set) var intervalWake: TimeOfDay?
    public internal(set) var intervalSleep: TimeOfDay?
    public internal(set) var adaptiveStart: TimeOfDay?
    public internal(set) var adaptiveEnd: TimeOfDay?

    // reminders
    public internal(set) var remindersEnabled = true
    public internal(set) var engine = ReminderEngine.pace
    public internal(set) var dailyLimit = true
    public internal(set) var maxPerDay = 8
    public internal(set) var backOnTrack = false
    public internal(set) var minDeficitMl = 50

    // pace
    public internal(set) var paceMode = Pace.Mode.continuous
    public internal(set) var thresholdPercent = 20
    public internal(set) var testMode = false

    // adaptive and notify
    public internal(set) var adaptiveIntervalHours = 2.0
    public internal(set) var sound = true
    public internal(set) var timeSensitiveCritical = true

    /// Of every bottle that has no settings of its own.
    public internal(set) var bottle = BottleSettings()

    // waterline
    public internal(set) var waterEveryNDrinks = 1
    public internal(set) var timeReminders = true
    public internal(set) var intervalMinutes = 20
    public internal(set) var warningThreshold = 2
    public internal(set) var defaultWaterOz = 8
    public internal(set) var units = VolumeUnits.oz
    public internal(set) var discreet = true
    public internal(set) var defaultPreset: String?
    public internal(set) var bottleWater = BottleWaterMode.accumulate

    // week, files
    public internal(set) var weekFirstDay = WeekStart.monday
    public internal(set) var healthEnabled = false
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
