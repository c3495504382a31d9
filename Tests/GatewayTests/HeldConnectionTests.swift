import Bluetooth
import BottleProtocol
import Gateway
import GatewaySupport
import Support
import Testing
import TrackerCore

/// A connection that is kept after a poll and used by the next one, with the same engine and journal.
@Suite struct HeldConnectionTests {
    private let keeping = options { $0.keepsConnection = true }

    private func bottle(_ change: (inout ScriptedBottle) -> Void = { _ in }) -> ScriptedBottle {
        var bottle = ScriptedBottle()
        bottle.snapshot = boostSnapshot()
        bottle.advertisement = advertisement()
        change(&bottle)
        return bottle
    }

    private func polled(
        _ options: PollOptions, _ peer: ScriptedBottle, journal: MemoryJournal = MemoryJournal(), held: Poll? = nil
    ) throws -> (rig: EngineRig<ScriptedBottle>, report: PollReport) {
        try GatewayTests.polled(peer, options: options, journal: journal, hasRadio: true, held: held)
    }

    @Test func `a poll on the kept connection reads and acknowledges the sip`() throws {
        let first = try polled(keeping, bottle())
        #expect(first.report.isConnected && !first.rig.requests.contains(.disconnect), "\(first.report)")
        #expect(first.report.storedRecords == 0)
        var peer = first.rig.peer
        peer.drink([record(minute: 29, amount: 250)])
        let look = try polled(keeping, peer, journal: first.rig.journal, held: first.rig.held)
        #expect(
            look.report.isConnected && look.report.new == 1 && look.report.acknowledged == 1
                && look.report.storedRecords == 0, "\(look.report)")
        #expect(look.rig.requests.allSatisfy { if case .write = $0 { true } else { false } }, "\(look.rig.requests)")
        #expect(look.rig.peer.records.isEmpty && look.rig.peer.connections == 1)
        #expect(look.report.duration < .milliseconds(1500))
    }

    /// The bottle's clock jumps between two readings or is lost. Its records show this, and the clock is queried before
    /// they are dated.
    @Test(arguments: [3000, -3000, -17_280_000, 172_800] as [Double])
    func `a clock jump on the kept connection is detected at the next sip`(jump: Double) throws {
        let first = try polled(keeping, bottle())
        var peer = first.rig.peer
        let wall = Zone.utc.wall(at: evening.advanced(seconds: jump))
        peer.snapshot = boostSnapshot(
            clock: [wall.year - 2000, wall.month, wall.day, wall.hour, wall.minute, wall.second].map(UInt8.init))
        peer.drink([
            record(
                minute: wall.minute, amount: 250, hour: wall.hour, day: wall.day, month: wall.month,
                year: UInt8(wall.year - 2000))
        ])
        let look = try polled(keeping, peer, journal: first.rig.journal, held: first.rig.held)
        #expect(look.rig.written.contains(.snapshot), "\(look.rig.written)")
        #expect(
            look.report.new == 1 && look.report.clockDriftSeconds.map { abs(Double($0) - jump) < 60 } == true,
            "\(look.report)")
        let alone = try polled(options(), peer, journal: polled(options(), bottle()).rig.journal)
        #expect(look.rig.journal.entries.last?.verdict == alone.rig.journal.entries.last?.verdict)
    }

    @Test func `a poll that does not keep the connection disconnects`() throws {
        let first = try polled(keeping, bottle())
        let last = try polled(options(), first.rig.peer, held: first.rig.held)
        #expect(!last.report.isConnected && last.rig.held == nil && last.rig.requests.last == .disconnect)
    }

    @Test func `a job that releases the bottle only disconnects`() throws {
        let first = try polled(keeping, bottle())
        let disconnect = options { $0.job = .disconnect }
        #expect(try polled(disconnect, first.rig.peer, held: first.rig.held).rig.requests == [.disconnect])
        #expect(try polled(disconnect, first.rig.peer).rig.requests.isEmpty)
    }

    @Test func `a poll of another bottle first ends the kept connection`() throws {
        let first = try polled(keeping, bottle())
        let other = options {
            $0.ownBottles = [AdoptedBottle(identities: ["A4:C1:38:00:00:09"])]
            $0.otherBottles = [AdoptedBottle(identities: [ownAddress])]
        }
        let second = try polled(
            other,
            bottle { $0.advertisement = advertisement("A4:C1:38:00:00:09", name: "WaterH") }, held: first.rig.held)
        #expect(second.rig.requests.prefix(2) == [.disconnect, .startScan])
        #expect(second.report.failure == nil && second.report.identity == "A4:C1:38:00:00:09")
    }

    /// A kept connection can be dead: only a new connection can determine it.
    @Test func `a kept connection is replaced when the bottle does not answer`() throws {
        let first = try polled(keeping, bottle())
        var deaf = first.rig.peer
        deaf.drink([record(minute: 29, amount: 250)])
        // The answers to five requests are lost: three for the snapshot and the others for the log.
        deaf.ignoredCommands = 7
        let look = try polled(keeping, deaf, journal: first.rig.journal, held: first.rig.held)
        #expect(look.report.failure == nil && look.report.new == 1 && look.rig.peer.connections == 2, "\(look.report)")
    }

    @Test func `a notification between two polls starts a poll`() throws {
        var held = try #require(try polled(keeping, bottle()).rig.held)
        #expect(
            held.handleIdle(
                .notification(handle: ScriptedBottle.responseHandle, value: [0x52, 0x54, 0, 4, 3, 8, 1, 0]))
                == .reported)
        #expect(
            held.handleIdle(.notification(handle: 0x99, value: [1])) == nil,
            "A keep-alive elsewhere is none of the log's business.")
        #expect(held.handleIdle(.disconnected(nil)) == .lost)
    }

    /// Random drinks, losses and disconnects: each drink is in the journal or still in the bottle, at all times.
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func `losses and disconnects on a kept connection lose no drink`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let profile: BottleProfile = Int.random(in: 0..<3, using: &random) == 0 ? .draft : .retail
        var peer = ScriptedBottle(profile)
        peer.snapshot = boostSnapshot()
        peer.serial = Array(ownAddress.utf8)
        peer.acknowledging = Bool.random(using: &random) ? .counts : .drops
        peer.ring = Int.random(in: 0..<2, using: &random) == 0 ? 6 : 5000
        let journal = MemoryJournal()
        var held: Poll?
        var drunk: [[UInt8]] = []
        func sip() -> [UInt8] {
            let bytes = record(minute: drunk.count % 30, second: drunk.count / 30, amount: 20 + drunk.count)
            drunk.append(bytes)
            return bytes
        }
        for look in 0..<20 {
            // New drinks overwrite the oldest ones of a full ring.
            peer.drink((0..<Int.random(in: 0...2, using: &random)).map { _ in sip() })
            if peer.sipsBeforeAcknowledgement.isEmpty, Int.random(in: 0..<4, using: &random) == 0 {
                peer.sipsBeforeAcknowledgement = [[sip()]]
            }
            let at = Int.random(in: 0...400, using: &random)
            peer.lost = Int.random(in: 0..<3, using: &random) == 0 ? [at, at + 1] : []
            if Int.random(in: 0..<5, using: &random) == 0 { peer.hangsUpBefore = at }
            if held != nil, Int.random(in: 0..<6, using: &random) == 0 { held = nil }
            let (rig, report) = try GatewayTests.polled(
                peer, options: keeping, journal: journal, start: evening.advanced(seconds: Double(look)), held: held)
            peer = rig.peer
            held = rig.held
            #expect(report.isConnected == (held != nil))
            let known = Set(journal.entries.map(\.raw)).union(peer.records).union(peer.overwritten).union(
                peer.sipsBeforeAcknowledgement.flatMap { $0 })
            #expect(drunk.allSatisfy(known.contains), "seed \(seed), look \(look): \(report)")
        }
        let raws = journal.entries.map(\.raw)
        #expect(Set(raws).count == raws.count, "seed \(seed): each once")
    }
}
