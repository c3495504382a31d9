import Foundation
import Synchronization

/// A value of a row's JSON text, with the text that it was decoded from: the same text says the same, and is not
/// decoded again. An evaluation reads each minute what changes a few times a day.
final class DecodedOnce<Value: Decodable & Sendable>: Sendable {
    private let last = Mutex<(text: String, value: Value?)?>(nil)

    /// `nil` where the text is none of a value.
    func value(of text: String) -> Value? {
        if let known = last.withLock({ $0?.text == text ? $0 : nil }) { return known.value }
        let value = try? JSONDecoder().decode(Value.self, from: Data(text.utf8))
        last.withLock { $0 = (text, value) }
        return value
    }
}
