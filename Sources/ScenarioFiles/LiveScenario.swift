import Bluetooth
import BottleProtocol
import CommandKit
import Emulation
import Foundation
import Gateway
import Scenarios
import Store
import Synchronization
import TrackerCore
import VirtualBottle

/// A scenario that is played for real: the gateway asks a bottle over a link, and what its owner does is told to that
/// bottle's emulator.
///
/// Steps come in their order, with a pause between different times in place of the hours of the file. What only a
/// simulated world can do (a full disk, a clock of the host that jumps) is refused before anything is done.
public struct LiveScenario: Sendable {
    /// Why it cannot be played for real: one sentence.
    public struct Unplayable: Error, CustomStringConvertible {
        /// The sentence.
        public let description: String
    }

    /// Makes a link with these faults; `nil`: in good weather.
    public typealias Opening = @Sendable (FaultPlan?) throws -> any CentralLink

    private let scenario: Scenario
    private let control: String
    private let pause: Duration
    /// Where the day has a broker.
    private let mosquitto: String?
    private let open: Opening
    private static let goodPolls = 6

    /// - Parameters:
    ///   - control: the emulator's control socket.
    ///   - pause: between steps of different times.
    /// - Throws: `Unplayable` where a step cannot be done for real.
    public init(_ scenario: Scenario, control: String, pause: Duration, open: @escaping Opening) throws(Unplayable) {
        try self.init(scenario, control: control, pause: pause, mosquitto: LiveBroker.program, open: open)
    }

    /// - Parameter mosquitto: the broker's program; `nil` where none is installed.
    init(_ scenario: Scenario, control: String, pause: Duration, mosquitto: String?, open: @escaping Opening)
        throws(Unplayable)
    {
        let refused = Set(
            scenario.steps.compactMap { Self.refusal($0.act) }
                + (scenario.failingWrites.isEmpty ? [] : ["writes that fail"])
                + (scenario.hasBroker && mosquitto == nil ? ["a broker, and no mosquitto is installed here"] : []))
        guard refused.isEmpty else {
            throw Unplayable(
                description:
                    """
                    \"\(scenario.title)\" cannot be played for real: it has \
                    \(refused.sorted().joined(separator: ", "))
                    """
            )
        }
        (self.scenario, self.control, self.pause, self.mosquitto, self.open) = (
            scenario, control, pause, scenario.hasBroker ? mosquitto : nil, open
        )
    }

    /// What only a simulated world can do.
    private static func refusal(_ act: ScenarioStep.Act) -> String? {
        switch act {
        case .sip, .powerLoss, .bottleClock, .drop, .brokerAway: nil
        case .poll(let poll): poll.killAfter == nil ? nil : "a poll that is killed"
        case .hostClock, .zone: "a clock of the host that changes"
        case .restart: "a bottle that restarts"
        case .habits: "habits that change"
        case .away: "a bottle that is carried away"
        case .kill, .reboot: "a gateway that dies"
        case .sleep: "a host that sleeps"
        case .disk: "a disk that is full"
        }
    }

    /// What is done, one after the other.
    enum Deed {
        case act(ScenarioStep.Act)
        /// The broker comes back from that absence.
        case brokerBack(Int)
    }

    /// By time; what comes at the same time, as it stands, and a broker comes back before it.
    private var timeline: [(at: Duration, deed: Deed)] {
        var timeline: [(at: Duration, deed: Deed)] = []
        for step in scenario.steps {
            timeline.append((step.at, .act(step.act)))
            guard case .brokerAway(let span) = step.act else { continue }
            timeline.append(
                (
                    step.at + span,
                    .brokerBack(timeline.count { if case .brokerBack = $0.deed { true } else { false } } + 1)
                ))
        }
        func isBack(_ deed: Deed) -> Bool { if case .brokerBack = deed { true } else { false } }
        return timeline.enumerated().sorted { left, right in
            let (one, other) = (left.element, right.element)
            return (one.at, isBack(one.deed) ? 0 : 1, left.offset) < (
                other.at, isBack(other.deed) ? 0 : 1, right.offset
            )
        }.map(\.element)
    }

    /// Plays it to its end, with a store of its own.
    public func play() async throws -> PlayedScenario {
        var day = try LiveDay(control: control, zone: (try? Zone(TimeZone.current.identifier)) ?? .utc, open: open)
        if let mosquitto { try await day.openBroker(mosquitto) }
        var last: Duration?
        for (at, deed) in timeline {
            if let last, last != at { try await Task.sleep(for: pause) }
            last = at
            try await day.perform(deed)
        }
        for _ in 0..<Self.goodPolls {
            try await day.perform(.act(.poll(.init())))
            if try day.heldRecords() == 0 { break }
        }
        try await day.closeBroker()
        return PlayedScenario(
            scenario.title, try day.judged(by: scenario.promise), story: day.story, seconds: day.seconds)
    }
}

