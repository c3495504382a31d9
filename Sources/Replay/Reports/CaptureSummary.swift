package import Bluetooth
import BottleProtocol
package import Captures

/// The content of a capture, for `waterh-replay info`.
package struct CaptureSummary {
    package struct Bottle {
        package let peer: BottlePeer
        package private(set) var drinks = 0
        package private(set) var millilitres = 0
        package private(set) var suspects = 0
        package private(set) var duplicates = 0
        private var firstOrder: Int?
        private var lastOrder: Int?
        /// The wall times of the bottle's first and last drink with a plausible date.
        package var first: String? { firstOrder.map(Delivery.text) }
        package var last: String? { lastOrder.map(Delivery.text) }

        fileprivate init(_ peer: BottlePeer) { self.peer = peer }

        fileprivate mutating func add(_ delivery: borrowing Delivery) {
            guard delivery.record.isDrink else { return }
            guard !delivery.isDuplicate else { return duplicates += 1 }
            drinks += 1
            guard !delivery.record.isSuspect else { return suspects += 1 }
            millilitres += delivery.record.amountMl
            guard let order = delivery.order else { return }
            firstOrder = min(firstOrder ?? order, order)
            lastOrder = max(lastOrder ?? order, order)
        }
    }

    package struct Advertiser {
        package var name: String?
        package var count = 0
    }

    package private(set) var facts = CaptureFileFacts()
    package private(set) var readingError: String?
    /// The times of the first and the last record, since 1970.
    package private(set) var firstTime: Duration?
    package private(set) var lastTime: Duration?
    /// The connections in order of their first packet; at most 1,000.
    package var connections: [ConnectionStatistics] { list.all }
    package var connectionCount: Int { list.count }
    /// The advertisers by address; at most 4,096.
    package private(set) var advertisers: [BluetoothAddress: Advertiser] = [:]
    package private(set) var counts = TrafficCounts()
    package private(set) var drops: [DropReason: Int] = [:]
    /// The adapters (monitor formats) or interfaces (pcapng).
    package private(set) var adapters: Set<UInt32> = []
    package private(set) var commands = 0
    /// The bottles in order of first connection; at most `maximumBottles`.
    package private(set) var bottles: [Bottle] = []
    /// The number of bottles, including those beyond `maximumBottles`.
    package private(set) var bottleCount = 0
    private static let maximumBottles = 4096
    package private(set) var tally = DrinkReader.Tally()
    /// All connected peers, with their discovered attribute tables.
    package private(set) var peers: [BottlePeer] = []

    private var gate: TrafficGate?
    private var list = ConnectionList()

    /// Reads a whole file. An error in its bytes sets `readingError`; the data before the error is kept.
    package init(_ file: inout CaptureFile, options: DrinkReader.Options) throws {
        var options = options
        options.isRaw = true
        if !options.filter.isEmpty { gate = TrafficGate(options.filter) }
        var found: [ObjectIdentifier: Bottle] = [:]
        let reader = DrinkReader(options) { delivery in
            found[ObjectIdentifier(delivery.bottle), default: Bottle(delivery.bottle)].add(delivery)
        }
        var times: (first: Duration?, last: Duration?)
        let (drops, error) = try file.feed([reader]) { packet in
            times = (times.first ?? packet.time, packet.time ?? times.last)
        } onEvent: { event, bytes in
            gate?.start(at: times.first)
            count(event, bytes)
        }
        (self.drops, readingError, facts) = (drops, error?.description, file.facts)
        peers = reader.peers
        try reader.finishCapture()
        (firstTime, lastTime, tally) = (times.first, times.last, reader.tally)
        commands = peers.reduce(0) { $0 + $1.commandCount }
        let known = peers.filter { $0.isBottle || $0.commandCount > 0 || found[ObjectIdentifier($0)] != nil }
        bottleCount = known.count
        bottles = known.prefix(Self.maximumBottles).map { found[ObjectIdentifier($0)] ?? Bottle($0) }
    }

    private mutating func count(_ event: ConversationEvent, _ bytes: RawSpan) {
        let isSelected = gate?.selects(event, bytes) ?? true
        switch event {
        case .att(let observation):
            guard !observation.isSynthetic, isSelected, let opcode = bytes.first else { return }
            counts.add(opcode, frame: observation.frame, time: observation.time, valueBytes: 0)
            find(observation.connection)?.counts.add(
                opcode, frame: observation.frame, time: observation.time, valueBytes: 0)
        case .connected(let connection): _ = find(connection)
        case .disconnected(let connection, let reason): find(connection)?.end(reason)
        case .encrypted(let connection): find(connection)?.isEncrypted = true
        case .dropped: break
        case .advertised(let advertiser):
            guard advertisers[advertiser.address] != nil || advertisers.count < 4096 else { return }
            advertisers[advertiser.address, default: Advertiser()].count += 1
            if let name = AdvertisingData.name(in: bytes) { advertisers[advertiser.address]?.name = name }
        }
    }

    private mutating func find(_ connection: ObservedConnection) -> ConnectionStatistics? {
        if connection.id > list.count { adapters.insert(connection.adapter) }
        let found = list.find(connection)
        found?.observed = connection
        return found
    }
}

