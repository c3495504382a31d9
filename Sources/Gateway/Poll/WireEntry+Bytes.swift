import BottleProtocol
package import TrackerCore

extension WireEntry {
    /// The difference between an imported entry and its bytes; `nil` if they agree. A poll acknowledges a drink that is
    /// already stored, so an entry with wrong values would replace a real drink.
    /// - Parameter now: the importer's time.
    package func contradiction(now: Instant) -> String? {
        guard let flag = entry.raw.last else { return "raw is empty" }
        switch entry.verdict {
        // The entry does not count, and a poll that receives the same bytes dates it.
        case .quarantined: return nil
        case .drink(let at, _):
            if flag != 0 { return "its verdict is drink, but its bytes are not a drink" }
            if max(entry.received, now).seconds(to: at) > RecordResolver.maxLeadSeconds {
                return "it is dated after it was received"
            }
        case .notADrink(let reason):
            if (reason == "flag") != (flag != 0) || reason != "flag" && entry.amountMl > 0 {
                return "its verdict is notADrink, but its bytes contradict that"
            }
        }
        let readings = Self.readings(entry.reading)
        guard !readings.isEmpty else { return "unknown reading \"\(entry.reading ?? "")\"" }
        return readings.contains { matches($0, $1) } ? nil : "its bytes have another time or amount"
    }

    /// The dialects and amount widths in the text of `JournalEntry.reading`; all of them if the text is `nil`.
    private static func readings(_ text: String?) -> [(RecordDialect, AmountWidth)] {
        let all = RecordDialect.allCases.flatMap { dialect in
            AmountWidth.allCases.map { (dialect, $0) }
        }
        guard let text else { return all }
        return all.filter { "\($0.rawValue)/\($1.rawValue)" == text }
    }

    private func matches(_ dialect: RecordDialect, _ width: AmountWidth) -> Bool {
        guard let record = try? DrinkRecord(decoding: entry.raw, dialect: dialect, amountWidth: width),
            record.amountMl == entry.amountMl
        else { return false }
        // If the user dated the record, its bytes have no valid date.
        guard let wall = entry.wall else { return true }
        return (record.year ?? wall.year) == wall.year && record.month == wall.month && record.day == wall.day
            && record.hour == wall.hour && record.minute == wall.minute && record.second == wall.second
    }
}
