import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import Testing
import TrackerCore

/// A computer without a clock of its own: wrong by weeks until the network tells it.
@Suite struct HostClockTests {
    static let day = 86_400.0

    private func bottle(_ records: [[UInt8]], _ profile: BottleProfile = .retail) -> ScriptedBottle {
        var bottle = ScriptedBottle(profile, records: records)
        // Its own clock is right: 2026-02-02T22:30:00.
        if profile == .retail { bottle.snapshot = boostSnapshot() }
        return bottle
    }

    private func acknowledged(_ rig: EngineRig<ScriptedBottle>) -> Bool {
        rig.written.contains { if case .acknowledge = $0 { true } else { false } }
    }

    private func setsClock(_ rig: EngineRig<ScriptedBottle>) -> Bool {
        rig.written.contains {
            switch $0 {
            case .clock, .settings: true
            default: false
            }
        }
    }

    @Test(arguments: BottleProfile.allCases, [-51.0, -400, -20_000, 51, 300])
    func `40 sips, a host clock that is days off, then right: nothing forgotten, nothing set, every sip on its day`(
        profile: BottleProfile, days: Double
    ) throws {
        let journal = MemoryJournal()
        var peer = bottle(drinks(40), profile)
        var wrong = EngineRig(
            options: options(), peer: peer, journal: journal, start: evening.advanced(seconds: days * Self.day))
        let report = try wrong.run()
        #expect(!setsClock(wrong))
        // Ahead, a draft bottle has no clock to tell it by, and its records date themselves: they may be taken.
        if profile == .retail || days < 0 {
            #expect(report.failure?.kind == .clockDoubtful, "\(String(describing: report.failure))")
            #expect(!acknowledged(wrong))
            #expect(wrong.peer.records.count == 40)
        }
        peer = wrong.peer
        peer.records.append(record(minute: 20, amount: 333))
        var right = EngineRig(options: options(), peer: peer, journal: journal, start: evening)
        let second = try right.run()
        #expect(second.failure == nil)
        #expect(right.peer.records.isEmpty)
        #expect(journal.entries.count == 41)
        for entry in journal.entries {
            guard case .drink(let at, _) = entry.verdict else { Issue.record("not counted: \(entry)"); continue }
            #expect(at.seconds(to: evening) < Self.day)
        }
        let memory = try journal.recall(BottleNames("A4:C1:38:01:02:03"))
        #expect(memory.newestReceipt.map { $0 <= evening.advanced(seconds: 60) } == true)
        #expect(memory.lastCompletePoll.map { $0 <= evening.advanced(seconds: 60) } == true)
    }

    @Test func `a host that has gone behind the newest receipt sets no bottle's clock`() throws {
        let journal = MemoryJournal()
        var first = EngineRig(options: options(), peer: bottle(drinks(3)), journal: journal, start: evening)
        try first.run()
        // Three hours back: the bottle and the store agree against the host.
        var peer = first.peer
        peer.records = [record(minute: 40, amount: 77)]
        peer.snapshot = boostSnapshot(clock: [0x1A, 2, 2, 22, 45, 0])
        var behind = EngineRig(
            options: options(), peer: peer, journal: journal, start: evening.advanced(seconds: -3 * 3600))
        let report = try behind.run()
        #expect(!setsClock(behind))
        #expect(report.new == 1)
        #expect(behind.diagnostics.contains { $0.severity == .warning && $0.code == "clockUndecided" })
    }

    @Test
    func `store and host outvote a bottle whose clock is weeks behind; what it wrote meanwhile is told as doubtful`()
        throws
    {
        let journal = MemoryJournal()
        var first = EngineRig(options: options(), peer: bottle(drinks(3)), journal: journal, start: evening)
        try first.run()
        // 2025-12-13T22:40:00: 51 days and 10 minutes... behind; one sip with the wrong clock.
        var peer = first.peer
        peer.snapshot = boostSnapshot(clock: [0x19, 12, 13, 22, 40, 0])
        peer.records = [record(minute: 39, amount: 120, day: 13, month: 12, year: 0x19)]
        var rig = EngineRig(options: options(), peer: peer, journal: journal, start: evening.advanced(seconds: 600))
        let report = try rig.run()
        #expect(report.failure == nil && setsClock(rig))
        let entry = try #require(journal.entries.first { $0.amountMl == 120 })
        #expect(entry.verdict == .quarantined(reason: JournalDoubt.bottleClock))
        #expect(entry.about.map { abs($0.seconds(to: evening.advanced(seconds: 540))) < 5 } == true)
        // Later polls do not count it on the wrong day.
        var later = EngineRig(
            options: options(), peer: rig.peer, journal: journal, start: evening.advanced(seconds: 1200))
        try later.run()
        #expect(journal.entries.first { $0.amountMl == 120 }?.verdict == .quarantined(reason: JournalDoubt.bottleClock))
    }

