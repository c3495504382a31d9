import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import Testing
import TrackerCore

@Suite struct DraftTests {
    @Test(arguments: [[.notify], [.read], [.read, .notify]] as [CharacteristicProperties])
    func `draft: notifying and readable response characteristics are supported`(_ properties: CharacteristicProperties)
        throws
    {
        let (rig, report) = try polled(ScriptedBottle(.draft, records: drinks(20), properties: properties))
        #expect(report.failure == nil)
        #expect(report.profile == .draft)
        #expect([report.received, report.new, report.acknowledged] == [20, 20, 20])
        #expect(report.complete)
        #expect(rig.peer.records.isEmpty)
        #expect(rig.written.first == .draftDump(1))
        #expect(!rig.written.contains(.snapshot))
    }

    @Test func `draft: a read follows its request after the delay`() throws {
        let report = try polled(
            ScriptedBottle(.draft, records: drinks(1), properties: [.read]),
            options: options { $0.isAcknowledgementDisabled = true }
        ).report
        #expect(report.duration >= .milliseconds(500))
        #expect(report.duration < .milliseconds(600))
    }

    /// The original requirements' bottle: one value, the same at every read.
    @Test func `draft: a value that does not change counts as one packet`() throws {
        var bottle = ScriptedBottle(.draft, records: drinks(3), properties: [.read])
        bottle.repeatsLastPacket = true
        bottle.acknowledging = .ignores
        let report = try polled(bottle).report
        #expect([report.received, report.new, report.duplicates, report.acknowledged] == [3, 3, 0, 0])
        #expect(report.complete)
        #expect(report.failure == nil)
    }

    @Test(arguments: [.ignores, .refuses, .hangsUp] as [ScriptedBottle.Acknowledging])
    func `draft: a bottle without acknowledgements is not an error`(_ way: ScriptedBottle.Acknowledging) throws {
        for properties in [[.notify], [.read]] as [CharacteristicProperties] {
            var bottle = ScriptedBottle(.draft, records: drinks(12), properties: properties)
            bottle.acknowledging = way
            let (rig, report) = try polled(bottle)
            #expect(report.failure == nil, "\(way)")
            #expect([report.received, report.new, report.acknowledged] == [12, 12, 0])
            #expect(report.complete)
            // A disconnect at that point can be a coincidence: the next connection shows that the bottle kept its log.
            #expect(rig.peer.connections == (way == .hangsUp ? 2 : 1))
            #expect(report.unconfirmed == 0)
        }
    }

    @Test func `draft: a lost packet is never acknowledged`() throws {
        for lost in 0..<3 {
            let journal = MemoryJournal()
            var bottle = ScriptedBottle(.draft, records: drinks(20), properties: [.notify])
            bottle.lost = [lost]
            let (rig, report) = try polled(bottle, journal: journal)
            #expect(report.failure == nil)
            #expect(journal.entries.count == 20, "packet \(lost) lost")
            #expect(rig.peer.records.isEmpty)
        }
    }

    @Test func `draft: the strict dialect decodes the packet of the original requirements`() throws {
        var bottle = ScriptedBottle(.draft, records: [sampleRecord], properties: [.read])
        bottle.repeatsLastPacket = true
        let (rig, report) = try polled(bottle, options: options { $0.dialect = .strict })
        #expect(report.new == 1)
        #expect(rig.journal.entries.first?.wall?.year == 2026)
    }

    @Test func `draft: a log request without a response is repeated twice`() throws {
        var bottle = ScriptedBottle(.draft, records: [], properties: [.notify])
        bottle.answersLog = false
        let (rig, report) = try polled(bottle)
        #expect(report.failure?.kind == .didNotAnswer)
        #expect(rig.written == [.draftDump(1), .draftDump(1), .draftDump(1)])
    }
}
