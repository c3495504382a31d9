import FleetWire
import Outgoing

/// Tells a world to a fleet's servers over HTTP, hour by hour, as gateways do: in order, in batches, and on only when a
/// server has said that a batch is committed.
///
/// Each batch goes to any of the servers. Now and then an answer gets lost, and a batch begins with what was told
/// before. Where nobody takes batches they go on, and what was not told waits.
public struct FleetPlayer: Sendable {
    /// What there is to say meanwhile.
    public enum Word: Hashable, Sendable {
        /// A simulated day began, counted from 1.
        case day(Int)
        /// The days are over, and so many changes are still to be told.
        case waiting(Int)
    }

    /// The simulation itself does something that no server takes; it would never end.
    public struct Refused: Error, CustomStringConvertible {
        /// What was refused, and by whom.
        public var description: String
    }

    /// So many hours lie between two looks of a gateway at its fleet.
    static let stepHours = 4
    private static let workers = 16
    /// After an outage all of them come at once.
    private static let workersAfterOutage = 256

    private let world: FleetWorld
    private let servers: [String]
    private let credentials: [String]
    private let seed: UInt64
    private let dayLength: Duration
    private let isOutage: Bool
    private let limit: Duration
    private let say: @Sendable (Word) -> Void

    /// - Parameters:
    ///   - servers: `http://…`, one and more.
    ///   - credentials: one for each gateway, in their order.
    ///   - dayLength: a simulated day takes so long at least.
    ///   - isOutage: nobody is reached on any of the days, and afterwards all of them tell everything, in batches of
    ///     1,000 as gateways do.
    ///   - limit: how long the whole may take.
    public init(
        _ world: FleetWorld, servers: [String], credentials: [String], seed: UInt64, dayLength: Duration = .zero,
        isOutage: Bool = false, limit: Duration, say: @escaping @Sendable (Word) -> Void
    ) {
        (self.world, self.servers, self.credentials) = (
            world, servers.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }, credentials
        )
        (self.seed, self.dayLength, self.isOutage, self.limit, self.say) = (seed, dayLength, isOutage, limit, say)
    }

    /// Ends when everything is told and committed, or when the limit is reached.
    /// - Returns: what happened, and how many changes were not told within the limit.
    public func run() async throws -> (tally: FleetTally, waiting: Int) {
        let deadline = ContinuousClock.now + limit
        let count = world.gateways.count
        let workers = min(isOutage ? Self.workersAfterOutage : Self.workers, count)
        var parts = (0..<workers).map { worker in
            Part(
                lines: stride(from: worker, to: count, by: workers).map {
                    Line(gateway: $0, chance: FleetChance(seed: seed &+ UInt64($0) &* 7919))
                })
        }
        for hour in stride(from: 0, to: isOutage ? 0 : world.days * 24, by: Self.stepHours)
        where ContinuousClock.now < deadline {
            if hour % 24 == 0 { say(.day(hour / 24 + 1)) }
            let end = ContinuousClock.now + dayLength * Self.stepHours / 24
            parts = try await step(parts, before: hour + Self.stepHours, isLast: false, deadline)
            if end > .now { try await Task.sleep(until: end) }
        }
        say(.waiting(waiting(parts)))
        while waiting(parts) > 0, ContinuousClock.now < deadline {
            parts = try await step(parts, before: .max, isLast: true, deadline)
        }
        return (parts.reduce(into: FleetTally()) { $0 += $1.tally }, waiting(parts))
    }

    /// Gateways that one task plays, one after the other.
    private struct Part: Sendable {
        var lines: [Line]
        var tally = FleetTally()
    }

    private struct Line: Sendable {
        let gateway: Int
        var chance: FleetChance
        /// So many of its changes are committed in the fleet.
        var position = 0
    }

    private func waiting(_ parts: [Part]) -> Int {
        parts.reduce(0) { $0 + $1.lines.reduce(0) { $0 + world.gateways[$1.gateway].changes.count - $1.position } }
    }

    private func step(_ parts: [Part], before hour: Int, isLast: Bool, _ deadline: ContinuousClock.Instant) async throws
        -> [Part]
    {
        try await withThrowingTaskGroup(of: (Int, Part).self) { group in
            for (number, part) in parts.enumerated() {
                group.addTask {
                    var part = part
                    for index in part.lines.indices {
                        let gateway = world.gateways[part.lines[index].gateway]
                        guard isLast || !gateway.cutOff.contains(where: { $0.contains(hour - 1) }),
                            ContinuousClock.now < deadline
                        else { continue }
                        // Who is not let through comes again in some hours, and leaves the others alone for a moment.
                        if try await !tell(&part.lines[index], before: hour, &part.tally) {
                            try await Task.sleep(for: .milliseconds(50))
                        }
                    }
                    return (number, part)
                }
            }
            var told = parts
            for try await (number, part) in group { told[number] = part }
            return told
        }
    }

    /// - Returns: `false` where a batch was not taken.
    private func tell(_ line: inout Line, before hour: Int, _ tally: inout FleetTally) async throws -> Bool {
        let changes = world.gateways[line.gateway].changes
        while line.position < changes.count, changes[line.position].hour < hour {
            let most = min(
                changes.count, line.position + (isOutage ? 1000 : Int.random(in: 1...400, using: &line.chance)))
            let end = changes[line.position..<most].firstIndex { $0.hour >= hour } ?? most
            let isReplay = line.position > 0 && Int.random(in: 0..<10, using: &line.chance) == 0
            let first =
                isReplay
                ? Int.random(in: max(0, line.position - 60)..<line.position, using: &line.chance) : line.position
            let server = servers.randomElement(using: &line.chance) ?? ""
            let request = OutgoingRequest(
                "POST", server + "/v1/entries",
                headers: [
                    ("Authorization", "Bearer \(credentials[line.gateway])"), ("Content-Type", "application/x-ndjson"),
                ],
                body: try FleetLines.bytes(changes[first..<end].map(\.entry)))
            let answer: OutgoingAnswer
            do { answer = try await OutgoingClient(limit: .seconds(30), answerLimit: 64 << 10).send(request) } catch {
                if error.needsPerson { throw error }
                tally.unanswered += 1
                return false
            }
            guard answer.status == 200 else {
                guard [408, 429].contains(answer.status) || answer.status >= 500 else {
                    throw Refused(
                        description:
                            """
                            \(server) answered with status \(answer.status): \
                            \(FleetAnswer.detail(answer.body) ?? "no words")
                            """
                    )
                }
                tally.refused[answer.status, default: 0] += 1
                return false
            }
            if isReplay { tally.replayed += 1 }
            guard Int.random(in: 0..<10, using: &line.chance) > 0 else {
                tally.lost += 1
                continue
            }
            tally.committed += 1
            tally.entries += end - first
            line.position = end
        }
        return true
    }
}
