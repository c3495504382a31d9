extension EvidencePoint {
    // What is disputed, by its id: the same ids as in a bench day.

    static func yearByte() -> Self {
        Self(
            "byte-0", law: "P3.3", "What byte 0 of a record is", missing: "a record of another year than 2026",
            [("year", "the year of the bottle's clock less 2000"), ("type", "a record type, 1A for ever")])
    }

    static func amount() -> Self {
        Self(
            "amount", law: "P3.2", "Where the millilitres of a record are", missing: "a drink of more than 255 ml",
            [("two-bytes", "in bytes 6 and 7"), ("one-byte", "in byte 7; byte 6 is a separator, 00")])
    }

    static func dissolved() -> Self {
        Self(
            "bytes-8-9", law: "P3.2", "What bytes 8 and 9 of a record are",
            missing: "a bottle that tells its TDS in a snapshot or a report",
            [("tds", "dissolved solids in ppm"), ("noise", "nothing: zero, or noise")])
    }

    /// - Parameter model: in words; two bottles of different models may differ.
    static func sensor(_ model: String?) -> Self {
        Self(
            "bytes-10-11" + (model.map { "-\($0.lowercased())" } ?? ""), law: "P3.2",
            "What bytes 10 and 11 of a record are" + (model.map { " (\($0))" } ?? ""),
            missing: "records of several days, and a snapshot or a report of battery or temperature beside them",
            [
                ("battery", "01 and the battery in percent"), ("tenths", "tenths of a degree Celsius, in two bytes"),
                ("degrees", "byte 10 is whole degrees Celsius"),
            ])
    }

    static func flag() -> Self {
        Self(
            "flag", law: "P3.2", "What byte 12 of a record says",
            missing: "a record whose byte 12 is not 00, beside the day's amount in a snapshot",
            [("drink", "00 is a drink, anything else is none"), ("nothing", "nothing: each record is a drink")])
    }

    static func frames() -> Self {
        Self(
            "one-frame", law: "P3.1", "How many PT frames a dump has", missing: "a dump of more than 16 records",
            [("one", "one"), ("several", "several, where the log is long")])
    }

    static func entries() -> Self {
        Self(
            "eight-records", law: "P3.1", "How many records an entry of the log holds",
            missing: "a log of more than eight records",
            [("eight", "at most eight"), ("more", "as many as fit")])
    }

    static func parts() -> Self {
        Self(
            "whole-entries", law: "P3.1", "Where a frame is cut into notifications",
            missing: "a log in more than one notification",
            [("between", "between entries: each notification holds whole ones"), ("anywhere", "anywhere")])
    }

    static func order() -> Self {
        Self(
            "oldest-first", law: "P3.1", "In which order records come", missing: "a log of several records with dates",
            [("oldest", "the oldest first"), ("newest", "the newest first"), ("none", "in none")])
    }

    static func announced() -> Self {
        Self(
            "log-answer", law: "P2.7", "Whether RP 06 says truly that records follow",
            missing: "a request for the log and what came of it",
            [("true", "it does"), ("no", "it does not: records follow or do not, whatever it says")])
    }

    static func replay() -> Self {
        Self(
            "replay", law: "P3.4", "What becomes of a log that nobody acknowledged",
            missing: "two dumps of one bottle without an acknowledgement between them",
            [("again", "it comes again"), ("gone", "it is gone")])
    }

    static func acknowledgement() -> Self {
        Self(
            "acknowledge", law: "P3.4", "What an acknowledgement drops",
            missing: "a dump, an acknowledgement of a part of it, and the next dump",
            [
                ("oldest", "as many of the oldest records as its bytes say"),
                ("sent", "everything that was sent, whatever it says"),
                ("nothing", "nothing"),
            ])
    }

    static func bare(_ byte: UInt8) -> Self {
        Self(
            "bare-0\(byte)", law: "P2.5", "What the bare byte 0\(byte) does, written to a bottle on sale",
            missing: "that byte on the air, and what came after it",
            [("log", "it asks for the log"), ("nothing", "nothing")])
    }
}
