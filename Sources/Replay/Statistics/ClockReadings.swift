import Captures
import Bluetooth
import BottleProtocol

/// The readings of a bottle's clock in a capture, compared with the recorder's clock.
///
/// A bottle sends local wall time and a capture has UTC, so their difference includes the time zone. Zones are
/// multiples of 15 minutes, at most 14 hours from UTC. The difference from the nearest zone is the drift. If the host
/// set the clock, the time that it set determines the zone.
package struct ClockReadings: Sendable {
    package struct Reading: Sendable, Equatable {
        package var frame: Int
        package var time: Duration
        /// The bottle's wall time, read as UTC, minus the capture's time.
        package var offset: Duration
    }

    package private(set) var count = 0
    package private(set) var last: Reading?
    /// The number of times that the host set the clock; `lastSet` is the last time.
    package private(set) var setCount = 0
    private var lastSet: Reading?
    /// The record that is most ahead of its delivery time. The clock was ahead by at least this difference.
    package private(set) var latestRecord: Reading?
    /// The rate error of the bottle's clock in parts per million (positive: fast), over the longest period in which the
    /// host did not set it.
    package private(set) var rate: Double?
    private var reference: Reading?
    private var referenceSpan = Duration.zero

    init() {}

    /// The zone's offset from UTC, if the readings determine it.
    package var zone: Duration? {
        guard let offset = (lastSet ?? last)?.offset, abs(offset) <= Self.maximumZoneOffset + Self.maximumDrift else {
            return nil
        }
        let quarterHours = (Double(offset.components.seconds) / 900).rounded()
        return .seconds(Int64(quarterHours) * 900)
    }

    /// The bottle's clock minus the correct local time, at the last reading; `nil` if unknown, or if the clock is wrong
    /// by more than any zone.
    package var drift: Duration? {
        guard let last, let zone else { return nil }
        let rest = last.offset - zone
        return abs(rest) <= Self.maximumDrift ? rest : nil
    }

    /// The bottle's clock minus UTC, if the clock is wrong in every time zone; `nil` if it can be correct.
    package var error: Duration? {
        guard let last else {
            return latestRecord.flatMap { $0.offset > Self.maximumZoneOffset ? $0.offset : nil }
        }
        return drift == nil || abs(last.offset) > Self.maximumZoneOffset + Self.maximumDrift ? last.offset : nil
    }

    private static let maximumZoneOffset = Duration.seconds(14 * 3600)
    private static let maximumDrift = Duration.seconds(450)

    mutating func read(_ clock: BottleClock, frame: Int, time: Duration?) {
        guard let reading = Self.reading(clock, frame: frame, time: time) else { return }
        count += 1
        last = reading
        guard let reference else { return reference = reading }
        let span = reading.time - reference.time
        // Both clocks have a resolution of 1 s, so less than ten minutes do not determine a rate.
        guard span >= .seconds(600), span > referenceSpan else { return }
        referenceSpan = span
        rate = (reading.offset - reference.offset) / span * 1e6
    }

    mutating func set(_ clock: BottleClock, frame: Int, time: Duration?) {
        setCount += 1
        (reference, referenceSpan) = (nil, .zero)
        if let reading = Self.reading(clock, frame: frame, time: time) { lastSet = reading }
    }

    mutating func deliver(_ record: DrinkRecord, frame: Int, time: Duration?) {
        // The first six bytes of a record have the format of a clock.
        guard record.isDatePossible, let clock = BottleClock(record.raw.prefix(6)),
            let reading = Self.reading(clock, frame: frame, time: time)
        else { return }
        if latestRecord.map({ reading.offset > $0.offset }) ?? true { latestRecord = reading }
    }

    private static func reading(_ clock: BottleClock, frame: Int, time: Duration?) -> Reading? {
        guard let time, clock.isPossible else { return nil }
        let days = CivilTime.days(year: clock.year, month: Int(clock.month), day: Int(clock.day))
        let seconds = days * 86_400 + Int64(clock.hour) * 3600 + Int64(clock.minute) * 60 + Int64(clock.second)
        return Reading(frame: frame, time: time, offset: .seconds(seconds) - time)
    }
}

func abs(_ duration: Duration) -> Duration { duration < .zero ? .zero - duration : duration }