    @Test func `a person who has looked may say that the host is right`() throws {
        var peer = bottle(drinks(5))
        peer.snapshot = boostSnapshot(clock: [0x1A, 2, 1, 0, 0, 0])
        var asked = EngineRig(options: options(), peer: peer, start: evening)
        #expect(try asked.run().failure?.kind == .clockDoubtful || asked.peer.records.isEmpty)
        var rig = EngineRig(options: options { $0.trustsClock = true }, peer: peer, start: evening)
        let report = try rig.run()
        #expect(report.failure == nil && report.acknowledged == 5 && setsClock(rig))
    }

    @Test func `a record 24 h and a second ahead counts at the next poll although the bottle has forgotten it`() throws
    {
        let journal = MemoryJournal()
        let early = record(minute: 30, second: 1, amount: 60, day: 3)
        var first = EngineRig(options: options(), peer: bottle(drinks(2) + [early]), journal: journal, start: evening)
        #expect(try first.run().suspect == 1)
        #expect(first.peer.records.isEmpty)
        var second = EngineRig(
            options: options(), peer: first.peer, journal: journal, start: evening.advanced(seconds: 10))
        #expect(try second.run().resolved == 1)
        #expect(journal.entries.allSatisfy { if case .drink = $0.verdict { true } else { false } })
    }
}

/// What a dialect refuses, and whose a bottle is.
@Suite struct JournalKeepingTests {
    /// At every question, or at the first only: then the rest of the poll is in order, and acknowledges.
    @Test(arguments: [Int.max, 1]) func `rubbish that equals a record proves nothing`(dumps: Int) throws {
        let journal = MemoryJournal()
        var peer = ScriptedBottle(records: drinks(15))
        peer.noise = [drinks(15)[14], [1, 6] + drinks(15)[14]]
        peer.noisyDumps = dumps
        var rig = EngineRig(options: options(), peer: peer, journal: journal, start: evening)
        try rig.run()
        for raw in drinks(15) { #expect(rig.peer.records.contains(raw) || journal.holds(raw)) }
        var quiet = rig.peer
        quiet.noise = []
        var second = EngineRig(options: options(), peer: quiet, journal: journal, start: evening)
        try second.run()
        #expect(journal.entries.count == 15)
    }

    @Test func `strict in 2027, then calendar: 1,350 records, none lost, none twice`() throws {
        let journal = MemoryJournal()
        let new = Instant(seconds: 1_801_350_000)  // 2027-01-31
        let records = (0..<450).map {
            record(minute: $0 % 60, second: $0 / 60, amount: 300 + $0, hour: 10, day: 5, month: 1, year: 0x1B)
        }
        for _ in 0..<3 {
            var rig = EngineRig(
                options: options { $0.dialect = .strict }, peer: ScriptedBottle(records: records), journal: journal,
                start: new)
            let report = try rig.run()
            #expect(report.quarantined == 0 && report.suspect == report.received)
        }
        #expect(journal.entries.count == 450)
        var rig = EngineRig(
            options: options(), peer: ScriptedBottle(records: []), journal: journal, start: new.advanced(seconds: 60))
        #expect(try rig.run().resolved == 450)
        #expect(journal.entries.count == 450)
        #expect(journal.entries.reduce(0) { $0 + $1.amountMl } == (0..<450).reduce(0) { $0 + 300 + $1 })
    }

    @Test func `keep with strict, then calendar, makes one drink of one record`() throws {
        let journal = MemoryJournal()
        let records = (0..<40).map { record(minute: $0, amount: 250 + $0, hour: 20) }
        for dialect in [BottleProtocol.RecordDialect.strict, .calendar, .strict, .calendar] {
            var rig = EngineRig(
                options: options {
                    $0.dialect = dialect; $0.keep = true
                }, peer: ScriptedBottle(records: records), journal: journal, start: evening)
            try rig.run()
            #expect(journal.entries.count == 40)
        }
        #expect(journal.entries.map(\.amountMl).sorted() == (0..<40).map { 250 + $0 })
    }

    @Test func `an alias set and unset: 40 drinks stay 40`() throws {
        let journal = MemoryJournal()
        for alias in ["kitchen", nil, "other", nil] {
            var rig = EngineRig(
                options: options {
                    $0.alias = alias; $0.keep = true
                }, peer: ScriptedBottle(records: drinks(40)), journal: journal, start: evening)
            let report = try rig.run()
            #expect(report.bottle == alias ?? "A4:C1:38:01:02:03" && report.identity == "A4:C1:38:01:02:03")
            #expect(journal.entries.count == 40)
        }
    }

    @Test func `the first bottle is adopted; another one is left alone until it is named`() throws {
        let own = [OwnBottle(identities: ["A4:C1:38:09:09:09"], advertisedName: "WaterH-Boost-24oz")]
        var first = EngineRig(options: options(), peer: ScriptedBottle(records: drinks(3)), start: evening)
        #expect(try first.run().isAdopted)
        for named in [nil, "WaterH-Boost-24oz"] {
            var rig = EngineRig(
                options: options {
                    $0.own = own; $0.bottle = named
                }, peer: ScriptedBottle(records: drinks(3)), start: evening)
            let report = try rig.run()
            #expect(report.failure?.kind == .notOurs && report.failure?.values["identity"] != nil)
            #expect(rig.journal.entries.isEmpty && rig.journal.polls.isEmpty && rig.peer.records.count == 3)
        }
        var named = EngineRig(
            options: options {
                $0.own = own; $0.bottle = "A4:C1:38:01:02:03"
            }, peer: ScriptedBottle(records: drinks(3)), start: evening)
        #expect(try named.run().new == 3)
    }

    @Test func `a command goes to no bottle of another`() throws {
        let own = [OwnBottle(identities: ["A4:C1:38:09:09:09"], advertisedName: "WaterH-Boost-24oz")]
        var peer = ScriptedBottle(records: drinks(3))
        func send(_ bottle: String? = nil, hasRadio: Bool = false) throws -> (PollReport, EngineRig<ScriptedBottle>) {
            var rig = EngineRig(
                options: options {
                    $0.own = own; $0.bottle = bottle; $0.job = .send([.goal(ml: 1800)])
                }, peer: peer, start: evening, hasRadio: hasRadio)
            return (try rig.run(), rig)
        }
        let (refused, rig) = try send()
        #expect(
            refused.failure?.kind == .notOurs && refused.failure?.sentence.contains("nothing was sent to it") == true
                && rig.written.isEmpty)
        peer.advertisement = Advertisement(
            peer: PeerID("A4:C1:38:01:02:03"), address: BluetoothAddress("A4:C1:38:01:02:03"), name: "WaterH-Boost-24oz"
        )
        let (unseen, far) = try send(hasRadio: true)
        #expect(unseen.failure?.kind == .notFound && far.peer.connections == 0)
        let (named, near) = try send("A4:C1:38:01:02:03", hasRadio: true)
        #expect(named.failure == nil && near.written == [.goal(ml: 1800)])
    }

