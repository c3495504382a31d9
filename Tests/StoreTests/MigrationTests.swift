@testable import Store
import Support
import Testing

/// The other tests make their old stores with the steps of now. The stores of people were made with those of then.
@Suite struct MigrationTests {
    /// A step that has landed, by its name and the digest of its text. A new one is added at the end; no line is
    /// changed.
    private static let landed: [(name: String, digest: String)] = [
        ("journal", "c2710ffb9abcd269"),
        ("tracker", "8d6996f579a0a0a4"),
        ("readings", "6c3cecd57e624e62"),
        ("files", "b71792e8f5e8921b"),
        ("decisions", "1f99f8667753274a"),
        ("clocks", "8963694842d5ea36"),
        ("connection", "343723c378a8ff8a"),
        ("witness", "90df006da13692cb"),
        ("ownBottles", "92298b6bc5a0370"),
        ("nearSettings", "2707c03155a935b3"),
        ("requests", "e31dfaa05af983de"),
        ("agreements", "46befa5261fa8229"),
        ("bottleSettings", "50fb33bd2a62611f"),
        ("edits", "ec3668b9a4e58f27"),
        ("outlets", "350a2fdfdda15d2c"),
        ("lights", "8449f7167ea92050"),
        ("places", "ec487495194886"),
        ("pocket", "5931328fae95d812"),
        ("homes", "712bc5a40cb75b86"),
        ("outletTroubles", "c2a17ca1a695af95"),
        ("toldZones", "a64e32dcda1bd04b"),
        ("push", "4968e9b468748cb6"),
        ("phone", "12e926e12a7f2058"),
        ("givenPlaces", "1c64e9c3aa011d99"),
        ("telling", "d84655bf8335775f"),
        ("leavings", "989f6f56dbd6e310"),
        ("pocketAddresses", "b9545f56aa904b13"),
        ("takingBack", "5874a4f66cd47b5e"),
        ("troubleTimes", "787ccf4430698de6"),
        ("fleetTold", "1bd8d84232a25e0d"),
    ]

    @Test func aStepThatHasLandedIsNeverChanged() {
        let steps = Schema.migrations.map { "(\"\($0.name)\", \"\(TextDigest.of($0.sql))\")," }
        #expect(
            steps == Self.landed.map { "(\"\($0.name)\", \"\($0.digest)\")," }, "\n\(steps.joined(separator: "\n"))")
    }
}
