import Foundation
import Hummingbird
import NIOCore

/// JSON bodies of requests, responses and events.
enum JSONBody {
    /// The default maximum size of a body in bytes.
    static let sizeLimit = 64 * 1024

    static func encode(_ value: some Encodable) -> ByteBuffer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Reports contain no value that JSON cannot represent.
        return ByteBuffer(bytes: (try? encoder.encode(value)) ?? Data("null".utf8))
    }
}
