import BenchDay
import Bluetooth
import BottleProtocol
import Foundation
import Support
import Synchronization
import VirtualBottle

/// A day with a bottle that does not exist, over a socket, with short limits; the person's part is played upon it.
final class RehearsedDay: DayPerson {
    let course: DayCourse
    private let bottle: BottleDriver
    private let link: SocketPeripheralLink
    private let folder: TemporaryFolder
    private let kept = Kept()
    /// Words of questions that are answered no, or left out.
    private let refused: Set<String>
    /// What is called at a question.
    private let onQuestion: @Sendable (DayQuestion) async -> Void

    struct DiskFull: Error {}

    /// - Parameters:
    ///   - canKeep: whether records can be written down.
    ///   - canStore: whether the store takes the log.
    ///   - broken: the chapter whose connection is never made.
    ///   - daysBehind: how far this computer's clock is behind the bottle's.
    ///   - answer: how long an answer is waited for.
    ///   - listen: how long nothing is asked at first. A busy processor makes a bottle late that speaks unasked.
    init(
        _ identity: BottleIdentity = BottleIdentity(), faults: String = "",
        records: [[UInt8]] = RehearsedDay.records(20), refused: Set<String> = ["app"], canKeep: Bool = true,
        canStore: Bool = true, listen: Duration = .milliseconds(200), answer: Duration = .milliseconds(400),
        daysBehind: Int64 = 0, broken: String? = nil,
        onQuestion: @escaping @Sendable (DayQuestion) async -> Void = { _ in }
    ) async throws {
        folder = try TemporaryFolder()
        (self.refused, self.onQuestion) = (refused, onQuestion)
        let socket = try UnixSocket(path: folder.file("b.sock"))
        link = SocketPeripheralLink(socket)
        let machine = VirtualBottleMachine(
            identity, flash: BottleFlash(records: records, capacity: 500), faults: try BottleFaults(faults),
            hostTime: Self.host, at: MonotonicClock.system.now())
        bottle = BottleDriver(machine, on: link)
        try await bottle.open()
        Task { [bottle] in await bottle.run() }
        let kept = kept
        let person = Relay()
        var limits = DayLimits()
        (limits.find, limits.listen, limits.answer, limits.quiet, limits.live) = (
            .seconds(5), listen, answer, .milliseconds(150), .milliseconds(50)
        )
        let start = MonotonicClock.system.now()
        course = DayCourse(
            link: "unix", hasRadio: false,
            DaySurroundings(
                person: person,
                wall: {
                    LocalTime(
                        milliseconds: Self.host.milliseconds - daysBehind * 86_400_000
                            + Int64(start.duration(to: MonotonicClock.system.now()) / .milliseconds(1))
                    ).clock
                }, say: { _ in },
                isWanted: { _ in true },
                open: { name in
                    guard name != broken else {
                        throw LinkError(.timeout, "The connection was not made.", isTransient: true)
                    }
                    return SocketCentralLink(socket)
                }, close: { _ in },
                keep: { records in
                    guard canKeep else { throw DiskFull() }
                    kept.add(records)
                },
                store: {
                    guard canStore else { throw DiskFull() }
                    return kept.all
                },
                advertised: { _ in [] }), limits: limits)
        person.day.withLock { $0 = self }
    }

    /// 2026-06-15 12:00 by the host's clock when the day begins.
    private static let host = BottleClock(yearByte: 26, month: 6, day: 15, hour: 12, minute: 0, second: 0).time

    static func records(_ count: Int) -> [[UInt8]] {
        (0..<count).map { [26, 6, 14, 8, UInt8($0), 0, 0, UInt8(100 + $0), 0, 0, 1, 97, 0] }
    }

    func answer(_ question: DayQuestion) async -> String? {
        await onQuestion(question)
        guard !refused.contains(question.word) else { return nil }
        switch question.act {
        case .sip(let ml): _ = await bottle.control(.sip(ml: ml))
        case .press: _ = await bottle.control(.press)
        case .charging(let isOn): _ = await bottle.control(.charging(isOn))
        case .app, nil: break
        }
        return switch question.form {
        case .done: ""
        case .amount(let ml): "\(ml)"
        case .yesNo: "y"
        }
    }

    /// Somebody drinks, whom the day knows nothing of.
    func drink(_ ml: Int) async { _ = await bottle.control(.sip(ml: ml)) }

    var status: BottleStatus? {
        get async { if case .done(let status) = await bottle.control(.status) { status } else { nil } }
    }

    /// What was written down.
    var writtenDown: Set<[UInt8]> { kept.all }

    func findings() async -> [DayPoint: DayFinding] {
        Dictionary(DayJudge(await course.day).findings.map { ($0.point, $0) }, uniquingKeysWith: { first, _ in first })
    }

    func contradicted() async -> Set<DayPoint> {
        Set(await findings().values.filter { $0.verdict == .contradicted }.map(\.point))
    }

    func close() async { await link.close() }

    /// What was written down.
    private final class Kept: Sendable {
        private let records = Mutex<Set<[UInt8]>>([])
        var all: Set<[UInt8]> { records.withLock { $0 } }
        func add(_ more: [[UInt8]]) { records.withLock { $0.formUnion(more) } }
    }

    /// Stands for the day while it is made.
    private final class Relay: DayPerson {
        let day = Mutex<RehearsedDay?>(nil)
        func answer(_ question: DayQuestion) async -> String? { await day.withLock { $0 }?.answer(question) }
    }
}

extension BottleClock {
    /// The same as the bottle counts.
    fileprivate var time: LocalTime { LocalTime(self) ?? LocalTime(milliseconds: 0) }
}
