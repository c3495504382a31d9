import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import Testing
import TrackerCore

@Suite struct GuaranteeTests {
    /// For every write that can fail.
    @Test(arguments: 0..<6) func `guarantee 1: the journal is written before the acknowledgement`(_ failing: Int) throws
    {
        for profile in BottleProfile.allCases {
            let journal = MemoryJournal(failsAt: { $0 == failing })
            let (rig, report) = try polled(ScriptedBottle(profile, records: drinks(20)), journal: journal)
            var isStored = false
            for effect in rig.effects {
                if case .journaled = effect { isStored = true }
                if case .link(.write(_, let value, _)) = effect, case .acknowledge = HostCommand(decoding: value) {
                    #expect(isStored, "acknowledged before the records were stored")
                }
            }
            #expect(report.failure == nil || report.failure?.kind == .cannotStore)
            for raw in drinks(20) { #expect(rig.peer.records.contains(raw) || journal.holds(raw)) }
        }
    }

    @Test func `guarantee 2: a drink's identity comes from the bottle`() throws {
        let journal = MemoryJournal()
        for round in 0..<4 {
            var bottle = ScriptedBottle(records: drinks(10) + drinks(10))
            bottle.acknowledging = .ignores
            bottle.recordsPerEntry = 1 + round * 3
            bottle.doubled = [2, 3]
            let report = try polled(bottle, journal: journal, start: evening.advanced(seconds: Double(round) * 3600))
                .report
            #expect(report.new == (round == 0 ? 10 : 0))
        }
        #expect(journal.entries.count == 10)
    }

    @Test func `guarantee 3: totals are computed from the journal`() throws {
        let records =
            drinks(30) + [
                record(minute: 59, amount: 600), record(minute: 70, amount: 5), record(minute: 1, amount: 9, flag: 1),
                record(minute: 2, amount: 0),
            ]
        let (rig, report) = try polled(ScriptedBottle(records: records))
        #expect([report.received, report.new, report.suspect] == [34, 34, 1])
        let rebuilt = try rig.journal.entries.compactMap { entry -> Int? in
            let again = try DrinkRecord(decoding: entry.raw)
            #expect(again.amountMl == entry.amountMl)
            guard case .drink = entry.verdict else { return nil }
            return entry.amountMl
        }
        let expected = (0..<30).reduce(600) { $0 + 20 + $1 }
        #expect(rebuilt.reduce(0, +) == expected)
    }

    @Test func `a poll killed after any effect loses no drink`() throws {
        for profile in BottleProfile.allCases {
            for cut in 0..<60 {
                let journal = MemoryJournal()
                var rig = EngineRig(
                    options: options(), peer: ScriptedBottle(profile, records: drinks(12)), journal: journal,
                    start: evening)
                rig.run(effects: cut)
                let (second, report) = try polled(rig.peer, journal: journal, start: evening.advanced(seconds: 30))
                #expect(report.failure == nil)
                #expect(journal.entries.count == 12, "\(profile.rawValue), killed after effect \(cut)")
                #expect(second.peer.records.isEmpty)
            }
        }
    }

    /// At every position; or still in the bottle.
    @Test(arguments: [1, 3, 8], [2, 16, 5000]) func `a lost or repeated notification loses and doubles no drink`(
        entry: Int, frame: Int
    ) throws {
        for profile in BottleProfile.allCases {
            for place in 0..<12 {
                for isLost in [true, false] {
                    let journal = MemoryJournal()
                    var bottle = ScriptedBottle(profile, records: drinks(20))
                    bottle.recordsPerEntry = entry
                    bottle.recordsPerFrame = frame
                    if isLost { bottle.lost = [place] } else { bottle.doubled = [place] }
                    let (rig, report) = try polled(bottle, journal: journal)
                    let what =
                        """
                        \(profile.rawValue), \(entry) records an entry, \(frame) a frame, notification \(place) \
                        \(isLost ? "lost" : "doubled")
                        """
                    #expect(report.failure == nil, "\(what): \(String(describing: report.failure))")
                    for raw in drinks(20) {
                        #expect(journal.holds(raw) || rig.peer.records.contains(raw), "\(what): lost for ever")
                    }
                    #expect(journal.entries.count <= 20, "\(what): invented")
                }
            }
        }
    }
}
