@testable import FleetStore
import Support
import Testing

/// The other tests make their databases with the steps of now. Those of people were made with the steps of then.
@Suite struct FleetSchemaTests {
    /// The digest of each step's text. A new one is added at the end; no line is changed.
    private static let landed: [String] = [
        "a1c81a76b439faae", "5282c5b0c77cd92c", "c389a2d00c1bddac", "ae50417d75862947", "37865464a494dd24",
        "dd18ea9138a788b9", "3a55359a45be710c", "11cf49e051861421",
    ]

    @Test func aStepThatHasLandedIsNeverChanged() {
        let steps = FleetSchema.steps.map(TextDigest.of)
        #expect(steps == Self.landed, "\n\(steps.joined(separator: "\n"))")
    }
}
