import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import Testing
import TrackerCore

@Suite struct OddPeerTests {
    /// A bottle with six records whose answers are changed.
    private func changed(_ change: @escaping (DelayedEvents, CentralRequest) -> DelayedEvents) -> ChangedBottle {
        ChangedBottle(bottle: ScriptedBottle(records: drinks(6))) { bottle, request, now in
            change(bottle.handle(request, at: now), request)
        }
    }

    @Test func `a poll ignores empty notifications between the pieces of the log`() throws {
        let peer = changed { answers, _ in
            answers.flatMap { answer -> DelayedEvents in
                guard case .notification(let handle, _) = answer.event else { return [answer] }
                return [answer, (answer.after, .notification(handle: handle, value: []))]
            }
        }
        let report = try polled(peer).report
        #expect(report.failure == nil && report.acknowledged == 6, "\(report)")
    }

    @Test(arguments: [true, false]) func `a poll tries each of two characteristics of one UUID`(isFirstAlive: Bool)
        throws
    {
        let dead: UInt16 = 0x41
        let peer = changed { answers, request in
            guard case .discover = request else {
                guard case .subscribe(dead) = request else { return answers }
                return [(.milliseconds(1), .subscribed(handle: dead))]
            }
            return answers.map { answer in
                guard case .discovered(var services) = answer.event else { return answer }
                let index = services.count - 1
                let twin = RemoteCharacteristic(
                    uuid: services[index].characteristics[0].uuid, handle: dead, properties: [.notify])
                services[index].characteristics.insert(twin, at: isFirstAlive ? 1 : 0)
                return (answer.after, .discovered(services))
            }
        }
        let (rig, report) = try polled(peer)
        #expect(report.failure == nil && report.acknowledged == 6, "\(report)")
        #expect(rig.peer.bottle.connections == (isFirstAlive ? 1 : 2))
        let reason = #/The bottle did not respond on FFE9 and FFE4 \(handles \d+ and 65\)\./#
        #expect(report.recovery.contains { $0.reason.contains(reason) } != isFirstAlive, "\(report.recovery)")
    }

    @Test func `a poll reports amounts that a dialect reads from one byte only`() throws {
        let wide = record(minute: 1, amount: 302)
        let rig = try polled(ScriptedBottle(records: [wide]), options: options { $0.dialect = .strict }).rig
        #expect(rig.diagnostics.contains { $0.code == "separatorNotZero" && $0.severity == .warning })
    }
}
