import Bluetooth
import BottleProtocol
import Replay
import Testing

/// Disputed bytes, weighed by made-up captures in which each reading is the true one in turn.
@Suite struct EvidenceTests {
    private static func points(_ talk: Conversation) throws -> [String: EvidencePoint] {
        let reader = EvidenceReader()
        for (event, bytes) in talk.events { try reader.receive(event, bytes.span.bytes) }
        reader.end()
        return Dictionary(uniqueKeysWithValues: reader.points.map { ($0.id, $0) })
    }

    private static func reading(_ point: EvidencePoint?) -> String {
        switch point?.verdict {
        case .shown(let index)?: point?.readings[index].name ?? "?"
        case .likelier(let index)?: "likelier " + (point?.readings[index].name ?? "?")
        case .cannotTell?: "cannot tell"
        case nil: "none"
        }
    }

    /// A poll: the log is asked for, comes, and as many records are acknowledged as is said.
    private static func poll(_ talk: inout Conversation, _ records: [[UInt8]], acknowledge: Int = 0, entry: Int = 8) {
        talk.write([0x47, 0x54, 0x00, 0x01, 0x06])
        talk.notify([0x52, 0x50, 0x00, 0x03, 0x02, 0x06, records.isEmpty ? 0 : 1])
        if !records.isEmpty { talk.notifyLog(records, entry: entry) }
        if acknowledge > 0 {
            talk.write([
                0x52, 0x50, 0x00, 0x04, 0x03, 0x06, UInt8(acknowledge * 13 >> 8), UInt8(acknowledge * 13 & 0xFF),
            ])
        }
    }

    private static func talk(_ body: (inout Conversation) -> Void) -> Conversation {
        var talk = Conversation()
        talk.discoverRetail()
        body(&talk)
        return talk
    }

    @Test func aCaptureThatCannotTellSaysSo() throws {
        let points = try Self.points(Self.talk { Self.poll(&$0, [record(600, 200)]) })
        for id in [
            "byte-0", "amount", "one-frame", "eight-records", "whole-entries", "acknowledge", "replay", "flag",
            "bare-03",
        ] {
            #expect(Self.reading(points[id]) == "cannot tell", "\(id)")
            #expect(points[id]?.missing.isEmpty == false)
        }
        #expect(points["bare-04"]?.observations == 0)
    }

    @Test func theYearIsShownByAnotherYear() throws {
        var talk = Self.talk { Self.poll(&$0, (0..<5).map { record(600 + $0, 100 + $0, year: 0x1B) }) }
        talk.start += 365 * 86_400
        #expect(Self.reading(try Self.points(talk)["byte-0"]) == "year")
        // A type byte: a year later it is still the same.
        var same = Self.talk { Self.poll(&$0, (0..<5).map { record(600 + $0, 100 + $0) }) }
        same.start += 3 * 365 * 86_400
        var later = Conversation()
        later.start = same.start
        later.discoverRetail()
        Self.poll(&later, (0..<5).map { record(600 + $0, 100 + $0) })
        #expect(Self.reading(try Self.points(later)["byte-0"]) == "type")
    }

    @Test func anAmountOfTwoBytesIsShownByALargeDrink() throws {
        #expect(
            Self.reading(try Self.points(Self.talk { Self.poll(&$0, [record(600, 300), record(601, 530)]) })["amount"])
                == "two-bytes")
        #expect(
            Self.reading(
                try Self.points(Self.talk { Self.poll(&$0, (0..<30).map { record(600 + $0, 100 + $0) }) })["amount"])
                == "one-byte")
    }

    @Test func whatAnAcknowledgementDrops() throws {
        let log = (0..<6).map { record(600 + $0, 100 + $0) }
        func reading(_ next: [[UInt8]]) throws -> String {
            Self.reading(
                try Self.points(
                    Self.talk {
                        Self.poll(&$0, log, acknowledge: 2)
                        Self.poll(&$0, next)
                    })["acknowledge"])
        }
        #expect(try reading(Array(log.dropFirst(2))) == "likelier oldest")
        #expect(try reading(log) == "likelier nothing")
        let points = try Self.points(
            Self.talk {
                Self.poll(&$0, log)
                Self.poll(&$0, log + [record(700, 90)])
            })
        #expect(Self.reading(points["replay"]) == "likelier again" || Self.reading(points["replay"]) == "again")
        #expect(Self.reading(points["acknowledge"]) == "cannot tell")
    }

    @Test func entriesAndTheirOrder() throws {
        let log = (0..<40).map { record(600 + $0, 100 + $0) }
        let points = try Self.points(Self.talk { Self.poll(&$0, log) })
        #expect(Self.reading(points["oldest-first"]) == "oldest")
        #expect(
            Self.reading(
                try Self.points(Self.talk { talk in for _ in 0..<4 { Self.poll(&talk, log) } })["eight-records"])
                == "eight")
        #expect(Self.reading(points["whole-entries"]) == "between")
        #expect(Self.reading(points["log-answer"]) == "cannot tell")
        #expect(
            Self.reading(try Self.points(Self.talk { Self.poll(&$0, log, entry: 12) })["eight-records"]).hasSuffix(
                "more"))
    }

    /// The battery of the snapshot and that of the records fall together.
    @Test func theSensorBytesOfABoost() throws {
        let points = try Self.points(
            Self.talk { talk in
                for level in UInt8(0)..<4 {
                    let entries: [UInt8] = [
                        2, 2, 0x61 - level, 7, 3, 0x1A, 2, 2, 12, 0, 0, 3, 5, 7, 0xD0, 3, 4, 0, 0, 3, 0x0B, 0, 1, 1,
                        0x0C, 2, 0x17, 0, 7, 0x26, 0, 8, 0, 20, 0, 60, 2, 0x1B, 1,
                    ]
                    talk.notify([0x52, 0x50, 0, UInt8(entries.count)] + entries)
                    var one = record(600 + Int(level), 100)
                    one[11] = 0x61 - level
                    Self.poll(&talk, [one], acknowledge: 1)
                }
            })
        #expect(Self.reading(points["bytes-10-11-boost"]) == "battery")
    }

    @Test func aBareByteThatIsAnsweredAsksForTheLog() throws {
        let points = try Self.points(
            Self.talk { talk in
                for turn in 0..<3 {
                    talk.write([0x03])
                    talk.notify([0x52, 0x50, 0x00, 0x03, 0x02, 0x06, 0x01])
                    talk.notifyLog([record(600 + turn, 100)])
                    talk.write([0x01])
                }
                talk.disconnect()
            })
        #expect(Self.reading(points["bare-03"]) == "log")
        #expect(Self.reading(points["bare-01"]) == "nothing" || Self.reading(points["bare-01"]) == "likelier nothing")
    }
}
