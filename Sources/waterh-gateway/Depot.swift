import Bluetooth
import BottleProtocol
import CommandKit
import CommandStore
import Foundation
import Gateway
import Store
import TrackerCore

/// An open store with its settings as they were read last, and what a poll needs of them.
///
/// A process opens its store once: what other programs change in it is read through the connection that is open.
struct Depot: Sendable {
    let store: TrackerStore
    let settings: Settings
    /// The zone of days.
    let zone: Zone

    /// - Parameter given: the zone that a flag or the configuration names.
    init(_ place: StorePlace, zone given: String?) throws {
        let host = try Host.zone(given)
        try self.init(try place.open(hostZone: host.id, for: .writing), host, isGiven: given != nil)
    }

    /// The same store with settings and zone read anew.
    func reread(zone given: String?) throws -> Depot { try Depot(store, Host.zone(given), isGiven: given != nil) }

    private init(_ store: TrackerStore, _ host: Zone, isGiven: Bool) throws {
        self.store = store
        settings = try Self.explained { try store.settings() }
        store.travel(to: host.id)
        zone = isGiven ? host : settings.dayZone.flatMap { try? Zone($0) } ?? host
    }

    /// What follows a poll, as it follows a command: the day is evaluated, files are written, and the state says how it went. What went
    /// wrong with that, in words.
    func afterPoll(_ report: PollReport, isLive: Bool = true) -> [String] {
        var troubles: [String] = []
        do {
            if isLive, let connection = report.connection { try store.noteConnection(connection, at: Host.now()) }
        } catch {
            troubles.append("How the poll went could not be noted: \(error)")
        }
        return troubles + store.afterCommit(context())
    }

    func context(_ now: Instant = Host.now()) -> WriteContext {
        WriteContext(now: now, zone: zone, source: "gateway", makeID: { UUID().uuidString.lowercased() })
    }

    func state() throws -> TrackerSnapshot {
        try Self.explained { try store.look(context()).snapshot }
    }

    /// What a poll is to do, from the settings; flags come on top.
    func pollOptions(dialect: RecordDialect?) throws -> PollOptions {
        var options = PollOptions(settings: settings, zone: zone)
        if let dialect { options.dialect = dialect }
        options.own = try Self.own(store)
        options.host = Host.clockMark()
        return options
    }

    /// The bottles of a store, as a poll tells them.
    static func own(_ store: TrackerStore) throws -> [OwnBottle] {
        try explained { try store.bottles() }.map {
            OwnBottle(identities: Set($0.identities), aliases: Set($0.names).subtracting($0.identities), advertisedName: $0.advertisedName)
        }
    }

    /// Who is meant by a word of `--bottle`: an alias means the bottle's address.
    static func meant(_ text: String?, among own: [OwnBottle]) -> String? {
        guard let text, let bottle = own.first(where: { $0.aliases.contains(text) }) else { return text }
        return bottle.identities.sorted().first { BluetoothAddress($0) != nil } ?? bottle.identities.sorted().first ?? text
    }

    /// Looks again at what is stored without a date, where no bottle answered whose session would have done so.
    func lookAgain(_ options: PollOptions) throws -> Int {
        let now = Host.now()
        return try Self.explained {
            let done = try SecondLook.run(store, bottles: try store.bottles().map(\.name), options: options, now: now)
            return done.filter { $0.outcome == .promoted }.count
        }
    }

    func outlets() -> GatewayDriver.Outlets {
        var outlets = GatewayDriver.Outlets()
        let depot = self
        outlets.todayTotal = { try depot.store.look(depot.context()).snapshot.pace.dailyTotalMl }
        return outlets
    }

    /// Gives the store's errors their exit code.
    static func explained<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StoreError {
            throw CommandFailure(error)
        }
    }
}
