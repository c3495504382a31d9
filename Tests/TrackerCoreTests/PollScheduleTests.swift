import Testing
import TrackerCore

@Suite struct PollScheduleTests {
    private static func schedule(_ time: String, pollWhenIdle: Bool) throws -> PollSchedule {
        var settings = Settings()
        try settings.set([
            ("schedule.wake", "09:00"), ("schedule.sleep", "23:00"), ("bottle.pollWhenIdle", "\(pollWhenIdle)"),
        ])
        let now = try #require(Instant(iso: time))
        return PollSchedule(TrackerFacts(settings: settings, zone: .utc), now: now)
    }

    @Test(
        arguments: [
            ("2026-06-01T03:00:00Z", 6 * 3600), ("2026-06-01T23:30:00Z", 34_200), ("2026-06-01T12:00:00Z", nil),
        ] as [(String, Double?)])
    func `polls rest outside the drinking hours unless the bottle is polled when idle`(time: String, rest: Double?)
        throws
    {
        let schedules = try [false, true].map { try Self.schedule(time, pollWhenIdle: $0) }
        if let rest { #expect(schedules[0] == .paused(seconds: rest)) }
        let polled = rest == nil ? schedules : [schedules[1]]
        #expect(polled.allSatisfy { if case .every = $0 { true } else { false } }, "\(polled)")
    }
}