/// The content of an HTML report, read in one pass and in bounded memory.
package final class ReportContent {
    package struct Drink: Sendable {
        /// Local wall time of the bottle's clock, `2026-02-02T22:21:15`.
        package var at: String
        package var millilitres: Int
        package var isSuspect: Bool
        /// The number of the record with the last byte of the drink.
        package var frame: Int
        package var bottle: String
    }

    /// The drinks of a day of the bottle's clock.
    package struct Day: Sendable {
        package var drinks = 0
        /// The sum of the amounts without suspect drinks.
        package var millilitres = 0
    }

    package let statistics: CaptureStatistics
    package private(set) var facts = CaptureFileFacts()
    package private(set) var readingError: String?
    package private(set) var packets = 0
    /// The times of the first and the last packet, since 1970.
    package private(set) var firstTime: Duration?
    package private(set) var lastTime: Duration?
    /// The first 3,000 distinct drinks, in the order of delivery.
    package private(set) var drinks: [Drink] = []
    /// The first 1,500 days by date, `2026-02-02`.
    package private(set) var days: [String: Day] = [:]
    package private(set) var tally = DrinkReader.Tally()

    /// Reads a whole file. An error in its bytes sets `readingError`; the data before the error is kept.
    /// - Throws: `CaptureFileError` if it cannot be opened or read.
    package init(_ file: inout CaptureFile, options: DrinkReader.Options) throws {
        statistics = CaptureStatistics(options.filter, given: options.given, timeline: Timeline())
        var drinks: [Drink] = []
        var days: [String: Day] = [:]
        let reader = DrinkReader(options) { delivery in
            guard delivery.record.isDrink, !delivery.isDuplicate, let at = delivery.at else { return }
            let date = String(at.prefix(10)), amount = delivery.record.amountMl, isSuspect = delivery.record.isSuspect
            if days[date] != nil || days.count < 1500 {
                days[date, default: Day()].drinks += 1
                days[date]?.millilitres += isSuspect ? 0 : amount
            }
            guard drinks.count < 3000 else { return }
            drinks.append(
                Drink(
                    at: at, millilitres: amount, isSuspect: isSuspect, frame: delivery.frame,
                    bottle: delivery.bottle.label))
        }
        var times: (first: Duration?, last: Duration?), packets = 0
        readingError = try file.feed([statistics, reader]) { packet in
            packets += 1
            times = (times.first ?? packet.time, packet.time ?? times.last)
        }.error?.description
        facts = file.facts
        statistics.finish()
        try reader.finishCapture()
        (firstTime, lastTime) = times
        (self.packets, tally) = (packets, reader.tally)
        (self.drinks, self.days) = (drinks, days)
    }
}
