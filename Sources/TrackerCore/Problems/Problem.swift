/// An error for all interfaces.
///
/// The sentence names no option, command or address. Each interface adds its advice by the code, and maps the category
/// to an exit code or HTTP status.
package protocol Problem: Error, CustomStringConvertible {
    /// A stable name in lowerCamelCase; for a refusal the rule's name, such as `noActiveSession`.
    var code: String { get }
    var category: ProblemCategory { get }
    var sentence: String { get }
    /// The values in the message by name, for programs and advice.
    var values: [String: String] { get }
}

extension Problem {
    package var values: [String: String] { [:] }
    package var description: String { sentence }
}

package enum ProblemCategory: String, Hashable, Sendable, CaseIterable {
    /// The requested object, such as a drink or a bottle, does not exist.
    case notFound
    /// A rule rejected the request. Nothing was changed.
    case refused
    case invalid
    /// Another process uses the store or the bottle. A retry can succeed.
    case busy
    case diskFull
    case damaged
    /// Any other error.
    case failed
}
