/// A promise that did not hold, and what was seen instead.
package struct BrokenPromise: Hashable, Sendable, CustomStringConvertible {
    /// Which one, for programs: the same for the same promise.
    package var code: Code
    /// What did not hold, and what was seen.
    package var sentence: String

    /// What was found.
    package init(code: Code, sentence: String) { (self.code, self.sentence) = (code, sentence) }

    /// Which promise it was.
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The run itself did not come to an end.
        case endless
        /// A poll took too long.
        case slowPoll
        /// The figures of a report contradict each other, or the bottle.
        case figures
        /// The bottle was told to forget what the journal does not have.
        case acknowledgedUnstored
        /// A sip is not in the journal, or more than once.
        case missing, doubled
        /// The journal has what nobody drank.
        case invented
        /// A sip counts at a wrong time, or not though it could.
        case misdated
        /// Totals differ from what was drunk.
        case totals
        /// The broker does not know a drink as it is.
        case unheard
        /// The broker was told again what it had confirmed.
        case repeated
        /// In good weather it did not become good again.
        case unsettled
        /// What this scenario promises.
        case promised
    }

    /// The sentence.
    package var description: String { sentence }
}