/// What happens while a scenario is played for real.
private struct LiveDay {
    private let control: String
    private let zone: Zone
    private let open: LiveScenario.Opening
    private let begun = ContinuousClock.now
    private var drunk: [Int] = []
    private var stores: [String: TrackerStore] = [:]
    private var reports: [PollReport] = []
    private var told: Set<String> = []
    private(set) var story: [(at: Duration, line: String)] = []
    private var broken: [BrokenPromise] = []
    private var telling: LiveTelling?
    private var ear: BrokerEar?
    private static let house = ""

    init(control: String, zone: Zone, open: @escaping LiveScenario.Opening) throws {
        (self.control, self.zone, self.open) = (control, zone, open)
        stores[Self.house] = try TrackerStore(inMemory: zone.id)
        let held = try heldRecords()
        guard held == 0 else {
            throw LiveScenario.Unplayable(
                description: "the bottle holds \(held) records: a scenario begins with an empty one")
        }
    }

    var seconds: Double { (ContinuousClock.now - begun) / .seconds(1) }

    func heldRecords() throws -> Int { try ask("status").records }

    private struct Answer: Decodable {
        struct Status: Decodable {
            var records: Int
            var clock: String
        }
        var ok: Bool
        var error: String?
        var status: Status?
    }

    private func ask(_ word: String, _ value: String? = nil) throws -> Answer.Status {
        let answer = try JSONDecoder().decode(
            Answer.self, from: try ControlSocket.ask(control, ControlMessages.request(word, value).text))
        guard answer.ok, let status = answer.status else {
            throw LiveScenario.Unplayable(
                description: "the emulator refused \(word): \(answer.error ?? "it did not say why")")
        }
        return status
    }

    mutating func openBroker(_ mosquitto: String) async throws {
        guard let store = stores[Self.house] else { return }
        telling = try await LiveTelling(store, zone: zone, mosquitto: mosquitto)
    }

    mutating func closeBroker() async throws { ear = try await telling?.finish() }

    mutating func perform(_ deed: LiveScenario.Deed) async throws {
        switch deed {
        case .act(let act): try await perform(act)
        case .brokerBack(let absence): if try await telling?.back(from: absence) == true { tell("the broker is back") }
        }
    }

    private mutating func perform(_ act: ScenarioStep.Act) async throws {
        switch act {
        case .brokerAway:
            _ = try await telling?.leave()
            tell("the broker is away")
        case .sip(let ml):
            _ = try ask("sip", "\(ml)")
            drunk.append(ml)
            tell("somebody drinks \(ml) ml")
        case .powerLoss:
            _ = try ask("power-loss")
            tell("the battery falls out")
        case .drop:
            // A poll is over before the next step: often there is none.
            tell((try? ask("drop")) == nil ? "no connection is there to end" : "the connection ends")
        case .bottleClock(let by):
            let wrong = LocalTime(milliseconds: HostClock.localTime().milliseconds + Int64(by / .milliseconds(1))).clock
            _ = try ask("clock", wrong.description)
            tell("the bottle's clock is set to \(wrong)")
        case .poll(let poll): try await self.poll(poll)
        default: throw LiveScenario.Unplayable(description: "a step cannot be done for real")
        }
    }

    private mutating func poll(_ poll: ScenarioStep.Poll) async throws {
        let who = poll.other ?? Self.house
        let store = try stores[who] ?? TrackerStore(inMemory: zone.id)
        stores[who] = store
        var options = PollOptions(zone: zone)
        options.keep = poll.keeps
        let link = try open(poll.link == FaultPlan() ? nil : poll.link)
        let driver = GatewayDriver(
            link: link,
            clock: .system(wall: { Instant(milliseconds: Int64(HostClock.sinceEpoch() / .milliseconds(1))) }))
        var outlets = GatewayDriver.Outlets()
        let codes = Codes()
        outlets.diagnostic = { codes.note($0) }
        let report = await driver.poll(options, for: .init(journal: store, outlets: outlets))
        await driver.close()
        if let contradiction = report.contradiction {
            broken.append(BrokenPromise(code: .figures, sentence: contradiction))
        }
        tell(
            """
            \(poll.other ?? "the gateway") asks: \(report.new) new, \(report.duplicates) known, \
            \(report.acknowledged) acknowledged
            """
                + (report.failure.map { "; \($0.sentence)" } ?? ""))
        guard poll.other == nil else { return }
        reports.append(report)
        told.formUnion(codes.found)
        if let failure = report.failure { told.formUnion([failure.kind.rawValue, failure.code]) }
    }

