import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import Testing
import TrackerCore

/// Records lost without a trace are not acknowledged, for each interpretation of an acknowledgement by the bottle.
@Suite struct UndetectedLossTests {
    private func isKept(_ records: [[UInt8]], _ rig: EngineRig<ScriptedBottle>) -> Bool {
        records.allSatisfy {
            rig.journal.holds($0) || rig.peer.records.contains($0) || rig.peer.overwritten.contains($0)
        }
    }

    /// The first of two frames of 16 never arrives: the gateway must not acknowledge 16 of 32.
    @Test(arguments: [ScriptedBottle.Acknowledging.drops, .counts]) func `a lost first frame is not acknowledged`(
        _ way: ScriptedBottle.Acknowledging
    ) throws {
        for first in 0..<8 {
            var bottle = ScriptedBottle(records: drinks(32))
            bottle.recordsPerFrame = 16
            bottle.acknowledging = way
            // Two notifications in a row, at any position of the frame.
            bottle.lost = [first, first + 1]
            let (rig, report) = try polled(bottle)
            #expect(isKept(drinks(32), rig), "from notification \(first)")
            // A reading without its first frame makes the bottle drop other records than intended, so this connection
            // acknowledges no more. The next one empties the bottle.
            #expect(
                report.failure == nil && report.contradiction == nil
                    && report.acknowledged <= 32 - rig.peer.records.count, "from notification \(first): \(report)")
            let next = try polled(rig.peer, journal: rig.journal).rig
            #expect(
                next.peer.records.isEmpty && drinks(32).allSatisfy(next.journal.holds), "from notification \(first)")
        }
    }

    /// The same piece of the log is lost in every transfer, a frame header among them: two equal readings are not a
    /// proof. This also holds where each piece is a whole entry and the rest has the shape of records: an aborted
    /// transfer is not a reading.
    @Test(arguments: [60, 100, 5000], [ScriptedBottle.Acknowledging.drops, .counts])
    func `a part lost in every dump is not acknowledged`(pieceSize: Int, way: ScriptedBottle.Acknowledging) throws {
        for first in 0..<10 {
            for period in 2...14 {
                var bottle = ScriptedBottle(records: drinks(32))
                (bottle.recordsPerFrame, bottle.pieceSize, bottle.acknowledging) = (16, pieceSize, way)
                bottle.lost = Set(stride(from: first, to: 400, by: period))
                let (rig, report) = try polled(bottle)
                #expect(isKept(drinks(32), rig), "each \(period)th from notification \(first): \(report)")
            }
        }
    }

    /// A frame in one notification is lost without a trace, in two or three transfers in a row: the rest looks complete
    /// and equal each time.
    @Test(arguments: BottleProfile.allCases, [ScriptedBottle.Acknowledging.drops, .counts])
    func `a frame of one notification lost in consecutive dumps is not acknowledged`(
        profile: BottleProfile, way: ScriptedBottle.Acknowledging
    ) throws {
        for first in 0..<12 {
            for times in 2...3 {
                var bottle = ScriptedBottle(profile, records: drinks(24))
                (bottle.recordsPerFrame, bottle.acknowledging) = (8, way)
                // Three frames and a status, or an end, in each transfer.
                bottle.lost = Set((0..<times).map { first + 4 * $0 })
                let (rig, report) = try polled(bottle)
                #expect(isKept(drinks(24), rig), "\(times) times from notification \(first): \(report)")
                #expect(report.contradiction == nil)
            }
        }
    }

    /// Simulation seed 217971: the MTU truncates every long frame, and the truncated value is lost in both readings.
    /// The short frame after it is complete twice and must not be acknowledged instead of the oldest.
    @Test(arguments: [9, 17], [ScriptedBottle.Acknowledging.drops, .counts])
    func `a frame truncated by the MTU in every dump is not acknowledged`(count: Int, way: ScriptedBottle.Acknowledging)
        throws
    {
        for first in 0..<9 {
            for period in 2...5 {
                var bottle = ScriptedBottle(records: drinks(count))
                (bottle.recordsPerFrame, bottle.mtu, bottle.acknowledging) = (8, 23, way)
                // Its settings are truncated too, which reveals the MTU.
                bottle.snapshot = boostSnapshot()
                bottle.lost = Set(stride(from: first, to: 400, by: period))
                let (rig, report) = try polled(bottle)
                #expect(isKept(drinks(count), rig), "each \(period)th from notification \(first): \(report)")
            }
        }
    }

    /// A record that occurs twice in one frame can be one record: distinct records count.
    @Test func `a repeated record in one frame counts once`() throws {
        let two = drinks(2)
        let rig = try polled(ScriptedBottle(records: [two[0], two[1], two[0]])).rig
        // One of the two stays in the bottle at first, because the ring might have overwritten one (protocol spec
        // P4.1).
        #expect(rig.acknowledgements.first == 1, "\(rig.acknowledgements)")
    }

    /// The journal has stored that the ring has room for 20 records.
    @Test func `a later poll acknowledges a smaller log at once`() throws {
        let journal = MemoryJournal()
        let firsts = try [drinks(20), Array(drinks(30).suffix(10))].map { records in
            let (rig, report) = try polled(ScriptedBottle(records: records), journal: journal)
            #expect(report.acknowledged == records.count && rig.peer.records.isEmpty, "\(report)")
            return rig.acknowledgements.first
        }
        #expect(firsts == [19, 10])
    }

    /// A counting bottle with a full ring: each drink while the acknowledgement is in transit overwrites its oldest
    /// record.
    @Test(arguments: [2, 3, 7, 8, 16, 20, 48]) func `drinks before the acknowledgement of a full ring are not lost`(
        _ ring: Int
    ) throws {
        for profile in BottleProfile.allCases {
            for way in [ScriptedBottle.Acknowledging.counts, .drops] {
                var bottle = ScriptedBottle(profile, records: drinks(ring))
                bottle.ring = ring
                bottle.acknowledging = way
                let sips = (0..<3).map { [record(minute: 50, second: $0, amount: 300 + $0, hour: 23)] }
                bottle.sipsBeforeAcknowledgement = sips
                let journal = MemoryJournal()
                let (rig, report) = try polled(bottle, journal: journal)
                let again = try polled(rig.peer, journal: journal, start: evening.advanced(seconds: 60)).rig
                let drunk = drinks(ring) + sips.dropLast(again.peer.sipsBeforeAcknowledgement.count).flatMap { $0 }
                #expect(isKept(drunk, again), "\(profile.rawValue), ring of \(ring), \(way)")
                #expect(report.contradiction == nil)
            }
        }
    }

    @Test(arguments: [5000, 20]) func `a poll acknowledges a log that takes longer than its time limit`(
        pieceSize: Int
    ) throws {
        var bottle = ScriptedBottle(records: drinks(250))
        bottle.pieceSize = pieceSize
        bottle.spacing = .milliseconds(pieceSize == 20 ? 90 : 500)
        let (rig, report) = try polled(bottle)
        #expect(report.failure == nil && report.complete && report.contradiction == nil, "\(report)")
        #expect(report.acknowledged >= 200 && rig.journal.entries.count == 250, "\(report)")
        #expect(report.duration > .seconds(30) && report.duration < .seconds(120))
    }

    @Test func `a poll that receives log data for too long ends and stores the received records`() throws {
        var bottle = ScriptedBottle(records: drinks(250))
        (bottle.recordsPerFrame, bottle.spacing) = (8, .milliseconds(1250))
        let (rig, report) = try polled(bottle, options: options { $0.limits.nextFrameWithoutRadio = .seconds(2) })
        #expect(report.acknowledged == 0 && rig.peer.records.count == 250, "\(report)")
        #expect(rig.journal.entries.count == 250 && report.duration <= .seconds(123), "\(report)")
    }

    @Test func `a log with the newest packet first is read to its end`() throws {
        var bottle = ScriptedBottle(.draft, records: drinks(60), properties: [.read])
        bottle.givesNewestFirst = true
        for way in [ScriptedBottle.Acknowledging.drops, .counts] {
            bottle.acknowledging = way
            let (rig, report) = try polled(bottle)
            #expect([report.received, report.new, report.acknowledged, rig.peer.records.count] == [60, 60, 60, 0])
            let journaled = rig.effects.compactMap {
                if case .journaled(let entries, _) = $0 { entries.map(\.raw) } else { nil }
            }.first
            #expect(journaled == drinks(60), "records are stored oldest first, so that they can be dated")
        }
    }

    @Test func `a poll stops acknowledging when the bottle keeps an acknowledged packet`() throws {
        var bottle = ScriptedBottle(.draft, records: drinks(8), properties: [.read])
        bottle.repeatsLastPacket = true
        let (rig, report) = try polled(bottle)
        #expect(report.failure == nil)
        #expect([report.received, report.acknowledged, rig.peer.records.count] == [8, 0, 8])
    }

    /// The link is lost right after an acknowledgement that the bottle processed.
    @Test func `records received before a disconnect are counted`() throws {
        for profile in BottleProfile.allCases {
            var bottle = ScriptedBottle(profile, records: drinks(20))
            bottle.acknowledging = .dropsAndIsLost
            let (rig, report) = try polled(bottle)
            #expect(
                [report.acknowledged, report.unconfirmed, rig.peer.records.count] == [20, 0, 0], "\(profile.rawValue)")
            #expect(report.failure == nil && report.complete && report.contradiction == nil)
        }
    }

    /// Simulation seed 209313: the acknowledgement is lost, and on the next connection the bottle does not listen yet.
    /// An unreadable log is not an empty log.
    @Test(arguments: [ScriptedBottle.Acknowledging.hangsUp, .dropsAndIsLost])
    func `an ignored acknowledgement drops nothing`(_ way: ScriptedBottle.Acknowledging) throws {
        var bottle = ScriptedBottle(.draft, records: drinks(20))
        (bottle.acknowledging, bottle.isDeafAfterReconnecting) = (way, true)
        let report = try polled(bottle).report
        // One stays in the bottle at first (protocol spec P4.1).
        #expect([report.acknowledged, report.unconfirmed] == [0, 19], "nobody knows: \(report)")
        #expect(report.complete && report.storedRecords == nil && report.contradiction == nil, "\(report)")
    }

    /// 40 must not be counted as acknowledged where 20 are.
    @Test func `an aborted verification counts no record twice`() throws {
        for profile in BottleProfile.allCases {
            for way in [ScriptedBottle.Acknowledging.drops, .ignores] {
                for place in 0..<24 {
                    var bottle = ScriptedBottle(profile, records: drinks(20))
                    bottle.acknowledging = way
                    bottle.hangsUpBefore = place
                    let (rig, report) = try polled(bottle)
                    #expect(report.contradiction == nil, "\(profile.rawValue), \(way), hung up before \(place)")
                    #expect(
                        report.acknowledged == 20 - rig.peer.records.count,
                        "\(profile.rawValue), \(way), hung up before \(place): \(report)")
                }
            }
        }
    }

    /// Simulation seed 3488620: aborted transfers of one poll must not count as a reading in the next poll, where older
    /// records are lost twice more.
    @Test(arguments: [true, false])
    func `a poll is incomplete when every reading lost notifications`(breaksOff: Bool) throws {
        let journal = MemoryJournal()
        var bottle = ScriptedBottle(.draft, records: drinks(9), properties: [.notify])
        (bottle.recordsPerFrame, bottle.acknowledging) = (8, .counts)
        // Three pieces, a frame of one record, and the end: the second piece of each transfer is lost.
        bottle.pieceSize = 44
        if breaksOff { bottle.lost = Set((0..<100).map { 5 * $0 + 1 }) }
        let flawed = try polled(bottle, journal: journal).report
        #expect(flawed.complete == !breaksOff && flawed.acknowledged == (breaksOff ? 0 : 9))
        guard breaksOff else { return }
        #expect(journal.holds(drinks(9)[8]) && !journal.holds(drinks(9)[0]))
        // Three notifications per transfer: the first frame is lost in two more readings, without a trace.
        var again = ScriptedBottle(.draft, records: drinks(9), properties: [.notify])
        (again.recordsPerFrame, again.acknowledging, again.lost) = (8, .counts, [0, 3])
        let (second, report) = try polled(again, journal: journal, start: evening.advanced(seconds: 300))
        #expect(isKept(drinks(9), second) && report.contradiction == nil, "\(report)")
    }

    /// A backup is restored between the two readings, so the records are not in the store.
    @Test(arguments: BottleProfile.allCases, 0..<6) func `records missing after a restore are not acknowledged`(
        profile: BottleProfile, logRequest: Int
    ) throws {
        let journal = MemoryJournal()
        var asked = 0
        let restored = ChangedBottle(bottle: ScriptedBottle(profile, records: drinks(5), properties: [.notify])) {
            _, request, _ in
            if case .write(_, let value, _) = request,
                [.drinkLog, .draftDump(1)].contains(HostCommand(decoding: value))
            {
                if asked == logRequest { journal.restoreNothing() }
                asked += 1
            }
            return nil
        }
        let (rig, report) = try polled(restored, journal: journal)
        // After the first acknowledgement a restore can remove acknowledged records.
        #expect(report.acknowledged == 5 - rig.peer.bottle.records.count && report.contradiction == nil, "\(report)")
        let isLost = drinks(5).contains { !journal.holds($0) && !rig.peer.bottle.records.contains($0) }
        #expect(
            !isLost || logRequest >= (profile == .draft ? 4 : 2), "restored before question \(logRequest): \(report)")
        try polled(rig.peer.bottle, journal: journal, start: evening.advanced(seconds: 300))
        #expect(isLost || drinks(5).allSatisfy(journal.holds))
    }
}
