import Foundation
import GRDB

/// The keys of drinks: what survives a retransmission, an export and an import.
enum DrinkKey {
    /// A bottle's drink: the bottle's first identity, wall time, amount.
    static func bottle(_ origin: String, _ wall: String, _ amountMl: Int) -> String { "\(origin)/\(wall)/\(amountMl)" }
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
