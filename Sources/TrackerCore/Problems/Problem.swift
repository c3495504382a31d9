/// Why something was not done, in one shape for every surface.
///
/// The sentence holds whoever shows it: it names no flag, no command and no address. A surface adds what can be done
/// there, by the code, and says the rest in its own terms: an exit code, an HTTP status.
package protocol Problem: Error, CustomStringConvertible {
    /// A stable name for programs, in lowerCamelCase; of a refusal the rule's name, for example `noActiveSession`.
    var code: String { get }
    var category: ProblemCategory { get }
    /// What happened and why, for people.
    var sentence: String { get }
    /// What the sentence speaks of, by name: for programs, and for advice.
    var values: [String: String] { get }
}

extension Problem {
    /// None, where a problem says nothing else.
    package var values: [String: String] { [:] }
    /// The sentence.
    package var description: String { sentence }
}

/// What kind of trouble it is, as far as a surface has to tell them apart.
package enum ProblemCategory: String, Hashable, Sendable, CaseIterable {
    /// What was asked for is not there.
    case notFound
    /// A rule said no. Nothing was changed.
    case refused
    /// What was given cannot be understood.
    case invalid
    /// Somebody else holds it; the same thing works a little later.
    case busy
    case diskFull
    /// The file, or the bytes, are bad.
    case damaged
    /// Anything else.
    case failed
}
