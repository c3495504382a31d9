import Foundation
import GRDB

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
