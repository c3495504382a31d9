/// One thing that a doctor looked at: what was found, and what to do about it.
package struct Finding: Hashable, Sendable {
    /// How bad it is.
    package enum Status: String, Hashable, Sendable {
        case good
        /// Odd, or missing and not needed for the link in use.
        case note
        case bad
    }

    /// What was looked at: `adapter hci0`, `bus policy`.
    package var check: String
    /// Whether it is as it should be.
    package var status: Status
    /// What was found, in a sentence.
    package var found: String
    /// What a person can do; there is none where nothing need be done.
    package var advice: String?
    /// There is no bottle, adapter or link: not a fault of this machine's setup or store.
    package var isAbsence: Bool

    /// What mends it, where one line does.
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
