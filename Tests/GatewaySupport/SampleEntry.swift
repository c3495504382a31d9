package import TrackerCore

/// The instant of the verified sample: 2026-02-02T22:21:15Z.
package let sampleInstant = Instant(seconds: 1_770_070_875)

/// The drink of the verified sample, read in UTC, or another record of a bottle that counts or has another verdict.
/// `tail` distinguishes two with the same date, time and amount.
package func entry(
    _ bottle: String = "A4:C1:38:00:00:01", hour: Int = 22, minute: Int = 21, second: Int = 15, ml: Int = 16,
    tail: UInt8 = 0, verdict: JournalEntry.Verdict? = nil, hasWall: Bool = true
) -> JournalEntry {
    let wall = WallTime(year: 2026, month: 2, day: 2, hour: hour, minute: minute, second: second)
    let raw: [UInt8] = [
        0x1A, 2, 2, UInt8(hour), UInt8(minute), UInt8(second), UInt8(ml >> 8), UInt8(ml & 255), 0, 0, 1, 0x61 &+ tail,
        0,
    ]
    let seconds = Int64(hour - 22) * 3600 + Int64(minute - 21) * 60 + Int64(second - 15)
    return JournalEntry(
        bottle: bottle, raw: raw, wall: hasWall ? wall : nil, amountMl: ml, received: sampleInstant,
        verdict: verdict ?? .drink(at: sampleInstant.advanced(seconds: Double(seconds)), zone: "UTC"))
}
