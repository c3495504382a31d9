import Bluetooth
import Gateway
import GatewaySupport
import Testing
import TrackerCore

/// A bottle over the radio whose address changes and whose serial number cannot be read: its name and its log tell who
/// it is.
@Suite struct RecognitionTests {
    private static let name = "WaterH-Boost-24oz"
    private static let address = "A4:C1:38:01:02:03"
    private static let standIn = "WaterH-Boost-24oz (private address)"
    private let journal = MemoryJournal()

    /// One poll.
    @discardableResult private func poll(
        _ records: [[UInt8]], hides: Bool = true, own: [OwnBottle], at wall: Instant = evening,
        _ change: (inout PollOptions) -> Void = { _ in }
    ) throws -> (report: PollReport, rig: EngineRig<ScriptedBottle>) {
        let shown = hides ? "5A:00:00:00:00:01" : Self.address
        var peer = ScriptedBottle(records: records)
        peer.serial = nil
        peer.advertisement = Advertisement(peer: PeerID(shown), address: BluetoothAddress(shown), name: Self.name)
        peer.advertisement.isAddressPrivate = hides
        var rig = EngineRig(
            options: options {
                $0.own = own
                change(&$0)
            }, peer: peer, journal: journal, start: wall, hasRadio: true)
        return (try rig.run(), rig)
    }

    private func own(_ identities: String...) -> [OwnBottle] {
        [OwnBottle(identities: Set(identities), advertisedName: Self.name)]
    }

    @Test func `a log that overlaps is who it was, and stays so once it is empty`() throws {
        #expect(try poll(drinks(20), hides: false, own: []) { $0.keep = true }.report.identity == Self.address)
        let (report, rig) = try poll(drinks(25), own: own(Self.address))
        #expect(report.failure == nil && report.identity == Self.address && report.new == 5 && report.duplicates == 20)
        #expect(report.acknowledged == 25 && rig.peer.records.isEmpty && journal.entries.count == 25)
        #expect(rig.diagnostics.contains { $0.sentence.contains("20 of the 25 records") })
        // Afterwards it has only what is new; its name means the same bottle now.
        #expect(try journal.likeness(of: drinks(25), to: Self.standIn).known == 25)
        let fresh = [record(minute: 40, amount: 77, hour: 22)]
        let (later, _) = try poll(fresh, own: own(Self.address, Self.standIn), at: evening.advanced(seconds: 1200))
        #expect(later.failure == nil && later.new == 1)
        #expect(try journal.likeness(of: drinks(25) + fresh, to: Self.address).known == 26, "one bottle")
    }

    @Test func `a log of which nothing is known is not taken for the bottle of that name`() throws {
        try poll(drinks(20), hides: false, own: []) { $0.keep = true }
        let neighbours = (0..<30).map { record(minute: $0, amount: 300, hour: 9) }
        let (report, rig) = try poll(neighbours, own: own(Self.address))
        #expect(
            report.failure?.kind == .notOurs && report.failure?.sentence.contains("none of the 30 records") == true,
            "\(String(describing: report.failure))")
        #expect(report.failure?.code == "hidesItsAddress" && report.failure?.values["address"] == "5A:00:00:00:00:01")
        #expect(rig.peer.records == neighbours && journal.entries.count == 20 && report.acknowledged == 0)
        // A person says that it is.
        let (named, _) = try poll(neighbours, own: own(Self.address)) { $0.bottle = "5A:00:00:00:00:01" }
        #expect(named.failure == nil && named.new == 30 && named.identity == Self.standIn)
    }

    /// Known by its name alone: what is older than the last poll and was not in it is another bottle's.
    @Test func `two bottles of one name that hide`() throws {
        let mine = try poll(drinks(20), own: [])
        #expect(mine.report.isAdopted && mine.report.identity == Self.standIn && mine.report.acknowledged == 20)
        let tomorrow = evening.advanced(seconds: 2 * 86_400)
        let neighbours = (0..<30).map { record(minute: $0, amount: 300, hour: 9, day: 1) }
        let (report, rig) = try poll(neighbours, own: own(Self.standIn), at: tomorrow)
        #expect(
            report.failure?.kind == .notOurs
                && report.failure?.sentence.contains("30 records in its log are older") == true,
            "\(String(describing: report.failure))")
        #expect(rig.peer.records == neighbours && journal.entries.count == 20)
        let fresh = (0..<5).map { record(minute: $0, amount: 90, hour: 8, day: 4) }
        let (again, _) = try poll(fresh, own: own(Self.standIn), at: tomorrow)
        #expect(again.failure == nil && again.new == 5 && again.identity == Self.standIn)
        #expect(
            try poll([], own: own(Self.standIn), at: tomorrow).report.failure == nil, "an empty log contradicts nothing"
        )
    }

    /// A connection that is lost while the log is compared stores nothing under a wrong name.
    @Test(arguments: 0..<12) func `the link is lost on the way`(_ after: Int) throws {
        try poll(drinks(20), hides: false, own: []) { $0.keep = true }
        var peer = ScriptedBottle(records: drinks(25))
        peer.serial = nil
        peer.hangsUpBefore = after
        peer.advertisement = Advertisement(
            peer: PeerID("5A:00:00:00:00:01"), address: BluetoothAddress("5A:00:00:00:00:01"), name: Self.name)
        peer.advertisement.isAddressPrivate = true
        var rig = EngineRig(
            options: options { $0.own = own(Self.address) }, peer: peer, journal: journal, start: evening,
            hasRadio: true)
        let report = try rig.run()
        #expect(report.failure == nil && report.identity == Self.address, "\(String(describing: report.failure))")
        #expect(journal.entries.count == 25 && Set(journal.entries.map(\.bottle)) == [Self.address])
    }
}
