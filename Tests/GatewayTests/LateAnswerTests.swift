import BottleProtocol
import Bluetooth
@testable import Gateway
import GatewaySupport
import Support
import Testing
import TrackerCore

/// Answers that come late, and values that belong to two frames: seeds 956 and 3680, and 582, 1063, 4197 and 4949 of
/// the simulation.
@Suite struct LateAnswerTests {
    /// A bottle behind a link that holds back what answers a question for the log, and all after it, for a while; and
    /// somebody drinks meanwhile.
    struct HeldBack: ScriptedPeer {
        var bottle: ScriptedBottle
        /// Number of the question, from 0.
        var question: Int
        var length: Duration
        /// Also that the question was written is told late.
        var holdsWrites = false
        /// The last frame of each answer comes after its end, when the next question has been written.
        var leavesRest = false
        /// Records, and how long after that question.
        var sips: [(after: Duration, record: [UInt8])]
        private(set) var drunk: [[UInt8]] = []
        let journal = MemoryJournal()
        /// Records that were acknowledged before the journal had them.
        private(set) var early: [[UInt8]] = []
        private var asked = 0
        private var since: MonotonicInstant?

        init(_ bottle: ScriptedBottle, question: Int, length: Duration, sips: [(after: Duration, record: [UInt8])]) {
            (self.bottle, self.question, self.length, self.sips) = (bottle, question, length, sips)
        }

        mutating func handle(_ request: CentralRequest, at now: MonotonicInstant) -> [(
            after: Duration, event: CentralEvent
        )] {
            if case .write(_, let value, _) = request,
                [.drinkLog, .draftDump(1)].contains(HostCommand(decoding: value))
            {
                if asked == question { since = now }
                asked += 1
            }
            while let since, let sip = sips.first, since.advanced(by: sip.after) <= now {
                bottle.drink([sip.record])
                drunk.append(sip.record)
                sips.removeFirst()
            }
            let before = bottle.records
            let answers = bottle.handle(request, at: now)
            early += before.filter { !bottle.records.contains($0) && !journal.holds($0) }
            var events = answers.map { answer -> (after: Duration, event: CentralEvent) in
                switch answer.event {
                case .notification: break
                case .wrote where holdsWrites: break
                default: return answer
                }
                guard let end = since?.advanced(by: length), now.advanced(by: answer.after) < end else { return answer }
                return (now.duration(to: end), answer.event)
            }
            if leavesRest, let end = events.indices.last, end > 1, case .notification = events[end].event {
                let time = (events[end].after, events[end - 1].after)
                events.swapAt(end, end - 1)
                (events[end - 1].after, events[end].after) = (time.1, time.0 + .milliseconds(1))
            }
            return events
        }
    }

    /// A bottle whose answer overtakes the word that the question was written: what is written next waits for that
    /// word, as ATT has it, and somebody drinks meanwhile.
    struct Overtaking: ScriptedPeer {
        var bottle: ScriptedBottle
        /// Number of the write whose response is late, from 0, and how late it is.
        var late: Int
        var length: Duration
        var sips: [(at: MonotonicInstant, record: [UInt8])]
        let journal = MemoryJournal()
        /// Records that were acknowledged before the journal had them.
        private(set) var early: [[UInt8]] = []
        /// What was written while an acknowledgement was under way, from here on and until its response.
        private(set) var hasted: [[UInt8]] = []
        private var acknowledged = MonotonicInstant(nanoseconds: 0)
        private var writes = 0
        private var free = MonotonicInstant(nanoseconds: 0)

        init(_ bottle: ScriptedBottle, late: Int, length: Duration, sips: [(at: MonotonicInstant, record: [UInt8])]) {
            (self.bottle, self.late, self.length, self.sips) = (bottle, late, length, sips)
        }

        mutating func handle(_ request: CentralRequest, at now: MonotonicInstant) -> [(
            after: Duration, event: CentralEvent
        )] {
            guard case .write(_, let value, _) = request else { return bottle.handle(request, at: now) }
            if now < acknowledged { hasted.append(value) }
            // Nothing that happens later changes what this write meets: it is answered for the time at which it leaves.
            let leaves = max(now, free)
            while let sip = sips.first, sip.at <= leaves {
                bottle.drink([sip.record])
                sips.removeFirst()
            }
            let before = bottle.records
            let answers = bottle.handle(request, at: leaves)
            early += before.filter { !bottle.records.contains($0) && !journal.holds($0) }
            defer { writes += 1 }
            let waited = now.duration(to: leaves)
            free = leaves.advanced(by: writes == late ? length : .milliseconds(1))
            if case .acknowledge = HostCommand(decoding: value) { acknowledged = free }
            return answers.map { answer in
                if case .wrote = answer.event { return (now.duration(to: free), answer.event) }
                return (waited + answer.after, answer.event)
            }
        }
    }

