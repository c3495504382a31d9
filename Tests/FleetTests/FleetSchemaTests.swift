@testable import FleetStore
import Testing

/// The other tests make their databases with the steps of now. Those of people were made with the steps of then.
@Suite struct FleetSchemaTests {
    /// The digest of each step's text. A new one is added at the end; no line is changed.
    private static let landed: [String] = ["a1c81a76b439faae", "5282c5b0c77cd92c", "c389a2d00c1bddac", "ae50417d75862947", "37865464a494dd24", "dd18ea9138a788b9"]

    @Test func aStepThatHasLandedIsNeverChanged() {
        let steps = FleetSchema.steps.map(Self.digest)
        #expect(steps == Self.landed, "\n\(steps.joined(separator: "\n"))")
    }

    /// FNV-1a, 64 bits.
    private static func digest(_ text: String) -> String { String(text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }, radix: 16) }
}
