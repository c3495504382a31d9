import BottleProtocol
import Bluetooth
@testable import Gateway
import GatewaySupport
import Support
import Testing
import TrackerCore

/// Late responses, and values of two frames: simulation seeds 956, 3680, 582, 1063, 4197 and 4949.
@Suite struct LateResponseTests {
    /// A bottle on a link that delays the response to a log request and all later traffic, with drinks in the meantime.
    struct HeldBack: ScriptedPeer {
        var bottle: ScriptedBottle
        /// The number of the request, from 0.
        var logRequest: Int
        var length: Duration
        /// Also delays the write response of the request.
        var holdsWrites = false
        /// The last frame of each answer arrives after its end, when the next request is written.
        var leavesRest = false
        /// Records, and their delays after that request.
        var sips: [(after: Duration, record: [UInt8])]
        private(set) var drunk: [[UInt8]] = []
        let journal = MemoryJournal()
        /// Records acknowledged before the journal had them.
        private(set) var early: [[UInt8]] = []
        private var asked = 0
        private var since: MonotonicInstant?

        init(_ bottle: ScriptedBottle, logRequest: Int, length: Duration, sips: [(after: Duration, record: [UInt8])]) {
            (self.bottle, self.logRequest, self.length, self.sips) = (bottle, logRequest, length, sips)
        }

        mutating func handle(_ request: CentralRequest, at now: MonotonicInstant) -> DelayedEvents {
            if case .write(_, let value, _) = request,
                [.drinkLog, .draftDump(1)].contains(HostCommand(decoding: value))
            {
                if asked == logRequest { since = now }
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

    /// A bottle whose answer arrives before the write response of its request. The next write waits for that response,
    /// as ATT requires, with drinks in the meantime.
    struct Overtaking: ScriptedPeer {
        var bottle: ScriptedBottle
        /// The number of the write with a late response, from 0, and its delay.
        var late: Int
        var length: Duration
        var sips: [(at: MonotonicInstant, record: [UInt8])]
        let journal = MemoryJournal()
        /// Records acknowledged before the journal had them.
        private(set) var early: [[UInt8]] = []
        /// Writes between an acknowledgement and its write response.
        private(set) var hasted: [[UInt8]] = []
        private var acknowledged = MonotonicInstant(nanoseconds: 0)
        private var writes = 0
        private var free = MonotonicInstant(nanoseconds: 0)

        init(_ bottle: ScriptedBottle, late: Int, length: Duration, sips: [(at: MonotonicInstant, record: [UInt8])]) {
            (self.bottle, self.late, self.length, self.sips) = (bottle, late, length, sips)
        }

        mutating func handle(_ request: CentralRequest, at now: MonotonicInstant) -> DelayedEvents {
            guard case .write(_, let value, _) = request else { return bottle.handle(request, at: now) }
            if now < acknowledged { hasted.append(value) }
            // No later event affects this write: it is answered for the time at which it is sent.
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

    /// Simulation seed 825139: a late write response of a log request must not count as the one of the acknowledgement.
    /// Otherwise the log is requested too early, and one acknowledgement becomes two.
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
                    let (rig, report) = try polled(peer, journal: peer.journal)
                    let what = "\(profile.rawValue), write \(late) told after \(length) ms"
                    #expect(
                        rig.peer.early.isEmpty && report.failure == nil && report.contradiction == nil,
                        "\(what): \(rig.peer.early), \(report)")
                    // A gateway that confuses the two responses writes the next request before this one is sent.
                    #expect(rig.peer.hasted.isEmpty, "\(what): \(rig.peer.hasted)")
                    #expect(report.acknowledged >= 20, "\(what): \(report)")
                }
            }
        }
    }

