import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import Testing
import TrackerCore

@Suite struct OddPeerTests {
    /// A bottle with modified answers.
    private struct Odd: ScriptedPeer {
        var bottle = ScriptedBottle(records: drinks(6))
        var change:
            ([(after: Duration, event: CentralEvent)], CentralRequest) -> [(
                after: Duration, event: CentralEvent
            )]

        mutating func handle(_ request: CentralRequest, at now: MonotonicInstant) -> [(
            after: Duration, event: CentralEvent
        )] {
            change(bottle.handle(request, at: now), request)
        }
    }

    @Test func `a poll ignores empty notifications between the pieces of the log`() throws {
        let peer = Odd { answers, _ in
            answers.flatMap { answer -> [(after: Duration, event: CentralEvent)] in
                guard case .notification(let handle, _) = answer.event else { return [answer] }
                return [answer, (answer.after, .notification(handle: handle, value: []))]
            }
        }
        var rig = EngineRig(options: options(), peer: peer, start: evening)
        let report = try rig.run()
        #expect(report.failure == nil && report.acknowledged == 6, "\(report)")
    }

    @Test func `a poll reports amounts that a dialect reads from one byte only`() throws {
        let wide = record(minute: 1, amount: 302)
        var rig = EngineRig(
            options: options { $0.dialect = .strict }, peer: ScriptedBottle(records: [wide]), start: evening)
        try rig.run()
        #expect(rig.diagnostics.contains { $0.code == "separatorNotZero" && $0.severity == .warning })
    }
}
