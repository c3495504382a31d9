import BottleProtocol
import Bluetooth
import GatewaySupport
import Testing
import TrackerCore

@testable import Gateway

@Suite struct ClockTrustTests {
    private static let day = 86_400.0

    private func poll(
        _ records: [[UInt8]], _ profile: BottleProfile = .retail, host days: Double = 0,
        journal: MemoryJournal = MemoryJournal(), clock: [UInt8] = [0x1A, 2, 2, 22, 30, 0],
        _ change: (inout PollOptions) -> Void = { $0.isClockSynchronised = false }
    ) throws -> (rig: EngineRig<ScriptedBottle>, report: PollReport) {
        var bottle = ScriptedBottle(profile, records: records)
        if profile == .retail { bottle.snapshot = boostSnapshot(clock: clock) }
        let (rig, report) = try polled(
            bottle, options: options(change), journal: journal, start: evening.advanced(seconds: days * Self.day))
        return (rig, report)
    }

    private func setsClock(_ rig: EngineRig<ScriptedBottle>) -> Bool {
        rig.written.contains { if case .clock = $0 { true } else { false } }
    }

    private func counted(_ journal: MemoryJournal) -> [Instant] {
        journal.entries.compactMap { if case .drink(let at, _) = $0.verdict { at } else { nil } }
    }

    @Test(arguments: BottleProfile.allCases, [-51.0, -400, -20_000, 51, 300])
    func `a poll acknowledges nothing and counts by the records' dates when the host's clock is days off`(
        profile: BottleProfile, days: Double
    ) throws {
        let journal = MemoryJournal()
        let (wrong, report) = try poll(drinks(40), profile, host: days, journal: journal)
        #expect(report.failure?.kind == .clockNotTrusted, "\(report)")
        #expect(wrong.peer.records.count == 40 && report.acknowledged == 0)
        #expect(!setsClock(wrong))
        #expect(counted(journal).count == 40 && counted(journal).allSatisfy { abs($0.seconds(to: evening)) < Self.day })
        #expect(journal.entries.allSatisfy { abs($0.received.seconds(to: evening)) < Self.day })
        #expect(try journal.storedState(of: BottleNames(ownAddress)).lastCompletePoll == nil)
        let (right, second) = try poll(drinks(40), profile, journal: journal)
        #expect(second.failure == nil && second.acknowledged == 40 && right.peer.records.isEmpty, "\(second)")
        #expect(journal.entries.count == 40)
    }

    @Test func `records without a year wait for a trusted clock`() throws {
        let journal = MemoryJournal()
        let strict: (inout PollOptions) -> Void = { ($0.isClockSynchronised, $0.dialect) = (false, .strict) }
        let (_, report) = try poll(drinks(4), host: -51, journal: journal, strict)
        #expect(report.failure?.kind == .clockNotTrusted && report.suspect == 4 && counted(journal).isEmpty)
        let (_, second) = try poll(drinks(4), journal: journal, strict)
        #expect(second.failure == nil && second.new == 4 && counted(journal).count == 4, "\(second)")
    }

    @Test func `an untrusted clock does not count records that are older than the last complete poll`() throws {
        let journal = MemoryJournal()
        try #require(try poll(drinks(4), journal: journal).report.acknowledged == 4)
        let old = record(minute: 5, amount: 77, day: 1)
        let (_, report) = try poll([old], host: -51, journal: journal)
        #expect(report.suspect == 1 && counted(journal).count == 4)
    }

    @Test func `a trusted clock quarantines records of a wrong bottle clock`() throws {
        let journal = MemoryJournal()
        try #require(try poll(drinks(4), journal: journal).report.acknowledged == 4)
        let (old, ahead) = (record(minute: 5, amount: 77, day: 20, month: 1), record(minute: 5, amount: 78, day: 9))
        let (rig, report) = try poll([old, ahead], host: 0.01, journal: journal) { _ in }
        #expect(report.failure == nil && report.suspect == 2 && report.acknowledged == 2, "\(report)")
        #expect(rig.journal.entries.suffix(2).allSatisfy { if case .quarantined = $0.verdict { true } else { false } })
    }

    @Test(arguments: [true, false]) func `only a synchronised clock sets the bottle's clock`(isSynchronised: Bool)
        throws
    {
        let (rig, report) = try poll(drinks(2), clock: [0x1A, 2, 2, 20, 0, 0]) {
            $0.isClockSynchronised = isSynchronised
        }
        #expect(report.failure == nil && setsClock(rig) == isSynchronised)
    }

    @Test func `a poll acknowledges nothing when nothing confirms the host's clock`() throws {
        let undated = record(minute: 61, amount: 77)
        let (rig, report) = try poll([undated], .draft)
        #expect(report.failure?.kind == .clockNotTrusted && rig.peer.records.count == 1, "\(report)")
        let (trusting, second) = try poll([undated], .draft, journal: rig.journal) { $0.isClockSynchronised = true }
        #expect(second.failure == nil && trusting.peer.records.isEmpty && rig.journal.holds(undated), "\(second)")
    }

    @Test(arguments: [(25 * 3600, true), (27 * 3600, false), (-27 * 3600, false)] as [(Double, Bool)])
    func `a clock is plausible within 26 hours of the bottle's clock, or of the newest record`(
        seconds: Double, isTrusted: Bool
    ) {
        func trust(_ drift: Int?, _ newest: Instant?, isSynchronised: Bool = false, released: Instant = evening)
            -> ClockTrust
        {
            ClockTrust(
                host: evening, zone: .utc, isSynchronised: isSynchronised, released: released, drift: drift,
                newest: newest)
        }
        #expect(trust(Int(seconds), nil).isTrusted == isTrusted)
        #expect(trust(nil, evening.advanced(seconds: seconds)).isTrusted == isTrusted)
        #expect(trust(Int(seconds), nil, isSynchronised: true) == .synchronised)
        #expect(!trust(0, nil, released: evening.advanced(seconds: 1)).isTrusted && !trust(nil, nil).isTrusted)
    }
}