    /// An answer that is held back while the user drinks and a full ring overwrites its oldest records.
    struct Delay: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var rings: [Int]
        var profiles = BottleProfile.allCases
        var acknowledging = ScriptedBottle.Acknowledging.drops
        var questions: Range<Int>
        var milliseconds: [Int]
        /// The time of the first drink after the request, and between drinks, in milliseconds.
        var sips: (first: Int, every: Int)
        var holdsWrites = true
        var leavesRest = false
    }

    private static let delays = [
        // The bottle drops the oldest records of its *last* transfer, which the gateway has not read.
        Delay(
            testDescription: "the request is repeated", rings: [1, 2, 5, 20], questions: 0..<5,
            milliseconds: [1200, 2400, 2950], sips: (700, 900), holdsWrites: false),
        // Simulation seed 98412. A bottle that counts would drop unread drinks.
        Delay(
            testDescription: "the write response is late too", rings: [6, 7, 8, 20, 48], acknowledging: .counts,
            questions: 0..<5, milliseconds: [1200, 2400, 2950], sips: (300, 1000)),
        // Simulation seed 2139973. A second request gets the answer of the first one.
        Delay(
            testDescription: "a link with an open request is not quiet", rings: [9, 17], profiles: [.draft],
            questions: 1..<12, milliseconds: [1500, 2600, 2900], sips: (200, 900), leavesRest: true),
    ]

    @Test(arguments: delays) func `a late response does not acknowledge a later reading`(_ delay: Delay) throws {
        for (ring, profile) in delay.rings.flatMap({ ring in delay.profiles.map { (ring, $0) } }) {
            for (logRequest, length) in delay.questions.flatMap({ number in delay.milliseconds.map { (number, $0) } }) {
                var bottle = ScriptedBottle(profile, records: drinks(ring), properties: [.notify])
                (bottle.ring, bottle.acknowledging) = (ring, delay.acknowledging)
                let sips = (0..<3).map {
                    (
                        after: Duration.milliseconds(delay.sips.first + delay.sips.every * $0),
                        record: record(minute: 50, second: $0, amount: 300 + $0, hour: 23)
                    )
                }
                var peer = HeldBack(bottle, logRequest: logRequest, length: .milliseconds(length), sips: sips)
                (peer.holdsWrites, peer.leavesRest) = (delay.holdsWrites, delay.leavesRest)
                let (rig, report) = try polled(peer, journal: peer.journal)
                let what = "\(profile.rawValue), ring of \(ring), answer \(logRequest) held for \(length) ms: \(report)"
                #expect(rig.peer.early.isEmpty && report.contradiction == nil, "\(what): \(rig.peer.early)")
                guard !delay.leavesRest else { continue }
                #expect(report.failure == nil, "\(what)")
                #expect(report.acknowledged > 0 || delay.acknowledging == .drops, "\(what)")
            }
        }
    }

    /// A reading from before the acknowledgement, read after it, does not mean that the bottle rejected it. No record
    /// is acknowledged twice.
    @Test(arguments: BottleProfile.allCases) func `a late response is not a rejection`(_ profile: BottleProfile) throws
    {
        for logRequest in 0..<5 {
            let late = (after: Duration.milliseconds(2300), record: record(minute: 50, amount: 345, hour: 23))
            let peer = HeldBack(
                ScriptedBottle(profile, records: drinks(27), properties: [.notify]), logRequest: logRequest,
                length: .milliseconds(2410), sips: [late])
            let (rig, report) = try polled(peer, journal: peer.journal)
            let all = drinks(27) + rig.peer.drunk
            #expect(
                rig.peer.early.isEmpty
                    && all.allSatisfy { rig.journal.holds($0) || rig.peer.bottle.records.contains($0) },
                "answer \(logRequest) held back: lost for ever")
            #expect(
                report.failure == nil && report.contradiction == nil
                    && report.acknowledged == all.count - rig.peer.bottle.records.count, "\(logRequest): \(report)")
        }
    }

    /// Losses in two frames leave values of the length of one: 44 + 44 + 22 bytes are a packet, whatever their frames.
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
                // The retail bottle does not answer the snapshot request, and sends one value before the frames of the
                // log.
                bottle.lost = Set((answers + first)..<(answers + first + count))
                let journal = MemoryJournal()
                let (rig, report) = try polled(bottle, journal: journal)
                let (again, second) = try polled(rig.peer, journal: journal, start: evening.advanced(seconds: 60))
                let what = "\(profile.rawValue) in pieces of \(pieceSize), \(count) lost from \(first) on"
                let made = journal.entries.filter { !drinks(24).contains($0.raw) }
                #expect(made.isEmpty, "\(what): \(made.map(\.raw))")
                #expect(drinks(24).allSatisfy(journal.holds), "\(what)")
                #expect(
                    again.peer.records.isEmpty && report.contradiction == nil && second.contradiction == nil,
                    "\(what): \(report), then \(second)")
            }
        }
    }

    private static let drunk = (0..<24).map {
        record(minute: 7 * $0 % 60, second: 11 * $0 % 60, amount: 100 + $0, hour: $0)
    }

    /// A bottle whose first dumps lose the end of one frame, the start of the next, and a part of the third.
    private static func bottle(
        _ profile: BottleProfile, _ records: [[UInt8]], pieceSize: Int, badDumps: Int
    ) -> ScriptedBottle {
        let perFrame = (110 + pieceSize - 1) / pieceSize
        // One value around the frames: a retail bottle's first value, or the draft bottle's end.
        let (perDump, first) = (3 * perFrame + 1, profile == .draft ? 0 : 1)
        var bottle = ScriptedBottle(profile, records: records, properties: [.notify])
        (bottle.recordsPerFrame, bottle.pieceSize) = (8, pieceSize)
        for dump in 0..<badDumps {
            let start = dump * perDump + first
            bottle.lost.formUnion((start + 1)...(start + perFrame))
            bottle.lost.insert(start + 2 * perFrame + 1)
        }
        return bottle
    }

    /// Simulation seed 50162: a bad link loses the same values twice, and the same invented record appears twice.
    @Test(arguments: BottleProfile.allCases, [36, 37, 38, 63, 64])
    func `the same loss in two incomplete dumps gives no drink`(_ profile: BottleProfile, pieceSize: Int) throws {
        let drunk = Self.drunk
        for badDumps in 1...5 {
            var bottle = Self.bottle(profile, drunk, pieceSize: pieceSize, badDumps: badDumps)
            let journal = MemoryJournal()
            for poll in 0..<4 {
                let (rig, report) = try polled(
                    bottle, journal: journal, start: evening.advanced(seconds: Double(60 * poll)))
                bottle = rig.peer
                let made = journal.entries.filter { !drunk.contains($0.raw) }
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

    /// The same over several polls: an earlier poll counts as half of the readings, and an aborted transfer as none.
    @Test(arguments: BottleProfile.allCases, [36, 37, 64]) func `incomplete dumps in every poll give no drink`(
        _ profile: BottleProfile, pieceSize: Int
    ) throws {
        let drunk = Self.drunk
        let journal = MemoryJournal()
        for poll in 0..<3 {
            let bottle = Self.bottle(profile, drunk, pieceSize: pieceSize, badDumps: 40)
            let rig = try polled(bottle, journal: journal, start: evening.advanced(seconds: Double(60 * poll))).rig
            let made = journal.entries.filter { !drunk.contains($0.raw) }
            #expect(
                made.isEmpty && rig.peer.records.count == 24,
                "\(profile.rawValue) in pieces of \(pieceSize), poll \(poll): \(made.map(\.raw))")
        }
    }

    /// All pieces arrive: one reading is not sufficient, two are. The record is counted once and is no longer
    /// quarantined.
    @Test(arguments: BottleProfile.allCases) func `a record in pieces counts when it is read again`(
        _ profile: BottleProfile
    )
        throws
    {
        var bottle = ScriptedBottle(profile, records: drinks(20), properties: [.notify])
        bottle.pieceSize = 20
        let (rig, report) = try polled(bottle)
        #expect(
            [report.received, report.new, report.duplicates, report.suspect, report.acknowledged] == [
                20, 20, 0, 0, 20,
            ], "\(report)")
        #expect(rig.journal.entries.allSatisfy { if case .drink = $0.verdict { true } else { false } })
    }
}
