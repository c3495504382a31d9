/// A point of the protocol that is guessed, published by few, or disputed, as this project reads it today.
public enum DayPoint: String, CaseIterable, Hashable, Sendable {
    case name
    case advertisedServices = "advertised-services"
    case addressPrefix = "address-prefix"
    case advertisingInterval = "advertising-interval"
    case table
    case responseOnlyNotifies = "response-only-notifies"
    case onlyResponseNotifies = "only-the-response-notifies"
    case mtu
    case quiet
    case soon
    case snapshotLength = "snapshot-length"
    case snapshotEntries = "snapshot-entries"
    case clockRuns = "clock-runs"
    case logAnswer = "log-answer"
    case oneFrame = "one-frame"
    case wholeEntries = "whole-entries"
    case eightRecords = "eight-records"
    case oldestFirst = "oldest-first"
    case onceEach = "once-each"
    case replay
    case bareThree = "bare-03"
    case bareFour = "bare-04"
    case bareOne = "bare-01"
    case amount
    case recordTime = "record-time"
    case sensorBytes = "bytes-10-11"
    case flag
    case yearByte = "byte-0"
    case liveReport = "live-report"
    case goalTaken = "goal-taken"
    case clockTaken = "clock-taken"
    case reminderTaken = "reminder-taken"
    case settingsTaken = "settings-taken"
    case acknowledgeWithoutDump = "acknowledge-without-dump"
    case acknowledgeOne = "acknowledge-one"
    case acknowledgeAll = "acknowledge-all"
    case hangUp = "hang-up"

    /// The heading of the protocol law that says it.
    public var law: String {
        switch self {
        case .name, .advertisedServices, .advertisingInterval: "P1.2"
        case .addressPrefix, .onlyResponseNotifies, .hangUp: "P1.3"
        case .table, .responseOnlyNotifies: "P1.1"
        case .mtu, .quiet, .soon, .acknowledgeWithoutDump: "P3.6"
        case .snapshotLength, .snapshotEntries, .clockRuns: "P2.8"
        case .logAnswer, .goalTaken, .clockTaken, .reminderTaken, .settingsTaken: "P2.7"
        case .oneFrame, .wholeEntries, .eightRecords, .oldestFirst: "P3.1"
        case .onceEach, .replay, .acknowledgeOne, .acknowledgeAll: "P3.4"
        case .bareOne, .bareThree, .bareFour: "P2.5"
        case .amount, .recordTime, .sensorBytes, .flag: "P3.2"
        case .yearByte: "P3.3"
        case .liveReport: "P2.1"
        }
    }

    /// What is held to be so.
    public var statement: String {
        switch self {
        case .name: "Its name begins with WaterH."
        case .advertisedServices: "A bottle on sale advertises no service, one of the draft advertises FF00."
        case .addressPrefix: "Its address begins with A4:C1:38, as Telink's chips have it."
        case .advertisingInterval: "It advertises rarely: a second or more passes between two advertisements."
        case .table:
            "The services and characteristics of its profile are there, with the properties that are published."
        case .responseOnlyNotifies: "The response characteristic of a bottle on sale notifies, and cannot be read."
        case .onlyResponseNotifies: "Nothing but the response characteristic notifies."
        case .mtu: "It agrees to an MTU of 113 or more, which a notification of eight records needs."
        case .quiet: "Who subscribes and asks nothing is told nothing."
        case .soon:
            "A question in the moment of the subscription is answered, if not at once then when it is asked again."
        case .snapshotLength: "A snapshot has 39 payload bytes on a Boost and 49 on a Vita."
        case .snapshotEntries: "A snapshot is a row of entries."
        case .clockRuns: "The bottle's clock runs on between connections."
        case .logAnswer: "RP 06 says truly whether records follow."
        case .oneFrame: "One dump is one PT frame."
        case .wholeEntries: "Each notification of the log holds whole entries; the first has the header before them."
        case .eightRecords: "An entry of the log holds at most eight records."
        case .oldestFirst: "Records come oldest first."
        case .onceEach: "A notification comes once."
        case .replay: "A log that nobody acknowledged comes again, whole and alike."
        case .bareThree: "The bare byte 03 asks for the log."
        case .bareFour: "The bare byte 04 asks for the log."
        case .bareOne: "The bare byte 01 asks for the log in the draft profile alone."
        case .amount: "Bytes 6 and 7 of a record are the millilitres that were drunk."
        case .recordTime: "Bytes 1 to 5 of a record are the time of the sip by the bottle's own clock."
        case .sensorBytes: "Bytes 10 and 11 are 01 and the battery on a Boost; on a Vita byte 10 is the temperature."
        case .flag: "Byte 12 of a drink is 00."
        case .yearByte: "Byte 0 is the year of the bottle's clock less 2000."
        case .liveReport: "A sip is reported by an RT frame to whoever is connected."
        case .goalTaken: "A goal is answered by RP with the same entry."
        case .clockTaken: "A clock is answered by RP 03 00, and stands in the next snapshot."
        case .reminderTaken: "A reminder is answered by RP with the same entry."
        case .settingsTaken: "Goal, clock and reminder in one are answered in one frame of 15 payload bytes."
        case .acknowledgeWithoutDump:
            "An acknowledgement counts what was sent on its own connection: without a dump it drops nothing."
        case .acknowledgeOne: "An acknowledgement of one record drops the oldest, and nothing else."
        case .acknowledgeAll: "What was acknowledged does not come again."
        case .hangUp: "A write of 01 to the response characteristic makes the bottle hang up."
        }
    }
}
