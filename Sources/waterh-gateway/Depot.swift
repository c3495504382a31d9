import BottleProtocol
import CommandKit
import Foundation
import Gateway
import Store
import TrackerCore

/// An open store with its settings, and what a poll needs of them.
struct Depot: Sendable {
    let store: TrackerStore
    let settings: Settings
    /// The zone of days.
    let zone: Zone

    init(_ options: StoreOptions) throws {
        try self.init(path: options.path, zone: options.zone)
    }

    init(path: String, zone given: String?) throws {
        let host = try Host.zone(given)
        store = try Self.explained { try TrackerStore(path: path, hostZone: host.id) }
        settings = try Self.explained { [store] in try store.settings() }
        zone = given == nil ? settings.dayZone.flatMap { try? Zone($0) } ?? host : host
    }

    func context(_ now: Instant = Host.now()) -> WriteContext {
        WriteContext(now: now, zone: zone, source: "gateway", makeID: { UUID().uuidString.lowercased() })
    }

    func state() throws -> TrackerSnapshot {
        try Self.explained { try store.look(context()).snapshot }
    }

    /// What a poll is to do, from the settings; flags come on top.
    func pollOptions(dialect: RecordDialect?) -> PollOptions {
        var options = PollOptions(zone: settings.bottleZone.flatMap { try? Zone($0) } ?? zone)
        options.dialect = dialect ?? RecordDialect(rawValue: settings.recordDialect.rawValue) ?? .calendar
        options.amountWidth = settings.amountWidth.flatMap { BottleProtocol.AmountWidth(rawValue: $0.rawValue) }
        options.alias = settings.bottleAlias
        options.maxRecordAgeDays = settings.maxRecordAgeDays
        options.limits.scan = .seconds(settings.scanTimeoutSeconds)
        options.limits.connect = .seconds(settings.connectTimeoutSeconds)
        options.limits.beforeRead = .seconds(settings.readDelaySeconds)
        return options
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
            let isBad = [.damaged, .foreign, .newer].contains(error.kind)
            throw CommandFailure(isBad ? .badInput : .failed, "\(error.what) (\(error.path)).", advice: error.advice)
        }
    }
}
