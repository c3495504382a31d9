import Foundation
import GatewaySupport
import Store
import Support
import Testing
import TrackerCore

@Suite final class ConnectionTests: StoreFixture {
    let now = context(at: sampleInstant)

    private static let problems =
        ConnectionProblem.Kind.allCases.compactMap {
            ConnectionProblem(code: $0.rawValue, message: "The bottle went away.")
        } + [ConnectionProblem(.connectFailed)]

    @Test(arguments: problems)
    func `a connection problem stays until a poll succeeds`(_ problem: ConnectionProblem) throws {
        #expect(try store.preview(now).snapshot.connectionProblem == nil)
        try store.recordConnection(problem, at: sampleInstant)
        try store.recordConnection(problem, at: sampleInstant.advanced(seconds: 60))
        // Another process sees the problem, too.
        let shown = try TrackerStore(path: scratch.store, for: .reading).preview(now).snapshot.connectionProblem
        #expect(shown == problem)
        try store.recordConnection(nil, at: sampleInstant)
        #expect(try store.preview(now).snapshot.connectionProblem == nil)
    }

    @Test func `the state contains the bottle that was polled last`() throws {
        #expect(try store.preview(now).snapshot.bottle == nil)
        for (number, battery) in [(1, 80), (2, 40)] {
            let name = "A4:C1:38:00:00:0\(number)"
            try store.adopt(BottleNames(name))
            try store.finishPoll(
                PollRecord(
                    bottle: name, name: "WaterH-Boost-24oz", model: "boost", batteryPercent: battery,
                    clockDriftSeconds: -3, endedAt: sampleInstant.advanced(seconds: Double(number)),
                    complete: number == 1))
        }
        // A capture belongs to no bottle of this store.
        try store.finishPoll(
            PollRecord(
                bottle: "recorded", batteryPercent: 5, endedAt: sampleInstant.advanced(seconds: 9), complete: true))
        let bottle = try #require(store.preview(now).snapshot.bottle)
        #expect(bottle.name == "A4:C1:38:00:00:02" && bottle.batteryPercent == 40 && bottle.clockDriftSeconds == -3)
        #expect(bottle.lastPoll == sampleInstant.advanced(seconds: 2) && bottle.lastCompletePoll == nil)
    }
}
