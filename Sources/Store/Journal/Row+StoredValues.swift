import Foundation
import GRDB

extension DatabaseValue {
    /// A blob.
    init(bytes: [UInt8]) { self = Data(bytes).databaseValue }
}

extension Row {
    /// A blob column as bytes; empty where it is null, or no blob.
    func bytes(_ column: String) -> [UInt8] {
        (try? checked(column, Data?.self)).flatMap { $0.map { [UInt8]($0) } } ?? []
    }
}
