import CommandKit
import Scenarios
import TrackerCore

/// A scenario that was played with the engine and the store of the product, and what came of it.
public struct PlayedScenario: Sendable {
    /// The scenario's title.
    public var title: String
    /// What came of it.
    public var outcome: ScenarioOutcome
    /// Promises that did not hold; empty: all did.
    public var violations: [BrokenPromise]
    /// What happened, with how long after the start.
    public var story: [(at: Duration, line: String)]
    /// How long it took, in seconds.
    public var seconds: Double

    /// Plays it to its end, with a store of its own.
    public init(_ scenario: Scenario) throws {
        let begun = ContinuousClock.now
        var world = try World(scenario) { try StoreJournal(zone: scenario.zone.id) }
        world.keepsStory = true
        world.run()
        title = scenario.title
        (outcome, violations, story) = (world.outcome, world.violations, world.story)
        seconds = (ContinuousClock.now - begun) / .seconds(1)
    }

    /// What breaks, without the story.
    public static func broken(_ scenario: Scenario) throws -> [BrokenPromise] {
        var world = try World(scenario) { try StoreJournal(zone: scenario.zone.id) }
        world.run()
        return world.violations
    }

    /// As it came out elsewhere.
    init(
        _ title: String, _ judged: (ScenarioOutcome, [BrokenPromise]), story: [(at: Duration, line: String)],
        seconds: Double
    ) {
        (self.title, outcome, violations, self.story, self.seconds) = (title, judged.0, judged.1, story, seconds)
    }

    /// For a person: whether it holds, what came of it, and the story where it is wanted or something broke.
    public func lines(file: String, tellsStory: Bool) -> [String] {
        var lines = ["\(violations.isEmpty ? "holds" : "BROKEN")  \(title) (\(file))"]
        if tellsStory || !violations.isEmpty { lines += story.map { "    \(ScenarioTime.text($0.at))  \($0.line)" } }
        let doubts = [
            (outcome.doubted, "in doubt"), (outcome.lost, "lost by the ring"), (outcome.elsewhere, "taken by others"),
            (outcome.heard, "told to the broker"),
        ].filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }.joined()
        lines.append(
            """
              \(outcome.sips) sips, \(outcome.ml) ml\(doubts); \(outcome.polls) polls, \(outcome.failedPolls) of \
            them failed
            """
        )
        return lines + violations.map { "  \($0.sentence)" }
    }

    /// One object.
    public func json(file: String) -> JSONValue {
        [
            "file": .string(file), "title": .string(title), "holds": .bool(violations.isEmpty),
            "broken": .array(violations.map { ["code": .string($0.code.rawValue), "message": .string($0.sentence)] }),
            "sips": .int(outcome.sips), "ml": .int(outcome.ml), "doubted": .int(outcome.doubted),
            "quarantined": .int(outcome.quarantined),
            "acknowledged": .int(outcome.acknowledged), "lost": .int(outcome.lost),
            "elsewhere": .int(outcome.elsewhere), "polls": .int(outcome.polls),
            "failedPolls": .int(outcome.failedPolls), "heard": .int(outcome.heard),
            "heardAgain": .int(outcome.heardAgain),
            "told": .array(outcome.told.map(JSONValue.string)),
            "days": .object(outcome.days.sorted { $0.key < $1.key }.map { .init($0.key.description, .int($0.value)) }),
            "story": .array(story.map { ["at": .string(ScenarioTime.text($0.at)), "line": .string($0.line)] }),
            "seconds": .double(seconds),
        ]
    }
}
