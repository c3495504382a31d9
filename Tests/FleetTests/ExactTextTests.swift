import Testing
@testable import FleetStore

@Suite struct ExactTextTests {
    /// In PostgreSQL's order of the collation "C".
    private static let ordered = ["", "A", "A\u{0}", "Ab", "a", "e\u{301}", "z", "\u{E9}", "\u{E9}\u{301}", "語", "🥤"]

    @Test func `texts stand in the order of their bytes, and each equals only itself`() {
        for (first, left) in Self.ordered.enumerated() {
            for (second, right) in Self.ordered.enumerated() {
                let (left, right) = (ExactText(left), ExactText(right))
                #expect((left < right) == (first < second), "\(left.text) < \(right.text)")
                #expect((left == right) == (first == second), "\(left.text) == \(right.text)")
                #expect((left == right) == (left.hashValue == right.hashValue), "\(left.text) and \(right.text)")
            }
        }
        // Two spellings of one letter are two people.
        #expect("e\u{301}" == "\u{E9}" && ExactText.each(["\u{E9}", "e\u{301}", "\u{E9}"]).count == 2)
    }
}
