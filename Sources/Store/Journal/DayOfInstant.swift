import Foundation
import TrackerCore

/// The local day of an instant (`tracker.md` section 2), remembered by quarter hour: a batch of a million drinks asks
/// for few different ones, and no zone changes its day inside a quarter hour of UTC in the years a bottle knows.
struct DayOfInstant {
    private struct Block: Hashable {
        var zone: String
        var quarterHour: Int64
    }

    private var known: [Block: String] = [:]
    private static let quarter: Int64 = 15 * 60 * 1000

    /// - Returns: `yyyy-MM-dd`; the previous date where the wall clock in `zone` is before the boundary hour.
    mutating func day(of instant: Instant, zone: String, boundaryHour: Int) -> String {
        let block = Block(zone: zone, quarterHour: Int64((Double(instant.milliseconds) / Double(Self.quarter)).rounded(.down)))
        if let day = known[block] { return day }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: zone) ?? .gmt
        let date = Date(timeIntervalSince1970: Double(instant.milliseconds) / 1000)
        var parts = calendar.dateComponents([.year, .month, .day, .hour], from: date)
        if (parts.hour ?? 0) < boundaryHour {
            calendar.timeZone = .gmt
            let noon = calendar.date(from: DateComponents(year: parts.year, month: parts.month, day: parts.day, hour: 12))
            parts = calendar.dateComponents([.year, .month, .day], from: (noon ?? date).addingTimeInterval(-86_400))
        }
        let day = WallTime(
            year: parts.year ?? 0, month: parts.month ?? 0, day: parts.day ?? 0, hour: 0, minute: 0, second: 0)
        let text = String(day.text.prefix(10))
        known[block] = text
        return text
    }
}
