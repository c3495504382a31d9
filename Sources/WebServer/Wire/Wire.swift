import Foundation
import Hummingbird
import NIOCore

/// How values become bytes, the same for all answers.
enum Wire {
    /// The largest body that any request may have, bytes.
    static let bodyLimit = 64 * 1024

    static func json(_ value: some Encodable) -> ByteBuffer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Our own reports hold no value that JSON cannot say.
        return ByteBuffer(bytes: (try? encoder.encode(value)) ?? Data("null".utf8))
    }
}