    /// Codes of warnings.
    private final class Codes: Sendable {
        private let codes = Mutex<Set<String>>([])
        var found: Set<String> { codes.withLock { $0 } }
        func note(_ diagnostic: Diagnostic) {
            if diagnostic.severity == .warning, let code = diagnostic.code { codes.withLock { _ = $0.insert(code) } }
        }
    }

    private mutating func tell(_ line: String) {
        story.append((.seconds(Int((ContinuousClock.now - begun) / .seconds(1))), line))
    }

    // MARK: what must hold

    private func entries(_ store: TrackerStore) throws -> [JournalEntry] {
        var entries: [JournalEntry] = []
        try store.forEachWireEntry(gateway: "scenario") { entries.append($0.entry) }
        return entries
    }

    /// What came of it, and which promises did not hold. Days are the simulated world's: here all happens today.
    mutating func judged(by promise: ScenarioPromise) throws -> (ScenarioOutcome, [BrokenPromise]) {
        var outcome = ScenarioOutcome(), kept: [Int] = []
        for (who, store) in stores {
            let entries = try entries(store)
            kept += entries.map(\.amountMl)
            guard who == Self.house else {
                outcome.elsewhere += entries.count
                continue
            }
            for entry in entries {
                switch entry.verdict {
                case .drink: (outcome.sips, outcome.ml) = (outcome.sips + 1, outcome.ml + entry.amountMl)
                case .quarantined: outcome.doubted += 1
                case .notADrink: break
                }
            }
        }
        (outcome.polls, outcome.failedPolls) = (reports.count, reports.count { $0.failure != nil })
        (outcome.quarantined, outcome.acknowledged) = (
            reports.reduce(0) { $0 + $1.quarantined }, reports.reduce(0) { $0 + $1.acknowledged }
        )
        outcome.told = told.sorted()
        // Two gateways may both have read a record before one of them took it; one alone has each once.
        let (wanted, found) = (Self.tally(drunk), Self.tally(kept))
        for ml in Set(wanted.keys).union(found.keys).sorted() {
            let (one, other) = (wanted[ml] ?? 0, found[ml] ?? 0)
            if other < one {
                broken.append(
                    BrokenPromise(
                        code: .missing,
                        sentence: "\(ml) ml was drunk \(one) times, and is in the journal \(other) times"))
            }
            if other > one, stores.count == 1 {
                broken.append(
                    BrokenPromise(
                        code: one == 0 ? .invented : .doubled,
                        sentence: "\(ml) ml was drunk \(one) times, and is in the journal \(other) times"))
            }
        }
        if let ear {
            (outcome.heard, outcome.heardAgain, outcome.isHeardInOrder) = (
                ear.first.count, ear.again, ear.firstOutOfOrder == nil
            )
            broken += ear.broken(try stores[Self.house].map(entries) ?? [])
            broken += ear.broken(promise).map { BrokenPromise(code: .promised, sentence: $0) }
        }
        let held = try heldRecords()
        if held > 0 {
            broken.append(
                BrokenPromise(
                    code: .unsettled,
                    sentence: "\(held) records are still in the bottle after six polls in good weather"))
        }
        func check(_ name: String, _ wanted: Int?, _ found: Int) {
            if let wanted, wanted != found {
                broken.append(BrokenPromise(code: .promised, sentence: "\(name): \(wanted) promised, \(found) found"))
            }
        }
        check("sips", promise.sips, outcome.sips)
        check("ml", promise.ml, outcome.ml)
        check("doubted", promise.doubted, outcome.doubted)
        check("quarantined", promise.quarantined, outcome.quarantined)
        check("acknowledged", promise.acknowledged, outcome.acknowledged)
        check("failed-polls", promise.failedPolls, outcome.failedPolls)
        for code in promise.told where !outcome.told.contains(code) {
            broken.append(
                BrokenPromise(
                    code: .promised,
                    sentence:
                        """
                        told: \(code) promised, and told were: \
                        \(outcome.told.isEmpty ? "nothing" : outcome.told.joined(separator: ", "))
                        """
                ))
        }
        return (outcome, broken)
    }

    private static func tally(_ amounts: [Int]) -> [Int: Int] { amounts.reduce(into: [:]) { $0[$1, default: 0] += 1 } }
}
