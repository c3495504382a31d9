import Bluetooth
import Testing

@testable import Gateway

/// The retry policy and the limits of a poll. A change needs a reason here, and its cost for a poll.
@Suite struct RetryTableTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var code: LinkError.Code
        var rungs: [RecoveryAction]
        var pause: Duration
        var failure: PollFailure.Kind
        /// The reason for the pause.
        var reason: String
        var testDescription: String { code.rawValue }
    }

    static let rows: [Row] = [
        Row(code: .noAdapter, rungs: [], pause: .zero, failure: .noAdapter, reason: "nothing follows"),
        Row(
            code: .poweredOff, rungs: [.powerCycle], pause: .seconds(1), failure: .bluetoothOff,
            reason: "the adapter goes off and on again, and its service with it"),
        Row(code: .permissionDenied, rungs: [], pause: .zero, failure: .permissionDenied, reason: "nothing follows"),
        Row(
            code: .notFound, rungs: [.restartDiscovery, .forget, .powerCycle], pause: .milliseconds(200),
            failure: .notFound,
            reason: "a scan of 10 s went before: only the service below needs a breath"),
        Row(
            code: .connectFailed, rungs: [.retry, .disconnect, .forget, .powerCycle], pause: .milliseconds(300),
            failure: .connectFailed,
            reason: "a burst on the air is over, and the bottle advertises again within it"),
        Row(
            code: .inProgress, rungs: [.disconnect, .forget, .powerCycle], pause: .milliseconds(500),
            failure: .connectFailed,
            reason: "somebody else's attempt has to end before ours begins"),
        Row(
            code: .disconnected, rungs: [.retry, .retry, .forget], pause: .milliseconds(300), failure: .connectionLost,
            reason: "the bottle advertises again within it"),
        Row(
            code: .timeout, rungs: [.disconnect, .forget], pause: .milliseconds(300), failure: .didNotAnswer,
            reason: "the old connection has to end before the new one begins"),
        Row(code: .refused, rungs: [], pause: .zero, failure: .unexpectedResponse, reason: "nothing follows"),
        Row(
            code: .protocolViolation, rungs: [.forget], pause: .milliseconds(300), failure: .unexpectedResponse,
            reason: "the system forgets before it asks anew"),
        Row(
            code: .outOfStep, rungs: [.disconnect], pause: .milliseconds(200), failure: .connectionLost,
            reason: "the disagreement is on this machine, and over as soon as it is disconnected"),
        Row(
            code: .serviceLost, rungs: [.retry, .retry, .retry], pause: .seconds(2), failure: .noAdapter,
            reason: "a service manager brings bluetoothd back within seconds: three times two"),
        Row(
            code: .system, rungs: [.retry, .disconnect, .forget], pause: .milliseconds(300), failure: .connectFailed,
            reason: "as for an attempt that failed"),
    ]

    @Test(arguments: rows) func `each error class has its retry rule`(_ row: Row) throws {
        let rules = RetryTable.rules.filter { $0.code == row.code }
        let rule = try #require(rules.first)
        #expect(rules.count == 1)
        #expect(rule.rungs == row.rungs)
        #expect(rule.pause == row.pause, "the pause was chosen because \(row.reason)")
        #expect(rule.failure == row.failure)
        #expect(!rule.reason.isEmpty)
        // A poll has 30 s (tracker spec A8) for attempts: pauses take at most a fifth.
        #expect(rule.pause * rule.rungs.count <= PollLimits().poll / 5)
        // Power-cycling disturbs other connections most, so a gentler step precedes it.
        #expect(
            rule.rungs.firstIndex(of: .forget).map { first in
                !rule.rungs[(first + 1)...].contains { $0 == .retry || $0 == .disconnect }
            } ?? true)
    }

    @Test func `every error class has a rule`() {
        #expect(RetryTable.rules.map(\.code) == Self.rows.map(\.code))
        #expect(RetryTable.rule(for: LinkError.Code(rawValue: "unheardOf")).code == .system)
    }

    /// The values of `PollLimits` that no other test covers, each with its source.
    @Test func `the limits of a poll are as specified`() {
        let limits = PollLimits()
        let durations: [(name: String, is: Duration, agreed: Duration, reason: String)] = [
            ("scan", limits.scan, .seconds(10), "the founding documents' scan time-out"),
            ("connect", limits.connect, .seconds(5), "the founding documents' connect time-out"),
            ("discover", limits.discover, .seconds(8), "about 1 s over radio; ATT's own 30 s would be the whole poll"),
            ("request", limits.request, .seconds(3), "one read or write takes some connection events"),
            (
                "beforeRead", limits.beforeRead, .milliseconds(500),
                "the founding documents' pause between the draft's command and the first read"
            ),
            ("answer", limits.answer, .seconds(1), "owners space commands 0.5 s to 1 s apart"),
            ("button", limits.button, .seconds(30), "somebody has to walk to the bottle"),
            ("silence", limits.silence, .seconds(3), "three times what a command may take to be answered"),
            ("linger", limits.linger, .milliseconds(250), "some connection events of a slow link"),
            (
                "lingerWithoutRadio", limits.lingerWithoutRadio, .milliseconds(15),
                "a socket delivers within a millisecond"
            ),
            ("poll", limits.poll, .seconds(30), "tracker spec A8"),
            ("closing", limits.closing, .seconds(3), "one request, to disconnect"),
        ]
        for limit in durations { #expect(limit.is == limit.agreed, "\(limit.name): \(limit.reason)") }
        let counts: [(name: String, is: Int, agreed: Int, reason: String)] = [
            ("sendings", limits.sendings, 3, "a bottle ignores what comes too soon: the second or third is in time"),
            ("records", limits.records, 4096, "eight times the 500 that a bottle keeps"),
            ("notifications", limits.notifications, 20_000, "far more than a whole log's, and bounded"),
            ("quarantined", limits.quarantined, 64, "enough to see what a bottle does; the rest is counted"),
            (
                "dumps", limits.dumps, 16,
                "each shows what is not acknowledged yet; a bottle that needs more never empties"
            ),
            ("flawedDumps", limits.flawedDumps, 6, "a link that damaged six dumps damages the next"),
            ("sessions", limits.sessions, 5, "the first, and one for each rung of the longest class"),
        ]
        for limit in counts { #expect(limit.is == limit.agreed, "\(limit.name): \(limit.reason)") }
        // Each step fits into the poll. A scan, a connection and one command leave time for the log.
        #expect(limits.scan + limits.connect + limits.answer + limits.silence < limits.poll)
    }
}
