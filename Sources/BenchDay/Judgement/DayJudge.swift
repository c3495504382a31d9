import Bluetooth
import BottleProtocol

/// What a day says of each disputed point. Pure: the same day, the same findings.
public struct DayJudge {
    let day: BenchDayRecord

    /// Of what that day has shown.
    public init(_ day: BenchDayRecord) { self.day = day }

    /// One of each point, in the points' order.
    public var findings: [DayFinding] { DayPoint.allCases.map(finding) }

    private func finding(_ point: DayPoint) -> DayFinding {
        switch point {
        case .name: name
        case .advertisedServices: advertisedServices
        case .addressPrefix: addressPrefix
        case .advertisingInterval: advertisingInterval
        case .table: table
        case .responseOnlyNotifies: responseOnlyNotifies
        case .onlyResponseNotifies: onlyResponseNotifies
        case .mtu: mtu
        case .quiet: quiet
        case .soon: soon
        case .snapshotLength: snapshotLength
        case .snapshotEntries: snapshotEntries
        case .clockRuns: clockRuns
        case .logAnswer: logAnswer
        case .oneFrame: oneFrame
        case .wholeEntries: wholeEntries
        case .eightRecords: eightRecords
        case .oldestFirst: oldestFirst
        case .onceEach: onceEach
        case .replay: replay
        case .bareThree: bare(.bareThree, 3)
        case .bareFour: bare(.bareFour, 4)
        case .bareOne: bare(.bareOne, 1)
        case .amount: amount
        case .recordTime: recordTime
        case .sensorBytes: sensorBytes
        case .flag: flag
        case .yearByte: yearByte
        case .liveReport: liveReport
        case .goalTaken: taken(.goalTaken) { if case .goal = $0 { true } else { false } }
        case .clockTaken: clockTaken
        case .reminderTaken: taken(.reminderTaken) { if case .reminder = $0 { true } else { false } }
        case .settingsTaken: settingsTaken
        case .acknowledgeWithoutDump: acknowledgeWithoutDump
        case .acknowledgeOne: acknowledgeOne
        case .acknowledgeAll: acknowledgeAll
        case .hangUp: hangUp
        }
    }

    // MARK: - Words

    func untried(_ point: DayPoint, _ why: String = "It was not tried.") -> DayFinding {
        DayFinding(point, .cannotTell, why)
    }

    /// `10:15:02 FFE4 50 54 …`
    func line(_ step: DayStep, _ value: DayValue) -> String {
        "\(Self.time(step.at)) +\(Self.seconds(value.after)) \(value.characteristic) \(HexText.of(value.bytes))"
    }

    /// What was written.
    func line(_ step: DayStep) -> String { "\(Self.time(step.at)) written \(HexText.of(step.sent ?? []))" }

    func lines(_ step: DayStep) -> [String] {
        (step.sent == nil ? [] : [line(step)]) + step.values.map { line(step, $0) }
    }

    static func time(_ clock: BottleClock) -> String { String(clock.description.suffix(8)) }

    /// `0.52 s`
    static func seconds(_ duration: Duration) -> String {
        let hundredths = Int(duration / .milliseconds(10))
        let rest = String(hundredths % 100)
        return "\(hundredths / 100).\(rest.count < 2 ? "0" : "")\(rest) s"
    }

    static func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

    /// A frame's entry of that type among the answers of a step.
    func answer(in step: DayStep, _ type: EntryType) -> (value: DayValue, entry: Entry)? {
        for value in step.answers(from: day.response) {
            guard let frame = try? Frame(decoding: value.bytes), frame.operation == .response,
                let entries = try? frame.entries()
            else { continue }
            if let entry = entries.first(where: { $0.type == type }) { return (value, entry) }
        }
        return nil
    }
}