    @Test func `over the radio a bottle of another is seen, told and not connected`() throws {
        let own = [OwnBottle(identities: ["A4:C1:38:09:09:09"], advertisedName: "WaterH-Boost-24oz")]
        var peer = ScriptedBottle(records: drinks(3))
        peer.advertisement = Advertisement(
            peer: PeerID("A4:C1:38:01:02:03"), address: BluetoothAddress("A4:C1:38:01:02:03"), name: "WaterH-Boost-24oz"
        )
        var rig = EngineRig(options: options { $0.own = own }, peer: peer, start: evening, hasRadio: true)
        let report = try rig.run()
        #expect(report.failure?.kind == .notFound && report.failure?.values["strangers"] == "A4:C1:38:01:02:03")
        #expect(rig.peer.connections == 0)
        var mine = EngineRig(
            options: options { $0.own = [OwnBottle(identities: ["A4:C1:38:01:02:03"])] }, peer: peer, start: evening,
            hasRadio: true)
        #expect(try mine.run().new == 3)
    }

    @Test func `a private address is no identity: the serial number is, or the name`() throws {
        for serial in [Array("SN-1".utf8), nil] {
            let journal = MemoryJournal()
            for address in ["41:00:00:00:00:01", "52:00:00:00:00:02"] {
                var peer = ScriptedBottle(records: drinks(5))
                peer.serial = serial
                peer.advertisement = Advertisement(
                    peer: PeerID(address), address: BluetoothAddress(address), name: "WaterH-Boost-24oz")
                peer.advertisement.isAddressPrivate = true
                var rig = EngineRig(
                    options: options { $0.keep = true }, peer: peer, journal: journal, start: evening, hasRadio: true)
                let report = try rig.run()
                #expect(report.identity == (serial == nil ? "WaterH-Boost-24oz (private address)" : "SN-1"))
                #expect(
                    serial != nil
                        || rig.diagnostics.contains {
                            $0.severity == .warning && $0.sentence.contains("hides its address")
                        })
            }
            #expect(journal.entries.count == 5)
        }
    }
}
