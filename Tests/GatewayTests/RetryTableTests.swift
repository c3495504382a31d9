import Bluetooth
import Testing

@testable import Gateway

@Suite struct RetryTableTests {
    @Test(arguments: LinkError.Code.allCases) func `the pauses of each rule fit into a poll`(_ code: LinkError.Code) {
        let rule = RetryTable.rule(for: code)
        // A poll has 30 s (tracker spec A8) for attempts: pauses take at most a fifth.
        #expect(rule.pause * rule.actions.count <= PollLimits().poll / 5)
        // Power-cycling disturbs other connections most, so it is the last step. A gentler step precedes `forget`.
        #expect(rule.actions.dropLast().allSatisfy { $0 != .powerCycle })
        if let first = rule.actions.firstIndex(of: .forget) {
            #expect(!rule.actions[first...].contains { $0 == .retry || $0 == .disconnect })
        }
    }

    @Test func `the time limits of one attempt add up to less than the poll's limit`() {
        let limits = PollLimits()
        #expect(limits.scan + limits.connect + limits.response + limits.silence < limits.poll)
        #expect(limits.poll == .seconds(30), "tracker spec A8")
    }
}
