/// A broken invariant, found at the end or during a simulated run.
package struct InvariantViolation: Hashable, Sendable, CustomStringConvertible {
    package var code: Code
    /// The observation, for the test's report.
    package var sentence: String

    package enum Code: String, Hashable, Sendable, CaseIterable {
        case endless
        case slowPoll
        /// The counts of a report contradict each other or the bottle.
        case inconsistentCounts
        /// The bottle dropped a record on request that the journal does not have.
        case acknowledgedUnstored
        /// A drink is not in the journal, or more than once.
        case missing, doubled
        /// The journal has a drink that did not occur.
        case invented
        /// A drink counts at a wrong time, or does not count although it could.
        case misdated
        case totals
        /// Without faults the state did not recover.
        case unsettled
        /// A result that this scenario expects.
        case expectation
    }

    package var description: String { sentence }
}
