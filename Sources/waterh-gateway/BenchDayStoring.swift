import Bluetooth
import CommandSupport
import Foundation
import Gateway
import Synchronization
import TrackerCore

/// A poll that stores the log and acknowledges nothing.
struct BenchDayStoring {
    let link: LinkOptions
    let place: StorePlace
    let zone: String
    let config: String?
    let recorders: BenchDayRecorders

    /// The stored records.
    /// - Throws: `CommandFailure` if the log was not read completely or not stored.
    func records() async throws -> Set<[UInt8]> {
        let depot = try StoreProvider(place, zone: zone)
        var options = try await depot.pollOptions(dialect: nil)
        options.mean(link.wantedBottle, try Configuration.load(config))
        // This poll only reads, so disable all writes.
        (options.keep, options.correctClockBeyond, options.settings, options.managesTodayAmount, options.managesLight) =
            (true, nil, nil, false, false)
        let stored = Mutex<Set<[UInt8]>>([])
        var outlets = depot.outlets()
        outlets.journaled = { entries, _ in stored.withLock { $0.formUnion(entries.map(\.raw)) } }
        let chapter = "5-storing"
        let central = try await recorders.open(chapter)
        let driver = GatewayDriver(link: central, clock: .system(wall: { Machine.now() }))
        let report = await driver.poll(options, for: GatewayDriver.Party(journal: depot.store, outlets: outlets))
        await driver.close()
        try await recorders.finish(chapter)
        depot.desk().afterPoll(report)
        // With an untrusted clock the records are stored without counting, and stay in the bottle.
        if let failure = report.commandFailure { throw failure }
        guard report.complete else { throw CommandFailure(.failed, "The log was not read to its end.") }
        return stored.withLock { $0 }
    }
}
