import Captures
import Bluetooth
import BottleProtocol

/// What a capture shows of a bottle's clock, against the recorder's.
///
/// A bottle says local wall time and the capture says UTC: their difference holds the time zone. Zones are whole
/// quarters of an hour, at most 14 hours from UTC, so what is left beside the nearest one is drift; where the host set
/// the clock, its own difference tells the zone.
package struct ClockReadings: Sendable {
    /// The bottle told its time here.
    package struct Reading: Sendable, Equatable {
        /// Number of the record in which it was told.
        package var frame: Int
        /// Of the capture.
        package var time: Duration
        /// The bottle's wall time, read as UTC, less the capture's time.
        package var offset: Duration
    }

    /// How often the bottle told its clock.
    package internal(set) var count = 0
    /// The first time it was told.
    package internal(set) var first: Reading?
    /// The last time it was told.
    package internal(set) var last: Reading?
    /// How often the host set it.
    package internal(set) var settings = 0
    /// What the host set it to, the last time.
    package internal(set) var setting: Reading?
    /// The record that lies furthest ahead of the time at which it was delivered: the clock was at least so far ahead.
    package internal(set) var latestRecord: Reading?
    /// How much faster (positive) or slower the bottle's clock ran than the recorder's, in millionths, over the longest
    /// time without a setting.
    package internal(set) var rate: Double?
    private var anchor: Reading?
    private var anchorSpan = Duration.zero

    init() {}

    /// The zone's difference to UTC, as far as the readings tell.
    package var zone: Duration? {
        guard let offset = setting?.offset ?? last?.offset ?? first?.offset else { return nil }
        return Self.nearestZone(offset)
    }

    /// The bottle's clock beside the right local time, at the last reading; `nil` where nothing tells, or the clock is
    /// wrong by more than any zone.
    package var drift: Duration? {
        guard let last, let zone else { return nil }
        let rest = last.offset - zone
        return abs(rest) <= Self.largestDrift ? rest : nil
    }

    /// How far the clock lies outside of every zone; `nil` where it may be right.
    package var error: Duration? {
        guard let offset = last?.offset ?? latestRecord?.offset else { return nil }
        if last == nil, offset <= Self.furthestZone { return nil }
        return last == nil || drift == nil || abs(offset) > Self.furthestZone + Self.largestDrift ? offset : nil
    }

    private static let furthestZone = Duration.seconds(14 * 3600)
    private static let largestDrift = Duration.seconds(450)

    static func nearestZone(_ offset: Duration) -> Duration? {
        guard abs(offset) <= furthestZone + largestDrift else { return nil }
        let quarters = (Double(offset.components.seconds) / 900).rounded()
        return .seconds(Int64(quarters) * 900)
    }

    mutating func read(_ clock: BottleClock, frame: Int, time: Duration?) {
        guard let reading = Self.reading(clock, frame: frame, time: time) else { return }
        count += 1
        if first == nil { first = reading }
        last = reading
        guard let anchor else { return anchor = reading }
        let span = reading.time - anchor.time
        // Both clocks are read to the second: less than ten minutes tell nothing of a rate.
        guard span >= .seconds(600), span > anchorSpan else { return }
        anchorSpan = span
        rate = (reading.offset - anchor.offset) / span * 1e6
    }

    mutating func set(_ clock: BottleClock, frame: Int, time: Duration?) {
        settings += 1
        (anchor, anchorSpan) = (nil, .zero)
        if let reading = Self.reading(clock, frame: frame, time: time) { setting = reading }
    }

    mutating func deliver(_ record: DrinkRecord, frame: Int, time: Duration?) {
        guard record.isDatePossible, let year = record.year else { return }
        let clock = BottleClock(
            yearByte: UInt8(clamping: year - 2000), month: UInt8(clamping: record.month),
            day: UInt8(clamping: record.day), hour: UInt8(clamping: record.hour),
            minute: UInt8(clamping: record.minute), second: UInt8(clamping: record.second))
        guard let reading = Self.reading(clock, frame: frame, time: time) else { return }
        if latestRecord.map({ reading.offset > $0.offset }) ?? true { latestRecord = reading }
    }

    private static func reading(_ clock: BottleClock, frame: Int, time: Duration?) -> Reading? {
        guard let time, clock.isPossible else { return nil }
        let days = CivilTime.days(year: clock.year, month: Int(clock.month), day: Int(clock.day))
        let seconds = days * 86_400 + Int64(clock.hour) * 3600 + Int64(clock.minute) * 60 + Int64(clock.second)
        return Reading(frame: frame, time: time, offset: .seconds(seconds) - time)
    }
}

/// The length of a duration, whichever way it goes.
func abs(_ duration: Duration) -> Duration { duration < .zero ? .zero - duration : duration }
