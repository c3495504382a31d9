/// The result of a check of the doctor, with advice.
package struct Finding: Hashable, Sendable {
    package enum Status: String, Hashable, Sendable {
        case good
        /// Unusual, or missing but not required by the selected link.
        case note
        case bad
    }

    /// The subject of the check: `adapter hci0`, `bus policy`.
    package var check: String
    package var status: Status
    package var found: String
    package var advice: String?
    /// Whether the bottle, the adapter or the link is missing; this has its own exit code.
    package var isAbsence: Bool

    package var remedy: Remedy?

    package init(
        _ check: String, _ status: Status, _ found: String, advice: String? = nil, isAbsence: Bool = false,
        remedy: Remedy? = nil
    ) {
        self.check = check
        self.status = status
        self.found = found
        self.advice = advice
        self.isAbsence = isAbsence
        self.remedy = remedy
    }
}

/// A command that fixes a finding.
package struct Remedy: Hashable, Sendable {
    package var command: [String]
    package var needsRoot: Bool

    package init(_ command: [String], needsRoot: Bool) {
        self.command = command
        self.needsRoot = needsRoot
    }
}
