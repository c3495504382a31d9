import BottleProtocol
import TrackerCore

extension WireEntry {
    /// The difference between an imported entry and its bytes; `nil` if they agree. An entry with wrong values would
    /// replace a real drink: a poll would count it as stored and acknowledge it.
    /// - Parameter now: by the importer's clock.
    package func contradiction(now: Instant) -> String? {
        guard let flag = entry.raw.last else { return "raw is empty" }
        switch entry.verdict {
        // The entry is not counted, and a poll that receives the same bytes dates it.
        case .quarantined: return nil
        case .drink(let at, _):
            if flag != 0 { return "its bytes are not those of a drink" }
            if max(entry.received, now).seconds(to: at) > RecordResolver.aheadSeconds {
                return "it was drunk after it was received"
            }
        case .notADrink(let reason):
            if (reason == "flag") != (flag != 0) || reason != "flag" && entry.amountMl > 0 {
                return "its bytes say that it is a drink"
            }
        }
        let readings = Self.readings(entry.reading)
        guard !readings.isEmpty else { return "this program knows no reading \"\(entry.reading ?? "")\"" }
        return readings.contains { says($0, $1) } ? nil : "its bytes say another time or amount"
    }

    /// The readings that `JournalEntry.reading` names, or all if it names none.
    private static func readings(_ text: String?) -> [(RecordDialect, AmountWidth)] {
        let all = RecordDialect.allCases.flatMap { dialect in
            AmountWidth.allCases.map { (dialect, $0) }
        }
        guard let text else { return all }
        return all.filter { "\($0.rawValue)/\($1.rawValue)" == text }
    }

    private func says(_ dialect: RecordDialect, _ width: AmountWidth) -> Bool {
        guard let record = try? DrinkRecord(decoding: entry.raw, dialect: dialect, amountWidth: width),
            record.amountMl == entry.amountMl
        else { return false }
        // The user dated the record, because its bytes have no valid date.
        guard let wall = entry.wall else { return true }
        return (record.year ?? wall.year) == wall.year && record.month == wall.month && record.day == wall.day
            && record.hour == wall.hour && record.minute == wall.minute && record.second == wall.second
    }
}
