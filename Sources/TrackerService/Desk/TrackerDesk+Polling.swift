import Gateway
import Store
import TrackerCore

extension TrackerDesk {
    /// What a poll is to do, by the settings of the store.
    package func pollOptions() throws -> PollOptions {
        let settings = try store.settings()
        var options = PollOptions(settings: settings.bottle, zone: zone, goalMl: settings.goalMl)
        options.own = try ownBottles()
        return options
    }

    /// All bottles that the store knows, in the order in which they were first seen.
    package func bottles() throws -> [BottleReport] { try store.bottles().map(BottleReport.init) }

    /// The bottles of the store, as a poll tells them.
    package func ownBottles() throws -> [OwnBottle] { try Self.ownBottles(of: store) }

    /// The same where no moment matters.
    package static func ownBottles(of store: TrackerStore) throws -> [OwnBottle] {
        try store.bottles().filter(\.isOwn).map {
            OwnBottle(
                identities: Set($0.identities), aliases: Set($0.names).subtracting($0.identities),
                alias: $0.identities.contains($0.name) ? nil : $0.name, advertisedName: $0.advertisedName,
                settings: try store.ownSettings(ofBottle: $0.name), since: $0.firstRecordMilliseconds)
        }
    }

    /// This bottle belongs to the store from now on.
    /// - Parameter other: it is this bottle of the store under a new address.
    /// - Returns: whether that is new.
    package func adoptBottle(_ identity: String, as other: String? = nil) throws -> Bool {
        try change { try store.adoptBottle(identity, as: other) }
    }

    /// This bottle does not belong to the store any more. What it delivered stays.
    /// - Returns: whether it did.
    package func releaseBottle(_ name: String) throws -> Bool { try change { try store.releaseBottle(name) } }

    /// How often a bottle is to be polled, as the day asks for it.
    package func pollRhythm() throws -> PollRhythm { PollPlan.rhythm(try store.facts(context), now: now) }

    /// What follows a poll, as it follows a command: the state says how it went, the day is evaluated, files are
    /// written.
    /// - Parameter isLive: how a recording answers, or a name that nobody bears, says nothing of the way to the bottle.
    package func afterPoll(_ report: PollReport, isLive: Bool = true) {
        do {
            if isLive, let connection = report.connection { try store.noteConnection(connection, at: now) }
        } catch {
            remark("How the poll went could not be noted: \(error)")
        }
        store.afterCommit(context).forEach(remark)
    }

    /// Looks again at the records of every bottle, each by its own settings.
    func secondLook(_ options: PollOptions) throws -> [(entry: JournalEntry, outcome: JournalOutcome)] {
        try store.bottles().flatMap { bottle in
            let own = OwnBottle(identities: [], settings: try store.ownSettings(ofBottle: bottle.name))
            return try SecondLook.run(store, bottles: [bottle.name], options: options.following(own), now: now)
        }
    }

    /// Looks again at what is stored without a date, where no bottle answered whose session would have done so.
    /// - Returns: how many records have a date now.
    package func lookAgain(_ options: PollOptions) throws -> Int {
        try change {
            try secondLook(options).count { $0.outcome == .promoted }
        }
    }
}
