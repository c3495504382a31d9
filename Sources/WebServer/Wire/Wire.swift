import Foundation
import Hummingbird
import NIOCore

enum Wire {
    /// The default maximum size of a body in bytes.
    static let bodyLimit = 64 * 1024

    static func json(_ value: some Encodable) -> ByteBuffer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Reports contain no value that JSON cannot represent.
        return ByteBuffer(bytes: (try? encoder.encode(value)) ?? Data("null".utf8))
    }
}
