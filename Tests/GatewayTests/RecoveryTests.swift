import BottleProtocol
import Bluetooth
import GatewaySupport
import Testing
import TrackerCore

@testable import Gateway

@Suite struct RecoveryTests {
    /// An error of a link, the poll's failure, and its recovery steps over a radio, without permission to power-cycle.
    @Test(
        arguments: [
            (LinkError(.noAdapter, "No adapter."), .noAdapter, []),
            (LinkError(.poweredOff, "Off."), .bluetoothOff, []),
            (LinkError(.permissionDenied, "No."), .permissionDenied, []),
            (LinkError(.connectFailed, "Abort.", isTransient: true), .connectFailed, [.retry, .disconnect, .forget]),
            (LinkError(.inProgress, "Busy.", isTransient: true), .connectFailed, [.disconnect, .forget]),
            (LinkError(.system, "Odd."), .connectFailed, [.retry, .disconnect, .forget]),
        ] as [(LinkError, PollFailure.Kind, [RecoveryAction])])
    func `each error class has its recovery steps`(
        error: LinkError, kind: PollFailure.Kind, actions: [RecoveryAction]
    ) throws {
        var bottle = ScriptedBottle(records: drinks(1))
        bottle.advertisement.address = BluetoothAddress("A4:C1:38:01:02:03")
        bottle.advertisement.name = "WaterH-Bottle-1"
        bottle.connectFailures = Array(repeating: error, count: 9)
        let report = try polled(bottle, hasRadio: true).report
        #expect(report.failure?.kind == kind)
        #expect(report.recovery.map(\.action) == actions)
        #expect(report.recovery.allSatisfy { !$0.reason.isEmpty })
        #expect(report.history.suspectPeer == "unix:test.sock")
        // With one failure fewer the poll succeeds.
        guard !actions.isEmpty else { return }
        bottle.connectFailures = Array(repeating: error, count: actions.count)
        #expect(try polled(bottle, hasRadio: true).report.new == 1)
    }

    @Test func `power cycling needs permission`() throws {
        var bottle = ScriptedBottle(records: drinks(1))
        bottle.advertisement.name = "WaterH-Bottle-1"
        bottle.connectFailures = Array(repeating: LinkError(.poweredOff, "Off."), count: 1)
        #expect(try polled(bottle, hasRadio: true).report.failure?.kind == .bluetoothOff)
        let report = try polled(bottle, options: options { $0.allowPowerCycle = true }, hasRadio: true).report
        #expect(report.new == 1)
        #expect(report.recovery == [RecoveryStep(action: .powerCycle, reason: "Off.", outcome: "done")])
    }

    @Test func `a missing socket is not retried`() throws {
        var bottle = ScriptedBottle()
        bottle.connectFailures = [LinkError(.connectFailed, "No such file.")]
        let report = try polled(bottle).report
        #expect(report.failure?.kind == .connectFailed)
        #expect(report.recovery.isEmpty)
        #expect(report.duration < .seconds(1))
    }

    @Test func `a scan ends after 10 s and a poll after 30 s`() throws {
        var bottle = ScriptedBottle()
        bottle.isSilent = true
        var report = try polled(bottle).report
        #expect(report.failure?.kind == .notFound)
        #expect(report.failure?.sentence.contains("Could not find bottle. Make sure it's nearby.") == true)
        #expect(report.history.failedScans >= 1)
        report = try polled(bottle, hasRadio: true).report
        #expect(report.failure?.kind == .notFound)
        #expect(report.duration >= .seconds(10))
        #expect(report.duration <= .seconds(31))
    }

    @Test func `a poll reconnects after a disconnect`() throws {
        for place in 0..<8 {
            let journal = MemoryJournal()
            var bottle = ScriptedBottle(records: drinks(40))
            bottle.snapshot = boostSnapshot()
            bottle.hangsUpBefore = place
            let (rig, report) = try polled(bottle, journal: journal)
            #expect(report.failure == nil, "before notification \(place)")
            #expect([report.received, report.new, journal.entries.count, rig.peer.records.count] == [40, 40, 40, 0])
            #expect(report.recovery.map(\.action).allSatisfy { $0 == .retry })
        }
    }

    @Test func `a transfer cut by the time limit is stored and not acknowledged`() throws {
        var bottle = ScriptedBottle(records: drinks(500))
        bottle.spacing = .milliseconds(2500)
        let (rig, report) = try polled(bottle)
        #expect(report.failure?.kind == .didNotAnswer)
        #expect(report.failure?.sentence.contains("stored") == true)
        #expect(!report.complete)
        // Only complete frames are certain to have records, and this log is one frame.
        #expect(report.received == 0 && report.undecodable == 1 && !rig.journal.quarantine.isEmpty)
        #expect(report.acknowledged == 0)
        #expect(rig.peer.records.count == 500)
        #expect(rig.journal.polls.map(\.complete) == [false])
        #expect(report.duration <= .seconds(123))
    }

    @Test func `an interrupted poll disconnects and keeps its records`() throws {
        for at in stride(from: 0, through: 60, by: 3) {
            let journal = MemoryJournal()
            let (rig, report) = try polled(ScriptedBottle(records: drinks(40)), journal: journal) {
                $0.schedule(.cancel, after: .milliseconds(at))
            }
            #expect(report.failure?.kind == .interrupted || report.complete)
            for raw in drinks(40) { #expect(rig.peer.records.contains(raw) || journal.holds(raw)) }
        }
    }

    @Test func `a device that is not a bottle is skipped`() throws {
        var (device, bottle) = (ScriptedBottle(), ScriptedBottle(records: drinks(4)))
        device.services = [RemoteService(uuid: 0xFF00, handle: 1, characteristics: [])]
        device.advertisement = Advertisement(
            peer: PeerID("device"), address: BluetoothAddress(1), services: [0xFF00])
        bottle.advertisement = Advertisement(
            peer: PeerID("bottle"), address: BluetoothAddress(2), name: "WaterH-Bottle-B003", services: [0xFF00])
        let report = try polled(DevicesInRange(devices: [device, bottle]), hasRadio: true).report
        #expect(report.failure == nil)
        #expect(report.bottle == "00:00:00:00:00:02")
        #expect(report.new == 4)
    }

    @Test func `a bottle whose last poll failed is removed from the cache first`() throws {
        var bottle = ScriptedBottle(records: drinks(1))
        bottle.advertisement.name = "WaterH-Bottle-1"
        let plan = options { $0.history.suspectPeer = "unix:test.sock" }
        let (rig, report) = try polled(bottle, options: plan, hasRadio: true)
        #expect(rig.requests.first == .clearCache(PeerID("unix:test.sock")))
        #expect(report.history.suspectPeer == nil)
    }
}

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
