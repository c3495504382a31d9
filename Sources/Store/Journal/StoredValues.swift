import Foundation
import GRDB
import TrackerCore

/// The keys of drinks: what survives a retransmission, an export and an import.
enum DrinkKey {
    /// A bottle's drink: first identity of the bottle, wall time, amount.
    static func bottle(_ origin: String, _ wall: String, _ amountMl: Int) -> String { "\(origin)/\(wall)/\(amountMl)" }
}

extension WallTime {
    /// `2026-02-02T22:21:15`: sorts as time does for years of four digits.
    var text: String {
        var text = String(year)
        while text.utf8.count < 4 { text = "0" + text }
        for (mark, part) in [("-", month), ("-", day), ("T", hour), (":", minute), (":", second)] {
            text += mark
            if (0..<10).contains(part) { text += "0" }
            text += String(part)
        }
        return text
    }
}

extension DatabaseValue {
    /// A blob.
    init(bytes: [UInt8]) { self = Data(bytes).databaseValue }
}

extension Row {
    /// A blob column as bytes; empty where it is null.
    func bytes(_ column: String) -> [UInt8] {
        let data: Data? = self[column]
        return data.map { [UInt8]($0) } ?? []
    }
}
