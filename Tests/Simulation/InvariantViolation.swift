/// A broken invariant and the observed state.
package struct InvariantViolation: Hashable, Sendable, CustomStringConvertible {
    /// Machine-readable; equal for the same invariant.
    package var code: Code
    /// The invariant and the observation.
    package var sentence: String

    package init(code: Code, sentence: String) { (self.code, self.sentence) = (code, sentence) }

    package enum Code: String, Hashable, Sendable, CaseIterable {
        case endless
        case slowPoll
        /// The counts of a report contradict each other or the bottle.
        case figures
        /// The bottle dropped a record on request that the journal does not have.
        case acknowledgedUnstored
        /// A drink is not in the journal, or more than once.
        case missing, doubled
        /// The journal has a drink that did not occur.
        case invented
        /// A drink counts at a wrong time, or does not count although it could.
        case misdated
        case totals
        /// The broker does not have the current state of a drink.
        case unheard
        /// The broker received again what it had confirmed.
        case repeated
        /// Without faults the state did not recover.
        case unsettled
        /// A result that this scenario expects.
        case promised
    }

    package var description: String { sentence }
}