    /// Simulation, seed 825139: the late word that a question was written was taken for the acknowledgement's, so that
    /// the log was asked for while the acknowledgement still waited, and one acknowledgement became two.
    @Test(arguments: [ScriptedBottle.Acknowledging.drops, .counts])
    func `an acknowledgement follows the response to its own request`(_ habit: ScriptedBottle.Acknowledging) throws {
        for profile in BottleProfile.allCases {
            for late in 0..<8 {
                for length in [5, 40, 700, 1300, 2600] {
                    var bottle = ScriptedBottle(profile, records: drinks(20), properties: [.notify])
                    bottle.acknowledging = habit
                    let sips = (0..<6).map { number in
                        (
                            at: MonotonicInstant(nanoseconds: 0).advanced(by: .milliseconds(20 + 400 * number)),
                            record: record(minute: 50, second: number, amount: 300 + number, hour: 23)
                        )
                    }
                    let peer = Overtaking(bottle, late: late, length: .milliseconds(length), sips: sips)
                    var rig = EngineRig(options: options(), peer: peer, journal: peer.journal, start: evening)
                    let report = try rig.run()
                    let what = "\(profile.rawValue), write \(late) told after \(length) ms"
                    #expect(
                        rig.peer.early.isEmpty && report.failure == nil && report.contradiction == nil,
                        "\(what): \(rig.peer.early), \(report)")
                    // Whoever takes a question's response for the acknowledgement's writes the next before this one has
                    // left.
                    #expect(rig.peer.hasted.isEmpty, "\(what): \(rig.peer.hasted)")
                    #expect(report.acknowledged >= 20, "\(what): \(report)")
                }
            }
        }
    }

    /// The question was repeated, and the first answer came after the ring had turned over: what a bottle drops then,
    /// the oldest of what it sent *last*, is not what was read.
    @Test(arguments: [1, 2, 5, 20]) func `a late response does not acknowledge a later reading`(ring: Int) throws {
        for profile in BottleProfile.allCases {
            for question in 0..<5 {
                for length in [1200, 2400, 2950] {
                    var bottle = ScriptedBottle(profile, records: drinks(ring), properties: [.notify])
                    bottle.ring = ring
                    let sips = (0..<3).map {
                        (
                            after: Duration.milliseconds(700 + 900 * $0),
                            record: record(minute: 50, second: $0, amount: 300 + $0, hour: 23)
                        )
                    }
                    let peer = HeldBack(bottle, question: question, length: .milliseconds(length), sips: sips)
                    var rig = EngineRig(options: options(), peer: peer, journal: peer.journal, start: evening)
                    let report = try rig.run()
                    let lost = (drinks(ring) + rig.peer.drunk).filter {
                        !rig.journal.holds($0) && !rig.peer.bottle.records.contains($0)
                            && !rig.peer.bottle.overwritten.contains($0)
                    }
                    let what = "\(profile.rawValue), ring of \(ring), answer \(question) held for \(length) ms"
                    #expect(
                        rig.peer.early.isEmpty && lost.isEmpty && report.failure == nil && report.contradiction == nil,
                        "\(what): \(report)")
                }
            }
        }
    }

    /// That the question arrived was heard late too, and the drinks of that time moved the oldest on: a bottle that
    /// counts then forgot drinks that nobody had read. Seed 98412 of the simulation.
    @Test(arguments: [6, 7, 8, 20, 48]) func `the time for a full ring starts before the request is written`(ring: Int)
        throws
    {
        for profile in BottleProfile.allCases {
            for question in 0..<5 {
                for length in [1200, 2400, 2950] {
                    var bottle = ScriptedBottle(profile, records: drinks(ring), properties: [.notify])
                    bottle.ring = ring
                    bottle.acknowledging = .counts
                    let sips = (0..<3).map {
                        (
                            after: Duration.milliseconds(300 + 1000 * $0),
                            record: record(minute: 50, second: $0, amount: 300 + $0, hour: 23)
                        )
                    }
                    var peer = HeldBack(bottle, question: question, length: .milliseconds(length), sips: sips)
                    peer.holdsWrites = true
                    var rig = EngineRig(options: options(), peer: peer, journal: peer.journal, start: evening)
                    let report = try rig.run()
                    let what = "\(profile.rawValue), ring of \(ring), answer \(question) held for \(length) ms"
                    #expect(
                        rig.peer.early.isEmpty && report.failure == nil && report.contradiction == nil,
                        "\(what): \(rig.peer.early), \(report)")
                    #expect(report.acknowledged > 0, "\(what): \(report)")
                }
            }
        }
    }

    /// Simulation, seed 2139973: a link is not quiet while a question waits for its response. The rest of an earlier
    /// answer was judged, nothing came for a while, and the log was asked for again before the last question had left:
    /// its answer was taken for the next one's, and a full ring had turned over since.
    @Test(arguments: [9, 17]) func `a link with an open request is not quiet`(ring: Int) throws {
        for question in 1..<12 {
            for length in [1500, 2600, 2900] {
                var bottle = ScriptedBottle(.draft, records: drinks(ring), properties: [.notify])
                bottle.ring = ring
                let sips = (0..<3).map {
                    (
                        after: Duration.milliseconds(200 + 900 * $0),
                        record: record(minute: 50, second: $0, amount: 300 + $0, hour: 23)
                    )
                }
                var peer = HeldBack(bottle, question: question, length: .milliseconds(length), sips: sips)
                (peer.holdsWrites, peer.leavesRest) = (true, true)
                var rig = EngineRig(options: options(), peer: peer, journal: peer.journal, start: evening)
                let report = try rig.run()
                let what = "ring of \(ring), answer \(question) held for \(length) ms"
                #expect(rig.peer.early.isEmpty && report.contradiction == nil, "\(what): \(rig.peer.early), \(report)")
            }
        }
    }

    /// What is read after an acknowledgement, and is from before it, is not taken for the bottle's refusal: nothing is
    /// acknowledged twice.
    @Test(arguments: BottleProfile.allCases) func `a late response is not a rejection`(_ profile: BottleProfile) throws
    {
        for question in 0..<5 {
            let late = (after: Duration.milliseconds(2300), record: record(minute: 50, amount: 345, hour: 23))
            let peer = HeldBack(
                ScriptedBottle(profile, records: drinks(27), properties: [.notify]), question: question,
                length: .milliseconds(2410), sips: [late])
            var rig = EngineRig(options: options(), peer: peer, journal: peer.journal, start: evening)
            let report = try rig.run()
            let all = drinks(27) + rig.peer.drunk
            #expect(
                rig.peer.early.isEmpty
                    && all.allSatisfy { rig.journal.holds($0) || rig.peer.bottle.records.contains($0) },
                "answer \(question) held back: lost for ever")
            #expect(
                report.failure == nil && report.contradiction == nil
                    && report.acknowledged == all.count - rig.peer.bottle.records.count, "\(question): \(report)")
        }
    }

    /// Values lost of two frames leave what adds up to one: 44 + 44 + 22 bytes are a packet, wherever each of the three
    /// comes from.
    @Test(arguments: BottleProfile.allCases, [20, 39, 43, 44, 50]) func `pieces of two frames give no drink`(
        _ profile: BottleProfile, pieceSize: Int
    ) throws {
        let answers = profile == .draft ? 0 : 1
        let perFrame = (110 + pieceSize - 1) / pieceSize
        for first in 0..<(2 * perFrame) {
            for count in 1...min(4, 2 * perFrame - first) {
                var bottle = ScriptedBottle(profile, records: drinks(24), properties: [.notify])
                bottle.recordsPerFrame = 8
                bottle.pieceSize = pieceSize
                // The retail bottle answers the snapshot's question with nothing, and the log's with one value before
                // the frames.
                bottle.lost = Set((answers + first)..<(answers + first + count))
                let journal = MemoryJournal()
                var rig = EngineRig(options: options(), peer: bottle, journal: journal, start: evening)
                let report = try rig.run()
                var again = EngineRig(
                    options: options(), peer: rig.peer, journal: journal, start: evening.advanced(seconds: 60))
                let second = try again.run()
                let what = "\(profile.rawValue) in pieces of \(pieceSize), \(count) lost from \(first) on"
                let made = journal.entries.filter {
                    !drinks(24).contains($0.raw) && $0.verdict != .quarantined(reason: JournalDoubt.pieced)
                }
                #expect(made.isEmpty, "\(what): \(made.map(\.raw))")
                #expect(
                    drinks(24).allSatisfy { raw in
                        journal.entries.contains {
                            $0.raw == raw && $0.verdict != .quarantined(reason: JournalDoubt.pieced)
                        }
                    }, "\(what)")
                #expect(
                    again.peer.records.isEmpty && report.contradiction == nil && second.contradiction == nil,
                    "\(what): \(report), then \(second)")
            }
        }
    }

    /// Simulation, seed 50162: on a bad link the same values were lost twice, and the same record that nobody drank
    /// came twice.
    @Test(arguments: BottleProfile.allCases, [36, 37, 38, 63, 64])
    func `the same loss in two incomplete dumps gives no drink`(
        _ profile: BottleProfile, pieceSize: Int
    ) throws {
        let drunk = (0..<24).map { record(minute: 7 * $0 % 60, second: 11 * $0 % 60, amount: 100 + $0, hour: $0) }
        let perFrame = (110 + pieceSize - 1) / pieceSize
        // One value around the frames: what a retail bottle says first, or the draft bottle's end.
        let (perDump, first) = (3 * perFrame + 1, profile == .draft ? 0 : 1)
        for badDumps in 1...5 {
            var bottle = ScriptedBottle(profile, records: drunk, properties: [.notify])
            (bottle.recordsPerFrame, bottle.pieceSize) = (8, pieceSize)
            for dump in 0..<badDumps {
                // The end of one frame and the beginning of the next, and something of the third.
                let start = dump * perDump + first
                bottle.lost.formUnion((start + 1)...(start + perFrame))
                bottle.lost.insert(start + 2 * perFrame + 1)
            }
            let journal = MemoryJournal()
            for poll in 0..<4 {
                var rig = EngineRig(
                    options: options(), peer: bottle, journal: journal,
                    start: evening.advanced(seconds: Double(60 * poll)))
                let report = try rig.run()
                bottle = rig.peer
                let made = journal.entries.filter {
                    !drunk.contains($0.raw) && $0.verdict != .quarantined(reason: JournalDoubt.pieced)
                }
                #expect(
                    made.isEmpty && report.contradiction == nil,
                    """
                    \(profile.rawValue) in pieces of \(pieceSize), \(badDumps) bad dumps, poll \(poll): \
                    \(made.map(\.raw))
                    """
                )
            }
            let counted = journal.entries.count { if case .drink = $0.verdict { true } else { false } }
            #expect(
                bottle.records.isEmpty && counted == 24,
                """
                \(profile.rawValue) in pieces of \(pieceSize), \(badDumps) bad dumps: \(counted) count, \
                \(bottle.records.count) wait
                """
            )
        }
    }

    /// The same over polls: what an earlier poll brought stands for half of the readings, and a dump that broke off for
    /// none of them.
    @Test(arguments: BottleProfile.allCases, [36, 37, 64]) func `incomplete dumps in every poll give no drink`(
        _ profile: BottleProfile, pieceSize: Int
    ) throws {
        let drunk = (0..<24).map { record(minute: 7 * $0 % 60, second: 11 * $0 % 60, amount: 100 + $0, hour: $0) }
        let perFrame = (110 + pieceSize - 1) / pieceSize
        let (perDump, first) = (3 * perFrame + 1, profile == .draft ? 0 : 1)
        let journal = MemoryJournal()
        for poll in 0..<3 {
            var bottle = ScriptedBottle(profile, records: drunk, properties: [.notify])
            (bottle.recordsPerFrame, bottle.pieceSize) = (8, pieceSize)
            for dump in 0..<40 {
                let start = dump * perDump + first
                bottle.lost.formUnion((start + 1)...(start + perFrame))
                bottle.lost.insert(start + 2 * perFrame + 1)
            }
            var rig = EngineRig(
                options: options(), peer: bottle, journal: journal, start: evening.advanced(seconds: Double(60 * poll)))
            try rig.run()
            let made = journal.entries.filter {
                !drunk.contains($0.raw) && $0.verdict != .quarantined(reason: JournalDoubt.pieced)
            }
            #expect(
                made.isEmpty && rig.peer.records.count == 24,
                "\(profile.rawValue) in pieces of \(pieceSize), poll \(poll): \(made.map(\.raw))")
        }
    }

    /// In pieces, and all of it arrives: once is no proof, twice is; counted once, and no longer suspect.
    @Test(arguments: BottleProfile.allCases) func `a record in pieces counts when it is read again`(
        _ profile: BottleProfile
    )
        throws
    {
        var bottle = ScriptedBottle(profile, records: drinks(20), properties: [.notify])
        bottle.pieceSize = 20
        var rig = EngineRig(options: options(), peer: bottle, start: evening)
        let report = try rig.run()
        #expect(
            [report.received, report.new, report.duplicates, report.suspect, report.acknowledged] == [
                20, 20, 0, 0, 20,
            ], "\(report)")
        #expect(rig.journal.entries.allSatisfy { if case .drink = $0.verdict { true } else { false } })
    }
}
