/// One thing that a doctor looked at: what was found, and what to do about it.
public struct Finding: Hashable, Sendable {
    /// How bad it is.
    public enum Status: String, Hashable, Sendable {
        case good
        /// Odd, or missing and not needed for the link in use.
        case note
        case bad
    }

    /// What was looked at: `adapter hci0`, `bus policy`.
    public var check: String
    /// Whether it is as it should be.
    public var status: Status
    /// What was found, in a sentence.
    public var found: String
    /// What a person can do; there is none where nothing need be done.
    public var advice: String?
    /// There is no bottle, adapter or link: not a fault of this machine's setup or store.
    public var isAbsence: Bool

    /// What mends it, where one line does.
    public var remedy: Remedy?

    public init(
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
