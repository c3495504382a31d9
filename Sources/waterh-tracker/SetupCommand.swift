import ArgumentParser
import CommandSupport
import Foundation
import Store
import TrackerCore
import TrackerService

struct Setup: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "The welcome: defaults, presets, notifications. Once.",
        discussion: "On a terminal it asks; otherwise, and with --yes, what is not given stays at its default.")
    @OptionGroup var options: StoreOptions
    @Flag(name: .shortAndLong, help: "Ask nothing.") var yes = false
    @Option(help: "A water every so many drinks, 1-10.") var waterEvery: String?
    @Option(help: "Time-based reminders: on or off.") var timeReminders: String?
    @Option(help: "Minutes between them: 10, 15, 20, 30, 45 or 60.") var interval: String?
    @Option(help: "The value at which the Waterline warns, 1-10.") var threshold: String?
    @Option(help: "oz or ml, of the day and of the Waterline.") var units: String?
    @Option(help: "The day's goal, ml, or with a unit: 80oz.") var goal: String?
    @Option(help: "enable (sends a test notification) or skip.") var notifications: Notifications?

    enum Notifications: String, ExpressibleByArgument, CaseIterable { case enable, skip }

    func run() async throws {
        do {
            // Questions are asked of what is there: who breaks off leaves nothing behind, not even an empty store.
            let looking = try Desk(options, for: .looking, isQuiet: true)
            // On a copy of a service's day there is nothing to answer: that is said before anything is asked.
            if looking.service != nil { _ = try Desk(options, for: .writing) }
            let answers = try await answers(looking)
            // All are answered: from here on something is written.
            try finish(Desk(options, for: .writing), answers)
        } catch {
            throw Failures.explained(error)
        }
    }

    private struct Answers {
        var isFirst: Bool
        var changes: [(name: String, text: String)]
        var notifications: String
    }

    private func answers(_ desk: Desk) async throws -> Answers {
        var changes = zip(TrackerDesk.setupNames, [waterEvery, timeReminders, interval, threshold, units, goal])
            .compactMap { name, value in value.map { (name: name, text: $0) } }
        // What was given has to be possible before anything is asked.
        var settings = try desk.tracker.settingsInForce()
        for change in changes { try settings.set(change.name, to: change.text) }
        let isFirst = try desk.tracker.isFirstVisit()
        let asks = !yes && !desk.isJSON && desk.console.canAsk
        if isFirst, !desk.isJSON {
            desk.console.line(desk.console.paint(Onboarding.welcome, .bold))
            desk.console.line(Onboarding.guardrail)
            desk.console.line("")
        }
        if isFirst, asks { changes += try ask(desk, except: changes.map(\.name)) }
        // Who says oz or ml says it of the day, too, unless that has been said already.
        if settings.hydrationUnits == nil, let units = changes.last(where: { $0.name == "waterline.units" })?.text {
            changes.append(("hydration.units", units))
        }
        let (words, choice) = try await allowNotifications(desk, asks: isFirst && asks)
        if let choice { changes.append(("notify.desktop", choice == .enable ? "true" : "false")) }
        return Answers(isFirst: isFirst, changes: changes, notifications: words)
    }

    private func finish(_ desk: Desk, _ answers: Answers) throws {
        let report = try desk.tracker.setUp(answers.changes, notifications: answers.notifications)
        try desk.say(report) {
            ["\(answers.isFirst ? "Set up" : "Already set up"):"]
                + report.settings.lines.map { "  \($0.name.padded(30)) \($0.value.text)" }
                + [
                    "  presets                        " + report.presets.map(\.preset.name).joined(separator: ", "), "",
                    answers.notifications, "",
                    "Next: waterh-tracker log 250, waterh-tracker status, waterh-tracker session start",
                    "A token for writes over HTTP: waterh-tracker token",
                ]
        }
    }

    private func ask(_ desk: Desk, except given: [String]) throws -> [(name: String, text: String)] {
        let questions = [
            ("waterline.waterEveryNDrinks", "A water every how many drinks?"),
            ("waterline.timeReminders", "Time-based reminders?"),
            ("waterline.intervalMinutes", "Minutes between them?"),
            ("waterline.warningThreshold", "Warn at which value?"),
            ("waterline.units", "oz or ml?"), ("hydration.goalMl", "Your goal a day, ml, or with a unit (80oz)?"),
        ]
        var settings = try desk.tracker.settingsInForce()
        var changes: [(name: String, text: String)] = []
        for (name, question) in questions where !given.contains(name) {
            while true {
                desk.console.prompt("\(question) [\(settings.value(of: name)?.text ?? "")] ")
                guard let answer = readLine() else { throw Self.unanswered() }
                guard !answer.isEmpty else { break }
                do {
                    try settings.set(name, to: answer)
                    changes.append((name, answer))
                    break
                } catch {
                    desk.console.line("\(error)")
                }
            }
        }
        return changes
    }

    /// The input ended (Ctrl-D): that answers nothing.
    private static func unanswered() -> Refusal {
        TextOutput.standard.line("")
        return Refusal("unanswered", "The questions were not answered to their end: nothing was set up.")
    }

    /// Shows what notifications are for, and sends a test where they are wanted.
    private func allowNotifications(_ desk: Desk, asks: Bool) async throws -> (words: String, choice: Notifications?) {
        var choice = notifications
        if choice == nil, asks {
            desk.console.prompt("\(Onboarding.notifications) [E]nable or [S]kip? ")
            guard let answer = readLine() else { throw Self.unanswered() }
            choice = answer.lowercased().hasPrefix("s") ? .skip : .enable
        }
        guard let choice else {
            return ("Notifications: not tried. Try them with: waterh-tracker setup --notifications enable", nil)
        }
        guard choice == .enable else { return ("Notifications: skipped.", choice) }
        let isShown = try await TrackerDesktop.tryOut(
            title: "Waterline", body: "Notifications work.", on: desk.tracker)
        let words =
            isShown
            ? "Notifications: enabled, a test was sent."
            : """
            Notifications disabled: no notification server answered. A desktop has its own; else start one in your \
            session (dunst, mako).
            """
        return (words, choice)
    }
}
